"""Which files may hold a loss whose numbers matter: the sites of ``linkers.upcasts``."""

from __future__ import annotations

from trainlint.source.sift.spelling import holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SUMS = (b"logsumexp", b"log_softmax")
PICKS = (b"gather", b"one_hot", b"scatter")
LOSS = (b"loss", b"nll", b"smooth", b"riterion", b"ntropy", b"xent", b"Loss", b"NLL")


def _by_hand(data: bytes) -> bool:
    """Scores are picked by their targets, beside a sum over the classes, in something that calls itself a loss."""
    return holds(data, SUMS) and holds(data, PICKS) and holds(data, LOSS)


def _divergence(data: bytes) -> bool:
    """Distributions are compared."""
    return b"kl_div" in data or b"KLDivLoss" in data


KINDS: tuple[Callable[[bytes], bool], ...] = (_by_hand, _divergence)
"""One condition for each kind of site that ``sift.targets`` does not know, the likeliest first."""
