"""TL110: a loss over classes is given something else than the scores it wants.

``cross_entropy`` takes raw scores and applies ``log_softmax`` itself. ``nll_loss`` takes log-probabilities and applies
nothing. A model that ends in a softmax, because a probability is what one wants to look at, does not fit the first; a
model that ends in a linear layer does not fit the second. All shapes agree, and no error is raised.

It comes about across files: the model ends in ``nn.Softmax``, and the loss is chosen somewhere else.

What it does. A small network with 100 classes that can be told apart, 1000 steps of Adam, loss and accuracy on what it
trains on:

    log_softmax, or nothing, then cross_entropy   0.0075   1.00
    softmax, then cross_entropy                   3.6952   0.93
    softmax, then nll_loss                       -0.9226   0.92
    nothing, then nll_loss                     -492.9576   0.03

After a softmax the best possible loss of ``cross_entropy`` is not 0 but log(1 + (C - 1) / e): 0.744 for 4 classes,
3.622 for 100. A curve that lies flat at that height is the sign. The gradient goes through two softmaxes and fades
where the model is sure and wrong, which is where it is needed.

To fix it, hand the raw scores to ``cross_entropy`` and take the softmax where probabilities are read, or end the model
in ``log_softmax`` and use ``nll_loss``.

Bad:

    import torch.nn as nn

    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4), nn.Softmax(dim=-1))
    criterion = nn.CrossEntropyLoss()


    def loss(x, y):
        return criterion(model(x), y)

Good:

    import torch.nn as nn

    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))
    criterion = nn.CrossEntropyLoss()


    def loss(x, y):
        return criterion(model(x), y)

Severity. An error. A warning for a sigmoid before ``cross_entropy``, which may be meant to bound the scores, and where
one of several branches chooses the loss.

One finding where the same activation reaches several losses: at the first of them, with the others as evidence.

Silent for ``log_softmax`` before ``cross_entropy``, which is exact: it is applied twice and changes nothing. Silent
too where any arithmetic or layer comes after the activation, for a softmax along another dimension, under ``no_grad``
and where ``self.training`` is false, where a branch that the code leaves open decides about the activation, and where
the input is not traced.
"""

import math
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
    Severity,
    Unknown,
    Unwrap,
    rule,
)

SAME = {"nll_loss": "cross_entropy", "NLLLoss": "CrossEntropyLoss"}
"""The loss of raw scores that takes the same arguments."""


@rule("TL110")
def softmax_before_cross_entropy(loss: LossInput) -> Iterator[Finding]:
    """Flag a loss over classes whose input went through the wrong activation, or through none."""
    reaches = loss.reaches
    if not loss.several or isinstance(reaches, Unknown) or loss.is_chosen:
        return
    if reaches.form is loss.wants or (loss.wants is Form.LOGITS and reaches.form is Form.LOG_PROBABILITIES):
        return
    may_be_meant = loss.wants is Form.LOGITS and reaches.axis is None
    yield Finding(
        loss.call,
        _what(loss, reaches),
        _so(loss, reaches),
        (reaches.step, *loss.beside),
        _cure(loss, reaches),
        severity=Severity.WARNING if may_be_meant else Severity.ERROR,
        fix=_fix(loss, reaches),
    )


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
    if loss.wants is Form.LOG_PROBABILITIES and reaches.word:
        name = "LogSoftmax" if reaches.is_made else "log_softmax"
        return Fix(Applicability.UNSAFE, f"Take {name}", (Replace(reaches.word, name),))
    if loss.wants is Form.LOG_PROBABILITIES and reaches.is_layer and loss.word and loss.function in SAME:
        return Fix(Applicability.UNSAFE, f"Take {SAME[loss.function]}", (Replace(loss.word, SAME[loss.function]),))
    return None


def _what(loss: LossInput, reaches: Activation) -> str:
    if loss.wants is Form.LOGITS:
        return (
            f"{loss.function} wants raw scores and applies a softmax itself, but {reaches.name} has made probabilities"
        )
    made = f"{reaches.name} emits raw scores" if reaches.is_layer else f"{reaches.name} has made probabilities"
    return f"{loss.function} wants log-probabilities, but {made}"


def _so(loss: LossInput, reaches: Activation) -> str:
    if loss.wants is Form.LOGITS:
        floor = f" {math.log(1 + (loss.classes - 1) / math.e):.3f} with {loss.classes} classes" if loss.classes else ""
        return f"the loss of a perfect answer stays at{floor or ' log(1 + (classes - 1) / e)'}, and its gradient fades"
    if reaches.is_layer:
        return "the loss falls without end while one score grows, and says nothing about the answers"
    return "the loss runs down to -1, and its gradient fades where the model is most wrong"


def _cure(loss: LossInput, reaches: Activation) -> str:
    if loss.wants is Form.LOGITS:
        return f"pass the scores from before the {reaches.name}"
    return "use cross_entropy" if reaches.is_layer else "use log_softmax in place of the softmax"
