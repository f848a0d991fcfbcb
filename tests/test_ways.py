"""PyTorch is the oracle: the width that is stated for a loss is the width that the loss was given.

``ways.txt`` holds small programs, each with another way from a layer to a loss.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from programs import Said, programs, settled, written

from trainlint.facts import Loss
from trainlint.source import Project, observe, sites

HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F
x, y = torch.randn(2, 3, 4), torch.zeros(2, 3, dtype=torch.long)
"""


ALL = programs(Path(__file__).with_name("ways.txt"), "open", HEAD)


def said(folder: str) -> set[Said]:
    files = tuple(sorted(map(str, Path(folder).rglob("*.py"))))
    project = Project(folder, files)
    return {
        Said(loss.call.path, loss.call.row, settled(getattr(loss.layer, "classes", None)), settled(loss.ignore_index))
        for loss in observe(project, sites(project)).of(Loss)
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {name: written(tmp_path_factory.mktemp("way"), program.files) for name, program in ALL.items()}


@pytest.fixture(scope="module")
def ran(folders: dict[str, str]) -> dict[str, set[Said]]:
    """What PyTorch was given; one process runs them all, because importing torch costs more than a program."""
    pytest.importorskip("torch")
    command = [sys.executable, "-B", str(Path(__file__).with_name("torch_oracle.py")), *folders.values()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)
    for name, folder in folders.items():
        assert runs[folder]["error"] is None, f"{name}: {runs[folder]['error']}"
    return {name: {_call(loss) for loss in runs[folder]["losses"]} for name, folder in folders.items()}


def _call(loss: dict[str, object]) -> Said:
    return Said(str(loss["file"]), int(str(loss["row"])), int(str(loss["width"])), int(str(loss["ignored"])))


@pytest.mark.parametrize("name", [name for name, program in ALL.items() if not program.remark])
def test_the_width_that_is_stated_is_what_the_loss_was_given(
    name: str, folders: dict[str, str], ran: dict[str, set[Said]]
) -> None:
    assert said(folders[name]) == ran[name]


@pytest.mark.parametrize("name", [name for name, program in ALL.items() if program.remark])
def test_where_the_classes_are_not_those_of_one_layer_no_width_is_stated(name: str, folders: dict[str, str]) -> None:
    assert all(call.classes is None for call in said(folders[name]))


QUIET_FORKS = "".join(f"scale = 2.0 if flags.f{place} else scale * 0.5\nx = x * scale\n" for place in range(7))


def of_arms(tmp_path: Path, arms: str) -> set[Said]:
    forks = f"import sys\nfrom flags import flags\nscale = 1.0\nx = torch.randn(2, 3, 4)\n{QUIET_FORKS}"
    text = f"{HEAD}{forks}{arms}F.cross_entropy(head(x).flatten(0, 1), y.flatten(), ignore_index=7)\n"
    return said(written(tmp_path, {"train.py": text}))


def test_forks_that_change_nothing_do_not_hide_a_width(tmp_path: Path) -> None:
    assert {call.classes for call in of_arms(tmp_path, "head = nn.Linear(4, 9)\n")} == {9}


def test_an_arm_behind_two_forks_is_not_passed_over(tmp_path: Path) -> None:
    """Each of the first two answers alone changes nothing; the third arm does."""
    same, other = "\n    head = nn.Linear(4, 9)\n", "\n    head = nn.Linear(4, 5)\n"
    arms = f"if flags.a:{same}elif flags.b:{same}else:{other}"
    assert {call.classes for call in of_arms(tmp_path, arms)} in ({9, 5}, {None})
