"""TL402: a Kullback-Leibler divergence is given something else than the logarithms or probabilities it wants.

``kl_div(input, target)`` wants two different things: as ``input`` the logarithms of the student's probabilities, as
``target`` the probabilities of the teacher, unless ``log_target=True`` says that these are logarithms too. The function
computes ``target * (log(target) - input)`` and checks nothing. The order is that of no textbook: KL(teacher || student)
is ``kl_div(student.log_softmax(-1), teacher.softmax(-1))``.

What it does. With probabilities as ``input`` the loss is linear in them, and its minimum is to give everything to the
teacher's likeliest class: the student learns the hard label from a loss that was to teach it the rest. With raw scores
as ``input`` the loss falls without end as all scores grow. Where the target is negative, a logarithm or a raw score,
and ``log_target`` is not set, its logarithm is NaN: the loss reads NaN, and the gradient, which is finite, moves the
weights away from the teacher. Measured on one linear layer with 10 classes that can match its teacher, 500 steps of
Adam, the true divergence from the teacher at the end and the loss that was shown:

    log_softmax, softmax        0.0003     0.0003
    softmax, softmax            2.0344    -1.5460
    scores, softmax            19.0496   -86.1157
    log_softmax, scores        23.2113        nan
    log_softmax, log_softmax   67.7872        nan

To fix it, give ``log_softmax`` first and ``softmax`` second, or two ``log_softmax`` and ``log_target=True``, which is
the more exact of the two.

Bad:

    import torch.nn.functional as F


    def distil(student, teacher):
        return F.kl_div(F.softmax(student, -1), F.softmax(teacher, -1), reduction="batchmean")

Good:

    import torch.nn.functional as F


    def distil(student, teacher):
        return F.kl_div(F.log_softmax(student, -1), F.softmax(teacher, -1), reduction="batchmean")

Severity. An error. A warning where one of several branches leads there.

Silent where a side is not followed to an activation, a logarithm or a layer, where a branch that the code leaves open
decides about it, and where the divergence is only looked at.
"""

from collections.abc import Iterator

from trainlint import Activation, DivergenceInput, Finding, Form, Unknown, rule

MADE = {Form.PROBABILITIES: "has made probabilities", Form.LOG_PROBABILITIES: "has made logarithms"}


@rule("TL402")
def kl_input(divergence: DivergenceInput) -> Iterator[Finding]:
    """Flag a divergence whose input is no logarithm, or whose target is not what ``log_target`` says."""
    if divergence.is_chosen:
        return
    reaches, target = divergence.reaches, divergence.target
    if isinstance(reaches, Activation) and reaches.form is not Form.LOG_PROBABILITIES:
        yield _input(divergence, reaches)
    elif isinstance(target, Activation) and _is_other(divergence, target):
        yield _target(divergence, target)


def _is_other(divergence: DivergenceInput, target: Activation) -> bool:
    """Whether a target is not in the form that is asked for."""
    if isinstance(divergence.log_target, Unknown):
        return False
    return target.form is not (Form.LOG_PROBABILITIES if divergence.log_target else Form.PROBABILITIES)


def _input(divergence: DivergenceInput, reaches: Activation) -> Finding:
    return Finding(
        divergence.call,
        f"{divergence.function} wants the logarithms of probabilities first, but {_made(reaches)}",
        "the loss is no divergence: its minimum is not where student and teacher agree",
        (reaches.step, *((divergence.target.step,) if isinstance(divergence.target, Activation) else ())),
        _cure(reaches, divergence.target),
    )


def _target(divergence: DivergenceInput, target: Activation) -> Finding:
    wants = "logarithms, as log_target=True says" if divergence.log_target else "probabilities"
    return Finding(
        divergence.call,
        f"{divergence.function} wants {wants} as its target, but {_made(target)}",
        "the loss is no divergence, or is NaN: its minimum is not where student and teacher agree",
        (target.step,),
        "set log_target=True" if target.form is Form.LOG_PROBABILITIES else _wanted(divergence),
    )


def _wanted(divergence: DivergenceInput) -> str:
    return "pass log_softmax of the target's scores" if divergence.log_target else "pass softmax of the target's scores"


def _made(activation: Activation) -> str:
    return f"{activation.name} {MADE.get(activation.form, 'emits raw scores')}"


def _cure(reaches: Activation, target: Activation | Unknown) -> str:
    if isinstance(target, Activation) and target.form is Form.LOG_PROBABILITIES:
        return "swap the two: the logarithms come first"
    return "use log_softmax in place of the softmax" if not reaches.is_layer else "pass log_softmax of the scores"
