"""The benchmark of whole runs: a small corpus in; times, what is gone on with, and the page out."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import strokes

TOP = Path(__file__).parent.parent
SCRIPT = TOP / "benchmarks" / "speed.py"
SITE = "import torch.nn.functional as F\n\n\ndef step(a, b):\n    return F.cross_entropy(a, b)\n"


def bench(*words: object) -> None:
    subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, words)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=True,
        capture_output=True,
        timeout=300,
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpora" / "small" / "small"
    corpus.mkdir(parents=True)
    for number in range(3):
        (corpus / f"plain{number}.py").write_text(f"x = {number}\n" * 600)
        (corpus / f"loss{number}.py").write_text(SITE + "# a line\n" * 300)
    return tmp_path


def measure(place: Path, *words: object) -> list[dict[str, object]]:
    results = place / "speed.jsonl"
    bench("run", place, "--corpora", "small", "--tools", "trainlint", "--results", results, *words)
    return [json.loads(line) for line in results.read_text().splitlines()]


def test_a_run_measures_what_is_not_measured_yet(place: Path) -> None:
    first = measure(place, "--cases", "cold", "hook", "families", "--rounds", "1")
    assert {row["case"] for row in first if "case" in row} == {"cold", "hook"}
    assert measure(place, "--cases", "cold", "hook", "families", "--rounds", "1") == first
    second = measure(place, "--cases", "cold", "--rounds", "2")
    assert second[: len(first)] == first
    assert [(row["case"], row["round"]) for row in second[len(first) :]] == [("cold", 1)]
    kept = [row for row in first if row.get("family") == "targets"]
    assert [(row["files"], row["every_file"]) for row in kept] == [(3, 3)]


def test_what_takes_too_long_is_ended_said_and_not_tried_again(place: Path) -> None:
    rows = measure(place, "--cases", "cold", "--rounds", "3", "--limit", "0.01")
    assert [row["limit"] for row in rows] == [0.01]
    bench("page", "--results", place / "speed.jsonl", "--page", place / "page.md")
    assert "| trainlint | ended after 0 s |" in (place / "page.md").read_text()


def test_what_takes_long_is_run_in_the_first_round_alone(place: Path) -> None:
    rows = measure(place, "--cases", "cold", "--rounds", "3", "--once", "0.001")
    assert [row["round"] for row in rows] == [0]


def test_a_tree_is_looked_at_again_after_nothing_a_comment_and_code(place: Path) -> None:
    rows = measure(place, "--cases", "warm", "edited", "--rounds", "1")
    assert [(row["case"], row["status"]) for row in rows] == [
        ("warm", 0), *((case, 0) for case in ("edited comment", "edited body", "edited code"))
    ]  # fmt: skip
    written = "".join(path.read_text() for path in (place / "again").rglob("*.py"))
    # Each edit finds the file as it came: the last one alone is left.
    assert [written.count(each) for each in ("# One more line, number ", "one_more = ", "def one_more(")] == [0, 0, 1]


def test_an_edit_is_timed_apart_for_comments_and_code(place: Path) -> None:
    rows = measure(place, "--cases", "editor", "--rounds", "1")
    assert [row["tool"] for row in rows] == ["trainlint, comments", "trainlint, code beside a loss"]


def test_the_memory_of_a_command_is_its_own(tmp_path: Path) -> None:
    """Not that of the process which started it."""
    held = bytes(200_000_000)
    once = [sys.executable, "-I", "-S", str(SCRIPT.with_name("once.py")), "60", sys.executable, "-c", "pass"]
    ran = json.loads(subprocess.run(once, capture_output=True, check=True).stdout)
    assert ran["status"] == 0
    assert ran["memory"] < len(held) / 4


TYPED = """\
import torch.nn.functional as F

# how far
def step(model, batch, *, scale=2):
    text = f"{batch!r} {scale + 1}"

    return scale * F.cross_entropy(model(batch[0]), batch[1]) + 1.5


def show(batch):
    \"\"\"A text.

    Its end.
    \"\"\"
    print(sum(each for each in batch), len(
        batch,
    ), "été", max(batch, 7))
"""


def test_what_is_typed_is_python_of_every_kind_and_never_twice_the_same() -> None:
    rows, versions = TYPED.split("\n"), []
    for edit in strokes.edits(TYPED, 70):
        versions.append("\n".join([*rows[: edit.row], edit.line, *rows[edit.row + 1 :]]))
        same = ast.dump(ast.parse(versions[-1])) == ast.dump(ast.parse(TYPED))
        assert same == (edit.kind == strokes.COMMENT), edit
    assert len(set(versions)) == len(versions) == 70
    assert tuple(dict.fromkeys(edit.kind for edit in strokes.edits(TYPED, 70))) == strokes.KINDS


def test_a_command_that_failed_is_not_taken_for_a_quick_one(tmp_path: Path) -> None:
    def row(tool: str, status: int) -> str:
        times = {"processor": 1.0, "wall": 1.0, "memory": 1, "status": status, "limit": 0.0}
        return json.dumps({"corpus": "c", "case": "cold", "tool": tool, "round": 0, "shown": tool, **times})

    rows = [row("trainlint", 1), row("flake8", 2), row("pylint, 4 checks", 30), row("pylint, 5 checks", 32)]
    (tmp_path / "speed.jsonl").write_text("\n".join(rows))
    bench("page", "--results", tmp_path / "speed.jsonl", "--page", tmp_path / "page.md")
    told = [
        line for line in (tmp_path / "page.md").read_text().splitlines() if line.endswith("| did not run |  |  |  |")
    ]
    assert told == ["| flake8 | did not run |  |  |  |", "| pylint, 5 checks | did not run |  |  |  |"]


def test_the_page_is_made_of_the_results(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    bench("page", "--page", page)
    assert page.read_text() == (TOP / "docs" / "performance.md").read_text(), "run: python benchmarks/speed.py page"


def test_a_ratio_is_that_of_one_round(tmp_path: Path) -> None:
    def row(tool: str, round: int, processor: float) -> str:
        times = {"processor": processor, "wall": 1.0, "memory": 1, "status": 0, "limit": 0.0}
        return json.dumps({"corpus": "c", "case": "cold", "tool": tool, "round": round, "shown": tool, **times})

    rows = [row("trainlint", 0, 1.0), row("Other", 0, 2.0), row("trainlint", 1, 3.0), row("Other", 1, 3.0)]
    (tmp_path / "speed.jsonl").write_text("\n".join([*rows, row("Other", 2, 9.0)]))
    bench("page", "--results", tmp_path / "speed.jsonl", "--page", tmp_path / "page.md")
    assert "| 0.750 (0.500 to 1.000) |" in (tmp_path / "page.md").read_text()
