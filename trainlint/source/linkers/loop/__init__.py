"""In which order a training loop does its steps: backward, clipping, the optimizer, the modes."""

from trainlint.source.linkers.linker import Linker
from trainlint.source.linkers.loop import modes

LINKERS = (Linker("judging in which mode a model learns", modes.sites, modes.facts),)
