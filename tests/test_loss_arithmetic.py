"""The truth table of number formats, measured anew: what we read in a program against what PyTorch computes in it.

Each program passes its input through a layer that changes nothing, so that the gradient of the input is the gradient of
the scores; the lead of the right class is swept over the numbers of its format.
"""

from __future__ import annotations

import inspect
import math
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from trainlint.facts import Device, Dtype, LossArithmetic, Spelling, Storage
from trainlint.knowledge.accumulators import ACCUMULATORS, Accumulator
from trainlint.knowledge.formats import DEFAULT_FORMATS, POLICIES, SHARDERS
from trainlint.source import Project, observe
from trainlint.span import Span
from trainlint.value import Unknown

torch = pytest.importorskip("torch")
SHORT = ("bfloat16", "float16")
FORMATS = (*SHORT, "float32", "float64")
HEAD = """
import torch
import torch.nn.functional as F
from torch import nn

head = nn.Linear(2, 2, bias=False).to(torch.{format})
criterion = nn.CrossEntropyLoss(reduction="sum")


def step(x, y):
{body}
"""
BY_HAND = """
def nll(z, y):
    return (torch.logsumexp(z, -1) - z.gather(-1, y[:, None]).squeeze(-1)).sum()
"""
LOSSES = {
    "cross_entropy": 'F.cross_entropy({z}, y, reduction="sum")',
    "criterion": "criterion({z}, y)",
    "log_softmax": 'F.nll_loss(F.log_softmax({z}, -1), y, reduction="sum")',
    "method": 'F.nll_loss({z}.log_softmax(dim=-1), y, reduction="sum")',
    "log of softmax": 'F.nll_loss(torch.softmax({z}, -1).log(), y, reduction="sum")',
    "binary": 'F.binary_cross_entropy_with_logits({z}[:, :1], torch.ones_like({z}[:, :1]), reduction="sum")',
    "by hand": "nll({z}, y)",
}
EXACT = ("cross_entropy", "criterion", "log_softmax", "method")
ALONE = "    z = head(x)\n    return {loss}"
INSIDE = '    with torch.autocast("cpu", dtype=torch.{mixed}):\n        z = head(x)\n        return {loss}'
BEHIND = '    with torch.autocast("cpu", dtype=torch.{mixed}):\n        z = head(x)\n    return {loss}'
SUMS = ("_log_softmax.default", "_softmax.default", "logsumexp.default")


def text(body: str, loss: str, format: str, *, cast: str = "", mixed: str = "bfloat16") -> str:
    """A program that computes one of these losses."""
    whole = HEAD.format(format=format, body=body.format(loss=LOSSES[loss].format(z=f"z{cast}"), mixed=mixed))
    return whole + BY_HAND if loss == "by hand" else whole


def read(folder: Path, program: str) -> LossArithmetic:
    """What we say of the one loss of a program."""
    file = folder / "train.py"
    file.write_text(program)
    (fact,) = observe(Project(str(folder), (str(file),), (), {}), [str(file)], 1).of(LossArithmetic)
    return fact


def rows(format: str, most: float) -> Any:
    """Every lead of the right class on a fine grid that the format can hold."""
    leads = torch.arange(0, most, 1 / 64, dtype=torch.float64).to(getattr(torch, format)).unique()
    return torch.stack([leads, torch.zeros_like(leads)], -1).requires_grad_()


def ran(program: str, x: Any) -> tuple[Any, list[str]]:
    """The gradients of the right class that PyTorch computes, and the formats of its sums over the classes."""
    from torch.utils._python_dispatch import TorchDispatchMode

    formats: list[str] = []

    class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            if str(func).removeprefix("aten.") in SUMS:
                formats.append(str(result.dtype).removeprefix("torch."))
            return result

    space: dict[str, Any] = {}
    exec(compile(program, "train.py", "exec"), space)
    with torch.no_grad():
        space["head"].weight.copy_(torch.eye(2))
    with Recorder():  # type: ignore[no-untyped-call]
        space["step"](x, torch.zeros(len(x), dtype=torch.long)).backward()
    return x.grad[..., 0], formats


def first_zero(gradients: Any, leads: Any) -> float:
    """The lead from which on every gradient is exactly 0, or none: a logarithm of 0 has no number for one."""
    alive = leads[gradients.nan_to_num(0.0) != 0]
    return float(min(leads[leads > alive.max()], default=math.inf))


