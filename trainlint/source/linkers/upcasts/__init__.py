"""In which numbers a loss is computed, and its gradients are added up."""

from trainlint.source.linkers.linker import Linker
from trainlint.source.linkers.upcasts import accumulators, arithmetic, by_hand
from trainlint.source.world import MOST_STEPS

LINKERS = (
    Linker("asking in which numbers a loss is computed", arithmetic.sites, arithmetic.facts, MOST_STEPS),
    Linker("asking in which numbers a loss written by hand is computed", by_hand.sites, by_hand.facts),
    Linker("asking in which numbers gradients are added up", accumulators.sites, accumulators.facts),
)
