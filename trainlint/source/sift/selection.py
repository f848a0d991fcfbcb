"""Which files may choose a model: the sites of ``linkers.selection``."""

from __future__ import annotations

from trainlint.regex import regex
from trainlint.source.sift.kind import Kind, Words
from trainlint.source.sift.words import TRACKER

EXTREMES = (b"lowest", b"highest", b"min_val", b"min_loss", b"loss_min", b"max_val", b"max_acc", b"prev_loss")
RECORDS = (b"best", *EXTREMES)
RECORD_WORDS = "|".join(("best", *(word.decode() for word in EXTREMES)))
RECORDED = regex(RECORD_WORDS.encode())
"""In lower case: what the best value so far is called."""

ABOVE = regex(rb"(?<!-)[<>]=?[^=]*\Z")
BELOW = regex(rb"[^=]{0,120}[<>]")
NEAR = 122
"""In lower case: something is compared with a record, no further away than this."""

KEEPING = (
    b"save", b"Save", b"dump", b"state_dict", b"deepcopy", b"heckpoint", b"ckpt", b"snapshot", b"patience", b"early",
    b"Early", b"counter", b"wait", b"no_improve", b"bad_epochs",
)  # fmt: skip
"""What is done where a record is beaten, or is not."""

CALLBACK = frozenset((b"ModelCheckpoint", b"EarlyStopping"))
ARGUMENTS = (b"load_best_model_at_end", b"metric_for_best_model")
PLATEAU = b"ReduceLROnPlateau"
SCHEDULERS = (b"sched", b"plateau", b"lr_")
STEPPED = regex(rb"step(?<=\.step)\(\s*[\w\-]")
STEPPED_BY = regex(rb"(?:sched\w*|plateau\w*|lr_\w+)(?:\[\w+\])?\.\Z")
"""A scheduler is given a number."""

TRAINED = (b"backward", b".fit(", b".train(")
NEWEST = regex(rb"save\w*\((?s:.{0,200}?)best|filename\s*=\s*f?[\"'][^\"'\n]*best")
"""In lower case: something is saved under a name that says best."""


def _steps(words: Words) -> bool:
    data = words.data
    starts = (found.start() for found in STEPPED.finditer(data))
    return any(STEPPED_BY.search(data, max(0, start - NEAR), start) for start in starts)


def _compares(words: Words) -> bool:
    return words.says(RECORDS) and words.holds(KEEPING) and _is_compared(words.lower)


def _is_compared(lower: bytes) -> bool:
    """Whether a text in lower case compares something with a record."""
    for found in RECORDED.finditer(lower):
        start, end = found.span()
        if ABOVE.search(lower, max(0, start - NEAR), start) or BELOW.match(lower, end):
            return True
    return False


def _saves_best(words: Words) -> bool:
    return words.says((b"best",)) and NEWEST.search(words.lower) is not None


saves_best = Kind("what is saved as the best", confirms=_saves_best)
"""A text may save something under a name that says best."""

chooses = Kind("a comparison with a record", confirms=_compares)
"""A text may compare with a record where something is kept or waited for."""

KINDS = (
    Kind("the arguments of a trainer", ARGUMENTS),
    Kind("a callback", CALLBACK, (b"lightning", b"pl.", b"callbacks")),
    Kind("a tracker", TRACKER),
    Kind("a score", frozenset((b"score_function",)), (b"ignite",)),
    Kind("a plateau", frozenset((PLATEAU,))),
    Kind("a scheduler that is told a number", (b".step(",), SCHEDULERS, confirms=_steps),
    chooses,
    # Something that is trained here is saved as the best.
    Kind("what is saved as the best", TRAINED, confirms=_saves_best),
)
"""The kinds of sites, the likeliest first."""
