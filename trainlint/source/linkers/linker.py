"""What a linker is: one kind of site, and how its facts are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module

from trainlint.facts import Fact
from trainlint.record import record
from trainlint.source.linkers.site import Site
from trainlint.source.summary import Module
from trainlint.source.world import World

FEWER_STEPS = 4_000
"""Expressions that the paths to one site may look at together, where no class may be lost there."""


@record
class Linker:
    """One kind of site: what is done there in words, the sites of a file, and the facts of a site in one world.

    A file that reads none of the ``words``, under no name that an import gives them, has no such site, and none has one
    that is not ``sifted``: there, the module that looks for them need not be loaded.
    """

    doing: str
    sites: Callable[[World, Module], Iterable[Site]]
    facts: Callable[[World, Site], Iterable[Fact]]
    steps: int = FEWER_STEPS
    words: frozenset[str] = frozenset()
    sifted: Callable[[bytes], bool] | None = None

    def may_look_at(self, module: Module) -> bool:
        """Whether a file may have such a site."""
        if self.words and not module.among(self.words) and not any(word in module.aliases for word in self.words):
            return False
        return self.sifted is None or self.sifted(module.data)


Sites = Callable[[World, Module], Iterable[Site]]
Finds = Callable[[World, Site], Iterable[Fact]]


def at(home: str, judge: str = "") -> tuple[Sites, Finds]:
    """What the module below this folder that looks for sites does, and the one that judges them, if that is another.

    Each is loaded when there is something for it to do.
    """

    def sites(world: World, module: Module) -> Iterable[Site]:
        found: Iterable[Site] = import_module(f"{__package__}.{home}").sites(world, module)
        return found

    def facts(world: World, site: Site) -> Iterator[Fact]:
        found: Iterator[Fact] = import_module(f"{__package__}.{judge or home}").facts(world, site)
        return found

    return sites, facts
