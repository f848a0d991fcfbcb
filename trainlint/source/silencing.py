"""Which files may hold a comment that silences, or that is meant to."""

from __future__ import annotations

from trainlint.regex import IGNORECASE, regex
from trainlint.source.sift.kind import words_of

NOQA = regex(rb"noqa[^\n]*?(?:\bTL[0-9]|[a-z]-[a-z])", IGNORECASE)
"""With a code or a name of ours; most are for other linters."""

SPELLINGS = (b"noqa", b"NOQA", b"NoQA")


def may_silence(data: bytes) -> bool:
    """May this file hold a comment of ours?"""
    words = words_of(data)
    return words.has(b"trainlint") or (words.holds(SPELLINGS) and NOQA.search(data) is not None)
