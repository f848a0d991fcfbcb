"""Running a study: sharded, killed, resumed, side by side."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from sleepy import SLEEPY, Setting

from studies import margin
from studies.__main__ import NAMES, main
from studies.modular import BETAS, DECAY, LEARNING_RATE, AdamW
from studies.report import write
from studies.run import Shard, complete, in_batches, in_processes, recorded
from studies.study import Found, Line, Panel, Record, Size

TOP = Path(__file__).parent.parent
ENVIRONMENT = os.environ | {"PYTHONPATH": str(TOP)}


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(TOP / "tests" / "sleepy.py"), str(folder)], env=ENVIRONMENT)


def lines(folder: Path) -> Iterator[str]:
    for path in folder.glob("*.jsonl"):
        yield from path.read_text().splitlines()


def test_a_grid_that_is_killed_goes_on_without_losing_or_repeating_a_run(tmp_path: Path) -> None:
    first = start(tmp_path)
    deadline = time.monotonic() + 300
    while sum(1 for _ in lines(tmp_path)) < 3:
        assert time.monotonic() < deadline and first.poll() is None, "the grid did not start"
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = list(lines(tmp_path))
    assert 3 <= len(before) < 12
    assert start(tmp_path).wait(60) == 0
    after = list(lines(tmp_path))
    assert after[: len(before) - 1] == before[: len(before) - 1]
    assert sorted(json.loads(line)["setting"]["number"] for line in after) == list(range(12))


def test_a_line_that_was_cut_off_is_no_record_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    settings = SLEEPY.sizes[Size.NORMAL][:3]
    complete(SLEEPY, settings[:2], tmp_path, Shard(), lambda rest: in_processes(SLEEPY, rest, 1))
    log = next(tmp_path.glob("*.jsonl"))
    log.write_bytes(log.read_bytes()[:-20])
    assert [record.setting for record in recorded(SLEEPY, tmp_path)] == settings[:1]
    complete(SLEEPY, settings, tmp_path, Shard(), lambda rest: in_processes(SLEEPY, rest, 1))
    assert [record.setting for record in recorded(SLEEPY, tmp_path)] == settings


@pytest.mark.parametrize("world", [1, 2, 5, 100])
def test_shards_cover_every_setting_once(world: int) -> None:
    settings = margin.STUDY.sizes[Size.FULL]
    parts = [Shard.of({"RANK": str(rank), "WORLD_SIZE": str(world)}).part(settings) for rank in range(world)]
    assert sorted(repr(setting) for part in parts for setting in part) == sorted(map(repr, settings))


def test_shards_of_a_launcher_write_apart_and_are_read_together(tmp_path: Path) -> None:
    settings = SLEEPY.sizes[Size.NORMAL][:5]
    for rank in range(2):
        complete(SLEEPY, settings, tmp_path, Shard(rank, 2), lambda rest: in_processes(SLEEPY, rest, 1))
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    assert {record.setting for record in recorded(SLEEPY, tmp_path)} == set(settings)


def test_the_report_tells_what_held_what_failed_and_what_was_not_run(tmp_path: Path) -> None:
    records = [
        Record(setting, Found({"square": float(setting.number**2)}), 1.0, 1.0) for setting in map(Setting, range(3))
    ]
    panel = Panel("A", "x", "y", (Line("one", [0, 1], [0, 1]), Line("two", [0, 1], [1, 0], 1, "o")), (("level", 0.5),))
    study = replace(SLEEPY, panels=lambda records: [panel])
    page = write(study, Size.NORMAL, records, tmp_path)
    assert "| right | all are | **held** | 3 squares |" in page
    assert "| wrong | none is | **failed** | none |" in page
    assert "| missing | who knows | **not run** |  |" in page
    assert json.loads((tmp_path / "sleepy.json").read_text())["runs"][2]["found"] == {"square": 4.0}
    assert 0 < (tmp_path / "sleepy.png").stat().st_size < 60_000


def test_the_full_grid_of_the_margin_has_480_runs_and_those_with_16_bit_at_the_loss() -> None:
    full = margin.STUDY.sizes[Size.FULL]
    grid = [setting for setting in full if setting.weights == setting.at_loss]
    assert (len(grid), len(set(full)), len(full)) == (480, 570, 570)
    assert set(margin.STUDY.sizes[Size.NORMAL]) <= set(full), "the long grid goes on from the short one"


@pytest.mark.parametrize("loss", ["standard", "fixed", "upcast"])
@pytest.mark.parametrize("weights", ["float32", "float64", "bfloat16"])
def test_runs_side_by_side_equal_single_runs(loss: str, weights: str) -> None:
    torch.set_num_threads(1)
    eps = (1e-8, 1e-12)
    settings = [margin.Setting(loss, weights, weights, eps[seed], seed, steps=5) for seed in range(2)]
    *_, batched = margin.training_batch(settings, "cpu")
    single = [list(margin.training(setting))[-1] for setting in settings]
    tolerance = {"float32": 1e-5, "float64": 1e-13, "bfloat16": 0.02}[weights]
    for ours, theirs in zip(batched, single, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def test_batches_differ_in_seed_and_epsilon_alone_and_leave_nothing_out(tmp_path: Path) -> None:
    settings = [replace(setting, steps=20) for setting in margin.STUDY.sizes[Size.FULL] if setting.seed < 2][:12]
    assert [setting for batch in margin.batches(settings) for setting in batch] == sorted(settings, key=settings.index)
    complete(margin.STUDY, settings[:2], tmp_path, Shard(), lambda rest: in_batches(margin.STUDY, rest, "cpu"))
    assert [record.setting for record in recorded(margin.STUDY, tmp_path)] == settings[:2]


def test_the_optimizer_is_the_one_of_pytorch_bit_by_bit() -> None:
    generator = torch.Generator().manual_seed(0)
    weights, gradients = torch.randn(50, generator=generator), torch.randn(20, 50, generator=generator)
    theirs = weights.clone().requires_grad_()
    reference = torch.optim.AdamW([theirs], LEARNING_RATE, BETAS, 1e-8, DECAY, foreach=False)
    ours = AdamW(weights, 1e-8)
    for gradient in gradients:
        theirs.grad = gradient.clone()
        reference.step()
        ours.step(gradient)
    assert torch.equal(ours.weights, theirs.detach())


@pytest.mark.parametrize("name", NAMES)
def test_every_study_has_a_quick_and_a_normal_size_of_settings_that_are_all_different(name: str) -> None:
    study = __import__(f"studies.{name}", fromlist=["STUDY"]).STUDY
    assert study.name == name
    for size in (Size.QUICK, Size.NORMAL):
        assert len(set(study.sizes[size])) == len(study.sizes[size]) > 0


def test_an_unknown_size_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["weights", "--full", "--out", str(tmp_path)])
    assert "weights has no full size" in capsys.readouterr().err


def test_kinds_of_runs_are_compared_on_the_seeds_that_both_have() -> None:
    one, other = (
        [Record(margin.Setting(loss, "float32", "float32", 1e-8, seed), Found({}), 0, 0) for seed in seeds]
        for loss, seeds in (("fixed", (0, 2)), ("standard", (0, 1)))
    )
    assert margin.of_same_seeds(one, other) == (one[:1], other[:1])
