"""A record is what a frozen dataclass is."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from typing import Any

import pytest

from trainlint.record import field, record


@record
class Place:
    path: str
    row: int = 1


@record
class Site(Place):
    """Where something stands, and what is said of it."""

    origin: str = field(default="", compare=False)
    marks: list[int] = field(default_factory=list)
    everywhere: bool = field(default=True, kw_only=True)

    @cached_property
    def name(self) -> str:
        return f"{self.path}:{self.row}"


@dataclass(frozen=True)
class Other:
    path: str
    row: int = 1


@record
class Nothing:
    """A record without a field."""


def test_what_is_not_said_is_as_the_class_declares() -> None:
    site = Site("a.py", 3, marks=[1])
    assert (site.path, site.row, site.origin, site.marks, site.everywhere) == ("a.py", 3, "", [1], True)
    assert Site("a.py").marks is not Site("a.py").marks


MAKE_PLACE: Any = Place
MAKE_SITE: Any = Site
WRONG: dict[str, Callable[[], object]] = {
    "a field is wanting": MAKE_PLACE,
    "too many values": partial(MAKE_PLACE, "a.py", 1, 2),
    "a value by place and by name": partial(MAKE_PLACE, "a.py", path="b.py"),
    "a name that is no field": partial(MAKE_PLACE, "a.py", column=1),
    "a field that takes no place": partial(MAKE_SITE, "a.py", 1, "", [], False),
}


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_wrong_values_are_refused_as_those_of_any_call(make: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"Place|Site"):
        make()


def test_records_are_equal_where_their_class_and_all_fields_that_count_are() -> None:
    site = Site("a.py", 1, marks=[])
    assert site.name == "a.py:1"
    assert site == Site("a.py", origin="elsewhere")
    assert site != Site("b.py")
    assert Place("a.py") != Site("a.py")
    assert MAKE_PLACE("a.py") != Other("a.py")
    assert Nothing() == Nothing()
    assert len({Place("a.py"), Place("a.py", 1), Place("b.py"), Nothing(), Nothing()}) == 3


def test_nothing_in_a_record_is_written_or_deleted() -> None:
    place: Any = Place("a.py")
    with pytest.raises(FrozenInstanceError):
        place.row = 2
    with pytest.raises(FrozenInstanceError):
        del place.row
    assert place == Place("a.py", 1)


def test_what_works_on_dataclasses_works_on_records() -> None:
    place = Place("a.py", 2)
    assert is_dataclass(place)
    assert [each.name for each in fields(place)] == ["path", "row"]
    assert replace(place, row=3) == Place("a.py", 3)
    assert repr(place) == "Place(path='a.py', row=2)"
    assert pickle.loads(pickle.dumps(place)) == place
    match place:
        case Place(path, row):
            assert (path, row) == ("a.py", 2)


def test_a_field_may_be_that_of_dataclasses() -> None:
    @record
    class Word:
        text: str
        marks: list[int] = dataclasses.field(default_factory=list)
        origin: str = dataclasses.field(default="", compare=False, kw_only=True)

    assert Word("x", origin="here") == Word("x", [])
    assert Word("x").marks is not Word("x").marks


def test_a_method_of_the_class_itself_is_kept() -> None:
    @record
    class Word:
        text: str

        def __repr__(self) -> str:
            return self.text

    assert repr(Word("x")) == "x"
