"""TL308: a loss adds up many classes one by one.

``cross_entropy`` takes its classes in dimension 1: of ``(N, C)`` that is the last one, of ``(B, C, T)`` it is not. The
two run through different kernels. On the CPU the second one adds the classes one after the other, in float32: behind
the sum of all the others, a class with a low number is rounded away earlier than one with a high number.

What it does. From a margin of 24 ln 2 - ln(C - 1) on, a right class with a low number gets no gradient, however wide
the logits are stored: 9.7 with 1025 classes, 6.0 with 50257, measured, where the flat form goes on to 16 for every
class. The margin is the lead of the right score over all others together. ``logits.float()`` changes nothing; float64
does.

To fix it, flatten: ``cross_entropy(logits.flatten(0, 1), targets.flatten())`` of logits with the classes last.

Bad:

    import torch.nn as nn
    import torch.nn.functional as F

    head = nn.Linear(64, 32000)


    def loss(hidden, targets):
        logits = head(hidden).to("cpu")
        return F.cross_entropy(logits.transpose(1, 2), targets)

Good:

    import torch.nn as nn
    import torch.nn.functional as F

    head = nn.Linear(64, 32000)


    def loss(hidden, targets):
        logits = head(hidden).to("cpu")
        return F.cross_entropy(logits.view(-1, 32000), targets.view(-1))

Severity. A note, and off: it matters only where training goes to a loss near zero, and on CUDA nobody has measured it.

Silent where the files that lead there name another device than the CPU, under 1000 classes, and where the number of
classes is not known.
"""

from collections.abc import Iterator

from trainlint import Device, Dtype, Finding, LossArithmetic, Severity, rule, sequential_cutoff

MANY = 1000
"""With fewer classes the margin stays above 9.7, which little training reaches."""


@rule("TL308", on=False)
def class_dim_layout(loss: LossArithmetic) -> Iterator[Finding]:
    """Flag a loss over many classes that stand in dimension 1 before others."""
    if not loss.spatial or loss.classes is None or loss.classes < MANY or loss.smoothed:
        return
    if loss.device in (Device.CUDA, Device.OTHER) or loss.arithmetic is Dtype.FLOAT64:
        return
    margin = sequential_cutoff(Dtype.FLOAT32.significand, loss.classes)
    yield Finding(
        loss.call,
        f"{loss.function} adds {loss.classes} classes one by one in float32 on the CPU: those with a low number get no"
        f" gradient from a margin of {margin:.1f} on",
        "with the classes last, every class goes on to 16",
        loss.hints,
        "flatten the logits to (rows, classes) and the targets to (rows,)",
        severity=Severity.NOTE,
    )
