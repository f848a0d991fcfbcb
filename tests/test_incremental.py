"""After any sequence of edits a session says, byte for byte, what a fresh check says."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from editing import SEVERAL, STARTS, STEPS, Editor, counted, deleted, inserted, told
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


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


@pytest.mark.parametrize("folder", SEVERAL[::25], ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_every_edit_of_a_fixture_and_its_undoing_are_judged_as_afresh(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    editor = Editor(tmp_path, {})
    first = told(editor.session.report(), tmp_path)
    for path in sorted(tmp_path.rglob("*.py")):
        name = str(path.relative_to(tmp_path))
        for edit, place in ((counted, 1), (deleted, 3), (inserted, 0)):
            editor.step(edit, place, b"X = 1\n", name)
            assert told(editor.session.report(), tmp_path) == editor.fresh()
            editor.session.change(str(path), None)
            editor.texts.pop(str(path), None)
        assert told(editor.session.report(), tmp_path) == first
