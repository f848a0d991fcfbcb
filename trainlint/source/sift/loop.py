"""Which files may hold a training loop out of order: the sites of ``linkers.loop``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

KINDS: tuple[Callable[[bytes], bool], ...] = ()
"""One condition for each kind of site, the likeliest first."""
