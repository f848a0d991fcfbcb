"""The losses under study, and what each should give: closed forms, and references of 60 digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import mpmath
import torch
import torch.nn.functional as F
from torch import Tensor

DIGITS = 60


class Loss(Enum):
    """Three ways to write cross-entropy; on paper they are one."""

    STANDARD = "standard"
    FIXED = "fixed"
    UPCAST = "upcast"


def margin(logits: Tensor, targets: Tensor) -> Tensor:
    """The lead of the right class over all others together: ``z_t - logsumexp(the others)``.

    >>> margin(torch.tensor([[3.0, 1.0]]), torch.tensor([0])).item()
    2.0
    """
    column = targets[..., None]
    others = logits.scatter(-1, column, -math.inf).logsumexp(-1, keepdim=True)
    return (logits.gather(-1, column) - others).squeeze(-1)


def cross_entropy(loss: Loss, logits: Tensor, targets: Tensor) -> Tensor:
    """One value for each row. FIXED never forms ``1 - p``: its gradient is ``sigmoid(-margin)``."""
    match loss:
        case Loss.STANDARD:
            return F.cross_entropy(logits, targets, reduction="none")
        case Loss.UPCAST:
            return F.cross_entropy(logits.double(), targets, reduction="none")
        case Loss.FIXED:
            return F.softplus(-margin(logits, targets))


def divergence(student: Tensor, teacher: Tensor) -> Tensor:
    """KL(teacher || student) as PyTorch's documentation spells it."""
    return F.kl_div(F.log_softmax(student, -1), F.softmax(teacher, -1), reduction="batchmean")


class ExactZero(torch.autograd.Function):
    """KL(teacher || student) whose gradient is exactly zero where both logits are equal bit for bit."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, student: Tensor, teacher: Tensor) -> Tensor:
        log_student, log_teacher = F.log_softmax(student, -1), F.log_softmax(teacher, -1)
        ctx.save_for_backward(log_student, log_teacher)
        return (log_teacher.exp() * (log_teacher - log_student)).sum(-1).mean()

    @staticmethod
    def backward(ctx: torch.autograd.function.BackwardCFunction, gradient: Tensor) -> tuple[Tensor, None]:
        log_student, log_teacher = list(ctx.saved_tensors)
        difference = log_teacher.exp() * torch.expm1(log_student - log_teacher)
        return gradient * difference / difference.shape[0], None


def exact_zero_divergence(student: Tensor, teacher: Tensor) -> Tensor:
    """KL(teacher || student) by ``ExactZero``."""
    apply: Callable[[Tensor, Tensor], Tensor] = ExactZero.apply
    return apply(student, teacher)


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: bits of the significand, the hidden one included, and the lowest exponent."""

    dtype: torch.dtype
    bits: int
    lowest: int

    @property
    def cutoff(self) -> float:
        """The margin from which ``log_softmax`` leaves the right class no gradient: ``1 + exp(-m)`` rounds to 1."""
        return self.bits * math.log(2)

    @property
    def probability_cutoff(self) -> float:
        """The same where the probability itself is rounded, as in a sigmoid: ``1 / (1 + exp(-m))`` rounds to 1."""
        return math.log(2 ** (self.bits + 1) - 1)

    @property
    def frozen_below(self) -> float:
        """A relative change below this moves no number of the format."""
        return 2.0 ** -(self.bits + 1)

    def rounded(self, number: float) -> float:
        """The nearest number of the format, ties to even, subnormals included.

        >>> FORMATS["bfloat16"].rounded(1.004), FORMATS["bfloat16"].rounded(1.003)
        (1.0078125, 1.0)
        """
        if number == 0:
            return 0.0
        exponent = max(math.frexp(number)[1] - 1, self.lowest)
        spacing = math.ldexp(1.0, exponent - self.bits + 1)
        return round(number / spacing) * spacing

    def frozen_share(self, decay: float) -> float:
        """The share of weights, of evenly spread significands, that ``w * (1 - decay)`` leaves where they are."""
        return min(1.0, max(0.0, 2.0**-self.bits / decay - 1))

    def stuck_from(self, step: float) -> float:
        """The smallest weight that a step of this size cannot move."""
        return 2.0 ** (math.floor(math.log2(step) + self.bits) + 1)


FORMATS = {
    "bfloat16": Format(torch.bfloat16, 8, -126),
    "float16": Format(torch.float16, 11, -14),
    "float32": Format(torch.float32, 24, -126),
    "float64": Format(torch.float64, 53, -1022),
}


def exact_cross_entropy(logits: Sequence[float], target: int) -> float:
    """Cross-entropy of one row, computed with 60 digits and rounded once."""
    with mpmath.workdps(DIGITS):
        others = (
            mpmath.exp(mpmath.mpf(logit) - logits[target]) for index, logit in enumerate(logits) if index != target
        )
        return float(mpmath.log1p(mpmath.fsum(others)))


def exact_gradient(logits: Sequence[float], target: int) -> list[float]:
    """Its gradient; the entry of the target is minus the sum of the others, so nothing cancels."""
    with mpmath.workdps(DIGITS):
        weights = [mpmath.exp(mpmath.mpf(logit) - logits[target]) for logit in logits]
        others = mpmath.fsum(weight for index, weight in enumerate(weights) if index != target)
        return [float((-others if index == target else weight) / (others + 1)) for index, weight in enumerate(weights)]


def exact_divergence_gradient(student: Sequence[float], teacher: Sequence[float]) -> list[float]:
    """The gradient of KL(teacher || student) in the student's logits: the difference of both softmaxes."""
    with mpmath.workdps(DIGITS):
        pair = [[mpmath.exp(mpmath.mpf(logit)) for logit in logits] for logits in (student, teacher)]
        totals = [mpmath.fsum(weights) for weights in pair]
        return [float(ours / totals[0] - theirs / totals[1]) for ours, theirs in zip(*pair, strict=True)]


def escape_epsilon(learning_rate: float, curvature: float, beta1: float) -> float:
    """Adam's epsilon below which it cannot stay at a minimum of this curvature, once gradients are far below epsilon.

    It is then descent with momentum and the rate ``learning_rate / epsilon``, stable up to
    ``2 (1 + beta1) / ((1 - beta1) curvature)``.
    """
    return learning_rate * curvature * (1 - beta1) / (2 * (1 + beta1))
