"""Comments that silence through the front door: written by --add-ignore, found idle by TL900, taken back by --fix."""

from __future__ import annotations

import ast
import json
import re
import shutil
from pathlib import Path

import pytest
from front_door import Run, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TOP = Path(__file__).parent.parent
FIXTURES = [
    folder
    for name in ("sentinel_collision", "softmax_before_cross_entropy", "best_weights_aliased", "selection_direction",
                 "low_precision_master_weights", "padding_not_ignored", "missing_logits_upcast")
    for folder in sorted((TOP / "fixtures" / name).glob("bad_*"))[::14]
]  # fmt: skip

HEAD = """\
import torch.nn.functional as F
from torch import nn

STOP = 1
head = nn.Linear(8, 2)


def learn(hidden, targets, reduction="mean"):
"""


def silenced(folder: Path, text: str, *words: str, name: str = "train.py") -> str:
    """A file after --add-ignore, which must leave nothing to report and do nothing the second time."""
    (folder / name).write_text(text)
    assert "TL101" in run(folder).out
    done = run(folder, ".", *(words or ("--add-ignore",)))
    assert (done.status, " error " in done.out, "suppressed" in done.out) == (0, False, True), done
    after = (folder / name).read_text()
    assert run(folder, ".", *(words or ("--add-ignore",))).status == 0
    assert (folder / name).read_text() == after
    return after


def body(after: str) -> str:
    return after[len(HEAD) :]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)\n",
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)  # trainlint: ignore[TL101]\n",
        ),
        (
            "    return F.cross_entropy(\n        head(hidden),\n        targets,\n        ignore_index=STOP,\n    )\n",
            "    return F.cross_entropy(\n        head(hidden),\n        targets,\n"
            "        ignore_index=STOP,  # trainlint: ignore[TL101]\n    )\n",
        ),
        (
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)  # type: ignore\n",
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)"
            "  # type: ignore  # trainlint: ignore[TL101]\n",
        ),
        (
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)  # trainlint: ignore[TL110] why\n",
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)"
            "  # trainlint: ignore[TL110, TL101] why\n",
        ),
        (
            "    # trainlint: ignore[TL110] why\n"
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)\n",
            "    # trainlint: ignore[TL110, TL101] why\n"
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)\n",
        ),
        (
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)  # fmt: skip\n",
            "    # trainlint: ignore[TL101]\n"
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)  # fmt: skip\n",
        ),
        (
            "    loss = F.cross_entropy(head(hidden), targets, ignore_index=STOP) \\\n        + 1\n    return loss\n",
            "    loss = F.cross_entropy(head(hidden), targets, ignore_index=STOP) \\\n"
            "        + 1  # trainlint: ignore[TL101]\n    return loss\n",
        ),
        (
            '    return F.cross_entropy(head(hidden), targets, ignore_index=STOP), """# no\n    comment"""\n',
            '    return F.cross_entropy(head(hidden), targets, ignore_index=STOP), """# no\n'
            '    comment"""  # trainlint: ignore[TL101]\n',
        ),
        (
            '    return F.cross_entropy(head(hidden), targets, ignore_index=STOP), "# no comment"\n',
            '    return F.cross_entropy(head(hidden), targets, ignore_index=STOP), "# no comment"'
            "  # trainlint: ignore[TL101]\n",
        ),
        (
            '    return F.cross_entropy(head(hidden), targets, ignore_index=STOP), f"""{\n    head\n    }"""\n',
            '    return F.cross_entropy(head(hidden), targets, ignore_index=STOP), f"""{\n    head\n'
            '    }"""  # trainlint: ignore[TL101]\n',
        ),
        (
            "    if hidden: return F.cross_entropy(head(hidden), targets, ignore_index=STOP)\n",
            "    if hidden: return F.cross_entropy(head(hidden), targets, ignore_index=STOP)"
            "  # trainlint: ignore[TL101]\n",
        ),
        (
            "    x = 1; return F.cross_entropy(head(hidden), targets, ignore_index=STOP)   \n",
            "    x = 1; return F.cross_entropy(head(hidden), targets, ignore_index=STOP)  # trainlint: ignore[TL101]\n",
        ),
        (
            "    return [F.cross_entropy(head(hidden), targets, ignore_index=STOP) for _ in 'a name to be long']\n",
            "    # trainlint: ignore[TL101]\n"
            "    return [F.cross_entropy(head(hidden), targets, ignore_index=STOP) for _ in 'a name to be long']\n",
        ),
        (
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)",
            "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)  # trainlint: ignore[TL101]",
        ),
    ],
)
def test_a_comment_is_written_where_it_is_read(tmp_path: Path, before: str, after: str) -> None:
    assert body(silenced(tmp_path, HEAD + before)) == after


