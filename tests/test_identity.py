"""Fingerprints: the same finding keeps its own, whatever happens around it; another finding never gets it."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainlint.check import Request, check
from trainlint.identity import Identity, plain

TOP = Path(__file__).parent.parent
EXAMPLE = TOP / "examples" / "codec_lm"
FIXTURES = sorted(folder for folder in (TOP / "fixtures").glob("*/bad_*") if folder.is_dir())[::12]

TWO = """\
import torch.nn.functional as F
from torch import nn

CODES = 1024


class Model(nn.Module):
    stop_id = CODES

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(64, CODES + 1)

    def forward(self, hidden):
        return self.head(hidden)

    def loss(self, hidden, targets):
        return F.cross_entropy(self.head(hidden), targets, ignore_index=CODES)


model = Model()
model.loss(hidden, targets).backward()
if model(hidden).argmax() == model.stop_id:
    done = True
"""


def identities(folder: Path, *, jobs: int = 1, paths: tuple[str, ...] = ()) -> list[Identity]:
    report = check(Request(paths or (str(folder),), str(folder), isolated=True, jobs=jobs))
    return [report.identities[finding] for finding in report.findings]


def fingerprints(folder: Path) -> list[str]:
    return [identity.fingerprint for identity in identities(folder)]


def written(folder: Path, text: str) -> list[Identity]:
    (folder / "train.py").write_text(text)
    return identities(folder)


def places(text: str) -> list[tuple[int, int]]:
    """Row and column of each statement that starts its line."""
    lines = text.splitlines()
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            decorators = getattr(node, "decorator_list", [])
            row = min([node.lineno, *(each.lineno for each in decorators)])
            if not lines[row - 1][: node.col_offset].strip():
                found.add((row, node.col_offset))
    return sorted(found)


def grown(text: str, choose: Callable[[tuple[int, int]], str]) -> str:
    lines = text.splitlines()
    for row, column in reversed(places(text)):
        addition = choose((row, column))
        if addition == "def" and not column:
            lines[row - 1 : row - 1] = ["def other(x):", "    return x", ""]
        elif addition == "comment":
            lines.insert(row - 1, f"{' ' * column}# nothing to see here: ) ] }}")
        elif addition == "blank":
            lines.insert(row - 1, "")
    return "\n".join(lines) + "\n"


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), folder=st.sampled_from([EXAMPLE, *FIXTURES]))
def test_what_is_written_around_a_finding_changes_no_fingerprint(data: st.DataObject, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        copy = Path(shutil.copytree(folder, Path(name) / "elsewhere"))
        before = fingerprints(copy)
        for file in sorted(copy.rglob("*.py")):
            choose = lambda place: data.draw(st.sampled_from(["", "", "blank", "comment", "def"]), str(place))  # noqa: E731
            file.write_text(grown(file.read_text(), choose))
        assert fingerprints(copy) == before


@pytest.mark.parametrize("folder", FIXTURES, ids=lambda folder: folder.name)
def test_a_formatter_changes_no_fingerprint(tmp_path: Path, folder: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / folder.name))
    before = fingerprints(copy)
    options = ("--isolated", "--quiet", "--line-length", "72", "--config", "format.quote-style = 'single'")
    subprocess.run([sys.executable, "-m", "ruff", "format", *options, str(copy)], check=True)
    assert fingerprints(copy) == before


def test_neither_the_place_of_the_project_nor_the_order_of_the_paths_counts(tmp_path: Path) -> None:
    one = Path(shutil.copytree(EXAMPLE, tmp_path / "one"))
    two = Path(shutil.copytree(EXAMPLE, tmp_path / "deep" / "two"))
    names = [file.name for file in sorted(EXAMPLE.glob("*.py"))]
    assert identities(one) == identities(two) != []
    assert identities(one, paths=tuple(names)) == identities(one, paths=tuple(reversed(names))) == identities(two)


def test_the_number_of_jobs_does_not_count(tmp_path: Path) -> None:
    for number in range(26):
        (tmp_path / f"train_{number}.py").write_text(TWO)
    assert identities(tmp_path) == identities(tmp_path, jobs=2)
    assert len(set(identities(tmp_path))) == 26


def test_a_finding_says_what_it_is_made_of(tmp_path: Path) -> None:
    assert written(tmp_path, TWO) == [
        Identity(
            "TL101",
            "train.py",
            "Model.loss",
            "F.cross_entropy(self.head(hidden), targets, ignore_index=CODES)",
            ("Model.head - ignore_index = 1",),
        )
    ]


def test_both_numbers_may_grow_but_not_the_one_beyond_the_other(tmp_path: Path) -> None:
    before = written(tmp_path, TWO)
    assert written(tmp_path, TWO.replace("1024", "2048")) == before
    after = written(tmp_path, TWO.replace("CODES + 1", "CODES + 2"))
    assert [each.code for each in after] == ["TL101"]
    assert after[0].fingerprint != before[0].fingerprint


def test_another_head_behind_the_same_loss_is_another_finding(tmp_path: Path) -> None:
    shared = TWO.replace(", targets, ignore_index=CODES)", ", targets)").replace("F.cross_entropy(", "loss_of(")
    helper = "def loss_of(logits, targets):\n    return F.cross_entropy(logits, targets, ignore_index=CODES)\n\n\n"
    shared = shared.replace("class Model", f"{helper}class Model")
    (one,) = written(tmp_path, shared)
    (two,) = written(tmp_path, f"{shared}wide = nn.Linear(64, CODES + 3)\nloss_of(wide(hidden), targets).backward()\n")
    assert (one.code, one.within, one.text) == (two.code, two.within, two.text) == ("TL101", "loss_of", one.text)
    assert one.fingerprint != two.fingerprint


LINE = "        return F.cross_entropy(self.head(hidden), targets, ignore_index=CODES)\n"
FIRST = LINE.replace("return", "first =")
SECOND = LINE.replace("return", "second =") + "        return first + second\n"


def test_equal_lines_of_one_function_are_counted(tmp_path: Path) -> None:
    found = written(tmp_path, TWO.replace(LINE, FIRST + SECOND))
    assert [each.nth for each in found] == [1, 2]
    assert found[0].fingerprint != found[1].fingerprint


def test_a_silenced_finding_keeps_its_number(tmp_path: Path) -> None:
    before = written(tmp_path, TWO.replace(LINE, FIRST + SECOND))
    quiet = f"{FIRST.rstrip()}  # trainlint: ignore[TL101] known\n"
    assert written(tmp_path, TWO.replace(LINE, quiet + SECOND)) == before[1:]


def test_a_cell_above_changes_nothing_in_a_notebook(tmp_path: Path) -> None:
    def notebook(*cells: str) -> list[Identity]:
        code = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
        (tmp_path / "train.ipynb").write_text(json.dumps({"cells": code, "metadata": {}, "nbformat": 4}))
        return identities(tmp_path)

    model, _, use = TWO.partition("\n\nmodel = Model()")
    before = notebook(model, f"model = Model(){use}")
    assert [(each.code, each.within) for each in before] == [("TL101", "Model.loss")]
    assert notebook("import os\nx = 1", f"# a comment\n\n{model}", "x = 2", f"model = Model(){use}") == before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f(a, b)", "f(\n    a,\n    b,\n)"),
        ("f('x')", 'f("x")'),
        ("best = model.state_dict()", "best = (\n    model.state_dict()\n)"),
        ("a, b = x, y", "a, b = (\n    x,\n    y,\n)"),
        ("f(a if b else c)", "f(\n    (a if b else c),\n)"),
        ("f(a)  # why", "f(a)"),
        ("a + b", "a + \\\n b"),
        ("x[..., :n]", "x[\n    ..., :n\n]"),
    ],
)
def test_layout_is_no_part_of_a_text(one: str, other: str) -> None:
    assert plain(one) == plain(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f('a b')", "f('ab')"),
        ("f('# x')", "f('# y')"),
        ("(a + b) * c", "a + b * c"),
        ("f((a, b))", "f(a, b)"),
        ("f(not a)", "f(nota)"),
        ("f(a)", "f(b)"),
        ("f('it\\'s')", "f('its')"),
    ],
)
def test_what_code_says_is(one: str, other: str) -> None:
    assert plain(one) != plain(other)


@given(st.text(alphabet="ab()[]{},:='\"#\\\n fx", max_size=40))
def test_any_text_can_be_made_plain(text: str) -> None:
    assert len(plain(text)) <= 2 * len(text)
