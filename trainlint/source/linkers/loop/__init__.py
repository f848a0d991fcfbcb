"""In which order a training loop does its steps: backward, clipping, the optimizer, the modes."""

from trainlint.source.linkers.linker import Linker, facts_of, sites_of

BACKWARD = frozenset({"backward"})
CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"})

LINKERS = (
    Linker("judging in which mode a model learns", sites_of("loop.modes"), facts_of("loop.modes"), words=BACKWARD),
    Linker(
        "judging how gradients are added up", sites_of("loop.modes"), facts_of("loop.accumulations"), words=BACKWARD
    ),
    Linker("judging the loss of a trainer of transformers", sites_of("loop.own_losses"), facts_of("loop.own_losses")),
    Linker("judging whether gradients are cleared", sites_of("loop.modes"), facts_of("loop.clearings"), words=BACKWARD),
    Linker("judging which losses are kept", sites_of("loop.modes"), facts_of("loop.graphs"), words=BACKWARD),
    Linker("judging at what size gradients are clipped", sites_of("loop.clips"), facts_of("loop.clips"), words=CLIPS),
)
