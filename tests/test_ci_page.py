"""What the page about CI tells people to copy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from front_door import run

from trainlint.cli.options import CHECK, parse

TOP = Path(__file__).parent.parent
PAGE = (TOP / "docs" / "ci.md").read_text()
ACTION = yaml.safe_load((TOP / "action.yml").read_text())


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(TOP / "examples" / "codec_lm", tmp_path / "codec_lm", ignore=shutil.ignore_patterns("__pycache__"))
    command = tmp_path / "bin" / "trainlint"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trainlint "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.chdir(tmp_path / "codec_lm")
    return tmp_path / "codec_lm"


def test_the_workflows_give_the_action_inputs_that_it_has() -> None:
    workflow, gitlab, matrix = map(yaml.safe_load, blocks("yaml"))
    for jobs in (workflow["jobs"], matrix["jobs"]):
        (given,) = (step["with"] for step in jobs["trainlint"]["steps"] if "/trainlint@" in step["uses"])
        assert set(given) <= set(ACTION["inputs"])
    assert set(ACTION["inputs"]) == set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE))
    options = matrix["jobs"]["trainlint"]["steps"][-1]["with"]["options"].replace("${{ matrix.part }}", "4")
    assert parse(options.split(), CHECK.options)
    assert gitlab["trainlint"]["artifacts"]["when"] == "always"


def test_the_lines_for_gitlab_write_the_report_that_it_collects(project: Path) -> None:
    job = yaml.safe_load(blocks("yaml")[1])["trainlint"]
    tool, *words = job["script"][-1].split()
    told = run(project, *words)
    assert (tool, told.status) == ("trainlint", 1)
    assert "error TL101" in told.out
    report = json.loads((project / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [each["location"]["path"] for each in report] == ["objective.py"]


def test_the_parts_that_xargs_starts_are_the_whole(project: Path) -> None:
    (line,) = blocks("sh")
    done = subprocess.run(
        ["bash", "-c", f"git init -q . && git add . && {line}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    records = [json.loads(each) for each in done.stdout.splitlines()]
    assert [each["code"] for each in records if each["type"] == "finding"] == ["TL101"], done.stderr
    assert sum(each["files_checked"] for each in records if each["type"] == "summary") == 4


def test_the_snippet_for_a_fleet_keeps_the_findings(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    (text,) = blocks("python")
    names: dict[str, Any] = {"__name__": "fleet"}
    exec(compile(text, "fleet.py", "exec"), names)
    (row,) = names["checked"]({"repository": str(project)})
    assert (row["repository"], row["code"]) == (str(project), "TL101")
    with pytest.raises(RuntimeError, match="no such file"):
        list(names["checked"]({"repository": str(project / "gone")}))
