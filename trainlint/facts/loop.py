"""The order of a training loop: in which mode a model learns, what becomes of its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from trainlint.facts.fact import Fact, Unjudged
from trainlint.record import record
from trainlint.value import Integer, Step, Unknown


@record
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


class Grouping(Enum):
    """What a loss is averaged over before its gradients are added up."""

    BATCH = "the mean over a batch, added up as it is"
    UNEVEN = "the mean over what each batch keeps, divided by the number of batches"
    UNASKED = "a loss that is told how many terms all batches have, and does not ask"


@record
class Accumulation(Fact):
    """Gradients of several batches that are added up before the optimizer steps.

    ``over`` is how the code calls the number of batches, ``number`` what that is worth. ``mean`` is the line that
    averages the loss over one batch, ``stepped`` the test or the loop that decides when the optimizer steps,
    ``clipped`` the line that clips the sum. ``unscaled`` names an optimizer whose steps are the same however large the
    gradients are; empty where it is another, unknown where it is not seen. ``owner`` is
    the trainer whose loss it is.
    """

    grouping: Grouping | Unknown
    over: str
    number: Integer | Unknown
    mean: Step | None
    stepped: Step
    clipped: Step | None = None
    unscaled: str | Unknown = ""
    owner: str = ""

    def unjudged(self) -> Iterator[Unjudged]:
        if isinstance(self.grouping, Unknown):
            yield Unjudged(self.argument, "is the sum of gradients a mean", self.grouping)


@record
class UnclearedGradients(Fact):
    """A loop that goes backward and steps, and in which nothing clears the gradients.

    ``optimizer`` is how the code calls what steps, ``stepped`` the line where it does, ``loop`` that of the loop.
    ``cleared`` is a line that clears them in a loop around that one, ``why`` is unknown where something that is not
    seen may clear them.
    """

    optimizer: str
    stepped: Step
    loop: Step
    cleared: Step | None = None
    why: Unknown | None = None

    def unjudged(self) -> Iterator[Unjudged]:
        if self.why is not None:
            yield Unjudged(self.argument, "are the gradients cleared", self.why)


@record
class ScaledClip(Fact):
    """Gradients that are clipped while a scaler has them multiplied.

    ``clips`` is how the code calls what clips, ``scaled`` the line that multiplies the loss, ``stepped`` the one that
    divides the gradients again. ``assumed`` are the defaults under which the scaler is switched off.
    """

    clips: str
    scaled: Step
    stepped: Step
    assumed: tuple[Step, ...] = ()


@record
class KeptGraph(Fact):
    """A loss that went backward and is kept with its graph, for as long as a loop runs.

    ``loss`` and ``keeper`` are how the code calls them, ``backward`` is the line after which nothing needs the graph,
    ``loop`` the loop through which it stays.
    """

    loss: str
    keeper: str
    backward: Step
    loop: Step
