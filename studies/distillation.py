"""A student that starts as its teacher should stay; a leftover of rounding and Adam's small epsilon carry it away.

In: copies, near copies or a search for the boundary, a loss, a format, modes, a teacher. Out: where the student went.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from studies.losses import FORMATS, divergence, escape_epsilon, exact_zero_divergence
from studies.study import Found, Judged, Line, Panel, Prediction, Record, Size, Study, Table, Tier, chosen, mean, spread

POSITIONS, WIDTH = 7, 32
TEACHING, LEARNING_RATE, EPSILON = 400, 1e-3, 1e-8
NEAR = 0.05
"""A near student: each tensor of weights is off by noise of this share of its spread."""
LEFT = 1.0
"""A student has left once a logit is off by this much."""
NARROWING = 7
"""Halvings of the bracket from half to twice the predicted epsilon: the last one is one percent wide."""


@dataclass(frozen=True)
class Setting:
    """One run. ``part`` is ``copy``, ``near`` or ``boundary``; unequal modes have the teacher in evaluation mode."""

    part: str
    loss: str
    weights: str
    modes: str
    beta1: float
    seed: int
    steps: int = 2000


def upcast_divergence(student: Tensor, teacher: Tensor) -> Tensor:
    return divergence(student.double(), teacher.double())


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "standard": divergence,
    "upcast": upcast_divergence,
    "exact-zero": exact_zero_divergence,
}


class Transformer(nn.Module):
    """One layer on three tokens: two positions of a clock and the equals sign."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(POSITIONS + 1, WIDTH)
        self.place = nn.Parameter(torch.randn(3, WIDTH) * 0.1)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(WIDTH, POSITIONS)

    def forward(self, sums: Tensor) -> Tensor:
        scores: Tensor = self.head(self.layers(self.token(sums) + self.place)[:, -1])
        return scores


def data() -> tuple[Tensor, Tensor]:
    """All sums and their answers."""
    left, right = torch.meshgrid(torch.arange(POSITIONS), torch.arange(POSITIONS), indexing="ij")
    equals = torch.full((POSITIONS**2,), POSITIONS)
    return torch.stack([left.flatten(), right.flatten(), equals], 1), (left + right).flatten() % POSITIONS


@cache
def taught(seed: int) -> Transformer:
    """Trained in float32; a cast to float64 changes none of its numbers."""
    torch.manual_seed(seed)
    model, (sums, answers) = Transformer(), data()
    adam = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    for _ in range(TEACHING):
        adam.zero_grad()
        torch.autograd.backward(F.cross_entropy(model(sums), answers))
        adam.step()
    return model


def teacher_of(setting: Setting) -> Transformer:
    """A teacher of one's own in the format of the run."""
    return copy.deepcopy(taught(setting.seed)).to(FORMATS[setting.weights].dtype)


def flat(model: nn.Module) -> Tensor:
    """All weights in one row, in float64."""
    return torch.cat([weight.detach().flatten() for weight in model.parameters()]).double()


def answers_of(teacher: Transformer, modes: str) -> Tensor:
    """The teacher's logits; evaluation without gradients takes another path through the attention."""
    teacher.train(modes == "equal")
    with torch.no_grad():
        scores: Tensor = teacher(data()[0])
    return scores


def perturbed(model: Transformer, seed: int) -> Transformer:
    """The same model, a little off."""
    generator = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64).to(weight.dtype)
        with torch.no_grad():
            weight.add_(NEAR * weight.std() * noise)
    return model


def distil(student: Transformer, target: Tensor, setting: Setting, eps: float) -> Iterator[Tensor]:
    """The student's logits before each step of Adam and after the last."""
    adam = torch.optim.Adam(student.parameters(), lr=LEARNING_RATE, eps=eps, betas=(setting.beta1, 0.999))
    sums, loss = data()[0], LOSSES[setting.loss]
    for _ in range(setting.steps):
        scores = student(sums)
        yield scores.detach()
        adam.zero_grad()
        torch.autograd.backward(loss(scores, target))
        adam.step()
    with torch.no_grad():
        yield student(sums)


def distance(scores: Tensor, target: Tensor) -> float:
    """The largest difference of a logit."""
    return (scores.double() - target.double()).abs().max().item()


def error(scores: Tensor, target: Tensor) -> float:
    """The mean difference of a probability."""
    return (scores.double().softmax(-1) - target.double().softmax(-1)).abs().mean().item()


