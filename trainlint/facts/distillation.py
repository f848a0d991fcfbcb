"""A student that is matched to a teacher: by which loss, in which mode, and from which start."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from trainlint.facts.fact import Fact, Unjudged
from trainlint.facts.targets import Activation
from trainlint.record import field, record
from trainlint.value import Real, Step, Unknown


class Reduction(Enum):
    """What becomes of the numbers of a loss."""

    MEAN = "mean"
    BATCH_MEAN = "batchmean"
    SUM = "sum"
    NONE = "none"


@record
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


@record
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


@record
class KeptTeacher(Fact):
    """A teacher that is a part of the module which is trained, learns nothing, and goes to training mode with it.

    ``still`` are the lines that show that it learns nothing: it is called without gradient, or frozen. ``evaluated`` is
    the line that puts it into evaluation mode once, ``switched`` the one that switches the whole to training mode;
    both are None where nothing does. ``depends`` is a line of the teacher that does something else in training mode;
    None where it is not known what the teacher is.
    """

    teacher: str
    owner: str
    still: tuple[Step, ...]
    evaluated: Step | None
    switched: Step | None
    depends: Step | None


@record
class SelfMatch(Fact):
    """A loss that compares something with itself: ``side`` is how the code calls it, ``made`` the line that made it."""

    function: str
    side: str
    made: Step


@record
class ExactCopy(Fact):
    """A student that starts as an exact copy of its teacher, and is trained on nothing but to agree with it.

    ``copied`` is the line that copies it, ``matched`` the one that computes the loss, ``eps`` the epsilon of the
    optimizer, which is a kind of Adam.
    """

    optimizer: str
    student: str
    teacher: str
    copied: Step
    matched: Step
    eps: Real | Unknown

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether the epsilon holds the student where it is."""
        if isinstance(self.eps, Unknown):
            yield Unjudged(self.call, "does the student stay where it starts", self.eps)
