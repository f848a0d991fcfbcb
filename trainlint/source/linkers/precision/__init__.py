"""In which numbers a model is trained: the formats of its weights, and what its optimizer makes of them."""

from trainlint.source.linkers.linker import Linker
from trainlint.source.linkers.precision import engines, optimizers, steps, trainers
from trainlint.source.world import MOST_STEPS

LINKERS = (
    Linker("judging an optimizer", optimizers.sites, optimizers.facts, MOST_STEPS),
    Linker("judging a trainer", trainers.sites, trainers.facts, MOST_STEPS),
    Linker("judging the precision of a trainer", engines.sites, engines.facts),
    Linker("judging a cast in a training step", steps.sites, steps.facts),
)
