"""After any sequence of edits a session says, byte for byte, what a fresh check says."""

from __future__ import annotations

import gc
import re
import shutil
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from editing import (
    SEVERAL,
    STARTS,
    STEPS,
    Editor,
    based,
    called,
    counted,
    deleted,
    dressed,
    dropped,
    extended,
    grown,
    inserted,
    shuffled,
    signed,
    told,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainlint.source import verdicts

LITTLE = 2048
"""Bytes that an edit may leave behind; the tree of the smallest file takes more."""


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS, st.data())
def test_after_any_sequence_of_edits_a_session_says_what_a_fresh_check_says(
    steps: list[tuple[object, int, bytes, str]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(Path(folder).resolve(), STARTS)
        editor.session.report()
        for step in steps:
            editor.step(*step)
            if data.draw(st.booleans()):
                assert told(editor.session.report(), editor.folder) == editor.fresh()
        assert told(editor.session.report(), editor.folder) == editor.fresh()


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_forgetting_what_no_verdict_rests_on_changes_nothing(steps: list[tuple[object, int, bytes, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "FEW_REMEMBERED", 0)
        editor = Editor(Path(folder).resolve(), STARTS)
        for step in steps:
            editor.step(*step)
            editor.session.report()
        assert told(editor.session.report(), editor.folder) == editor.fresh()


def test_memory_does_not_grow_with_the_edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "FEW_REMEMBERED", 0)
    editor = Editor(tmp_path, STARTS)
    tracemalloc.start()
    sizes = []
    for turn in range(60):
        text = STARTS["train.py"].replace(b"head", b"head%d" % turn).replace(b"loss", b"loss%d" % turn)
        editor.session.change(str(tmp_path / "train.py"), text)
        assert [finding.code for finding in editor.session.report().findings] == ["TL101"]
        # Python keeps some hundred patterns, and no more.
        re.purge()
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    grown = (sizes[-1] - sizes[len(sizes) // 2]) / (len(sizes) // 2)
    assert grown < LITTLE


PLACES = (
    (counted, 1), (deleted, 3), (inserted, 0), (grown, 0), (grown, 1), (grown, 3), (extended, 0), (extended, 4),
    (extended, 11), (shuffled, 1), (dropped, 0), (dropped, 4), (dressed, 1), (signed, 0), (based, 0), (called, 1),
)  # fmt: skip


@pytest.mark.parametrize("folder", SEVERAL[::25], ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_every_edit_of_a_fixture_and_its_undoing_are_judged_as_afresh(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    editor = Editor(tmp_path, {})
    first = told(editor.session.report(), tmp_path)
    for path in sorted(tmp_path.rglob("*.py")):
        name = str(path.relative_to(tmp_path))
        for edit, place in PLACES:
            editor.step(edit, place, b"X = 1\n", name)
            assert told(editor.session.report(), tmp_path) == editor.fresh()
            editor.session.change(str(path), None)
            editor.texts.pop(str(path), None)
        assert told(editor.session.report(), tmp_path) == first
