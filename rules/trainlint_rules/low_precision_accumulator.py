"""TL305: the gradient of the head is added up in 16 bits.

A chunked loss never holds all logits: it goes through the rows in pieces and adds the gradient of the head's weight up,
piece by piece. Liger's ``LigerFusedLinearCrossEntropyLoss`` does that in the format of the weight unless
``accum_dtype`` says otherwise, Apple's ``linear_cross_entropy`` unless ``accum_c_fp32=True`` does. A model that is
stored in bfloat16 then adds in 8 bits.

What it does. A sum of equal pieces in bfloat16 stops growing at 256 of them, because one piece is then less than half
a step of the sum; in float16 at 2048. The gradient of the head becomes too small, the more so the longer the sequences
and the more pieces there are, and frequent tokens, whose pieces all have one sign, lose most. Nothing is seen in the
loss itself, which is added up in float32.

To fix it, give the loss a wide accumulator: one buffer as large as the head, in float32. Both libraries recommend it
for large vocabularies and long sequences. A copy of the weights in float32 does not help here: the pieces are lost
before any optimizer sees them.

Bad:

    import torch
    import torch.nn as nn
    from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

    head = nn.Linear(64, 32000, bias=False).bfloat16()
    criterion = LigerFusedLinearCrossEntropyLoss()


    def step(hidden, targets):
        return criterion(head.weight, hidden, targets)

Good:

    import torch
    import torch.nn as nn
    from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

    head = nn.Linear(64, 32000, bias=False).bfloat16()
    criterion = LigerFusedLinearCrossEntropyLoss(accum_dtype=torch.float32)


    def step(hidden, targets):
        return criterion(head.weight, hidden, targets)

Severity. A warning. How much is lost depends on the number of pieces, which the shapes decide when it runs.

Silent where the weights are float32, or an implementation is chosen that adds up in float32. Weights whose format is
not known are listed as not judged.
"""

from collections.abc import Iterator

from trainlint import (
    Accumulator,
    AddImport,
    Applicability,
    Finding,
    Fix,
    SetKeyword,
    Severity,
    Storage,
    Unknown,
    given,
    rule,
)


@rule("TL305")
def low_precision_accumulator(loss: Accumulator) -> Iterator[Finding]:
    """Flag a chunked loss that adds up the gradient of its head in 16 bits."""
    if isinstance(loss.format, Unknown) or not loss.format.is_short:
        return
    weights = loss.weights if isinstance(loss.weights, Storage) else None
    why = f"adds up the gradient of the head in {loss.format.value}"
    by_default = f", since {loss.parameter} is not given and the weights are" if loss.adds is None else ""
    assumed = weights.assumed if weights is not None else ()
    yield Finding(
        loss.argument,
        f"{loss.function} {why}{by_default}{given(assumed)}",
        "pieces that are small beside the sum are lost, so the head learns less from long sequences than it should",
        weights.evidence if weights is not None else (),
        f"give it {loss.parameter}={'True' if loss.parameter.endswith('fp32') else 'torch.float32'}",
        assumed,
        Severity.WARNING,
        fix=_fix(loss),
    )


def _fix(loss: Accumulator) -> Fix | None:
    """Unsafe: it takes memory, which such a loss is there to save, and old versions know no such argument."""
    told = loss.told
    if told is None:
        return None
    edit = SetKeyword(told.where, told.name, told.other, told.position)
    return Fix(Applicability.UNSAFE, "Add the gradient up in float32", (edit, AddImport(told.where, "torch")))
