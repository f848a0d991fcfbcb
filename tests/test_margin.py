"""Where the signal ends, against closed forms, 60 digits, and every number of the short formats."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import mpmath
import pytest
import torch
from torch import Tensor

from trainlint.facts.precision import Dtype
from trainlint.numerics import cutoff, probability_cutoff, sequential_cutoff
from trainlint.probe.margin import HIGHEST, LOWEST, TORCH, Arithmetic, Row, measure, signals
from trainlint.probe.search import first
from trainlint.probe.spellings import SPELLINGS

STANDARD = ["cross_entropy", "log_softmax+nll_loss", "kl_div", "linear_cross_entropy"]
PROBABILITY = ["softmax.log+nll_loss", "bce_with_logits"]


def spacing(dtype: Dtype, number: float) -> float:
    """The gap between two numbers of the format at this one."""
    return float(2.0 ** (math.floor(math.log2(number)) - dtype.significand + 1))


def found(dtype: Dtype, loss: str, layout: str = "NC", classes: int = 2, **mode: bool) -> Row:
    row = measure(Arithmetic("cpu", dtype, loss, layout, classes, **mode))
    if "no attribute" in row.unmeasured:
        pytest.skip(row.unmeasured)
    assert not row.unmeasured
    return row


def end(dtype: Dtype, loss: str, layout: str = "NC", classes: int = 2, **mode: bool) -> float:
    margin = found(dtype, loss, layout, classes, **mode).cutoff
    assert margin is not None
    return margin


def rounded_to_one(number: mpmath.mpf, bits: int) -> bool:
    """Whether a number from 1 to 2 is 1 in a format of so many bits: the nearest, ties to even."""
    return bool(number - 1 <= mpmath.mpf(2) ** -bits)


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize("loss", STANDARD)
def test_with_two_classes_the_signal_ends_within_a_number_of_the_bits_times_ln_2(dtype: Dtype, loss: str) -> None:
    exact = cutoff(dtype.significand)
    assert end(dtype, loss) == pytest.approx(exact, abs=spacing(dtype, exact), rel=0)


@pytest.mark.parametrize("dtype", Dtype)
def test_at_the_end_the_sum_of_two_exponentials_rounds_to_one_and_one_number_before_it_does_not(dtype: Dtype) -> None:
    margin = end(dtype, "cross_entropy")
    with mpmath.workdps(60):
        last, before = (1 + mpmath.exp(-mpmath.mpf(m)) for m in (margin, margin - spacing(dtype, margin)))
        assert rounded_to_one(last, dtype.significand)
        assert not rounded_to_one(before, dtype.significand)


def test_the_exact_gradient_is_not_zero_where_the_signal_ends() -> None:
    margin = end(Dtype.BFLOAT16, "cross_entropy")
    with mpmath.workdps(60):
        exact = -1 / (1 + mpmath.exp(mpmath.mpf(margin)))
    logit = torch.tensor([margin], dtype=torch.bfloat16)
    assert signals(Arithmetic("cpu", Dtype.BFLOAT16, "cross_entropy", "NC", 2))(logit).item() == 0
    assert signals(Arithmetic("cpu", Dtype.BFLOAT16, "softplus", "NC", 2))(logit).item() == pytest.approx(
        float(exact), rel=0.01
    )


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
@pytest.mark.parametrize("loss", PROBABILITY)
def test_a_rounded_probability_ends_a_little_later(dtype: Dtype, loss: str) -> None:
    margin, exact = end(dtype, loss), probability_cutoff(dtype.significand)
    assert exact <= margin < exact + spacing(dtype, exact)


RANGES = [
    ("logsumexp", Dtype.FLOAT64, 33.0, 33.5), ("logsumexp", Dtype.FLOAT32, 14.0, 14.6),
    ("logsumexp", Dtype.BFLOAT16, 3.9, 4.2), ("logsumexp", Dtype.FLOAT16, 5.9, 6.1),
    ("log_softmax_float32+nll_loss", Dtype.BFLOAT16, 16.6, 16.76),
    ("log_softmax_float32+nll_loss", Dtype.FLOAT16, 16.6, 16.66),
    ("float+cross_entropy", Dtype.BFLOAT16, 16.6, 16.76), ("float+cross_entropy", Dtype.FLOAT64, 16.6, 16.65),
    ("double+cross_entropy", Dtype.FLOAT32, 36.7, 36.8), ("double+cross_entropy", Dtype.BFLOAT16, 36.7, 36.8),
    ("double+cross_entropy", Dtype.FLOAT16, 17.3, 17.4), ("linear_cross_entropy_chunked", Dtype.BFLOAT16, 16.6, 16.8),
]  # fmt: skip


@pytest.mark.parametrize(("loss", "dtype", "low", "high"), RANGES)
def test_other_ways_to_write_the_loss_end_where_they_are_known_to(
    loss: str, dtype: Dtype, low: float, high: float
) -> None:
    assert low <= end(dtype, loss) <= high


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize("layout", ["NC", "NCT"])
def test_label_smoothing_never_ends(dtype: Dtype, layout: str) -> None:
    assert found(dtype, "label_smoothing", layout) == Row(Arithmetic("cpu", dtype, "label_smoothing", layout, 2))


@pytest.mark.parametrize("dtype", [Dtype.FLOAT64, Dtype.FLOAT32, Dtype.BFLOAT16])
def test_the_exact_loss_never_ends_up_to_a_margin_of_80(dtype: Dtype) -> None:
    assert found(dtype, "softplus", classes=31).cutoff is None


SPREAD = [(Dtype.FLOAT32, 14.5, 16.7), (Dtype.FLOAT64, 34.6, 36.8), (Dtype.BFLOAT16, 5.5, 5.85)]


@pytest.mark.parametrize(("dtype", "low", "high"), SPREAD)
@pytest.mark.parametrize("classes", [31, 1025])
def test_mass_on_many_classes_moves_the_end_a_little(dtype: Dtype, low: float, high: float, classes: int) -> None:
    assert low <= end(dtype, "cross_entropy", classes=classes) <= high


@pytest.mark.parametrize("classes", [31, 257, 1025])
@pytest.mark.parametrize("loss", ["cross_entropy", "float+cross_entropy"])
def test_classes_that_are_added_one_by_one_end_the_signal_of_the_first_early(classes: int, loss: str) -> None:
    expected = sequential_cutoff(24, classes)
    assert expected <= end(Dtype.FLOAT32, loss, "NCT", classes) < expected + 0.01


def test_in_the_other_layout_short_formats_are_added_up_in_float32() -> None:
    assert end(Dtype.BFLOAT16, "cross_entropy", "NCT") == 16.75


def test_autocast_on_a_cpu_lifts_the_loss_and_not_the_softmax_of_the_user() -> None:
    ends = {loss: end(Dtype.BFLOAT16, loss, autocast=True) for loss in ("cross_entropy", "log_softmax+nll_loss")}
    assert ends == {"cross_entropy": 16.75, "log_softmax+nll_loss": 5.5625}


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FLOAT16])
@pytest.mark.parametrize("classes", [2, 31])
@pytest.mark.parametrize("loss", SPELLINGS)
def test_the_search_finds_what_looking_at_every_number_finds(dtype: Dtype, classes: int, loss: str) -> None:
    if not SPELLINGS[loss].knows("NC", classes):
        pytest.skip("cannot be written so")
    row, shift = found(dtype, loss, classes=classes), math.log(classes - 1)
    bits = torch.arange(2**15, dtype=torch.int16 if dtype.is_short else torch.int32)
    numbers = bits.view(TORCH[dtype])
    numbers = numbers[(numbers >= LOWEST + shift) & (numbers <= HIGHEST + shift)]
    silent = numbers[signals(row.arithmetic)(numbers) == 0].double()
    assert row.cutoff == (silent[0].item() - shift if len(silent) else None)


@pytest.mark.parametrize("dtype", TORCH.values())
def test_the_search_tells_neighbours_apart(dtype: torch.dtype) -> None:
    wanted = torch.tensor(math.e, dtype=dtype)
    assert first(lambda numbers: numbers >= wanted, dtype, 0.5, 80.0) == wanted.item()
    assert first(lambda numbers: numbers > wanted, dtype, 0.5, 80.0) == torch.nextafter(wanted, wanted + 1).item()


def test_the_search_finds_an_earlier_island_next_to_its_result() -> None:
    def question(numbers: Tensor) -> Tensor:
        return (numbers >= 3) | (numbers == 3 - 5 * 2**-22)

    assert first(question, torch.float32, 0.5, 80.0) == 3 - 5 * 2**-22


def test_what_cannot_be_measured_here_says_why() -> None:
    row = measure(Arithmetic("nowhere", Dtype.FLOAT32, "cross_entropy", "NC", 2))
    assert row.cutoff is None
    assert "nowhere" in row.unmeasured


def test_a_gradient_that_is_no_number_is_not_called_a_signal() -> None:
    row = found(Dtype.FLOAT16, "softmax.log+nll_loss", classes=50257)
    assert row.cutoff is None
    assert row.not_a_number is not None
    assert 5 < row.not_a_number < 8


def trainlint(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trainlint", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


KEYS = ["device", "dtype", "loss", "layout", "classes", "spread", "compiled", "autocast", "cutoff"]


def test_the_command_tells_programs_a_row_for_each_arithmetic(tmp_path: Path) -> None:
    words = ("--loss", "cross_entropy,label_smoothing", "--device=cpu", "--output-format=json")
    run = trainlint(tmp_path, "probe", "margin", *words)
    assert (run.returncode, run.stderr) == (0, "")
    rows = json.loads(run.stdout)["rows"]
    assert all(list(row) == KEYS for row in rows)
    assert len(rows) == 2 * 4 * 2 * 2
    closed = {row["dtype"]: row["cutoff"] for row in rows if (row["loss"], row["layout"]) == ("cross_entropy", "NC")
              and row["spread"] == "single"}  # fmt: skip
    assert [round(closed[dtype.value], 2) for dtype in Dtype] == [36.74, 16.64, 5.56, 7.62]
    assert {row["cutoff"] for row in rows if row["loss"] == "label_smoothing"} == {None}
    assert {row["spread"] for row in rows if row["classes"] == 1025} == {"uniform"}


def test_the_command_prints_a_table_and_writes_it_and_a_picture(tmp_path: Path) -> None:
    words = ("probe", "margin", "--device=cpu", "--classes=2", "--layout=NC", "--dtype=bfloat16", "--autocast")
    run = trainlint(tmp_path, *words, "-o", "margin.txt", "--plot", "margin.png")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    text = (tmp_path / "margin.txt").read_text()
    assert "cpu, NC, 2 classes (one competitor), autocast\n" in text
    assert "cross_entropy                      5.56\n" in text
    assert "label_smoothing                   never\n" in text
    assert (tmp_path / "margin.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--loss", "cross-entropy"), "not 'cross-entropy'; did you mean cross_entropy?"),
        (("--dtype", "float8"), "--dtype must be one of float64, float32, bfloat16, float16, not 'float8'"),
        (("--classes", "1"), "--classes must be whole numbers from 2 on, not '1'"),
        (("--loss=bce_with_logits", "--classes=31"), "nothing to measure: bce_with_logits takes NC and 2 classes"),
        (("--device=nowhere", "--loss=kl_div", "--classes=2"), "not measured: kl_div in float64, nowhere, NC,"),
        (("--loss=kl_div", "--classes=2", "-o", "none/there"), "none/there: No such file or directory"),
        (("--loss=kl_div", "--classes=2", "--plot", "margin.nothing"), "margin.nothing: Format 'nothing'"),
        (("--output-format", "jsno"), "--output-format must be one of text, json, not 'jsno'; did you mean json?"),
        (("--devise", "cpu"), "No such option: --devise"),
        (("cpu",), "Got unexpected extra argument"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_exit_2_and_says_why(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    run = trainlint(tmp_path, "probe", "margin", *words)
    assert run.returncode == 2
    assert message in " ".join(run.stderr.split())
    assert "Traceback" not in run.stderr


def test_without_torch_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\n\nsys.modules['torch'] = None\n")
    run = subprocess.run(
        [sys.executable, "-m", "trainlint", "probe", "margin"],
        cwd="/",
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "trainlint: this needs torch: pip install 'trainlint[probe]'\n"
