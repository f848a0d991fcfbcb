"""What a model is taught: losses, their targets, and what is left out of them."""

from trainlint.source.linkers.linker import Linker, at
from trainlint.source.sift.targets import keeps_sentinel, predicts
from trainlint.source.world import MOST_STEPS

LINKERS = (
    Linker("judging a loss", *at("targets.losses"), MOST_STEPS),
    Linker("judging a loss written by hand", *at("targets.own_losses")),
    Linker("judging what a loss is given", *at("targets.inputs")),
    Linker("judging a mask of labels", *at("targets.label_masks")),
    Linker("judging a collator", *at("targets.relabelling")),
    Linker("following a prediction to its label", *at("targets.labels"), sifted=predicts),
    Linker("judging a detector", *at("targets.detectors")),
    Linker("judging an embedding", *at("targets.embeddings")),
    Linker("judging a stop check", *at("targets.stops")),
    Linker("judging a shift of labels", *at("targets.shifts")),
    Linker("looking for the use of a sentinel", *at("targets.unused"), sifted=keeps_sentinel),
    Linker("judging a cut of the classes", *at("targets.cuts")),
    Linker("judging an index", *at("targets.indices")),
    Linker("judging a mean", *at("targets.means")),
)
