"""The demos run, and their numbers show what they claim."""

from __future__ import annotations

import json
import math
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trainlint.check import Request, check
from trainlint.cli.demo import DEMOS, module_of, program
from trainlint.rule import installed

Arms = list[dict[str, float]]


def trainlint(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trainlint", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All demos of one run, by code."""
    run = trainlint(tmp_path_factory.mktemp("demos"), "demo", *DEMOS, "--output-format", "json")
    assert (run.returncode, run.stderr) == (0, "")
    return {record["code"]: record for record in json.loads(run.stdout)}


def arms(demo: dict[str, Any], name: str) -> list[float]:
    """A number of both arms, the wrong one first."""
    wrong, right = (arm["numbers"][name] for arm in demo["arms"])
    return [wrong, right]


def test_a_collision_leaves_the_loss_as_it_is_and_no_clip_stops(demos: dict[str, Any]) -> None:
    wrong, right = arms(demos["TL101"], "final loss")
    assert abs(wrong - right) < 0.001
    assert max(wrong, right) < 0.002
    assert arms(demos["TL101"], "clips that stop where they should") == [0.0, pytest.approx(1, abs=0.02)]
    assert arms(demos["TL101"], "classes never taught") == [1, 0]


def test_an_alias_of_the_best_weights_restores_the_last(demos: dict[str, Any]) -> None:
    demo = demos["TL206"]
    for name in ("final training loss", "best validation loss seen", "seen at step"):
        assert len(set(arms(demo, name))) == 1
    wrong, right = arms(demo, "validation loss of what is restored")
    assert right == arms(demo, "best validation loss seen")[1]
    assert wrong > 2 * right


def test_bfloat16_weights_learn_less_and_do_not_decay(demos: dict[str, Any]) -> None:
    demo = demos["TL301"]
    wrong, right = arms(demo, "right answers on unseen data")
    assert right > wrong + 0.2
    assert arms(demo, "final loss")[0] > 1.5 * arms(demo, "final loss")[1]
    stuck, moved = arms(demo, "weights that never moved")
    assert stuck > 0.5
    assert moved < 0.01
    assert arms(demo, "length after 1,000 steps of decay alone") == [1.0, pytest.approx(0.99, abs=0.001)]


def test_bfloat16_logits_lose_their_signal_and_show_too_small_a_loss(demos: dict[str, Any]) -> None:
    demo = demos["TL302"]
    assert arms(demo, "rows whose right class gets a signal") == [pytest.approx(0, abs=0.1), 1.0]
    shown, true = (arms(demo, name) for name in ("loss, as training shows it", "loss, computed in float64"))
    assert shown[0] < true[0] / 2
    assert shown[1] == pytest.approx(true[1], rel=0.05)
    assert true[0] > true[1]


def test_an_exact_copy_leaves_its_teacher_unless_epsilon_is_large(demos: dict[str, Any]) -> None:
    demo = demos["TL404"]
    assert max(map(abs, arms(demo, "loss at the start"))) < 1e-7
    wrong, right = arms(demo, "largest change of a logit")
    assert wrong > 0.1
    assert right < 0.01
    assert arms(demo, "first step that is off by 0.01")[1] is None


@pytest.mark.parametrize("code", DEMOS)
def test_a_demo_names_the_loss_and_the_capability_among_its_numbers(demos: dict[str, Any], code: str) -> None:
    demo = demos[code]
    for arm in demo["arms"]:
        assert {demo["loss"], demo["capability"]} <= set(arm["numbers"])
        assert all(number is None or math.isfinite(number) for number in arm["numbers"].values())
    assert len({arm["numbers"][demo["capability"]] for arm in demo["arms"]}) == 2


@pytest.mark.parametrize("code", DEMOS)
def test_a_demo_has_the_name_of_its_rule(code: str) -> None:
    assert installed()[code].name == DEMOS[code]


@pytest.mark.parametrize("code", DEMOS)
def test_the_rule_finds_its_bug_in_the_program(tmp_path: Path, code: str) -> None:
    path = tmp_path / f"{module_of(code)}.py"
    path.write_text(program(code))
    report = check(Request((str(path),), str(tmp_path), isolated=True))
    assert code in {finding.code for finding in report.findings}


def test_the_program_runs_by_itself_and_needs_no_trainlint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert all("trainlint" not in program(code) for code in DEMOS)
    path = tmp_path / f"{module_of('TL206')}.py"
    path.write_text(program("TL206"))
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.startswith("state_dict() {'final training loss': ")


def test_the_table_has_a_column_for_each_arm_and_says_what_differs(tmp_path: Path) -> None:
    run = trainlint(tmp_path, "demo", "best-weights-aliased")
    assert run.returncode == 0
    lines = run.stdout.splitlines()
    assert lines[0] == "TL206 best-weights-aliased"
    assert lines[3].split() == ["state_dict()", "deepcopy(state_dict())"]
    assert "trainlint demo TL206 --show prints the program" in run.stdout
    assert any(line.startswith("  final training loss: ") and " against " in line for line in lines)


def test_the_program_is_shown_and_not_run_without_torch_too(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\n\nsys.modules['torch'] = None\n")
    run = trainlint(tmp_path, "demo", "TL101", "--show")
    assert (run.returncode, run.stdout, run.stderr) == (0, program("TL101"), "")
    run = trainlint(tmp_path, "demo", "TL101")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "trainlint: this needs torch: pip install 'trainlint[probe]'\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("TL777",), "no demo of 'TL777'"),
        (("sentinel-colision",), "did you mean sentinel-collision?; there are TL101 (sentinel-collision), TL206"),
        ((), "which demo? there are TL101 (sentinel-collision)"),
        (("TL101", "--output-format", "yaml"), "--output-format must be one of text, json, not 'yaml'"),
    ],
)
def test_what_there_is_no_demo_of_is_exit_2(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    run = trainlint(tmp_path, "demo", *words)
    assert run.returncode == 2
    assert message in run.stderr
