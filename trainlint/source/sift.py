"""The bytes of a file in; out, whether it may hold anything to judge, so that most files are never parsed.

A site is a call, and a call spells the last word of what it calls: whatever the imports, ``cross_entropy`` stands in the
file that applies it or builds it. Words that are everywhere count only beside a second one that their sites need too. A
name that only Unicode makes equal, such as ``ｃross_entropy``, is not looked for.
"""

from __future__ import annotations

import re

from trainlint.knowledge import metrics, torch, transformers
from trainlint.source.text import Fault, encoding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LOSSES = (*torch.LOSS_FUNCTIONS, *torch.LOSS_CLASSES, *torch.CTC_FUNCTIONS, *torch.CTC_CLASSES)
SKIPS = (b"ignore_index", b"ignore_label", b"ignore_id", b"ignored_index", b"padding_idx")
"""What an accuracy of the project's own calls the class it skips."""

OWN_METRIC = re.compile(rb"acc\w*(?:[\s\\)]|#[^\n]*\n)*(?:\(|\bas\b)", re.IGNORECASE)
"""A callable that calls itself an accuracy is called here, or imported under another name."""


def _spelled(names: Iterable[str]) -> tuple[bytes, ...]:
    """The last words of these names, longest first: they are found soonest. A word that holds another is left to it."""
    words = {name.rpartition(".")[2] for name in names}
    shortest = {word for word in words if not any(other in word for other in words - {word})}
    return tuple(word.encode() for word in sorted(shortest, key=lambda word: (-len(word), word)))


SITES = (
    (_spelled(known.name for known in LOSSES),),
    ((b"ignore_index",), _spelled((*metrics.CLASSES, *metrics.FUNCTIONS))),
    (_spelled(transformers.TRAINERS), (b"data_collator", b"train_dataset", b"**")),
)
"""Each kind of site: of every group, one word stands in its file."""


def relevant(data: bytes) -> bool:
    """May this file hold a site?"""
    declared = encoding(data)
    if declared != "utf-8" and not isinstance(declared, Fault):
        data = data.decode(declared, errors="replace").encode(errors="replace")
    if any(all(any(word in data for word in words) for words in groups) for groups in SITES):
        return True
    return any(word in data for word in SKIPS) and OWN_METRIC.search(data) is not None
