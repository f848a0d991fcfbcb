"""How a student is matched to a teacher: by which loss, in which mode, from which start."""

from trainlint.source.linkers.linker import Linker, at
from trainlint.source.sift.distillation import matches, starts

DIVERGENCE = frozenset({"kl_div", "KLDivLoss"})

LINKERS = (
    Linker("judging how a divergence is reduced", *at("distillation.divergences"), words=DIVERGENCE),
    Linker(
        "judging what a divergence is given", *at("distillation.divergences", "distillation.inputs"), words=DIVERGENCE
    ),
    Linker("judging the mode of a teacher", *at("distillation.teachers")),
    Linker("judging the start of a student", *at("distillation.starts"), sifted=starts),
    Linker("judging what a loss compares", *at("distillation.matches"), sifted=matches),
)
