"""How a model is chosen: by callbacks, by a trainer's arguments, by hand, and what is called best without a score."""

from trainlint.source.linkers.linker import Linker, at
from trainlint.source.sift.selection import chooses, saves_best

LINKERS = (
    Linker("judging a callback that chooses", *at("selection.callbacks")),
    Linker("judging what a trainer loads at the end", *at("selection.arguments")),
    Linker("judging a comparison of models", *at("selection.comparisons"), sifted=chooses),
    Linker("judging what a scheduler waits for", *at("selection.plateaus")),
    Linker("judging what is saved as the best", *at("selection.newest"), sifted=saves_best),
)