def test_one_comment_is_written_for_one_statement(tmp_path: Path) -> None:
    call = "F.cross_entropy(head(hidden), targets, ignore_index=STOP)"
    soft = "F.cross_entropy(head(hidden).softmax(-1), targets)"
    after = silenced(tmp_path, f"{HEAD}    return [\n        {call},\n        {call},\n        {soft},\n    ]\n")
    assert after.count("# trainlint") == 1
    assert f"        {call},  # trainlint: ignore[TL101, TL110]\n" in after


def test_a_reason_is_written_behind(tmp_path: Path) -> None:
    line = "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)\n"
    after = silenced(tmp_path, HEAD + line, "--add-ignore=a demo of two classes")
    assert after.endswith("# trainlint: ignore[TL101] a demo of two classes\n")
    (tmp_path / "trainlint.toml").write_text("require-reason = true\n")
    assert run(tmp_path).status == 0


def test_a_reason_that_the_settings_require_must_be_given(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        HEAD + "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)  # trainlint: ignore[TL101]\n"
    )
    (tmp_path / "trainlint.toml").write_text("require-reason = true\n")
    checked = run(tmp_path, ".", "--output-format", "concise")
    assert checked.status == 1
    assert "warning TL901 invalid-suppression: 'ignore[TL101]' gives no reason" in checked.out
    asked = run(tmp_path, ".", "--add-ignore")
    assert (asked.status, asked.err) == (2, "trainlint: the settings require a reason: --add-ignore='why'\n")
    assert run(tmp_path, ".", "--add-ignore=see issue #7").status == 2


@pytest.mark.parametrize("kind", ["string", "list"])
def test_comments_are_written_into_cells(tmp_path: Path, kind: str) -> None:
    head, call = HEAD.partition("\n\n\n")[0], "F.cross_entropy(head(hidden), targets, ignore_index=STOP)"
    cells = [
        "%matplotlib inline\n" + head,
        f"%%time\nfor hidden, targets in data:\n    {call}.backward()\n    !nvidia-smi",
    ]
    sources = [cell if kind == "string" else cell.splitlines(keepends=True) for cell in cells]
    table = {"cells": [{"cell_type": "code", "source": source, "outputs": ["# kept"]} for source in sources]}
    text = json.dumps({**table, "nbformat": 4}, indent=1)
    after = silenced(tmp_path, text, name="train.ipynb")
    assert after == text.replace(f"{call}.backward()", f"{call}.backward()  # trainlint: ignore[TL101]")


def test_a_file_that_was_not_named_is_left_alone(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(TOP / "examples" / "codec_lm", tmp_path / "codec_lm"))
    before = {file: file.read_text() for file in folder.glob("*.py")}
    done = run(folder, "sizes.py", "--add-ignore")
    assert done.status == 1
    assert done.err.startswith("objective.py:12:22: TL101 not silenced: it is in objective.py, which was not named\n")
    assert {file: file.read_text() for file in folder.glob("*.py")} == before


def test_what_cannot_be_silenced_is_left(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch.nn.functional as F\nloss = F.cross_entropy(\n")
    assert run(tmp_path, ".", "--add-ignore").status == 1
    assert "trainlint" not in (tmp_path / "train.py").read_text()


def test_line_ends_and_encodings_are_kept(tmp_path: Path) -> None:
    text = HEAD + "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)  # é\n"
    data = b"# -*- coding: latin-1 -*-\r\n" + text.replace("\n", "\r\n").encode("latin-1")
    (tmp_path / "train.py").write_bytes(data)
    assert run(tmp_path, ".", "--add-ignore").status == 0
    assert (tmp_path / "train.py").read_bytes() == data.rstrip() + b"  # trainlint: ignore[TL101]\r\n"


@pytest.mark.parametrize("folder", FIXTURES, ids=lambda folder: folder.name)
def test_every_finding_can_be_silenced_and_no_code_changes(tmp_path: Path, folder: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / folder.name))
    before = {file: ast.dump(ast.parse(file.read_text())) for file in copy.rglob("*.py")}
    found = json.loads(run(copy, ".", "--output-format", "json").out)["findings"]
    done = run(copy, ".", "--add-ignore=a test", "--output-format", "json")
    document = json.loads(done.out)
    assert (done.status, document["findings"], document["summary"]["suppressed"]) == (0, [], len(found))
    assert {file: ast.dump(ast.parse(file.read_text())) for file in copy.rglob("*.py")} == before
    texts = {file: file.read_text() for file in copy.rglob("*.py")}
    run(copy, ".", "--add-ignore=another")
    assert {file: file.read_text() for file in copy.rglob("*.py")} == texts


CALL = "F.cross_entropy(head(hidden), targets, ignore_index=STOP)"
LAYOUTS = [
    "return {0}",
    "loss = {0}\nreturn loss",
    "return (\n    {0}\n)",
    "return [{0}, '# x']",
    "if hidden:\n    return {0}",
]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    layout=st.sampled_from(LAYOUTS),
    reason=st.text(alphabet="abc \"'[]é,:;", max_size=20),
    behind=st.sampled_from(["", "  # noqa: E501", "  # a comment", "  # type: ignore[arg-type]  "]),
)
def test_silenced_then_cured_is_noted_and_cleared(tmp_path: Path, layout: str, reason: str, behind: str) -> None:
    lines = layout.format(CALL + behind if "{0}, " not in layout else CALL).splitlines()
    text = HEAD + "".join(f"    {line}\n" for line in lines)
    after = silenced(tmp_path, text, f"--add-ignore={reason}")
    (tmp_path / "train.py").write_text(after.replace("ignore_index=STOP", "ignore_index=-100"))
    assert told(run(tmp_path, ".", "--output-format", "concise")) == ["TL900"]
    run(tmp_path, ".", "--fix")
    cleared = (tmp_path / "train.py").read_text().replace("ignore_index=-100", "ignore_index=STOP")
    (tmp_path / "train.py").write_text(cleared)
    assert [line.rstrip() for line in cleared.splitlines()] == [line.rstrip() for line in text.splitlines()]
    assert told(run(tmp_path, ".", "--output-format", "concise")) == ["TL101"]


