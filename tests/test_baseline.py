"""Baselines through the front door: what is known is not reported, what is new is, and what is gone is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from front_door import Run, run

TOP = Path(__file__).parent.parent
NAME = "trainlint-baseline.jsonl"
SETTINGS = f'[tool.trainlint]\nbaseline = "{NAME}"\n'

OTHER = """\
import torch.nn.functional as F
from torch import nn

head = nn.Linear(64, 2)


def learn(hidden, targets):
    F.cross_entropy(head(hidden), targets, ignore_index=1).backward()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(TOP / "examples" / "codec_lm", tmp_path / "codec_lm"))
    (folder / "pyproject.toml").write_text(SETTINGS)
    return folder


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def cured(project: Path) -> None:
    change(project / "objective.py", "ignore_index=CODES", "ignore_index=-100")


def known(project: Path) -> Run:
    written = run(project, "baseline", "write")
    assert written.status == 0, written.err
    return written


def test_known_findings_are_counted_and_pass(project: Path) -> None:
    assert run(project, ".", "--config", "baseline = ''").status == 1
    assert known(project).out == f"{NAME}: 1 finding written down, 1 of them new, 0 forgotten\n"
    checked = run(project)
    assert (checked.status, checked.err) == (0, "")
    assert checked.out == "no findings in 4 files; losses: 1 flagged; optimizers: 1 safe; 1 baselined\n"


def test_the_file_is_one_line_for_each_finding(project: Path) -> None:
    known(project)
    head, line = (project / NAME).read_text().splitlines()
    assert json.loads(head) == {"trainlint baseline": 1}
    assert json.loads(line) == {
        "file": "objective.py",
        "in": "frame_loss",
        "code": "TL101",
        "severity": "error",
        "message": "ignore_index=1024 is one of the 1025 classes that FirstStage.to_codes emits, and class 1024 is "
        "END_OF_AUDIO, which ends decoding",
        "text": "F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=CODES)",
        "distinct": ["FirstStage.to_codes - ignore_index = 1"],
    }


def test_a_new_finding_is_reported_beside_a_known_one(project: Path) -> None:
    known(project)
    (project / "other.py").write_text(OTHER)
    checked = run(project, ".", "--output-format", "json")
    assert checked.status == 1
    document = json.loads(checked.out)
    assert [each["filename"] for each in document["findings"]] == ["other.py"]
    assert document["summary"] == {"error": 1, "warning": 0, "note": 0, "suppressed": 0, "baselined": 1}
    assert document["stale"] == []


def test_a_new_collision_does_not_hide_behind_a_known_one(project: Path) -> None:
    known(project)
    change(project / "stage.py", "CODES + 1", "CODES + 2")
    checked = run(project)
    assert checked.status == 1
    assert "error TL101" in checked.out
    assert f"{NAME}:2: stale, no longer found: TL101 of objective.py in frame_loss" in checked.err


def test_lines_above_do_not_matter(project: Path) -> None:
    known(project)
    change(project / "objective.py", "def frame_loss", "def other():\n    return 1\n\n\ndef frame_loss")
    assert run(project).status == 0


def test_a_finding_that_got_worse_is_reported(project: Path) -> None:
    moved = ("--config", "severity = {TL101 = 'note'}")
    run(project, "baseline", "write", *moved)
    assert run(project, ".", *moved).status == 0
    checked = run(project)
    assert (checked.status, checked.err) == (1, "")
    assert "error TL101" in checked.out
    known(project)
    assert run(project, ".", *moved).status == run(project).status == 0


def test_what_is_gone_is_said_and_pruned(project: Path) -> None:
    known(project)
    cured(project)
    checked = run(project, ".", "-q")
    assert (checked.status, checked.out) == (0, "")
    assert checked.err == (
        f"{NAME}:2: stale, no longer found: TL101 of objective.py in frame_loss: F.cross_entropy(logits.flatten(0, 1), "
        "targets.flatten(), ignore_index=CODES)\n`trainlint baseline prune` removes what is stale\n"
    )
    document = json.loads(run(project, ".", "--output-format", "json").out)
    assert [(each["code"], each["filename"], each["location"]["row"]) for each in document["stale"]] == [
        ("TL101", NAME, 2)
    ]
    assert run(project, "baseline", "prune").out == f"{NAME}: 1 forgotten, 0 findings left\n"
    assert (project / NAME).read_text() == '{"trainlint baseline": 1}\n'
    assert run(project).err == ""


def test_write_again_changes_nothing(project: Path) -> None:
    (project / "other.py").write_text(OTHER)
    known(project)
    before = (project / NAME).read_text()
    assert known(project).out == f"{NAME}: 2 findings written down, 0 of them new, 0 forgotten\n"
    assert (project / NAME).read_text() == before