def follow(setting: Setting) -> Found:
    """A copy, exact or near, through all its steps."""
    teacher = teacher_of(setting)
    target = answers_of(teacher, setting.modes)
    student = copy.deepcopy(teacher).train()
    if setting.part == "near":
        student = perturbed(student, setting.seed)
    start, looks = flat(student), list(distil(student, target, setting, EPSILON))
    far = [distance(scores, target) for scores in looks]
    steps = [step for step in range(len(far)) if step <= 20 or step % 25 == 0]
    values = {
        "start": far[0],
        "far": max(far),
        "left": next((float(step) for step, away in enumerate(far) if away > LEFT), math.inf),
        "moved": (flat(student) - start).abs().max().item(),
        "error": sum(error(scores, target) for scores in looks[-200:]) / 200,
        "accuracy": (looks[-1].argmax(-1) == data()[1]).double().mean().item(),
        "taught": (target.argmax(-1) == data()[1]).double().mean().item(),
    }
    return Found(
        values, {"step": [float(step) for step in steps], "far": [float(f"{far[step]:.3g}") for step in steps]}
    )


def curvature(model: Transformer, target: Tensor, rounds: int = 60) -> float:
    """The largest eigenvalue of the loss's second derivative at the teacher, by power iteration."""
    weights, sums = list(model.parameters()), data()[0]
    torch.manual_seed(0)
    direction, largest = [torch.randn_like(weight) for weight in weights], 0.0
    with sdpa_kernel(SDPBackend.MATH):
        for _ in range(rounds):
            length = math.sqrt(sum((part * part).sum().item() for part in direction))
            direction = [part / length for part in direction]
            slope = torch.autograd.grad(divergence(model(sums), target), weights, create_graph=True)
            along = torch.stack([(one * other).sum() for one, other in zip(slope, direction, strict=True)]).sum()
            bent = torch.autograd.grad(along, weights)
            largest = sum((one * other).sum().item() for one, other in zip(bent, direction, strict=True))
            direction = list(bent)
    return largest


def stays(teacher: Transformer, target: Tensor, setting: Setting, eps: float) -> bool:
    """Whether an exact copy is still there after all steps; one that has left is not followed further."""
    student = copy.deepcopy(teacher).train()
    for scores in distil(student, target, setting, eps):
        away = distance(scores, target)
        if away > 1e-2:
            return False
    return away < 1e-6


def search(setting: Setting) -> Found:
    """The epsilon from which a copy stays, by bisection, and the one that the curvature predicts."""
    teacher = teacher_of(setting)
    target = answers_of(teacher, setting.modes)
    bend = curvature(teacher, target)
    predicted = escape_epsilon(LEARNING_RATE, bend, setting.beta1)
    low, high = 0.5, 2.0
    held = (not stays(teacher, target, setting, low * predicted), stays(teacher, target, setting, high * predicted))
    for _ in range(NARROWING):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if stays(teacher, target, setting, middle * predicted) else (middle, high)
    seen = math.sqrt(low * high)
    values = {
        "curvature": bend,
        "predicted": predicted,
        "seen": seen * predicted,
        "ratio": seen if all(held) else math.nan,
        "naive": LEARNING_RATE * bend / 2,
    }
    return Found(values)


def measure(setting: Setting) -> Found:
    """One run of whichever part."""
    return search(setting) if setting.part == "boundary" else follow(setting)


Records = Sequence[Record[Setting]]


def copies(records: Records, loss: str, modes: str) -> list[Record[Setting]]:
    return chosen(records, part="copy", loss=loss, modes=modes)


def exact_zero_stays(records: Records) -> Judged | None:
    found = copies(records, "exact-zero", "equal")
    moved = max(record["moved"] for record in found)
    return Judged(moved == 0, f"largest change of a weight {moved:g} in {len(found)} runs")


def standard_leaves(records: Records) -> Judged | None:
    found = copies(records, "standard", "equal")
    by_format = {name: chosen(found, weights=name) for name in NAMES}
    seen = "; ".join(f"{name} after {spread(group, 'left', '.0f')} steps" for name, group in by_format.items() if group)
    return Judged(all(record["left"] < math.inf for record in found), seen)


def leaves_at_once(records: Records) -> Judged | None:
    found = chosen(copies(records, "standard", "equal"), weights="float64")
    return Judged(max(record["left"] for record in found) <= 20, f"after {spread(found, 'left', '.0f')} steps")


