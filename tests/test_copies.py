"""Copies of weights: what PyTorch itself shares and what it copies, and what is said of each."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from trainlint.check import Request, check
from trainlint.finding import Severity

torch = pytest.importorskip("torch")

PROGRAM = """
import copy
from collections import OrderedDict

import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
x, y, lowest = torch.randn(8, 4), torch.randn(8, 2), float("inf")
for epoch in range(3):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < lowest:
        lowest, best = loss.item(), {kept}
model.load_state_dict(best)
"""

SHARING: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {
    "model.state_dict()": lambda model: model.state_dict(),
    "dict(model.state_dict())": lambda model: dict(model.state_dict()),
    "OrderedDict(model.state_dict())": lambda model: OrderedDict(model.state_dict()),
    "model.state_dict().copy()": lambda model: model.state_dict().copy(),
    "copy.copy(model.state_dict())": lambda model: copy.copy(model.state_dict()),
    "{k: v for k, v in model.state_dict().items()}": lambda model: dict(model.state_dict().items()),
    "{k: v.data for k, v in model.state_dict().items()}": lambda model: {
        k: v.data for k, v in model.state_dict().items()
    },
    "{k: v.detach() for k, v in model.state_dict().items()}": lambda model: {
        k: v.detach() for k, v in model.state_dict().items()
    },
    "{k: v.cpu() for k, v in model.state_dict().items()}": lambda model: {
        k: v.cpu() for k, v in model.state_dict().items()
    },
    "{k: v.to('cpu') for k, v in model.state_dict().items()}": lambda model: {
        k: v.to("cpu") for k, v in model.state_dict().items()
    },
    "{k: v.contiguous() for k, v in model.named_parameters()}": lambda model: {
        k: v.contiguous() for k, v in model.named_parameters()
    },
    "{k: v.cpu().numpy() for k, v in model.state_dict().items()}": lambda model: {
        k: v.cpu().numpy() for k, v in model.state_dict().items()
    },
}
COPYING: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {
    "copy.deepcopy(model.state_dict())": lambda model: copy.deepcopy(model.state_dict()),
    "{k: v.clone() for k, v in model.state_dict().items()}": lambda model: {
        k: v.clone() for k, v in model.state_dict().items()
    },
    "{k: v.detach().cpu().clone() for k, v in model.state_dict().items()}": lambda model: {
        k: v.detach().cpu().clone() for k, v in model.state_dict().items()
    },
    "{k: v.to('cpu', copy=True) for k, v in model.state_dict().items()}": lambda model: {
        k: v.to("cpu", copy=True) for k, v in model.state_dict().items()
    },
    "{k: v.cpu().numpy().copy() for k, v in model.state_dict().items()}": lambda model: {
        k: v.cpu().numpy().copy() for k, v in model.state_dict().items()
    },
}


def moves(keep: Callable[[Any], Mapping[str, Any]]) -> bool:
    """Whether what was kept changes where the weights are changed in place, as an optimizer does."""
    model = torch.nn.Linear(4, 2)
    kept = keep(model)
    before = {name: copy.deepcopy(value) for name, value in kept.items()}
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1.0)
    return all(bool((kept[name] != before[name]).all()) for name in kept)


def severities(kept: str, folder: Path) -> list[Severity]:
    file = folder / "train.py"
    file.write_text(PROGRAM.replace("{kept}", kept))
    return [finding.severity for finding in check(Request((str(file),), str(folder), isolated=True)).findings]


@pytest.mark.parametrize("kept", SHARING)
def test_what_shares_memory_with_the_model_is_an_error(kept: str, tmp_path: Path) -> None:
    assert moves(SHARING[kept])
    assert severities(kept, tmp_path) == [Severity.ERROR]


@pytest.mark.parametrize("kept", COPYING)
def test_what_is_a_copy_is_silent(kept: str, tmp_path: Path) -> None:
    assert not moves(COPYING[kept])
    assert severities(kept, tmp_path) == []


def test_a_model_under_another_name_is_trained_too() -> None:
    model = torch.nn.Linear(4, 2)
    assert all(ours is theirs for ours, theirs in zip(copy.copy(model).parameters(), model.parameters(), strict=True))


def updated(how: str, dtype: Any, decay: float, growth: float, steps: int = 50) -> float:
    """The share of an average's numbers that has moved, its weights having grown by a factor."""
    torch.manual_seed(0)
    # Near the smallest numbers of float16 the products are rounded twice, and a few numbers move.
    weights = (torch.randn(4000).sign() * (0.01 + torch.rand(4000))).to(dtype)
    average, start, now = weights.clone(), weights.clone(), weights * growth
    for _ in range(steps):
        if how == "mul_ and add_":
            average.mul_(decay).add_(now, alpha=1 - decay)
        elif how == "lerp_":
            average.lerp_(now, 1 - decay)
        else:
            average.copy_(decay * average + (1 - decay) * now)
    return float((average != start).float().mean())


HOWS = ("mul_ and add_", "lerp_", "sum")
BOUNDS = {"bfloat16": 0.0078125 / 4, "float16": 0.0009765625 / 4}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("part", [0.1, 0.5, 0.7])
def test_below_the_bound_an_average_stays_bit_for_bit_what_it_was(how: str, dtype: str, part: float) -> None:
    """As long as no weight is larger than its average by the factor that the message names."""
    decay = 1 - BOUNDS[dtype] * part
    for growth in (0.5, 0.9, 1.1, 0.99 / part):
        if growth * part < 1 and (how != "lerp_" or abs(growth - 1) * part < 1):
            assert updated(how, getattr(torch, dtype), decay, growth) == 0


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("dtype", BOUNDS)
def test_far_above_the_bound_and_in_float32_an_average_moves(how: str, dtype: str) -> None:
    assert updated(how, getattr(torch, dtype), 0.9, 1.3) == 1
    assert updated(how, torch.float32, 1 - BOUNDS[dtype] / 2, 1.3) == 1


@pytest.mark.parametrize(("dtype", "decay"), [("bfloat16", 0.999), ("bfloat16", 0.9), ("float16", 0.9999)])
def test_the_average_of_pytorch_itself_does_the_same(dtype: str, decay: float) -> None:
    swa_utils = torch.optim.swa_utils
    model = torch.nn.Linear(32, 32).to(getattr(torch, dtype))
    average = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(decay))
    average.update_parameters(model)
    start = [weight.clone() for weight in average.parameters()]
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.3)
    for _ in range(20):
        average.update_parameters(model)
    moved = [bool((now != was).any()) for now, was in zip(average.parameters(), start, strict=True)]
    assert any(moved) == (1 - decay >= BOUNDS[dtype])


def test_the_bound_is_that_of_the_rule(tmp_path: Path) -> None:
    """A decay just above it is reported, one just below is not."""
    text = """
import copy
import torch
from torch import nn

model = nn.Linear(8, 2).bfloat16()
average = copy.deepcopy(model)
with torch.no_grad():
    for kept, weight in zip(average.parameters(), model.parameters()):
        kept.lerp_(weight, {left})
"""
    for left, count in (("0.0019", 1), ("0.002", 0)):
        folder = tmp_path / left
        folder.mkdir()
        (folder / "train.py").write_text(text.replace("{left}", left))
        found = check(Request((str(folder),), str(folder), isolated=True)).findings
        assert [finding.code for finding in found] == ["TL307"] * count
