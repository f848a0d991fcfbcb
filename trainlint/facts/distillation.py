"""A student that is matched to a teacher: by which loss, in which mode, and from which start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from trainlint.facts.fact import Fact, Unjudged
from trainlint.facts.targets import Activation
from trainlint.value import Step, Unknown


class Reduction(Enum):
    """What becomes of the numbers of a loss."""

    MEAN = "mean"
    BATCH_MEAN = "batchmean"
    SUM = "sum"
    NONE = "none"


@dataclass(frozen=True)
class Divergence(Fact):
    """A Kullback-Leibler divergence that is trained on, and how its numbers become one.

    ``is_default`` says that nothing was given, ``assumed`` are the defaults of the project's own that it rests on.
    ``scaled`` is the line that multiplies it by the number of classes. ``classes`` is how many there are, where that is
    known.
    """

    function: str
    reduction: Reduction | Unknown
    is_default: bool
    assumed: tuple[Step, ...] = ()
    scaled: Step | None = None
    classes: int | None = None

    def unjudged(self) -> Iterator[Unjudged]:
        """How its numbers become one."""
        if isinstance(self.reduction, Unknown):
            yield Unjudged(self.call, "is the divergence divided by the classes", self.reduction)


@dataclass(frozen=True)
class DivergenceInput(Fact):
    """What a Kullback-Leibler divergence is given: the logarithms it wants first, and the target.

    ``log_target`` says that the target is wanted as logarithms too. ``arms`` are the branches taken between a layer and
    the loss.
    """

    function: str
    reaches: Activation | Unknown
    target: Activation | Unknown
    log_target: bool | Unknown
    arms: tuple[Step, ...] = field(default=(), compare=False, kw_only=True)

    @property
    def is_chosen(self) -> bool:
        """Whether a branch that the code leaves open decides what reaches the loss."""
        return not set(self.arms).isdisjoint(self.branch)

    def unjudged(self) -> Iterator[Unjudged]:
        """What reaches it on either side."""
        if isinstance(self.reaches, Unknown):
            yield Unjudged(self.call, "is the input of the divergence in logarithms", self.reaches)
        if isinstance(self.target, Unknown):
            yield Unjudged(self.call, "is the target of the divergence what it wants", self.target)
        elif isinstance(self.log_target, Unknown):
            yield Unjudged(self.call, "is the target of the divergence what it wants", self.log_target)
