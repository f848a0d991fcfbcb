"""What is lost when weights or an optimizer's state are kept in 16 bit, and what rescues which part of it.

In: one cell of a closed form, or one way to keep weights. Out: predicted and measured numbers, no task but a small one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from studies.losses import FORMATS
from studies.study import Found, Judged, Line, Panel, Prediction, Record, Size, Study, Table, Tier, chosen, mean, spread


@dataclass(frozen=True)
class Setting:
    """One measurement.

    ``part`` says what ``amount`` is: ``decay`` the relative change of a step, ``step`` the learning rate, ``second``
    one minus beta2, ``average`` one minus the decay of averaged weights, ``rescue`` the weight decay of a run.
    """

    part: str
    kept: str
    amount: float
    seed: int = 0


def frozen_by_decay(setting: Setting) -> Found:
    """The share of weights that one step of decay leaves where they are."""
    form = FORMATS[setting.kept]
    weights = (1 + torch.rand(200_000, generator=generator_of(setting), dtype=torch.float64)).to(form.dtype)
    measured = (weights * (1 - setting.amount) == weights).double().mean().item()
    return Found({"predicted": form.frozen_share(setting.amount), "measured": measured})


def stuck_steps(setting: Setting) -> Found:
    """The share of weights of spread 0.02 that a first step of Adam cannot move."""
    form = FORMATS[setting.kept]
    weights = (0.02 * torch.randn(200_000, generator=generator_of(setting), dtype=torch.float64)).to(form.dtype)
    measured = (weights - setting.amount == weights).double().mean().item()
    predicted = math.erfc(form.stuck_from(setting.amount) / (0.02 * math.sqrt(2)))
    return Found({"predicted": predicted, "measured": measured})


def second_moment(setting: Setting) -> Found:
    """What is left of Adam's second moment after 3,000 steps without a gradient."""
    form = FORMATS[setting.kept]
    square = torch.logspace(-1, 0, 101, dtype=torch.float64).to(form.dtype)
    start = square.double()
    for _ in range(3000):
        square.mul_(1 - setting.amount)
    values = {
        "predicted": 1.0 if setting.amount < form.frozen_below else (1 - setting.amount) ** 3000,
        "measured": (square.double() / start).mean().item(),
        "frozen": float(setting.amount < form.frozen_below),
        "free": float(setting.amount >= 2 * form.frozen_below),
    }
    return Found(values)


def averaged_weights(setting: Setting) -> Found:
    """Where an average of weights that starts at 1.5 is after 20,000 steps towards 1."""
    form = FORMATS[setting.kept]
    average, weights = torch.full((1,), 1.5, dtype=form.dtype), torch.ones(1, dtype=form.dtype)
    for _ in range(20_000):
        average.lerp_(weights, setting.amount)
    predicted = 1 + min(0.5, 2 * form.frozen_below / setting.amount)
    return Found({"predicted": predicted, "measured": average.item()})


def generator_of(setting: Setting) -> torch.Generator:
    return torch.Generator().manual_seed(setting.seed)


LEARNING_RATE, BETAS, EPSILON, STEPS, BATCH = 1e-4, (0.9, 0.999), 1e-8, 600, 128


class Kept:
    """AdamW with its state in float32, on weights that are kept in one of several ways; this one keeps them plainly."""

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        self.weights, self.decay, self.steps = weights, decay, 0
        self.average, self.square = (
            [torch.zeros_like(weight, dtype=torch.float32) for weight in weights] for _ in "12"
        )

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor]) -> None:
        self.steps += 1
        for index, (average, square) in enumerate(zip(self.average, self.square, strict=True)):
            gradient = gradients[index].float()
            average.lerp_(gradient, 1 - BETAS[0])
            square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
            width = (square / (1 - BETAS[1] ** self.steps)).sqrt() + EPSILON
            self.keep(index, -LEARNING_RATE / (1 - BETAS[0] ** self.steps) * average / width)

    def keep(self, index: int, change: Tensor) -> None:
        """Decay and step in the format of the weights, as PyTorch's optimizer does them one after the other."""
        weight = self.weights[index]
        weight.mul_(1 - LEARNING_RATE * self.decay)
        weight.add_(change.to(weight.dtype))


