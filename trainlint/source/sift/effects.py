"""Which files may hold a line without its effect: the sites of ``linkers.effects``."""

from __future__ import annotations

from trainlint.regex import regex
from trainlint.source.sift.kind import Kind, Words
from trainlint.source.sift.spelling import closing
from trainlint.source.sift.words import CASTS, MISSPELLED, OPERATIONS

NEAR = 240
"""Bytes in which the end of the line before is looked for."""

PLACE = rb"[A-Za-z_](?:[\w.]|\[[^\]\n]*\])*"
MODULES = (
    rb"(?<!model)(?<!net)(?<!pipe)(?<!pipeline)(?<!coder)(?<!vae)(?<!module)(?<!self)(?<!transformer)(?<!criterion)"
)
"""What ends so is a module, if nothing else is known of it."""

ALONE = regex(
    rb"[ \t]*%s(?:\.(?:%s)|%s\.(?:%s))\("
    % (PLACE, b"|".join(sorted(OPERATIONS - CASTS)), MODULES, b"|".join(sorted(CASTS)))
)
"""A line that starts with such an operation, so that nothing takes its result."""

ORDERS = regex(rb"\n[ \t]*[A-Za-z_][\w.]*(?:\[[^\]\n]*\][\w.]*)*\(")
"""The beginning of a line that starts with a call."""

AFTER = regex(rb"[ \t]*(?:[;#\r\n]|\Z)")
"""What may follow on the line of a statement."""

OPENING = frozenset(bytes([byte]) for byte in b"([{=+-*/%&|^<~@")
"""What a line ends with whose statement goes on in the next one."""


def _discards(words: Words) -> bool:
    """Whether a statement is nothing but such an operation."""
    data = words.data
    starts = (found.start() + 1 for found in ORDERS.finditer(data))
    return _is_alone(data, 0) or any(_is_alone(data, start) for start in starts)


def _is_alone(data: bytes, start: int) -> bool:
    found = ALONE.match(data, start)
    if found is None or data[max(0, start - NEAR) : start].rstrip()[-1:] in OPENING:
        return False
    end = closing(data, found.end())
    return end is None or AFTER.match(data, end) is not None


discards = Kind("a result that nothing takes", (b"torch",), confirms=_discards)
"""The result of an operation on a tensor may be thrown away."""

drops = Kind("the dropout of fused attention", frozenset((b"scaled_dot_product_attention",)), (b"drop",))
"""Fused attention may be told to drop something."""

DROPOUTS = tuple(regex(rb"%b(?<!self\.%b)(?:1d|2d|3d)?\(" % (word, word)) for word in (b"dropout", b"Dropout"))
"""Where a function that drops is called, or a layer that does is made; ``self.dropout`` is a layer that was."""

APPLIED = regex(rb"[ \t\r\n)]*\(")


SWITCH = regex(rb"training[ \t]*=")
LAST = regex(rb"train(?:ing)?[\s,]*\)\Z")
"""The mode by place, which may be that of the rate."""


def _tells_the_mode(given: bytes) -> bool:
    """Whether arguments hand on the mode, and not in the place of the rate."""
    return SWITCH.search(given) is not None or (b"train" in given and LAST.search(given) is None)


def _drops_always(words: Words) -> bool:
    function, layer = DROPOUTS
    data = words.data
    for found in function.finditer(data):
        end = closing(data, found.end())
        if end is None or not _tells_the_mode(data[found.end() : end]):
            return True
    ends = (closing(data, found.end()) for found in layer.finditer(data))
    return any(end is None or APPLIED.match(data, end) for end in ends)


FUNCTIONS = frozenset(
    (b"dropout", b"alpha_dropout", b"feature_alpha_dropout", b"dropout1d", b"dropout2d", b"dropout3d")
)
LAYERS = frozenset((b"Dropout", b"AlphaDropout", b"FeatureAlphaDropout", b"Dropout1d", b"Dropout2d", b"Dropout3d"))
drops_always = Kind("a dropout that no mode switches off", FUNCTIONS | LAYERS, (b"class ",), confirms=_drops_always)
"""Something may be dropped by a function that is not told the mode of the model."""

SAMPLER = b"DistributedSampler"
PARALLEL = (b"DistributedDataParallel", b"DDP")
SAMPLED = Kind("a sampler of distributed training", frozenset((SAMPLER,)))
SHARED = Kind("a loader of distributed training", frozenset((b"DataLoader",)), PARALLEL)


def samples(data: bytes) -> bool:
    """Whether data may be shared out to several processes, or should be."""
    return SAMPLED(data) or SHARED(data)


FROZEN = regex(
    rb"\.requires_grad(?<!\bp\.requires_grad)(?<!\bparam\.requires_grad)(?<!\bweight\.requires_grad)"
    rb"(?<!\bbias\.requires_grad)[ \t]*=[^=]|\.requir(?:%s)[ \t]*=[^=]"
    % b"|".join(word.removeprefix(b"requir") for word in sorted(MISSPELLED))
)
"""A switch of gradients is written, and not that of something that is called a parameter."""


def _freezes(words: Words) -> bool:
    return FROZEN.search(words.data) is not None


freezes = Kind("a switch of gradients", (b".requir",), confirms=_freezes)
"""A switch may be written that freezes nothing."""

ADAPTERS = frozenset((b"LoraConfig", b"LoHaConfig", b"LoKrConfig", b"AdaLoraConfig", b"IA3Config"))
adapts = Kind("an adapter over new tokens", frozenset((b"resize_token_embeddings",)), ADAPTERS)
"""An adapter may be put on a model that makes room for new tokens."""

KINDS = (discards, drops, drops_always, freezes, SAMPLED, SHARED, adapts)
"""The kinds of sites, the likeliest first."""
