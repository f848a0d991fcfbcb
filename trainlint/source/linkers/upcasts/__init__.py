"""In which numbers a loss is computed, and its gradients are added up."""

from trainlint.source.linkers.linker import Linker, at

MORE_STEPS = 20_000
"""What stores a model in a format lies behind many branches that change nothing: each is tried by itself."""

LINKERS = (
    Linker("asking in which numbers a loss is computed", *at("upcasts.arithmetic"), MORE_STEPS),
    Linker("asking in which numbers a loss written by hand is computed", *at("upcasts.by_hand")),
    Linker("asking in which numbers gradients are added up", *at("upcasts.accumulators")),
)
