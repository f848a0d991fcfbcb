"""``trainlint init``: what it shows, when it writes, and that what it writes is understood."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from front_door import run

from trainlint import config
from trainlint.cli.init import HOOK, SETTINGS

TOP = Path(__file__).parent.parent
PYPROJECT = '[project]\nname = "codec"\n\n[tool.ruff]\nline-length = 100\n'
HOOKS = """\
# what every commit passes
repos:
-   repo: https://example.org/black
    rev: 24.1.0
    hooks:
    -   id: black
        # a remark of black's

# the rest
exclude: ^data/
"""


def test_nothing_is_written_until_somebody_says_so(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    told = run(tmp_path, "init")
    assert told.status == 0
    assert told.out.startswith("--- pyproject.toml\n+++ pyproject.toml\n@@ ")
    assert "+[tool.trainlint]\n" in told.out
    assert told.err == "nothing written; trainlint init --write writes it\n"
    assert (tmp_path / "pyproject.toml").read_text() == PYPROJECT


def test_the_settings_go_behind_what_stands_in_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    told = run(tmp_path, "init", "--write")
    assert told.status == 0
    assert told.err.startswith("pyproject.toml written; next: trainlint, or trainlint baseline write")
    text = (tmp_path / "pyproject.toml").read_text()
    assert text == f"{PYPROJECT}\n[tool.trainlint]\n{SETTINGS}"
    layer = config.nearest(str(tmp_path))
    assert layer and layer.origin.endswith("pyproject.toml")
    assert run(tmp_path, ".").status == 0


def test_without_a_pyproject_they_get_a_file_of_their_own(tmp_path: Path) -> None:
    told = run(tmp_path, "init", "--write")
    assert told.out.startswith(f"--- {os.devnull}\n+++ trainlint.toml\n")
    assert (tmp_path / "trainlint.toml").read_text() == SETTINGS
    assert not (tmp_path / ".pre-commit-config.yaml").exists()


def test_what_is_offered_is_understood(tmp_path: Path) -> None:
    lines = [line.removeprefix("# ") for line in SETTINGS.splitlines() if " = " in line]
    settings = config.settings([config.from_text("\n".join(lines), str(tmp_path))])
    assert (settings.fail_on, settings.exclude, settings.values) == (
        "error",
        ("third_party",),
        {"cfg.vocab_size": 1025},
    )


@pytest.mark.parametrize(
    "name, text",
    [
        ("trainlint.toml", ""),
        ("pyproject.toml", "[tool.trainlint]\n"),
        ("pyproject.toml", '[tool.trainlint.severity]\nTL101 = "note"\n'),
    ],
)
def test_settings_that_are_there_are_left_alone(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    told = run(tmp_path, "init", "--write")
    assert (told.status, told.out) == (0, "")
    assert told.err.startswith("nothing to add")
    assert (tmp_path / name).read_text() == text


def test_doing_it_again_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / ".pre-commit-config.yaml").write_text(HOOKS)
    run(tmp_path, "init", "--write")
    once = [file.read_text() for file in sorted(tmp_path.iterdir())]
    assert run(tmp_path, "init", "--write").out == ""
    assert [file.read_text() for file in sorted(tmp_path.iterdir())] == once


@pytest.mark.parametrize(
    "text",
    [
        HOOKS,
        HOOKS.replace("\n", "\r\n"),
        "repos:\n  - repo: local\n    hooks:\n      - {id: x, name: x, entry: x, language: system}",
        "default_stages: [pre-commit]\nrepos: # ours\n\n- repo: meta\n  hooks:\n  - id: identity\n\n\n",
    ],
    ids=["wide", "two letters at the end of a line", "indented and without an end", "narrow"],
)
def test_the_hook_is_added_to_those_of_pre_commit(tmp_path: Path, text: str) -> None:
    (tmp_path / "trainlint.toml").write_text("")
    path = tmp_path / ".pre-commit-config.yaml"
    path.write_bytes(text.encode())
    assert run(tmp_path, "init", "--write").status == 0
    before, after = yaml.safe_load(text), yaml.safe_load(path.read_bytes())
    *others, added = after.pop("repos")
    assert others == before.pop("repos") and after == before
    assert added == {
        "repo": "local",
        "hooks": [HOOK | {"types_or": ["python", "pyi", "jupyter"], "require_serial": True}],
    }
    assert path.read_bytes().count(b"\r\n") == (path.read_bytes().count(b"\n") if "\r\n" in text else 0)
    for line in filter(None, text.splitlines()):
        assert line in path.read_text()


def test_the_hook_is_that_of_the_manifest() -> None:
    manifest = yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text())
    (entry,) = (each for each in manifest if each["id"] == HOOK["id"])
    same = {name: yaml.safe_load(value) for name, value in HOOK.items() if name != "language"}
    assert same == {name: entry[name] for name in same}


def test_a_list_of_hooks_in_another_form_is_left_alone_and_the_hook_is_shown(tmp_path: Path) -> None:
    (tmp_path / "trainlint.toml").write_text("")
    (tmp_path / ".pre-commit-config.yaml").write_text("repos: []\n")
    told = run(tmp_path, "init", "--write")
    assert told.status == 0
    assert ".pre-commit-config.yaml: no list of repos as pre-commit writes it" in told.err
    assert yaml.safe_load(told.err.partition("the hook is\n")[2].partition("nothing")[0])[0]["repo"] == "local"
    assert (tmp_path / ".pre-commit-config.yaml").read_text() == "repos: []\n"


@pytest.mark.parametrize(
    "text, why",
    [
        ("[project\n", "not valid TOML"),
        ("tool = {}\n", "no [tool.trainlint] can be added behind what stands there"),
    ],
)
def test_a_file_that_cannot_be_added_to_is_left_alone(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    told = run(tmp_path, "init", "--write")
    assert told.status == 2
    assert "pyproject.toml" in told.err and why in told.err
    assert (tmp_path / "pyproject.toml").read_text() == text


def test_a_path_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path, "init", "src").status == 2


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_at_a_terminal_it_asks(tmp_path: Path, answer: str) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "trainlint", "init"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        said = b""
        while b"written" not in said:
            said += os.read(ours, 4096)
        assert process.wait(30) == 0
    os.close(ours)
    assert b"Write trainlint.toml? [y/N]" in said
    assert (tmp_path / "trainlint.toml").exists() == (answer == "y")
