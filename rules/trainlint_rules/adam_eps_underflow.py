"""TL303: the epsilon of Adam is zero in float16.

Adam divides each step by ``sqrt(v) + eps``. With float16 weights its state is float16 as well, whose smallest number
is 6e-8: an epsilon of 2**-25 (3e-8) or less, PyTorch's default of 1e-8 included, becomes 0.

What it does. Where a gradient is 0 the first step divides 0 by 0, and the weight is NaN from then on. Where it is
small, 1e-4 or less, its square is lost too, and the weight becomes infinite. RMSprop, Adagrad and NAdam divide the
same way.

To fix it, keep the weights in float32 and compute in float16 under ``torch.autocast``. A larger epsilon such as 1e-4
avoids the division by zero, not the lost steps (TL301).

Bad:

    import torch
    from torch import nn

    model = nn.Linear(64, 10).half()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

Good:

    import torch
    from torch import nn

    model = nn.Linear(64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

Severity. An error; a warning on one of several branches, and where a config that accelerate or a command line names
may keep float32 weights.

Silent for bfloat16, which holds 1e-8; for fused steps, which compute in float32; and where the format of the weights
is not found.
"""

from collections.abc import Iterator

from trainlint import (
    Applicability,
    Compensation,
    Dtype,
    Finding,
    Fix,
    Optimizer,
    Real,
    SetKeyword,
    Severity,
    Unknown,
    given,
    joined,
    rule,
)

ROUNDS_TO_ZERO = 2.0**-25
"""Half of the smallest number of float16; the tie goes to zero."""


@rule("TL303")
def adam_eps_underflow(optimizer: Optimizer) -> Iterator[Finding]:
    """Flag an optimizer that divides by zero in its first step."""
    eps, weights = optimizer.eps, optimizer.weights
    if not isinstance(eps, Real) or isinstance(weights, Unknown) or eps.number > ROUNDS_TO_ZERO:
        return
    if optimizer.state is not Dtype.FLOAT16 or optimizer.compensation is Compensation.MASTER:
        return
    assumed = joined(weights.assumed, eps.assumed)
    doubt = f", {optimizer.doubt}" if optimizer.doubt else ""
    yield Finding(
        optimizer.argument,
        f"eps = {eps.number:.3g} is 0 in float16, in which {optimizer.name} divides by it{doubt}{given(assumed)}",
        "the first step makes a weight NaN where its gradient is 0, and infinite where it is small",
        joined(weights.evidence, eps.evidence),
        "keep the weights in float32, or raise eps to 1e-4",
        assumed,
        Severity.WARNING if optimizer.doubt else Severity.ERROR,
        call=optimizer.call,
        fix=_fix(optimizer),
    )


def _fix(optimizer: Optimizer) -> Fix | None:
    """Unsafe: it makes every step shorter, and weights of float32 are the better cure."""
    eps = optimizer.raised
    if eps is None:
        return None
    edits = (SetKeyword(eps.where, eps.name, eps.other, eps.position),)
    return Fix(Applicability.UNSAFE, f"Raise eps to {eps.other}", edits)
