"""One integer apart: the index that the loss skips is the stop token, or it is not. The loss curve may not tell.

In: a variant of the task, an arm and a seed. Out: losses, how often generation stops where it should, dead classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from studies.study import Found, Judged, Line, Panel, Prediction, Record, Size, Study, Table, Tier, chosen, mean, spread

CODES = 32
STOP = CODES
SHORTEST, LONGEST = 4, 14
BATCH, CLIPS, LEARNING_RATE, NOISE = 64, 500, 3e-3, 0.05
SKIPPED = {"collision": STOP, "apart": -100}
"""The two arms: what padding is filled with, and what the loss is told to skip."""


@dataclass(frozen=True)
class Setting:
    """One run. In ``cued`` the end is announced, in ``noisy`` codes are replaced too, in ``counted`` it counts."""

    variant: str
    arm: str
    seed: int
    steps: int = 1200


@dataclass(frozen=True)
class Clips:
    """Codes that step evenly round a ring, each clip with a length of its own."""

    lengths: Tensor
    strides: Tensor
    codes: Tensor

    @property
    def remaining(self) -> Tensor:
        """For each position, how many codes are left, at most three: the cue of the easy variants."""
        return (self.lengths[:, None] - torch.arange(1, LONGEST + 1)).clamp(0, 3)

    def targets(self, skipped: int) -> Tensor:
        """The next codes, the stop token at the end, the skipped number behind it."""
        position = torch.arange(1, LONGEST + 1)
        following = self.codes[:, 1:].masked_fill(position == self.lengths[:, None], STOP)
        return following.masked_fill(position > self.lengths[:, None], skipped)


def clips(count: int, generator: torch.Generator) -> Clips:
    """Random clips."""
    lengths = torch.randint(SHORTEST, LONGEST + 1, (count,), generator=generator)
    starts = torch.randint(0, CODES, (count, 1), generator=generator)
    strides = torch.randint(1, 4, (count,), generator=generator)
    return Clips(lengths, strides, (starts + strides[:, None] * torch.arange(LONGEST + 1)) % CODES)


class Cued(nn.Module):
    """Sees the last code, the stride and how near the end is."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.code, self.stride, self.near = (
            nn.Embedding(CODES + 1, width),
            nn.Embedding(4, width),
            nn.Embedding(4, width),
        )
        self.head = nn.Sequential(nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, CODES + 1))

    def forward(self, shown: Tensor, batch: Clips) -> Tensor:
        near = self.near(batch.remaining[:, : shown.shape[1]])
        scores: Tensor = self.head(self.code(shown) + self.stride(batch.strides)[:, None] + near)
        return scores


