"""What one loss call is given: calls in, counts on the device out. Nothing is read back before the report.

Uses no random number, changes no tensor of the run, and never waits for the device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from trainlint.probe.record import LossRecord, Place, Rows, Sequences
from trainlint.probe.signal import SignalMeter

REDUCTIONS = ("none", "mean", "sum")


@dataclass(frozen=True)
class Call:
    """One call of a loss: what it was given, what it answered, and whether anything is learned from it.

    A fused loss never makes all of its logits; then only their ``width`` is known.
    """

    function: str
    logits: Tensor | None
    target: Tensor
    weight: Tensor | None
    reduction: int
    ignore_index: int
    smoothing: float
    output: Tensor
    trains: bool
    width: int = 0

    @property
    def classes(self) -> int:
        return self.width if self.logits is None else self.logits.size(1 if self.logits.dim() > 1 else 0)

    @property
    def skips_a_class(self) -> bool:
        return 0 <= self.ignore_index < self.classes

    @property
    def has_probabilities(self) -> bool:
        return self.target.is_floating_point()

    @property
    def rows(self) -> int:
        return self.output.numel() if self.has_probabilities else self.target.numel()


class LossMeter:
    """Everything that is counted of one call, one width, one skipped index, one device."""

    def __init__(self, call: Call, place: Place, every: int) -> None:
        self.place, self.first = place, _first(call)
        self.arithmetic: Counter[tuple[torch.dtype, bool]] = Counter()
        device = call.target.device
        self.training, self.evaluation = (TargetMeter(call.classes, device) for _ in range(2))
        self.sequences = SequenceMeter(device) if call.skips_a_class else None
        self.signal = SignalMeter(call.classes, device, every)
        self.probabilities = False
        self.ignored_weight: Tensor | None = None
        if call.weight is not None and call.skips_a_class:
            self.ignored_weight = call.weight.detach()[call.ignore_index].clone()

    def see(self, call: Call) -> None:
        """Count one call."""
        (self.training if call.trains else self.evaluation).see(call)
        if call.has_probabilities:
            self.probabilities = True
            return
        if not call.trains:
            return
        made_of = call.output if call.logits is None or call.function.startswith("cross") else call.logits
        self.arithmetic[made_of.dtype, torch.is_autocast_enabled(call.target.device.type)] += 1
        if self.sequences is not None:
            self.sequences.see(call)
        if call.logits is not None:
            self.signal.see(call, call.logits)

    def record(self) -> LossRecord:
        """What was counted; waits for the device."""
        device = self.training.counts.device.type
        return LossRecord(
            place=self.place,
            **self.first,  # type: ignore[arg-type]
            ignored_weight=None if self.ignored_weight is None else float(self.ignored_weight),
            arithmetic={
                f"{str(dtype).removeprefix('torch.')} on {device}{', autocast' if autocast else ''}": calls
                for (dtype, autocast), calls in self.arithmetic.items()
            },
            training=self.training.record(),
            evaluation=self.evaluation.record(),
            sequences=self.sequences.record() if self.sequences else None,
            signal=self.signal.record(),
            probabilities=self.probabilities,
        )


def _first(call: Call) -> dict[str, object]:
    return {
        "function": call.function,
        "classes": call.classes,
        "ignore_index": call.ignore_index,
        "smoothing": call.smoothing,
        "reduction": REDUCTIONS[call.reduction],
    }


class TargetMeter:
    """How often each class was a target that counts."""

    def __init__(self, classes: int, device: torch.device) -> None:
        self.calls = self.rows = 0
        self.counts = torch.zeros(classes, dtype=torch.int64, device=device)
        self.has_counts = False
        self.first: Tensor | None = None
        self.repeated = torch.ones((), dtype=torch.bool, device=device)

    def see(self, call: Call) -> None:
        if not call.has_probabilities:
            self._count(call)
        # At last: a run that is cut off in between must not count as left out what was not yet counted.
        self.calls += 1
        self.rows += call.rows

    def _count(self, call: Call) -> None:
        self.has_counts = True
        target = call.target.reshape(-1).long()
        # A sum in which each target has a weight of its own: equal where all targets are.
        mark = target.cumsum(0).sum()
        self.first = mark if self.first is None else self.first
        self.repeated &= mark == self.first
        add(self.counts, target.clamp(0, call.classes - 1), (target != call.ignore_index).long())

    def record(self) -> Rows:
        if not self.has_counts:
            return Rows(self.calls, self.rows)
        return Rows(self.calls, self.rows, tuple(self.counts.tolist()), self.calls > 1 and bool(self.repeated))


def add(counts: Tensor, index: Tensor, amounts: Tensor) -> None:
    """Add up by index; whole numbers, so that no order of adding can matter."""
    if torch.are_deterministic_algorithms_enabled():
        counts.index_put_((index,), amounts, accumulate=True)
    else:
        counts.scatter_add_(0, index, amounts)


class SequenceMeter:
    """How the targets that are left out lie in their sequences."""

    def __init__(self, device: torch.device) -> None:
        self.batches = self.sequences = 0
        self.shortest, self.longest = 1 << 62, 0
        self.least = torch.full((), 1 << 62, dtype=torch.int64, device=device)
        self.most, self.whole, self.scattered, self.filled = (
            torch.zeros((), dtype=torch.int64, device=device) for _ in range(4)
        )

    def see(self, call: Call) -> None:
        shape = sequences(call)
        if shape is None:
            return
        left_out = (call.target == call.ignore_index).reshape(shape)
        each = left_out.sum(1)
        fullest = each.min()
        self.least = torch.minimum(self.least, fullest)
        self.most = torch.maximum(self.most, each.max())
        self.whole += (each == 0).sum()
        self.scattered += (left_out[:, :-1] & ~left_out[:, 1:]).any(1).sum()
        self.filled += fullest == 1
        self.shortest, self.longest = min(self.shortest, shape[1]), max(self.longest, shape[1])
        self.sequences += shape[0]
        # At last: of a run that is cut off in between, every batch that counts is filled in.
        self.batches += 1

    def record(self) -> Sequences | None:
        if not self.batches:
            return None
        return Sequences(
            batches=self.batches,
            sequences=self.sequences,
            least=int(self.least),
            most=int(self.most),
            whole=int(self.whole),
            scattered=int(self.scattered),
            filled=int(self.filled),
            shortest=self.shortest,
            longest=self.longest,
        )


def sequences(call: Call) -> tuple[int, int] | None:
    """How many sequences of which length the targets were, also where they were laid end to end for the loss."""
    target, logits = call.target, call.logits
    if target.dim() == 2:
        return target.size(0), target.size(1)
    if target.dim() != 1:
        return None
    sizes = [tuple(target._base.shape)] if target._base is not None else []
    sizes += [size[:-1] for size in _before(logits) if size[-1] == call.classes] if logits is not None else []
    fitting = (size for size in sizes if len(size) == 2 and size[0] * size[1] == target.numel() and size[1] > 1)
    return next(fitting, None)


def _before(logits: Tensor) -> Iterator[tuple[int, ...]]:
    """The shapes that logits had before they were laid out as rows."""
    if logits._base is not None:
        yield tuple(logits._base.shape)
    saved = getattr(logits.grad_fn, "_saved_self_sym_sizes", None)
    if saved:
        yield tuple(map(int, saved))
