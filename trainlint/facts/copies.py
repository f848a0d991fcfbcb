"""Copies of weights: those that are kept of the best round, averages, and what a checkpoint brings."""

from __future__ import annotations

from enum import Enum

from trainlint.facts.fact import Fact
from trainlint.facts.precision import Storage
from trainlint.record import field, record
from trainlint.span import Span
from trainlint.value import Real, Step, Unknown


class Sharing(Enum):
    """What something that was put aside has in common with the model that goes on being trained."""

    ITSELF = "the model itself"
    TENSORS = "the tensors of the model"
    ON_CPU = "the tensors of the model, if it lies on the CPU"


@record
class KeptWeights(Fact):
    """Weights that are put aside under ``kept`` and used later, while ``model`` goes on being trained.

    ``by`` is what looks like a copy and is none (``dict``, ``.cpu()``); empty where nothing does. ``condition`` are the
    tests under which they are kept. ``trained`` are the lines that go on training the model, ``certain`` says that they
    are known to; unknown where the loop that trains is not seen. ``used`` is the first line that uses what was kept.
    ``on_cpu`` are the lines that prove that the model lies on the CPU; None where nothing does. ``restarts`` says that
    they are the weights of the start, kept to begin again from, and not those of the best round. ``value`` is the
    expression that is put aside.
    """

    kept: str
    model: str
    shares: Sharing
    by: str
    condition: tuple[Step, ...]
    trained: tuple[Step, ...] | Unknown
    used: Step
    certain: bool
    on_cpu: tuple[Step, ...] | None
    restarts: bool = False
    value: Span | None = field(default=None, kw_only=True)


@record
class WeightAverage(Fact):
    """An average of weights that is updated by ``decay * average + (1 - decay) * weights``.

    ``average`` is how the code calls it, ``how`` what does the update (``lerp_``, ``AveragedModel``), ``stored`` the
    format in which the average is kept.
    """

    average: str
    how: str
    decay: Real | Unknown
    stored: Storage | Unknown


@record
class LoadedModel(Fact):
    """A checkpoint that is trained in whole, in the format in which it was saved.

    ``asked`` is the argument that asks for that format; None where the version of the library decides, ``version``
    being what the project says of it and ``certain`` whether every version that this allows does so. ``stored`` is the
    format in which the checkpoint was saved, ``trained`` the line that makes the optimizer or the trainer.
    """

    model: str
    checkpoint: str
    asked: Step | None
    stored: Storage | Unknown
    trained: Step
    version: Step | None
    certain: bool

    def given_up(self, why: Unknown) -> LoadedModel:
        return self
