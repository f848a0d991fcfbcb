"""In which numbers a model is trained: the formats of its weights, and what its optimizer makes of them."""

from trainlint.source.linkers.linker import Linker, facts_of, sites_of
from trainlint.source.world import MOST_STEPS

LINKERS = (
    Linker("judging an optimizer", sites_of("precision.optimizers"), facts_of("precision.optimizers"), MOST_STEPS),
    Linker("judging a trainer", sites_of("precision.trainers"), facts_of("precision.trainers"), MOST_STEPS),
    Linker("judging the precision of a trainer", sites_of("precision.engines"), facts_of("precision.engines")),
    Linker("judging a cast in a training step", sites_of("precision.steps"), facts_of("precision.steps")),
)
