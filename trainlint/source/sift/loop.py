"""Which files may hold a training loop out of order: the sites of ``linkers.loop``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def _backward(data: bytes) -> bool:
    """A loss goes backward."""
    return b"backward(" in data


KINDS: tuple[Callable[[bytes], bool], ...] = (_backward,)
"""One condition for each kind of site, the likeliest first."""
