"""The checkpoint of the lowest loss against the one that stops best, with whole clips and with some cut too early.

In: how clear the cue for the end is, how many clips there are, the share of them that was cut, and a seed. Out: loss
and stop capability of both checkpoints on unseen clips.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from studies.study import Found, Judged, Line, Panel, Prediction, Record, Size, Study, Table, Tier, chosen, mean, spread

CODES = 32
STOP = CODES
SHORTEST, LONGEST = 4, 14
VOICES = 16
"""Each voice steps through the codes in an order of its own: enough of them that the codes take longer than the end."""
FEATURES = 8
CUE = {"clear": 4.0, "faint": 2.0}
"""How far the features at the end stand out from noise of variance one."""
CLIPS = {"few": 300, "many": 20000}
BATCH, LEARNING_RATE, DECAY, EVERY = 32, 3e-3, 0.01, 50
VALIDATION, TEST = 500, 1000


@dataclass(frozen=True)
class Setting:
    """One run."""

    cue: str
    clips: str
    cut: float
    seed: int
    steps: int = 1500


@dataclass(frozen=True)
class Clips:
    """Clips with what the model sees and what it should answer; in a cut clip the stop token is missing."""

    lengths: Tensor
    voices: Tensor
    codes: Tensor
    features: Tensor
    targets: Tensor

    def __getitem__(self, rows: Tensor) -> Clips:
        return Clips(self.lengths[rows], self.voices[rows], self.codes[rows], self.features[rows], self.targets[rows])


def clips(count: int, setting: Setting, generator: torch.Generator) -> Clips:
    """Random clips of random voices."""
    orders = [torch.randperm(CODES, generator=torch.Generator().manual_seed(voice)) for voice in range(VOICES)]
    following = torch.stack(orders)
    lengths = torch.randint(SHORTEST, LONGEST + 1, (count,), generator=generator)
    voices = torch.randint(0, VOICES, (count,), generator=generator)
    written = [torch.randint(0, CODES, (count,), generator=generator)]
    for _ in range(LONGEST):
        written.append(following[voices, written[-1]])
    codes = torch.stack(written, 1)
    position = torch.arange(1, LONGEST + 1)
    last = position == lengths[:, None]
    features = torch.randn(count, LONGEST, FEATURES, generator=generator)
    features[..., 0] += CUE[setting.cue] * last
    whole = (torch.rand(count, 1, generator=generator) >= setting.cut) & last
    targets = codes[:, 1:].masked_fill(whole, STOP).masked_fill(position > lengths[:, None], -100)
    return Clips(lengths, voices, codes[:, :-1], features, targets)


class Writer(nn.Module):
    """Sees the last code, the voice and the features of the moment."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.code, self.voice = nn.Embedding(CODES, width), nn.Embedding(VOICES, width)
        self.feature = nn.Linear(FEATURES, width)
        self.head = nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, CODES + 1))

    def forward(self, batch: Clips) -> Tensor:
        seen = self.code(batch.codes) + self.voice(batch.voices)[:, None] + self.feature(batch.features)
        scores: Tensor = self.head(seen)
        return scores


def loss_of(model: nn.Module, batch: Clips) -> Tensor:
    return F.cross_entropy(model(batch).flatten(0, 1), batch.targets.flatten(), ignore_index=-100)


def stopping(model: nn.Module, batch: Clips) -> float:
    """The share of clips whose first stop comes where the clip truly ends, cut or not."""
    stopped = model(batch).argmax(-1) == STOP
    first = torch.where(stopped.any(1), stopped.int().argmax(1) + 1, 0)
    return (first == batch.lengths).double().mean().item()


def course(setting: Setting) -> Iterator[tuple[float, float, float, float]]:
    """Validation loss and stopping, test loss and stopping, at every look."""
    torch.manual_seed(setting.seed)
    model = Writer()
    generator = torch.Generator().manual_seed(setting.seed + 1)
    train, validation, test = (clips(count, setting, generator) for count in (CLIPS[setting.clips], VALIDATION, TEST))
    adam = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=DECAY)
    for step in range(1, setting.steps + 1):
        batch = train[torch.randint(0, len(train.lengths), (BATCH,), generator=generator)]
        adam.zero_grad()
        torch.autograd.backward(loss_of(model, batch))
        adam.step()
        if step % EVERY == 0:
            with torch.no_grad():
                seen = [(loss_of(model, held).item(), stopping(model, held)) for held in (validation, test)]
            yield (*seen[0], *seen[1])


def measure(setting: Setting) -> Found:
    """Both checkpoints are chosen on the validation clips and compared on the test clips."""
    looks = list(course(setting))
    lowest = min(looks, key=lambda look: look[0])
    best = max(looks, key=lambda look: look[1])
    values = {
        "lowest_loss": lowest[2],
        "lowest_stops": lowest[3],
        "lowest_step": float(EVERY * (looks.index(lowest) + 1)),
        "best_loss": best[2],
        "best_stops": best[3],
        "best_step": float(EVERY * (looks.index(best) + 1)),
        "lost": 1 - lowest[3] / best[3] if best[3] else 0.0,
        "gained": 1 - lowest[2] / best[2],
    }
    return Found(
        values, {"loss": [round(look[2], 4) for look in looks], "stops": [round(look[3], 4) for look in looks]}
    )


