"""TL116: a mean may be taken over nothing, and is then not a number.

A loss that is masked by hand is divided by the number of places that count: ``(loss * mask).sum() / mask.sum()``. If a
batch has none, that is 0 / 0: the loss is NaN, so is its gradient, and one step later so is every weight. A mean over
what a mask selects, ``loss[mask].mean()``, is NaN as well, and so is ``cross_entropy`` when every target is ignored;
their gradient is zero, so the weights survive. What does not survive is what reads the loss: a running mean is NaN
from then on, no comparison with the best loss so far is true again, and no checkpoint is ever saved.

It comes about where the mask depends on the data or on chance: the places of one class, of confident answers, of
random masking, or the answer behind a prompt that fills the whole row after truncation. A batch without any is rare,
so training breaks after hours.

To fix it, keep the denominator above zero, ``mask.sum().clamp(min=1)``, or leave out such a batch or row.

Bad:

    import torch
    import torch.nn.functional as F


    def loss(scores, target):
        cost = F.binary_cross_entropy_with_logits(scores, target, reduction="none")
        positive = (target == 1).float()
        return (cost * positive).sum() / positive.sum()

Good:

    import torch
    import torch.nn.functional as F


    def loss(scores, target):
        cost = F.binary_cross_entropy_with_logits(scores, target, reduction="none")
        positive = (target == 1).float()
        return (cost * positive).sum() / positive.sum().clamp(min=1)

Severity. A warning for a division, after which the weights are lost. A note for ``loss[mask].mean()`` and for the mean
of PyTorch's own losses.

Silent for a mask of which nothing says that it may be empty, above all one of padding, since each row has something to
learn from; with an epsilon, a clamp, or a test of the mask anywhere in the function; where the result is checked for
NaN; under ``no_grad``; and where no name says that the mean is trained on.
"""

from collections.abc import Iterator

from trainlint import EmptyMean, Finding, Severity, rule


@rule("TL116")
def all_targets_ignored(mean: EmptyMean) -> Iterator[Finding]:
    """Flag a mean over what a mask leaves, if that may be nothing."""
    if mean.by_hand:
        what = f"{mean.mask} {mean.why}, and a batch in which it is empty divides 0 by 0"
        so, help = (
            "the gradient is NaN, and after the next step so is every weight",
            "divide by clamp(min=1) of the sum",
        )
    else:
        what = f"{mean.mask} {mean.why}, and the mean over nothing is NaN"
        so = "the weights survive, but running means and comparisons with the best loss do not"
        help = "leave out what has no target, or divide a sum by a count that is at least 1"
    severity = Severity.WARNING if mean.by_hand else Severity.NOTE
    yield Finding(mean.call, what, so, mean.evidence, help, severity=severity)
