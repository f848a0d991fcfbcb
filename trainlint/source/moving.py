"""Facts as they read after an edit elsewhere in a file: the same, in other rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from trainlint.record import fields, is_dataclass, replace
from trainlint.source.pieces import Layout
from trainlint.span import Span

T = TypeVar("T")

ATOMS = (str, int, float, bool, bytes, type(None), Enum)


class Move:
    """What becomes of the rows of files whose pieces have moved: their layouts before and after, by path."""

    def __init__(self, moved: Mapping[str, tuple[Layout, Layout]]) -> None:
        self._shifts = {path: _Shift(*both) for path, both in moved.items()}
        self._known: dict[int, tuple[object, object]] = {}

    def of(self, value: T) -> T:
        """The same value, every place in it moved; what holds no place that moves stays the same object."""
        if isinstance(value, ATOMS):
            return value
        known = self._known.get(id(value))
        if known is None:
            # The value is kept, so that no other one gets its identity.
            known = self._known[id(value)] = value, self._moved(value)
        return known[1]  # type: ignore[return-value]

    def _moved(self, value: Any) -> Any:
        if isinstance(value, Span):
            shift = self._shifts.get(value.path)
            return shift.of(value) if shift else value
        if isinstance(value, tuple | frozenset | list):
            moved = [self.of(each) for each in value]
            return value if all(map(_is, moved, value)) else type(value)(moved)
        if isinstance(value, Mapping):
            pairs = {self.of(key): self.of(each) for key, each in value.items()}
            return value if all(pairs.get(key) is each for key, each in value.items()) else pairs
        if is_dataclass(value) and not isinstance(value, type):
            parts = ((each.name, getattr(value, each.name)) for each in fields(value))
            changed = {name: moved for name, part in parts if (moved := self.of(part)) is not part}
            return replace(value, **changed) if changed else value
        return value


class _Shift:
    """Where the rows of one file went."""

    def __init__(self, before: Layout, after: Layout) -> None:
        places: dict[tuple[str, int], tuple[int, int, int]] = {}
        for key, (_, *place) in zip(_keys(after), after, strict=True):
            places[key] = (place[0], place[1], place[2])
        self._starts = [first for _, first, _, _ in before]
        self._pairs = [(each, places.get(key)) for key, each in zip(_keys(before), before, strict=True)]

    def of(self, span: Span) -> Span:
        row = self._row(span.row)
        end_row, end_column = self._end(span.end_row, span.end_column)
        if (row, end_row, end_column) == (span.row, span.end_row, span.end_column):
            return span
        return replace(span, row=row, end_row=end_row, end_column=end_column)

    def _row(self, row: int) -> int:
        place = bisect_right(self._starts, row) - 1
        if place < 0:
            return row
        (_, first, _, _), now = self._pairs[place]
        return row + now[0] - first if now else row

    def _end(self, row: int, column: int) -> tuple[int, int]:
        """The end of a place: of one that ends with a piece, where that ends now, whatever the piece says."""
        place = bisect_right(self._starts, row) - 1
        while place >= 0:
            (_, first, last, end), now = self._pairs[place]
            if (last, end) == (row, column) and now:
                return now[1], now[2]
            if first < row:
                break
            place -= 1
        return self._row(row), column


def _keys(layout: Layout) -> list[tuple[str, int]]:
    """The name of each piece, with its number among those of that name."""
    counts: dict[str, int] = {}
    keys = []
    for name, *_ in layout:
        counts[name] = counts.get(name, -1) + 1
        keys.append((name, counts[name]))
    return keys


def _is(first: object, second: object) -> bool:
    return first is second
