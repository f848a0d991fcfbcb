"""One watched run: calls, steps and modes in, a record out. The state of the probe over time is here."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from trainlint.probe import record
from trainlint.probe.guard import guarded, note, noted, now
from trainlint.probe.losses import Call, LossMeter
from trainlint.probe.modes import ModeMeter
from trainlint.probe.optimizers import OptimizerMeter
from trainlint.probe.places import Key, Places, under
from trainlint.probe.record import LossRecord, Place, Record, Unseen

EVERY = 10

SAVES_EVERY = 500
"""Optimizer steps between two writings of the record: a run that is killed leaves something to judge."""


@dataclass(frozen=True)
class Settings:
    """How to watch: every so many calls in depth, to the end or for so many steps, and where the record goes."""

    every: int = EVERY
    steps: int | None = None
    folder: Path | None = None


class Enough(SystemExit):
    """The run took as many steps as were asked for."""


class Session:
    """Everything that was seen so far."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.pid = settings, os.getpid()
        self.places = Places()
        self.forget()

    def forget(self) -> None:
        """Begin anew, as a process that was forked off does."""
        self.losses: dict[tuple[object, ...], LossMeter] = {}
        self.made: weakref.WeakKeyDictionary[Optimizer, Place] = weakref.WeakKeyDictionary()
        self.optimizers: dict[int, tuple[weakref.ref[Optimizer], OptimizerMeter]] = {}
        self.modes = ModeMeter()
        self.unseen: Counter[tuple[str, str]] = Counter()
        self.steps = 0
        self.complete = False
        self.began = now()

    @guarded("looking at a loss")
    def see_loss(self, call: Call) -> None:
        """A loss was computed."""
        why = unusual(call)
        if why:
            self.unseen[call.function, why] += 1
            return
        key = self.places.key()
        if torch._C._current_graph_task_id() != -1 and not under("backward"):
            return
        if not call.trains and under("forward"):
            return
        self._meter(key, call).see(call)

    @guarded("looking at a loss in a compiled graph")
    def see_compiled(self, call: Call, place: Place) -> None:
        """A loss was computed in a graph that knows where it stands."""
        self._meter(place, call).see(call)

    def _meter(self, key: Key | Place | None, call: Call) -> LossMeter:
        kind = (key, call.function, call.classes, call.ignore_index, call.target.device)
        if kind not in self.losses:
            place = key if isinstance(key, Place) else self.places.place(key)
            self.losses[kind] = LossMeter(call, place, self.settings.every)
        return self.losses[kind]

    @guarded("looking at a loss that is not known")
    def miss(self, what: str, why: str) -> None:
        """Something was computed that cannot be looked at."""
        self.unseen[what, why] += 1

    @guarded("looking at an optimizer that is made")
    def see_made(self, optimizer: Optimizer) -> None:
        """An optimizer was made; only a reference is kept that does not keep it alive."""
        self.made[optimizer] = self.places.maker(optimizer)

    @guarded("looking at an optimizer before its step")
    def see_step(self, optimizer: Optimizer, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """A step is about to be taken."""
        known = self.optimizers.get(id(optimizer))
        if known is None or known[0]() is not optimizer:
            self.modes.renew(optimizer)
            place = self.made.get(optimizer) or self.places.caller()
            known = self.optimizers[self._room(optimizer)] = weakref.ref(optimizer), OptimizerMeter(optimizer, place)
        inside = any(each is not None for each in (*args[1:], kwargs.get("closure")))
        scaled = kwargs.get("grad_scaler") is not None or getattr(optimizer, "grad_scale", None) is not None
        why = "its gradients are computed inside the step" if inside else "its gradients are unscaled inside the step"
        known[1].before(optimizer, why if inside or scaled else "")

    def _room(self, optimizer: Optimizer) -> int:
        """Where its meter belongs; one that is gone makes room, and its numbers stay."""
        if id(optimizer) in self.optimizers:
            self.optimizers[-len(self.optimizers)] = self.optimizers.pop(id(optimizer))
        return id(optimizer)

    @guarded("looking at an optimizer after its step")
    def see_stepped(self, optimizer: Optimizer) -> None:
        """A step was taken."""
        known = self.optimizers.get(id(optimizer))
        if known is None:
            return
        known[1].after(optimizer)
        self.modes.see(optimizer, known[1].place)
        self.steps += 1
        if self.settings.folder is not None and self.steps % SAVES_EVERY == 0:
            self.save()

    @guarded("looking at a mode")
    def see_mode(self, module: nn.Module) -> None:
        """A module was told a mode by the user's code."""
        self.modes.tell(module, self.places.caller())

    @property
    def is_over(self) -> bool:
        """Whether the run has taken as many steps as were asked for."""
        return self.settings.steps is not None and self.steps >= self.settings.steps

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a training was seen: a process that only loads data leaves no file."""
        return not (self.losses or self.optimizers or self.unseen)

    def record(self) -> Record:
        """Everything, read back from the devices."""
        return Record(
            rank=int(os.environ.get("RANK", "0")),
            world=int(os.environ.get("WORLD_SIZE", "1")),
            pid=os.getpid(),
            torch=torch.__version__,
            every=self.settings.every,
            steps=self.steps,
            complete=self.complete,
            losses=tuple(self._each_loss()),
            optimizers=tuple(meter.record() for _, meter in self.optimizers.values()),
            modes=tuple(self.modes.record()),
            padding=self.modes.padding(),
            unseen=tuple(Unseen(what, why, times) for (what, why), times in self.unseen.items()),
            faults=noted(self.began),
        )

    def _each_loss(self) -> Iterator[LossRecord]:
        for meter in self.losses.values():
            try:
                yield meter.record()
            except Exception as error:  # One loss that cannot be read back must not take the others with it.
                note(f"reading back what a loss was given: {type(error).__name__}: {error}")

    @guarded("writing the report")
    def save(self) -> None:
        """Write the record where it belongs."""
        if self.settings.folder is None or self.is_empty:
            return
        found = self.record()
        name = f"rank{found.rank}-{found.pid}{record.SUFFIX}"
        record.write(found, self.settings.folder / name)


def unusual(call: Call) -> str:
    """Why this call cannot be looked at; empty where it can."""
    for tensor in (call.logits, call.target):
        if type(tensor) not in (Tensor, nn.Parameter, type(None)):
            return f"the tensors are {type(tensor).__name__}s"
        if tensor is not None and tensor.is_meta:
            return "the tensors are on the meta device"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "inside a transform of torch.func"
    if torch._C._get_tracing_state() is not None:
        return "inside torch.jit.trace"
    if call.target.is_cuda and torch.cuda.is_current_stream_capturing():
        return "inside a CUDA graph"
    return ""
