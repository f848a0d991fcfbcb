from __future__ import annotations

import os
import re
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
READERS = {"trainlint.source.link", "trainlint.source.workspace", "trainlint.source.summary", "trainlint.source.things"}


def imported(folder: Path, *words: str) -> set[str]:
    """The modules that a run imports, and their packages."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "trainlint", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode in {0, 1}, run.stderr
    names = re.findall(r"^import time:.*\|\s*([\w.]+)$", run.stderr, re.MULTILINE)
    assert "trainlint.check" in names
    return {name for module in names for name in (module, module.partition(".")[0])}


@pytest.mark.parametrize("words", [(".",), ("check", ".", "-q"), (".", "--output-format", "json", "-j", "2")])
def test_a_run_with_nothing_to_judge_loads_no_rule_no_reader_and_no_heavy_library(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "setup.py").write_text("from setuptools import setup\n\nsetup(name='x')\n")
    assert not imported(tmp_path, *words) & (HEAVY | READERS)


def test_a_run_with_a_loss_loads_neither_typer_nor_torch(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch.nn.functional as F\n\n\n"
        "def step(model, batch):\n    return F.cross_entropy(model(batch), batch.targets, ignore_index=-100)\n"
    )
    assert not imported(tmp_path, ".") & {"typer", "click", "rich", "libcst", "torch"}
