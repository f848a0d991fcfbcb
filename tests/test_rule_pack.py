"""The example of a rule pack, found through its entry point beside our own rules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOP = Path(__file__).parent.parent
PACK = TOP / "examples" / "rule_pack"
GROUP = "trainlint.rules"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages with the pack in it, as pip installs it."""
    project = tomllib.loads((PACK / "pyproject.toml").read_text())
    (name,) = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    shutil.copytree(PACK / name, tmp_path / name)
    named(tmp_path, project["project"]["name"], project["project"]["entry-points"][GROUP])
    return tmp_path


def named(site: Path, distribution: str, points: dict[str, str]) -> None:
    """Say which entry points a distribution has."""
    about = site / f"{distribution.replace('-', '_')}-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n")
    lines = [f"[{GROUP}]", *(f"{name} = {value}" for name, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines))


def trainlint(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "trainlint", *words]
    return subprocess.run(command, cwd=PACK, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_its_rule_runs_beside_ours(site: Path) -> None:
    done = trainlint(site, "fixtures/coupled_weight_decay/bad_adam", "--output-format", "concise")
    told = "train.py:7:13: warning WD101 coupled-weight-decay: Adam adds weight_decay = 0.01 to the gradient\n"
    assert (done.returncode, done.stdout.endswith(told)) == (1, True), done.stderr
    assert trainlint(site, "fixtures", "--ignore", "WD").returncode == 0


def test_its_page_is_shown_as_ours_are(site: Path) -> None:
    done = trainlint(site, "rule", "WD101")
    assert done.returncode == 0
    assert done.stdout.startswith("WD101 coupled-weight-decay\n")


def test_a_code_that_two_packs_claim_names_both(site: Path) -> None:
    shutil.copytree(site / "trainlint_decay", site / "others")
    named(site, "others", {"others": "others"})
    done = trainlint(site, "fixtures")
    assert (done.returncode, done.stdout) == (2, "")
    claimants = ["coupled-weight-decay of the pack 'decay' (trainlint_decay)", "of the pack 'others' (others)"]
    assert "WD101 is claimed by both" in done.stderr
    assert all(each in done.stderr for each in claimants)


def test_its_table_of_files_names_files() -> None:
    for line in (PACK / "README.md").read_text().splitlines():
        if line.startswith("| `"):
            assert (PACK / line.split("`")[1]).exists(), line
