"""WD101: weight decay is added to the gradient, and the adaptive step divides it away.

``weight_decay`` of Adam adds a share of each weight to its gradient. What goes into the gradient is divided by the root
of its second moment like the rest of it: weights with large gradients hardly decay, and where gradients are small the
decay is most of the step. AdamW takes the share off the weights themselves, outside of the adaptive step.

What it does. 300 steps at a rate of 0.001 with ``weight_decay=0.01``, on weights that begin at 1 and whose gradients
are noise. With Adam, those with noise of size 1 lose 0.3 % and those with noise of size 0.01 lose 20 %. With AdamW,
both lose 0.3 %.

To fix it, use AdamW, or the ``decoupled_weight_decay`` of the optimizer where it has one, and tune the number anew.

Bad:

    import torch
    from torch import nn

    model = nn.Linear(8, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=0.01)

Good:

    import torch
    from torch import nn

    model = nn.Linear(8, 8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)

Severity. A warning.

Silent without decay, for an optimizer without a second moment, and where the decay is not known.
"""

from collections.abc import Iterator

from trainlint import Finding, Optimizer, Real, Severity, given, rule


@rule("WD101")
def coupled_weight_decay(optimizer: Optimizer) -> Iterator[Finding]:
    """Flag an adaptive optimizer whose weight decay is a part of the gradient."""
    decay = optimizer.decay
    if not isinstance(decay, Real) or not decay.number or optimizer.second is None or optimizer.scales:
        return
    yield Finding(
        optimizer.argument,
        f"{optimizer.name} adds weight_decay = {decay.number:g} to the gradient{given(decay.assumed)}",
        "weights with large gradients hardly decay, those with small ones do little else",
        decay.evidence,
        "use AdamW, or a decoupled_weight_decay, and tune the number anew",
        decay.assumed,
        Severity.WARNING,
        call=optimizer.call,
    )
