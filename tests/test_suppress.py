from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from made import COLLISION, INTERNAL, NOTE, OTHER, UNREADABLE, codes, judged, loss, unread

CALL = """\
    import torch.nn.functional as F


    def step(logits, targets):
        loss = F.cross_entropy(
            logits,
            targets,
            ignore_index=STOP,
        )
        return loss
"""
ROW = 8


def silent(tmp_path: Path, text: str, row: int = ROW, code: str = "TL101") -> bool:
    """Whether the finding of this rule at this row is silenced in this text."""
    file = tmp_path / "train.py"
    file.write_text(textwrap.dedent(text))
    report = judged([loss(file, row)], tmp_path, rules=[COLLISION, NOTE, OTHER])
    assert len(report.findings) + len(report.suppressed) == 3
    return code not in codes(report)


def commented(row: int, comment: str) -> str:
    lines = CALL.splitlines(keepends=True)
    lines[row - 1] = f"{lines[row - 1].rstrip()}  {comment}\n"
    return "".join(lines)


@pytest.mark.parametrize("row", [5, 6, 7, 8, 9])
@pytest.mark.parametrize(
    "comment",
    [
        "# trainlint: ignore[TL101] 1024 is never a target here",
        "#trainlint:ignore[ TL102 , sentinel-collision ]",
        "# type: ignore # trainlint: ignore[TL1]",
        "# noqa",
        "# NOQA: E501, TL101",
        "# noqa:TL1",
        "# noqa: sentinel-collision",
    ],
)
def test_a_comment_on_any_line_of_the_statement_silences(tmp_path: Path, row: int, comment: str) -> None:
    assert silent(tmp_path, commented(row, comment))


@pytest.mark.parametrize(
    "comment",
    [
        "# trainlint: ignore[TL102]",
        "# trainlint: ignore[]",
        "# trainlint: ignore",
        "# noqa: E501",
        "# noqa: TL1011",
        "# an ignore[TL101] of something else",
    ],
)
def test_a_comment_about_something_else_does_not(tmp_path: Path, comment: str) -> None:
    assert not silent(tmp_path, commented(ROW, comment))


@pytest.mark.parametrize("row", [1, 4, 10])
def test_a_comment_on_another_statement_does_not(tmp_path: Path, row: int) -> None:
    assert not silent(tmp_path, commented(row, "# trainlint: ignore[TL101]"))
    assert not silent(tmp_path, commented(row, "# noqa"))


def test_a_comment_alone_on_the_line_above_silences_the_next_statement(tmp_path: Path) -> None:
    text = "x = 1\n# trainlint: ignore[TL101] safe\nloss = f(\n    STOP,\n)\nother = f(STOP)\n"
    assert silent(tmp_path, text, 4)
    assert not silent(tmp_path, text, 6)
    assert not silent(tmp_path, text, 1)


def test_comments_above_may_be_stacked_but_not_apart(tmp_path: Path) -> None:
    assert silent(tmp_path, "# trainlint: ignore[TL101]\n# trainlint: ignore[TL102]\nloss = f(STOP)\n", 3)
    assert not silent(tmp_path, "# trainlint: ignore[TL101]\n\nloss = f(STOP)\n", 3)
    assert not silent(tmp_path, "# noqa: TL101\nloss = f(STOP)\n", 2)


def test_only_the_named_rules_are_silenced(tmp_path: Path) -> None:
    text = commented(ROW, "# trainlint: ignore[TL101]")
    assert silent(tmp_path, text, code="TL101")
    assert not silent(tmp_path, text, code="TL102")
    assert silent(tmp_path, commented(ROW, "# noqa"), code="TL205")


@pytest.mark.parametrize("comment", ["# trainlint: ignore-file[TL1]", "# flake8: noqa", "# flake8: noqa: TL101"])
def test_a_comment_may_silence_a_whole_file(tmp_path: Path, comment: str) -> None:
    assert silent(tmp_path, f"{comment}\n\nx = 1\nloss = f(STOP)\n", 4)
    assert silent(tmp_path, f"x = 1\nloss = f(STOP)\n{comment}\n", 2)


def test_a_comment_for_the_file_names_its_rules(tmp_path: Path) -> None:
    assert not silent(tmp_path, "# trainlint: ignore-file[TL2]\nloss = f(STOP)\n", 2)
    assert not silent(tmp_path, "# flake8: noqa: E501\nloss = f(STOP)\n", 2)
    assert not silent(tmp_path, "x = 1  # flake8: noqa\nloss = f(STOP)\n", 2)


def test_words_in_a_string_silence_nothing(tmp_path: Path) -> None:
    assert not silent(tmp_path, 'loss = f("# trainlint: ignore[TL101]", "# noqa")\n', 1)
    assert not silent(tmp_path, '"""\n# trainlint: ignore-file[TL101]\n# noqa\n"""\nloss = f(STOP)\n', 5)


def test_comments_count_as_far_as_a_broken_file_can_be_read(tmp_path: Path) -> None:
    assert silent(tmp_path, "loss = f(STOP)  # noqa\nx = (\n", 1)


def test_unreadable_code_cannot_be_silenced(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("# trainlint: ignore-file[TL9]\n# flake8: noqa\nx = (  # noqa\n")
    assert codes(judged([unread(file)], tmp_path, rules=[UNREADABLE, INTERNAL])) == ["TL902"]


def test_silenced_findings_are_kept_apart_and_fail_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("loss = f(STOP)  # trainlint: ignore[TL101] known\nloss = f(STOP)\n")
    report = judged([loss(file, 1), loss(file, 2)], tmp_path)
    assert [finding.where.row for finding in report.suppressed] == [1]
    assert [finding.where.row for finding in report.findings] == [2]
    assert len(report.failing) == 1
