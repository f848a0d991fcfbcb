"""In which numbers a loss is computed, and its gradients are added up."""

from trainlint.source.linkers.linker import Linker, facts_of, sites_of

MORE_STEPS = 20_000
"""What stores a model in a format lies behind many branches that change nothing: each is tried by itself."""

LINKERS = (
    Linker(
        "asking in which numbers a loss is computed",
        sites_of("upcasts.arithmetic"),
        facts_of("upcasts.arithmetic"),
        MORE_STEPS,
    ),
    Linker(
        "asking in which numbers a loss written by hand is computed",
        sites_of("upcasts.by_hand"),
        facts_of("upcasts.by_hand"),
    ),
    Linker(
        "asking in which numbers gradients are added up",
        sites_of("upcasts.accumulators"),
        facts_of("upcasts.accumulators"),
    ),
)
