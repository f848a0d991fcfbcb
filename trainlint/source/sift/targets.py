"""Which files may hold a loss, a metric, a label or what makes one: the sites of ``linkers.targets``."""

from __future__ import annotations

from itertools import pairwise

from trainlint.regex import IGNORECASE, regex
from trainlint.source.sift.kind import Kind, Words
from trainlint.source.sift.spelling import closing, last_name
from trainlint.source.sift.words import COLLATOR, DETECTOR, LOSS, METRIC, SAMPLED, SEGMENTING, TRAINER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SKIPS = (b"padding_idx", b"ignore_index", b"ignored_index", b"ignore_label", b"ignore_id")
"""What an accuracy of the project's own calls the class it skips."""

CALLED = rb"\w*(?:[\s\\)]|#[^\n]*\n)*(?:\(|\bas\b)"
OWN_METRIC = tuple(
    (word, regex(word + ends + CALLED))
    for word, ends in ((b"acc", rb"(?:uracy)?(?![a-z])"), (b"Acc", rb"(?:uracy)?(?![a-z])"), (b"ACC", b""))
)
"""A callable that calls itself an accuracy is called here, or imported under another name."""

PREDICTORS = (b"argmax", b"multinomial", b"topk")
LARGEST = regex(rb"\.max\(\s*(?:[\w.]+\s*,\s*)?(?:dim|-?1)")
"""A class is predicted by a function that does nothing else, or by a maximum along one dimension."""
ACCEPTED = regex(
    rb"ignore(?:(?<=self\.ignore)d?_(?:index|idx|label|id)\s*=[^=]|(?<=[(,\s]ignore)d?_(?:index|idx|label|id)\s*[:=,)])"
)
"""A sentinel is kept, or accepted."""

PADDED_LOSS = regex(rb"class \w*(?:Loss|Criterion|CrossEntropy|Smoothing)")
KEPT_PADDING = regex(rb"self\.pad(?:ding)?_(?:index|idx|id|token_id)\s*=[^=]")
"""A padding index is kept where some class is a loss."""

ASKED = regex(rb"\s*(?:\w+\s*\]|[\w.]+\s*[\[(])")
"""A container is asked for what a variable, a call or an element names."""

TABLE = regex(
    rb"(?![A-Z0-9_]*(?:FUNC|MAPP|2CLS|2FN))[A-Z][A-Z0-9_]*|itos|id2\w+|idx2\w+|int2\w+|\w*names|\w+_to_\w+|"
    rb"classes|chars|vocab"
)
"""What a table of labels is called."""

OWN = regex(rb"(?:^|[^\w.])self\.[\w.]+\s*\Z")
"""Such a table is an attribute of its own object: no statement of the module names it."""

NEAR = 240
"""Bytes in which the other side of a bracket or a comparison is looked for, comments included."""

PADDED = regex(rb"[(,]\s*padding_idx\s*=\s*(?!config\.pad_token_id|self\.padding_idx)")
"""A padding index is given by its name, and not read from the settings of a published checkpoint."""


SMOOTH = (b"log_softmax", b"logsumexp", b"nll", b"gather")
TRAINED = (b"data_collator", b"train_dataset", b"**")
"""A trainer is judged by what it trains on; behind the stars it may be given from elsewhere."""

END = rb"((?:[^\]\[:,#]|#[^\n]*)+)"
CUTS = (
    rb"\.\.\.\s*,\s*:%s[,\s]*\]" % END,
    rb"(?:logit|score|pred|prob)\w*\[[^\]]{0,160}?,\s*:%s[,\s]*\]" % END,
    rb":[,\s]*\]\s*=[^=]{0,160}?(?:inf|finfo|-\s*1e\d|NEG)",
)
"""Scores whose last part ends somewhere, ``[..., :stop]``, or is shut out, ``[..., stop:] = -inf``."""

NO_CLASSES = regex(rb"//|dim|rot|half|length|rank|hidden|embed", IGNORECASE)
"""Where an end says so, it is a share of a hidden state, not a number of classes."""

REMARK = regex(rb"#[^\n]*")

PREDICTS = frozenset((b"argmax", b"multinomial", b"softmax", b"Categorical", b"topk", b"cross_entropy"))
"""What is done with logits."""

DIVIDED = rb"\)(?:[\s\\)]|#[^\n]*\n)*/[\s\\(]*(?:torch\.sum\(|(?:[^=:#\"']|[!=<>]=|#[^\n]*\n){0,160}?\.sum\(\))"
"""A sum that is divided by the sum of something."""

SELECTED = rb"\]\s*\.mean\(\)"
"""The mean of what a subscript selects."""

