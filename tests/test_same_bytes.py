"""One project, one report, byte for byte: cold, warm, by any number of processes, of files in any order."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from front_door import run

from trainlint.source import stamps
from trainlint.source.observe import FEWEST_FILES
from trainlint.testing import sources

FIXTURES = Path(__file__).parent.parent / "fixtures"
SEVERAL = [folder for folder in sorted(FIXTURES.glob("*/bad_*/")) if len(sources(folder)) > 1]
SOME = SEVERAL[:: len(SEVERAL) // 12]
"""A dozen programs of several files, from one end of the rules to the other."""

JSON = ("--isolated", "--output-format", "json", "--select", "ALL", "--show-unjudged")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs beside each other, in one project."""
    top = tmp_path_factory.mktemp("project")
    for folder in SOME:
        shutil.copytree(folder, top / f"{folder.parent.name}_{folder.name}")
    (top / "pyproject.toml").write_text("[project]\nname = 'programs'\n")
    assert len(sources(top)) > FEWEST_FILES
    return top


@pytest.fixture(scope="module")
def expected(project: Path) -> str:
    told = cold(project)
    assert told.count('"code": ') > len(SOME)
    return told


def cold(project: Path, *words: str) -> str:
    return run(project, *JSON, "--no-cache", *words).out


def names(project: Path) -> list[str]:
    return [path.relative_to(project).as_posix() for path in sources(project)]


def shuffled(words: Iterable[str], seed: int) -> list[str]:
    return random.Random(seed).sample(list(words), len(list(words)))


@pytest.mark.parametrize("jobs", ["1", "2", "3"])
def test_the_number_of_processes_changes_no_byte(project: Path, expected: str, jobs: str) -> None:
    assert cold(project, "--jobs", jobs) == expected


@pytest.mark.parametrize("first", ["1", "2", "3"])
def test_a_cache_that_any_number_of_processes_filled_changes_no_byte(
    project: Path, expected: str, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "GRAIN", 0)  # The files are new, and what was just written would be read again.
    for jobs in (first, "1", "2", "3"):
        told = run(project, *JSON, "--cache-dir", str(tmp_path / "cache"), "--jobs", jobs).out
        assert told == expected


def test_a_cache_is_used_at_all(project: Path, expected: str, tmp_path: Path) -> None:
    run(project, *JSON, "--cache-dir", str(tmp_path / "cache"))
    assert any(path.is_file() for path in (tmp_path / "cache").rglob("*"))


@pytest.mark.parametrize("jobs", ["1", "2", "3"])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_in_which_files_are_handed_over_changes_no_byte(
    project: Path, expected: str, seed: int, jobs: str
) -> None:
    assert cold(project, *shuffled(names(project), seed), "--jobs", jobs) == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_warm_run_of_files_in_another_order_changes_no_byte(
    project: Path, expected: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "GRAIN", 0)
    for order in (names(project), shuffled(names(project), seed)):
        assert run(project, *JSON, "--cache-dir", str(tmp_path / "cache"), *order).out == expected


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_how_python_orders_its_sets_changes_no_byte(project: Path, expected: str, seed: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": seed}
    ran = subprocess.run(
        [sys.executable, "-m", "trainlint", *JSON, "--no-cache"], cwd=project, env=environment, text=True,
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert ran.stdout == expected
