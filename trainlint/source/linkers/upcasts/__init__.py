"""In which numbers a loss is computed, and its gradients are added up."""

from trainlint.source.linkers.linker import Linker
from trainlint.source.linkers.upcasts import accumulators, arithmetic, by_hand

MORE_STEPS = 20_000
"""What stores a model in a format lies behind many branches that change nothing: each is tried by itself."""

LINKERS = (
    Linker("asking in which numbers a loss is computed", arithmetic.sites, arithmetic.facts, MORE_STEPS),
    Linker("asking in which numbers a loss written by hand is computed", by_hand.sites, by_hand.facts),
    Linker("asking in which numbers gradients are added up", accumulators.sites, accumulators.facts),
)
