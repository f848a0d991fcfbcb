"""TL109: a class that was added to the output is cut off before anything is chosen.

A decoder over N codes gets one class more, N, for the stop: the layer is N + 1 wide. Code that knows only the codes
then keeps ``logits[..., :N]``, or writes minus infinity over ``logits[..., N:]``, as one does for a vocabulary that
was padded to a round size. The stop can no longer be chosen.

It comes about when the stop is added later, or when the number of codes is imported where the width of the layer was
meant. Training is right, the loss falls, and the stop is learned; only the decoder never sees it and runs to its
limit.

What it does. A small recurrent network learns 32 sequences of 3 to 7 codes and a stop, to a loss of 0.0003. With the
whole output, 32 of 32 are decoded as they are and stop. With ``[..., :N]`` in the decoder none stops.

To fix it, cut at the width of the layer, or name the first class that nobody needs. To hold the stop back until a
least length is reached, write it in a condition.

Bad:

    import torch
    import torch.nn as nn

    CODES = 1024
    STOP = CODES
    head = nn.Linear(64, CODES + 1)


    def decode(step, hidden):
        codes = []
        while not codes or codes[-1] != STOP:
            hidden = step(hidden)
            codes.append(head(hidden)[..., :CODES].argmax(-1).item())
        return codes

Good:

    import torch
    import torch.nn as nn

    CODES = 1024
    STOP = CODES
    head = nn.Linear(64, CODES + 1)


    def decode(step, hidden):
        codes = []
        while not codes or codes[-1] != STOP:
            hidden = step(hidden)
            codes.append(head(hidden)[..., : CODES + 1].argmax(-1).item())
        return codes

Severity. A warning: the class may be looked for in another place. The message says where only a name makes it a stop.

Silent where the class has no job, for a blank and for an empty place, which are taken away on purpose, for
probabilities, among which the class has already been weighed, where the same function reads the whole output too, and
for a write under a condition.
"""

from collections.abc import Iterator

from trainlint import ClassCut, Finding, Proof, Severity, given, joined, rule, taken


@rule("TL109")
def added_class_masked_out(cut: ClassCut) -> Iterator[Finding]:
    """Flag logits that lose a class which has a job."""
    layer, job = cut.layer, cut.job
    assumed = taken(cut.lost, layer.classes)
    by = " by its name" if job.proof is Proof.NAME else ""
    how = "minus infinity is written over" if cut.is_written else "the slice drops"
    yield Finding(
        cut.argument,
        f"{how} class {cut.lost} of the {layer.classes} of {layer.name}, and it is {job.title}{by}{given(assumed)}",
        f"{job.lesson} can never be chosen here",
        joined(cut.lost.evidence, layer.evidence, job.evidence),
        "keep all classes up to the width of the layer",
        assumed,
        Severity.WARNING,
        distinct=(f"{layer.name} - class = {layer.classes - cut.lost}",),
    )