def test_write_of_some_paths_or_rules_keeps_the_others(project: Path) -> None:
    known(project)
    (project / "other.py").write_text(OTHER)
    cured(project)
    told = run(project, "baseline", "write", "other.py").out
    assert told == f"{NAME}: 2 findings written down, 1 of them new, 0 forgotten\n"
    told = run(project, "baseline", "write", "--ignore", "TL101").out
    assert told == f"{NAME}: 2 findings written down, 0 of them new, 0 forgotten\n"
    assert known(project).out == f"{NAME}: 1 finding written down, 0 of them new, 1 forgotten\n"


@pytest.mark.parametrize(
    "words",
    [("stage.py",), (".", "--select", "TL2"), (".", "--ignore", "TL101"), (".", "--exclude", "objective.py")],
)
def test_nothing_is_called_stale_that_was_not_looked_for(project: Path, words: tuple[str, ...]) -> None:
    known(project)
    cured(project)
    assert "stale" not in run(project, *words).err


BROKEN = "import torch.nn.functional as F\nloss = F.cross_entropy(\n"


def test_nothing_is_called_stale_while_a_file_cannot_be_read(project: Path) -> None:
    known(project)
    cured(project)
    (project / "broken.py").write_text(BROKEN)
    assert "stale" not in run(project).err
    pruned = run(project, "baseline", "prune")
    assert (pruned.status, pruned.out) == (1, f"{NAME}: 0 forgotten, 1 finding left\n")
    assert pruned.err.startswith("trainlint: broken.py:2:23: this file cannot be read as Python: ")
    assert pruned.err.endswith("; so no entry is taken for stale\n")


def test_nothing_is_called_stale_that_is_not_judged_any_more(project: Path) -> None:
    known(project)
    change(project / "sizes.py", "CODES = 1024", "CODES = int(open('codes.txt').read())")
    change(project / "stage.py", "CODES + 1", "int(open('width.txt').read())")
    checked = run(project)
    assert (checked.status, checked.err) == (0, "")
    assert checked.out.startswith("no findings in 4 files; losses: 1 not judged")
    assert run(project, "baseline", "prune").out == f"{NAME}: 0 forgotten, 1 finding left\n"


def test_an_entry_of_a_file_that_is_gone_is_stale(project: Path) -> None:
    (project / "other.py").write_text(OTHER)
    known(project)
    (project / "other.py").unlink()
    assert f"{NAME}:3: stale, no longer found: TL101 of other.py in learn" in run(project).err


def test_an_entry_of_a_finding_that_a_comment_silences_is_stale(project: Path) -> None:
    known(project)
    change(project / "objective.py", "ignore_index=CODES", "ignore_index=CODES  # trainlint: ignore[TL101] known")
    checked = run(project)
    assert "1 suppressed; 1 stale in the baseline" in checked.out
    assert "stale" in checked.err


def test_unreadable_code_is_never_known(project: Path) -> None:
    (project / "broken.py").write_text(BROKEN)
    written = run(project, "baseline", "write")
    assert (written.status, "TL902" in (project / NAME).read_text()) == (1, False)
    assert "broken.py:2:23" in written.err
    assert run(project).status == 1


def test_the_file_is_found_wherever_the_run_starts(project: Path) -> None:
    known(project)
    assert run(project.parent, "codec_lm").status == 0
    assert run(project.parent, "codec_lm/objective.py").status == 0
    project.rename(project.parent / "renamed")
    assert run(project.parent, "renamed").status == 0


def test_a_file_beside_the_settings_is_named_on_the_command_line(project: Path) -> None:
    (project / "pyproject.toml").unlink()
    told = run(project, "baseline", "write")
    assert told.out.endswith(f"to use it, set baseline = '{NAME}' in the settings, or give --baseline\n")
    assert run(project).status == 1
    assert run(project, ".", "--baseline", NAME).status == 0
    assert run(project, "baseline", "prune").status == 2
    (project / "ci").mkdir()
    told = run(project, "baseline", "write", "--baseline", "ci/known.jsonl")
    assert told.out == "ci/known.jsonl: 1 finding written down, 1 of them new, 0 forgotten\n"
    assert '"file": "../objective.py"' in (project / "ci" / "known.jsonl").read_text()
    assert run(project, ".", "--baseline", "ci/known.jsonl").status == 0


