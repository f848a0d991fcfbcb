"""Copies of weights: what is kept of the best round, averages, what a checkpoint brings."""

from trainlint.source.linkers.copies import kept
from trainlint.source.linkers.linker import Linker

LINKERS = (Linker("judging weights that are kept", kept.sites, kept.facts),)
