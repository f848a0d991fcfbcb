"""What a linker is: one kind of site, and how its facts are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trainlint.facts import Fact
from trainlint.record import record
from trainlint.source.linkers.site import Site
from trainlint.source.summary import Module
from trainlint.source.world import World

FEWER_STEPS = 4_000
"""Expressions that the paths to one site may look at together, where no class may be lost there."""


@record
class Linker:
    """One kind of site: what is done there in words, the sites of a file, and the facts of a site in one world."""

    doing: str
    sites: Callable[[World, Module], Iterable[Site]]
    facts: Callable[[World, Site], Iterable[Fact]]
    steps: int = FEWER_STEPS