def test_two_projects_have_a_baseline_each(project: Path) -> None:
    other = Path(shutil.copytree(project, project.parent / "second"))
    told = run(project.parent, "baseline", "write", "codec_lm", "second").out
    assert [line.split(":")[0] for line in told.splitlines()] == [f"codec_lm/{NAME}", f"second/{NAME}"]
    change(other / "stage.py", "CODES + 1", "CODES + 2")
    assert run(project.parent, "codec_lm").status == 0
    assert run(project.parent, "codec_lm", "second").status == 1


def test_one_file_for_two_projects_tells_them_apart(project: Path) -> None:
    top = project.parent
    shutil.copytree(project, top / "second")
    run(top, "baseline", "write", "codec_lm", "--baseline", "all.jsonl")
    assert run(top, "codec_lm", "--baseline", "all.jsonl").status == 0
    assert run(top, "codec_lm", "second", "--baseline", "all.jsonl").status == 1
    run(top, "baseline", "write", "second", "--baseline", "all.jsonl")
    assert run(top, "codec_lm", "second", "--baseline", "all.jsonl").status == 0


def test_lines_of_two_branches_may_stand_in_any_order_and_twice(project: Path) -> None:
    (project / "other.py").write_text(OTHER)
    known(project)
    head, *lines = (project / NAME).read_text().splitlines()
    (project / NAME).write_text("\n".join([head, *reversed(lines), "", head, *lines]))
    assert run(project).status == 0


def test_show_says_where_each_finding_stands_now(project: Path) -> None:
    (project / "other.py").write_text(OTHER)
    known(project)
    cured(project)
    change(project / "other.py", "def learn", "# more\n\ndef learn")
    shown = run(project, "baseline", "show")
    assert shown.status == 0
    assert shown.out.splitlines() == [
        "other.py:10:57: error TL101 sentinel-collision: ignore_index=1 is one of the 2 classes that head emits, so "
        "only class 0 is left to learn",
        f"{NAME}:2: stale, no longer found: TL101 of objective.py in frame_loss: F.cross_entropy(logits.flatten(0, 1), "
        "targets.flatten(), ignore_index=CODES)",
        "`trainlint baseline prune` removes what is stale",
        f"{NAME}: 1 finding known, 1 stale",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no baseline: it is empty"),
        ("[]\n", ":1: no entry of a baseline: not a JSON object"),
        ('{"trainlint baseline": 2}\n', ":1: a baseline of version 2, and this trainlint reads version 1"),
        ('{"code": "TL101"}\n', ':1: no baseline: the first line should be {"trainlint baseline": 1}'),
        ('{"trainlint baseline": 1}\n<<<<<<< HEAD\n', ":2: a merge left its marks here; keep the lines of both sides"),
        ('{"trainlint baseline": 1}\n{"code": "TL1', ":2: no entry of a baseline: not valid JSON"),
        ('{"trainlint baseline": 1}\n{"code": "TL101", "file": "a.py"}\n',
         ":2: no entry of a baseline: no in, severity, message, text"),
        ('{"trainlint baseline": 1}\n{"code": 1, "file": "a", "in": "", "severity": "error", "message": "", '
         '"text": ""}\n', ":2: no entry of a baseline: a value of the wrong kind"),
        ("\udcff", "no baseline: not UTF-8"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("words", [(".",), ("baseline", "write"), ("baseline", "prune"), ("baseline", "show")])
def test_a_baseline_that_cannot_be_read_is_one_clear_error(
    project: Path, text: str, why: str, words: tuple[str, ...]
) -> None:
    (project / NAME).write_bytes(text.encode(errors="surrogateescape"))
    checked = run(project, *words)
    assert (checked.status, checked.out) == (2, "")
    assert checked.err.startswith(f"trainlint: {project / NAME}:")
    assert checked.err.endswith(f"{why}\n") and checked.err.count("\n") == 1
    assert (project / NAME).read_bytes() == text.encode(errors="surrogateescape")


def test_a_baseline_that_is_not_there_is_an_error_for_all_but_write(project: Path) -> None:
    checked = run(project)
    assert (checked.status, checked.out) == (2, "")
    assert checked.err == f"trainlint: {project / NAME}: no such baseline; `trainlint baseline write` makes one\n"
    assert known(project).status == 0


@pytest.mark.parametrize("words", [("baseline", "write", "nope.py"), (".", "--config", "baseline = 1")])
def test_what_cannot_be_done_is_exit_2(project: Path, words: tuple[str, ...]) -> None:
    assert run(project, *words).status == 2


def test_a_folder_in_place_of_the_file_is_exit_2(project: Path) -> None:
    (project / NAME).mkdir()
    assert run(project, "baseline", "write").status == 2
    assert run(project).status == 2
