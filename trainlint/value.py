"""Numbers that training code names but does not spell out, and how sure each is."""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum

from trainlint.record import dataclass, field, record, replace
from trainlint.span import Span


@dataclass(frozen=True)
class Step:
    """One line of evidence: at this place, the code says this."""

    text: str
    where: Span


@record
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
    """A number nobody settled: ``name`` is how the reader knows it, ``origin`` alone makes it this one and no other.

    ``minimum`` is what is known for sure: a size is at least 1, an id at least 0.
    """

    name: str = field(compare=False)
    origin: str
    minimum: int | None = field(default=None, compare=False)


@record
class Table:
    """A class table: which label stands behind which id, and where it is written.

    ``size`` counts the entries. Ids that no label is known for are absent. ``explicit`` says that the ids are written
    down (a dictionary, an enum); else they are places in a sequence, which hold only where nothing is put in front.
    """

    name: str
    entries: tuple[tuple[int, str], ...]
    size: int
    where: Span
    complete: bool = True
    explicit: bool = True

    def label(self, number: int) -> str | None:
        """The label behind an id, if it is known."""
        return dict(self.entries).get(number)

    @property
    def evidence(self) -> tuple[Step, ...]:
        """The line where it is written."""
        return (Step(f"{self.name} has {self.size} entries", self.where),)

    @property
    def is_counted(self) -> bool:
        """Whether the labels are numbered from 0 without a gap: a table with gaps is a part of something."""
        return self.complete and sorted(number for number, _ in self.entries) == list(range(self.size))


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
    ``parts`` the definitions that went into it, ``table`` the class table whose length it is built on.
    """

    constant: int
    terms: tuple[tuple[Symbol, int], ...] = ()
    evidence: tuple[Step, ...] = field(default=(), compare=False)
    assumed: tuple[Step, ...] = field(default=(), compare=False)
    names: tuple[str, ...] = field(default=(), compare=False)
    origins: tuple[str, ...] = field(default=(), compare=False)
    parts: tuple[str, ...] = field(default=(), compare=False)
    table: Table | None = field(default=None, compare=False)

    @classmethod
    def exact(cls, number: int) -> Integer:
        """A number that the code spells out."""
        return cls(int(number))

    @classmethod
    def symbol(cls, symbol: Symbol) -> Integer:
        """A number that the code only names."""
        return cls(0, ((symbol, 1),), names=(symbol.name,), origins=(symbol.origin,))

    @property
    def number(self) -> int | None:
        """The exact value, if there is one."""
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
        """The greatest value that the symbols allow, if they allow one."""
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
        """This number, ``factor`` times."""
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

    def at_least(self, least: int) -> Integer:
        """The same number, known not to be less where it is one symbol."""
        match self:
            case Integer(constant=0, terms=((Symbol() as symbol, 1),)) if (symbol.minimum or 0) < least:
                return replace(self, terms=((replace(symbol, minimum=least), 1),))
        return self

    def because(self, *steps: Step) -> Integer:
        """The same number with more evidence."""
        return replace(self, evidence=joined(self.evidence, steps))

    def assuming(self, step: Step) -> Integer:
        """The same number, resting on a default that a caller may change."""
        return replace(self, assumed=joined(self.assumed, (step,)))

    def named(self, name: str, origin: str = "") -> Integer:
        """The same number, having passed unchanged through a name or a look-up string."""
        origins = (*self.origins, origin) if origin and origin not in self.origins else self.origins
        return replace(self, names=self.names if name in self.names else (*self.names, name), origins=origins)

    def _with(self, constant: int, terms: dict[Symbol, int], other: Integer) -> Integer:
        kept = tuple(sorted((symbol, times) for symbol, times in terms.items() if times))
        evidence, assumed = joined(self.evidence, other.evidence), joined(self.assumed, other.assumed)
        parts = tuple(dict.fromkeys((*self.origins, *self.parts, *other.origins, *other.parts)))
        return Integer(constant, kept, evidence, assumed, parts=parts)

    def __str__(self) -> str:
        """As a reader writes it.

        >>> n, m = (Integer.symbol(Symbol("len(tags)", origin)) for origin in ("a.py", "b.py"))
        >>> str(n + Integer.exact(1)), str(Integer.exact(7) - n.times(2)), str(n - m)
        ('len(tags) + 1', '7 - 2*len(tags)', 'len(tags)@a.py - len(tags)@b.py')
        """
        called = Counter(symbol.name for symbol, _ in self.terms)
        parts = sorted((_spelled(symbol, called), times) for symbol, times in self.terms)
        words = [(times < 0, name if abs(times) == 1 else f"{abs(times)}*{name}") for name, times in parts]
        if self.constant or not words:
            words.append((self.constant < 0, str(abs(self.constant))))
        return _sum(sorted(words, key=lambda word: word[0]))


@record
class Real:
    """A number that is measured rather than counted, such as a learning rate: its value, the lines behind it, and the
    defaults among them that a caller may change.
    """

    number: float
    evidence: tuple[Step, ...] = field(default=(), compare=False)
    assumed: tuple[Step, ...] = field(default=(), compare=False)


def joined(*groups: tuple[Step, ...]) -> tuple[Step, ...]:
    """Every line of evidence once, in the order of the groups."""
    return tuple(dict.fromkeys(step for group in groups for step in group))


def taken(*numbers: Integer | Real | Unknown | None) -> tuple[Step, ...]:
    """The defaults on which these numbers rest, each once."""
    return joined(*(number.assumed for number in numbers if isinstance(number, Integer | Real)))


def given(steps: tuple[Step, ...]) -> str:
    """The end of a message that rests on these defaults; empty without any.

    >>> given((Step("pad_index = 0", Span("config.py", 9)),))
    ', given the default pad_index = 0'
    """
    texts = list(dict.fromkeys(step.text for step in steps))
    return f", given the default{'s' if len(texts) > 1 else ''} {' and '.join(texts)}" if texts else ""


def _spelled(symbol: Symbol, called: Counter[str]) -> str:
    """A symbol as one factor: in brackets if its name is a sum itself, with its origin if two are called the same."""
    name, bare = "", symbol.name
    while name != bare:
        name, bare = bare, re.sub(r"[(\[][^()\[\]]*[)\]]", "", bare)
    spelled = symbol.name if re.fullmatch(r"[\w.]*", bare) else f"({symbol.name})"
    return f"{spelled}@{symbol.origin}" if called[symbol.name] > 1 else spelled


def _sum(words: list[tuple[bool, str]]) -> str:
    (less, first), *rest = words
    return " ".join(["-" * less + first, *(f"{'-' if less else '+'} {word}" for less, word in rest)])


@record
class Worth:
    """One value of a name: in words, the lines behind it and the defaults among them, or why it stays open.

    ``context`` are the callers and the branches by which it has this value, where it can have another.
    """

    text: str
    why: Unknown | None = None
    chain: tuple[Step, ...] = ()
    assumed: tuple[Step, ...] = ()
    context: tuple[Step, ...] = ()


@record
class Settled:
    """A name, or a whole call, as a line of code spells it, and what it can be worth."""

    name: str
    where: Span
    worths: tuple[Worth, ...]


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
    RUN = "run"
    NAME = "name"


class Better(Enum):
    """Which of two values is that of the better model, or which of two the code takes for it."""

    HIGHER = "higher"
    LOWER = "lower"

    @property
    def other(self) -> Better:
        """The opposite."""
        return Better.LOWER if self is Better.HIGHER else Better.HIGHER

    @property
    def extreme(self) -> str:
        """The value that wins in the end, in words."""
        return "highest" if self is Better.HIGHER else "lowest"


class Measure(Enum):
    """What a number measures: a loss or what is computed from it alone, the distance to a target, or a task."""

    LOSS = "loss"
    DISTANCE = "distance"
    TASK = "task metric"


@record
class Score:
    """What a name says of a number that models are compared by."""

    better: Better
    measure: Measure
