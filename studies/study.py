"""What a study is made of: settings to run, what each run found, predictions, tables and panels. Plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from statistics import fmean
from typing import Generic, TypeVar

S = TypeVar("S")
"""The frozen dataclass of strings and numbers that settles one run of a study completely."""


class Size(Enum):
    """How much of a study to run."""

    QUICK = "quick"
    NORMAL = "normal"
    FULL = "full"


class Tier(Enum):
    """What a prediction rests on: arithmetic, which any model shares, or the task, which others might not."""

    NUMERICS = "numerics"
    ACCURACY = "accuracy"


@dataclass(frozen=True)
class Found:
    """What one run found: numbers by name, and curves for the plots."""

    values: dict[str, float]
    curves: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Record(Generic[S]):
    """One finished run."""

    setting: S
    found: Found
    cpu_seconds: float
    wall_seconds: float

    def __getitem__(self, name: str) -> float:
        return self.found.values[name]


@dataclass(frozen=True)
class Judged:
    """What became of a prediction, with the numbers that decide."""

    held: bool
    seen: str


@dataclass(frozen=True)
class Prediction(Generic[S]):
    """Written before the runs and never edited afterwards; ``judge`` answers None where its runs are missing."""

    name: str
    tier: Tier
    says: str
    judge: Callable[[Sequence[Record[S]]], Judged | None]


@dataclass(frozen=True)
class Table:
    """Rows of text under a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Line:
    """A curve, or with ``marker`` loose points; equal styles are drawn alike in every panel."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: int = 0
    marker: str = ""


@dataclass(frozen=True)
class Panel:
    """One set of axes; ``levels`` are named horizontal lines."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    levels: tuple[tuple[str, float], ...] = ()
    x_scale: str = "linear"
    y_scale: str = "linear"
    y_range: tuple[float, float] | None = None
    x_ticks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study(Generic[S]):
    """A question, the runs that answer it, and how to read them."""

    name: str
    question: str
    setting: Callable[..., S]
    sizes: Mapping[Size, Sequence[S]]
    measure: Callable[[S], Found]
    predictions: tuple[Prediction[S], ...]
    tables: Callable[[Sequence[Record[S]]], Sequence[Table]]
    panels: Callable[[Sequence[Record[S]]], Sequence[Panel]]
    batches: Callable[[Sequence[S]], Iterable[Sequence[S]]] | None = None
    measure_batch: Callable[[Sequence[S], str], Sequence[Found]] | None = None


def chosen(records: Iterable[Record[S]], **fields: str | float) -> list[Record[S]]:
    """The records whose settings have these fields."""
    return [one for one in records if all(getattr(one.setting, name) == value for name, value in fields.items())]


def mean(records: Iterable[Record[S]], name: str) -> float:
    """The mean of a number over runs."""
    return fmean(record[name] for record in records)


def spread(records: Iterable[Record[S]], name: str, digits: str = ".3g") -> str:
    """The mean with the lowest and highest run: ``16.6 (16.5 to 16.6)``; one number where they agree in print."""
    numbers = [record[name] for record in records]
    low, middle, high = (format(number, digits) for number in (min(numbers), fmean(numbers), max(numbers)))
    return middle if low == high else f"{middle} ({low} to {high})"