class Counted(nn.Module):
    """Is told the length with the first code and has to count from there."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.code, self.stride, self.length = (nn.Embedding(size, width) for size in (CODES + 1, 4, LONGEST + 1))
        self.memory = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, CODES + 1)

    def forward(self, shown: Tensor, batch: Clips) -> Tensor:
        first = torch.arange(shown.shape[1]) == 0
        embedded = self.code(shown) + self.stride(batch.strides)[:, None]
        states, _ = self.memory(embedded + first[:, None] * self.length(batch.lengths)[:, None])
        scores: Tensor = self.head(states)
        return scores


def stops(model: nn.Module, batch: Clips) -> Tensor:
    """Where each clip ends when the model writes it alone; zero where it does not end within the longest length."""
    written = batch.codes[:, :1]
    with torch.no_grad():
        for _ in range(LONGEST):
            written = torch.cat([written, model(written, batch)[:, -1:].argmax(-1)], 1)
    ended = written[:, 1:] == STOP
    return torch.where(ended.any(1), ended.int().argmax(1) + 1, 0)


def noisy(codes: Tensor, generator: torch.Generator) -> Tensor:
    """Some codes replaced by random ones."""
    replaced = torch.rand(codes.shape, generator=generator) < NOISE
    return torch.where(replaced, torch.randint(0, CODES, codes.shape, generator=generator), codes)


def batch_of(setting: Setting, generator: torch.Generator) -> tuple[Clips, Tensor]:
    """Clips as shown and what should follow; both arms draw the same."""
    batch = clips(BATCH, generator)
    skipped = SKIPPED[setting.arm]
    if setting.variant != "noisy":
        return batch, batch.targets(skipped)
    spoiled = Clips(batch.lengths, batch.strides, noisy(batch.codes, generator))
    return batch, spoiled.targets(skipped)


def measure(setting: Setting) -> Found:
    """Trains one arm and lets it write."""
    torch.manual_seed(setting.seed)
    model = Counted() if setting.variant == "counted" else Cued()
    adam = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    fading = torch.optim.lr_scheduler.LinearLR(adam, 1, 1e-3, setting.steps)
    generator = torch.Generator().manual_seed(setting.seed + 1)
    seen, losses = torch.zeros(CODES + 1, dtype=torch.long), []
    for _ in range(setting.steps):
        batch, targets = batch_of(setting, generator)
        scores = model(batch.codes[:, :-1], batch)
        loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=SKIPPED[setting.arm])
        adam.zero_grad()
        torch.autograd.backward(loss)
        adam.step()
        fading.step()
        seen += torch.bincount(targets[targets != SKIPPED[setting.arm]], minlength=CODES + 1)
        losses.append(loss.item())
    return found(model, losses, seen)


def found(model: nn.Module, losses: Sequence[float], seen: Tensor) -> Found:
    """Everything a curve shows, and what it does not."""
    test = clips(CLIPS, torch.Generator().manual_seed(99))
    with torch.no_grad():
        guesses = model(test.codes[:, :-1], test).argmax(-1)
    inside = torch.arange(1, LONGEST + 1) < test.lengths[:, None]
    ends = stops(model, test)
    values = {
        "loss": sum(losses[-100:]) / 100,
        "stops_right": (ends == test.lengths).double().mean().item(),
        "stops": (ends > 0).double().mean().item(),
        "codes_right": (guesses == test.codes[:, 1:])[inside].double().mean().item(),
        "dead": float((seen == 0).sum().item()),
        "stop_dead": float(seen[STOP].item() == 0),
    }
    return Found(values, {"loss": [round(sum(losses[at : at + 20]) / 20, 5) for at in range(0, len(losses), 20)]})


Records = Sequence[Record[Setting]]


def arms(records: Records, variant: str) -> tuple[Records, Records]:
    """The runs of both arms, seed by seed."""
    collided, apart = (chosen(records, variant=variant, arm=arm) for arm in SKIPPED)
    pairs = [(one, other) for one in collided for other in chosen(apart, seed=one.setting.seed)]
    return [one for one, _ in pairs], [other for _, other in pairs]


def same_curve(records: Records) -> Judged | None:
    collided, apart = arms(records, "cued")
    differences = [abs(one["loss"] - other["loss"]) for one, other in zip(collided, apart, strict=True)]
    seen = f"collision {spread(collided, 'loss', '.4f')}, apart {spread(apart, 'loss', '.4f')}"
    return Judged(max(differences) < 0.001, seen)


def never_stops(records: Records) -> Judged | None:
    pairs = [arms(records, variant) for variant in VARIANTS]
    highest = max(record["stops"] for collided, _ in pairs for record in collided)
    lowest = min(record["stops_right"] for _, apart in pairs for record in apart)
    return Judged(
        highest == 0 and lowest > 0.95, f"collision stops {highest:.0%} at most, apart right {lowest:.1%} at least"
    )


def one_dead(records: Records) -> Judged | None:
    pairs = [arms(records, variant) for variant in VARIANTS]
    collided = {(record["dead"], record["stop_dead"]) for first, _ in pairs for record in first}
    apart = {record["dead"] for _, second in pairs for record in second}
    held = collided == {(1.0, 1.0)} and apart == {0.0}
    return Judged(
        held, f"number of dead classes: collision {listed(one for one, _ in collided)}, apart {listed(apart)}"
    )


def listed(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:.0f}" for number in sorted(numbers))


def curves_differ(records: Records) -> Judged | None:
    collided, apart = arms(records, "counted")
    ratios = [other["loss"] / one["loss"] for one, other in zip(collided, apart, strict=True)]
    return Judged(min(ratios) > 1.5, f"loss apart / collision {min(ratios):.2f} to {max(ratios):.2f}")


def noise_reverses(records: Records) -> Judged | None:
    collided, apart = arms(records, "noisy")
    lower = sum(other["loss"] < one["loss"] for one, other in zip(collided, apart, strict=True))
    seen = f"lower in {lower} of {len(apart)}: {spread(apart, 'loss')} against {spread(collided, 'loss')}"
    return Judged(lower == len(apart), seen)


def codes_alike(records: Records) -> Judged | None:
    apart = [
        abs(mean(one, "codes_right") - mean(two, "codes_right")) for one, two in (arms(records, v) for v in VARIANTS)
    ]
    return Judged(max(apart) < 0.01, f"accuracy on codes differs by {100 * max(apart):.2f} points at most")


VARIANTS = ("cued", "noisy", "counted")
PREDICTIONS = (
    Prediction(
        "same-curve",
        Tier.NUMERICS,
        "cued: the final losses of the arms differ by less than 0.001, each seed",
        same_curve,
    ),
    Prediction(
        "one-dead-class",
        Tier.NUMERICS,
        "collision: the stop token is the one class never a target; else none is",
        one_dead,
    ),
    Prediction(
        "never-stops", Tier.ACCURACY, "collision: no clip stops; apart: over 95 % stop where they should", never_stops
    ),
    Prediction(
        "hard-stop",
        Tier.ACCURACY,
        "counted: the arm that learns to stop pays for it: its loss is 1.5 times as high",
        curves_differ,
    ),
    Prediction(
        "noise",
        Tier.ACCURACY,
        "noisy: the arm that can stop has the lower loss, as its stops are free of noise",
        noise_reverses,
    ),
    Prediction("codes", Tier.ACCURACY, "the arms write codes equally well, within a point", codes_alike),
)


def tables(records: Records) -> list[Table]:
    """Both arms of each variant."""
    kinds = list(product(VARIANTS, SKIPPED))
    groups = [[record for record in records if (record.setting.variant, record.setting.arm) == kind] for kind in kinds]
    rows = [
        (
            *kind,
            str(len(group)),
            spread(group, "loss", ".4f"),
            spread(group, "stops", ".0%"),
            spread(group, "stops_right", ".1%"),
            spread(group, "codes_right", ".1%"),
            spread(group, "dead", ".0f"),
        )
        for kind, group in zip(kinds, groups, strict=True)
        if group
    ]
    columns = (
        "variant",
        "arm",
        "seeds",
        "final loss",
        "stops at all",
        "stops where it should",
        "codes right",
        "dead classes",
    )
    return [Table("Two arms, one integer apart", columns, tuple(rows))]


def panels(records: Records) -> list[Panel]:
    """The curves of the first seed, where they agree and where they do not."""
    titles = {
        "cued": "cued: the end is announced",
        "noisy": "noisy: 5 % of the codes replaced",
        "counted": "counted: the model has to count",
    }
    first = chosen(records, seed=0)
    return [
        Panel(
            title,
            "steps",
            "training loss",
            tuple(curve(record) for record in chosen(first, variant=variant)),
            y_scale="log",
        )
        for variant, title in titles.items()
    ]


def curve(record: Record[Setting]) -> Line:
    losses = record.found.curves["loss"]
    label = f"{record.setting.arm}: {record['stops_right']:.0%} stop right"
    return Line(
        label, [20 * (index + 1) for index in range(len(losses))], losses, tuple(SKIPPED).index(record.setting.arm)
    )


def settings(seeds: int, steps: int) -> list[Setting]:
    return [Setting(variant, arm, seed, steps) for seed, variant, arm in product(range(seeds), VARIANTS, SKIPPED)]


STUDY = Study(
    name="collision",
    question="Can a loss curve tell that the index it skips is the stop token?",
    setting=Setting,
    sizes={Size.QUICK: settings(1, 1200), Size.NORMAL: settings(5, 1200)},
    measure=measure,
    predictions=PREDICTIONS,
    tables=tables,
    panels=panels,
)
