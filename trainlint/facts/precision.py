"""In which numbers a model computes and keeps its weights: formats, storage, optimizers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import Enum

from trainlint.facts.fact import Fact, Option, Unjudged
from trainlint.numerics import cutoff, probability_cutoff
from trainlint.record import field, record, replace
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


@record
class Storage:
    """The format in which the parameters of a model are stored, the lines that decide it, and defaults among them.

    ``engine`` is the call that makes the trainer whose precision decides it, if one does.
    """

    dtype: Dtype
    evidence: tuple[Step, ...] = ()
    assumed: tuple[Step, ...] = ()
    engine: Span | None = None


class Spelling(Enum):
    """How a loss over classes, or a binary one, is written."""

    NATIVE = "one call"
    SEPARATE = "log_softmax, then a pick"
    LOGARITHM = "the log of a softmax"
    BY_HAND = "a score minus logsumexp"
    BINARY = "a binary loss of scores"


class Device(Enum):
    """Where a loss runs, or which device a region of mixed precision is for."""

    CPU = "the CPU"
    CUDA = "CUDA"
    OTHER = "another device"


BY_HAND = {Dtype.BFLOAT16: 4.0, Dtype.FLOAT16: 6.0}
"""Measured with all other scores at 0: the score and logsumexp round at their own size, which moves the margin."""

ON_THE_CPU = (Spelling.NATIVE, Spelling.BINARY)
"""What a region of mixed precision for the CPU computes in 32 bits; ``log_softmax``, ``softmax`` and ``logsumexp`` it
leaves alone.
"""

FUSED = (Spelling.NATIVE, Spelling.SEPARATE, Spelling.LOGARITHM)
"""What the compiler turns into one kernel, which stays in 32 bits."""


@record
class LossArithmetic(Fact):
    """In which numbers a loss is computed: the format of its logits when they reach it, and what changes it there.

    ``autocast`` is the device of the region of mixed precision around the loss, None without one. ``device`` is where
    the program says that it runs, None where it does not say; ``hints`` are the lines that say so. ``smoothed`` says
    that the best answer is at a finite margin. ``spatial`` says that the classes stand in dimension 1 before others,
    ``classes`` how many there are, ``compiled`` that the compiler sees the loss. ``shown`` is the expression of the
    logits that the loss is given, ``softened`` the call of ``log_softmax`` beside it, ``weighted`` says that the loss
    is given weights of the classes, which must have the format of the logits.
    """

    function: str
    spelling: Spelling
    logits: Storage | Unknown
    autocast: Device | Unknown | None = None
    device: Device | None = None
    hints: tuple[Step, ...] = ()
    smoothed: bool = False
    spatial: bool = False
    classes: int | None = None
    compiled: bool = field(default=False, kw_only=True)
    shown: Span | None = field(default=None, kw_only=True)
    softened: Span | None = field(default=None, kw_only=True)
    weighted: bool = field(default=False, kw_only=True)

    @property
    def arithmetic(self) -> Dtype | Unknown:
        """The format in which the sum over the classes is rounded on the CPU, or in any eager kernel like its own."""
        if isinstance(self.logits, Unknown) or not self.logits.dtype.is_short:
            return self.logits if isinstance(self.logits, Unknown) else self.logits.dtype
        if isinstance(self.autocast, Unknown):
            return self.autocast
        if self.autocast is not None and (self.autocast is not Device.CPU or self.spelling in ON_THE_CPU):
            return Dtype.FLOAT32
        is_wide = (self.compiled and self.spelling in FUSED) or (self.spatial and self.spelling is Spelling.NATIVE)
        return Dtype.FLOAT32 if is_wide else self.logits.dtype

    @property
    def is_wide_on_cuda(self) -> bool:
        """Whether the kernels of CUDA compute this spelling in 32 bits, whatever they are given."""
        return self.spelling in (Spelling.NATIVE, Spelling.SEPARATE)

    @property
    def cutoff(self) -> float | None:
        """The margin from which the gradient of the right class is exactly 0, where one other class is left.

        The stored sum 1 + exp(-m) rounds to 1 from p ln 2 on, p the bits of the significand; a probability that is
        rounded itself is 1 from ln(2**(p + 1) - 1) on.
        """
        dtype = self.arithmetic
        if isinstance(dtype, Unknown):
            return None
        if self.spelling is Spelling.BY_HAND:
            return BY_HAND.get(dtype)
        if dtype.is_short and self.spelling in (Spelling.LOGARITHM, Spelling.BINARY):
            return probability_cutoff(dtype.significand)
        return cutoff(dtype.significand)

    def unjudged(self) -> Iterator[Unjudged]:
        """In which format the loss is computed."""
        why = self.arithmetic
        if isinstance(why, Unknown) and not self.smoothed:
            yield Unjudged(self.call, "in which format is the loss computed", why)

    def given_up(self, why: Unknown) -> Fact:
        """The same loss, its logits not followed."""
        return replace(self, logits=why, branch=())


@record
class Accumulator(Fact):
    """A loss that computes its gradients in pieces and adds them up: in which format, and that of the weights.

    ``adds`` is the format it was told, None where it takes that of the weights; ``parameter`` says it, ``told`` is that
    argument where it is float32.
    """

    function: str
    parameter: str
    adds: Dtype | Unknown | None
    weights: Storage | Unknown
    told: Option | None = None

    @property
    def format(self) -> Dtype | Unknown:
        """The format of the sum."""
        if self.adds is not None:
            return self.adds
        return self.weights if isinstance(self.weights, Unknown) else self.weights.dtype

    def unjudged(self) -> Iterator[Unjudged]:
        """In which format the gradients are added up."""
        if isinstance(self.format, Unknown):
            yield Unjudged(self.call, "in which format are the gradients of the loss added up", self.format)

    def given_up(self, why: Unknown) -> Fact:
        """The same loss, its weights not followed."""
        return replace(self, weights=why, branch=())


class Compensation(Enum):
    """What keeps the part of an update that rounding would lose."""

    MASTER = "a float32 copy of the weights"
    STOCHASTIC = "stochastic rounding"
    KAHAN = "Kahan summation"


@record
class Optimizer(Fact):
    """An optimizer, or a trainer that makes one, and the weights that it trains.

    ``weights`` is their format where the optimizer is made, ``state`` that of what it remembers of each weight.
    ``second`` is the rate at which the second moment forgets, ``eps`` what is added to its root in the format of the
    weights; both are None where there is nothing of the kind. ``scales`` says that weight decay scales the weights in
    their own format, ``bounded`` that no step is much longer than the learning rate. ``inside`` is the name of the
    function that casts in each step, ``doubt`` what outside of the code may keep a float32 copy. ``beside`` are the
    lines that make the weights short on other ways to the same call, ``transmitted`` is the share of the updates that
    came through, where a run measured it. ``raised`` is the argument by which epsilon is larger.
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
    transmitted: float | None = None
    raised: Option | None = None

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
