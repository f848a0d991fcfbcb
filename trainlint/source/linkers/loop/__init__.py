"""In which order a training loop does its steps: backward, clipping, the optimizer, the modes."""

from trainlint.source.linkers.linker import Linker, at

BACKWARD = frozenset({"backward"})
CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clamp_", "clip_"})

LINKERS = (
    Linker("judging in which mode a model learns", *at("loop.modes"), words=BACKWARD),
    Linker("judging how gradients are added up", *at("loop.modes", "loop.accumulations"), words=BACKWARD),
    Linker("judging the loss of a trainer of transformers", *at("loop.own_losses")),
    Linker("judging whether gradients are cleared", *at("loop.modes", "loop.clearings"), words=BACKWARD),
    Linker("judging which losses are kept", *at("loop.modes", "loop.graphs"), words=BACKWARD),
    Linker("judging at what size gradients are clipped", *at("loop.clips"), words=CLIPS),
)