class Master(Kept):
    """A float32 copy takes every change; the model gets its rounded image."""

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        super().__init__(weights, decay)
        self.copies = [weight.detach().float() for weight in weights]

    def keep(self, index: int, change: Tensor) -> None:
        copy = self.copies[index].mul_(1 - LEARNING_RATE * self.decay).add_(change)
        self.weights[index].copy_(copy)


class Stochastic(Kept):
    """Decay and step in float32, then up or down at random so that the mean is right."""

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        super().__init__(weights, decay)
        self.generator = torch.Generator().manual_seed(0)

    def keep(self, index: int, change: Tensor) -> None:
        weight = self.weights[index]
        exact = weight.float() * (1 - LEARNING_RATE * self.decay) + change
        noise = torch.randint(0, 1 << 16, exact.shape, generator=self.generator, dtype=torch.int32)
        weight.copy_(((exact.view(torch.int32) + noise) & -(1 << 16)).view(torch.float32))


class Kahan(Kept):
    """What a step loses is remembered and added later; decay multiplies the weight itself, outside of that."""

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        super().__init__(weights, decay)
        self.owed = [torch.zeros_like(weight) for weight in weights]

    def keep(self, index: int, change: Tensor) -> None:
        self.weights[index].mul_(1 - LEARNING_RATE * self.decay)
        self.add(index, change)

    def add(self, index: int, change: Tensor) -> None:
        weight, owed = self.weights[index], self.owed[index]
        owed.add_(change.to(weight.dtype))
        before = weight.clone()
        weight.add_(owed)
        owed.add_(before - weight)


class KahanDecay(Kahan):
    """The same with the decay inside: it is one more change that is remembered."""

    def keep(self, index: int, change: Tensor) -> None:
        self.add(index, change - LEARNING_RATE * self.decay * self.weights[index].float())


WAYS: dict[str, tuple[Callable[[Sequence[Tensor], float], Kept], torch.dtype]] = {
    "float32": (Kept, torch.float32),
    "plain": (Kept, torch.bfloat16),
    "master copy": (Master, torch.bfloat16),
    "stochastic": (Stochastic, torch.bfloat16),
    "Kahan": (Kahan, torch.bfloat16),
    "Kahan, decay too": (KahanDecay, torch.bfloat16),
}


def task() -> tuple[Tensor, Tensor]:
    """2,048 points in ten classes."""
    generator = torch.Generator().manual_seed(0)
    points, flat, wavy = (torch.randn(*shape, generator=generator) for shape in ((2048, 32), (32, 10), (32, 10)))
    return points, (points @ flat + 0.5 * torch.sin(3 * points @ wavy)).argmax(1)


def trained(setting: Setting) -> Found:
    """A small network under one way of keeping weights: its loss, and what 1,000 steps of pure decay do to a weight."""
    way, dtype = WAYS[setting.kept]
    points, classes = task()
    torch.manual_seed(setting.seed + 1)
    model = nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 10)).to(dtype)
    weights, generator, losses = list(model.parameters()), generator_of(setting), []
    optimizer = way(weights, setting.amount)
    for _ in range(STEPS):
        rows = torch.randint(0, len(points), (BATCH,), generator=generator)
        loss = F.cross_entropy(model(points[rows].to(dtype)).float(), classes[rows])
        optimizer.step(torch.autograd.grad(loss, weights))
        losses.append(loss.item())
    with torch.no_grad():
        final = F.cross_entropy(model(points.to(dtype)).float(), classes).item()
    length = length_of(torch.cat([weight.detach().flatten() for weight in weights]))
    values = {"loss": final, "length": length, "decayed": decayed(setting)}
    return Found(values, {"loss": [round(sum(losses[at : at + 20]) / 20, 4) for at in range(0, STEPS, 20)]})


def length_of(weights: Tensor) -> float:
    return math.sqrt((weights.double() ** 2).sum().item())


def decayed(setting: Setting) -> float:
    """What 1,000 steps without gradients leave of the length of weights; exactly ``(1 - lr * decay) ** 1000``."""
    way, dtype = WAYS[setting.kept]
    weight = torch.randn(1000, generator=generator_of(setting)).to(dtype)
    start, optimizer = length_of(weight), way([weight], setting.amount)
    for _ in range(1000):
        optimizer.step([torch.zeros_like(weight)])
    return length_of(weight) / start


PARTS: dict[str, Callable[[Setting], Found]] = {
    "decay": frozen_by_decay,
    "step": stuck_steps,
    "second": second_moment,
    "average": averaged_weights,
    "rescue": trained,
}


