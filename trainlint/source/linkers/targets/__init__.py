"""What a model is taught: losses, their targets, and what is left out of them."""

from trainlint.source.linkers.linker import Linker
from trainlint.source.linkers.targets import (
    cuts,
    detectors,
    embeddings,
    indices,
    inputs,
    label_masks,
    labels,
    losses,
    means,
    own_losses,
    relabelling,
    shifts,
    stops,
    unused,
)
from trainlint.source.world import MOST_STEPS

LINKERS = (
    Linker("judging a loss", losses.sites, losses.facts, MOST_STEPS),
    Linker("judging a loss written by hand", own_losses.sites, own_losses.facts),
    Linker("judging what a loss is given", inputs.sites, inputs.facts),
    Linker("judging a mask of labels", label_masks.sites, label_masks.facts),
    Linker("judging a collator", relabelling.sites, relabelling.facts),
    Linker("following a prediction to its label", labels.sites, labels.facts),
    Linker("judging a detector", detectors.sites, detectors.facts),
    Linker("judging an embedding", embeddings.sites, embeddings.facts),
    Linker("judging a stop check", stops.sites, stops.facts),
    Linker("judging a shift of labels", shifts.sites, shifts.facts),
    Linker("looking for the use of a sentinel", unused.sites, unused.facts),
    Linker("judging a cut of the classes", cuts.sites, cuts.facts),
    Linker("judging an index", indices.sites, indices.facts),
    Linker("judging a mean", means.sites, means.facts),
)