def told(checked: Run) -> list[str]:
    return re.findall(r"(?:error|warning|note) (TL\d+) ", checked.out)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = f(y)  # trainlint: ignore[TL101] why", "x = f(y)"),
        ("x = f(y)  # trainlint: ignore[TL101]  # noqa: E501", "x = f(y)  # noqa: E501"),
        ("x = f(y)  # noqa: E501, TL101", "x = f(y)  # noqa: E501"),
        ("x = f(y)  # noqa: TL101, E501", "x = f(y)  # noqa: E501"),
        ("x = f(y)  # noqa: TL101", "x = f(y)"),
        ("# trainlint: ignore[TL101]\nx = f(y)", "x = f(y)"),
        ("# trainlint: ignore-file[TL101] why\nx = f(y)", "x = f(y)"),
        ("# flake8: noqa: TL101\nx = f(y)", "x = f(y)"),
    ],
)
def test_what_is_idle_is_taken_out(tmp_path: Path, before: str, after: str) -> None:
    (tmp_path / "train.py").write_text(f"{before}\n")
    assert told(run(tmp_path, ".", "--output-format", "concise")) == ["TL900"]
    assert run(tmp_path, ".", "--fix").status == 0
    assert (tmp_path / "train.py").read_text() == f"{after}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# noqa: sentinel-collision", "# noqa: TL101"),
        ("# noqa: E501, sentinel-collision", "# noqa: E501, TL101"),
        ("# noqa TL101", "# noqa: TL101"),
        ("# noqa : TL101 why", "# noqa: TL101 why"),
    ],
)
def test_a_name_behind_noqa_becomes_a_code(tmp_path: Path, before: str, after: str) -> None:
    line = "    return F.cross_entropy(head(hidden), targets, ignore_index=STOP)"
    (tmp_path / "train.py").write_text(f"{HEAD}{line}  {before}\n")
    assert "TL901" in told(run(tmp_path, ".", "--output-format", "concise"))
    run(tmp_path, ".", "--fix")
    assert before in (tmp_path / "train.py").read_text()
    assert run(tmp_path, ".", "--fix", "--unsafe-fixes", "--ignore", "TL110").status == 0
    assert (tmp_path / "train.py").read_text().endswith(f"{line}  {after}\n")


@pytest.mark.parametrize(
    "words",
    [("--ignore", "TL101"), ("--select", "TL9,TL2"), ("--per-file-ignores", "train.py:TL101"), ("--ignore", "TL900")],
)
def test_nothing_is_called_idle_that_did_not_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "train.py").write_text("x = f(y)  # trainlint: ignore[TL101] why\n")
    assert told(run(tmp_path, ".", "--output-format", "concise", *words)) == []


def test_nothing_is_called_idle_while_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = f(y)  # trainlint: ignore[TL101] why\n")
    (tmp_path / "broken.py").write_text("import torch.nn.functional as F\nF.cross_entropy(\n")
    assert told(run(tmp_path, ".", "--output-format", "concise")) == ["TL902"]


def test_comments_of_files_that_were_not_named_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = f(y)  # trainlint: ignore[TL101] why\n")
    (tmp_path / "other.py").write_text("x = 1\n")
    assert told(run(tmp_path, "other.py", "--output-format", "concise")) == []
