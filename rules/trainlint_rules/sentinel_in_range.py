"""TL103: the index that the loss skips is a class, and nothing says what the class is for.

``ignore_index=k`` in front of a layer that has a class k is right if that class is padding and nothing else, and fatal
if it is a stop or a label (TL101). Here neither is known: no name, no table and no use in the project speaks of the
number.

What it means. Of 21 such places in public training code that were looked at one by one, none was a bug. The rule is
for a review: it lists the places at which a reader has to know what the code does not say.

To fix it, give the number a name that says what it is for (``PAD``), or use -100, which is never a class.

Bad:

    import torch.nn as nn
    import torch.nn.functional as F

    head = nn.Linear(64, 50)


    def loss(hidden, targets):
        return F.cross_entropy(head(hidden), targets, ignore_index=7)

Good:

    import torch.nn as nn
    import torch.nn.functional as F

    head = nn.Linear(64, 50)


    def loss(hidden, targets):
        return F.cross_entropy(head(hidden), targets, ignore_index=-100)

Severity. A note, and off unless it is selected: ``--extend-select TL103``.

Silent where a role of the class is known, whichever it is, in an evaluation, for a head of two classes, which TL101
reports, and where the layer is not known.
"""

from collections.abc import Iterator

from trainlint import Finding, Loss, Position, Severity, Unknown, given, index_roles, joined, rule, taken


@rule("TL103", on=False)
def sentinel_in_range(loss: Loss) -> Iterator[Finding]:
    """Note a loss that skips a class of which nothing is known."""
    index, layer = loss.ignore_index, loss.layer
    if isinstance(index, Unknown) or isinstance(layer, Unknown) or loss.job is not None or not loss.trains:
        return
    if (
        loss.by_hand
        or loss.position is not Position.INSIDE
        or layer.classes.number == 2
        or any(map(index_roles, index.names))
    ):
        return
    assumed = taken(index, layer.classes)
    yield Finding(
        loss.argument,
        f"ignore_index={index} is one of the {layer.classes} classes that {layer.name} emits{given(assumed)}",
        f"if class {index} is anything but padding, the model is never shown it",
        joined(index.evidence, layer.evidence),
        "name the number for what it is, or use -100 (PyTorch's default)",
        assumed,
        Severity.NOTE,
        distinct=(f"{layer.name} - ignore_index = {layer.classes - index}",),
    )
