"""Which files may choose a model: the sites of ``linkers.selection``."""

from __future__ import annotations

import re

from trainlint.knowledge import checkpoints
from trainlint.source.sift.spelling import holds, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BESTS = (b"best", b"Best", b"BEST")
EXTREMES = (b"lowest", b"highest", b"min_val", b"min_loss", b"loss_min", b"max_val", b"max_acc", b"prev_loss")
RECORD_WORDS = "|".join(("best", *(word.decode() for word in EXTREMES)))
RECORD = re.compile(RECORD_WORDS)
"""In lower case: what the best value so far is called."""

COMPARED = re.compile(rf"(?<!-)[<>]=?[^=]{{0,120}}(?:{RECORD_WORDS})|(?:{RECORD_WORDS})[^=]{{0,120}}[<>]".encode())
"""In lower case: something is compared with a record."""

KEEPING = (
    b"save", b"Save", b"dump", b"state_dict", b"deepcopy", b"heckpoint", b"ckpt", b"snapshot", b"patience", b"early",
    b"Early", b"counter", b"wait", b"no_improve", b"bad_epochs",
)  # fmt: skip
"""What is done where a record is beaten, or is not."""

CALLBACK = (b"ModelCheckpoint", b"EarlyStopping")
TRACKER = spelled([checkpoints.TRACKERS.name])
ARGUMENTS = (b"load_best_model_at_end", b"metric_for_best_model")
PLATEAU = b"ReduceLROnPlateau"
STEPPED = re.compile(rb"(?:sched\w*|plateau\w*|lr_\w+)(?:\[\w+\])?\.step\(\s*[\w\-]")
"""A scheduler is given a number."""

NEWEST = re.compile(rb"save\w*\((?s:.{0,200}?)best|filename\s*=\s*f?[\"'][^\"'\n]*best")
"""In lower case: something is saved under a name that says best."""


def _callback(data: bytes) -> bool:
    return holds(data, CALLBACK) and holds(data, (b"lightning", b"pl.", b"callbacks"))


def _tracker(data: bytes) -> bool:
    return holds(data, TRACKER)


def _arguments(data: bytes) -> bool:
    return holds(data, ARGUMENTS)


def _score(data: bytes) -> bool:
    return b"score_function" in data and b"ignite" in data


def _plateau(data: bytes) -> bool:
    if PLATEAU in data:
        return True
    return b".step(" in data and holds(data, (b"sched", b"plateau", b"lr_")) and STEPPED.search(data) is not None


def _comparison(data: bytes) -> bool:
    """Something is compared with a record, and weights are kept or training is stopped."""
    return chooses(data)


def chooses(data: bytes) -> bool:
    """Whether a text compares with a record where something is kept or waited for."""
    if not holds(data, (*BESTS, *EXTREMES)) or not holds(data, KEEPING):
        return False
    return COMPARED.search(data.lower()) is not None


def _newest(data: bytes) -> bool:
    """Something that is trained here is saved as the best."""
    trained = holds(data, BESTS) and holds(data, (b"backward", b".fit(", b".train("))
    return trained and NEWEST.search(data.lower()) is not None


KINDS: tuple[Callable[[bytes], bool], ...] = (
    _arguments,
    _callback,
    _tracker,
    _score,
    _plateau,
    _comparison,
    _newest,
)
"""One condition for each kind of site, the likeliest first."""
