"""In which mode models are optimized: calls of ``train`` and ``eval`` in, steps by mode out.

No module is hooked: the last mode that each was told is remembered, and looked at when an optimizer steps.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator

from torch import nn
from torch.optim import Optimizer

from trainlint.probe.record import ModeRecord, Place


class Told:
    """One module that was told a mode by the user's code, and how many steps its parameters made in which.

    ``earlier`` counts the steps of each optimizer before that; a module that nobody told anything is in training mode.
    """

    def __init__(self, module: nn.Module, place: Place, earlier: Counter[int]) -> None:
        self.module, self.place, self.earlier = weakref.ref(module), place, earlier
        self.kind = type(module).__name__
        self.layers = tuple(sorted({type(each).__name__ for each in module.modules() if acts_otherwise(each)}))
        self.before = self.steps = 0
        self.optimizer: Place | None = None

    def step(self, optimizer: Optimizer, place: Place) -> None:
        module = self.module()
        if module is None:
            return
        if self.optimizer is None:
            self.before += self.earlier[id(optimizer)]
        self.optimizer = place
        if module.training:
            self.before, self.steps = self.before + self.steps + 1, 0
        else:
            self.steps += 1


class ModeMeter:
    """The modules that were told a mode."""

    def __init__(self) -> None:
        self.told: dict[int, Told] = {}
        self.stepped: Counter[int] = Counter()
        self._moved: dict[int, tuple[int, list[Told]]] = {}

    def tell(self, module: nn.Module, place: Place) -> None:
        """A module was put into the mode in which it is now."""
        known = self.told.get(id(module))
        if known is None or known.module() is not module:
            known = self.told[id(module)] = Told(module, place, self.stepped.copy())
            self._moved.clear()
        known.place = place

    def renew(self, optimizer: Optimizer) -> None:
        """An optimizer takes its first step; one that is gone may have had its number."""
        self._moved.pop(id(optimizer), None)
        self.stepped.pop(id(optimizer), None)

    def see(self, optimizer: Optimizer, place: Place) -> None:
        """A step moves the parameters of this optimizer."""
        for told in self._moved_by(optimizer):
            told.step(optimizer, place)
        self.stepped[id(optimizer)] += 1

    def _moved_by(self, optimizer: Optimizer) -> list[Told]:
        """The modules all of whose parameters it moves, frozen ones aside."""
        groups, found = self._moved.get(id(optimizer), (0, []))
        if groups != len(optimizer.param_groups):
            moved = {id(each) for group in optimizer.param_groups for each in group["params"]}
            found = [told for told in self.told.values() if (mine := _trained(told.module())) and mine <= moved]
            self._moved[id(optimizer)] = len(optimizer.param_groups), found
        return found

    def record(self) -> Iterator[ModeRecord]:
        for told in self.told.values():
            if told.optimizer is not None:
                yield ModeRecord(told.place, told.kind, told.layers, told.before, told.steps, told.optimizer)

    def padding(self) -> dict[str, int]:
        """Padding indices of embeddings in these modules, by the number of symbols."""
        modules = (told.module() for told in self.told.values())
        inside = (each for module in modules if module is not None for each in module.modules())
        return {
            str(each.num_embeddings): each.padding_idx
            for each in inside
            if isinstance(each, nn.Embedding) and each.padding_idx is not None
        }


def _trained(module: nn.Module | None) -> set[int]:
    return {id(each) for each in module.parameters() if each.requires_grad} if module is not None else set()


def acts_otherwise(module: nn.Module) -> bool:
    """Whether a layer computes something else in training than in evaluation."""
    match module:
        case nn.modules.dropout._DropoutNd() | nn.MultiheadAttention() | nn.RNNBase():
            return float(getattr(module, "p", 0) or getattr(module, "dropout", 0)) > 0
        case nn.modules.batchnorm._NormBase():
            return module.track_running_stats
    return False
