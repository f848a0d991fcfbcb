"""In which order a training loop does its steps: backward, clipping, the optimizer, the modes."""

from trainlint.source.linkers.linker import Linker

LINKERS: tuple[Linker, ...] = ()
