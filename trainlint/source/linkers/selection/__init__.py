"""How a model is chosen: by callbacks, by a trainer's arguments, by hand, and what is called best without a score."""

from trainlint.source.linkers.linker import Linker
from trainlint.source.linkers.selection import arguments, callbacks, comparisons, newest, plateaus

LINKERS = (
    Linker("judging a callback that chooses", callbacks.sites, callbacks.facts),
    Linker("judging what a trainer loads at the end", arguments.sites, arguments.facts),
    Linker("judging a comparison of models", comparisons.sites, comparisons.facts),
    Linker("judging what a scheduler waits for", plateaus.sites, plateaus.facts),
    Linker("judging what is saved as the best", newest.sites, newest.facts),
)
