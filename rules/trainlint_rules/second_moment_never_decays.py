"""TL306: the second moment of Adam can grow but never fall in 16 bits.

Adam keeps a running mean of squared gradients, ``v = beta2 * v + (1 - beta2) * g**2``, in the format of the weights.
Where ``1 - beta2`` is below a quarter of the format's epsilon (1.95e-3 in bfloat16), ``beta2 * v`` rounds back to
``v``: what the mean should forget stays. PyTorch's default of 0.999 is such a number.

What it does. The mean becomes a maximum: gradients of size 1 and then 3000 steps of size 0.1 leave it at its peak,
where it should have fallen to a hundredth. Every step of that weight stays ten times too short, for good. It is the
same where the step is computed in float32 and only the state is stored in bfloat16, and where the weights, but not
the state, are rounded at random.

To fix it, keep the weights in float32 (TL301), and with them the state, or forget faster: 0.99 falls in bfloat16,
0.998 does too, but slower than it says.

Bad:

    import torch
    from torch import nn

    model = nn.Linear(64, 10).bfloat16()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

Good:

    import torch
    from torch import nn

    model = nn.Linear(64, 10).bfloat16()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, betas=(0.9, 0.99))

Severity. An error; a warning on one of several branches, and where a config that accelerate or a command line names
may keep float32 weights.

Silent for state in float32 or in a few bits (bitsandbytes, torchao's 8-bit optimizers), for ``amsgrad``, which keeps
the largest second moment on purpose, and where the format of the weights is not found.
"""

from collections.abc import Iterator

from trainlint import Compensation, Finding, Optimizer, Real, Severity, Unknown, given, joined, rule


@rule("TL306")
def second_moment_never_decays(optimizer: Optimizer) -> Iterator[Finding]:
    """Flag a second moment that forgets less in a step than its format can tell."""
    second, state, weights = optimizer.second, optimizer.state, optimizer.weights
    if not isinstance(second, Real) or isinstance(state, Unknown) or isinstance(weights, Unknown):
        return
    forgets = 1 - second.number
    if optimizer.compensation is Compensation.MASTER or not state.is_short or not 0 < forgets < state.least_change:
        return
    assumed = joined(weights.assumed, second.assumed)
    doubt = f", {optimizer.doubt}" if optimizer.doubt else ""
    yield Finding(
        optimizer.argument,
        f"1 - beta2 = {forgets:.3g} is lost in the {state.value} state that {optimizer.name} keeps: its second moment "
        f"grows and never falls{doubt}{given(assumed)}",
        "one large gradient shortens every later step of that weight for good",
        joined(weights.evidence, second.evidence),
        "set beta2 to 0.99, or keep the weights in float32, and with them the state",
        assumed,
        Severity.WARNING if optimizer.doubt else Severity.ERROR,
        call=optimizer.call,
    )
