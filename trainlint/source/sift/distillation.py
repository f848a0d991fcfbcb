"""Which files may hold a student and a teacher: the sites of ``linkers.distillation``."""

from __future__ import annotations

from trainlint.regex import regex
from trainlint.source.sift.kind import Kind, Words
from trainlint.source.sift.words import DIVERGENCE, MATCHING

TAUGHT = (b"eacher", b"istil", b"kl_div", b"KLDivLoss", b"model_t", b"net_t", b"t_net", b"t_model", b"tnet", b"tmodel")
COPIES = (b"deepcopy", b"load_state_dict")
TEACHER = regex(rb"self\.(?:\w*[Tt]eacher\w*|t_?model|t_?net|model_t|net_t)\s*=[^=]")
"""Something that is called a teacher is kept on an object."""

SHORT = frozenset((b"t_model", b"tmodel", b"t_net", b"tnet", b"model_t", b"net_t"))


def _teacher(words: Words) -> bool:
    named = words.has(b"eacher") or not words.names.isdisjoint(SHORT)
    return named and TEACHER.search(words.data) is not None


starts = Kind("a copy that learns from its model", DIVERGENCE, COPIES, (b"dam",), (b"backward",))
"""A model may be copied, and trained to agree with what it was copied from."""

matches = Kind("a comparison with a teacher", MATCHING, TAUGHT)
"""Something may be compared with a teacher."""

KINDS = (
    Kind("a divergence", DIVERGENCE),
    Kind("a teacher that is kept", confirms=_teacher),
    starts,
    matches,
)
"""The kinds of sites, the likeliest first."""
