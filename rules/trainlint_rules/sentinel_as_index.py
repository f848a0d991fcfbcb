"""TL115: a negative sentinel is used as an index.

Targets are filled with -100 or -1 where there is no answer, and the loss skips that number. Anything else that takes
the targets as indices does not: ``gather`` for the log-probability of each answer, ``one_hot`` for a soft target, a
table of class weights that is looked up with the labels.

What it does. ``gather``, ``scatter``, ``index_select`` and ``one_hot`` refuse a negative number when the first batch
with padding comes, on a GPU with an assertion that names no line. A subscript is worse: it counts from the end.
``w[labels]`` takes the weight of the last class for -1 and, if there are a hundred classes or more, that of class C -
100 for -100.

To fix it, put a class in the place of the sentinel, and mask the result: ``labels.clamp(min=0)`` to look up, and
``labels != -100`` to weigh.

Bad:

    import torch
    from torch.nn.utils.rnn import pad_sequence


    def log_probabilities(logits, rows):
        labels = pad_sequence(rows, batch_first=True, padding_value=-100)
        return logits.log_softmax(-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)

Good:

    import torch
    from torch.nn.utils.rnn import pad_sequence


    def log_probabilities(logits, rows):
        labels = pad_sequence(rows, batch_first=True, padding_value=-100)
        found = logits.log_softmax(-1).gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        return found * (labels != -100)

Severity. An error.

Silent where the sentinel may have been replaced: clamped, written over, computed with, or selected away; where a
condition stands around the place; and, for a subscript, where the function masks anything.
"""

from collections.abc import Iterator

from trainlint import Finding, SentinelIndex, Step, given, joined, rule, taken


@rule("TL115")
def sentinel_as_index(index: SentinelIndex) -> Iterator[Finding]:
    """Flag an index that holds a negative sentinel."""
    fill, value = index.fill, index.fill.value
    assumed = taken(value)
    user = index.function or "a subscript"
    so = "PyTorch refuses it at the first batch with padding" if index.function else "it counts from the last class"
    yield Finding(
        index.call,
        f"{user} takes targets as its index, and they are {fill.how} {value}{given(assumed)}",
        so,
        joined(value.evidence, (Step(f"targets are {fill.how} {value}", fill.where),)),
        "put a class in the place of the sentinel, as clamp(min=0) does, and mask the result",
        assumed,
    )
