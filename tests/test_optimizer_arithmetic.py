"""What the rules on optimizers state, against torch itself: no claim here rests on a formula alone."""

from __future__ import annotations

import math
from typing import Any

import pytest

from trainlint import Dtype

torch = pytest.importorskip("torch")

SHORT = [Dtype.BFLOAT16, Dtype.FLOAT16]
each_short = pytest.mark.parametrize("dtype", SHORT, ids=lambda dtype: str(dtype.value))
FORMS = ({"foreach": False}, {"foreach": True})
each_form = pytest.mark.parametrize("form", FORMS, ids=("single", "foreach"))


def in_torch(dtype: Dtype) -> Any:
    return getattr(torch, dtype.value)


def representable(dtype: Dtype, lowest: float, highest: float) -> Any:
    """Every number of a format between two bounds."""
    every = torch.arange(1, 2**15, dtype=torch.int16).view(in_torch(dtype))
    wide = every.double()
    return every[(wide >= lowest) & (wide <= highest)]


def trained(dtype: Any, decay: float, form: dict[str, bool], steps: int = 300) -> Any:
    """Weights behind AdamW, by gradients that depend on nothing but a seed."""
    random = torch.Generator().manual_seed(7)
    weights = torch.nn.Parameter((torch.randn(512, generator=random) * 0.1).to(dtype))
    optimizer = torch.optim.AdamW([weights], lr=1e-3, weight_decay=decay, **form)
    for _ in range(steps):
        weights.grad = torch.randn(512, generator=random).to(dtype)
        optimizer.step()
    return weights.detach()


@each_form
def test_weight_decay_below_the_limit_changes_no_bit_in_300_steps(form: dict[str, bool]) -> None:
    assert Dtype.BFLOAT16.least_change > 1e-3 * 1
    assert torch.equal(trained(torch.bfloat16, 1.0, form), trained(torch.bfloat16, 0.0, form))


@each_form
def test_the_same_decay_changes_every_weight_in_float32(form: dict[str, bool]) -> None:
    assert (trained(torch.float32, 1.0, form) != trained(torch.float32, 0.0, form)).all()


def test_a_fused_step_rounds_once_so_that_the_proof_does_not_hold_for_it() -> None:
    form = {"fused": True}
    assert not torch.equal(trained(torch.bfloat16, 1.0, form), trained(torch.bfloat16, 0.0, form))


@each_short
def test_the_limit_of_decay_is_exact(dtype: Dtype) -> None:
    weights = representable(dtype, 1e-3, 100)
    below, above = dtype.least_change * 0.999, dtype.least_change * 1.01
    assert torch.equal(weights.clone().mul_(1 - below), weights)
    assert not torch.equal(weights.clone().mul_(1 - above), weights)


@each_short
@pytest.mark.parametrize("rate", [1e-2, 1e-3, 3e-4, 1e-4, 2e-5, 1e-5, 2.0**-10])
def test_a_step_moves_no_weight_above_the_limit_and_every_weight_far_below(dtype: Dtype, rate: float) -> None:
    weights, limit = representable(dtype, 1e-4, 100), dtype.unmoved(rate)
    wide = weights.double()
    for moved in (weights - rate, weights + rate):
        assert torch.equal(moved[wide > limit], weights[wide > limit])
        low = wide < rate * 2**dtype.significand
        assert (moved[low] != weights[low]).all()


@pytest.mark.parametrize("rate", [3e-4, 1e-4, 2e-5])
def test_adam_itself_moves_nothing_above_the_limit(rate: float) -> None:
    start = representable(Dtype.BFLOAT16, 1e-3, 4)
    weights = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.AdamW([weights], lr=rate, weight_decay=0.01)
    weights.grad = torch.ones_like(weights)
    optimizer.step()
    still = start.double() > Dtype.BFLOAT16.unmoved(rate)
    assert still.any()
    assert torch.equal(weights.detach()[still], start[still])
    assert (weights.detach()[~still] != start[~still]).any()


def second_moment(dtype: Any, beta2: float) -> float:
    """The second moment after gradients of one size, and then a thousand of a tenth of it, as a share of its peak."""
    weights = torch.nn.Parameter(torch.ones(4, dtype=dtype))
    optimizer = torch.optim.Adam([weights], lr=1e-4, betas=(0.9, beta2), eps=1e-4)
    peak = 0.0
    for size in (*[1.0] * 200, *[0.1] * 3000):
        weights.grad = torch.full_like(weights, size)
        optimizer.step()
        now = float(optimizer.state[weights]["exp_avg_sq"].max())
        peak = max(peak, now)
    return now / peak


@pytest.mark.parametrize(
    ("dtype", "beta2", "falls"),
    [
        (Dtype.BFLOAT16, 0.999, False),
        (Dtype.BFLOAT16, 0.9985, False),
        (Dtype.BFLOAT16, 0.99, True),
        (Dtype.FLOAT16, 0.9999, False),
        (Dtype.FLOAT16, 0.999, True),
        (Dtype.FLOAT32, 0.999, True),
    ],
)
def test_the_second_moment_falls_only_if_it_forgets_more_than_rounding(dtype: Dtype, beta2: float, falls: bool) -> None:
    assert (1 - beta2 >= dtype.least_change) is falls
    share = second_moment(in_torch(dtype), beta2)
    assert share < 0.9 if falls else share == 1.0


DIVIDING = ("Adam", "AdamW", "NAdam", "Adamax", "RMSprop", "Adagrad")


def first_step(name: str, eps: float, gradient: float, form: dict[str, bool]) -> float:
    weights = torch.nn.Parameter(torch.full((4,), 0.5, dtype=torch.float16))
    optimizer = getattr(torch.optim, name)([weights], eps=eps, **form)
    weights.grad = torch.full_like(weights, gradient)
    optimizer.step()
    return float(weights.detach()[0])


@each_form
@pytest.mark.parametrize("name", DIVIDING)
def test_epsilon_is_zero_in_float16_up_to_half_of_its_smallest_number(name: str, form: dict[str, bool]) -> None:
    for eps in (1e-8, 2.0**-25):
        assert math.isnan(first_step(name, eps, 0.0, form))
    assert first_step(name, 2.0**-25 * 1.001, 0.0, form) == 0.5


def test_a_small_gradient_makes_a_weight_infinite_in_the_first_step() -> None:
    assert math.isinf(first_step("Adam", 1e-8, 1e-4, {"foreach": False}))


def test_a_fused_step_holds_epsilon_in_float32() -> None:
    assert first_step("Adam", 1e-8, 0.0, {"fused": True}) == 0.5
