"""TL401: a Kullback-Leibler divergence is averaged over the classes too, and is too small by their number.

``nn.KLDivLoss()`` and ``F.kl_div`` compute ``target * (log target - input)`` for every class of every row. The
divergence of a row is the sum over its classes. ``reduction="mean"``, which is the default, divides by the number of
rows and by the number of classes as well. What comes out is the divergence divided by the number of classes: by 10 for
ten digits, by 1000 for ImageNet, by 50257 for the vocabulary of GPT-2.

What it does. The loss has the right minimum and falls as it should, and it weighs next to nothing beside the other
terms. With 100 classes, ``alpha=0.9`` for the teacher and 0.1 for the labels is really 0.009 to 0.1: the teacher is
hardly heard, and a longer search for ``alpha`` and for the temperature finds settings that make up for it and fit no
other number of classes. PyTorch warns of it when the loss is computed, once, in the log of the run.

To fix it, ask for ``reduction="batchmean"``: it divides by the length of the first dimension alone. Where there are
positions as well, as in (batch, positions, classes), ``flatten(0, -2)`` both sides first, or the loss grows with the
length of the text. Or sum over the classes by hand: ``F.kl_div(..., reduction="none").sum(-1).mean()``. A weight that
was found under the old reduction has to be divided by the number of classes.

Bad:

    import torch.nn.functional as F


    def distil(student, teacher, labels, alpha=0.9, t=4.0):
        soft = F.kl_div(F.log_softmax(student / t, -1), F.softmax(teacher / t, -1)) * t**2
        return alpha * soft + (1 - alpha) * F.cross_entropy(student, labels)

Good:

    import torch.nn.functional as F


    def distil(student, teacher, labels, alpha=0.9, t=4.0):
        soft = F.kl_div(F.log_softmax(student / t, -1), F.softmax(teacher / t, -1), reduction="batchmean") * t**2
        return alpha * soft + (1 - alpha) * F.cross_entropy(student, labels)

Severity. A warning: a loss that is too small by a constant can be made up for by a weight, and some have been.

Silent for the other reductions (``none``, ``sum``, ``batchmean``, ``size_average=False``), where the loss is multiplied
by the number of classes somewhere on its way, where it is only looked at (under ``no_grad``, printed, logged, compared,
in a function that evaluates), and where the reduction is not known.
"""

from collections.abc import Iterator

from trainlint import Divergence, Finding, Reduction, Severity, rule


@rule("TL401")
def kl_reduction(divergence: Divergence) -> Iterator[Finding]:
    """Flag a divergence that is divided by the number of classes."""
    if divergence.reduction is not Reduction.MEAN or divergence.scaled is not None:
        return
    by = ", its default" if divergence.is_default else ""
    yield Finding(
        divergence.argument,
        f"the reduction of {divergence.function} is mean{by}: it divides by the classes, not by the rows alone",
        "the divergence is too small by exactly the number of classes, and weighs next to nothing beside other losses",
        assumed=divergence.assumed,
        help='use reduction="batchmean" on rows of classes (flatten positions into rows first)',
        severity=Severity.WARNING,
    )
