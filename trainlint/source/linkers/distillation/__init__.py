"""How a student is matched to a teacher: by which loss, in which mode, from which start."""

from trainlint.source.linkers.linker import Linker

LINKERS: tuple[Linker, ...] = ()
