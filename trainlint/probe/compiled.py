"""Losses inside of compiled graphs: an operator that does nothing to the graph but tell what passes through it.

A graph is traced once and runs without Python. So the operator becomes part of it: it is given the logits and targets,
tells whoever listens, and answers with a zero that is added to the loss. Where the loss stands is known when the graph
is traced, and goes with it. Gradients inside of a graph are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from trainlint.probe.losses import Call
from trainlint.probe.places import of_library
from trainlint.probe.record import Place

Listener = Callable[[Call, Place], None]

LISTENERS: list[Listener] = []
"""Whoever is told of losses in compiled graphs; graphs outlive those who watched when they were traced."""

FRAME = re.compile(r'File "(?P<path>.+?)", line (?P<row>\d+), in (?P<function>\S+)')


@torch.library.custom_op("trainlint::observe", mutates_args=())
def observe(
    logits: Tensor, target: Tensor, weight: Tensor | None, output: Tensor, function: str, reduction: int,
    ignore_index: int, smoothing: float, trains: bool, path: str, row: int,
) -> Tensor:  # fmt: skip
    """Tell of one loss in a graph that is running."""
    call = Call(function, logits, target, weight, reduction, ignore_index, smoothing, output, trains)
    for listener in LISTENERS:
        listener(call, Place(path, row))
    return torch.zeros((), dtype=output.dtype, device=output.device)


@observe.register_fake
def _(
    logits: Tensor, target: Tensor, weight: Tensor | None, output: Tensor, function: str, reduction: int,
    ignore_index: int, smoothing: float, trains: bool, path: str, row: int,
) -> Tensor:  # fmt: skip
    return torch.empty((), dtype=output.dtype, device=output.device)


def observed(call: Call) -> Tensor:
    """The loss of a call that is being traced, with the operator in it."""
    assert call.logits is not None, "the losses that are traced here are given theirs"
    path, row = traced()
    weight = None if call.weight is None else call.weight.detach()
    told: Tensor = torch.ops.trainlint.observe(
        call.logits.detach(), call.target.detach(), weight, call.output.detach(), call.function, call.reduction,
        call.ignore_index, call.smoothing, call.trains, path, row,
    )  # fmt: skip
    return call.output + told


def traced() -> tuple[str, int]:
    """Where in the user's code the call stands that is being traced; the innermost line that belongs to no library."""
    for path, row in _frames():
        if not of_library(path):
            return path, row
    return "<compiled>", 1


# Dynamo takes what this returns for a constant, as it is: the place of one call in one graph.
traced._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _frames() -> Iterator[tuple[str, int]]:
    """The frames of the call, innermost first, as Dynamo knows them or as the node of the graph remembers them."""
    stack = torch._guards.TracingContext.extract_stack()
    yield from ((frame.filename, frame.lineno or 1) for frame in reversed(stack))
    remembered = "".join(torch.fx.traceback.format_stack())
    found = [(match["path"], int(match["row"])) for match in FRAME.finditer(remembered)]
    yield from reversed(found)
