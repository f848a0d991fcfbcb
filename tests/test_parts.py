"""The parts of a tree: each is judged as it would be alone, and what joins two of them is noticed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from editing import EDITS, STARTS, Editor, inserted, told
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainlint.check import Request, Session, check
from trainlint.report import Report
from trainlint.source import workspace as workspaces
from trainlint.source.text import MISSING, Fault
from trainlint.source.workspace import MOST_FILES, Workspace

PROJECT = {
    "net/__init__.py": b"",
    "net/losses/__init__.py": b"",
    "net/losses/masked.py": b"""\
from torch.nn import functional as F


def masked_loss(logits, targets, skipped):
    return F.cross_entropy(logits, targets, ignore_index=skipped)
""",
    "net/train.py": b"""\
import torch.nn as nn

from net.losses.masked import masked_loss

CODES = 64
stop_id = CODES
head = nn.Linear(8, CODES + 1)


def step(hidden, targets):
    return masked_loss(head(hidden), targets, CODES)
""",
    "run.py": b"from net.train import step\n\nprint(step)\n",
}
"""A loss whose classes only a caller in another folder tells, and a script beside the package."""

JOINS = (b"from a import train\n", b"import b.train as train\n", b"train.head.last = None\n", b"import c\n")
LATER = st.tuples(
    st.one_of(
        st.tuples(st.just(inserted), st.integers(0, 40), st.sampled_from(JOINS)),
        st.tuples(st.sampled_from((*EDITS, "new", "gone", "saved")), st.integers(0, 40), st.sampled_from(JOINS)),
    ),
    st.sampled_from(
        ("a/train.py", "a/layers.py", "a/__init__.py", "b/train.py", "b/sizes.py", "b/deep/other.py", "other.py")
    ),
)

TWO = {"one/__init__.py": b"", "one/a.py": b"", "two/__init__.py": b"", "two/b.py": b""}
APART = {"one/a.py": "one", "two/b.py": "two"}


def written(folder: Path, texts: Mapping[str, bytes]) -> Path:
    for path, data in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def said_of(report: Report, folder: Path) -> list[tuple[str, str, int]]:
    """The findings in a folder, with their places in it."""
    found = ((Path(each.where.path), each) for each in report.findings)
    return [
        (each.code, str(path.relative_to(folder)), each.where.row)
        for path, each in found
        if path.is_relative_to(folder)
    ]


def test_a_project_that_a_tree_holds_many_times_is_judged_each_time_as_if_it_were_alone(tmp_path: Path) -> None:
    alone = written(tmp_path / "alone", PROJECT)
    known = said_of(check(Request((str(alone),), str(alone))), alone)
    assert [code for code, _, _ in known] == ["TL101"]
    tree = tmp_path / "tree"
    copies = [written(tree / f"copy{number}", PROJECT) for number in range(MOST_FILES + 1)]
    report = check(Request((str(tree),), str(tree)))
    assert [said_of(report, copy) for copy in copies] == [known] * len(copies)


def test_an_import_that_joins_two_parts_is_noticed_and_so_is_its_end(tmp_path: Path) -> None:
    starts = {f"a/{name}": data for name, data in STARTS.items() if name != "other.py"}
    writer = b"train.head.last = None\n"
    editor, other = Editor(tmp_path, {**starts, "b/other.py": writer}), tmp_path / "b" / "other.py"
    for head, codes in ((b"", ["TL101"]), (b"from a import train\n", []), (b"from c import train\n", ["TL101"])):
        editor.texts[str(other)] = head + writer
        editor.session.change(str(other), head + writer)
        report = editor.session.report()
        assert [finding.code for finding in report.findings] == codes
        assert told(report, editor.folder) == editor.fresh()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(LATER, min_size=1, max_size=8))
def test_after_any_edits_of_several_parts_a_session_says_what_a_fresh_check_says(
    steps: list[tuple[tuple[object, int, bytes], str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        starts = {f"{part}/{name}": data for part in "ab" for name, data in STARTS.items() if name != "other.py"}
        editor = Editor(Path(folder).resolve(), starts)
        for edit, name in steps:
            with pytest.MonkeyPatch.context() as patch:
                # Each file of another part lets go of what was read for the one before.
                patch.setattr(workspaces, "FEW_READ", 0)
                said = told(editor.session.report(), editor.folder)
            assert said == editor.fresh()
            editor.step(*edit, name)
        assert told(editor.session.report(), editor.folder) == editor.fresh()


@pytest.mark.parametrize(
    ("texts", "parts"),
    [
        (TWO, APART),
        ({**TWO, "one/a.py": b"import os, two.b as b\n"}, {"one/a.py": "", "two/b.py": ""}),
        ({**TWO, "one/a.py": b"from two \\\n  import b\n"}, {"one/a.py": "", "two/b.py": ""}),
        ({**TWO, "one/a.py": b"b = importlib.import_module('two.b')\n"}, {"one/a.py": "", "two/b.py": ""}),
        ({**TWO, "one/a.py": b"from . import two\nfrom .two import b\nfrom three import two\n# two\n"}, APART),
        (
            {
                f"{copy}/{path}": data
                for copy in ("x", "y")
                for path, data in {
                    "tools/b.py": b"",
                    "a.py": b"import sys\nsys.path.append('tools')\nimport b\n",
                }.items()
            },
            {"x/a.py": "x", "x/tools/b.py": "x", "y/a.py": "y", "y/tools/b.py": "y"},
        ),
        ({"x/a.py": b"import b\n", "y/b.py": b""}, {"x/a.py": "x", "y/b.py": "y"}),
        ({**TWO, "setup.py": b"print('two')\n"}, {**APART, "setup.py": ""}),
        (
            {**TWO, "run.py": b"import one\n"},
            {"one/a.py": "", "two/b.py": "", "run.py": ""},
        ),
        (
            {"x/one/a.py": b"from tools.deep import b\n", "x/tools/deep/b.py": b"", "x/more/c.py": b"", "y/d.py": b""},
            {"x/one/a.py": "x", "x/tools/deep/b.py": "x", "x/more/c.py": "x", "y/d.py": "y"},
        ),
        (
            {f"{copy}/{path}": data for copy in ("x", "y") for path, data in PROJECT.items()},
            {f"{copy}/{path}": copy for copy in ("x", "y") for path in ("run.py", "net/losses/masked.py")},
        ),
    ],
    ids=[
        "two packages",
        "an import",
        "an import over two lines",
        "an import by a string",
        "names that are no imports from elsewhere",
        "an import from a search path that is changed",
        "an import that leads nowhere",
        "a script beside them",
        "a script around them that imports one",
        "folders that are no packages",
        "two copies",
    ],
)
def test_a_part_ends_where_no_import_leads_on(texts: Mapping[str, bytes], parts: Mapping[str, str]) -> None:
    every = {f"/project/{path}": data for path, data in texts.items()}
    workspace = Workspace("/project", sorted(every), (), {}, lambda path: every.get(path, Fault(MISSING)))
    found = {path: workspace.seen_from(f"/project/{path}").part for path in parts}
    assert found == {path: f"/project/{part}".rstrip("/") for path, part in parts.items()}


def test_an_edit_leaves_the_other_files_of_its_part_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces, "FEW_READ", 1)
    read: list[str] = []
    parsed = Workspace._parsed
    monkeypatch.setattr(Workspace, "_parsed", lambda self, path: read.append(path) or parsed(self, path))  # type: ignore[func-returns-value]
    folder = written(tmp_path, PROJECT)
    session = Session(Request((str(folder),), str(folder), isolated=True))
    before = said_of(session.report(), folder)
    assert len(read) > 1
    read.clear()
    train = folder / "net" / "train.py"
    session.change(str(train), PROJECT["net/train.py"].replace(b"CODES = 64", b"CODES = 65"))
    assert said_of(session.report(), folder) == before
    assert read == [str(train)]
