"""Which files may hold a loss, a metric, a label or what makes one: the sites of ``linkers.targets``."""

from __future__ import annotations

import re

from trainlint.knowledge import losses, metrics, torch, torchvision, transformers
from trainlint.source.sift.spelling import holds, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LOSSES = (
    *torch.LOSS_FUNCTIONS,
    *torch.LOSS_CLASSES,
    *torch.BINARY_FUNCTIONS,
    *torch.BINARY_CLASSES,
    *torch.CTC_FUNCTIONS,
    *torch.CTC_CLASSES,
    *losses.CTC_CLASSES,
)
SKIPS = (b"padding_idx", b"ignore_index", b"ignored_index", b"ignore_label", b"ignore_id")
"""What an accuracy of the project's own calls the class it skips."""

OWN_METRIC = re.compile(rb"acc\w*(?:[\s\\)]|#[^\n]*\n)*(?:\(|\bas\b)")
"""In lower case: a callable that calls itself an accuracy is called here, or imported under another name."""


PREDICTORS = (b"argmax", b"multinomial", b"topk")
LARGEST = re.compile(rb"\.max\(\s*(?:[\w.]+\s*,\s*)?(?:dim|-?1)")
"""A class is predicted by a function that does nothing else, or by a maximum along one dimension."""
SENTINEL_NAME = re.compile(r"ignored?_(?:index|idx|label|id)|pad(?:ding)?_(?:index|idx|id|token_id)")
"""What a loss calls the class that it leaves out."""

HOLDER = re.compile("Loss|Criterion|CrossEntropy|Smoothing")
"""A class that is a loss says so."""

KEPT = re.compile(
    rf"self\.(?:{SENTINEL_NAME.pattern})\s*=[^=]|[(,]\s*ignored?_(?:index|idx|label|id)\s*[:=,)]".encode()
)
"""A sentinel is kept, or accepted."""

ASKED = re.compile(rb"\[\s*(?:\w+\s*\]|[\w.]+\s*[\[(])")
"""A container is asked for what a variable, a call or an element names."""

TABLE = re.compile(
    rb"(?:(?<!\w)(?![A-Z0-9_]*(?:FUNC|MAPP|2CLS|2FN))[A-Z][A-Z0-9_]*|(?<!\w)(?:itos|id2\w+|idx2\w+|int2\w+)|names|"
    rb"\w_to_\w+|(?<!\w)(?:classes|chars|vocab))\s*\Z"
)
"""The name before it is that of a table of labels."""

NEAR = 240
"""Bytes in which the other side of a bracket or a comparison is looked for, comments included."""

PADDED = re.compile(rb"[(,]\s*padding_idx\s*=\s*(?!config\.pad_token_id|self\.padding_idx)")
"""A padding index is given by its name, and not read from the settings of a published checkpoint."""


LOSS = spelled([*(known.name for known in LOSSES), *(known.word for known in losses.CONTRACTS)])
SEGMENTING = spelled(known.word for known in losses.SEGMENTING)
SMOOTH = (b"log_softmax", b"logsumexp", b"nll", b"gather")
METRIC = spelled((*metrics.CLASSES, *metrics.FUNCTIONS))
TRAINER = spelled(transformers.TRAINERS)
DETECTOR = spelled(known.name for known in torchvision.WITH_BACKGROUND)
TRAINED = (b"data_collator", b"train_dataset", b"**")
"""A trainer is judged by what it trains on; behind the stars it may be given from elsewhere."""

CUTS = (
    rb"\.\.\.\s*,\s*:[^\]:,]+[,\s]*\]",
    rb"(?:logit|score|pred|prob)\w*\[[^\]]{0,160}?,\s*:[^\]:,]+[,\s]*\]",
    rb":[,\s]*\]\s*=[^=]{0,160}?(?:inf|finfo|-\s*1e\d|NEG)",
)
"""Scores whose last part ends somewhere, ``[..., :stop]``, or is shut out, ``[..., stop:] = -inf``."""

PREDICTS = (b"argmax", b"multinomial", b"softmax", b"Categorical", b"topk", b"cross_entropy")
"""What is done with logits."""

DIVIDED = rb"/[\s\\(]*(?:torch\.sum\(|(?s:.{0,160}?)\.sum\(\))"
"""A division by the sum of something."""

SELECTED = rb"\]\s*\.mean\(\)"
"""The mean of what a subscript selects."""

TAKING = (b"one_hot", b".gather(", b".index_select(", b".scatter")
REFUSING = rb"\bone_hot\b|\.(?:gather|index_select|scatter_?|scatter_add_?)\("
"""What takes an index and refuses a negative one."""

INDEXED = rb"[\w\])]\[(?:[^\[\]]{0,160},)?\s*[\w.]*(?:label|target|tgt)\w*[,\s]*\]"
"""A subscript by something that is named like a target."""


COLLATOR = spelled((transformers.COLLATOR, transformers.COMPLETIONS))
COMPARED = re.compile(rb"[!=]=|\.(?:eq|ne)(?:[\s\\]|#[^\n]*\n)*\(")
SENTINEL = (b"-1", b"- 1", b"ignore", b"IGNORE", b"Ignore")
"""What a masked label is overwritten with."""

