"""What reaches a loss: raw scores, probabilities or their logarithms, and which of them the loss wants."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Activation, Form, LossInput
from trainlint.knowledge import torch
from trainlint.source.gradients import trains
from trainlint.source.linkers.site import (
    Applied,
    Site,
    application,
    callable_of,
    inherited,
    is_handed_on,
    passed,
    place_of,
    span_of,
    standing_to_train,
    uses,
)
from trainlint.source.summary import Module
from trainlint.source.things import Tensor, Thing, Thunk
from trainlint.source.world import World
from trainlint.span import Span
from trainlint.value import Step, Unknown

F = torch.F
WANTS = {
    **dict.fromkeys((f"{F}.cross_entropy", "torch.nn.CrossEntropyLoss"), Form.LOGITS),
    **dict.fromkeys((f"{F}.nll_loss", "torch.nn.NLLLoss", "torch.nn.NLLLoss2d"), Form.LOG_PROBABILITIES),
    **dict.fromkeys((f"{F}.binary_cross_entropy", "torch.nn.BCELoss"), Form.PROBABILITIES),
    **dict.fromkeys((f"{F}.binary_cross_entropy_with_logits", "torch.nn.BCEWithLogitsLoss"), Form.LOGITS),
}
BINARY = frozenset(known.name for known in (*torch.BINARY_FUNCTIONS, *torch.BINARY_CLASSES))
WORDS = frozenset(name.rpartition(".")[2] for name in WANTS)


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of these losses, and of the objects that their classes make."""
    return uses(world, module, WORDS)


def facts(world: World, site: Site) -> Iterator[LossInput]:
    """What reaches the loss in one world; nothing for a construction, nor for an evaluation."""
    frame = standing_to_train(world, site)
    if is_handed_on(site.call):
        known = inherited(world, site, frame, WANTS)
    else:
        known = application(world, world.evaluate(callable_of(site.call), frame), site.call, frame, WANTS)
    if known is None or not trains(site.module, site.call) or known.is_construction:
        return
    given = passed(known, 0, ("input",))
    asked = set(world.path.forks)
    thing = world.force(given) if isinstance(given, Thunk) else given or Unknown("the input is not passed")
    several = known.name not in BINARY
    yield LossInput(
        call=site.span,
        argument=place_of(given, known, site),
        built=span_of(known),
        context=(),
        branch=(),
        function=known.name.rpartition(".")[2],
        wants=WANTS[known.name],
        several=several,
        reaches=_over_classes(thing) if several else _meaning(thing),
        classes=_classes(thing),
        arms=_arms(world, asked),
        word=_word(known, site),
    )


def _word(known: Applied, site: Site) -> Span | None:
    """Where the loss is named: in the call that makes it, else in its own."""
    if known.built is None:
        return site.module.word(site.call.func)
    return known.frame.module.word(known.node.func) if known.frame and isinstance(known.node, ast.Call) else None


def _meaning(thing: Thing) -> Activation | Unknown:
    if isinstance(thing, Tensor):
        return thing.activation or Unknown("what the numbers of the input mean is not followed")
    return thing if isinstance(thing, Unknown) else Unknown("the input is not traced", getattr(thing, "name", ""))


def _over_classes(thing: Thing) -> Activation | Unknown:
    """What reaches a loss over classes; a softmax along another dimension says nothing."""
    known = _meaning(thing)
    if isinstance(known, Unknown) or not isinstance(thing, Tensor) or known.axis != -1:
        return known
    is_elsewhere = thing.dim == 1 and not isinstance(thing.layer, Unknown)
    return Unknown("the softmax runs along another dimension than the classes") if is_elsewhere else known


def _classes(thing: Thing) -> int | None:
    if not isinstance(thing, Tensor) or isinstance(thing.layer, Unknown):
        return None
    return thing.layer.classes.number


def _arms(world: World, asked: set[tuple[object, ...]]) -> tuple[Step, ...]:
    """The branches that were taken on the way to the input alone."""
    taken = (fork for key, fork in world.path.forks.items() if key not in asked and fork.kind == "branch")
    return tuple(fork.answers[fork.answer] for fork in taken)
