"""In which order a training loop does its steps: backward, clipping, the optimizer, the modes."""

from trainlint.source.linkers.linker import Linker
from trainlint.source.linkers.loop import accumulations, clearings, clips, graphs, modes, own_losses

LINKERS = (
    Linker("judging in which mode a model learns", modes.sites, modes.facts),
    Linker("judging how gradients are added up", modes.sites, accumulations.facts),
    Linker("judging the loss of a trainer of transformers", own_losses.sites, own_losses.facts),
    Linker("judging whether gradients are cleared", modes.sites, clearings.facts),
    Linker("judging which losses are kept", modes.sites, graphs.facts),
    Linker("judging at what size gradients are clipped", clips.sites, clips.facts),
)
