"""How a student is matched to a teacher: by which loss, in which mode, from which start."""

from trainlint.source.linkers.distillation import divergences, inputs, matches, starts, teachers
from trainlint.source.linkers.linker import Linker

LINKERS = (
    Linker("judging how a divergence is reduced", divergences.sites, divergences.facts),
    Linker("judging what a divergence is given", divergences.sites, inputs.facts),
    Linker("judging the mode of a teacher", teachers.sites, teachers.facts),
    Linker("judging the start of a student", starts.sites, starts.facts),
    Linker("judging what a loss compares", matches.sites, matches.facts),
)
