"""TL404: a student starts as an exact copy of its teacher, and Adam makes steps out of errors of rounding.

On paper the gradient of a divergence is zero where student and teacher agree, and a copy that is trained on nothing
else stays where it is. In the computer the two sides are rounded apart, and about 1e-9 is left of their difference.
Adam divides it by its own size: with an epsilon far above the residue it acts like plain gradient descent with the step
``lr / eps``, and at the default epsilon of 1e-8 that step is too long for the curvature of the loss. The residue is
multiplied in every step until the student has left.

What it does. In `studies/distillation` every copy has left its teacher within 4 steps in float64, within 2 in float32,
and a logit is off by more than 5 in the end. Nothing was learned from it: the accuracy of those students stayed what it
was. What is lost is what the copy was made for, a start from a good solution that later terms or layers refine.

A copy stays if the epsilon of Adam is above ``lr * curvature * (1 - beta1) / (2 * (1 + beta1))``, the curvature being
the largest of the loss at the teacher. That is not written in the code; between 1e-5 and 8e-4 were measured. With
``eps=1e-4`` and more the copies of those teachers stay at the default ``beta1`` (`docs/studies/distillation.md`).

To fix it, raise ``eps`` to 1e-4 or more while the student is close, let the learning rate fall to zero, or use a loss
whose gradient is exactly zero where both agree, such as the mean squared difference of the scores. Keep both in the
same mode: in evaluation mode an attention layer may take a fused path that differs in the fifth decimal, and then even
that loss moves the copy.

Bad:

    import copy

    import torch
    import torch.nn.functional as F


    def distil(teacher, batches):
        student = copy.deepcopy(teacher)
        optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
        for x in batches:
            with torch.no_grad():
                goal = teacher(x).log_softmax(-1)
            loss = F.kl_div(student(x).log_softmax(-1), goal, log_target=True, reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

Good:

    import copy

    import torch
    import torch.nn.functional as F


    def distil(teacher, batches):
        student = copy.deepcopy(teacher)
        optimizer = torch.optim.Adam(student.parameters(), lr=1e-3, eps=1e-3)
        for x in batches:
            with torch.no_grad():
                goal = teacher(x).log_softmax(-1)
            loss = F.kl_div(student(x).log_softmax(-1), goal, log_target=True, reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

Severity. A note: the student ends beside its teacher and not far from it.

Silent where another term stands beside the divergence, where the two are given different inputs, where anything changes
the student between the copy and the optimizer, where the teacher follows it, where the modes differ and a layer depends
on them (dropout moves the student then, as it is meant to), where a scheduler is given the optimizer, for a loss whose
gradient is exactly zero, for other optimizers, and where copy, optimizer and loss do not stand in one function.
"""

from collections.abc import Iterator

from trainlint import ExactCopy, Finding, Real, Severity, rule

MEASURED = 1e-4
"""From about this epsilon on the copies stayed that were measured; the boundary itself needs the curvature."""


@rule("TL404")
def exact_copy_start(copy: ExactCopy) -> Iterator[Finding]:
    """Note a student that is an exact copy and is trained with a small epsilon to agree with its teacher."""
    if not isinstance(copy.eps, Real) or copy.eps.number >= MEASURED:
        return
    yield Finding(
        copy.argument,
        f"{copy.student} starts as an exact copy of {copy.teacher}, and the epsilon of {copy.optimizer} is"
        f" {copy.eps.number:g}",
        f"{copy.optimizer} makes steps out of errors of rounding, and the copy leaves its teacher within a few of them",
        (copy.copied, copy.matched),
        f"raise eps to {MEASURED:g} or more, or let the learning rate fall to zero",
        copy.eps.assumed,
        Severity.NOTE,
    )
