"""How a model is chosen: by what, which way, what else is kept, and what the choice does not see."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from trainlint.facts.fact import Fact, Option, Unjudged
from trainlint.record import field, record, replace
from trainlint.span import Span
from trainlint.value import Better, Measure, Score, Step, Unknown


class Purpose(Enum):
    """What happens to the model that wins, or to training when none does."""

    KEEP = "keep"
    LOAD = "load"
    STOP = "stop"
    SLOW = "slow"


@record
class Measured:
    """What models are compared by: the name that says it, what the name says, and the lines it went through.

    ``assumed`` are the defaults among them that a caller may change.
    """

    name: str
    score: Score
    evidence: tuple[Step, ...] = ()
    assumed: tuple[Step, ...] = ()

    @property
    def is_loss(self) -> bool:
        """Whether it is a loss, or computed from one alone."""
        return self.score.measure is Measure.LOSS


@record
class Sign:
    """The sign of a comparison, the opposite one, and the value that its record starts with then, where it must change.

    ``start`` is where the record gets its first value, ``first`` the one that it needs.
    """

    where: Span
    other: str
    start: Span | None = None
    first: str = ""


@record
class Selection(Fact):
    """A comparison of models by one number, or a library's object that makes it.

    ``chooser`` is its subject in a sentence. ``wins`` is the value of ``measured`` that is taken for the better model,
    ``because`` how that is known, ``cure`` what turns it round. ``metrics`` are the task metrics that are computed
    beside a loss, ``kept`` what is saved besides the winner. ``learned`` are the lines in which the compared value is
    added up where the model learns from it, ``held_out`` says that the code has other data. ``endings`` are the lines
    by which the model must say itself when to stop. ``is_named`` says that the code names the loss as what it wants,
    ``is_repeated`` that an earlier line of the file is chosen the same way. ``decided`` is what of the code says which
    way it goes, where that is one place.
    """

    chooser: str
    purpose: Purpose
    measured: Measured | Unknown
    wins: Better | Unknown
    because: tuple[Step, ...] = ()
    cure: str = ""
    metrics: tuple[Measured, ...] = ()
    kept: tuple[Step, ...] = ()
    learned: tuple[Step, ...] = ()
    held_out: bool = True
    endings: tuple[Step, ...] = ()
    is_named: bool = False
    is_repeated: bool = field(default=False, kw_only=True)
    decided: Option | Sign | None = field(default=None, kw_only=True)

    @property
    def where(self) -> Span:
        """Where it is decided: the construction of a library's object, else where the value is handed in."""
        return self.built or self.argument

    @property
    def keeps_lowest_loss(self) -> bool:
        """Whether the lowest loss decides which model is left, and nothing else is kept."""
        if isinstance(self.measured, Unknown) or self.purpose in (Purpose.STOP, Purpose.SLOW):
            return False
        return self.measured.is_loss and self.wins is Better.LOWER and not self.kept

    def unjudged(self) -> Iterator[Unjudged]:
        """What is compared, and which way."""
        why = next((each for each in (self.measured, self.wins) if isinstance(each, Unknown)), None)
        if why is not None:
            yield Unjudged(self.call, "is the model that is chosen the better one", why)

    def given_up(self, why: Unknown) -> Fact:
        """The same choice, what is compared not followed."""
        return replace(self, measured=why, metrics=(), kept=(), learned=(), endings=(), branch=())


@record
class NewestBest(Fact):
    """Weights that are saved as the best, in a place that no comparison leads to.

    ``saved`` is what the code calls them; ``evidence`` are the lines that train them.
    """

    saved: str
    evidence: tuple[Step, ...]
