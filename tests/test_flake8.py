"""The plug-in in flake8 itself: what it says, where, and that nothing stops flake8."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from flake8.main.cli import main as flake8
from front_door import run
from test_mistakes_of_peers import COLLISION, COLUMN, ROW, notebook

Captured = pytest.CaptureFixture[str]
TOP = Path(__file__).parent.parent
RULES = (
    "sentinel_collision",
    "metric_ignored",
    "low_precision_accumulator",
    "class_count_mismatch",
    "frozen_weight_average",
)
PLACE = f"{ROW}:{COLUMN}"
FOUND = f":{PLACE}: TL101 ignore_index=64 is one of the 65 classes that head emits, and class 64 is stop_id"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "trainlint.toml").write_text("")
    (tmp_path / "train.py").write_text(COLLISION, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: Captured, *words: str) -> list[str]:
    """What flake8 prints of ours."""
    flake8(["--select", "TL", *words])
    said = capsys.readouterr()
    assert not said.err
    return said.out.splitlines()


def process(folder: Path, *words: str, text: str = "", path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A flake8 of its own, which reads this text."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(path or ""), *sys.path]))}
    return subprocess.run(
        [sys.executable, "-m", "flake8", *words],
        cwd=folder,
        env=environment,
        input=text,
        encoding="utf-8",
        capture_output=True,
        timeout=120,
        check=False,
    )


def places(told: str) -> list[str]:
    """``file:row:column CODE message`` of each finding, whoever printed it."""
    found = re.findall(r"^(?:\./)?(\S+:\d+:\d+:) (?:\w+ )?(TL\d+)(?: [a-z-]+:)? (.*)$", told, re.MULTILINE)
    return sorted(" ".join(each) for each in found)


# Where and what


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """Some projects side by side, with findings of several levels and rules."""
    chosen = [each for rule in RULES for each in sorted((TOP / "fixtures" / rule).glob("bad_*"))[:3]]
    for folder in (*chosen, TOP / "examples" / "codec_lm", TOP / "examples" / "codec_lm_second_stage"):
        copy = tmp_path / folder.parent.name / folder.name
        shutil.copytree(folder, copy)
        (copy / "trainlint.toml").write_text("")
    return tmp_path


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_flake8_says_what_the_command_line_says_at_the_same_places(projects: Path, jobs: str) -> None:
    done = process(projects, "--select", "TL", "-j", jobs)
    assert not done.stderr
    found = run(projects, ".", "--output-format", "concise").out.splitlines()
    expected = places("\n".join(line for line in found if ": note " not in line))
    assert len(found) > len(expected) > 10
    assert places(done.stdout) == expected


def test_it_runs_without_being_selected(project: Path, capsys: Captured) -> None:
    assert flake8(["train.py"]) == 1
    assert f"train.py{FOUND}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", ["train.py", "./train.py", "../{folder}/train.py", "{path}/train.py"])
def test_any_way_to_name_a_file_is_good(project: Path, capsys: Captured, name: str) -> None:
    name = name.format(folder=project.name, path=project)
    assert told(capsys, name) == [f"{name}{FOUND}"]


def test_a_constant_in_another_file_counts_and_the_finding_is_told_in_its_own_file_alone(
    project: Path, capsys: Captured
) -> None:
    (project / "train.py").write_text(COLLISION.replace("CODES = 64", "from sizes import CODES"), encoding="utf-8")
    (project / "sizes.py").write_text("CODES = 64\n")
    assert told(capsys, ".") == [f"./train.py{FOUND}"]
    assert told(capsys, "sizes.py") == []


@pytest.mark.parametrize("name", ["train.py", "nowhere/new.py", "-", "a.ipynb", "../elsewhere/x.py", "{path}/x.py"])
def test_what_an_editor_holds_is_judged_under_any_name(project: Path, name: str) -> None:
    words = ["-"] if name == "-" else ["--stdin-display-name", name.format(path=project), "-"]
    (project / "train.py").write_text("x = 1\n")
    done = process(project, "--select", "TL", *words, text=COLLISION)
    shown = "stdin" if name == "-" else words[1]
    assert (done.stdout, done.stderr) == (f"{shown}{FOUND}\n", "")


def test_what_an_editor_holds_counts_more_than_the_disk(project: Path) -> None:
    cured = COLLISION.replace("ignore_index=CODES", "ignore_index=-100")
    done = process(project, "--select", "TL", "--stdin-display-name", "train.py", "-", text=cured)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_editor_s_text_finds_its_constants_on_the_disk(project: Path) -> None:
    (project / "sizes.py").write_text("CODES = 64\n")
    text = COLLISION.replace("CODES = 64", "from sizes import CODES")
    done = process(project, "--select", "TL", "--stdin-display-name", "new.py", "-", text=text)
    assert done.stdout == f"new.py{FOUND}\n"


@pytest.mark.parametrize(
    "data",
    [
        COLLISION.encode("utf-8-sig"),
        COLLISION.replace("\n", "\r\n").encode(),
        f"# coding: latin-1\n{COLLISION[COLLISION.index('from torch.nn') :]}".replace(
            "CODES = 64\n", "from torch import nn\nCODES = 64\n"
        ).encode("latin-1"),
    ],
    ids=["a mark", "two letters at the end of a line", "an encoding of its own"],
)
def test_a_file_is_read_as_python_reads_it(project: Path, capsys: Captured, data: bytes) -> None:
    (project / "train.py").write_bytes(data)
    (line,) = told(capsys, "train.py")
    assert re.fullmatch(rf"train.py:1\d:{COLUMN}: TL101 .*", line)


def test_a_notebook_is_told_of_by_its_cells(project: Path, capsys: Captured) -> None:
    head, loss = COLLISION.split("\n\n\n")
    (project / "train.ipynb").write_text(notebook(head, loss))
    (line,) = told(capsys, "train.ipynb")
    assert line.startswith(f"train.ipynb:1:1: TL101 cell 2:2:{COLUMN}: ignore_index=64")


def test_a_name_of_a_notebook_may_stand_for_its_code(project: Path, capsys: Captured) -> None:
    (project / "train.ipynb").write_text(COLLISION, encoding="utf-8")
    assert told(capsys, "train.ipynb") == [f"train.ipynb{FOUND}"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_a_process_leaves_makes_the_next_say_the_same(project: Path, jobs: str) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (project / name).write_text(COLLISION, encoding="utf-8")
    cold = process(project, "--select", "TL", "-j", jobs)
    assert cold.stdout.count("TL101") == 4
    assert list((Path(os.environ["XDG_CACHE_HOME"]) / "trainlint").glob("*.kept"))
    assert process(project, "--select", "TL", "-j", jobs).stdout == cold.stdout
    (project / "b.py").write_text("x = 1\n")
    assert process(project, "--select", "TL", "-j", jobs).stdout.count("TL101") == 3
    assert process(project, "--select", "TL", "--stdin-display-name", "c.py", "-", text="x = 1\n").stdout == ""
    assert process(project, "--select", "TL", "-j", jobs).stdout.count("TL101") == 3


# What is left out


@pytest.mark.parametrize("comment", ["# noqa: TL101", "# noqa", "# trainlint: ignore[TL101] on purpose"])
def test_comments_silence(project: Path, capsys: Captured, comment: str) -> None:
    text = COLLISION.replace("ignore_index=CODES)", f"ignore_index=CODES)  {comment}")
    (project / "train.py").write_text(text, encoding="utf-8")
    assert told(capsys, "train.py") == []


def test_flake8_may_be_told_not_to_heed_its_own_comments(project: Path, capsys: Captured) -> None:
    for comment, found in (("# noqa: TL101", 1), ("# trainlint: ignore[TL101] on purpose", 0)):
        text = COLLISION.replace("ignore_index=CODES)", f"ignore_index=CODES)  {comment}")
        (project / "train.py").write_text(text, encoding="utf-8")
        assert len(told(capsys, "--disable-noqa", "train.py")) == found


def test_flake8_chooses_among_codes(project: Path, capsys: Captured) -> None:
    assert flake8(["--extend-ignore", "TL101", "--select", "TL", "train.py"]) == 0
    assert flake8(["--select", "E,F", "--max-line-length", "120", "--extend-ignore", "E702", "train.py"]) == 0


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("", 1),
        ('ignore = ["TL1"]', 0),
        ('severity = {TL101 = "note"}', 0),
        ('severity = {TL101 = "note"}\nfail-on = "note"', 1),
        ('fail-on = "never"', 0),
        ('per-file-ignores = {"train.py" = ["TL101"]}', 0),
        ('exclude = ["train.py"]', 0),
        ("values = {CODES = 5}", 1),
    ],
)
def test_the_settings_count_and_what_is_below_the_gate_is_not_told(
    project: Path, capsys: Captured, settings: str, found: int
) -> None:
    (project / "trainlint.toml").unlink()
    (project / "pyproject.toml").write_text(f"[tool.trainlint]\n{settings}\n")
    assert len(told(capsys, "train.py")) == found


# What must not stop flake8


def test_a_file_that_python_cannot_read_is_for_flake8_to_tell(project: Path, capsys: Captured) -> None:
    (project / "other.py").write_text("x = (\n")
    assert flake8(["--select", "E9,TL", "."]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if "other.py" in line] == ["E999"]
    assert f"./train.py{FOUND}" in lines


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_settings_that_cannot_be_followed_are_told_and_flake8_goes_on(project: Path, jobs: str) -> None:
    (project / "trainlint.toml").write_text("selct = []\n")
    for name in ("a.py", "b.py", "c.py"):
        (project / name).write_text("import os\n")
    done = process(project, "--select", "F,TL", "-j", jobs, ".")
    mine = [line for line in done.stdout.splitlines() if " TL" in line]
    assert 1 <= len(mine) <= int(jobs)
    assert all(":1:1: TL999 trainlint cannot judge: " in line for line in mine)
    assert all("unknown key 'selct'; did you mean select?" in line for line in mine)
    assert done.stdout.count("F401") == 3 and not done.stderr


@pytest.mark.parametrize("error", ["RuntimeError('two\\nlines')", "RecursionError()", "MemoryError()"])
def test_a_fault_of_ours_is_told_once_and_flake8_goes_on(project: Path, tmp_path: Path, error: str) -> None:
    path = tmp_path / "broken"
    path.mkdir()
    (path / "sitecustomize.py").write_text(
        "import trainlint.check\n\ndef fail(*words, **options):\n"
        f"    raise {error}\n\ntrainlint.check.Session.report = fail\n"
    )
    for name in ("a.py", "b.py"):
        (project / name).write_text("import os\n")
    done = process(project, "--select", "F,TL", "-j1", "a.py", "b.py", path=path)
    mine, *others = sorted(done.stdout.splitlines(), key=lambda line: " F401 " in line)
    kind = error.partition("(")[0]
    assert re.match(rf"[ab]\.py:1:1: TL999 trainlint failed: {kind}\(.*; `trainlint check` shows where$", mine)
    assert [line.split()[1] for line in others] == ["F401", "F401"] and not done.stderr
