"""Lines that do not do what they say: results thrown away, switches that switch nothing."""

from trainlint.source.linkers.linker import Linker, at
from trainlint.source.sift.effects import adapts, drops, drops_always, freezes, samples

SAMPLER = frozenset({"DistributedSampler"})

LINKERS = (
    Linker("judging a result that nothing takes", *at("effects.results")),
    Linker("judging the dropout of fused attention", *at("effects.attention"), sifted=drops),
    Linker("judging a dropout that no mode switches off", *at("effects.dropouts"), sifted=drops_always),
    Linker("judging a switch of gradients", *at("effects.freezing"), sifted=freezes),
    Linker("judging a sampler of distributed training", *at("effects.samplers"), words=SAMPLER),
    Linker("judging a loader of distributed training", *at("effects.loaders"), sifted=samples),
    Linker("judging an adapter over new tokens", *at("effects.tokens"), sifted=adapts),
)
