"""Which files may hold a line without its effect: the sites of ``linkers.effects``."""

from __future__ import annotations

import re

from trainlint.knowledge.effects import CASTS, FUNCTIONS, METHODS, MISSPELLED
from trainlint.source.sift.spelling import holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = METHODS | {name.rpartition(".")[2] for name in FUNCTIONS}
PLACE = rb"^[ \t]*[A-Za-z_](?:[\w.]|\[[^\]\n]*\])*"
MODULES = (
    rb"(?<!model)(?<!net)(?<!pipe)(?<!pipeline)(?<!coder)(?<!vae)(?<!module)(?<!self)(?<!transformer)(?<!criterion)"
)
"""What ends so is a module, if nothing else is known of it."""

ALONE = re.compile(
    rb"%s(?:\.(?:%s)|%s\.(?:%s))\("
    % (PLACE, "|".join(sorted(WORDS - CASTS)).encode(), MODULES, "|".join(sorted(CASTS)).encode()),
    re.MULTILINE,
)
"""A line that starts with such an operation, so that nothing takes its result."""


def discards(data: bytes) -> bool:
    """Whether the result of an operation on a tensor may be thrown away."""
    return b"torch" in data and ALONE.search(data) is not None


FUSED = b"scaled_dot_product_attention"


def drops(data: bytes) -> bool:
    """Whether fused attention may be told to drop something."""
    return FUSED in data and b"drop" in data


SAMPLER = b"DistributedSampler"
PARALLEL = (b"DistributedDataParallel", b"DDP")


def samples(data: bytes) -> bool:
    """Whether data may be shared out to several processes, or should be."""
    return SAMPLER in data or (b"DataLoader" in data and holds(data, PARALLEL))


FROZEN = re.compile(
    rb"(?<!\bp)(?<!\bparam)(?<!\bweight)(?<!\bbias)\.requires_grad[ \t]*=[^=]|\.(?:%s)[ \t]*=[^=]"
    % "|".join(sorted(MISSPELLED)).encode()
)
"""A switch of gradients is written, and not that of something that is called a parameter."""


def freezes(data: bytes) -> bool:
    """Whether a switch may be written that freezes nothing."""
    return b".requir" in data and FROZEN.search(data) is not None


ADAPTERS = (b"LoraConfig", b"LoHaConfig", b"LoKrConfig", b"AdaLoraConfig", b"IA3Config")


def adapts(data: bytes) -> bool:
    """Whether an adapter may be put on a model."""
    return holds(data, ADAPTERS)


KINDS: tuple[Callable[[bytes], bool], ...] = (discards, drops, freezes, samples, adapts)
"""One condition for each kind of site, the likeliest first."""
