"""Losses of a user's own: which classes they teach, how they are called, and what is said where they cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from trainlint.probe.loss import Bench, Lesson, Uncalled, judge

STOP = 32
LOSSES = f"""
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

print("a word of the module")
STOP = {STOP}


def plain(logits, targets):
    return F.cross_entropy(logits, targets)


def hidden(logits, targets):
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=STOP)


half = partial(F.cross_entropy, ignore_index=STOP)


def shifted(logits, labels):
    kept = logits[:, :-1].reshape(-1, logits.size(-1))
    return F.cross_entropy(kept, labels[:, 1:].reshape(-1), ignore_index=STOP)


def transposed(logits, labels):
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=STOP)


def spatial(logits, labels):
    assert logits.dim() == 3
    return F.cross_entropy(logits, labels, ignore_index=STOP)


def backwards(labels, logits):
    return F.cross_entropy(logits, labels, ignore_index=STOP)


def masked(logits, targets):
    kept = (targets != STOP).float()
    return (F.cross_entropy(logits, targets, reduction="none") * kept).sum() / kept.sum()


def in_place(logits, targets):
    targets[targets == STOP] = -100
    return F.cross_entropy(logits, targets), "and more"


class Criterion(nn.Module):
    def __init__(self, skipped=STOP):
        super().__init__()
        self.skipped = skipped
        self.register_buffer("weight", torch.ones(STOP + 1))

    def forward(self, logits, targets):
        return {{"loss": F.cross_entropy(logits, targets, weight=self.weight, ignore_index=self.skipped)}}


