"""TL105: targets are filled with a value that the loss does not ignore.

Sequences of unequal length are padded to one shape, and the prompt of an instruction is blanked out. What stands in
the targets at those places is no answer, and the loss must skip it. ``cross_entropy`` skips one number:
``ignore_index``, -100 unless told otherwise. Targets that are filled with anything else are trained on as if the
filling were the answer.

What it does. The padding is the most frequent and the easiest class, so it pulls the loss down. One formula model
whose padding 0 is not ignored reads 4.20 on a batch, and 3.97 on the same batch with twenty more padded columns: the
loss falls by padding alone. The cured model reads 4.36 both times. With a prompt that is "masked" by 0, a language
model learns to say token 0 wherever a prompt stands (probability 0.996, against 0.009 with -100), and reports the
lower loss of the two.

It comes about across files: the collator pads with ``PAD``, a wrapper class has its own ``ignore_index=-100`` beside a
``pad_value``, and setting the one does not set the other; or a library model computes the loss from ``labels`` itself.

To fix it, fill the targets with -100, or pass the number that fills them as ``ignore_index`` if it is no class that
the model must learn (TL101). Inputs keep their own padding id.

Bad:

    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    from torch.nn.utils.rnn import pad_sequence

    head = nn.Linear(64, 500)


    def loss(hidden, rows):
        targets = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=0)
        return F.cross_entropy(head(hidden).transpose(1, 2), targets)

Good:

    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    from torch.nn.utils.rnn import pad_sequence

    head = nn.Linear(64, 500)


    def loss(hidden, rows):
        targets = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=-100)
        return F.cross_entropy(head(hidden).transpose(1, 2), targets)

Severity. A warning: a filled place might be masked in a way that the code does not show. It is reported at the fill
if a library model computes the loss, at the construction of a wrapper if the wrapper's own default decides, else at
the loss.

Silent where the ignored class has a job, which TL101 reports, for a loss that is masked or weighted by hand, for a
fill that is an answer (an end token that closes every row), for a fill that no class has (PyTorch refuses it with an
error), and where the fill or the ignored number is not known.
"""

from collections.abc import Iterator

from trainlint import (
    Fill,
    Finding,
    Integer,
    Job,
    Layer,
    Loss,
    Position,
    Severity,
    Step,
    Unknown,
    given,
    index_roles,
    joined,
    rule,
    taken,
)


@rule("TL105")
def padding_not_ignored(loss: Loss) -> Iterator[Finding]:
    """Flag targets whose filling is learned as if it were an answer."""
    index, targets = loss.ignore_index, loss.targets
    if isinstance(index, Unknown) or isinstance(targets, Unknown):
        return
    if not loss.trains or _is_needed(loss.job):
        return
    for fill in targets.fills:
        if not _differs(fill.value, index) or _is_answer(fill) or not _may_be_class(fill.value, loss.layer):
            continue
        assumed = taken(fill.value, index)
        yield Finding(
            fill.where if loss.inside else fill.built or loss.argument,
            f"targets are {fill.how} {fill.value}, but {loss.inside or loss.function} ignores {index}{given(assumed)}",
            f"every filled place is learned as an answer {fill.value}, and the easy padding pulls the loss down",
            joined(fill.value.evidence, (Step(f"targets are {fill.how} {fill.value}", fill.where),), index.evidence),
            _cure(loss, fill, index),
            assumed,
            Severity.WARNING,
            distinct=(f"fill - ignore_index = {fill.value - index}",),
        )


def _cure(loss: Loss, fill: Fill, index: Integer) -> str:
    if loss.inside:
        return f"fill the targets with {index}"
    return f"fill the targets with {index}, or pass ignore_index={fill.value} if it is no class that must be learned"


def _differs(value: Integer, index: Integer) -> bool:
    gap = value - index
    if gap.number is not None:
        return gap.number != 0
    return (gap.minimum is not None and gap.minimum > 0) or (gap.maximum is not None and gap.maximum < 0)


def _is_needed(job: Job | Unknown | None) -> bool:
    """Whether the ignored class has a job: that is TL101, and to cure it is to fill the targets anew."""
    return isinstance(job, Job) and job.role.is_job


def _is_answer(fill: Fill) -> bool:
    """Whether the fill is a class with a job: by its name, or a named value other than 0 that nothing calls padding."""
    said = {role for name in fill.value.names for role in index_roles(name)}
    if any(role.is_job for role in said):
        return True
    padded = bool(said) or fill.how.startswith("padded") or fill.value.number == 0
    return bool(fill.value.names) and not padded


def _may_be_class(value: Integer, layer: Layer | Unknown) -> bool:
    """PyTorch itself refuses targets below 0 and beyond the classes."""
    if value.minimum is None or value.minimum < 0:
        return False
    return isinstance(layer, Unknown) or value.position(layer.classes) in {Position.INSIDE, None}
