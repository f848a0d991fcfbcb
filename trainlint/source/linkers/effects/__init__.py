"""Lines that do not do what they say: results thrown away, switches that switch nothing."""

from trainlint.source.linkers.linker import Linker

LINKERS: tuple[Linker, ...] = ()