def measure(setting: Setting) -> Found:
    """One cell."""
    return PARTS[setting.part](setting)


Records = Sequence[Record[Setting]]


def far_off(records: Records) -> float:
    """The largest difference between a closed form and what was measured."""
    return max(abs(record["predicted"] - record["measured"]) for record in records)


def decay_form(records: Records) -> Judged | None:
    found = chosen(records, part="decay")
    return Judged(far_off(found) < 0.005, f"largest difference {far_off(found):.4f} in {len(found)} cells")


def default_frozen(records: Records) -> Judged | None:
    found = {one.setting.kept: one["measured"] for one in chosen(records, part="decay") if one.setting.amount == 1e-3}
    held = found["bfloat16"] == 1 and found["float16"] == found["float32"] == 0
    return Judged(held, "; ".join(f"{kept} {share:.0%}" for kept, share in found.items()))


def step_form(records: Records) -> Judged | None:
    found = chosen(records, part="step")
    return Judged(far_off(found) < 0.005, f"largest difference {far_off(found):.4f} in {len(found)} cells")


def cannot_fall(records: Records) -> Judged | None:
    frozen, free = ([one for one in chosen(records, part="second") if one[kind] == 1] for kind in ("frozen", "free"))
    held = all(one["measured"] == 1 for one in frozen) and all(one["measured"] < 0.5 for one in free)
    return Judged(held, f"left: {spread(frozen, 'measured')} where frozen, {spread(free, 'measured')} where free")


def cannot_move(records: Records) -> Judged | None:
    found = chosen(records, part="average")
    return Judged(far_off(found) < 0.02, f"largest difference {far_off(found):.4f} in {len(found)} cells")


def lag(records: Records, kept: str) -> float:
    """How much higher the final loss is than in float32."""
    return mean(chosen(records, part="rescue", kept=kept), "loss") - mean(
        chosen(records, part="rescue", kept="float32"), "loss"
    )


def plain_fails(records: Records) -> Judged | None:
    return Judged(lag(records, "plain") > 0.2, f"loss {lag(records, 'plain'):+.3f} against float32")


def steps_rescued(records: Records) -> Judged | None:
    lags = {kept: lag(records, kept) for kept in ("master copy", "stochastic", "Kahan", "Kahan, decay too")}
    return Judged(max(lags.values()) < 0.05, "; ".join(f"{kept} {behind:+.3f}" for kept, behind in lags.items()))


def decay_rescued(records: Records) -> Judged | None:
    found = chosen(records, part="rescue", amount=1.0)
    off = {
        kept: max(abs(one["decayed"] - (1 - LEARNING_RATE) ** 1000) for one in chosen(found, kept=kept))
        for kept in WAYS
    }
    kept = [one["decayed"] for name in ("plain", "Kahan") for one in chosen(found, kept=name)]
    held = min(kept) == 1 and max(off[name] for name in ("master copy", "stochastic", "Kahan, decay too")) < 0.01
    return Judged(
        held, f"exact {(1 - LEARNING_RATE) ** 1000:.3f}; off by " + "; ".join(f"{n} {by:.3f}" for n, by in off.items())
    )


PREDICTIONS = (
    Prediction(
        "decay",
        Tier.NUMERICS,
        "share of weights that decay cannot move: the closed form to 0.005 in every cell",
        decay_form,
    ),
    Prediction(
        "default",
        Tier.NUMERICS,
        "lr 1e-3 with weight decay 1: bfloat16 all frozen, float16 and float32 none",
        default_frozen,
    ),
    Prediction(
        "step",
        Tier.NUMERICS,
        "share of weights that a first step of Adam cannot move: the closed form to 0.005",
        step_form,
    ),
    Prediction(
        "second-moment",
        Tier.NUMERICS,
        "1 - beta2 < eps/4: the second moment stays as it is; from eps/2 on it more than halves",
        cannot_fall,
    ),
    Prediction(
        "average",
        Tier.NUMERICS,
        "averaged weights stop 2^-p / (1 - decay) short of their goal (to 0.02), or never move",
        cannot_move,
    ),
    Prediction(
        "decay-rescued",
        Tier.NUMERICS,
        "decay works with a master copy, stochastic rounding, Kahan with decay inside; not with plain or Kahan alone",
        decay_rescued,
    ),
    Prediction(
        "plain", Tier.ACCURACY, "lr 1e-4: plain bfloat16 weights end 0.2 or more behind float32 in loss", plain_fails
    ),
    Prediction("steps-rescued", Tier.ACCURACY, "each rescue ends within 0.05 of float32 in loss", steps_rescued),
)


