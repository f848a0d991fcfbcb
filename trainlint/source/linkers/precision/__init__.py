"""In which numbers a model is trained: the formats of its weights, and what its optimizer makes of them."""

from trainlint.source.linkers.linker import Linker, at
from trainlint.source.world import MOST_STEPS

LINKERS = (
    Linker("judging an optimizer", *at("precision.optimizers"), MOST_STEPS),
    Linker("judging a trainer", *at("precision.trainers"), MOST_STEPS),
    Linker("judging the precision of a trainer", *at("precision.engines")),
    Linker("judging a cast in a training step", *at("precision.steps")),
)