TAKING = (b"one_hot", b".gather(", b".index_select(", b".scatter")
REFUSING = tuple(
    regex(word)
    for word in (
        rb"one_hot(?<!\wone_hot)(?:[\s\\]*\(|\s+as\b)",
        rb"\.gather\(",
        rb"\.index_select\(",
        rb"\.scatter(?:_add)?_?\(",
    )
)
"""What takes an index and refuses a negative one."""

ANSWERS = regex(rb"(?:label|target|tgt|tag|answer|truth|gold|cls|class|\by\b)\w*(?!\w)(?!\s*=[^=])", IGNORECASE)
"""What targets are called; what an option is called says nothing."""

LONGEST = 1000
"""Bytes in which a call ends, comments included."""

INDEXED = rb"[\w\])]\[(?:[^\[\]]{0,160},)?\s*[\w.]*(?:label|target|tgt)\w*[,\s]*\]"
INDICES = tuple((word, regex(word + rb"\w*[,\s]*\]")) for word in (b"label", b"target", b"tgt"))
"""A subscript by something that is named like a target."""


SENTINEL = (b"-1", b"- 1", b"ignore", b"IGNORE", b"Ignore")
"""What a masked label is overwritten with."""

PICKS = (b"gather", b"scatter", b"one_hot")
MASKING = (b"pad", b"eos", b"eot")
SKIPPING = (b"pad", b"ignor")
ENDS = (b"eos", b"eot", b"eod", b"stop", b"end")
STOPPING = regex(
    rb"(?<![a-z])(?:eo[std](?:id|ix|idx|index|tok|token|symbol)?|stop|end(?:of[a-z]*)?)s?(?![a-z])|E(?:o[std]|nd)|Stop|"
    rb"(?<![A-Z])(?:EO[STD](?:ID|IX|IDX|INDEX|TOK|TOKEN|SYMBOL)?|STOP|END(?:OF[A-Z]*)?)S?(?![A-Z](?![a-z]))"
)
"""What names say that are compared: padding, ignored, an end."""

OPERATORS = (b"==", b"!=")
METHODS = (b".eq", b".ne")
CALL = regex(rb"(?:[\s\\]|#[^\n]*\n)*\(")
BEFORE = regex(rb"(\w+)(?:[\s)\\]|#[^\n]*\n)*\Z")
AFTER = regex(rb"(?:[\s(\\]|#[^\n]*\n)*([\w.]*)(?![\w.])[ \t]*([\[(])?[\s)\\]*")
ENDED = regex(rb":|\.(?!bool\b)")
"""What follows a comparison that masks nothing: it is a test, or something is made of it."""

MODEL = (b"logits", b"model", b"net", b"lm", b"gpt", b"decoder", b"transformer")
STEPS = regex(rb"backward\b(?:(?<=\.backward)|[\s\\]*\()")
STEP = regex(rb"def\s+training_step\b")
"""A model is trained by hand."""


def _own_metric(words: Words) -> bool:
    return any(words.has(word) and pattern.search(words.data) for word, pattern in OWN_METRIC)


def _trains(words: Words) -> bool:
    """A model is trained here by hand. A trainer is judged by what it trains on."""
    data, names = words.data, words.names
    trains = (b"backward" in names and STEPS.search(data)) or (b"training_step" in names and STEP.search(data))
    return bool(trains) and words.says(MODEL)


def _compares(words: Words) -> bool:
    """Names that tell are compared: a padding or an end beside a sentinel, what is skipped beside a pick, an end beside
    what is sampled.
    """
    masks = words.says(MASKING) and words.holds(SENTINEL)
    skips = words.says(SKIPPING) and words.holds(PICKS)
    stops = words.says(ENDS) and words.holds(SAMPLED)
    if not (masks or skips or stops):
        return False
    sides = list(compared(words))
    names = b"\n".join(name for each in sides for name in each.names)
    if (skips and _hold(names.lower(), SKIPPING)) or (stops and STOPPING.search(names)):
        return True
    return masks and _hold(b"\n".join(name for each in sides if each.may_mask for name in each.names).lower(), MASKING)


def _hold(text: bytes, parts: Iterable[bytes]) -> bool:
    return any(part in text for part in parts)


class Sides:
    """The names on both sides of a comparison, and whether it may be a mask."""

    __slots__ = ("may_mask", "names")

    def __init__(self, before: bytes, after: bytes) -> None:
        if b"#" in before:
            found = BEFORE.search(before)
            left = found[1] if found else b""
        else:
            left = last_name(before)
        right = AFTER.match(after)
        assert right is not None, "every part of the pattern may be empty"
        is_name = right[2] is None
        self.names = (left, right[1].rpartition(b".")[2]) if is_name else (left,)
        self.may_mask = not is_name or not right[1] or ENDED.match(after, right.end()) is None


