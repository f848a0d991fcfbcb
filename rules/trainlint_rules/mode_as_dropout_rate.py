"""TL512: a dropout takes the mode of the model for its rate, and drops everything in training.

The second argument of ``F.dropout(x, p, training)`` is the rate. ``F.dropout(x, self.training)`` drops with a rate of
1 while ``self.training`` is True: every feature becomes zero, and no gradient reaches what has made them.

What it does. What stands before the dropout is never trained, and what stands behind it learns from zeros: a bias, the
frequency of the classes. The loss falls from its first value to that of a guess and stays there. In evaluation the rate
is 0, and features that nobody has trained come through. In the program below the first layer gets a gradient of zero.

To fix it, name the argument: ``F.dropout(x, p, training=self.training)``.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn


    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(8, 8), nn.Linear(8, 4)

        def forward(self, x):
            x = F.dropout(self.inner(x), self.training)
            return self.outer(x)


    model = Head()
    F.cross_entropy(model(torch.randn(6, 8)), torch.arange(6) % 4).backward()
    print(model.inner.weight.grad.abs().max())

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn


    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(8, 8), nn.Linear(8, 4)

        def forward(self, x):
            x = F.dropout(self.inner(x), training=self.training)
            return self.outer(x)


    model = Head()
    F.cross_entropy(model(torch.randn(6, 8)), torch.arange(6) % 4).backward()
    print(model.inner.weight.grad.abs().max())

Severity. An error: the second argument of PyTorch's functions of dropout is the mode, by what it is called.

Silent for functions of the project and of other libraries, in which the mode may come second.
"""

from collections.abc import Iterator

from trainlint import Applicability, Finding, Fix, ModeAsRate, Replace, rule


@rule("TL512")
def mode_as_dropout_rate(dropout: ModeAsRate) -> Iterator[Finding]:
    """Flag a mode that stands where the rate of a dropout belongs."""
    named = f"training={dropout.given}"
    fix = Fix(Applicability.UNSAFE, "Name the argument", (Replace(dropout.argument, named),))
    yield Finding(
        dropout.argument,
        f"{dropout.function} takes {dropout.given} for its rate: in training it drops everything",
        "what stands before it gets no gradient, and what stands behind it learns from zeros",
        (),
        f"name it, {named}, and pass the rate; without one it is 0.5",
        call=dropout.call,
        fix=None if dropout.is_named else fix,
    )
