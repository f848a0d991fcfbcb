"""Losses that match a student to a teacher, and whether both sides of one are the same numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import SelfMatch
from trainlint.knowledge import torch
from trainlint.regex import regex
from trainlint.source.gradients import trains
from trainlint.source.linkers.distillation.origins import Origin, origin
from trainlint.source.linkers.site import (
    Applied,
    Site,
    application,
    callable_of,
    passed,
    span_of,
    standing,
    uses,
)
from trainlint.source.sift.distillation import matches
from trainlint.source.sift.words import MATCHING
from trainlint.source.summary import Module, last
from trainlint.source.things import Frame, Thunk
from trainlint.source.world import Path, World

KNOWN = frozenset((*torch.MATCHING_FUNCTIONS, *torch.MATCHING_CLASSES))
TEACHER = regex(r"teacher|(?<![a-z])t_?(?:model|net)(?![a-z])|(?:model|net)_t(?![a-z])", re.IGNORECASE)


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of losses that compare two tensors, in files that speak of teachers."""
    if matches(module.data):
        yield from uses(world, module, {word.decode() for word in MATCHING})


def facts(world: World, site: Site) -> Iterator[SelfMatch]:
    """A loss whose two sides are the same numbers, in one world."""
    frame = standing(world, site)
    known = application(world, world.evaluate(callable_of(site.call), frame), site.call, frame, KNOWN)
    if known is None or known.is_construction or not trains(site.module, site.call):
        return
    path = Path()
    sides = _sides(world.beneath(path), known)
    # A branch that decides what is compared may be meant to switch the teacher off.
    if path.forks or sides is None or not _agree(*sides):
        return
    first, _ = sides
    yield SelfMatch(
        site.span,
        site.span,
        span_of(known),
        (),
        (),
        known.name.rpartition(".")[2],
        ast.unparse(first.node),
        first.frame.step(first.node),
    )


def _sides(world: World, known: Applied) -> tuple[Origin, Origin] | None:
    """What the two sides of a loss were made of."""
    given = [passed(known, place, (name,)) for place, name in enumerate(("input", "target"))]
    found = [origin(world, each.node, each.frame) for each in given if isinstance(each, Thunk) and each.known is None]
    return (found[0], found[1]) if len(found) == 2 else None


def _agree(first: Origin, second: Origin) -> bool:
    """Whether two sides are the same numbers, a logarithm aside."""
    return first.steps == second.steps and (first.key == second.key or _asks_one_teacher(first, second))


def _asks_one_teacher(first: Origin, second: Origin) -> bool:
    """``teacher(x)`` on both sides."""
    match first.node, second.node:
        case ast.Call(func=func), ast.Call():
            return _spelled(first) == _spelled(second) and TEACHER.search(last(func)) is not None
    return False


def _spelled(side: Origin) -> tuple[str, Frame]:
    return ast.unparse(side.node), side.frame
