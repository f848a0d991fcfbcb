"""What a run leaves behind: counts in, JSON out, and back. Needs no torch.

One record is one process. Everything in it can be added up over the processes of a run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

VERSION = 1
"""Grows when a key changes its meaning or goes."""

SUFFIX = ".probe.json"

BINS, LOWEST, HIGHEST = 64, -40, 40
"""The histogram of margins."""


@dataclass(frozen=True)
class Place:
    """Where a call starts; rows and columns count from 1, and 0 as the end row means that only the start is known."""

    path: str
    row: int
    column: int = 1
    end_row: int = 0
    end_column: int = 0
    function: str = ""


@dataclass(frozen=True)
class Rows:
    """What reached a loss in one mode: ``counts`` are the targets that it kept, by class.

    ``repeated`` says that every call had the same targets: training on one batch, over and over.
    """

    calls: int = 0
    rows: int = 0
    counts: tuple[int, ...] = ()
    repeated: bool = False

    @property
    def drawn(self) -> tuple[int, ...]:
        """The counts, those of one batch that is repeated only once: the others say nothing new."""
        return tuple(count // self.calls for count in self.counts) if self.repeated else self.counts

    @property
    def kept(self) -> int:
        return sum(self.counts)

    @property
    def dropped(self) -> int:
        """Rows that the loss left out; none where targets are probabilities."""
        return max(self.rows - self.kept, 0) if self.counts else 0


@dataclass(frozen=True)
class Sequences:
    """How targets inside the classes were left out, sequence by sequence.

    ``whole`` sequences lost none, ``scattered`` lost one in front of one that counts. In ``filled`` batches every
    sequence lost one, and the fullest exactly one. ``longest`` and ``shortest`` are lengths of batches.
    """

    batches: int = 0
    sequences: int = 0
    least: int = 0
    most: int = 0
    whole: int = 0
    scattered: int = 0
    filled: int = 0
    shortest: int = 0
    longest: int = 0


@dataclass(frozen=True)
class Signal:
    """What the sampled rows show: margins, and the gradient that reached the right class.

    ``zero`` of the ``live`` rows had none while another class of the row had one, ``dead`` rows had none at all.
    ``lost`` is the sum of ``1 - |g_target| / sum of the others`` over live rows. ``windows`` are pairs
    of zero and live.
    """

    sampled: int = 0
    margins: tuple[int, ...] = ()
    observed: int = 0
    zero: int = 0
    live: int = 0
    dead: int = 0
    lost: float = 0.0
    windows: tuple[tuple[int, int], ...] = ()
    longest: int = 0


@dataclass(frozen=True)
class LossRecord:
    """One loss call with one width and one skipped index; ``arithmetic`` counts calls by dtype, device and autocast."""

    place: Place
    function: str
    classes: int
    ignore_index: int
    smoothing: float
    reduction: str
    ignored_weight: float | None
    arithmetic: Mapping[str, int]
    training: Rows
    evaluation: Rows
    sequences: Sequences | None = None
    signal: Signal = Signal()
    probabilities: bool = False


@dataclass(frozen=True)
class GroupRecord:
    """One group of parameters: hyper-parameters, how many numbers of each format, and what arithmetic lost of them.

    ``lr`` is the largest that was used, ``second`` the rate at which the second moment falls, if it may. A ``fused``
    step is computed in float32 registers, ``decoupled`` is what the group says of its weight decay.

    ``rho`` are transmitted fractions, one for each window, and ``stuck`` the shares of numbers that should have moved
    and did not. ``frozen_decay`` and ``frozen_moment`` are the shares that decay leaves where they are.
    """

    lr: float | None
    second: float | None
    eps: float | None
    weight_decay: float | None
    fused: bool
    decoupled: bool | None
    parameters: Mapping[str, int]
    state: Mapping[str, int]
    rho: tuple[float, ...] = ()
    stuck: tuple[float, ...] = ()
    frozen_decay: float | None = None
    frozen_moment: float | None = None
    unmeasured: str = ""


@dataclass(frozen=True)
class OptimizerRecord:
    """One optimizer: where it is stepped, its class, and what became of its steps."""

    place: Place
    kind: str
    steps: int
    groups: tuple[GroupRecord, ...]


@dataclass(frozen=True)
class ModeRecord:
    """A model whose parameters an optimizer moved: steps in training mode before and in evaluation mode after a change.

    ``place`` is where the mode was changed last.
    """

    place: Place
    module: str
    layers: tuple[str, ...]
    before: int
    steps: int
    optimizer: Place


@dataclass(frozen=True)
class Unseen:
    """Something that happened and could not be looked at."""

    what: str
    why: str
    times: int = 1


@dataclass(frozen=True)
class Record:
    """One process of a run; ``complete`` says that it came to its end."""

    rank: int = 0
    world: int = 1
    pid: int = 0
    torch: str = ""
    every: int = 10
    steps: int = 0
    complete: bool = False
    losses: tuple[LossRecord, ...] = ()
    optimizers: tuple[OptimizerRecord, ...] = ()
    modes: tuple[ModeRecord, ...] = ()
    padding: Mapping[str, int] = field(default_factory=dict)
    unseen: tuple[Unseen, ...] = ()
    faults: tuple[str, ...] = ()
    version: int = VERSION


class Unreadable(Exception):
    """A file that is no record; the message says why."""


def write(record: Record, path: Path) -> None:
    """Write it whole or not at all."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    draft.write_text(json.dumps(asdict(record)), encoding="utf-8")
    os.replace(draft, path)


def read(path: Path) -> Record:
    """The record in a file.

    Raises:
        Unreadable: it holds none, or one of another version.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["version"] != VERSION:
            raise Unreadable(f"{path}: written by another version of trainlint")
        return _record(found)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"{path}: {error}") from error


def _record(found: dict[str, Any]) -> Record:
    return Record(
        **{
            **found,
            "losses": tuple(map(_loss, found["losses"])),
            "optimizers": tuple(map(_optimizer, found["optimizers"])),
            "modes": tuple(map(_mode, found["modes"])),
            "unseen": tuple(Unseen(**each) for each in found["unseen"]),
            "faults": tuple(found["faults"]),
        }
    )


def _loss(found: dict[str, Any]) -> LossRecord:
    signal = found["signal"]
    return LossRecord(
        **{
            **found,
            "place": Place(**found["place"]),
            "training": _rows(found["training"]),
            "evaluation": _rows(found["evaluation"]),
            "sequences": Sequences(**found["sequences"]) if found["sequences"] else None,
            "signal": Signal(
                **{
                    **signal,
                    "margins": tuple(signal["margins"]),
                    "windows": tuple((zero, live) for zero, live in signal["windows"]),
                }
            ),
        }
    )


def _rows(found: dict[str, Any]) -> Rows:
    return Rows(**{**found, "counts": tuple(found["counts"])})


def _optimizer(found: dict[str, Any]) -> OptimizerRecord:
    return OptimizerRecord(**{**found, "place": Place(**found["place"]), "groups": tuple(map(_group, found["groups"]))})


def _group(found: dict[str, Any]) -> GroupRecord:
    lists: Sequence[str] = ("rho", "stuck")
    return GroupRecord(**{**found, **{name: tuple(found[name]) for name in lists}})


def _mode(found: dict[str, Any]) -> ModeRecord:
    places = {name: Place(**found[name]) for name in ("place", "optimizer")}
    return ModeRecord(**{**found, **places, "layers": tuple(found["layers"])})