TOKEN_BEFORE = re.compile(rb"(?:pad|eos|eot)\w*(?:[\s)\\]|#[^\n]*\n)*\Z")
TOKEN_AFTER = re.compile(rb"(?:[\s(\\]|#[^\n]*\n)*[\w.\[\]\"'()]*?(?:pad|eos|eot)")
"""In lower case: a name that says padding or end on either side of a comparison."""


PICKS = (b"gather", b"scatter", b"one_hot")
SKIP_BEFORE = re.compile(rb"(?:pad|ignor)\w*(?:[\s)\\]|#[^\n]*\n)*\Z")
SKIP_AFTER = re.compile(rb"(?:[\s(\\]|#[^\n]*\n)*[\w.\[\]\"'()]*?(?:pad|ignor)")
"""In lower case: a name that says padding or ignored on either side of a comparison."""

MODEL = (b"logits", b"model", b"net", b"lm", b"gpt", b"decoder", b"transformer")
SAMPLED = spelled(torch.SAMPLING - {"max"})
STOP_BEFORE = re.compile(rb"(?:eos|eot|eod|stop|end)\w*(?:[\s)\\]|#[^\n]*\n)*\Z")
STOP_AFTER = re.compile(rb"(?:[\s(\\]|#[^\n]*\n)*[\w.\[\]\"'()]*?(?:eos|eot|eod|stop|end)")
"""In lower case: a name that says end on either side of a comparison."""


def _loss(data: bytes) -> bool:
    return holds(data, LOSS) or (b"ignore_index" in data and holds(data, SEGMENTING))


def _trainer(data: bytes) -> bool:
    return holds(data, TRAINER) and holds(data, TRAINED)


def _loader(data: bytes) -> bool:
    return b"DataLoader" in data and holds(data, (b"collate_fn", b"**"))


def _shift(data: bytes) -> bool:
    """A model is trained here by hand. A trainer is judged by what it trains on."""
    return holds(data, (b"backward", b"training_step")) and holds(data.lower(), MODEL)


def _stop(data: bytes) -> bool:
    """A sampled token is compared with a symbol whose name says end."""
    return holds(data, SAMPLED) and _compares(data, STOP_BEFORE, STOP_AFTER)


def _metric(data: bytes) -> bool:
    if not holds(data, (b"ignore", b"padding_idx")) or not holds(data, SKIPS):
        return False
    return OWN_METRIC.search(data.lower()) is not None or (b"ignore_index" in data and holds(data, METRIC))


def _collator(data: bytes) -> bool:
    return holds(data, COLLATOR)


def _label_mask(data: bytes) -> bool:
    """A label is compared with a token whose name says padding or end, and a sentinel is written."""
    return holds(data, SENTINEL) and _compares(data, TOKEN_BEFORE, TOKEN_AFTER)


def _compares(data: bytes, before: re.Pattern[bytes], after: re.Pattern[bytes]) -> bool:
    """Whether a comparison has one of these names before or after it."""
    for compared in COMPARED.finditer(data):
        start, end = compared.span()
        if before.search(data[max(0, start - NEAR) : start].lower()) or after.match(data[end : end + NEAR].lower()):
            return True
    return False


def _own_loss(data: bytes) -> bool:
    """Scores are picked by the targets, and targets are compared with what is skipped."""
    return holds(data, PICKS) and _compares(data, SKIP_BEFORE, SKIP_AFTER)


def _prediction(data: bytes) -> bool:
    return predicts(data) and looks_up(data)


def predicts(data: bytes) -> bool:
    """Whether a class may be predicted in a text."""
    return holds(data, PREDICTORS) or (b".max(" in data and LARGEST.search(data) is not None)


def looks_up(data: bytes) -> bool:
    """Whether a text may ask a table of labels for something that it computes."""
    asked = ASKED.finditer(data)
    return any(TABLE.search(data, max(0, each.start() - NEAR), each.start()) for each in asked)


def _embedding(data: bytes) -> bool:
    return b"padding_idx" in data and b"Embedding" in data and PADDED.search(data) is not None


def _detector(data: bytes) -> bool:
    return holds(data, DETECTOR)


def keeps_sentinel(data: bytes) -> bool:
    """Whether a sentinel is kept or accepted where losses are computed."""
    return holds(data, (*LOSS, *SMOOTH)) and KEPT.search(data) is not None


def _cut(data: bytes) -> bool:
    return holds(data, PREDICTS) and any(re.search(cut, data) for cut in CUTS)


def _index(data: bytes) -> bool:
    if holds(data, TAKING) and re.search(REFUSING, data):
        return True
    return holds(data, (b"label", b"target", b"tgt")) and re.search(INDEXED, data) is not None


def _mean(data: bytes) -> bool:
    if b".mean()" not in data and b".sum(" not in data:
        return False
    return re.search(DIVIDED, data) is not None or re.search(SELECTED, data) is not None


KINDS: tuple[Callable[[bytes], bool], ...] = (
    _loss,
    _metric,
    _trainer,
    _collator,
    _loader,
    _label_mask,
    _own_loss,
    _prediction,
    _embedding,
    _detector,
    _stop,
    _shift,
    keeps_sentinel,
    _cut,
    _index,
    _mean,
)
"""One condition for each kind of site, the likeliest first."""
