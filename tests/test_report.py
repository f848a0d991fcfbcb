from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from made import judged, loss, span

from trainlint.facts import Unjudged
from trainlint.finding import Finding, Severity
from trainlint.identity import Identity
from trainlint.report import Report, Tally, filename, text
from trainlint.report.colour import coloured
from trainlint.report.structured import as_json
from trainlint.span import Span
from trainlint.value import Step, Unknown

OBJECTIVE = """\
from codec_lm.constants import NUM_CODES


class Objective:
    @staticmethod
    def first_stage_loss(
        logits,
    ):
        return F.cross_entropy(
            logits,
            ignore_index=NUM_CODES,
        )
"""


def finding(root: Path) -> Finding:
    objective = root / "codec_lm" / "objective.py"
    return Finding(
        Span(str(objective), 11, 26, 11, 35),
        "ignore_index=1024 is one of the 1025 classes that FirstStage.proj emits, and class 1024 is stop_id",
        "every target 1024 is dropped: the model is never shown a stop, and the curve will not show it",
        (
            Step("NUM_CODES = 1024", span(root / "codec_lm" / "constants.py", 2)),
            Step("Linear(D_MODEL, NUM_CODES + 1)", span(root / "codec_lm" / "heads.py", 14)),
        ),
        "use -100 (PyTorch's default) and fill padding with it",
        (Step("--codes defaults to 1024", Span(str(root / "train.ipynb"), 3, cell=2)),),
        Severity.ERROR,
        Span(str(objective), 9, 16, 12, 10),
        "TL101",
        "sentinel-collision",
    )


def report(root: Path, *findings: Finding) -> Report:
    objective = str(root / "codec_lm" / "objective.py")
    identity = Identity("TL101", "codec_lm/objective.py", "Objective.first_stage_loss", "F.cross_entropy(logits)")
    return Report(
        findings=findings,
        unjudged=(
            Unjudged(span(root / "eval.py", 3, 5), "does the loss skip a class", Unknown("no layer", "--define n=1")),
        ),
        judged={"losses": Tally(7, 1, 3), "metrics": Tally()},
        files_checked=24,
        skipped={str(root / "a.ipynb"): "its language is R, not Python"},
        roots=(str(root),),
        lines={objective: {None: OBJECTIVE.splitlines(keepends=True)}},
        identities=dict.fromkeys(findings, identity),
    )


def plain(lines: Iterable[text.Line]) -> str:
    return "".join(text.plain(lines))


def test_a_finding_is_told_in_full(tmp_path: Path) -> None:
    assert plain(text.full(report(tmp_path, finding(tmp_path)), str(tmp_path))) == (
        "codec_lm/objective.py:11:26: error TL101 sentinel-collision\n"
        "  ignore_index=1024 is one of the 1025 classes that FirstStage.proj emits, and class 1024 is stop_id\n"
        "    9 |         return F.cross_entropy(\n"
        "   11 |             ignore_index=NUM_CODES,\n"
        "      |                          ^^^^^^^^^\n"
        "  so       every target 1024 is dropped: the model is never shown a stop, and the curve will not show it\n"
        "  because  NUM_CODES = 1024                codec_lm/constants.py:2\n"
        "           Linear(D_MODEL, NUM_CODES + 1)  codec_lm/heads.py:14\n"
        "  help     use -100 (PyTorch's default) and fill padding with it\n"
        "  assumed  --codes defaults to 1024  train.ipynb:cell 2:3\n"
        "\n"
    )


def test_a_finding_is_told_on_one_line(tmp_path: Path) -> None:
    assert plain(text.concise(report(tmp_path, finding(tmp_path)), str(tmp_path / "codec_lm"))) == (
        "objective.py:11:26: error TL101 sentinel-collision: "
        "ignore_index=1024 is one of the 1025 classes that FirstStage.proj emits, and class 1024 is stop_id\n"
    )


def test_open_questions_say_what_would_settle_them(tmp_path: Path) -> None:
    assert plain(text.unjudged(report(tmp_path), str(tmp_path))) == (
        "eval.py:3:5: not judged does the loss skip a class: no layer (--define n=1 would settle it)\n"
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"files_checked": 2},
         "no findings in 2 files; losses: 7 safe, 1 flagged, 3 not judged (--show-unjudged says why); "
         "1 file skipped (-v says why)"),
        ({"judged": {"losses": Tally(2), "metrics": Tally(flagged=1)}, "skipped": {}},
         "no findings in 24 files; losses: 2 safe; metrics: 1 flagged"),
        ({"judged": {"losses": Tally()}, "files_checked": 1, "skipped": {}}, "no findings in 1 file; no loss to judge"),
    ],
)  # fmt: skip
def test_the_last_line_counts_what_was_judged_and_what_was_not(
    tmp_path: Path, changes: dict[str, object], expected: str
) -> None:
    assert text.summary(replace(report(tmp_path), **changes)) == expected  # type: ignore[arg-type]


def test_the_last_line_counts_findings_by_level(tmp_path: Path) -> None:
    note = replace(finding(tmp_path), severity=Severity.NOTE)
    told = replace(report(tmp_path, finding(tmp_path), note, note), suppressed=(note,))
    assert text.summary(told).startswith("3 findings (1 error, 2 notes) in 24 files; losses:")
    assert "; 1 suppressed;" in text.summary(told)


