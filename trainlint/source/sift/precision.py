"""Which files may hold an optimizer, or a trainer that makes one: the sites of ``linkers.precision``."""

from __future__ import annotations

import re

from trainlint.knowledge import optimizers
from trainlint.source.sift.spelling import holds, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OPTIMIZER = spelled(optimizers.WORDS)
OWN = re.compile(rb"^[ \t]*class\s+\w+\s*\([^)]*(?:Optimizer|Adam|SGD)", re.MULTILINE)
"""A class of the project is an optimizer."""

TRAINER = re.compile(rb"Trainer\s*\(")
TRAINED = (b"train_dataset", b"**")
"""A trainer that trains is given data; behind the stars it may come from elsewhere."""
STEP = re.compile(rb"def (?:compute_loss|training_step)\b")
CASTS = (b".half", b".bfloat16", b".to")


def _optimizer(data: bytes) -> bool:
    return holds(data, OPTIMIZER) or (b"Optimizer" in data and OWN.search(data) is not None)


def _trainer(data: bytes) -> bool:
    return b"Trainer" in data and holds(data, TRAINED) and TRAINER.search(data) is not None


def _engine(data: bytes) -> bool:
    return b"precision" in data and holds(data, (b"Fabric", b"Trainer"))


def _step(data: bytes) -> bool:
    """A function that a trainer calls for each batch stands beside a cast."""
    return STEP.search(data) is not None and holds(data, CASTS)


KINDS: tuple[Callable[[bytes], bool], ...] = (_optimizer, _trainer, _engine, _step)
"""One condition for each kind of site, the likeliest first."""
