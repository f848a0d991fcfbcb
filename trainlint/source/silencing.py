"""Which files may hold a comment that silences, or that is meant to."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainlint.source.sift.kind import Words

NOQA = re.compile(rb"noqa[^\n]*?(?:\bTL[0-9]|[a-z]-[a-z])", re.IGNORECASE)
"""With a code or a name of ours; most are for other linters."""

SPELLINGS = (b"noqa", b"NOQA", b"NoQA")


def may_silence(words: Words) -> bool:
    """May the file of these words hold a comment of ours?"""
    return words.has(b"trainlint") or (words.holds(SPELLINGS) and NOQA.search(words.data) is not None)
