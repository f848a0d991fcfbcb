"""Which files may hold a student and a teacher: the sites of ``linkers.distillation``."""

from __future__ import annotations

import re

from trainlint.knowledge import torch
from trainlint.source.sift.spelling import holds, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DIVERGENCE = spelled((torch.DIVERGENCE_FUNCTION.name, torch.DIVERGENCE_CLASS.name))


MATCHING = spelled((*torch.MATCHING_FUNCTIONS, *torch.MATCHING_CLASSES))
TAUGHT = (b"eacher", b"istil", b"kl_div", b"KLDivLoss", b"model_t", b"net_t", b"t_net", b"t_model", b"tnet", b"tmodel")
COPIES = (b"deepcopy", b"load_state_dict")
TEACHER = re.compile(rb"self\.\w*(?:[Tt]eacher\w*|t_?model|t_?net|model_t|net_t)\s*=[^=]")
"""Something that is called a teacher is kept on an object."""


def _divergence(data: bytes) -> bool:
    return holds(data, DIVERGENCE)


def _teacher(data: bytes) -> bool:
    return holds(data, (b"eacher", b"t_", b"_t", b"tmodel", b"tnet")) and TEACHER.search(data) is not None


def starts(data: bytes) -> bool:
    """Whether a model may be copied, and trained to agree with what it was copied from."""
    return holds(data, DIVERGENCE) and holds(data, COPIES) and b"dam" in data and b"backward" in data


def matches(data: bytes) -> bool:
    """Whether something may be compared with a teacher."""
    return holds(data, MATCHING) and holds(data, TAUGHT)


KINDS: tuple[Callable[[bytes], bool], ...] = (_divergence, _teacher, starts, matches)
"""One condition for each kind of site, the likeliest first."""
