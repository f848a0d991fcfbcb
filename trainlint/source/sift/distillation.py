"""Which files may hold a student and a teacher: the sites of ``linkers.distillation``."""

from __future__ import annotations

import re

from trainlint.knowledge import torch
from trainlint.source.sift.spelling import holds, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DIVERGENCE = spelled((torch.DIVERGENCE_FUNCTION.name, torch.DIVERGENCE_CLASS.name))


TEACHER = re.compile(rb"self\.\w*(?:[Tt]eacher\w*|t_?model|t_?net|model_t|net_t)\s*=[^=]")
"""Something that is called a teacher is kept on an object."""


def _divergence(data: bytes) -> bool:
    return holds(data, DIVERGENCE)


def _teacher(data: bytes) -> bool:
    return holds(data, (b"eacher", b"t_", b"_t", b"tmodel", b"tnet")) and TEACHER.search(data) is not None


KINDS: tuple[Callable[[bytes], bool], ...] = (_divergence, _teacher)
"""One condition for each kind of site, the likeliest first."""
