"""Which files may hold a student and a teacher: the sites of ``linkers.distillation``."""

from __future__ import annotations

from trainlint.knowledge import torch
from trainlint.source.sift.spelling import holds, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DIVERGENCE = spelled((torch.DIVERGENCE_FUNCTION.name, torch.DIVERGENCE_CLASS.name))


def _divergence(data: bytes) -> bool:
    return holds(data, DIVERGENCE)


KINDS: tuple[Callable[[bytes], bool], ...] = (_divergence,)
"""One condition for each kind of site, the likeliest first."""
