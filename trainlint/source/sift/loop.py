"""Which files may hold a training loop out of order: the sites of ``linkers.loop``."""

from __future__ import annotations

from trainlint.source.sift.kind import Kind

KINDS = (
    Kind("a loss goes backward", (b"backward(",)),
    Kind("a loss of a trainer's own", (b"def compute_loss",), (b"Trainer",)),
)
"""The kinds of sites, the likeliest first."""
