"""Frozen data in, plain data out that ``marshal`` or a file can keep, and back; equal parts are kept once.

Only the classes that are named may come out, and nothing of what is read is run.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from trainlint.record import fields, is_dataclass

Plain = tuple[tuple[str, ...], tuple[tuple[Any, ...], ...], Any]
"""The classes that occur with their fields, the compound parts in an order in which each follows its own parts, and the
whole. A part is spelled as its place in a tuple of its own, so that no number looks like one.
"""

ATOMS = frozenset({type(None), bool, int, float, str, bytes})
ATOM, TUPLE, LIST, SET, TABLE, NUMBERS, FIRST = range(7)
"""What a part is: its first entry says; from FIRST on it is one of the classes."""


LARGEST = 1 << 8 * array("I").itemsize
"""Numbers below it fit into sets of numbers."""


class NotPlain(ValueError):
    """A value that is no plain data, or plain data that is nothing that these classes were ever written as."""


def encoded(value: object) -> Plain:
    """A value as plain data: atoms, tuples, lists, sets and tables of them, enums and dataclasses.

    Raises:
        NotPlain: it holds something else.
    """
    writer = _Writer()
    whole = writer.put(value)
    return tuple(writer.classes), tuple(writer.rows), whole


def decoded(plain: Any, classes: Mapping[str, type]) -> Any:
    """The value that was written.

    Raises:
        NotPlain: it was written by something else, or with other classes.
    """
    try:
        return _read(plain, classes)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise NotPlain(str(error)) from error


def classes_of(modules: Iterable[object]) -> dict[str, type]:
    """The dataclasses and enums of these modules, by name."""
    every = (value for module in modules for value in vars(module).values() if isinstance(value, type))
    return {each.__name__: each for each in every if is_dataclass(each) or issubclass(each, Enum)}


class _Writer:
    """The parts that were put down so far."""

    def __init__(self) -> None:
        self.classes: dict[str, int] = {}
        self.rows: list[tuple[Any, ...]] = []
        self._places: dict[tuple[object, ...], tuple[int]] = {}
        self._known: dict[int, tuple[object, tuple[int]]] = {}

    def put(self, value: object) -> Any:
        if type(value) in ATOMS:
            return value
        known = self._known.get(id(value))
        if known is None:
            # The value is kept, so that no other one gets its identity.
            known = self._known[id(value)] = value, self._place(self._row(value))
        return known[1]

    def _part(self, value: object) -> int:
        """The place of a value, atoms included."""
        place: int = (self._place((ATOM, value)) if type(value) in ATOMS else self.put(value))[0]
        return place

    def _place(self, row: tuple[Any, ...]) -> tuple[int]:
        # 1, 1.0 and True are equal to Python.
        key = (row, tuple(map(type, row)))
        if key not in self._places:
            self._places[key] = (len(self.rows),)
            self.rows.append(row)
        return self._places[key]

    def _row(self, value: object) -> tuple[Any, ...]:
        put = self.put
        match value:
            case Enum():
                return (self._class(value, ()), value.name)
            case tuple() if type(value) is tuple:
                return (TUPLE, *map(put, value))
            case list():
                return (LIST, *map(put, value))
            case frozenset() if value and all(type(each) is int and 0 <= each < LARGEST for each in value):
                return (NUMBERS, array("I", value).tobytes())
            case frozenset():
                # Of a set only places are kept: it is what there is most of.
                return (SET, *map(self._part, value))
            case Mapping():
                return (TABLE, *(put(each) for pair in value.items() for each in pair))
        if type(value) in ATOMS:
            return (ATOM, value)
        if not is_dataclass(value):
            raise NotPlain(f"{type(value).__name__} is no plain data")
        names = tuple(field.name for field in fields(value))
        return (self._class(value, names), *(put(getattr(value, name)) for name in names))

    def _class(self, value: object, names: tuple[str, ...]) -> int:
        spelled = " ".join((type(value).__name__, *names))
        return self.classes.setdefault(spelled, len(self.classes)) + FIRST


def _read(plain: Any, classes: Mapping[str, type]) -> Any:
    names, rows, whole = plain
    makers = [_maker(spelled.split(" "), classes) for spelled in names]
    known: list[Any] = []
    for row in rows:
        kind, *rest = row
        if kind == SET:
            known.append(frozenset([known[place] for place in rest]))
            continue
        parts = [known[each[0]] if type(each) is tuple else each for each in rest]
        if kind >= FIRST:
            known.append(makers[kind - FIRST](parts))
        elif kind == NUMBERS:
            known.append(frozenset(array("I", parts[0])))
        elif kind == TUPLE:
            known.append(tuple(parts))
        elif kind == TABLE:
            known.append(dict(zip(parts[::2], parts[1::2], strict=True)))
        else:
            known.append(parts if kind == LIST else parts[0])
    return known[whole[0]] if type(whole) is tuple else whole


def _maker(spelled: list[str], classes: Mapping[str, type]) -> Any:
    name, *names = spelled
    kind: Any = classes[name]
    if issubclass(kind, Enum):
        return lambda parts: kind[parts[0]]
    if [field.name for field in fields(kind)] != names:
        raise NotPlain(f"{name} has other fields now")

    def make(parts: list[Any]) -> Any:
        made = object.__new__(kind)
        made.__dict__.update(zip(names, parts, strict=True))
        return made

    return make
