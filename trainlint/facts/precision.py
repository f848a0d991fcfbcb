"""In which numbers a model computes and keeps its weights: formats, storage, optimizers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from trainlint.facts.fact import Fact, Unjudged
from trainlint.span import Span
from trainlint.value import Real, Step, Unknown


class Dtype(Enum):
    """A floating-point format, as PyTorch spells it."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"

    @property
    def significand(self) -> int:
        """Bits of the significand, the hidden one included."""
        return {"float64": 53, "float32": 24, "bfloat16": 8, "float16": 11}[self.value]

    @property
    def eps(self) -> float:
        """The gap between 1 and the next number, ``torch.finfo(dtype).eps``.

        >>> Dtype.BFLOAT16.eps, Dtype.FLOAT16.eps
        (0.0078125, 0.0009765625)
        """
        return float(2 ** (1 - self.significand))

    @property
    def is_short(self) -> bool:
        """Whether a number takes 16 bits."""
        return self in {Dtype.BFLOAT16, Dtype.FLOAT16}

    @property
    def least_change(self) -> float:
        """Scaling by ``1 - d`` changes no number at all where d is less than this.

        >>> Dtype.BFLOAT16.least_change, Dtype.FLOAT16.least_change
        (0.001953125, 0.000244140625)
        """
        return self.eps / 4

    def unmoved(self, step: float) -> float:
        """No number above this changes by one step of this size.

        >>> Dtype.BFLOAT16.unmoved(1e-3), Dtype.BFLOAT16.unmoved(2e-5), Dtype.FLOAT16.unmoved(1e-3)
        (0.5, 0.0078125, 4.0)
        """
        return math.ldexp(1.0, math.frexp(step)[1] + self.significand)


@dataclass(frozen=True)
class Storage:
    """The format in which the parameters of a model are stored, the lines that decide it, and defaults among them.

    ``engine`` is the call that makes the trainer whose precision decides it, if one does.
    """

    dtype: Dtype
    evidence: tuple[Step, ...] = ()
    assumed: tuple[Step, ...] = ()
    engine: Span | None = None


class Compensation(Enum):
    """What keeps the part of an update that rounding would lose."""

    MASTER = "a float32 copy of the weights"
    STOCHASTIC = "stochastic rounding"
    KAHAN = "Kahan summation"


@dataclass(frozen=True)
class Optimizer(Fact):
    """An optimizer, or a trainer that makes one, and the weights that it trains.

    ``weights`` is their format where the optimizer is made, ``state`` that of what it remembers of each weight.
    ``second`` is the rate at which the second moment forgets, ``eps`` what is added to its root in the format of the
    weights; both are None where there is nothing of the kind. ``scales`` says that weight decay scales the weights in
    their own format, ``bounded`` that no step is much longer than the learning rate. ``inside`` is the name of the
    function that casts in each step, ``doubt`` what outside of the code may keep a float32 copy, ``beside`` are the
    lines that make the weights short on other ways to the same call.
    """

    name: str
    weights: Storage | Unknown
    lr: Real | Unknown
    decay: Real | Unknown
    eps: Real | Unknown | None
    second: Real | Unknown | None
    state: Dtype | Unknown
    scales: bool
    bounded: bool
    compensation: Compensation | None = None
    inside: str = ""
    doubt: str = ""
    beside: tuple[Step, ...] = ()

    def given_up(self, why: Unknown) -> Optimizer:
        return replace(self, weights=why)

    def unjudged(self) -> Iterator[Unjudged]:
        if isinstance(self.weights, Unknown):
            yield Unjudged(self.call, "the format of the weights that are trained", self.weights)

    @property
    def short(self) -> Dtype | None:
        """The format of the weights, if it is a short one and nothing keeps what it rounds away."""
        is_kept = self.compensation in {Compensation.MASTER, Compensation.STOCHASTIC}
        known = None if isinstance(self.weights, Unknown) or is_kept else self.weights.dtype
        return known if known is not None and known.is_short else None
