"""What a model is taught: losses, their targets, and what is left out of them."""

from trainlint.source.linkers.linker import Linker, facts_of, sites_of
from trainlint.source.sift.targets import keeps_sentinel, predicts
from trainlint.source.world import MOST_STEPS

LINKERS = (
    Linker("judging a loss", sites_of("targets.losses"), facts_of("targets.losses"), MOST_STEPS),
    Linker("judging a loss written by hand", sites_of("targets.own_losses"), facts_of("targets.own_losses")),
    Linker("judging what a loss is given", sites_of("targets.inputs"), facts_of("targets.inputs")),
    Linker("judging a mask of labels", sites_of("targets.label_masks"), facts_of("targets.label_masks")),
    Linker("judging a collator", sites_of("targets.relabelling"), facts_of("targets.relabelling")),
    Linker(
        "following a prediction to its label", sites_of("targets.labels"), facts_of("targets.labels"), sifted=predicts
    ),
    Linker("judging a detector", sites_of("targets.detectors"), facts_of("targets.detectors")),
    Linker("judging an embedding", sites_of("targets.embeddings"), facts_of("targets.embeddings")),
    Linker("judging a stop check", sites_of("targets.stops"), facts_of("targets.stops")),
    Linker("judging a shift of labels", sites_of("targets.shifts"), facts_of("targets.shifts")),
    Linker(
        "looking for the use of a sentinel",
        sites_of("targets.unused"),
        facts_of("targets.unused"),
        sifted=keeps_sentinel,
    ),
    Linker("judging a cut of the classes", sites_of("targets.cuts"), facts_of("targets.cuts")),
    Linker("judging an index", sites_of("targets.indices"), facts_of("targets.indices")),
    Linker("judging a mean", sites_of("targets.means"), facts_of("targets.means")),
)
