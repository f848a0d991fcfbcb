"""Lines that do not do what they say: results thrown away, switches that switch nothing."""

from trainlint.source.linkers.effects import attention, freezing, loaders, results, samplers, tokens
from trainlint.source.linkers.linker import Linker

LINKERS = (
    Linker("judging a result that nothing takes", results.sites, results.facts),
    Linker("judging the dropout of fused attention", attention.sites, attention.facts),
    Linker("judging a switch of gradients", freezing.sites, freezing.facts),
    Linker("judging a sampler of distributed training", samplers.sites, samplers.facts),
    Linker("judging a loader of distributed training", loaders.sites, loaders.facts),
    Linker("judging an adapter over new tokens", tokens.sites, tokens.facts),
)
