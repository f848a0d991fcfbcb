"""Kullback-Leibler divergences that are trained on, and how their numbers become one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Divergence, Reduction
from trainlint.knowledge import torch
from trainlint.regex import regex
from trainlint.source import regions
from trainlint.source.gradients import trains
from trainlint.source.linkers.distillation import onward
from trainlint.source.linkers.site import (
    Applied,
    Site,
    application,
    callable_of,
    deciding,
    inherited,
    is_handed_on,
    place_of,
    span_of,
    standing,
    uses,
)
from trainlint.source.summary import Module
from trainlint.source.things import Constant, Frame, Opaque, Thunk
from trainlint.source.world import World
from trainlint.value import Step, Unknown

KNOWN = frozenset({torch.DIVERGENCE_FUNCTION.name, torch.DIVERGENCE_CLASS.name})
WORDS = frozenset(name.rpartition(".")[2] for name in KNOWN)
REDUCTIONS = {each.value: each for each in Reduction}
LEGACY = ("reduce", "size_average")
"""What said before ``reduction`` how the numbers become one, and still outweighs it."""

EVALUATING = regex(r"eval|valid|(?<![a-z])test|metric|measure|monitor", re.IGNORECASE)
"""A function that only looks says so."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of the divergence, and of the objects that its class makes."""
    return uses(world, module, WORDS)


def trained(world: World, site: Site, frame: Frame) -> Applied | None:
    """The divergence that a call computes to train on."""
    if is_handed_on(site.call):
        known = inherited(world, site, frame, KNOWN)
    else:
        known = application(world, world.evaluate(callable_of(site.call), frame), site.call, frame, KNOWN)
    if known is None or known.is_construction or not trains(site.module, site.call):
        return None
    name = getattr(site.module.scope(site.call), "name", "")
    if EVALUATING.search(name) or not regions.trained(world, site.call, frame):
        return None
    return None if onward.is_only_shown(world, site.module, site.call) else known


def facts(world: World, site: Site) -> Iterator[Divergence]:
    """How the numbers of a divergence become one, in one world."""
    frame = standing(world, site)
    known = trained(world, site, frame)
    if known is None:
        return
    given = [each for each in (_passed(world, known, name) for name in LEGACY) if each is not None]
    by = given[0] if given else deciding(known, "reduction")
    reduction, assumed = _of_legacy(world, known) if given else _reduction(world, by)
    yield Divergence(
        site.span,
        place_of(by, known, site),
        span_of(known),
        (),
        (),
        known.name.rpartition(".")[2],
        reduction,
        by is None,
        assumed,
        onward.scaled(world, site.module, site.call) if reduction is Reduction.MEAN else None,
    )


def _passed(world: World, known: Applied, name: str) -> Thunk | Unknown | None:
    """An argument, unless it is None as by default."""
    given = deciding(known, name)
    thing = world.force(given) if isinstance(given, Thunk) else given
    return None if isinstance(thing, Constant) and thing.value is None else given


def _of_legacy(world: World, known: Applied) -> tuple[Reduction | Unknown, tuple[Step, ...]]:
    """``size_average`` and ``reduce``: both are true unless they are given."""
    answers = []
    for name in LEGACY:
        given = _passed(world, known, name)
        thing = world.force(given) if isinstance(given, Thunk) else given
        if thing is not None and not (isinstance(thing, Constant) and isinstance(thing.value, bool)):
            return Unknown(f"what {name} is, is open", name), ()
        answers.append(thing is None or thing.value)
    reduces, averages = answers
    return Reduction.NONE if not reduces else Reduction.MEAN if averages else Reduction.SUM, ()


def _reduction(world: World, given: Thunk | Unknown | None) -> tuple[Reduction | Unknown, tuple[Step, ...]]:
    if given is None:
        return Reduction.MEAN, ()
    thing = world.force(given) if isinstance(given, Thunk) else given
    match thing:
        case Constant(value=str(word), assumed=assumed) if word in REDUCTIONS:
            return REDUCTIONS[word], assumed
        case Opaque(name=name, why=why):
            return Unknown(f"{name}: {why.reason}", why.settle or name), ()
        case Unknown():
            return thing, ()
    what = ast.unparse(given.node) if isinstance(given, Thunk) else "it"
    return Unknown(f"{what} is not a reduction that is known", "reduction"), ()