def agrees(folder: Path, program: str, format: str) -> LossArithmetic:
    """What we read, once it is seen that PyTorch does the same."""
    fact, x = read(folder, program), rows(format, 40.0)
    gradients, formats = ran(program, x)
    assert isinstance(fact.arithmetic, Dtype)
    assert set(formats) <= {fact.arithmetic.value}, "another format than we read is computed in"
    leads, cutoff = x.detach()[:, 0].double(), fact.cutoff
    assert cutoff is not None
    measured = first_zero(gradients, leads)
    higher = leads[leads >= cutoff]
    step = float(higher[1] - higher[0])
    assert cutoff - step <= measured <= cutoff + 2 * step, f"{measured} instead of {cutoff}"
    return fact


@pytest.mark.parametrize(("loss", "format"), list(product([*LOSSES][:-1], FORMATS)))
def test_a_loss_outside_of_all_regions_is_computed_in_the_format_of_its_scores(
    tmp_path: Path, loss: str, format: str
) -> None:
    assert agrees(tmp_path, text(ALONE, loss, format), format).arithmetic is Dtype(format)


@pytest.mark.parametrize(("loss", "format"), list(product(EXACT, FORMATS)))
def test_the_lead_at_which_the_right_class_falls_silent_is_exact_for_two_classes(
    tmp_path: Path, loss: str, format: str
) -> None:
    program, x = text(ALONE, loss, format), rows(format, 40.0)
    fact = read(tmp_path, program)
    gradients, _ = ran(program, x)
    assert fact.cutoff == pytest.approx(Dtype(format).significand * math.log(2))
    assert ((gradients == 0) == (x.detach()[:, 0].double() >= fact.cutoff)).all()


@pytest.mark.parametrize(("loss", "mixed"), list(product([*LOSSES][:-1], SHORT)))
def test_a_region_for_the_cpu_computes_whole_losses_in_32_bits_and_no_softmax(
    tmp_path: Path, loss: str, mixed: str
) -> None:
    fact = agrees(tmp_path, text(INSIDE, loss, "float32", mixed=mixed), mixed)
    whole = loss in ("cross_entropy", "criterion", "binary")
    assert fact.autocast is Device.CPU
    assert fact.arithmetic is (Dtype.FLOAT32 if whole else Dtype(mixed))


@pytest.mark.parametrize(("loss", "mixed"), list(product([*LOSSES][:-1], SHORT)))
def test_scores_that_leave_a_region_stay_short(tmp_path: Path, loss: str, mixed: str) -> None:
    assert agrees(tmp_path, text(BEHIND, loss, "float32", mixed=mixed), mixed).arithmetic is Dtype(mixed)


@pytest.mark.parametrize(("loss", "format", "cast"), list(product([*LOSSES][:-1], SHORT, (".float()",))))
def test_a_cast_of_the_scores_decides(tmp_path: Path, loss: str, format: str, cast: str) -> None:
    program = text(ALONE, loss, format, cast=cast)
    fact, (_, formats) = read(tmp_path, program), ran(program, rows(format, 40.0))
    assert fact.arithmetic is Dtype.FLOAT32
    assert set(formats) <= {"float32"}


@pytest.mark.parametrize("spelling", ["F.log_softmax(z, -1, dtype=torch.float32)", "z.log_softmax(-1, torch.float32)"])
@pytest.mark.parametrize("body", [ALONE, INSIDE])
def test_log_softmax_computes_in_the_format_that_it_is_told(tmp_path: Path, body: str, spelling: str) -> None:
    program = HEAD.format(
        format="bfloat16", body=body.format(loss=f"F.nll_loss({spelling}, y, reduction='sum')", mixed="bfloat16")
    )
    assert agrees(tmp_path, program, "bfloat16").arithmetic is Dtype.FLOAT32


@pytest.mark.parametrize("format", SHORT)
def test_classes_in_dimension_one_are_added_in_32_bits(tmp_path: Path, format: str) -> None:
    loss = 'F.cross_entropy(z.transpose(1, 2), y.expand(len(x), x.size(1)), reduction="sum")'
    program = HEAD.format(format=format, body=ALONE.format(loss=loss))
    fact, x = read(tmp_path, program), rows(format, 40.0)
    several = x.detach()[None].expand(1, -1, -1).clone().requires_grad_()
    space: dict[str, Any] = {}
    exec(compile(program, "train.py", "exec"), space)
    with torch.no_grad():
        space["head"].weight.copy_(torch.eye(2))
    space["step"](several, torch.zeros(1, 1, dtype=torch.long)).backward()
    assert fact.spatial
    assert fact.arithmetic is Dtype.FLOAT32
    assert 16.5 < first_zero(several.grad[0, :, 0], x.detach()[:, 0].double()) < 17.5


@pytest.mark.parametrize(("format", "about"), [("bfloat16", 4.0), ("float16", 6.0)])
def test_a_score_minus_logsumexp_falls_silent_earliest(tmp_path: Path, format: str, about: float) -> None:
    program, x = text(ALONE, "by hand", format), rows(format, 40.0)
    fact = read(tmp_path, program)
    gradients, _ = ran(program, x)
    assert (fact.spelling, fact.arithmetic, fact.cutoff) == (Spelling.BY_HAND, Dtype(format), about)
    assert abs(first_zero(gradients, x.detach()[:, 0].double()) - about) < 0.6


