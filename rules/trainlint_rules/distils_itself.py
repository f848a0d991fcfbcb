"""TL405: both sides of a loss are the same tensor, and nothing is learned from it.

A loss that matches a student to a teacher is given two tensors of the same shape from two models with similar names.
Where the teacher's answer stands on both sides, or the student's, the difference is zero, and so is the gradient. The
other terms of the loss go on training the student, so the run looks healthy.

What it does. The student is trained without its teacher. The term reads zero from the first step on, which is easily
taken for a student that has caught up; summed up with other terms it is not seen at all.

To fix it, give the student's answer first and the teacher's second.

Bad:

    import torch.nn.functional as F


    def distil(student, teacher, x, y, t=4.0):
        scores = student(x)
        goal = teacher(x).detach()
        soft = F.kl_div(F.log_softmax(goal / t, -1), F.softmax(goal / t, -1), reduction="batchmean")
        return F.cross_entropy(scores, y) + t * t * soft

Good:

    import torch.nn.functional as F


    def distil(student, teacher, x, y, t=4.0):
        scores = student(x)
        goal = teacher(x).detach()
        soft = F.kl_div(F.log_softmax(scores / t, -1), F.softmax(goal / t, -1), reduction="batchmean")
        return F.cross_entropy(scores, y) + t * t * soft

Severity. An error.

Silent where anything but a softmax, a logarithm, a cast or ``detach`` differs between the two sides: another
temperature sharpens, noise and dropout make two answers of one. Silent too where a model other than a teacher is called
twice, where a tensor is written into, and for losses that compare a tensor with labels.
"""

from collections.abc import Iterator

from trainlint import Finding, SelfMatch, rule


@rule("TL405")
def distils_itself(match: SelfMatch) -> Iterator[Finding]:
    """Flag a loss that compares a tensor with itself."""
    yield Finding(
        match.call,
        f"both sides of {match.function} are {match.side}",
        "the loss is zero and so is its gradient: nothing is learned from the teacher",
        (match.made,),
        "give the answer of the student on one side and that of the teacher on the other",
    )
