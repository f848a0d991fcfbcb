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
