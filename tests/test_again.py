"""A run like the last one says what that said without loading what judges, and nothing that changed goes unseen."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from editing import STARTS

from trainlint import cli
from trainlint.cli import main
from trainlint.source import stamps

Captured = pytest.CaptureFixture[str]
Said = tuple[int, str, str]
Ask = Callable[..., Said]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "outer" / "project"
    folder.mkdir(parents=True)
    for name, data in {**STARTS, "apart.py": b"x = 1\n"}.items():
        (folder / name).write_bytes(data)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # All that is written counts as old.
    monkeypatch.setattr(stamps, "GRAIN", -(10**18))
    yield folder


@pytest.fixture
def ask(capsys: Captured) -> Ask:
    def said(*words: str) -> Said:
        status = main(words)
        return status, *capsys.readouterr()

    return said


@pytest.fixture
def only_again(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let nothing but the last answer be given from now on."""

    def forbid() -> None:
        def refuse(words: object, first: object) -> int:
            raise AssertionError("the run was done anew")

        monkeypatch.setattr(cli, "_run_in_full", refuse)

    return forbid


@pytest.mark.parametrize(
    "words", [("./",), ("layers.py", "sizes.py", "-q"), ("check", "train.py", "--hook", "--isolated")]
)
def test_the_same_is_said_again(
    project: Path, ask: Ask, only_again: Callable[[], None], words: tuple[str, ...]
) -> None:
    first = ask(*words)
    only_again()
    assert ask(*words) == first
    assert first[0] == 1
    assert "TL101" in first[1]


def test_a_run_that_is_said_again_loads_nothing_that_judges(project: Path) -> None:
    def imported() -> set[str]:
        command = [sys.executable, "-X", "importtime", "-m", "trainlint", "train.py", "layers.py"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert "TL101" in told.stdout
        return {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}

    for path in project.iterdir():
        os.utime(path, (1, 1))
    # The time of the last change of a file cannot be set: until it is old enough, the run is done anew.
    for _ in range(20):
        names = imported()
        if "trainlint.check" not in names:
            break
        time.sleep(0.25)
    assert names & {"trainlint.check", "trainlint.facts", "dataclasses", "re", "hashlib", "trainlint.config"} == set()


def edited(project: Path) -> None:
    (project / "sizes.py").write_text("CODES, PAD = 3, -100\n")


def added(project: Path) -> None:
    (project / "more.py").write_bytes(STARTS["train.py"])


def removed(project: Path) -> None:
    (project / "sizes.py").unlink()


def ignored(project: Path) -> None:
    (project / ".gitignore").write_text("layers.py\n")


def settled(project: Path) -> None:
    (project / "trainlint.toml").write_text("ignore = ['TL1']\n")


def settled_above(project: Path) -> None:
    (project.parent / "pyproject.toml").write_text("[tool.trainlint]\nfail-on = 'never'\n")


def silenced(project: Path) -> None:
    data = STARTS["train.py"].replace(b"index=CODES)", b"index=CODES)  # trainlint: ignore[TL101] meant")
    (project / "train.py").write_bytes(data)


def broken(project: Path) -> None:
    (project / "apart.py").write_text("x = (\n")


CHANGES = (edited, added, removed, ignored, settled, settled_above, silenced, broken)


@pytest.mark.parametrize("words", [("./",), ("train.py", "apart.py")])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: str(change.__name__))
def test_after_a_change_it_says_what_a_first_run_says(
    project: Path, ask: Ask, change: Callable[[Path], None], words: tuple[str, ...]
) -> None:
    before = ask(*words)
    assert ask(*words) == before
    change(project)
    after = ask(*words)
    assert after == ask(*words, "--no-cache")
    assert after == ask(*words)


def test_settings_are_seen_that_change_later(project: Path, ask: Ask) -> None:
    settled(project)
    assert ask("./")[0] == ask("./")[0] == 0
    (project / "trainlint.toml").write_text("")
    assert ask("./")[0] == 1


def test_settings_that_others_extend_are_seen(project: Path, ask: Ask) -> None:
    (project / "base").mkdir()
    (project / "base" / "shared.toml").write_text("ignore = ['TL1']\n")
    (project / "trainlint.toml").write_text("extend = 'base/shared.toml'\n")
    assert ask("./")[0] == ask("./")[0] == 0
    (project / "base" / "shared.toml").write_text("")
    assert ask("./")[0] == 1


def test_a_baseline_that_changes_is_seen(project: Path, ask: Ask) -> None:
    (project / "trainlint.toml").write_text("baseline = 'known.jsonl'\n")
    assert main(["baseline", "write"]) == 0
    assert ask("./")[0] == ask("./")[0] == 0
    (first, *_) = (project / "known.jsonl").read_text().splitlines(keepends=True)
    (project / "known.jsonl").write_text(first)
    assert ask("./")[0] == 1


def test_other_words_are_other_runs(project: Path, ask: Ask) -> None:
    ask("train.py")
    assert ask("apart.py", "-q") != ask("train.py")
    assert ask("train.py", "--isolated", "-q")[1] != ask("train.py", "--isolated")[1]


def test_what_is_kept_under_another_answer_is_not_taken_for_this_one(
    project: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainlint.cli.again.crc32", lambda data: 1)
    first = ask("train.py")
    assert ask("apart.py", "-q")[1] != first[1]
    assert ask("train.py") == first


def test_colours_are_not_kept(project: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ask("train.py")
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = ask("train.py")
    assert "\x1b[" in coloured[1]
    monkeypatch.delenv("FORCE_COLOR")
    assert ask("train.py") == plain
