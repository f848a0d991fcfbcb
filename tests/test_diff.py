"""``trainlint diff`` through the front door: what changed since a revision, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from front_door import run
from test_identity import grown

TOP = Path(__file__).parent.parent
AUTHOR = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
TWINS = [
    ("sentinel_collision", "bad_class_constant"),
    ("best_weights_aliased", "bad_callback"),
    ("selection_direction", "bad_score_function_returns_the_loss"),
]


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *AUTHOR, *words], cwd=folder, check=True, capture_output=True)


def committed(folder: Path) -> Path:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "before")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return committed(Path(shutil.copytree(TOP / "examples" / "codec_lm", tmp_path / "codec_lm")))


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def changes(folder: Path, *words: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(run(folder, "diff", *words, "--output-format", "json").out)["changes"]
    return found


def test_nothing_changed_is_said_and_passes(project: Path) -> None:
    assert run(project, "diff", "HEAD") == (0, "0 sites changed since HEAD, 2 as before; 0 new findings\n", "")


def test_a_head_that_grows_under_its_sentinel_is_told_with_the_lines_behind_it(project: Path) -> None:
    change(project / "stage.py", "CODES + 1", "CODES")
    git(project, "commit", "-qam", "narrow")
    change(project / "stage.py", "CODES)", "CODES + 1)")
    told = run(project, "diff", "HEAD")
    assert told.status == 1
    assert told.out.startswith(
        "objective.py:9:12: cross_entropy in frame_loss: safe -> flagged\n"
        "  + error TL101 ignore_index=1024 is one of the 1025 classes that FirstStage.to_codes emits, and class 1024 "
        "is END_OF_AUDIO, which ends decoding\n"
        "  - note TL102 ignore_index=1024 is one past the last of the 1024 classes that FirstStage.to_codes emits\n"
        "  head     FirstStage.to_codes, 1024 classes -> FirstStage.to_codes, 1025 classes\n"
        "             - nn.Linear(WIDTH, CODES)      stage.py:17\n"
        "             + nn.Linear(WIDTH, CODES + 1)  stage.py:17\n"
        "  skips    1024, one past the end -> 1024, inside\n"
    )
    assert told.out.endswith("1 site changed since HEAD, 1 as before; 1 new finding (1 error); 1 finding gone\n")


def test_a_verdict_that_gets_better_passes(project: Path) -> None:
    change(project / "objective.py", "ignore_index=CODES", "ignore_index=-100")
    told = run(project, "diff", "HEAD")
    assert told.status == 0
    assert "flagged -> safe" in told.out
    assert "  skips    1024, inside -> -100, negative\n" in told.out


@pytest.mark.parametrize("gate", ["error", "warning", "note", "never"])
def test_the_gate_decides_the_exit_status(project: Path, gate: str) -> None:
    change(project / "stage.py", "CODES + 1", "CODES")
    assert run(project, "diff", "HEAD", "--fail-on", gate).status == (1 if gate == "note" else 0)


def test_what_is_not_judged_any_more_is_said_with_the_reason(project: Path) -> None:
    change(project / "stage.py", "CODES + 1", "int(open('width.txt').read())")
    told = run(project, "diff", "HEAD")
    assert told.status == 0
    assert "flagged -> not judged" in told.out
    assert "  not judged does the loss skip a class" in told.out


def test_a_format_that_changes_is_told(project: Path) -> None:
    change(project / "train.py", "FirstStage()", "FirstStage().bfloat16()")
    told = changes(project, "HEAD")
    values = {label: each for change in told for label, each in change["values"].items()}  # type: ignore[attr-defined]
    assert values["weights"]["before"] == ["float32"]
    assert values["weights"]["after"] == ["bfloat16"]


def test_lines_that_move_change_nothing(project: Path) -> None:
    for file in project.glob("*.py"):
        file.write_text(grown(file.read_text(), lambda place: ("comment", "blank", "def")[sum(place) % 3]))
    assert changes(project, "HEAD") == []


@pytest.mark.parametrize(("rule", "bad"), TWINS)
def test_a_bug_that_comes_and_goes_is_told_both_ways(tmp_path: Path, rule: str, bad: str) -> None:
    good = sorted((TOP / "fixtures" / rule).glob("good_*"))[0]
    project = committed(Path(shutil.copytree(TOP / "fixtures" / rule / bad, tmp_path / "project")))
    before = json.loads(run(project, ".", "--output-format", "json").out)["findings"]
    for file in project.glob("*.py"):
        file.unlink()
    shutil.copytree(good, project, dirs_exist_ok=True)
    gone = [each["code"] for change in changes(project, "HEAD") for each in change["gone"]]  # type: ignore[attr-defined]
    assert sorted(gone) == sorted(each["code"] for each in before)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "after")
    assert changes(project, "HEAD") == []
    new = run(project, "diff", "HEAD~1")
    assert new.status == 0
    git(project, "checkout", "-q", "HEAD~1")
    assert run(project, "diff", "HEAD").status == 0


def test_new_and_deleted_and_moved_files_are_seen(project: Path) -> None:
    text = "import torch.nn.functional as F\nfrom torch import nn\n\nhead = nn.Linear(8, 2)\n\n\ndef learn(x, y):\n"
    (project / "other.py").write_text(f"{text}    return F.cross_entropy(head(x), y, ignore_index=1)\n")
    (new,) = changes(project, "HEAD")
    assert (new["filename"], new["before"], new["after"], new["in"]) == ("other.py", None, "flagged", "learn")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "more")
    (project / "other.py").rename(project / "moved.py")
    assert changes(project, "HEAD") == []
    (project / "moved.py").unlink()
    (gone,) = changes(project, "HEAD")
    assert (gone["filename"], gone["before"], gone["after"]) == ("other.py", "flagged", None)
    assert run(project, "diff", "HEAD", "other.py").status == 0


def test_paths_choose_what_is_told_by_evidence(project: Path) -> None:
    change(project / "stage.py", "CODES + 1", "CODES + 2")
    assert len(changes(project, "HEAD", "stage.py")) == len(changes(project, "HEAD", "objective.py")) == 1
    (project / "apart.py").write_text("x = 1\n")
    assert changes(project, "HEAD", "apart.py") == []


def test_it_works_from_above_and_below(project: Path) -> None:
    change(project / "stage.py", "CODES + 1", "CODES + 2")
    (project / "sub").mkdir()
    assert [each["filename"] for each in changes(project.parent, "HEAD", "codec_lm")] == ["codec_lm/objective.py"]
    assert len(changes(project / "sub", "HEAD", "..")) == 1


def test_numbers_in_settings_files_and_notebooks_count(tmp_path: Path) -> None:
    code = (
        "import json\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
        "classes = json.load(open('sizes.json'))['classes']\nhead = nn.Linear(8, classes)\n"
        "F.cross_entropy(head(x), y, ignore_index=7).backward()\n"
    )
    cells = [{"cell_type": "code", "source": code, "outputs": [], "metadata": {}}]
    (tmp_path / "train.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    (tmp_path / "sizes.json").write_text('{"classes": 7}')
    committed(tmp_path)
    (tmp_path / "sizes.json").write_text('{"classes": 8}')
    (told,) = changes(tmp_path, "HEAD")
    assert (told["filename"], told["cell"]) == ("train.ipynb", 1)
    assert told["values"]["head"]["after"] == ["head, 8 classes"]  # type: ignore[index]


def test_a_file_that_cannot_be_read_any_more_fails(project: Path) -> None:
    change(project / "objective.py", "def frame_loss(", "def frame_loss((")
    told = run(project, "diff", "HEAD")
    assert told.status == 1
    assert "cross_entropy in frame_loss: flagged -> not read\n" in told.out
    assert "\nobjective.py:" in told.out and ": cannot be read: " in told.out
    assert "gone" not in told.out
    assert "1 file that cannot be read any more" in told.out


def test_the_settings_of_then_count_then(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch.nn.functional as F\nfrom torch import nn\n\n\ndef learn(cfg, x, y):\n"
        "    head = nn.Linear(8, cfg.classes)\n    F.cross_entropy(head(x), y, ignore_index=7).backward()\n"
    )
    (tmp_path / "trainlint.toml").write_text("[values]\n'cfg.classes' = 7\n")
    committed(tmp_path)
    (tmp_path / "trainlint.toml").write_text("[values]\n'cfg.classes' = 8\n")
    (told,) = changes(tmp_path, "HEAD")
    assert told["values"]["head"]["before"] == ["head, 7 classes"]  # type: ignore[index]
    assert told["values"]["head"]["after"] == ["head, 8 classes"]  # type: ignore[index]


def test_nothing_of_the_repository_is_executed(project: Path) -> None:
    sign = project.parent / "executed"
    touch = f"touch {sign}; cat"
    for name in ("filter.x.smudge", "filter.x.clean", "filter.x.process", "diff.x.textconv", "core.fsmonitor",
                 "core.pager", "diff.external", "core.sshCommand"):  # fmt: skip
        git(project, "config", name, touch)
    (project / ".gitattributes").write_text("*.py filter=x diff=x\n")
    (project / ".git" / "info" / "attributes").write_text("*.py filter=x diff=x\n")
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        (project / ".git" / "hooks" / hook).write_text(f"#!/bin/sh\n{touch}\n")
        (project / ".git" / "hooks" / hook).chmod(0o755)
    (project / "stage.py").write_text((project / "stage.py").read_text() + f"\nimport os\nos.system('touch {sign}')\n")
    assert run(project, "diff", "HEAD").status == 0
    assert not sign.exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "since when? give a revision, as in `trainlint diff HEAD`, `trainlint diff main src`"),
        (("nope",), "unknown revision 'nope' in {project}"),
        (("HEAD:stage.py",), "unknown revision 'HEAD:stage.py' in {project}"),
        (("HEAD..HEAD",), "HEAD..HEAD: one revision; it is compared with the files as they are now"),
        (("HEAD", "nope.py"), "{project}/nope.py: no such file or folder, neither now nor in HEAD"),
        (("HEAD", "{outside}"), "{outside}: not in a git repository"),
    ],
)
def test_what_cannot_be_done_is_one_clear_error(project: Path, words: tuple[str, ...], why: str) -> None:
    places = {"project": str(project), "outside": str(project.parent)}
    told = run(project, "diff", *(word.format(**places) for word in words))
    assert told == (2, "", f"trainlint: {why.format(**places)}\n")


def test_without_git_there_is_nothing_to_compare_with(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project))
    assert run(project, "diff", "HEAD") == (2, "", "trainlint: git is not installed, or not on the PATH\n")


def test_the_environment_of_a_hook_does_not_lead_elsewhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", os.devnull)
    monkeypatch.setenv("GIT_INDEX_FILE", os.devnull)
    assert run(project, "diff", "HEAD").status == 0


def test_settings_of_then_that_cannot_be_followed_are_named(project: Path) -> None:
    (project / "trainlint.toml").write_text("selekt = []\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "settings")
    (project / "trainlint.toml").unlink()
    told = run(project, "diff", "HEAD")
    assert (told.status, told.err) == (
        2,
        "trainlint: in HEAD: trainlint.toml: unknown key 'selekt'; did you mean select?\n",
    )


def test_markdown_has_no_markup_of_the_code(project: Path) -> None:
    change(project / "stage.py", "CODES + 1", "CODES + 2")
    told = run(project, "diff", "HEAD", "--output-format", "markdown").out
    assert told.startswith("**trainlint**: 1 site changed since HEAD, 1 as before; 1 new finding (1 error)")
    assert "- `objective.py:9` cross_entropy in `frame_loss`: **flagged, as before**\n" in told
    assert "  - error `TL101` ignore\\_index=1024 is one of the 1026 classes" in told