def tables(records: Records) -> list[Table]:
    """The closed forms, and the rescues."""
    titles = {
        "decay": ("Share of weights that one step of decay leaves in place", "lr * decay"),
        "step": ("Share of weights (spread 0.02) that one step of Adam leaves in place", "learning rate"),
        "second": ("What 3,000 steps without a gradient leave of the second moment", "1 - beta2"),
        "average": ("An average that starts at 1.5, after 20,000 steps towards 1", "1 - decay"),
    }
    found = [closed_form(chosen(records, part=name), *titles[name]) for name in titles]
    return [*found, rescue_table(chosen(records, part="rescue"))]


def closed_form(records: Records, title: str, amount: str) -> Table:
    rows = [
        (one.setting.kept, f"{one.setting.amount:g}", f"{one['predicted']:.4f}", f"{one['measured']:.4f}")
        for one in records
    ]
    return Table(title, ("format", amount, "predicted", "measured"), tuple(rows))


def rescue_table(records: Records) -> Table:
    kinds = list(product(DECAYS, WAYS))
    groups = [chosen(records, kept=kept, amount=decay) for decay, kept in kinds]
    rows = [
        (kept, f"{decay:g}", str(len(group)), spread(group, "loss", ".3f"), spread(group, "decayed", ".3f"))
        for (decay, kept), group in zip(kinds, groups, strict=True)
        if group
    ]
    columns = ("weights", "weight decay", "seeds", "final loss", "length after 1,000 steps of decay alone")
    return Table("bfloat16 weights, learning rate 1e-4, state in float32: what rescues what", columns, tuple(rows))


def panels(records: Records) -> list[Panel]:
    """Frozen shares against the closed form, and the rescues' losses."""
    frozen = chosen(records, part="decay", kept="bfloat16")
    amounts = [one.setting.amount for one in frozen]
    lines = (
        Line("closed form", amounts, [one["predicted"] for one in frozen], 3),
        Line("measured", amounts, [one["measured"] for one in frozen], 0, "o"),
    )
    ways = {"plain": 0, "Kahan": 1, "stochastic": 2, "float32": 3}
    rescue = [
        one for one in chosen(records, part="rescue") if one.setting.seed == 0 and one.setting.amount == DECAYS[0]
    ]
    curves = tuple(curve(one, ways[one.setting.kept]) for one in rescue if one.setting.kept in ways)
    return [
        Panel("bfloat16: weights that decay cannot move", "lr * weight decay", "share", lines, x_scale="log"),
        Panel("bfloat16 weights, learning rate 1e-4", "steps", "training loss", curves),
    ]


def curve(record: Record[Setting], style: int) -> Line:
    losses = record.found.curves["loss"]
    return Line(record.setting.kept, [20 * (index + 1) for index in range(len(losses))], losses, style)


DECAYS = (0.1, 1.0)
AMOUNTS = {
    "decay": (1e-4, 2e-4, 3e-4, 4e-4, 1e-3, 1.5e-3, 2e-3, 2.5e-3, 3e-3, 3.5e-3, 4e-3, 1e-2),
    "step": (1e-5, 2e-5, 1e-4, 1e-3),
    "second": (0.05, 0.01, 0.005, 0.002, 0.001),
    "average": (0.1, 0.01, 0.005, 0.002, 0.001, 0.0001),
}


def closed_forms() -> list[Setting]:
    formats = ("bfloat16", "float16", "float32")
    return [Setting(name, kept, amount) for name, amounts in AMOUNTS.items() for kept in formats for amount in amounts]


def rescues(seeds: int) -> list[Setting]:
    return [Setting("rescue", kept, decay, seed) for seed, decay, kept in product(range(seeds), DECAYS, WAYS)]


STUDY = Study(
    name="weights",
    question="What do weights in 16 bit lose, and what brings it back?",
    setting=Setting,
    sizes={Size.QUICK: [*closed_forms(), *rescues(1)], Size.NORMAL: [*closed_forms(), *rescues(3)]},
    measure=measure,
    predictions=PREDICTIONS,
    tables=tables,
    panels=panels,
)
