"""Numbers that training code names but does not spell out, and how sure each is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import Enum

from trainlint.span import Span


@dataclass(frozen=True)
class Step:
    """One line of evidence: at this place, the code says this."""

    text: str
    where: Span


@dataclass(frozen=True)
class Unknown:
    """What was not found out: why, and what would settle it (``--define cfg.vocab_size=...``, a type, a call)."""

    reason: str
    settle: str = ""


class Position(Enum):
    """Where a class index stands against the classes ``0 .. width - 1``."""

    NEGATIVE = "negative"
    INSIDE = "inside"
    ONE_PAST = "one past the end"
    BEYOND = "beyond the end"


@dataclass(frozen=True, order=True)
class Symbol:
    """A number nobody settled: ``name`` is how the reader knows it, ``origin`` makes it this one and no other.

    ``minimum`` is what is known for sure: a size is at least 1, an id at least 0.
    """

    name: str
    origin: str
    minimum: int | None = None


@dataclass(frozen=True)
class Table:
    """A class table: which label stands behind which id, and where it is written.

    ``size`` counts the entries. Ids that no label is known for are absent.
    """

    name: str
    entries: tuple[tuple[int, str], ...]
    size: int
    where: Span
    complete: bool = True

    def label(self, number: int) -> str | None:
        return dict(self.entries).get(number)


@dataclass(frozen=True)
class Integer:
    """An exact number, or a sum of symbols with whole coefficients plus a number.

    Two of them compare by subtraction, so a width of ``n + 1`` and a sentinel of ``n`` compare without knowing n:

    >>> n = Integer.symbol(Symbol("n", "config.n", minimum=1))
    >>> n.position(n + Integer.exact(1)).name, n.position(n).name
    ('INSIDE', 'ONE_PAST')
    >>> (n - Integer.exact(7)).number is None
    True

    ``evidence`` lists the substitutions that led here, ``assumed`` the defaults among them that a caller may change,
    ``names`` the names and look-up strings it came through unchanged, ``origins`` the definitions behind those names,
    ``table`` the class table whose length this number is.
    """

    constant: int
    terms: tuple[tuple[Symbol, int], ...] = ()
    evidence: tuple[Step, ...] = field(default=(), compare=False)
    assumed: tuple[Step, ...] = field(default=(), compare=False)
    names: tuple[str, ...] = field(default=(), compare=False)
    origins: tuple[str, ...] = field(default=(), compare=False)
    table: Table | None = field(default=None, compare=False)

    @classmethod
    def exact(cls, number: int) -> Integer:
        return cls(int(number))

    @classmethod
    def symbol(cls, symbol: Symbol) -> Integer:
        return cls(0, ((symbol, 1),), names=(symbol.name,), origins=(symbol.origin,))

    @property
    def number(self) -> int | None:
        return None if self.terms else self.constant

    @property
    def minimum(self) -> int | None:
        """The least value that the symbols allow, if they allow one."""
        total = self.constant
        for symbol, times in self.terms:
            if times < 0 or symbol.minimum is None:
                return None
            total += times * symbol.minimum
        return total

    @property
    def maximum(self) -> int | None:
        least = (-self).minimum
        return None if least is None else -least

    def __neg__(self) -> Integer:
        return self._with(-self.constant, {symbol: -times for symbol, times in self.terms}, self)

    def __add__(self, other: Integer) -> Integer:
        total: Counter[Symbol] = Counter(dict(self.terms))
        for symbol, times in other.terms:
            total[symbol] += times
        return self._with(self.constant + other.constant, total, other)

    def __sub__(self, other: Integer) -> Integer:
        return self + -other

    def times(self, factor: int) -> Integer:
        return self._with(self.constant * factor, {symbol: times * factor for symbol, times in self.terms}, self)

    def position(self, width: Integer) -> Position | None:
        """Where this index stands in an output of ``width`` classes; None where the symbols leave it open."""
        if self.maximum is not None and self.maximum < 0:
            return Position.NEGATIVE
        gap = self - width
        if gap.number == 0:
            return Position.ONE_PAST
        if gap.minimum is not None and gap.minimum > 0:
            return Position.BEYOND
        inside = gap.maximum is not None and gap.maximum < 0 and self.minimum is not None and self.minimum >= 0
        return Position.INSIDE if inside else None

    def because(self, *steps: Step) -> Integer:
        """The same number with more evidence."""
        return replace(self, evidence=_joined(self.evidence, steps))

    def assuming(self, step: Step) -> Integer:
        """The same number, resting on a default that a caller may change."""
        return replace(self, assumed=_joined(self.assumed, (step,)))

    def named(self, name: str, origin: str = "") -> Integer:
        """The same number, having passed unchanged through a name or a look-up string."""
        origins = (*self.origins, origin) if origin and origin not in self.origins else self.origins
        return replace(self, names=self.names if name in self.names else (*self.names, name), origins=origins)

    def _with(self, constant: int, terms: dict[Symbol, int], other: Integer) -> Integer:
        kept = tuple(sorted((symbol, times) for symbol, times in terms.items() if times))
        evidence, assumed = _joined(self.evidence, other.evidence), _joined(self.assumed, other.assumed)
        return Integer(constant, kept, evidence, assumed)

    def __str__(self) -> str:
        """As a reader writes it: ``1024``, ``vocab_size + 1``, ``2*n - 1``."""
        words = [f"{'-' if times < 0 else '+'} {'' if abs(times) == 1 else f'{abs(times)}*'}{symbol.name}"
                 for symbol, times in self.terms]
        if self.constant or not words:
            words.append(f"{'-' if self.constant < 0 else '+'} {abs(self.constant)}")
        return " ".join(words).removeprefix("+ ").replace("- ", "-", 1 if words[0][0] == "-" else 0)


def _joined(first: tuple[Step, ...], second: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(dict.fromkeys((*first, *second)))


class Role(Enum):
    """What one class index is for."""

    END = "end"
    START = "start"
    PAD = "padding"
    VOID = "void"
    BLANK = "blank"
    NO_OBJECT = "no-object"
    LABEL = "label"

    @property
    def is_job(self) -> bool:
        """A class with a job must be learned; a start, padding or void entry has none."""
        return self in {Role.END, Role.BLANK, Role.NO_OBJECT, Role.LABEL}


class Proof(Enum):
    """How it is known that a class has a job, strongest first."""

    USE = "use"
    TABLE = "table"
    NAME = "name"