def test_smoothed_targets_never_fall_silent(tmp_path: Path) -> None:
    program = text(ALONE, "cross_entropy", "bfloat16").replace("y, reduction", "y, label_smoothing=0.1, reduction")
    fact, (gradients, _) = read(tmp_path, program), ran(program, rows("bfloat16", 40.0))
    assert fact.smoothed
    assert (gradients != 0).sum() > 0.99 * len(gradients)


@pytest.mark.parametrize("classes", [31, 257, 1025, 50257])
def test_many_classes_in_dimension_one_are_added_one_by_one(classes: int) -> None:
    """The closed form of TL308, for the class with the lowest number."""
    expected = 24 * math.log(2) - math.log(classes - 1)
    leads = torch.arange(2.0, 16.0, 0.25)
    scores = torch.zeros(1, classes, len(leads))
    scores[0, 0] = leads + math.log(classes - 1)
    scores.requires_grad_()
    targets = torch.zeros(1, len(leads), dtype=torch.long)
    torch.nn.functional.cross_entropy(scores, targets, reduction="sum").backward()
    assert abs(first_zero(scores.grad[0, 0], leads) - expected) < 0.5


@pytest.mark.parametrize(("format", "stops"), [("bfloat16", 256), ("float16", 2048)])
def test_a_sum_of_equal_pieces_stops_growing(format: str, stops: int) -> None:
    """What the page of TL305 says."""
    total, piece = torch.zeros((), dtype=getattr(torch, format)), torch.ones((), dtype=getattr(torch, format))
    for _ in range(stops + 100):
        total = total + piece
    assert total.item() == stops


def fact_of(spelling: Spelling, **changes: Any) -> LossArithmetic:
    span = Span("train.py", 1, 1)
    return LossArithmetic(span, span, None, (), (), "loss", spelling, Storage(Dtype.BFLOAT16), **changes)


@pytest.mark.parametrize("spelling", Spelling)
@pytest.mark.parametrize("device", [Device.CUDA, Device.OTHER])
def test_a_region_for_another_device_computes_every_spelling_in_32_bits(spelling: Spelling, device: Device) -> None:
    """As the list of CUDA says (autocast_mode.h); it cannot be measured on the CPU."""
    assert fact_of(spelling, autocast=device).arithmetic is Dtype.FLOAT32


@pytest.mark.parametrize(
    ("spelling", "is_wide"), [(each, each in _wide) for _wide in [(Spelling.NATIVE,)] for each in Spelling]
)
def test_an_open_region_leaves_the_arithmetic_open(spelling: Spelling, is_wide: bool) -> None:
    fact = fact_of(spelling, autocast=Unknown("open"))
    assert isinstance(fact.arithmetic, Unknown)
    assert len(list(fact.unjudged())) == 1
    assert fact_of(spelling, spatial=True).arithmetic is (Dtype.FLOAT32 if is_wide else Dtype.BFLOAT16)


def _found(name: str) -> Any:
    """Something of PyTorch by its qualified name."""
    import importlib

    head, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(head), last, None)
    except ImportError:
        return getattr(_found(head), last, None) if "." in head else None


@pytest.mark.parametrize("name", [*POLICIES])
def test_the_policies_of_fsdp_take_what_we_say(name: str) -> None:
    policy = _found(name)
    if policy is None:
        pytest.skip("this version of PyTorch does not have it under this name")
    assert tuple(inspect.signature(policy).parameters)[:3] == POLICIES[name]


@pytest.mark.parametrize("name", [*SHARDERS])
def test_what_shards_a_model_takes_its_policy_by_the_name_that_we_say(name: str) -> None:
    shards = _found(name)
    if shards is None:
        pytest.skip("this version of PyTorch does not have it under this name")
    assert SHARDERS[name] in inspect.signature(shards).parameters


def test_a_region_casts_to_the_format_that_we_say_when_nothing_is_said() -> None:
    known = {device: getattr(torch, format) for device, format in DEFAULT_FORMATS.items() if device in ("cuda", "cpu")}
    assert {device: torch.get_autocast_dtype(device) for device in known} == known


@pytest.mark.parametrize("known", ACCUMULATORS, ids=lambda known: str(known.word))
def test_an_accumulator_takes_what_we_say(known: Accumulator) -> None:
    pytest.importorskip(known.name.partition(".")[0])
    parameters = tuple(inspect.signature(_found(known.name)).parameters)
    assert known.parameter in parameters
    assert set(known.parameters) <= set(parameters)
