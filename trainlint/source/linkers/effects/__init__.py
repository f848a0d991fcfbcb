"""Lines that do not do what they say: results thrown away, switches that switch nothing."""

from trainlint.source.linkers.linker import Linker, facts_of, sites_of
from trainlint.source.sift.effects import adapts, drops, freezes, samples

SAMPLER = frozenset({"DistributedSampler"})

LINKERS = (
    Linker("judging a result that nothing takes", sites_of("effects.results"), facts_of("effects.results")),
    Linker(
        "judging the dropout of fused attention",
        sites_of("effects.attention"),
        facts_of("effects.attention"),
        sifted=drops,
    ),
    Linker("judging a switch of gradients", sites_of("effects.freezing"), facts_of("effects.freezing"), sifted=freezes),
    Linker(
        "judging a sampler of distributed training",
        sites_of("effects.samplers"),
        facts_of("effects.samplers"),
        words=SAMPLER,
    ),
    Linker(
        "judging a loader of distributed training",
        sites_of("effects.loaders"),
        facts_of("effects.loaders"),
        sifted=samples,
    ),
    Linker("judging an adapter over new tokens", sites_of("effects.tokens"), facts_of("effects.tokens"), sifted=adapts),
)