def modes_matter(records: Records) -> Judged | None:
    found = copies(records, "exact-zero", "unequal")
    if not found:
        return None
    starts = "; ".join(f"{name} off by {spread(chosen(found, weights=name), 'start', '.1g')}" for name in NAMES)
    return Judged(min(record["start"] for record in found) > 0 and min(record["moved"] for record in found) > 0, starts)


def boundary(records: Records, beta1: float, within: float) -> Judged | None:
    found = chosen(records, part="boundary", beta1=beta1)
    if not found:
        return None
    return Judged(
        all(abs(record["ratio"] - 1) < within for record in found), f"seen / predicted {spread(found, 'ratio')}"
    )


def boundary_with_momentum(records: Records) -> Judged | None:
    return boundary(records, 0.9, 0.25)


def boundary_without(records: Records) -> Judged | None:
    return boundary(records, 0.0, 0.10)


def accuracy_kept(records: Records) -> Judged | None:
    found = copies(records, "standard", "equal")
    worst = min(record["accuracy"] - record["taught"] for record in found)
    return Judged(worst >= 0, f"largest drop {100 * max(0.0, -worst):.1f} points")


def ratio_of_errors(records: Records, dtype: str) -> float | None:
    groups = [chosen(records, part="near", loss=loss, weights=dtype) for loss in ("exact-zero", "standard")]
    return mean(groups[0], "error") / mean(groups[1], "error") if all(groups) else None


def near_alike(records: Records) -> Judged | None:
    ratios = {name: ratio_of_errors(records, name) for name in ("float64", "float32")}
    known = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    if not known:
        return None
    seen = "; ".join(f"{name}: exact-zero / standard {ratio:.2f}" for name, ratio in known.items())
    return Judged(all(0.5 < ratio < 2 for ratio in known.values()), seen)


def near_in_bfloat16(records: Records) -> Judged | None:
    ratio = ratio_of_errors(records, "bfloat16")
    return None if ratio is None else Judged(ratio < 2 / 3, f"exact-zero / standard {ratio:.2f}")


NAMES = ("float64", "float32", "bfloat16")
PREDICTIONS = (
    Prediction(
        "exact-zero-stays",
        Tier.NUMERICS,
        "equal modes, exact-zero loss: no weight ever moves, in any format",
        exact_zero_stays,
    ),
    Prediction(
        "standard-leaves",
        Tier.NUMERICS,
        "equal modes, standard loss: every copy leaves, in every format",
        standard_leaves,
    ),
    Prediction("at-once", Tier.NUMERICS, "float64, standard: the copy has left within 20 steps", leaves_at_once),
    Prediction(
        "modes",
        Tier.NUMERICS,
        "unequal modes: the copy is off from the start, so even the exact-zero loss moves it",
        modes_matter,
    ),
    Prediction(
        "boundary",
        Tier.NUMERICS,
        "Adam, beta1 0.9: a copy stays from within 25 % of lr*lambda*(1-b1)/(2(1+b1))",
        boundary_with_momentum,
    ),
    Prediction("boundary-plain", Tier.NUMERICS, "Adam, beta1 0: from within 10 % of lr*lambda/2", boundary_without),
    Prediction(
        "accuracy",
        Tier.ACCURACY,
        "a copy that has left still gets every sum right that its teacher does",
        accuracy_kept,
    ),
    Prediction(
        "near",
        Tier.ACCURACY,
        "near students, float64 and float32: both losses end within a factor of 2 in error",
        near_alike,
    ),
    Prediction(
        "near-bfloat16",
        Tier.ACCURACY,
        "near students, bfloat16: the exact-zero loss ends below 2/3 of the error",
        near_in_bfloat16,
    ),
)


def tables(records: Records) -> list[Table]:
    """Copies, near students, boundaries."""
    found = [copies_table(records), near_table(records), boundary_table(records)]
    return [table for table in found if table.rows]


def copies_table(records: Records) -> Table:
    kinds = list(product(("standard", "exact-zero"), ("equal", "unequal"), NAMES))
    groups = [chosen(copies(records, loss, modes), weights=name) for loss, modes, name in kinds]
    rows = [
        (
            *kind,
            str(len(group)),
            spread(group, "start", ".1g"),
            spread(group, "left", ".0f").replace("inf", "never"),
            spread(group, "far"),
            spread(group, "moved", ".2g"),
            spread(group, "accuracy", ".0%"),
        )
        for kind, group in zip(kinds, groups, strict=True)
        if group
    ]
    columns = (
        "loss",
        "modes",
        "format",
        "teachers",
        "off at the start",
        "left at step",
        "furthest logit",
        "weights moved",
        "accuracy",
    )
    return Table(
        "Exact copies of the teacher, Adam with epsilon 1e-8; 2,000 steps, 500 in unequal modes", columns, tuple(rows)
    )


