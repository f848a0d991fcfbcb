"""TL102: the index that the loss skips is one past the last class.

A loss that skips N in front of a layer with N classes is correct: the classes are 0 to N - 1, so no target that the
model must learn is thrown away, and padding may well be marked with N. It is also one step from TL101. The day the
layer grows by one class, for a stop symbol or a new label, that class is N, and the same unchanged line throws away
every target of it. Nothing will say so: the shapes fit, and the loss falls as before (TL101 has the measurement).

It happens in models of several stages. The first stage of a codec language model predicts the codes and a stop
symbol, N + 1 classes; the second stage predicts codes alone, N classes. One line ``cross_entropy(...,
ignore_index=N)`` destroys the first and is right in the second, and the two calls read the same.

There is nothing to fix today. To be safe from the next change, skip -100 and fill the padding with it.

Bad:

    import torch.nn as nn
    import torch.nn.functional as F

    CODES = 1024


    class SecondStage(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(64, CODES)

        def loss(self, hidden, targets):
            return F.cross_entropy(self.head(hidden), targets, ignore_index=CODES)

Good:

    import torch.nn as nn
    import torch.nn.functional as F

    CODES = 1024


    class SecondStage(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(64, CODES)

        def loss(self, hidden, targets):
            return F.cross_entropy(self.head(hidden), targets, ignore_index=-100)

Severity. Always a note: the code is right. It names a layer of the project for which the same number is a class, if
there is one.

Silent unless the layer in front of the loss is known and is exactly as wide as the number, and where the number is
read off the logits themselves, as ``logits.size(1)``: it moves with them; and where a comparison leaves the targets
out, and not the loss.
"""

from collections.abc import Iterator

from trainlint import Finding, Integer, Layer, Loss, Position, Severity, Unknown, given, joined, rule, taken


@rule("TL102")
def sentinel_one_past_end(loss: Loss) -> Iterator[Finding]:
    """Note a loss whose skipped index becomes a class with the next one added."""
    index, layer = loss.ignore_index, loss.layer
    if isinstance(index, Unknown) or isinstance(layer, Unknown) or loss.position is not Position.ONE_PAST:
        return
    if layer.measured or loss.by_hand:
        return
    assumed = taken(index, layer.classes)
    yield Finding(
        loss.argument,
        f"ignore_index={index} is one past the last of the {layer.classes} classes that {layer.name} emits"
        f"{given(assumed)}",
        _danger(index, layer, loss.twin),
        joined(index.evidence, layer.evidence, loss.twin.evidence if loss.twin else ()),
        "use -100 (PyTorch's default), which no layer can reach, and fill padding with it",
        assumed,
        Severity.NOTE,
        distinct=(f"{layer.name} - ignore_index = 0",),
    )


def _danger(index: Integer, layer: Layer, twin: Layer | None) -> str:
    if twin:
        return f"no class is skipped here; {twin.name} emits {twin.classes} classes, and {index} is one of those"
    return f"no class is skipped, until {layer.name} gets one more: then every target {index} is dropped"
