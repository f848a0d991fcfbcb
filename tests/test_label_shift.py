"""PyTorch is the oracle for TL120: what a model says after 4 5 6 is as many steps ahead as its labels were moved."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FIXTURE = Path(__file__).parent.parent / "fixtures" / "label_shift" / "bad_model_that_moves_labels_itself"


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("moves_labels", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("moved", "said"), [(0, 7), (1, 8)])
def test_a_model_that_moves_labels_itself_is_right_only_if_the_data_does_not(moved: int, said: int) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = load(FIXTURE / "model.py").TinyLM(20)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    rows = torch.stack([torch.arange(start, start + 10) for start in range(10)])
    for _ in range(120):
        loss = model(rows[:, : 10 - moved], rows[:, moved:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    assert model(torch.tensor([[4, 5, 6]]))[0, -1].argmax().item() == said


def test_labels_that_nothing_moves_teach_a_model_to_repeat() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = load(FIXTURE / "model.py").TinyLM(20)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    rows = torch.stack([torch.arange(start, start + 10) for start in range(10)])
    for _ in range(120):
        loss = torch.nn.functional.cross_entropy(model(rows).flatten(0, 1), rows.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    assert model(torch.tensor([[4, 5, 6]]))[0, -1].argmax().item() == 6
