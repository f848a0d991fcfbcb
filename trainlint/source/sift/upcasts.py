"""Which files may hold a loss whose numbers matter: the sites of ``linkers.upcasts``."""

from __future__ import annotations

from trainlint.source.sift.kind import Kind

SUMS = (b"logsumexp", b"log_softmax")
PICKS = (b"gather", b"one_hot", b"scatter")
LOSS = (b"loss", b"nll", b"smooth", b"riterion", b"ntropy", b"xent", b"Loss", b"NLL")

KINDS = (
    # Scores are picked by their targets, beside a sum over the classes, in something that calls itself a loss.
    Kind("a loss written by hand", SUMS, PICKS, LOSS),
    Kind("a divergence", frozenset((b"kl_div", b"KLDivLoss"))),
)
"""The kinds of sites that ``sift.targets`` does not know, the likeliest first."""
