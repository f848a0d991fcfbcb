"""Which files may hold a comment that silences, or that is meant to."""

from __future__ import annotations

import re

NOQA = re.compile(rb"noqa[^\n]*?(?:\bTL[0-9]|[a-z]-[a-z])", re.IGNORECASE)
"""With a code or a name of ours; most are for other linters."""


def may_silence(data: bytes) -> bool:
    """May this file hold a comment of ours?"""
    if b"trainlint" in data:
        return True
    return any(word in data for word in (b"noqa", b"NOQA", b"NoQA")) and NOQA.search(data) is not None