def compared(words: Words) -> Iterator[Sides]:
    """Every comparison for equality."""
    data = words.data
    for operator in OPERATORS:
        parts = data.split(operator)
        for before, after in pairwise(parts):
            yield Sides(before[-NEAR:], after[:NEAR])
    for method in METHODS:
        if method[1:] not in words.names:
            continue
        parts = data.split(method)
        for before, after in pairwise(parts):
            called = CALL.match(after)
            if called:
                yield Sides(before[-NEAR:], after[called.end() : called.end() + NEAR])


def _predicts(words: Words) -> bool:
    predicts_one = words.holds(PREDICTORS) or (words.has(b".max(") and LARGEST.search(words.data) is not None)
    return predicts_one and looks_up(words.data)


def predicts(data: bytes) -> bool:
    """Whether a class may be predicted in a text."""
    return any(word in data for word in PREDICTORS) or (b".max(" in data and LARGEST.search(data) is not None)


def looks_up(data: bytes) -> bool:
    """Whether a text may ask a table of labels for something that it computes."""
    parts = data.split(b"[")
    asked = (before[-NEAR:] for before, after in pairwise(parts) if ASKED.match(after))
    return any(TABLE.fullmatch(last_name(before)) and not OWN.search(before) for before in asked)


def _is_padded(words: Words) -> bool:
    return PADDED.search(words.data) is not None


def _keeps_sentinel(words: Words) -> bool:
    data = words.data
    if words.has(b"ignore") and ACCEPTED.search(data):
        return True
    return words.has(b"self.pad") and KEPT_PADDING.search(data) is not None and PADDED_LOSS.search(data) is not None


def _cuts(words: Words) -> bool:
    return cuts(words.data)


def cuts(data: bytes) -> bool:
    """Whether scores may lose their last classes in a text."""
    for pattern in COMPILED_CUTS[:2]:
        if any(not NO_CLASSES.search(REMARK.sub(b"", found[1])) for found in pattern.finditer(data)):
            return True
    return COMPILED_CUTS[2].search(data) is not None


def _takes(words: Words) -> bool:
    """What refuses a negative index is given something that is called like a target."""
    data = words.data
    for pattern in REFUSING:
        for found in pattern.finditer(data):
            if found[0].endswith(b"as"):
                return True
            if ANSWERS.search(data, found.end(), closing(data, found.end()) or found.end() + LONGEST):
                return True
    return False


def _is_indexed(words: Words) -> bool:
    return indexed(words.data)


def indexed(data: bytes) -> bool:
    """Whether something is looked up in a text by what is named like a target."""
    for word, pattern in INDICES:
        if word in data:
            for found in pattern.finditer(data):
                if COMPILED_INDEXED.search(data, max(0, found.start() - NEAR), found.end()):
                    return True
    return False


def _is_mean(words: Words) -> bool:
    data = words.data
    if words.has(b".mean()") and COMPILED_SELECTED.search(data):
        return True
    # What is divided is a sum as well.
    sums = data.count(b".sum()") + data.count(b"torch.sum(")
    return sums > 1 and COMPILED_DIVIDED.search(data) is not None


COMPILED_CUTS = tuple(map(regex, CUTS))
COMPILED_INDEXED, COMPILED_SELECTED, COMPILED_DIVIDED = map(regex, (INDEXED, SELECTED, DIVIDED))

keeps_sentinel = Kind("a sentinel that is kept", LOSS | frozenset(SMOOTH), confirms=_keeps_sentinel)
"""A sentinel is kept or accepted where losses are computed."""

KINDS = (
    Kind("a loss", LOSS),
    Kind("a loss over pictures", (b"ignore_index",), SEGMENTING),
    Kind("a metric", (b"ignore_index",), METRIC),
    Kind("an accuracy of the project's own", (b"ignore", b"padding_idx"), SKIPS, confirms=_own_metric),
    Kind("a trainer", TRAINER, TRAINED),
    Kind("a collator", COLLATOR),
    Kind("a loader", frozenset((b"DataLoader",)), (b"collate_fn", b"**")),
    Kind("a comparison of labels or tokens", confirms=_compares),
    Kind("a prediction", confirms=_predicts),
    Kind("an embedding", (b"padding_idx",), (b"Embedding",), confirms=_is_padded),
    Kind("a detector", DETECTOR),
    Kind("a step of training", frozenset((b"backward", b"training_step")), confirms=_trains),
    keeps_sentinel,
    Kind("a cut of the classes", PREDICTS, confirms=_cuts),
    Kind("an index that is called", TAKING, confirms=_takes),
    Kind("an index in brackets", (b"label", b"target", b"tgt"), confirms=_is_indexed),
    Kind("a mean", (b".mean()", b".sum(", b"torch.sum("), confirms=_is_mean),
)
"""The kinds of sites, the likeliest first."""
