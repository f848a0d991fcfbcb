"""How a student is matched to a teacher: what is not judged is said, and the pages' numbers hold."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from trainlint.check import Request, check
from trainlint.report import Report

HEAD = """
import torch.nn.functional as F
from torch import nn
"""


def report(folder: Path, text: str) -> Report:
    """What is said of a project that is this one text."""
    (folder / "train.py").write_text(HEAD + textwrap.dedent(text))
    return check(Request((str(folder),), str(folder), isolated=True))


def codes(folder: Path, text: str) -> list[str]:
    return [finding.code for finding in report(folder, text).findings]


def test_a_reduction_that_nobody_knows_is_not_judged(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        """
        def distil(scores, goal, config):
            return F.kl_div(F.log_softmax(scores, -1), F.softmax(goal, -1), reduction=config.reduction)
        """,
    )
    assert not found.findings
    assert [each.question for each in found.unjudged] == ["is the divergence divided by the classes"]
    assert found.judged["divergences"].unjudged == 1


def test_what_is_not_followed_to_an_activation_is_not_judged(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        """
        def distil(scores, goal):
            return F.kl_div(scores, goal, reduction="batchmean")
        """,
    )
    assert not found.findings
    assert {each.question for each in found.unjudged} == {
        "is the input of the divergence in logarithms",
        "is the target of the divergence what it wants",
    }


def test_an_epsilon_that_nobody_knows_is_not_judged(tmp_path: Path) -> None:
    found = report(
        tmp_path,
        """
        import copy
        from torch.optim import Adam


        def distil(teacher, batches, eps):
            student = copy.deepcopy(teacher)
            optimizer = Adam(student.parameters(), eps=eps)
            for x in batches:
                goal = teacher(x).detach()
                loss = F.kl_div(student(x).log_softmax(-1), goal.softmax(-1), reduction="batchmean")
                loss.backward()
                optimizer.step()
        """,
    )
    assert not [each.code for each in found.findings if each.code == "TL404"]
    assert "does the student stay where it starts" in {each.question for each in found.unjudged}


@pytest.mark.parametrize(
    "factor", ["scores.size(1)", "scores.shape[-1]", "num_classes", "len(CLASSES)", "self.vocab_size", "scores.numel()"]
)
def test_a_divergence_multiplied_by_the_classes_is_silent(tmp_path: Path, factor: str) -> None:
    text = f"""
    def distil(self, scores, goal, num_classes, CLASSES):
        return {factor} * F.kl_div(F.log_softmax(scores, -1), F.softmax(goal, -1))
    """
    assert codes(tmp_path, text) == []


@pytest.mark.parametrize("factor", ["t * t", "alpha", "scores.size(0)", "scores.shape[0]", "0.5"])
def test_a_divergence_multiplied_by_anything_else_is_flagged(tmp_path: Path, factor: str) -> None:
    text = f"""
    def distil(scores, goal, t, alpha):
        return {factor} * F.kl_div(F.log_softmax(scores, -1), F.softmax(goal, -1))
    """
    assert codes(tmp_path, text) == ["TL401"]


@pytest.mark.parametrize(
    "use",
    ["print(term)", "print(f'{term:.3f}')", "self.log('kl', term)", "assert term < 1", "history.append(term.item())"],
)
def test_a_divergence_that_is_only_looked_at_is_silent(tmp_path: Path, use: str) -> None:
    text = f"""
    def step(self, scores, goal, y, history):
        term = F.kl_div(F.log_softmax(scores, -1), F.softmax(goal, -1))
        {use}
        return F.cross_entropy(scores, y)
    """
    assert codes(tmp_path, text) == []


@pytest.mark.filterwarnings("ignore:reduction")
def test_mean_divides_by_exactly_the_number_of_classes() -> None:
    torch = pytest.importorskip("torch")
    scores, goal = torch.randn(6, 37, dtype=torch.float64), torch.randn(6, 37, dtype=torch.float64)
    sides = scores.log_softmax(-1), goal.softmax(-1)
    mean, rows = (torch.nn.functional.kl_div(*sides, reduction=each) for each in ("mean", "batchmean"))
    assert float(rows / mean) == pytest.approx(37)


def test_a_module_that_is_switched_to_training_takes_what_it_keeps_with_it() -> None:
    torch = pytest.importorskip("torch")
    kept = torch.nn.Module()
    kept.teacher, kept.others = torch.nn.BatchNorm1d(4).eval().requires_grad_(False), [torch.nn.BatchNorm1d(4).eval()]
    kept.train()
    before = kept.teacher.running_mean.clone()
    with torch.no_grad():
        kept.teacher(torch.randn(8, 4) + 3)
    assert not torch.equal(kept.teacher.running_mean, before)
    assert not kept.others[0].training
