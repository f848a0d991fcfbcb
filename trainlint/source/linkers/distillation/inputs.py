"""What a Kullback-Leibler divergence is given: logarithms of probabilities, probabilities, or raw scores."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Activation, DivergenceInput, Form
from trainlint.source.linkers.distillation.divergences import trained
from trainlint.source.linkers.site import Applied, Site, deciding, passed, place_of, span_of, standing
from trainlint.source.names import reaching
from trainlint.source.summary import last
from trainlint.source.things import Constant, Frame, Tensor, Thunk
from trainlint.source.world import World
from trainlint.value import Step, Unknown

LOGARITHMS = frozenset({"log", "log_softmax", "logsigmoid", "log_prob", "log2", "log1p"})
KEEPING = frozenset({"detach", "float", "double", "to", "view", "reshape", "contiguous", "clone", "flatten", "clamp"})
"""Methods after which a logarithm is one."""

DEEPEST = 6


def facts(world: World, site: Site) -> Iterator[DivergenceInput]:
    """What reaches the divergence in one world."""
    frame = standing(world, site)
    known = trained(world, site, frame)
    if known is None:
        return
    given, asked = passed(known, 0, ("input",)), set(world.path.forks)
    yield DivergenceInput(
        site.span,
        place_of(given, None, site),
        span_of(known),
        (),
        (),
        known.name.rpartition(".")[2],
        _meaning(world, given, "input"),
        _meaning(world, passed(known, 1, ("target",)), "target"),
        _log_target(world, known),
        arms=_arms(world, asked),
    )


def _arms(world: World, asked: set[tuple[object, ...]]) -> tuple[Step, ...]:
    """The branches that were taken on the way to what is given."""
    taken = (fork for key, fork in world.path.forks.items() if key not in asked and fork.kind == "branch")
    return tuple(fork.answers[fork.answer] for fork in taken)


def _meaning(world: World, given: Thunk | Unknown | None, what: str) -> Activation | Unknown:
    """What the numbers mean that are given, as far as an activation or a logarithm in sight says."""
    if not isinstance(given, Thunk):
        return given or Unknown(f"the {what} is not passed")
    thing = world.force(given)
    if isinstance(thing, Tensor) and thing.activation is not None:
        return thing.activation
    logarithm = given.known is None and _logarithm(world, given.node, given.frame, DEEPEST)
    if isinstance(logarithm, Step):
        return Activation("log", Form.LOG_PROBABILITIES, logarithm)
    if isinstance(thing, Tensor):
        return Unknown(f"what the numbers of the {what} mean is not followed")
    return thing if isinstance(thing, Unknown) else Unknown(f"the {what} is not traced", getattr(thing, "name", ""))


def _logarithm(world: World, node: ast.expr, frame: Frame, depth: int) -> Step | None:
    """The line that takes the logarithm of something of which nothing else need be known."""
    match node:
        case ast.Call(func=func) if last(func) in LOGARITHMS:
            return frame.step(node)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in KEEPING and depth:
            return _logarithm(world, value, frame, depth - 1)
        case ast.Name(id=name) if depth:
            found = reaching(world, name, node, frame)
            if found is not None and isinstance(found.node, ast.Assign) and isinstance(found.node.targets[0], ast.Name):
                return _logarithm(world, found.node.value, frame, depth - 1)
    return None


def _log_target(world: World, known: Applied) -> bool | Unknown:
    given = deciding(known, "log_target")
    if given is None:
        return False
    thing = world.force(given) if isinstance(given, Thunk) else given
    if isinstance(thing, Constant) and isinstance(thing.value, bool):
        return thing.value
    return thing if isinstance(thing, Unknown) else Unknown("whether log_target is set is open", "log_target")
