"""TL111: a binary loss is given a probability where it wants a score, or a score where it wants a probability.

``binary_cross_entropy_with_logits`` applies a sigmoid itself; ``binary_cross_entropy`` wants an input that has passed
one. Which of the two a program uses is often decided far from the model, and the two are exchanged with one word.

What it does. With a sigmoid in the model and one in the loss, the loss reads every answer from 0 to 1 as a score: as a
probability between 0.50 and 0.73. A small network on two classes that can be told apart, 1000 steps of Adam: the loss
ends at 0.497 where it should end at 0.0004, and no answer is ever below one half. The sign is a loss that lies flat
between 0.31 (every answer is yes) and 0.69 (every answer is no).

The other way round, ``binary_cross_entropy`` of raw scores, PyTorch stops at the first number outside of 0 to 1, on a
GPU with an assertion that names no line; until then, scores that happen to lie between are taken for probabilities.

To fix it, use ``binary_cross_entropy_with_logits`` on raw scores, which is also the more accurate form, and apply the
sigmoid where probabilities are read.

Bad:

    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    head = nn.Linear(64, 1)


    def loss(hidden, targets):
        answer = torch.sigmoid(head(hidden))
        return F.binary_cross_entropy_with_logits(answer, targets)

Good:

    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    head = nn.Linear(64, 1)


    def loss(hidden, targets):
        answer = torch.sigmoid(head(hidden))
        return F.binary_cross_entropy(answer, targets)

Severity. An error; a warning where one of several branches chooses the loss.

One finding where the same activation reaches several losses: at the first of them, with the others as evidence.

Silent where any arithmetic or layer comes after the activation, under ``no_grad`` and where ``self.training`` is
false, where a branch that the code leaves open decides about the activation, and where the input is not traced.
"""

from collections.abc import Iterator

from trainlint import (
    Activation,
    AddImport,
    Applicability,
    Finding,
    Fix,
    Form,
    LossInput,
    Replace,
    Unknown,
    Unwrap,
    rule,
)

SAME = {"binary_cross_entropy": "binary_cross_entropy_with_logits", "BCELoss": "BCEWithLogitsLoss"}
"""The loss of raw scores that takes the same arguments."""


@rule("TL111")
def sigmoid_twice(loss: LossInput) -> Iterator[Finding]:
    """Flag a binary loss whose input went through one sigmoid too many, or one too few."""
    reaches = loss.reaches
    if loss.several or isinstance(reaches, Unknown) or loss.is_chosen or reaches.form is loss.wants:
        return
    so, cure = _so(loss, reaches)
    because = (reaches.step, *loss.beside)
    yield Finding(loss.call, _what(loss, reaches), so, because, cure, fix=_fix(loss, reaches))


def _fix(loss: LossInput, reaches: Activation) -> Fix | None:
    """Never safe: what else reads these numbers gets others then, or the loss itself becomes another."""
    where = reaches.step.where
    if loss.branch:
        return None
    if loss.wants is Form.LOGITS and reaches.inner:
        return Fix(Applicability.UNSAFE, f"Leave the {reaches.name} out", (Unwrap(where, reaches.inner),))
    if loss.wants is Form.LOGITS and reaches.is_made:
        edits = (Replace(where, "torch.nn.Identity()"), AddImport(where, "torch"))
        return Fix(Applicability.UNSAFE, f"Leave the {reaches.name} out", edits)
    if loss.wants is Form.PROBABILITIES and reaches.is_layer and loss.word and loss.function in SAME:
        return Fix(Applicability.UNSAFE, f"Take {SAME[loss.function]}", (Replace(loss.word, SAME[loss.function]),))
    return None


def _what(loss: LossInput, reaches: Activation) -> str:
    if reaches.is_layer:
        return f"{loss.function} wants probabilities, but {reaches.name} emits raw scores"
    does = "wants raw scores and applies a sigmoid itself" if loss.wants is Form.LOGITS else "wants probabilities"
    return f"{loss.function} {does}, but {reaches.name} has made {reaches.form.value}"


def _so(loss: LossInput, reaches: Activation) -> tuple[str, str]:
    if loss.wants is Form.PROBABILITIES:
        so = "the loss refuses the first number outside of 0 to 1"
        return so, "use binary_cross_entropy_with_logits" if reaches.is_layer else "apply a sigmoid, not its logarithm"
    cure = f"pass the scores from before the {reaches.name}"
    if reaches.form is Form.LOG_PROBABILITIES:
        return "no answer can be more likely than 0.50", cure
    return "every answer is squeezed between 0.50 and 0.73, and the loss cannot come near 0", cure
