"""In which format a class makes its parts: where nothing but the default is seen, no more is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainlint.facts import Dtype, LossArithmetic, Storage
from trainlint.source.find import find
from trainlint.source.observe import Project, observe

PROGRAM = """
import torch
import torch.nn as nn
import torch.nn.functional as F

SHORT = nn.Linear(4, 4).bfloat16()


def made(width):
    return nn.Linear(width, width{made})


class Inner(nn.Module):
    kind = nn.Linear

    def __init__(self, width, given=None, format=None, **options):
        super().__init__()
{inner}

    def build(self, width):
        return nn.Linear(width, width)


class Derived(Inner):
    def build(self, width):
        return nn.Linear(width, width, dtype=torch.bfloat16)


class Outer(nn.Module):
    def __init__(self, width):
        super().__init__()
{outer}

    def forward(self, x):
        return self.inner.layer(x)


def train(x, y):
    model = Outer(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
LAYER = "self.layer = nn.Linear(width, width)"
INNER = "self.inner = Inner(width)"
PLAIN = {
    "layers": (LAYER, INNER, ""),
    "a function that makes it": ("self.layer = made(width)", INNER, ""),
    "a method that makes it": ("self.layer = self.build(width)", INNER, ""),
    "a tensor that is cast": (f"{LAYER}\nself.scale = torch.ones(1)\nself.scale.to('cpu')", INNER, ""),
    "a number that is handed in": (LAYER, "self.inner = Inner(width, given=3)", ""),
}
OTHER = {
    "a format that is named": ("self.layer = nn.Linear(width, width, dtype=torch.bfloat16)", INNER, ""),
    "a format among options": (
        "self.layer = nn.Linear(width, width, **options)", "self.inner = Inner(width, dtype=torch.bfloat16)", "",
    ),
    "a format that is handed in": (
        "self.layer = nn.Linear(width, width, dtype=format)", "self.inner = Inner(width, format=torch.bfloat16)", "",
    ),
    "a cast of the part": (f"{LAYER}\nself.layer.bfloat16()", INNER, ""),
    "a cast of the whole": (f"{LAYER}\nself.bfloat16()", INNER, ""),
    "a cast by what holds it": (LAYER, f"{INNER}\nself.inner.bfloat16()", ""),
    "a cast where it is made": (LAYER, "self.inner = Inner(width).bfloat16()", ""),
    "a part that is handed in": ("self.layer = given", "self.inner = Inner(width, nn.Linear(4, 4).bfloat16())", ""),
    "a part of the file": ("self.layer = SHORT", INNER, ""),
    "a function that names it": ("self.layer = made(width)", INNER, ", dtype=torch.bfloat16"),
    "a method of a derived class": ("self.layer = self.build(width)", "self.inner = Derived(width)", ""),
    "a default that is set": (f"torch.set_default_dtype(torch.bfloat16)\n{LAYER}", INNER, ""),
}  # fmt: skip


def stored(folder: Path, inner: str, outer: str, made: str) -> Dtype | None:
    """The format in which the logits of the program are computed, None where that is open."""
    texts = {"inner": indented(inner), "outer": indented(outer), "made": made}
    (folder / "train.py").write_text(PROGRAM.format(**texts))
    files = tuple(find([str(folder)], ()).files)
    facts = [each for each in observe(Project(str(folder), files), files) if isinstance(each, LossArithmetic)]
    (logits,) = {fact.logits for fact in facts}
    return logits.dtype if isinstance(logits, Storage) else None


def indented(text: str) -> str:
    return "\n".join(f"        {line}" for line in text.splitlines())


@pytest.mark.parametrize(("inner", "outer", "made"), PLAIN.values(), ids=PLAIN)
def test_what_is_made_plainly_has_the_default_format(
    inner: str, outer: str, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stored(tmp_path, inner, outer, made) is Dtype.FLOAT32
    monkeypatch.setattr("trainlint.source.storage.makes_plainly", lambda world, cls: False)
    assert stored(tmp_path, inner, outer, made) is Dtype.FLOAT32


@pytest.mark.parametrize(("inner", "outer", "made"), OTHER.values(), ids=OTHER)
def test_what_may_be_made_otherwise_is_looked_at_part_by_part(
    inner: str, outer: str, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = stored(tmp_path, inner, outer, made)
    monkeypatch.setattr("trainlint.source.storage.makes_plainly", lambda world, cls: False)
    assert found is stored(tmp_path, inner, outer, made)
    assert found is not Dtype.FLOAT32
