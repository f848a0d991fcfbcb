"""Ways to write the loss of one right class; on paper they are one. Logits in, a loss summed over rows out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Loss = Callable[[Tensor, Tensor, int], Tensor]
"""Logits, the right classes, and the dimension of the classes in; the sum of the losses of all rows out."""


def cross_entropy(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    return F.cross_entropy(logits, targets, reduction="sum")


def log_softmax(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    return F.nll_loss(F.log_softmax(logits, dim), targets, reduction="sum")


def log_softmax_float32(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    return F.nll_loss(F.log_softmax(logits, dim, dtype=torch.float32), targets, reduction="sum")


def softmax_log(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    return F.nll_loss(F.softmax(logits, dim).log(), targets, reduction="sum")


def kl_div(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    wanted = torch.zeros_like(logits).scatter(dim, targets.unsqueeze(dim), 1.0)
    return F.kl_div(F.log_softmax(logits, dim), wanted, reduction="sum")


def logsumexp(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    return -(logits.gather(dim, targets.unsqueeze(dim)).squeeze(dim) - logits.logsumexp(dim)).sum()


def softplus(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    """The one that never forms ``1 - p``: its gradient is ``sigmoid(-margin)``."""
    column = targets.unsqueeze(dim)
    others = logits.scatter(dim, column, -math.inf).logsumexp(dim)
    return F.softplus(others - logits.gather(dim, column).squeeze(dim)).sum()


def label_smoothing(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    return F.cross_entropy(logits, targets, reduction="sum", label_smoothing=0.1)


def float_cross_entropy(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    return F.cross_entropy(logits.float(), targets, reduction="sum")


def double_cross_entropy(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    return F.cross_entropy(logits.double(), targets, reduction="sum")


def binary(logits: Tensor, targets: Tensor, dim: int) -> Tensor:
    return F.binary_cross_entropy_with_logits(logits, torch.ones_like(logits), reduction="sum")


def linear(hidden: Tensor, targets: Tensor, classes: int) -> Tensor:
    return _linear(hidden, targets, classes, {})


def linear_chunked(hidden: Tensor, targets: Tensor, classes: int) -> Tensor:
    nn: Any = torch.nn
    return _linear(hidden, targets, classes, {"options": nn.LinearCrossEntropyOptions()})


def _linear(hidden: Tensor, targets: Tensor, classes: int, how: Mapping[str, Any]) -> Tensor:
    """The first of two features is the logit of class 0, the second that of each other class."""
    weight = torch.zeros(classes, 2, dtype=hidden.dtype, device=hidden.device)
    weight[0, 0] = 1
    weight[1:, 1] = 1
    functional: Any = F
    loss: Tensor = functional.linear_cross_entropy(hidden, weight, targets, reduction="sum", **how)
    return loss


@dataclass(frozen=True)
class Spelling:
    """One way to write the loss; ``takes`` is ``logits``, a ``logit`` alone, or ``features`` in front of the head."""

    loss: Loss
    takes: str = "logits"

    def knows(self, layout: str, classes: int) -> bool:
        """Whether the loss can be written for this layout and this number of classes."""
        return self.takes == "logits" or (layout == "NC" and (self.takes == "features" or classes == 2))


SPELLINGS = {
    "cross_entropy": Spelling(cross_entropy),
    "log_softmax+nll_loss": Spelling(log_softmax),
    "kl_div": Spelling(kl_div),
    "softmax.log+nll_loss": Spelling(softmax_log),
    "logsumexp": Spelling(logsumexp),
    "bce_with_logits": Spelling(binary, "logit"),
    "linear_cross_entropy": Spelling(linear, "features"),
    "linear_cross_entropy_chunked": Spelling(linear_chunked, "features"),
    "log_softmax_float32+nll_loss": Spelling(log_softmax_float32),
    "float+cross_entropy": Spelling(float_cross_entropy),
    "double+cross_entropy": Spelling(double_cross_entropy),
    "label_smoothing": Spelling(label_smoothing),
    "softplus": Spelling(softplus),
}
