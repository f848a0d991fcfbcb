from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "typer",
    "click",
    "rich",
    "libcst",
    "astroid",
    "torch",
    "trainlint_rules",
    "importlib.metadata",
    "pathspec",
    "trainlint.probe",
}
UNUSED = {
    "dataclasses",
    "inspect",
    "re",
    "enum",
    "typing",
    "ast",
    "json",
    "tokenize",
    "trainlint.facts",
    "trainlint.check",
}
"""What the standard library and we ourselves have for runs that find something."""

READERS = {"trainlint.source.link", "trainlint.source.workspace", "trainlint.source.summary", "trainlint.source.things"}


RUN = """\
import sys
from trainlint.cli import main
status = main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(status)
"""


def imported(folder: Path, *words: str) -> set[str]:
    """The modules that a run imports, and their packages."""
    run = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode in {0, 1}, run.stderr
    names = run.stderr.splitlines()[-1].split()
    assert "trainlint.cli" in names
    return {name for module in names for name in (module, module.partition(".")[0])}


QUIET = [("setup.py",), ("check", ".", "-q"), (".", "--isolated"), ("--version",), ("version",)]


@pytest.mark.parametrize("words", QUIET)
def test_a_run_with_nothing_to_show_loads_nothing_that_it_does_not_use(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "setup.py").write_text("from setuptools import setup\n\nsetup(name='x')\n")
    assert not imported(tmp_path, *words) & (HEAVY | READERS | UNUSED)


def test_settings_that_a_run_ignores_do_not_make_it_load_more(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("from setuptools import setup\n\nsetup(name='x')\n")
    (tmp_path / "trainlint.toml").write_text("select = ['NONE']\n")
    assert not imported(tmp_path, "setup.py", "--isolated") & (HEAVY | READERS | UNUSED)


SITE = "import torch.nn.functional as F\nF.cross_entropy(a, b)\n"
FOLDERS = {
    "nothing": {"a.py": "x = 1\n", "b.py": "y = 2\n"},
    "a site": {"a.py": "x = 1\n", "b.py": SITE},
    "a comment": {"a.py": "x = 1  # trainlint: ignore[TL101]\n"},
    "a mistake": {"a.py": "x = (\n"},
    "settings": {"a.py": "x = 1\n", "trainlint.toml": "select = ['NONE']\n"},
    "other settings": {"a.py": "x = 1\n", "pyproject.toml": "[project]\nname = 'x'\n"},
    "what is left out": {"a.py": "x = 1\n", ".gitignore": "a.py\n"},
    "a template": {"a.py": "x = 1\n", "{{b}}.py": "x = 1\n"},
    "a notebook": {"a.py": "x = 1\n", "b.ipynb": '{"cells": []}'},
    "no file": {"a.txt": ""},
}


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A run of the command line in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "trainlint", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("words", [["."], ["a.py"], ["a.py", "missing.py"], ["check", "a.py", "-q"], []])
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_early_end_says_what_the_whole_way_says(tmp_path: Path, folder: str, words: list[str]) -> None:
    for name, text in FOLDERS[folder].items():
        (tmp_path / name).write_text(text)
    early, whole = (ran(tmp_path, *words, *more) for more in ([], ["--color", "auto"]))
    assert (early.returncode, early.stdout, early.stderr) == (whole.returncode, whole.stdout, whole.stderr)


@pytest.mark.parametrize("words", [(".",), ("check", ".", "-q"), (".", "--output-format", "json", "-j", "2")])
def test_a_run_with_nothing_to_judge_loads_no_rule_no_reader_and_no_heavy_library(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "setup.py").write_text("from setuptools import setup\n\nsetup(name='x')\n")
    assert not imported(tmp_path, *words) & (HEAVY | READERS)


FOR_OTHERS = {"dataclasses", "inspect", "json", "tokenize", "pkgutil", "difflib"}
"""What a run loads that writes JSON, compares with a baseline or quotes a comment, and what compiles at its start."""

OTHER_KINDS = {f"trainlint.source.linkers.{name}" for name in ("copies.kept", "loop.modes", "effects.attention")}


JUDGING = {"trainlint.source.link", "trainlint.source.evaluate", "trainlint.source.world"}
"""What evaluates code, where there is something to judge."""


def test_an_edited_file_without_a_site_is_read_and_nothing_that_judges_is_loaded(tmp_path: Path) -> None:
    folder, more = tmp_path / "project", ("--cache-dir", "../kept")
    folder.mkdir()
    (folder / "train.py").write_text(
        "import torch.nn.functional as F\n\n\n"
        "def step(model, batch):\n    return F.cross_entropy(model(batch), batch.targets, ignore_index=-100)\n"
    )
    (folder / "setup.py").write_text("from setuptools import setup\n")
    imported(folder, ".", *more)
    (folder / "setup.py").write_text("from setuptools import setup\n\nsetup(name='x')\n")
    assert not imported(folder, "setup.py", *more) & JUDGING
    (folder / "setup.py").write_text("from setuptools import setup\n\nsetup(name=\n")
    run = ran(folder, "setup.py", *more)
    assert run.stdout.startswith("setup.py:3:6: error TL902"), run.stdout


def test_a_run_with_a_loss_loads_what_judges_it_and_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch.nn.functional as F\n\n\n"
        "def step(model, batch):\n    return F.cross_entropy(model(batch), batch.targets, ignore_index=-100)\n"
    )
    loaded = imported(tmp_path, ".", "--no-cache")
    assert "trainlint.source.linkers.targets.losses" in loaded
    assert not loaded & {"typer", "click", "rich", "libcst", "torch", "importlib.metadata", *FOR_OTHERS, *OTHER_KINDS}
