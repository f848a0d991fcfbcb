"""How a student is matched to a teacher: by which loss, in which mode, from which start."""

from trainlint.source.linkers.linker import Linker, facts_of, sites_of
from trainlint.source.sift.distillation import matches, starts

DIVERGENCE = frozenset({"kl_div", "KLDivLoss"})

LINKERS = (
    Linker(
        "judging how a divergence is reduced",
        sites_of("distillation.divergences"),
        facts_of("distillation.divergences"),
        words=DIVERGENCE,
    ),
    Linker(
        "judging what a divergence is given",
        sites_of("distillation.divergences"),
        facts_of("distillation.inputs"),
        words=DIVERGENCE,
    ),
    Linker("judging the mode of a teacher", sites_of("distillation.teachers"), facts_of("distillation.teachers")),
    Linker(
        "judging the start of a student",
        sites_of("distillation.starts"),
        facts_of("distillation.starts"),
        sifted=starts,
    ),
    Linker(
        "judging what a loss compares",
        sites_of("distillation.matches"),
        facts_of("distillation.matches"),
        sifted=matches,
    ),
)
