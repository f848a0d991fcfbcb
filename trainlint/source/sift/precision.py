"""Which files may hold an optimizer, or a trainer that makes one: the sites of ``linkers.precision``."""

from __future__ import annotations

from trainlint.regex import regex
from trainlint.source.sift.kind import Kind, Words
from trainlint.source.sift.words import OPTIMIZER

OWN = regex(rb"(?m)^[ \t]*class\s+\w+\s*\([^)]*(?:Optimizer|Adam|SGD)")
"""A class of the project is an optimizer."""

TRAINER = regex(rb"Trainer\s*\(")
TRAINED = (b"train_dataset", b"**")
"""A trainer that trains is given data; behind the stars it may come from elsewhere."""
STEPS = (b"def compute_loss", b"def training_step")
STEP = regex(rb"def (?:compute_loss|training_step)\b")
CASTS = (b".half", b".bfloat16", b".to")


def _is_own(words: Words) -> bool:
    return OWN.search(words.data) is not None


def _makes(words: Words) -> bool:
    return TRAINER.search(words.data) is not None


def _steps(words: Words) -> bool:
    return STEP.search(words.data) is not None


KINDS = (
    Kind("an optimizer", OPTIMIZER),
    Kind("an optimizer of the project's own", (b"Optimizer",), confirms=_is_own),
    Kind("a trainer", (b"Trainer",), TRAINED, confirms=_makes),
    Kind("the precision of a trainer", (b"Trainer", b"Fabric"), (b"precision",)),
    # A function that a trainer calls for each batch stands beside a cast.
    Kind("a training step", STEPS, CASTS, confirms=_steps),
)
"""The kinds of sites, the likeliest first."""
