"""TL114: a loss is never given the sentinel that its object keeps.

A loss class takes ``ignore_index``, stores it, and computes its result without it. The caller believes that padding is
skipped; it is learned. The argument was meant for a later version, or was lost when the loss was rewritten.

What it does. A smoothed cross-entropy that stores ``ignore_index=0`` and never reads it gives the rows of padding a
gradient of 0.76, where the one that masks them gives 0 (measured; the bug of k-tahiro/bert-summarizer, pull request
41). Padding is frequent and easy, so it also pulls the reported loss down.

To fix it, pass the number to the loss, ``ignore_index=self.ignore_index``, or leave the padded targets out of the mean:
``keep = target != self.ignore_index``. If nothing is to be skipped, take the parameter away.

Bad:

    import torch.nn as nn
    import torch.nn.functional as F


    class TokenLoss(nn.Module):
        def __init__(self, ignore_index=0):
            super().__init__()
            self.ignore_index = ignore_index

        def forward(self, logits, target):
            return F.cross_entropy(logits.transpose(1, 2), target)

Good:

    import torch.nn as nn
    import torch.nn.functional as F


    class TokenLoss(nn.Module):
        def __init__(self, ignore_index=0):
            super().__init__()
            self.ignore_index = ignore_index

        def forward(self, logits, target):
            return F.cross_entropy(logits.transpose(1, 2), target, ignore_index=self.ignore_index)

Severity. An error that names the default if a default decides; a warning if the number that is kept is not known. It is
reported at the call of PyTorch's loss, or, for a loss that is written out, at what it returns.

Silent where the number is read anywhere: in the class, in a base or a derived class, by another file, by ``vars``;
where it is also passed to something else; where it equals the number that the loss skips (-100); where a loss of the
class is not known, has a sentinel of its own, is weighted or not reduced; and where a loss that is written out compares
or masks.
"""

from collections.abc import Iterator

from trainlint import Finding, Integer, Severity, Unknown, UnusedSentinel, given, joined, rule, taken

SKIPPED = Integer.exact(-100)
"""What PyTorch's losses skip unless told otherwise."""


@rule("TL114")
def unused_sentinel(loss: UnusedSentinel) -> Iterator[Finding]:
    """Flag a loss that lacks the sentinel which it was meant to have."""
    value = loss.value
    if isinstance(value, Integer) and (value - SKIPPED).number == 0:
        return
    known = isinstance(value, Integer) and value.number is not None
    assumed = taken(value)
    yield Finding(
        loss.argument,
        f"{loss.holder} takes {loss.name}{_equal(value)}, and {_lacks(loss)}{given(assumed)}",
        f"targets that are filled with {value if known else 'it'} are learned as if they were answers",
        joined((loss.kept,), () if isinstance(value, Unknown) else value.evidence),
        f"pass {loss.name} to the loss, or leave those targets out of it",
        assumed,
        Severity.ERROR if known and loss.everywhere else Severity.WARNING,
    )


def _equal(value: Integer | Unknown) -> str:
    return f"={value}" if isinstance(value, Integer) and value.number is not None else ""


def _lacks(loss: UnusedSentinel) -> str:
    return f"{loss.function} is called without it" if loss.function else "the loss that it returns never uses it"
