"""What a data file can hold: scalars, mappings and sequences, and what is none of them."""

from __future__ import annotations

from trainlint.record import record, replace

DEEPEST = 100
"""Containers inside containers; nobody writes more by hand."""

MOST_VALUES = 200_000
"""Values of one file; anchors can make a small file hold more than memory does."""


@record
class Place:
    """Where something is written; rows and columns count from 1, the end lies behind it."""

    row: int = 1
    column: int = 1
    end_row: int = 1
    end_column: int = 1

    def upto(self, other: Place) -> Place:
        """From the start of this to the end of the other; a key and its value on another line keep to the key."""
        if other.row != self.row:
            return self
        return replace(self, end_row=other.row, end_column=max(other.end_column, self.end_column))


@record
class Scalar:
    """A number, a text, true or false, or nothing."""

    value: str | int | float | bool | None
    place: Place


@record
class Mapping:
    """Keys and what stands under them, in the order of the file."""

    pairs: tuple[tuple[Scalar, Datum], ...]
    place: Place

    def get(self, key: str) -> Datum | None:
        """What stands under a key; the last one counts."""
        return next((value for name, value in reversed(self.pairs) if name.value == key), None)


@record
class Sequence:
    """Values one after the other."""

    items: tuple[Datum, ...]
    place: Place


@record
class Foreign:
    """A value that only the program which reads the file can make: an object, a date, another file."""

    kind: str
    place: Place


Datum = Scalar | Mapping | Sequence | Foreign


class Broken(Exception):
    """The bytes are not what the name of the file says."""

    def __init__(self, reason: str, row: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row


def placed(datum: Datum, place: Place) -> Datum:
    """The same value, its place begun by its key."""
    return replace(datum, place=place.upto(datum.place)) if place is not datum.place else datum


def extent(datum: Datum, known: dict[int, int]) -> int:
    """How many values there are, each counted under all its names; ``known`` holds those of containers."""
    if not isinstance(datum, Mapping | Sequence):
        return 1
    if id(datum) not in known:
        inner = datum.items if isinstance(datum, Sequence) else [value for _, value in datum.pairs]
        known[id(datum)] = 1 + sum(extent(each, known) for each in inner)
    return known[id(datum)]


def text_of(data: bytes) -> str:
    """The text of a data file; all of these formats are UTF-8."""
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        raise Broken("it is not UTF-8") from None