Records = Sequence[Record[Setting]]


def cells(records: Records) -> dict[tuple[str, str, float], Records]:
    """Runs that differ in the seed alone."""
    keys = dict.fromkeys((one.setting.cue, one.setting.clips, one.setting.cut) for one in records)
    return {(cue, amount, cut): chosen(records, cue=cue, clips=amount, cut=cut) for cue, amount, cut in keys}


def lost(records: Records, cut: float) -> dict[str, float]:
    """By cell of this cut, the mean share of stop capability that the lowest loss costs."""
    return {
        f"{cue}, {amount}": mean(group, "lost")
        for (cue, amount, share), group in cells(records).items()
        if share == cut
    }


def listed(shares: dict[str, float]) -> str:
    return "; ".join(f"{name} {share:+.0%}" for name, share in shares.items())


def natural_is_safe(records: Records) -> Judged | None:
    shares = lost(records, 0.0)
    return Judged(max(shares.values()) < 0.15, "lost: " + listed(shares)) if shares else None


def cut_is_not(records: Records) -> Judged | None:
    shares = lost(records, 0.4)
    return Judged(min(shares.values()) > 0.15, "lost: " + listed(shares)) if shares else None


def more_cut_more_lost(records: Records) -> Judged | None:
    by_cut = [lost(records, cut) for cut in (0.0, 0.2, 0.4)]
    if not by_cut[0].keys() == by_cut[1].keys() == by_cut[2].keys():
        return None
    rising = {name: by_cut[0][name] < by_cut[1][name] < by_cut[2][name] for name in by_cut[0]}
    return Judged(all(rising.values()), f"rises in {sum(rising.values())} of {len(rising)} settings")


def reported_pair(records: Records) -> Judged | None:
    close = {
        key: (mean(group, "gained"), mean(group, "lost"))
        for key, group in cells(records).items()
        if 0.1 < mean(group, "gained") < 0.3 and mean(group, "lost") > 0.4
    }
    worst = max(mean(group, "lost") for group in cells(records).values())
    return Judged(not close, f"{len(close)} settings come near; the largest loss of capability is {worst:.0%}")


PREDICTIONS = (
    Prediction(
        "natural",
        Tier.ACCURACY,
        "whole clips: the lowest loss costs less than 15 % of stop capability, every setting",
        natural_is_safe,
    ),
    Prediction(
        "cut",
        Tier.ACCURACY,
        "40 % of the clips cut: the lowest loss costs more than 15 % of it, every setting",
        cut_is_not,
    ),
    Prediction(
        "dose",
        Tier.ACCURACY,
        "the more clips are cut (0, 20, 40 %), the more it costs, every setting",
        more_cut_more_lost,
    ),
    Prediction(
        "reported-pair",
        Tier.ACCURACY,
        "no setting shows about 20 % lower loss together with about 54 % less stopping",
        reported_pair,
    ),
)


def tables(records: Records) -> list[Table]:
    """Both checkpoints by setting."""
    rows = [
        (
            cue,
            amount,
            f"{cut:.0%}",
            str(len(group)),
            f"{spread(group, 'lowest_loss')} at {mean(group, 'lowest_step'):.0f}",
            spread(group, "lowest_stops", ".0%"),
            f"{spread(group, 'best_loss')} at {mean(group, 'best_step'):.0f}",
            spread(group, "best_stops", ".0%"),
            f"{mean(group, 'lost'):+.0%}",
        )
        for (cue, amount, cut), group in cells(records).items()
    ]
    columns = (
        "cue",
        "clips",
        "cut",
        "seeds",
        "lowest loss at step",
        "stops right",
        "best stopping: loss at step",
        "stops right",
        "lost",
    )
    return [Table("The checkpoint of the lowest validation loss, and the one that stops best", columns, tuple(rows))]


def panels(records: Records) -> list[Panel]:
    """Loss and stopping of one natural and one cut setting."""
    first = chosen(records, seed=0, cue="clear", clips="many")
    titles = (("loss", "test loss"), ("stops", "stops right"))
    return [
        Panel(
            f"Clear cue, many clips: {title}",
            "steps",
            title,
            tuple(curve(record, name) for record in first if record.setting.cut in (0.0, 0.4)),
            y_scale="log" if name == "loss" else "linear",
        )
        for name, title in titles
    ]


def curve(record: Record[Setting], name: str) -> Line:
    points = record.found.curves[name]
    label = f"{record.setting.cut:.0%} cut"
    return Line(label, [EVERY * (index + 1) for index in range(len(points))], points, int(record.setting.cut > 0))


def settings(seeds: int, cuts: Sequence[float]) -> list[Setting]:
    cells = product(range(seeds), CUE, CLIPS, cuts)
    return [Setting(cue, amount, cut, seed) for seed, cue, amount, cut in cells]


STUDY = Study(
    name="checkpoint",
    question="Does the checkpoint of the lowest loss stop as well as an earlier one?",
    setting=Setting,
    sizes={
        Size.QUICK: [one for one in settings(1, (0.0, 0.4)) if one.clips == "many"],
        Size.NORMAL: settings(3, (0.0, 0.2, 0.4)),
    },
    measure=measure,
    predictions=PREDICTIONS,
    tables=tables,
    panels=panels,
)
