"""What only a run shows: which classes were ever a target, and whose signal was lost."""

from __future__ import annotations

from collections.abc import Iterator

from trainlint.facts.fact import Fact, Unjudged
from trainlint.record import record
from trainlint.value import Unknown

WINDOWS = 3
"""A share that stays this many windows in a row is no accident of one batch."""

ZERO_SHARE = 0.05
"""Less is common where training is nearly done, and costs nothing."""

SEEN_AT_LEAST = 10
"""Every seen class this often before a gap means anything. Of 1000 draws at even and at very uneven frequencies over 3
to 1025 classes, at most 0.2 % then show a gap by chance; with 3 it would be 11 % where classes are few."""


@record
class ClassCoverage(Fact):
    """How often each class was a target in training, of this loss and of others over as many classes.

    ``missing`` are the first of the classes that never were, ``lacking`` how many those are, ``least`` how often the
    rarest of the others was; an index that a loss skips is neither. ``targets`` counts all that were learned from; a
    batch that is repeated counts once.
    """

    classes: int
    targets: int
    missing: tuple[int, ...]
    lacking: int
    least: int

    @property
    def is_large_enough(self) -> bool:
        """Whether chance would not leave this gap: few classes lack, and every other was seen several times."""
        return self.lacking <= max(1, self.classes // 100) and self.least >= SEEN_AT_LEAST

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether a class is missing from the data, or from this run only."""
        if self.lacking and not self.is_large_enough:
            why = (
                f"sample too small to judge: {self.targets} targets, {self.lacking} of {self.classes} classes are not"
                f" among them, the rarest of the others {self.least} times"
            )
            yield Unjudged(self.call, "is every class a target", Unknown(why, "a longer run"))


@record
class ZeroSignal(Fact):
    """Rows whose right class got exactly no gradient while another class of the row did.

    ``share`` is theirs among the ``rows`` that were looked at, ``windows`` how many windows in a row it was at least
    ``ZERO_SHARE``. ``arithmetic`` names what ran ("bfloat16 on cpu"), ``significand`` the bits in which it sums, None
    where they are not known. ``margin`` is the median lead of the right class.
    """

    share: float
    rows: int
    windows: int
    arithmetic: str
    significand: int | None
    margin: float | None

    @property
    def lasts(self) -> bool:
        """Whether it is more than an accident of one batch."""
        return self.windows >= WINDOWS


ONLY_RUNS = (ClassCoverage, ZeroSignal)
"""What no code shows."""