def near_table(records: Records) -> Table:
    kinds = list(product(NAMES, LOSSES))
    groups = [chosen(records, part="near", weights=name, loss=loss) for name, loss in kinds]
    rows = [
        (*kind, str(len(group)), spread(group, "error", ".2g"))
        for kind, group in zip(kinds, groups, strict=True)
        if group
    ]
    return Table(
        "Near students: error of a probability over the last 200 steps",
        ("format", "loss", "teachers", "error"),
        tuple(rows),
    )


def boundary_table(records: Records) -> Table:
    found = chosen(records, part="boundary")
    rows = [
        (
            str(one.setting.seed),
            f"{one.setting.beta1:g}",
            *(f"{one[name]:.3g}" for name in ("curvature", "predicted", "seen")),
            f"{one['ratio']:.3f}",
        )
        for one in found
    ]
    columns = ("teacher", "beta1", "curvature", "predicted epsilon", "seen epsilon", "seen / predicted")
    return Table("The epsilon from which an exact copy stays, float64", columns, tuple(rows))


def panels(records: Records) -> list[Panel]:
    """The way of the first copies, and the boundaries."""
    found = [
        drift_panel(chosen(copies(records, "standard", "equal"), seed=0)),
        boundary_panel(chosen(records, part="boundary")),
    ]
    return [panel for panel in found if panel.lines]


def drift_panel(records: Records) -> Panel:
    lines = [
        Line(
            record.setting.weights,
            [step + 1 for step in record.found.curves["step"]],
            [away or math.nan for away in record.found.curves["far"]],
            NAMES.index(record.setting.weights),
        )
        for record in records
    ]
    title = "Exact copies, standard loss"
    return Panel(title, "step + 1", "furthest logit", tuple(lines), x_scale="log", y_scale="log")


def boundary_panel(records: Records) -> Panel:
    ends = [bound for record in records for bound in (record["predicted"] * 0.7, record["predicted"] * 1.4)]
    diagonal = [min(ends, default=1), max(ends, default=1)]
    lines = [
        Line(
            f"beta1 {beta1:g}",
            [record["predicted"] for record in chosen(records, beta1=beta1)],
            [record["seen"] for record in chosen(records, beta1=beta1)],
            style,
            marker,
        )
        for beta1, style, marker in ((0.9, 0, "o"), (0.0, 1, "s"))
    ]
    title = "The epsilon that keeps a copy in place"
    equal = Line("equal", diagonal, diagonal, 3)
    return Panel(title, "predicted", "seen", (equal, *lines) if records else (), x_scale="log", y_scale="log")


def copy_settings(seeds: int, modes: Sequence[str]) -> list[Setting]:
    cells = product(range(seeds), ("standard", "exact-zero"), NAMES, modes)
    steps = {"equal": 2000, "unequal": 500}
    return [Setting("copy", loss, name, mode, 0.9, seed, steps[mode]) for seed, loss, name, mode in cells]


def near_settings(seeds: int) -> list[Setting]:
    cells = product(range(seeds), LOSSES, NAMES)
    return [Setting("near", loss, name, "equal", 0.9, seed, 1000) for seed, loss, name in cells]


def boundary_settings(seeds: int) -> list[Setting]:
    cells = product(range(seeds), (0.9, 0.0))
    return [Setting("boundary", "standard", "float64", "equal", beta1, seed, 1500) for seed, beta1 in cells]


STUDY = Study(
    name="distillation",
    question="Does a student that starts as its teacher stay there?",
    setting=Setting,
    sizes={
        Size.QUICK: [one for one in copy_settings(1, ["equal"]) if one.weights != "bfloat16"],
        Size.NORMAL: [
            *copy_settings(3, ["equal"]),
            *boundary_settings(3),
            *copy_settings(3, ["unequal"]),
            *near_settings(3),
        ],
    },
    measure=measure,
    predictions=PREDICTIONS,
    tables=tables,
    panels=panels,
)
