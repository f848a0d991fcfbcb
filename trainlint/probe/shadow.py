"""What a step should have done: some numbers of each parameter, moved in float64 as the optimizer moves them.

The shadow starts where the weights and the state of the optimizer are and is fed the same gradients; what the weights
did over the same steps, held against what the shadow did, is the share of the updates that came through.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, Optimizer, RAdam, RMSprop

KNOWN = frozenset({SGD, Adam, AdamW, RMSprop, Adagrad, Adadelta, Adamax, NAdam, RAdam})
"""Optimizers that move each number by itself."""

MOST = 512
"""Numbers of one parameter."""

ALONE = {"foreach": False, "fused": False, "capturable": False, "differentiable": False}


class Shadow:
    """Some numbers of some parameters in float64."""

    def __init__(self, optimizer: Optimizer, group: dict[str, Any], parameters: list[Tensor]) -> None:
        self.parameters = [weakref.ref(each) for each in parameters]
        self.start = joined(parameters)
        self.value = self.start.clone().requires_grad_()
        numbers = {name: value for name, value in group.items() if name != "params"}
        self.optimizer = _made(type(optimizer), self.value, group["lr"])
        self.optimizer.param_groups[0].update(numbers)
        self.optimizer.param_groups[0].update({name: ALONE[name] for name in ALONE if name in numbers})
        self.optimizer.state[self.value] = _state(optimizer, parameters)

    def step(self, group: dict[str, Any], parameters: list[Tensor]) -> bool:
        """Take the step that the run is about to take; False where it would move other parameters than before."""
        if len(parameters) != len(self.parameters):
            return False
        if any(one is not other() for one, other in zip(parameters, self.parameters, strict=True)):
            return False
        mine = self.optimizer.param_groups[0]
        mine.update({name: group[name] for name in ("lr", "weight_decay", "betas", "momentum") if name in group})
        self.value.grad = joined([each.grad for each in parameters if each.grad is not None])
        # The method itself, without the wrapper that would tell everybody who listens to optimizers.
        type(self.optimizer).step.__wrapped__(self.optimizer)  # type: ignore[attr-defined]
        return True

    def transmitted(self) -> tuple[Tensor, Tensor]:
        """How much of the way the weights went, and the share of them that should have moved and did not."""
        intended = self.value.detach() - self.start
        real = joined([each for reference in self.parameters if (each := reference()) is not None]) - self.start
        moved = intended != 0
        stuck = ((real == 0) & moved).sum() / moved.sum()
        return real.dot(intended) / intended.dot(intended), stuck


def _made(kind: Any, value: Tensor, lr: Any) -> Optimizer:
    made: Optimizer = kind([value], lr=lr)
    return made


def _state(optimizer: Optimizer, parameters: list[Tensor]) -> dict[str, Any]:
    """The state of all parameters as that of one; empty before the first step."""
    states = [optimizer.state.get(each, {}) for each in parameters]
    joint: dict[str, Any] = {}
    for name, first in states[0].items():
        values = [state[name] for state in states]
        if isinstance(first, Tensor) and first.numel() == parameters[0].numel() and first.dim() > 0:
            joint[name] = joined(values)
        else:
            joint[name] = first.detach().clone().cpu() if isinstance(first, Tensor) else first
    return joint


def sampled(tensor: Tensor) -> Tensor:
    """Numbers at equal distances."""
    flat = tensor.detach().reshape(-1)
    return flat[:: -(-flat.numel() // MOST)] if flat.numel() else flat


def joined(tensors: list[Tensor]) -> Tensor:
    """Numbers of all of them, one behind the other."""
    return torch.cat([sampled(each).double() for each in tensors])
