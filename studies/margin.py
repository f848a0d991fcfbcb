"""How far confidence can grow: the loss decides where its signal ends, Adam's epsilon where its steps do.

In: a loss, a format for the weights, one for the loss, an epsilon and a seed. Out: margins and who gets a signal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean, median

import torch
from torch import Tensor

from studies.losses import FORMATS, Loss, cross_entropy, margin
from studies.modular import AdamW, data, initial, logits
from studies.study import Found, Judged, Line, Panel, Prediction, Record, Size, Study, Table, Tier, chosen, mean, spread

STEPS = 6000
EVERY = 20
"""Steps between two looks. The margin swings over some hundred steps, and the look costs as much as a step."""
EPSILONS = (1e-8, 1e-12, 1e-16)


@dataclass(frozen=True)
class Setting:
    """One run; ``at_loss`` is the format that the logits are cast to in front of the loss."""

    loss: str
    weights: str
    at_loss: str
    eps: float
    seed: int
    steps: int = STEPS


def objective(setting: Setting, weights: Tensor, sums: Tensor, answers: Tensor) -> Tensor:
    """The mean loss over the sums of one model."""
    cast = logits(weights, sums).to(FORMATS[setting.at_loss].dtype)
    return cross_entropy(Loss(setting.loss), cast, answers).mean()


def total_of_rows(setting: Setting, scores: Tensor, answers: Tensor) -> Tensor:
    """The loss as a function of the logits that reach it."""
    return cross_entropy(Loss(setting.loss), scores, answers).sum()


@dataclass
class Course:
    """What was seen along one run, one entry for each look."""

    margins: list[float]
    silent: list[float]
    right: list[float]

    def look(self, setting: Setting, weights: Tensor, shown: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
        """Adds the median margin, the share of rows without signal for the right class, and the unseen accuracy."""
        sums, answers, unseen, unseen_answers = shown
        with torch.no_grad():
            scores = logits(weights, sums)
            guesses = logits(weights, unseen).argmax(-1)
        self.margins.append(margin(scores.double(), answers).median().item())
        self.silent.append(silent_share(setting, scores, answers))
        self.right.append((guesses == unseen_answers).double().mean().item())

    def found(self) -> Found:
        """The last quarter of the run in a few numbers, and the curves at four digits."""
        end = len(self.margins) * 3 // 4
        last = self.margins[end:]
        values = {
            "margin": median(last),
            "lowest": min(last),
            "highest": max(last),
            "peak": max(self.margins),
            "silent": max(self.silent),
            "silent_at_end": max(self.silent[end:]),
            "accuracy": fmean(self.right[end:]),
        }
        curves = {"margin": self.margins, "silent": self.silent, "accuracy": self.right}
        return Found(values, {name: [float(f"{number:.4g}") for number in curve] for name, curve in curves.items()})


def silent_share(setting: Setting, scores: Tensor, answers: Tensor) -> float:
    """The share of rows whose right class gets exactly no gradient while another class still gets some."""
    leaf = scores.detach().to(FORMATS[setting.at_loss].dtype).requires_grad_()
    (gradient,) = torch.autograd.grad(total_of_rows(setting, leaf, answers), leaf)
    target = gradient.gather(-1, answers[:, None]).squeeze(-1)
    return ((target == 0) & (gradient != 0).any(-1)).double().mean().item()


def training(setting: Setting) -> Iterator[Tensor]:
    """The weights of one run after each step; always the same tensor."""
    sums, answers, _, _ = data(setting.seed)
    weights = initial(setting.seed).to(FORMATS[setting.weights].dtype).requires_grad_()
    adam = AdamW(weights.detach(), setting.eps)
    for _ in range(setting.steps):
        (gradient,) = torch.autograd.grad(objective(setting, weights, sums, answers), weights)
        adam.step(gradient)
        yield adam.weights


def measure(setting: Setting) -> Found:
    """One run."""
    shown, course = data(setting.seed), Course([], [], [])
    for step, weights in enumerate(training(setting), 1):
        if step % EVERY == 0:
            course.look(setting, weights, shown)
    return course.found()


def batches(settings: Sequence[Setting]) -> Iterator[list[Setting]]:
    """Runs that differ in seed and epsilon alone can be computed side by side."""
    kinds = dict.fromkeys(replace(setting, seed=0, eps=0.0) for setting in settings)
    for kind in kinds:
        yield [setting for setting in settings if replace(setting, seed=0, eps=0.0) == kind]


def training_batch(settings: Sequence[Setting], device: str) -> Iterator[Tensor]:
    """The weights of many runs after each step, one row for each run."""
    kind = settings[0]
    dtype = FORMATS[kind.weights].dtype
    shown = [data(setting.seed) for setting in settings]
    sums, answers = (torch.stack([parts[index] for parts in shown]).to(device) for index in (0, 1))
    weights = torch.stack([initial(setting.seed) for setting in settings]).to(device, dtype)
    eps = torch.tensor([setting.eps for setting in settings], dtype=torch.float64)[:, None].to(device, dtype)
    adam = AdamW(weights, eps)
    gradients = torch.func.vmap(torch.func.grad(lambda *model: objective(kind, *model)))
    for _ in range(kind.steps):
        adam.step(gradients(weights, sums, answers))
        yield weights


def measure_batch(settings: Sequence[Setting], device: str) -> list[Found]:
    """Many runs at once, batched over seeds and epsilons."""
    shown = [tuple(part.to(device) for part in data(setting.seed)) for setting in settings]
    courses = [Course([], [], []) for _ in settings]
    for step, rows in enumerate(training_batch(settings, device), 1):
        if step % EVERY == 0:
            for setting, course, weights, (sums, answers, unseen, others) in zip(
                settings, courses, rows, shown, strict=True
            ):
                course.look(setting, weights, (sums, answers, unseen, others))
    return [course.found() for course in courses]


def capped(records: Sequence[Record[Setting]]) -> Judged | None:
    standard = chosen(records, loss="standard", weights="float32", at_loss="float32", steps=STEPS)
    if not standard:
        return None
    return Judged(max(record["margin"] for record in standard) < 16.6, f"medians {spread(standard, 'margin')}")


def swinging(records: Sequence[Record[Setting]]) -> Judged | None:
    exact = chosen(records, weights="float32", at_loss="float32", steps=STEPS)
    swings = {
        loss: [record["highest"] - record["lowest"] for record in chosen(exact, loss=loss)]
        for loss in ("standard", "fixed")
    }
    if not all(swings.values()):
        return None
    low, high = min(swings["standard"]), max(swings["fixed"])
    return Judged(low > 2 and high < 1, f"smallest swing of standard {low:.3g}, largest of fixed {high:.3g}")


def silent_standard(records: Sequence[Record[Setting]]) -> Judged | None:
    standard = chosen(records, loss="standard", weights="float32", at_loss="float32", steps=STEPS)
    if not standard:
        return None
    worst = max(record["silent"] for record in standard)
    return Judged(worst > 0.4, f"worst {worst:.0%}; by run {spread(standard, 'silent')}")


def never_silent(records: Sequence[Record[Setting]]) -> Judged | None:
    fixed = [record for record in chosen(records, loss="fixed") if record.setting.weights != "bfloat16"]
    if not fixed:
        return None
    worst = max(record["silent"] for record in fixed)
    return Judged(worst == 0, f"largest share {worst:.3g} in {len(fixed)} runs")


def settled(records: Sequence[Record[Setting]]) -> Judged | None:
    fixed = [
        record
        for record in chosen(records, loss="fixed", steps=STEPS)
        if record.setting.weights == record.setting.at_loss
    ]
    fixed = [record for record in fixed if record.setting.weights != "bfloat16"]
    if {(record.setting.weights, record.setting.eps) for record in fixed} != set(product(WIDE, EPSILONS)):
        return None
    offsets = [record["margin"] + math.log(record.setting.eps) + 2 for record in fixed]
    return Judged(max(map(abs, offsets)) < 1, f"off by {min(offsets):+.2f} to {max(offsets):+.2f}")


Sides = tuple[list[Record[Setting]], list[Record[Setting]]]


def of_same_seeds(one: Sequence[Record[Setting]], other: Sequence[Record[Setting]]) -> Sides:
    """Both without the seeds that only one of them has: seeds differ by more than what is compared."""
    seeds = {record.setting.seed for record in one} & {record.setting.seed for record in other}
    first, second = ([record for record in side if record.setting.seed in seeds] for side in (one, other))
    return first, second


def gap(records: Sequence[Record[Setting]], one: dict[str, str], other: dict[str, str]) -> dict[float, float]:
    """By epsilon, how far the mean margins of two kinds of runs are apart."""
    sides = {
        eps: of_same_seeds(*(chosen(records, steps=STEPS, eps=eps, **kind) for kind in (one, other)))
        for eps in EPSILONS
    }
    return {eps: mean(first, "margin") - mean(second, "margin") for eps, (first, second) in sides.items() if first}


def both_formats(records: Sequence[Record[Setting]]) -> Judged | None:
    gaps = gap(records, kind_of("fixed", "float32"), kind_of("fixed", "float64"))
    if len(gaps) < len(EPSILONS):
        return None
    return Judged(
        max(map(abs, gaps.values())) < 0.5, ", ".join(f"{eps:g}: {apart:+.2f}" for eps, apart in gaps.items())
    )


def kind_of(loss: str, dtype: str) -> dict[str, str]:
    """Fields of the runs in one format throughout."""
    return {"loss": loss, "weights": dtype, "at_loss": dtype}


def wide_enough(records: Sequence[Record[Setting]], loss: str, dtype: str) -> Judged | None:
    """A loss with the cutoff of float64 equals the fixed one until that is reached, and then leaves rows silent."""
    gaps = gap(records, kind_of(loss, dtype), kind_of("fixed", dtype))
    last = chosen(records, eps=1e-16, steps=STEPS, **kind_of(loss, dtype))
    if len(gaps) < len(EPSILONS):
        return None
    silent = max(record["silent"] for record in last)
    apart = ", ".join(f"{eps:g}: {gaps[eps]:+.2f}" for eps in EPSILONS[:2])
    return Judged(max(abs(gaps[eps]) for eps in EPSILONS[:2]) < 0.5 and silent > 0, f"{apart}; silent {silent:.0%}")


def upcast(records: Sequence[Record[Setting]]) -> Judged | None:
    return wide_enough(records, "upcast", "float32")


def double(records: Sequence[Record[Setting]]) -> Judged | None:
    return wide_enough(records, "standard", "float64")


def stalled(records: Sequence[Record[Setting]], at_loss: str, limit: float) -> Judged | None:
    """With 16 bit at the loss alone, the standard loss stays below a limit in every run, the fixed one does not."""
    kinds = {loss: chosen(records, loss=loss, weights="float32", at_loss=at_loss) for loss in ("standard", "fixed")}
    if not all(kinds.values()):
        return None
    high, low = (
        max(record["margin"] for record in kinds["standard"]),
        min(record["margin"] for record in kinds["fixed"]),
    )
    return Judged(high < limit and low > 10, f"standard {spread(kinds['standard'], 'margin')}, fixed from {low:.3g}")


def stalled_bfloat16(records: Sequence[Record[Setting]]) -> Judged | None:
    return stalled(records, "bfloat16", 5.6)


def stalled_float16(records: Sequence[Record[Setting]]) -> Judged | None:
    return stalled(records, "float16", 7.7)


def narrow_weights(records: Sequence[Record[Setting]]) -> Judged | None:
    narrow = chosen(records, weights="bfloat16", steps=STEPS)
    if not narrow:
        return None
    return Judged(max(record["accuracy"] for record in narrow) < 0.3, f"accuracy {spread(narrow, 'accuracy')}")


def gain(records: Sequence[Record[Setting]], **fields: str | float) -> float | None:
    """By how many points of accuracy the fixed loss leads the standard one, on average over seeds."""
    fixed, standard = of_same_seeds(
        *(chosen(records, loss=loss, steps=STEPS, **fields) for loss in ("fixed", "standard"))
    )
    return 100 * (mean(fixed, "accuracy") - mean(standard, "accuracy")) if fixed else None


def gain_at_default(records: Sequence[Record[Setting]]) -> Judged | None:
    points = gain(records, weights="float32", at_loss="float32", eps=1e-8)
    return None if points is None else Judged(points > 0, f"{points:+.1f} points")


def loss_at_smallest(records: Sequence[Record[Setting]]) -> Judged | None:
    points = gain(records, weights="float32", at_loss="float32", eps=1e-16)
    return None if points is None else Judged(points < 0, f"{points:+.1f} points")


def gain_in_bfloat16(records: Sequence[Record[Setting]]) -> Judged | None:
    points = gain(records, weights="float32", at_loss="bfloat16", eps=1e-8)
    return None if points is None else Judged(points > 0, f"{points:+.1f} points")


PREDICTIONS = (
    Prediction(
        "cap", Tier.NUMERICS, "float32, standard: the margin ends below the cutoff (16.6) at every epsilon", capped
    ),
    Prediction(
        "swing",
        Tier.NUMERICS,
        "float32: the standard margin still swings by more than 2 in the last quarter, the fixed one by less than 1",
        swinging,
    ),
    Prediction(
        "silent",
        Tier.NUMERICS,
        "float32, standard: at its worst more than 40 % of the examples get no signal for the right class",
        silent_standard,
    ),
    Prediction(
        "never-silent", Tier.NUMERICS, "fixed, weights of 32 or 64 bit: every example keeps its signal", never_silent
    ),
    Prediction(
        "settle",
        Tier.NUMERICS,
        "fixed: the margin settles within 1 of -ln(eps) - 2, in float32 and float64, at all three epsilons",
        settled,
    ),
    Prediction("formats", Tier.NUMERICS, "fixed: float32 and float64 settle within 0.5 of each other", both_formats),
    Prediction(
        "upcast",
        Tier.NUMERICS,
        "float32, upcast: within 0.5 of fixed at 1e-8 and 1e-12, and at 1e-16 some examples go silent",
        upcast,
    ),
    Prediction(
        "double",
        Tier.NUMERICS,
        "float64, standard: within 0.5 of fixed at 1e-8 and 1e-12, and at 1e-16 some examples go silent",
        double,
    ),
    Prediction(
        "bfloat16-at-loss",
        Tier.NUMERICS,
        "bfloat16 at the loss alone: standard stays below 5.6 in every run, fixed goes past 10",
        stalled_bfloat16,
    ),
    Prediction(
        "float16-at-loss",
        Tier.NUMERICS,
        "float16 at the loss alone: standard stays below 7.7 in every run, fixed goes past 10",
        stalled_float16,
    ),
    Prediction(
        "bfloat16-weights", Tier.ACCURACY, "bfloat16 weights: no run gets 30 % of the unseen sums right", narrow_weights
    ),
    Prediction(
        "gain", Tier.ACCURACY, "float32, epsilon 1e-8: fixed gets more unseen sums right than standard", gain_at_default
    ),
    Prediction(
        "reversal", Tier.ACCURACY, "float32, epsilon 1e-16: fixed gets fewer unseen sums right", loss_at_smallest
    ),
    Prediction(
        "gain-bfloat16",
        Tier.ACCURACY,
        "bfloat16 at the loss alone: fixed gets more unseen sums right",
        gain_in_bfloat16,
    ),
)

LOSSES = tuple(loss.value for loss in Loss)
WIDE = ("float32", "float64")


def grid(seeds: int) -> list[Setting]:
    """Formats, losses and epsilons; upcast in float64 is the standard loss, so it is left out."""
    cells = product(range(seeds), ("float32", "float64", "bfloat16"), LOSSES, EPSILONS)
    return [
        Setting(loss, dtype, dtype, eps, seed)
        for seed, dtype, loss, eps in cells
        if (loss, dtype) != ("upcast", "float64")
    ]


def at_loss(formats: Sequence[str], epsilons: Sequence[float], seeds: int) -> list[Setting]:
    """Weights of 32 bit; only the logits are cast, in front of the loss."""
    cells = product(range(seeds), formats, LOSSES, epsilons)
    return [Setting(loss, "float32", dtype, eps, seed) for seed, dtype, loss, eps in cells]


def normal() -> list[Setting]:
    """Three seeds in 32 and 64 bit, one in 16 bit at the default epsilon, and five with 16 bit at the loss alone.

    Seed by seed and within a seed upcast and bfloat16 weights last, so that a grid that is cut short shows the most.
    """
    wide = [setting for setting in grid(3) if setting.weights != "bfloat16"]
    narrow = [setting for setting in grid(1) if setting.weights == "bfloat16" and setting.eps == EPSILONS[0]]
    cast = at_loss(["bfloat16"], EPSILONS[:1], 5) + at_loss(["float16"], EPSILONS[:1], 2)
    return sorted(wide + cast + narrow, key=urgency)


def urgency(setting: Setting) -> tuple[int, bool, bool]:
    return setting.seed, setting.loss == "upcast", setting.weights == "bfloat16"


def quick() -> list[Setting]:
    """Enough for the cutoff of bfloat16; the rest needs longer runs."""
    kinds = product(("standard", "fixed"), ("float32", "bfloat16"))
    return [Setting(loss, "float32", dtype, EPSILONS[0], 0, 1500) for loss, dtype in kinds]


def tables(records: Sequence[Record[Setting]]) -> list[Table]:
    """One row for each kind of run."""
    kinds = dict.fromkeys(replace(record.setting, seed=0) for record in records)
    rows = [row(kind, [record for record in records if replace(record.setting, seed=0) == kind]) for kind in kinds]
    columns = (
        "weights",
        "at the loss",
        "loss",
        "epsilon",
        "seeds",
        "margin at the end",
        "swings",
        "silent",
        "accuracy",
    )
    return [
        Table(
            "Margins (medians over examples, last quarter), mean over seeds (lowest to highest)", columns, tuple(rows)
        )
    ]


def row(kind: Setting, records: Sequence[Record[Setting]]) -> tuple[str, ...]:
    low, high = min(record["lowest"] for record in records), max(record["highest"] for record in records)
    worst = max(record["silent"] for record in records)
    names = (kind.weights, kind.at_loss, kind.loss, f"{kind.eps:g}", str(len(records)))
    return (
        *names,
        spread(records, "margin"),
        f"{low:.1f} to {high:.1f}",
        f"{worst:.0%}",
        spread(records, "accuracy", ".0%"),
    )


def panels(records: Sequence[Record[Setting]]) -> list[Panel]:
    """Margins of the first seed over time: in float32, in float64, and with 16 bit at the loss."""
    first = chosen(records, seed=0)
    kinds = (
        ("float32 throughout", chosen(first, weights="float32", at_loss="float32"), "float32"),
        ("float64 throughout", chosen(first, weights="float64"), "float64"),
        ("float32, bfloat16 at the loss", chosen(first, weights="float32", at_loss="bfloat16"), "bfloat16"),
    )
    return [
        Panel(
            title,
            "steps",
            "median margin",
            tuple(curve(record) for record in shown if record.setting.loss != "upcast"),
            levels=(("cutoff", FORMATS[name].cutoff),),
        )
        for title, shown, name in kinds
        if shown
    ]


def curve(record: Record[Setting]) -> Line:
    margins = record.found.curves["margin"]
    steps = [EVERY * (index + 1) for index in range(len(margins))]
    style = ("standard", "fixed").index(record.setting.loss)
    return Line(record.setting.loss, steps, margins, style)


STUDY = Study(
    name="margin",
    question="How far does confidence grow, and what stops it: the loss, the format or Adam's epsilon?",
    setting=Setting,
    sizes={
        Size.QUICK: quick(),
        Size.NORMAL: normal(),
        Size.FULL: [*grid(20), *at_loss(["bfloat16", "float16"], EPSILONS, 5)],
    },
    measure=measure,
    predictions=PREDICTIONS,
    tables=tables,
    panels=panels,
    batches=batches,
    measure_batch=measure_batch,
)
