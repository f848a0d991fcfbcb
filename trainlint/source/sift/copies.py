"""Which files may keep or load weights: the sites of ``linkers.copies``."""

from __future__ import annotations

from trainlint.regex import regex
from trainlint.source.sift.kind import Kind, Words

HANDED_OUT = (b".state_dict(", b"parameters()")
CHOSEN = (
    b"best", b"improv", b"better", b"early", b"patience", b"lowest", b"highest", b"topk", b"top_k", b"snapshot",
    b"is_new",
)  # fmt: skip
"""In lower case: what is kept of the best round says so, or stands where that is decided."""

STORED = regex(rb"\]\s*=[^=](?s:.{0,160}?)state_dict\(")
"""Weights are put under a key, one round after the other."""

RENAMED = regex(rb"best\w*[ \t]*(?:,[ \t]*\w+[ \t]*)*=[^=]{0,120}?(?:model|net|encoder|classifier|copy\()")
"""In lower case: something called best is made of something called a model."""


def _keeps(words: Words) -> bool:
    if words.says((b"best",)) and RENAMED.search(words.lower):
        return True
    if words.has(b".state_dict(") and (
        words.holds((b".append(", b".load_state_dict(")) or STORED.search(words.data) is not None
    ):
        return True
    return words.holds(HANDED_OUT) and words.says(CHOSEN)


keeps = Kind("weights that are kept", confirms=_keeps)
"""Weights may be put aside that a model goes on changing."""

AVERAGES = (b"AveragedModel", b"ModelEma", b"EMAModel", b"ExponentialMovingAverage", b"ema_pytorch")
UPDATES = (
    regex(rb"\.mul_\([^()]{1,160}\)[\s\\]*\.add_\("),
    regex(rb"lerp(?:(?<=\blerp)|(?<=_foreach_lerp))_?\("),
    regex(rb"\(\s*1(?:\.0?)?\s*-\s*[\w.]+\s*\)\s*\*"),
    regex(rb"\*\s*\(\s*1(?:\.0?)?\s*-"),
)
"""One tensor is moved towards another by a part of the way."""

WEIGHTS = (b"parameters()", b"state_dict()", b"shadow", b"params")


def _updates(words: Words) -> bool:
    return any(update.search(words.data) for update in UPDATES)


BY_LIBRARY = Kind("an average that a library makes", AVERAGES)
BY_HAND = Kind("an average that is made by hand", WEIGHTS, confirms=_updates)


def averages(data: bytes) -> bool:
    """Whether an average of weights may be made or updated."""
    return BY_LIBRARY(data) or BY_HAND(data)


KINDS = (keeps, BY_LIBRARY, BY_HAND)
"""The kinds of sites, the likeliest first."""
