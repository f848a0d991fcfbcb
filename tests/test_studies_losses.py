"""The losses of the studies against references of 60 digits, in four formats, and the closed forms against PyTorch."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from studies.losses import (
    FORMATS,
    Loss,
    cross_entropy,
    divergence,
    escape_epsilon,
    exact_cross_entropy,
    exact_divergence_gradient,
    exact_gradient,
    exact_zero_divergence,
    margin,
)

MARGINS = (-5.0, 0.0, 3.0, 8.0, 17.0, 38.0, 80.0)
CLASSES = (2, 31)
TOLERANCE = {"float64": 1e-13, "float32": 1e-5, "float16": 0.01, "bfloat16": 0.3}
"""Of the gradient, relative: the margin itself is rounded, and the gradient is its exponential."""
REACH = {"float64": 80.0, "float32": 80.0, "float16": 8.0, "bfloat16": 80.0}
"""float16 ends at 6e-8: beyond this margin the gradient itself cannot be written."""


def row(name: str, classes: int, lead: float) -> Tensor:
    """Logits of this format whose class 0 leads the others together by about ``lead``."""
    drawn = torch.randn(1, classes, generator=torch.Generator().manual_seed(classes), dtype=torch.float64)
    drawn[0, 0] = drawn[0, 1:].logsumexp(0) + lead
    return drawn.to(FORMATS[name].dtype).requires_grad_()


def representable(wanted: Tensor, name: str) -> Tensor:
    """The numbers of a format nearest to these, each once and in order."""
    rounded: list[float] = wanted.to(FORMATS[name].dtype).double().tolist()
    return torch.tensor(sorted(set(rounded)), dtype=FORMATS[name].dtype)


def gradient(loss: Loss, logits: Tensor) -> list[float]:
    (found,) = torch.autograd.grad(cross_entropy(loss, logits, torch.tensor([0])).sum(), logits)
    numbers: list[float] = found[0].double().tolist()
    return numbers


def cells() -> list[tuple[str, int, float]]:
    return [cell for cell in product(FORMATS, CLASSES, MARGINS) if cell[2] <= REACH[cell[0]]]


@pytest.mark.parametrize(("name", "classes", "lead"), cells())
def test_the_fixed_loss_has_the_exact_value_and_gradient(name: str, classes: int, lead: float) -> None:
    logits = row(name, classes, lead)
    numbers: list[float] = logits[0].double().tolist()
    value = cross_entropy(Loss.FIXED, logits, torch.tensor([0])).item()
    assert value == pytest.approx(exact_cross_entropy(numbers, 0), rel=TOLERANCE[name])
    smallest = 2.0 ** (FORMATS[name].lowest - FORMATS[name].bits + 1)
    exact = exact_gradient(numbers, 0)
    assert gradient(Loss.FIXED, logits) == pytest.approx(exact, rel=TOLERANCE[name], abs=smallest)


@pytest.mark.parametrize(("name", "classes", "lead"), [cell for cell in cells() if cell[2] < 5])
def test_the_standard_loss_has_the_exact_gradient_well_below_the_cutoff(name: str, classes: int, lead: float) -> None:
    logits = row(name, classes, lead)
    assert gradient(Loss.STANDARD, logits) == pytest.approx(exact_gradient(logits[0].double().tolist(), 0), rel=0.15)


@pytest.mark.parametrize(("name", "classes", "lead"), [cell for cell in cells() if cell[2] < 30])
def test_the_upcast_loss_has_the_exact_gradient_up_to_the_cutoff_of_float64(
    name: str, classes: int, lead: float
) -> None:
    logits = row(name, classes, lead)
    found, exact = gradient(Loss.UPCAST, logits), exact_gradient(logits[0].double().tolist(), 0)
    assert found == pytest.approx(exact, rel=max(2e-3, 2 * 2.0 ** -FORMATS[name].bits), abs=6e-8)


@pytest.mark.parametrize("name", FORMATS)
def test_the_standard_loss_goes_silent_exactly_from_the_cutoff_on(name: str) -> None:
    margins = representable(torch.arange(0, 60, 1 / 64), name)
    logits = torch.stack([margins, torch.zeros_like(margins)], 1).requires_grad_()
    targets = torch.zeros(len(margins), dtype=torch.long)
    (found,) = torch.autograd.grad(cross_entropy(Loss.STANDARD, logits, targets).sum(), logits)
    assert torch.equal(found[:, 0] == 0, margins.double() >= FORMATS[name].cutoff)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_a_rounded_probability_goes_silent_a_little_later(name: str) -> None:
    scores = representable(torch.arange(0, 30, 1 / 64), name).requires_grad_()
    loss = F.binary_cross_entropy_with_logits(scores, torch.ones_like(scores), reduction="sum")
    (found,) = torch.autograd.grad(loss, scores)
    first = scores.detach()[found == 0].double().min().item()
    assert FORMATS[name].probability_cutoff <= first < FORMATS[name].probability_cutoff + 1 / 32


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_rounding_is_what_a_cast_does(name: str) -> None:
    draw = random.Random(0)
    # From float32, because PyTorch casts float64 to float16 by way of it and so rounds twice.
    drawn = torch.tensor([draw.uniform(-1, 1) * 10 ** draw.uniform(-6, 4) for _ in range(2000)])
    numbers: list[float] = drawn.double().tolist()
    cast: list[float] = drawn.to(FORMATS[name].dtype).double().tolist()
    assert [FORMATS[name].rounded(number) for number in numbers] == cast


@pytest.mark.parametrize(("name", "classes"), list(product(FORMATS, CLASSES)))
def test_the_exact_zero_loss_is_the_gradient_of_the_divergence_and_zero_where_both_are_equal(
    name: str, classes: int
) -> None:
    generator = torch.Generator().manual_seed(classes)
    pair = torch.randn(2, classes, generator=generator, dtype=torch.float64).to(FORMATS[name].dtype)
    student, teacher = pair[:1].requires_grad_(), pair[1:]
    (found,) = torch.autograd.grad(exact_zero_divergence(student, teacher), student)
    exact = exact_divergence_gradient(student[0].double().tolist(), teacher[0].double().tolist())
    assert found[0].double().tolist() == pytest.approx(exact, rel=0.05, abs=4 * 2.0 ** -FORMATS[name].bits)
    same = teacher.clone().requires_grad_()
    (zero,) = torch.autograd.grad(exact_zero_divergence(same, teacher), same)
    assert not zero.any()


@pytest.mark.parametrize("name", ["bfloat16", "float32", "float64"])
def test_the_divergence_of_the_documentation_leaves_something_where_both_are_equal(name: str) -> None:
    teacher = torch.randn(49, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(
        FORMATS[name].dtype
    )
    student = teacher.clone().requires_grad_()
    (found,) = torch.autograd.grad(divergence(student, teacher), student)
    assert found.any()


def test_the_margin_is_the_lead_over_all_others_together() -> None:
    logits = torch.tensor([[5.0, 1.0, 1.0]])
    assert margin(logits, torch.tensor([0])).item() == pytest.approx(4 - math.log(2))


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_a_weight_is_stuck_exactly_from_the_threshold_on(name: str) -> None:
    form = FORMATS[name]
    weights = representable(torch.logspace(-4, 1, 3000), name)
    stuck = weights - 1e-4 == weights
    assert torch.equal(stuck & (weights >= 2 * form.stuck_from(1e-4)), weights >= 2 * form.stuck_from(1e-4))
    assert not stuck[weights.double() < form.stuck_from(1e-4) / 2].any()


@pytest.mark.parametrize(("beta1", "factor", "stays"), [(0.0, 1.05, True), (0.0, 0.95, False)])
def test_adam_on_a_parabola_leaves_below_the_predicted_epsilon(beta1: float, factor: float, stays: bool) -> None:
    place = torch.tensor([1e-12], dtype=torch.float64, requires_grad=True)
    eps = factor * escape_epsilon(1e-3, 4.0, beta1)
    adam = torch.optim.Adam([place], lr=1e-3, eps=eps, betas=(beta1, 0.999))
    for _ in range(1000):
        place.grad = 4.0 * place.detach()
        adam.step()
    assert (place.abs().item() < 1e-12) is stays