class Weighted(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.loss = nn.CrossEntropyLoss(torch.cat([torch.ones(classes - 1), torch.zeros(1)]))

    def forward(self, logits, targets):
        return self.loss(logits, targets)


criterion = Criterion()


def make():
    return Criterion()


def hardest(logits, targets):
    losses = F.cross_entropy(logits, targets, reduction="none")
    return losses.topk(max(1, losses.numel() // 4)).values.mean()


def one_hot(logits, targets):
    return F.binary_cross_entropy_with_logits(logits, targets)


def focal(logits, targets):
    loss = F.cross_entropy(logits, targets, reduction="none")
    return ((1 - torch.exp(-loss)) ** 2 * loss).mean()


def smoothed(logits, targets):
    return F.cross_entropy(logits, targets, label_smoothing=0.1)


def clamped(logits, targets):
    return F.cross_entropy(logits, targets.clamp(max=STOP - 1))


def undefined(logits, targets):
    loss = F.cross_entropy(logits, targets, reduction="none")
    return (loss * torch.where(targets == STOP, float("nan"), 1.0)).sum()


def score(logits, targets):
    return -F.cross_entropy(logits, targets)


def detached(logits, targets):
    return F.cross_entropy(logits.detach(), targets)


def broken(logits, targets):
    raise RuntimeError("no kernel for this")


def three(logits, targets, mask):
    return (F.cross_entropy(logits, targets, reduction="none") * mask).mean()


number = 5
"""


def probe(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "losses.py").write_text(LOSSES)
    return subprocess.run(
        [sys.executable, "-m", "trainlint", "probe", "loss", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def losses() -> Any:
    module: dict[str, Any] = {"__name__": "losses"}
    exec(compile(LOSSES, "losses.py", "exec"), module)
    return module


SWALLOWING = {
    "hidden": "(N, C)", "half": "(N, C)", "masked": "(N, C)", "in_place": "(N, C)", "criterion": "(N, C)",
    "shifted": "(B, T, C)", "transposed": "(B, T, C)", "spatial": "(B, C, T)", "backwards": "targets (N,), logits",
}  # fmt: skip


@pytest.mark.parametrize("name", SWALLOWING)
def test_a_class_that_a_loss_swallows_is_found_however_it_is_called(losses: Any, name: str) -> None:
    verdict = judge(Bench(losses[name], STOP + 1))
    assert verdict.lessons[Lesson.NOTHING] == [STOP]
    assert len(verdict.lessons[Lesson.TAUGHT]) == STOP
    assert SWALLOWING[name] in str(verdict.way)


@pytest.mark.parametrize("name", ["plain", "hardest", "one_hot", "focal", "smoothed"])
@pytest.mark.parametrize("classes", [2, 33, 300])
def test_a_loss_that_teaches_every_class_is_left_alone(losses: Any, name: str, classes: int) -> None:
    verdict = judge(Bench(losses[name], classes))
    assert verdict.lessons[Lesson.TAUGHT] == list(range(classes))


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 1025])
def test_the_loss_of_torch_is_left_alone(classes: int) -> None:
    assert judge(Bench(F.cross_entropy, classes)).lessons[Lesson.TAUGHT] == list(range(classes))


def test_a_loss_that_is_undefined_where_nothing_is_kept_is_judged_beside_others() -> None:
    loss = torch.nn.CrossEntropyLoss(ignore_index=0)
    assert judge(Bench(loss, 2)).lessons == {
        Lesson.TAUGHT: [1], Lesson.REVERSED: [], Lesson.NOTHING: [0], Lesson.UNDEFINED: []
    }  # fmt: skip


def test_the_end_of_the_signal_is_that_of_the_arithmetic_in_the_loss(losses: Any) -> None:
    assert judge(Bench(losses["plain"], 2, torch.bfloat16)).cutoff == 5.5625
    assert (
        judge(Bench(lambda logits, targets: F.cross_entropy(logits.float(), targets), 2, torch.bfloat16)).cutoff
        == 16.75
    )
    assert judge(Bench(losses["smoothed"], 2)).cutoff is None
    end = judge(Bench(losses["spatial"], 33)).cutoff
    assert end is not None
    assert 13.1 < end < 13.3


def test_a_probe_leaves_the_random_numbers_of_the_loss_to_themselves(losses: Any) -> None:
    runs = [judge(Bench(lambda logits, targets: F.cross_entropy(F.dropout(logits, 0.1), targets), 33)) for _ in "12"]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", ["score", "detached", "broken", "three"])
def test_what_is_no_loss_is_not_judged(losses: Any, name: str) -> None:
    with pytest.raises(Uncalled):
        judge(Bench(losses[name], 33))


def test_the_command_names_the_swallowed_class_and_its_place(tmp_path: Path) -> None:
    run = probe(tmp_path, "losses:hidden", "--classes", "33")
    assert run.returncode == 1
    assert run.stdout.startswith(
        "losses.py:16:1: error TL101 sentinel-collision\n  class 32 of 33 gets no gradient where it is the target\n"
        "   16 | def hidden(logits, targets):\n"
    )
    assert (
        run.stdout.endswith(
            "losses:hidden, called with logits (N, C), targets (N,): 32 of 33 classes are taught\n"
            "float32 on cpu: the signal of class 0 ends at a margin of 15.94\n"
        )
        or "float32 on cpu: the signal of class 0 ends at a margin of" in run.stdout
    )
    assert run.stderr == "a word of the module\n"


def test_the_command_tells_programs_the_same_as_check_and_what_it_measured(tmp_path: Path) -> None:
    run = probe(tmp_path, "losses.py:hidden", "--classes=33", "--output-format=json", "--dtype=float32,bfloat16")
    document = json.loads(run.stdout)
    assert run.returncode == 1
    (finding,) = document["findings"]
    assert (finding["code"], finding["severity"], finding["observer"]) == ("TL101", "error", "probe")
    assert finding["filename"] == "losses.py"
    assert finding["measured"] == document["measured"]
    assert document["measured"]["no_gradient"] == [32]
    assert document["measured"]["taught"] == 32
    assert document["judged"] == {"losses": {"total": 1, "safe": 0, "flagged": 1, "unjudged": 0}}
    assert [(row["dtype"], row["classes"]) for row in document["rows"]] == [("float32", 33), ("bfloat16", 33)]


def test_what_works_in_one_format_is_told_and_what_does_not_in_another_is_said(tmp_path: Path) -> None:
    run = probe(tmp_path, "losses:Criterion", "--classes=33", "--dtype=float32,float64")
    assert run.returncode == 2
    assert "class 32 of 33 gets no gradient" in run.stdout
    assert "losses:Criterion cannot be judged over 33 classes in float64: with logits" in run.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("losses:plain", "--classes=33"),
        ("torch.nn.functional:cross_entropy", "--classes=1025"),
        ("torch.nn:CrossEntropyLoss", "--classes=33", "--ignore-index=-100"),
        ("losses:hidden", "--classes=33", "--ignore-index=32"),
        ("losses:Criterion", "--classes=33", "--set", "skipped=-100"),
    ],
)
def test_a_loss_that_does_what_was_declared_is_exit_0(tmp_path: Path, words: tuple[str, ...]) -> None:
    run = probe(tmp_path, *words)
    assert run.returncode == 0
    assert "classes are taught" in run.stdout
    assert "TL1" not in run.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("losses:make()", "--classes=33"), "class 32 of 33 gets no gradient"),
        (("losses:Weighted", "--classes=33", "--set=classes=33"), "class 32 of 33 gets no gradient"),
        (("losses:clamped", "--classes=33"), "class 32 of 33 is pushed down where it is the target"),
        (("losses:plain", "--classes=33", "--ignore-index=0"), "targets 0, said to be padding, get a gradient"),
        (("losses:plain", "--classes=33", "--ignore-index=-1"), "targets -1, said to be padding, are refused"),
        (("torch.nn.functional:cross_entropy", "--classes=33", "--set=ignore_index=7"), "class 7 of 33 gets no"),
    ],
)  # fmt: skip
def test_a_loss_that_does_not_is_exit_1(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    run = probe(tmp_path, *words)
    assert run.returncode == 1
    assert message in run.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("losses:plain",), "--classes must say how many classes the loss is for"),
        (("losses:plain", "--classes=x"), "--classes must be a whole number, not 'x'"),
        ((), "which loss? give one, as pkg.module:callable"),
        (("losses", "--classes=33"), "losses: expected pkg.module:callable"),
        (("losses:nothing", "--classes=33"), "losses:nothing: module losses has no 'nothing'"),
        (("losses:number", "--classes=33"), "losses:number: int object cannot be called"),
        (("no.such:loss", "--classes=33"), "no.such: no such module, seen from"),
        (("nothing.py:loss", "--classes=33"), "trainlint: nothing.py: no such file"),
        (("losses:Weighted", "--classes=33"), "--set NAME=VALUE gives it an argument"),
        (("losses:broken", "--classes=33"), "with logits (N, C), targets (N,): RuntimeError: no kernel for this"),
        (("losses:three", "--classes=33"), "missing 1 required positional argument: 'mask'"),
        (("losses:score", "--classes=33"), "it raises the logit of no target"),
        (("losses:undefined", "--classes=33"), "losses:undefined: class 32 cannot be judged: the gradient is nan"),
        (("losses:plain", "--classes=33", "--set=reduction"), "--set reduction: expected NAME=VALUE"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_exit_2_and_says_why(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    run = probe(tmp_path, *words)
    assert run.returncode == 2
    assert message in " ".join(run.stderr.split())
    assert "Traceback" not in run.stderr


def test_help_says_that_code_is_run(tmp_path: Path) -> None:
    assert "this runs your code" in " ".join(probe(tmp_path, "--help").stdout.split())
