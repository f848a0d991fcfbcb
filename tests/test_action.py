"""The GitHub Action: its script run as a script, its inputs in the environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

TOP = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((TOP / "action.yml").read_text())
SCRIPT = TOP / "action" / "check.sh"
INSTALL, CHECK = ACTION["runs"]["steps"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout with a finding, and the command on the path."""
    shutil.copytree(TOP / "examples" / "codec_lm", tmp_path / "checkout", ignore=shutil.ignore_patterns("__pycache__"))
    command = tmp_path / "bin" / "trainlint"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trainlint "$@"\n')
    command.chmod(0o755)
    return tmp_path / "checkout"


def called(project: Path, inside: str = ".", **inputs: str) -> subprocess.CompletedProcess[str]:
    """The script as the runner calls it: every input is there, those that nobody gave with their default."""
    given = {name: about["default"] for name, about in ACTION["inputs"].items()} | inputs
    environment = {f"INPUT_{name.upper()}": value for name, value in given.items()}
    return subprocess.run(
        ["bash", str(SCRIPT)],
        cwd=project / inside,
        env={
            **os.environ,
            "PATH": f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "GITHUB_WORKSPACE": str(project),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_findings_are_annotations_of_the_files_and_fail_the_step(project: Path) -> None:
    done = called(project)
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=objective.py,line=12,endLine=12,col=22,endColumn=27,title=TL101 ")


def test_files_are_named_by_their_path_in_the_repository(project: Path) -> None:
    (project / "model").mkdir()
    for file in project.glob("*.py"):
        file.rename(project / "model" / file.name)
    assert "file=model/objective.py," in called(project, inside="model").stdout


def test_nothing_found_is_success(project: Path) -> None:
    assert called(project, options="--ignore TL101").returncode == 0


def test_paths_stand_one_a_line(project: Path) -> None:
    (project / "a folder").mkdir()
    (project / "a folder" / "x.py").write_text("x = 1\n")
    assert called(project, paths="a folder\n").returncode == 0
    assert called(project, paths="a folder\n\n  objective.py\n").returncode == 1


def test_a_sarif_report_and_a_summary_are_written_where_they_are_wanted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project / "summary.md"))
    assert called(project, sarif="a report.sarif").returncode == 1
    results = json.loads((project / "a report.sarif").read_text())["runs"][0]["results"]
    assert [each["ruleId"] for each in results] == ["TL101"]
    assert "TL101" in (project / "summary.md").read_text()


@pytest.mark.parametrize(
    "text", ["$(touch pwned)", "`touch pwned`", "; touch pwned", "x\ntouch pwned", '"; touch pwned #']
)
@pytest.mark.parametrize("name", ["paths", "options", "sarif"])
def test_no_input_is_ever_run(project: Path, name: str, text: str) -> None:
    done = called(project, **{name: text})
    assert done.returncode in ({1} if name == "sarif" else {2})
    assert not (project / "pwned").exists()


def test_a_star_among_the_options_is_a_star(project: Path) -> None:
    (project / "TL101").write_text("")
    assert called(project, options="--ignore *").returncode == 2


def test_an_option_can_not_be_smuggled_in_as_a_path(project: Path) -> None:
    assert called(project, paths="--exit-zero").returncode == 2


def test_every_input_reaches_the_script_through_the_environment_alone() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for step in (INSTALL, CHECK):
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    names = {name for name in ACTION["inputs"] if name != "working-directory"}
    assert CHECK["env"] == {f"INPUT_{name.upper()}": f"${{{{ inputs.{name} }}}}" for name in names}
    assert CHECK["working-directory"] == "${{ inputs.working-directory }}"
    assert set(re.findall(r"INPUT_(\w+):-", SCRIPT.read_text())) == {name.upper() for name in names}
    assert all(about["description"] and "default" in about for about in ACTION["inputs"].values())
    assert CHECK["run"].split()[1].strip('"').removeprefix("$GITHUB_ACTION_PATH/") == SCRIPT.relative_to(TOP).as_posix()
