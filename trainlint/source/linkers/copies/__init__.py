"""Copies of weights: what is kept of the best round, averages, what a checkpoint brings."""

from trainlint.source.linkers.copies import averages, kept, loads
from trainlint.source.linkers.linker import Linker

FEW_STEPS = 800
"""Expressions that may be looked at to find out which checkpoint an optimizer trains."""

LINKERS = (
    Linker("judging weights that are kept", kept.sites, kept.facts),
    Linker("judging an average of weights", averages.sites, averages.facts),
    Linker("judging a checkpoint that is trained", loads.sites, loads.facts, FEW_STEPS),
)
