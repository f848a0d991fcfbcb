"""One small program for each bug that a run can show, and its healthy twins: each is named by its code, no other is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

PROGRAM = """
import torch
from torch import nn
from torch.nn import functional as F

LETTERS = 8
STOP = LETTERS
model = nn.Sequential(nn.Embedding(LETTERS + 1, 16), nn.Dropout(0.1), nn.Linear(16, LETTERS + 1)){cast}
optimizer = torch.optim.AdamW(model.parameters(), lr={lr}, betas=(0.9, 0.95), eps={eps})


def batch():
    rows = torch.randint(LETTERS, (16, 10))
    for row, length in zip(rows, torch.randint(4, 10, (16,)).tolist()):
        row[length:] = STOP
    rows[0, :-1], rows[0, -1] = torch.randint(LETTERS, (9,)), STOP
    return rows[:, :-1], rows[:, 1:].clone()


model.train()
for step in range(60):
    inputs, targets = batch()
    {targets}
    logits = {logits}
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index={ignored})
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
"""

HEALTHY = {
    "cast": "", "lr": "1e-3", "eps": "1e-8", "targets": "", "logits": "model(inputs)", "ignored": "-100", "after": "",
}  # fmt: skip

BENCH: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "healthy": ({}, {}),
    "collision": ({"ignored": "STOP"}, {"TL101": "warning"}),
    "safe twin of the collision": ({"targets": "targets = targets.where((targets == STOP).cumsum(1) < 2, -100)"}, {}),
    "logits in 16 bits": ({"logits": "(9 * F.one_hot(targets, 9) + model(inputs)).bfloat16()"}, {"TL311": "warning"}),
    "the same logits in 32 bits": ({"logits": "9 * F.one_hot(targets, 9) + model(inputs)"}, {}),
    "weights in 16 bits, small steps": ({"cast": ".bfloat16()", "lr": "1e-4", "logits": "model(inputs).float()"},
                                        {"TL301": "error"}),
    "weights in 16 bits, large steps": ({"cast": ".bfloat16()", "logits": "model(inputs).float()"}, {"TL301": "error"}),
    "eps in float16": ({"cast": ".half()", "logits": "model(inputs).float()"}, {"TL301": "error", "TL303": "error"}),
    "dead class": ({"targets": "targets[targets == 5] = 4"}, {"TL108": "error"}),
    "stuck in evaluation": ({"after": "_ = model.eval() if step == 20 else None"}, {"TL507": "error"}),
    "evaluated and back": ({"after": "_ = model.eval(), model.train()"}, {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the probe says of each program."""
    folder = tmp_path_factory.mktemp("bench")
    files = {}
    for name, (changes, _) in BENCH.items():
        file = folder / f"{name.replace(' ', '_')}.py"
        file.write_text(PROGRAM.format(**{**HEALTHY, **changes}))
        files[str(file)] = name
    oracle = Path(__file__).with_name("probe_oracle.py")
    run = subprocess.run([sys.executable, str(oracle), *files], capture_output=True, text=True, timeout=120, check=True)
    return {files[file]: seen for file, seen in json.loads(run.stdout).items()}


@pytest.mark.parametrize("name", BENCH)
def test_each_bug_is_named_and_nothing_else_is(name: str, told: dict[str, Any]) -> None:
    seen = told[name]
    assert seen["error"] is None, seen["error"]
    assert (seen["faults"], seen["unobserved"]) == ([], [])
    assert {code: severity for code, severity, *_ in seen["findings"]} == BENCH[name][1]