@pytest.mark.parametrize(
    ("line", "column", "width", "expected"),
    [
        ("\tloss = f(x)\n", 9, 4, "\t       ^^^^"),
        ("损失 = f(x)\n", 6, 4, "       ^^^^"),
        ("x" * 300 + "\n", 250, 3, ""),
        ("short\n", 40, 3, ""),
    ],
)
def test_the_caret_stands_below_the_place(tmp_path: Path, line: str, column: int, width: int, expected: str) -> None:
    file = tmp_path / "a.py"
    file.write_text(line)
    found = Finding(span(file, 1, column, width), "m", code="TL101", name="n")
    told = plain(text.full(Report(findings=(found,), lines={str(file): {None: [line]}}), str(tmp_path))).splitlines()
    carets = [row.partition("| ")[2] for row in told if "^" in row]
    assert carets == ([expected] if expected else [])
    assert all(len(row) < 230 for row in told)


def test_control_characters_of_the_source_never_reach_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    found = Finding(span(file, 1), "the name is '\x1b[31m\nx'", because=(Step("\x1b]0;\x07", span(file, 1)),))
    told = Report(findings=(found,), lines={str(file): {None: ["x = '\x1b[2J'\n"]}})
    for lines in (text.full(told, str(tmp_path)), text.concise(told, str(tmp_path))):
        assert "\x1b" not in plain(lines)
    assert len(plain(text.concise(told, str(tmp_path))).splitlines()) == 1


def test_colour_changes_no_character(tmp_path: Path) -> None:
    told = report(tmp_path, finding(tmp_path), replace(finding(tmp_path), message="x " * 200 + "[bold]é :smile:"))
    lines = list(text.full(told, str(tmp_path)))
    shown = coloured(lines)
    assert "\x1b[" in shown
    pieces = shown.split("\x1b[")
    assert pieces[0] + "".join(piece.partition("m")[2] for piece in pieces[1:]) == plain(lines)


def test_the_json_is_complete(tmp_path: Path) -> None:
    document = json.loads(as_json(report(tmp_path, finding(tmp_path)), str(tmp_path)))
    fingerprint = document["findings"][0].pop("fingerprint")
    assert isinstance(fingerprint, str) and len(fingerprint) == 32
    tool = document.pop("tool")
    assert tool.startswith("trainlint ")
    assert document == {
        "version": 1,
        "files_checked": 24,
        "files_skipped": [{"filename": "a.ipynb", "reason": "its language is R, not Python"}],
        "summary": {"error": 1, "warning": 0, "note": 0, "suppressed": 0, "baselined": 0},
        "statistics": [{"code": "TL101", "name": "sentinel-collision", "count": 1}],
        "judged": {
            "losses": {"total": 11, "safe": 7, "flagged": 1, "unjudged": 3},
            "metrics": {"total": 0, "safe": 0, "flagged": 0, "unjudged": 0},
        },
        "unjudged": [
            {
                "filename": "eval.py",
                "cell": None,
                "location": {"row": 3, "column": 5},
                "end_location": {"row": 3, "column": 6},
                "what": "does the loss skip a class",
                "why": "no layer (--define n=1 would settle it)",
            }
        ],
        "findings": [
            {
                "code": "TL101",
                "name": "sentinel-collision",
                "severity": "error",
                "message": finding(tmp_path).message,
                "consequence": finding(tmp_path).consequence,
                "filename": "codec_lm/objective.py",
                "cell": None,
                "location": {"row": 11, "column": 26},
                "end_location": {"row": 11, "column": 35},
                "because": [
                    {
                        "message": "NUM_CODES = 1024",
                        "filename": "codec_lm/constants.py",
                        "cell": None,
                        "location": {"row": 2, "column": 1},
                        "end_location": {"row": 2, "column": 2},
                    },
                    {
                        "message": "Linear(D_MODEL, NUM_CODES + 1)",
                        "filename": "codec_lm/heads.py",
                        "cell": None,
                        "location": {"row": 14, "column": 1},
                        "end_location": {"row": 14, "column": 2},
                    },
                ],
                "assumed": [
                    {
                        "message": "--codes defaults to 1024",
                        "filename": "train.ipynb",
                        "cell": 2,
                        "location": {"row": 3, "column": 1},
                        "end_location": {"row": 3, "column": 1},
                    }
                ],
                "help": "use -100 (PyTorch's default) and fill padding with it",
                "url": None,
                "fix": None,
            }
        ],
        "stale": [],
        "faults": [],
    }


def test_a_path_is_relative_only_inside_the_working_directory() -> None:
    assert filename("/home/me/project/src/a.py", "/home/me/project") == "src/a.py"
    assert filename("/home/me/project2/a.py", "/home/me/project") == "/home/me/project2/a.py"


def test_what_was_judged_reaches_the_report(tmp_path: Path) -> None:
    told = judged([loss(tmp_path / "a.py"), loss(tmp_path / "a.py", 2, ignore=-100)], tmp_path)
    assert json.loads(as_json(told, str(tmp_path)))["judged"]["losses"] == {
        "total": 2,
        "safe": 1,
        "flagged": 1,
        "unjudged": 0,
    }
