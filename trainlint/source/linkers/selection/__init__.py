"""How a model is chosen: by callbacks, by a trainer's arguments, by hand, and what is called best without a score."""

from trainlint.source.linkers.linker import Linker, facts_of, sites_of
from trainlint.source.sift.selection import chooses, saves_best

LINKERS = (
    Linker("judging a callback that chooses", sites_of("selection.callbacks"), facts_of("selection.callbacks")),
    Linker("judging what a trainer loads at the end", sites_of("selection.arguments"), facts_of("selection.arguments")),
    Linker(
        "judging a comparison of models",
        sites_of("selection.comparisons"),
        facts_of("selection.comparisons"),
        sifted=chooses,
    ),
    Linker("judging what a scheduler waits for", sites_of("selection.plateaus"), facts_of("selection.plateaus")),
    Linker(
        "judging what is saved as the best",
        sites_of("selection.newest"),
        facts_of("selection.newest"),
        sifted=saves_best,
    ),
)
