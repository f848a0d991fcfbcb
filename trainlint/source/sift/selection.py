"""Which files may choose a model: the sites of ``linkers.selection``."""

from __future__ import annotations

import re

from trainlint.knowledge import checkpoints
from trainlint.source.sift.spelling import holds, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SCORES = "loss|acc|err|f1|iou|auc|wer|cer|dice|bleu|rouge|score|metric|map|ppl|perp|mse|mae|psnr|ssim|recall|prec|fid"
RECORD_WORDS = (
    rf"best|bst|lowest|highest|(?:min|max|prev|last|old|smallest|largest|top|optimal)\w*(?:{SCORES})|"
    rf"(?:{SCORES})\w*(?:min|max|prev|opt)"
)
RECORD = re.compile(RECORD_WORDS)
"""In lower case: what the best value so far is called."""

COMPARED = re.compile(
    rf"(?:{RECORD_WORDS})[\w.\[\]'\"() +\-*]{{0,80}}[<>]|[<>]=?[^\n<>]{{0,120}}(?:{RECORD_WORDS})".encode()
)
"""In lower case, in one line: something is compared with a record."""

STORES = (b"save", b"dump", b"state_dict", b"deepcopy", b"checkpoint", b"ckpt", b"snapshot")
WAITS = (b"patience", b"early_stop", b"earlystop", b"counter", b"wait", b"no_improve", b"bad_epochs")
"""What is done where a record is beaten, or is not."""

CALLBACK = (b"ModelCheckpoint", b"EarlyStopping")
TRACKER = spelled([checkpoints.TRACKERS.name])
ARGUMENTS = (b"load_best_model_at_end", b"metric_for_best_model")
SCORE = (b"score_function",)
PLATEAU = b"ReduceLROnPlateau"
STEPPED = re.compile(rb"(?:sched\w*|plateau\w*|lr_\w+)(?:\[\w+\])?\.step\(\s*[\w\-]")
"""A scheduler is given a number."""

NEWEST = re.compile(rb"save\w*\([^\n]*best|filename\s*=\s*f?[\"'][^\"'\n]*best")
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
    return PLATEAU in data or STEPPED.search(data) is not None


def _comparison(data: bytes) -> bool:
    """Something is compared with a record, and weights are kept or training is stopped."""
    return holds(data, (b"best", b"lowest", b"highest", b"min", b"max", b"prev")) and chooses(data.lower())


def chooses(data: bytes) -> bool:
    """Whether a text in lower case compares with a record where something is kept or waited for."""
    return holds(data, (*STORES, *WAITS)) and COMPARED.search(data) is not None


def _newest(data: bytes) -> bool:
    """Something that is trained here is saved as the best."""
    return holds(data, (b"backward", b".fit(", b".train(")) and NEWEST.search(data.lower()) is not None


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
