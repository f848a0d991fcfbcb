"""Which files may hold a training loop out of order: the sites of ``linkers.loop``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def _backward(data: bytes) -> bool:
    """A loss goes backward."""
    return b"backward(" in data


def _own_loss(data: bytes) -> bool:
    """A trainer of transformers has a loss of its own."""
    return b"def compute_loss" in data and b"Trainer" in data


KINDS: tuple[Callable[[bytes], bool], ...] = (_backward, _own_loss)
"""One condition for each kind of site, the likeliest first."""
