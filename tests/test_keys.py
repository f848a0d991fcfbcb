"""``setattr`` under a key that is not written out: only the names that the key may be are doubted."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainlint.check import Request, check
from trainlint.report import Report

PROGRAM = """
import torch.nn as nn
import torch.nn.functional as F

NAMES = ("first", "second")


class Base(nn.Module):
    part = "first"
{base}

class Reader(Base):
    def __init__(self, key="first"):
        super().__init__()
        self.key = key
        self.scores = nn.Linear(4, 12)

    def forward(self, x):
        return self.scores(x)


class Other(Reader):
    part = "scores"


def loss(x, y):
    return F.cross_entropy(Reader()(x), y, ignore_index=12)

{after}
"""


def judged(folder: Path, base: str, after: str = "") -> Report:
    indented = "\n".join(f"    {line}" for line in base.splitlines())
    (folder / "train.py").write_text(PROGRAM.format(base=indented, after=after))
    return check(Request((str(folder),), str(folder), isolated=True))


def reasons(report: Report) -> set[str]:
    return {each.why.reason for each in report.unjudged if each.question.startswith("does the loss skip")}


def put(key: str, before: str = "") -> str:
    return f"def put(self, value):\n    {before or 'pass'}\n    setattr(self, {key}, value)"


PUT = "def put(self, name, value):\n    setattr(self, name, value)"
LIMITED = {
    "a constant": put("name", "name = 'first'"),
    "a class attribute": put("self.part"),
    "a class attribute with a default": put("getattr(self, 'part', 'scores')"),
    "a default where the class has none": put("name", "name = getattr(self, 'part', None) or 'scores'"),
    "a loop": "def put(self, value):\n    for name in ('first', 'second'):\n        setattr(self, name, value)",
    "a loop over a constant": "def put(self, value):\n    for name in NAMES:\n        setattr(self, name, value)",
    "a loop over one of two": (
        "def put(self, value, kind):\n"
        "    if kind:\n        names = ['first']\n"
        "    else:\n        names = ['second', 'third']\n"
        "    for name in names:\n        setattr(self, name, value)"
    ),
    "put together": "def put(self, value, place):\n    setattr(self, f'block_{place}', value)",
    "put together in a loop": "def put(self, value):\n    for name in NAMES:\n        setattr(self, f'_{name}', value)",
}
OPEN = {
    "a parameter that nobody passes": PUT,
    "a parameter with a default": "def put(self, value, name='first'):\n    setattr(self, name, value)",
    "a loop that names it": (
        "def put(self, value):\n    for name in ('first', 'scores'):\n        setattr(self, name, value)"
    ),
    "an open loop": "def put(self, value, names):\n    for name in names:\n        setattr(self, name, value)",
    "one of two": put("name", "name = 'first' if value else 'scores'"),
    "put together so that it may be": "def put(self, value, place):\n    setattr(self, f'sc{place}', value)",
    "an attribute that is passed": put("self.key"),
    "an attribute of another object": "def put(self, value, other: Other):\n    setattr(self, other.part, value)",
    "an attribute that it writes itself": (
        "def put(self, value):\n    for name in ('part', self.part):\n        setattr(self, name, value)"
    ),
}


@pytest.mark.parametrize("base", LIMITED.values(), ids=LIMITED)
def test_a_name_that_the_key_cannot_be_is_not_doubted(base: str, tmp_path: Path) -> None:
    assert reasons(judged(tmp_path, base)) == set()


@pytest.mark.parametrize("base", OPEN.values(), ids=OPEN)
def test_a_name_that_the_key_may_be_is_not_judged(base: str, tmp_path: Path) -> None:
    (reason,) = reasons(judged(tmp_path, base))
    assert reason.endswith("may write over it")


def test_each_class_has_the_key_of_its_own(tmp_path: Path) -> None:
    after = "def other(x, y):\n    return F.cross_entropy(Other()(x), y, ignore_index=12)"
    report = judged(tmp_path, put("self.part"), after=after)
    places = [each.where.row for each in report.unjudged if each.question.startswith("does the loss skip")]
    assert places == [(tmp_path / "train.py").read_text().splitlines().index(after.splitlines()[1]) + 1]


@pytest.mark.parametrize(
    ("after", "is_limited"),
    [
        ("def use(reader):\n    reader.put('first', None)\n    reader.put(name='second', value=None)", True),
        ("def use(reader):\n    reader.put('scores', None)", False),
        ("def use(reader, name):\n    reader.put('first', None)\n    reader.put(name, None)", False),
        ("def use(reader):\n    reader.put('first', None)\n    return reader.put", False),
        ("def use(reader, given):\n    reader.put('first', None)\n    reader.put(*given)", False),
        ("def use(reader):\n    Reader.put(reader, 'scores', None)", False),
    ],
)
def test_a_parameter_is_what_all_callers_give(after: str, is_limited: bool, tmp_path: Path) -> None:
    assert (reasons(judged(tmp_path, PUT, after=after)) == set()) == is_limited


def test_a_key_that_another_statement_may_change_is_open(tmp_path: Path) -> None:
    changing = f"{put('self.part')}\n\ndef change(self, value):\n    setattr(self, 'pa' + value, value)"
    assert reasons(judged(tmp_path, changing))


def test_a_function_that_takes_the_object_may_be_given_one_of_a_derived_class(tmp_path: Path) -> None:
    after = "def put(reader: Reader, value):\n    setattr(reader, reader.part, value)"
    assert reasons(judged(tmp_path, "", after=after))
