"""Copies of weights: what is kept of the best round, averages, what a checkpoint brings."""

from trainlint.source.linkers.linker import Linker, facts_of, sites_of
from trainlint.source.sift.copies import averages, keeps

FEW_STEPS = 800
"""Expressions that may be looked at to find out which checkpoint an optimizer trains."""

LINKERS = (
    Linker("judging weights that are kept", sites_of("copies.kept"), facts_of("copies.kept"), sifted=keeps),
    Linker("judging an average of weights", sites_of("copies.averages"), facts_of("copies.averages"), sifted=averages),
    Linker("judging a checkpoint that is trained", sites_of("copies.loads"), facts_of("copies.loads"), FEW_STEPS),
)
