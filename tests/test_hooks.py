"""The hooks of the manifest, as pre-commit calls them: the entry, the arguments of the user, the names of files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from front_door import Run, run

TOP = Path(__file__).parent.parent
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text())}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A sound program, whose loss takes the index that it skips from the file of constants."""
    for file in (TOP / "examples" / "codec_lm").glob("*.py"):
        shutil.copy(file, tmp_path)
    change(tmp_path / "sizes.py", "WIDTH =", "IGNORED = -100\n\nWIDTH =")
    change(tmp_path / "objective.py", "CODES", "IGNORED")
    assert called(tmp_path, "trainlint-project").status == 0
    return tmp_path


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def called(project: Path, hook: str, *names: str, words: tuple[str, ...] = ()) -> Run:
    """What pre-commit runs: it passes names only to the hooks that want them."""
    tool, *entry = HOOKS[hook]["entry"].split()
    assert tool == "trainlint"
    return run(project, *entry, *words, *(names if HOOKS[hook].get("pass_filenames", True) else ()))


@pytest.mark.parametrize("hook", HOOKS)
def test_a_change_of_nothing_but_a_constant_shows_the_loss_that_it_breaks(project: Path, hook: str) -> None:
    change(project / "sizes.py", "IGNORED = -100", "IGNORED = CODES")
    told = called(project, hook, "sizes.py")
    assert told.status == 1
    assert "objective.py:12:22: error TL101" in told.out
    assert "IGNORED = CODES" in told.out


def test_a_file_without_part_in_a_finding_does_not_show_it(project: Path) -> None:
    change(project / "sizes.py", "IGNORED = -100", "IGNORED = CODES")
    (project / "other.py").write_text("x = 1\n")
    assert called(project, "trainlint", "other.py").status == 0
    assert called(project, "trainlint-project", "other.py").status == 1


def test_without_names_the_hook_of_files_checks_nothing(project: Path) -> None:
    told = called(project, "trainlint")
    assert (told.status, told.out, told.err) == (0, "", "0 files checked\n")


@pytest.mark.parametrize("hook", HOOKS)
def test_arguments_of_the_user_stand_in_front_of_the_names(project: Path, hook: str) -> None:
    change(project / "sizes.py", "IGNORED = -100", "IGNORED = CODES")
    assert called(project, hook, "sizes.py", words=("--ignore", "TL101", "-q")) == (0, "", "")


def test_a_file_that_is_gone_is_named(project: Path) -> None:
    told = called(project, "trainlint", "gone.py", "sizes.py")
    assert told.status == 2
    assert "gone.py: no such file or folder" in told.err


def test_as_many_names_as_a_command_line_holds_are_taken(project: Path) -> None:
    change(project / "sizes.py", "IGNORED = -100", "IGNORED = CODES")
    names = [f"part_{number % 50}/module_{number}.py" for number in range(3000)]
    for name in names:
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("x = 1\n")
    told = called(project, "trainlint", *names, "sizes.py")
    assert (told.status, told.out.count("error TL101")) == (1, 1)
    assert "1 finding (1 error) in 3001 files" in told.out + told.err


def test_a_file_of_settings_is_worth_a_look_at_the_whole_project() -> None:
    """Their numbers reach the code: the other hook is given what it can read."""
    assert {"yaml", "json", "toml"} <= set(HOOKS["trainlint-project"]["types_or"])
    assert set(HOOKS["trainlint"]["types_or"]) == {"python", "pyi", "jupyter"}
