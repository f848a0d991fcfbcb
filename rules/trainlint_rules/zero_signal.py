"""TL311: rows that are not yet learned perfectly get exactly no gradient for their right class.

The gradient of a cross-entropy at the right class is ``p - 1``. When the arithmetic rounds ``p`` to 1, it is exactly
zero, while the wrong classes still get theirs: the row no longer says what is right. In bfloat16 on a CPU that happens
from a margin of 5.5 on, when the model gives the right class 99.6 %, in float16 from 7.6, in float32 from 16.6.

Only a run can show this, so the rule speaks under ``trainlint probe run``, which reads the very gradient that this
hardware computes: on some, 16-bit logits are summed in float32, and nothing is lost.

What it does. Rows above the cut-off stop pulling, rows below it go on. Training stalls at the margin where the
arithmetic ends, and drifts, since the wrong classes are still pushed down. It bites where a run goes on until its
loss is nearly zero. Do not count on a gain in accuracy elsewhere.

To fix it, compute the loss in a wider format, ``logits.float()``, or let autocast do it: ``cross_entropy`` is
computed in float32 there.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    with torch.no_grad():
        model.weight.copy_(8 * torch.eye(4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        logits = model(torch.eye(4)).bfloat16()
        loss = F.cross_entropy(logits, torch.arange(4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    with torch.no_grad():
        model.weight.copy_(8 * torch.eye(4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        logits = model(torch.eye(4)).bfloat16()
        loss = F.cross_entropy(logits.float(), torch.arange(4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

Severity. A warning, where it is 5 % or more of the rows that were looked at, in three windows in a row.

Silent for rows that the loss skips and for rows without any gradient, with label smoothing, where the optimum lies at
a finite margin, and for losses whose gradient cannot be followed.
"""

from collections.abc import Iterator

from trainlint import Finding, Severity, ZeroSignal, cutoff, rule

WIDE = 24
"""Bits of float32: a wider format would have to be float64."""


@rule("TL311")
def zero_signal(signal: ZeroSignal) -> Iterator[Finding]:
    """Flag a loss whose right classes get no gradient though others of the row do."""
    if not signal.lasts:
        return
    bits = signal.significand
    ends = f"; it ends at a margin of about {cutoff(bits):.1f}" if bits else ""
    yield Finding(
        signal.argument,
        f"the right class gets exactly no gradient in {signal.share:.0%} of {signal.rows} rows, in {signal.arithmetic}"
        f"{ends}",
        "these rows no longer say what is right, while wrong classes are still pushed down",
        help="compute the loss in float64" if bits and bits >= WIDE else "compute the loss in float32: logits.float()",
        severity=Severity.WARNING,
    )
