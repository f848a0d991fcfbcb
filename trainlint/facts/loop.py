"""The order of a training loop: in which mode a model learns, what becomes of its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trainlint.facts.fact import Fact, Unjudged
from trainlint.value import Step, Unknown


@dataclass(frozen=True)
class StuckEval(Fact):
    """A model that is put into evaluation mode and goes on being optimized so.

    The call is the one that changes the mode, the argument where the loop does it: that call itself, or the call of the
    helper that holds it. ``layers`` are the classes in it that act otherwise then; empty where they are not known.
    ``proof`` are the lines that show that it goes on. A run counts its steps ``before`` and after, ``steps``; None
    where it is the code that shows it. ``told`` is unknown where nothing shows that it ever was in training mode.
    """

    module: str
    layers: tuple[str, ...]
    proof: tuple[Step, ...]
    before: int | None = None
    steps: int | None = None
    told: Unknown | None = None

    def unjudged(self) -> Iterator[Unjudged]:
        if self.told is not None:
            yield Unjudged(self.argument, "does the model learn in evaluation mode", self.told)
