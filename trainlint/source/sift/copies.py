"""Which files may keep or load weights: the sites of ``linkers.copies``."""

from __future__ import annotations

import re

from trainlint.source.sift.spelling import holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

HANDED_OUT = (b".state_dict(", b"parameters()")
CHOSEN = re.compile(rb"best|improv|better|early|patience|lowest|highest|top_?k|snapshot|is_new", re.IGNORECASE)
"""What is kept of the best round says so, or stands where that is decided."""

STORED = re.compile(rb"\]\s*=[^=](?s:.{0,160}?)state_dict\(")
"""Weights are put under a key, one round after the other."""

RENAMED = re.compile(
    rb"best\w*[ \t]*(?:,[ \t]*\w+[ \t]*)*=[^=]{0,120}?(?:model|net|encoder|classifier|copy\()", re.IGNORECASE
)
"""Something called best is made of something called a model."""


def keeps(data: bytes) -> bool:
    """Whether weights may be put aside that a model goes on changing."""
    if RENAMED.search(data):
        return True
    if b".state_dict(" in data and (b".append(" in data or b".load_state_dict(" in data or STORED.search(data)):
        return True
    return holds(data, HANDED_OUT) and CHOSEN.search(data) is not None


AVERAGES = (b"AveragedModel", b"ModelEma", b"EMAModel", b"ExponentialMovingAverage", b"ema_pytorch")
UPDATES = re.compile(
    rb"\.mul_\([^()]{1,160}\)[\s\\]*\.add_\(|\blerp_?\(|_foreach_lerp_\(|\(\s*1(?:\.0?)?\s*-\s*[\w.]+\s*\)\s*\*|\*\s*\(\s*1(?:\.0?)?\s*-"
)
"""One tensor is moved towards another by a part of the way."""

WEIGHTS = (b"parameters()", b"state_dict()", b"shadow", b"params")


def averages(data: bytes) -> bool:
    """Whether an average of weights may be made or updated."""
    return holds(data, AVERAGES) or (holds(data, WEIGHTS) and UPDATES.search(data) is not None)


KINDS: tuple[Callable[[bytes], bool], ...] = (keeps, averages)
"""One condition for each kind of site, the likeliest first."""
