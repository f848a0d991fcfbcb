"""Which files may hold a line without its effect: the sites of ``linkers.effects``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

KINDS: tuple[Callable[[bytes], bool], ...] = ()
"""One condition for each kind of site, the likeliest first."""
