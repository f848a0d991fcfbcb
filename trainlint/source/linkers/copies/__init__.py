"""Copies of weights: what is kept of the best round, averages, what a checkpoint brings."""

from trainlint.source.linkers.linker import Linker, at
from trainlint.source.sift.copies import averages, keeps

FEW_STEPS = 800
"""Expressions that may be looked at to find out which checkpoint an optimizer trains."""

LINKERS = (
    Linker("judging weights that are kept", *at("copies.kept"), sifted=keeps),
    Linker("judging an average of weights", *at("copies.averages"), sifted=averages),
    Linker("judging a checkpoint that is trained", *at("copies.loads"), FEW_STEPS),
)
