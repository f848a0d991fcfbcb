"""What is remembered from one path to the next changes no fact: it is the same with a memory of nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainlint.facts import Fact, Layer, Loss
from trainlint.source import Project, observe
from trainlint.source.find import find
from trainlint.source.recall import Note, Recall
from trainlint.source.world import Budget, World

FIXTURES = Path(__file__).parent.parent / "fixtures"
SOME = sorted(folder for folder in FIXTURES.glob("*/*_*/") if folder.name.startswith(("bad_", "good_")))[::12]
"""Every twelfth project: each family of rules is among them."""

HEAD = """
import torch
import torch.nn.functional as F

WIDE, NARROW = 11, 10

class Head(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.out = torch.nn.Linear(8, classes)

    def forward(self, x):
        return self.out(x)
"""
TWO_PATHS = (
    HEAD
    + """
def loss(flag, x, y):
    head = Head(WIDE) if flag else Head(NARROW)
    return F.cross_entropy(head(x), y, ignore_index=10)
"""
)


ONE_WIDTH = (
    HEAD
    + """
def loss(flag, x, y):
    width = 11 if flag else 11
    head = Head(width)
    logits = head(x)
    return F.cross_entropy(logits, y, ignore_index=10)
"""
)


def facts_of(folder: Path) -> list[Fact]:
    files = tuple(find([str(folder)], ()).files)
    return list(observe(Project(str(folder), files), files))


def told(folder: Path) -> list[str]:
    """The facts of a folder, without the numbers that Python gives its objects in each run."""
    return [re.sub(r"\d{9,}", "#", repr(fact)) for fact in facts_of(folder)]


@pytest.mark.parametrize("folder", SOME, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_facts_do_not_rest_on_what_is_remembered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered = told(folder)
    monkeypatch.setattr(Recall, "find", lambda self, place, world: None)
    assert told(folder) == remembered
    monkeypatch.setattr(Recall, "making", lambda self, place: None)
    assert told(folder) == remembered


def test_one_method_of_two_objects_is_not_taken_for_the_same(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_PATHS)
    layers = [fact.layer for fact in facts_of(tmp_path) if isinstance(fact, Loss)]
    assert {str(layer.classes) for layer in layers if isinstance(layer, Layer)} == {"11", "10"}


def test_forgetting_everything_all_the_time_changes_no_fact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(TWO_PATHS)
    known = told(tmp_path)
    monkeypatch.setattr("trainlint.source.recall.MOST_NOTES", 1)
    assert told(tmp_path) == known


def test_paths_share_what_they_have_in_common(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(TWO_PATHS)
    recalled: list[Note] = []
    find_one = Recall.find

    def counted(self: Recall, place: object, world: object) -> Note | None:
        note = find_one(self, place, world)  # type: ignore[arg-type]
        if note is not None:
            recalled.append(note)
        return note

    monkeypatch.setattr(Recall, "find", counted)
    facts_of(tmp_path)
    assert recalled


def test_what_is_made_of_the_same_parts_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(ONE_WIDTH)
    worked_out: list[object] = []
    anew = Note.anew

    def counted(self: Note, world: World) -> object:
        worked_out.append(self.of)
        return anew(self, world)

    monkeypatch.setattr(Note, "anew", counted)
    remembered = told(tmp_path)
    once = len(worked_out)
    monkeypatch.setattr(Recall, "making", lambda self, place: None)
    assert told(tmp_path) == remembered
    assert len(worked_out) - once > once


@pytest.mark.parametrize("depth", [8, 12, 16, 20, 30])
def test_what_is_cut_off_is_the_same_however_it_is_remembered(
    depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(TWO_PATHS)
    monkeypatch.setattr("trainlint.source.world.DEEPEST", depth)
    remembered = told(tmp_path)
    monkeypatch.setattr(Recall, "find", lambda self, place, world: None)
    monkeypatch.setattr(Recall, "making", lambda self, place: None)
    assert told(tmp_path) == remembered


@pytest.mark.parametrize("steps", [3, 5, 8, 12, 20, 40])
def test_steps_are_counted_the_same_however_it_is_remembered(
    steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(TWO_PATHS + ONE_WIDTH)
    monkeypatch.setattr("trainlint.source.link.Budget", lambda _: Budget(steps))
    remembered = told(tmp_path)
    monkeypatch.setattr(Recall, "find", lambda self, place, world: None)
    monkeypatch.setattr(Recall, "making", lambda self, place: None)
    assert told(tmp_path) == remembered
