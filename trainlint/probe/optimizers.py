"""What becomes of an optimizer's steps: steps in, shares of updates that survived rounding out.

Only parameters of 16 bits are followed: in wider formats a step that matters is not lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from trainlint.probe.record import GroupRecord, OptimizerRecord, Place
from trainlint.probe.shadow import KNOWN, Shadow, sampled

SHORT = frozenset({torch.bfloat16, torch.float16})

WINDOW = 25
"""Steps over which a shadow is followed: one step of a healthy run may well change nothing."""

PAUSE = 225
"""Steps between two windows."""

NUMBERS = ("lr", "eps", "weight_decay", "betas", "alpha", "fused", "amsgrad", "decoupled_weight_decay")

MOMENTS = ("exp_avg_sq", "square_avg", "exp_inf")


class OptimizerMeter:
    """Everything that is known of one optimizer."""

    def __init__(self, optimizer: Optimizer, place: Place) -> None:
        self.place, self.kind, self.steps = place, type(optimizer).__name__, 0
        self.module = type(optimizer).__module__
        self.groups = [GroupMeter() for _ in optimizer.param_groups]

    def before(self, optimizer: Optimizer, moved_inside: str) -> None:
        """A step is about to be taken; ``moved_inside`` says why the gradients are not yet those that it will use."""
        for meter, group in self._pairs(optimizer):
            meter.before(optimizer, group, self.steps % (WINDOW + PAUSE), moved_inside)

    def after(self, optimizer: Optimizer) -> None:
        """It was taken."""
        self.steps += 1
        for meter, group in self._pairs(optimizer):
            meter.after(optimizer, group, self.steps)

    def _pairs(self, optimizer: Optimizer) -> Iterator[tuple[GroupMeter, dict[str, Any]]]:
        self.groups += [GroupMeter() for _ in optimizer.param_groups[len(self.groups) :]]
        return zip(self.groups, optimizer.param_groups, strict=False)

    def record(self) -> OptimizerRecord:
        groups = tuple(meter.record() for meter in self.groups)
        return OptimizerRecord(self.place, f"{self.module}.{self.kind}", self.steps, groups)


class GroupMeter:
    """One group of parameters."""

    def __init__(self) -> None:
        self.numbers: dict[str, Any] = {}
        self.parameters: Counter[str] = Counter()
        self.state: Counter[str] = Counter()
        self.shadow: Shadow | None = None
        self.windows: list[tuple[Tensor, Tensor]] = []
        self.frozen: dict[str, Tensor] = {}
        self.unmeasured = ""
        self.largest = 0.0

    def before(self, optimizer: Optimizer, group: dict[str, Any], turn: int, moved_inside: str) -> None:
        if isinstance(group.get("lr"), float):
            self.largest = max(self.largest, group["lr"])
        if turn == 0:
            self._describe(group)
        short = [each for each in group["params"] if each.dtype in SHORT and each.grad is not None]
        if not short or turn >= WINDOW:
            return
        if moved_inside or type(optimizer) not in KNOWN:
            self.unmeasured = moved_inside or f"what a step of {type(optimizer).__name__} should be is not known"
            return
        if turn == 0:
            self.shadow = Shadow(optimizer, group, short)
        if self.shadow is not None and not self.shadow.step(group, short):
            self.shadow = None

    def after(self, optimizer: Optimizer, group: dict[str, Any], steps: int) -> None:
        turn = steps % (WINDOW + PAUSE)
        if turn == 1:
            self._look(optimizer, group)
        if turn == WINDOW and self.shadow is not None:
            self.windows.append(self.shadow.transmitted())
            self.shadow = None

    def _describe(self, group: Mapping[str, Any]) -> None:
        self.numbers = {name: group.get(name) for name in NUMBERS}
        self.parameters = Counter()
        for each in group["params"]:
            self.parameters[str(each.dtype).removeprefix("torch.")] += each.numel()

    def _look(self, optimizer: Optimizer, group: Mapping[str, Any]) -> None:
        """The state, and what decay leaves of 16-bit numbers as they stand."""
        self.state = Counter()
        weights, moments = [], []
        for each in group["params"]:
            for name, value in optimizer.state.get(each, {}).items():
                if isinstance(value, Tensor) and value.numel() == each.numel() and value.dim() == each.dim() > 0:
                    self.state[str(value.dtype).removeprefix("torch.")] += value.numel()
                    moments += [value] if name in MOMENTS and value.dtype in SHORT else []
            weights += [each] if each.dtype in SHORT else []
        decay = group.get("weight_decay")
        if weights and self.largest and decay:
            self.frozen["decay"] = unmoved(weights, 1 - self.largest * float(decay))
        betas = group.get("betas")
        if moments and betas is not None:
            self.frozen["moment"] = unmoved(moments, float(betas[1]))

    def record(self) -> GroupRecord:
        numbers = self.numbers
        betas = numbers.get("betas")
        return GroupRecord(
            lr=self.largest or number(numbers.get("lr")),
            second=None if numbers.get("amsgrad") else number(betas[1] if betas else numbers.get("alpha")),
            eps=number(numbers.get("eps")),
            weight_decay=number(numbers.get("weight_decay")),
            fused=bool(numbers.get("fused")),
            decoupled=numbers.get("decoupled_weight_decay"),
            parameters=dict(self.parameters),
            state=dict(self.state),
            rho=tuple(float(rho) for rho, _ in self.windows),
            stuck=tuple(float(stuck) for _, stuck in self.windows),
            frozen_decay=number(self.frozen.get("decay")),
            frozen_moment=number(self.frozen.get("moment")),
            unmeasured=self.unmeasured,
        )


def unmoved(tensors: list[Tensor], factor: float) -> Tensor:
    """The share of numbers, zeros aside, that this factor leaves where they are once the result is rounded."""
    values = torch.cat([sampled(each) for each in tensors])
    same = (values.double() * factor).to(values.dtype) == values
    alive = values != 0
    return (same & alive).sum() / alive.sum()


def number(value: object) -> float | None:
    """A hyper-parameter as a number; None where it is none, or not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Tensor):
        return None
    found = float(value)
    return found if found == found else None
