"""TL511: a module drops when it is evaluated, too.

``nn.Dropout`` is a module: ``model.eval()`` switches it off. ``F.dropout(x, p)`` is a function, whose ``training`` is
True unless the call says otherwise. A layer that ``forward`` makes anew, as in ``nn.Dropout(p)(x)``, is no better: it
is no part of the model, nobody tells it the mode, and it starts in that of training.

What it does. Every validation, every score by which a checkpoint is chosen and every prediction is made with features
left out at random: two runs over the same input differ, and all of them are worse than the model is. Training looks as
it should. In the program below the same input gives two different outputs in evaluation mode.

To fix it, tell the function the mode, ``F.dropout(x, p, training=self.training)``, or make an ``nn.Dropout`` in
``__init__``. Where the model is meant to drop at all times, say so: ``training=True``.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn


    class Head(nn.Module):
        def __init__(self, width=8, dropout=0.5):
            super().__init__()
            self.proj = nn.Linear(width, width)
            self.dropout = dropout

        def forward(self, x):
            return self.proj(F.dropout(x, self.dropout))


    model = Head()
    model(torch.randn(2, 8)).sum().backward()
    model.eval()
    x = torch.randn(2, 8)
    print((model(x) - model(x)).abs().max())

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn


    class Head(nn.Module):
        def __init__(self, width=8, dropout=0.5):
            super().__init__()
            self.proj = nn.Linear(width, width)
            self.dropout = dropout

        def forward(self, x):
            return self.proj(F.dropout(x, self.dropout, training=self.training))


    model = Head()
    model(torch.randn(2, 8)).sum().backward()
    model.eval()
    x = torch.randn(2, 8)
    print((model(x) - model(x)).abs().max())

Severity. An error. A warning where the rate is 0 by a default that a caller or a command line may change: nothing is
dropped until somebody does.

Silent where the call says ``training``, whatever it says; where the rate or the line depends on the mode; where the
rate is 0; outside of modules; and where a comment at the call, or the name of the class or function, says that it is
meant (Monte Carlo dropout, the pre-net of a Tacotron, augmentation) or only trained (a discriminator, a loss).
"""

from collections.abc import Iterator

from trainlint import Applicability, Finding, Fix, FunctionalDropout, Real, Severity, Wrap, rule


@rule("TL511")
def ungated_dropout(dropout: FunctionalDropout) -> Iterator[Finding]:
    """Flag a dropout that no mode switches off."""
    none_yet = isinstance(dropout.rate, Real) and dropout.rate.number <= 0
    mode = f"training={dropout.module}.training"
    why = "it is made anew, in training mode" if dropout.is_layer else "it is not told the mode"
    fix = Fix(Applicability.SAFE, "Drop only in training", (Wrap(dropout.last, after=f", {mode}"),))
    yield Finding(
        dropout.argument,
        f"{dropout.function} drops {_rate(dropout)} in evaluation too: {why}",
        "validation scores and predictions are made with features left out at random",
        dropout.rate.evidence if isinstance(dropout.rate, Real) else (),
        "make the layer in __init__" if dropout.is_layer else f"pass {mode}",
        dropout.rate.assumed if isinstance(dropout.rate, Real) else (),
        Severity.WARNING if none_yet else Severity.ERROR,
        dropout.call,
        fix=None if dropout.is_layer else fix,
    )


def _rate(dropout: FunctionalDropout) -> str:
    match dropout.rate:
        case Real(number=number) if number > 0 and dropout.given != f"{number:g}":
            return f"{dropout.given} = {number:g}"
        case Real(number=number) if number <= 0:
            return f"{dropout.given}, which is 0 until something else is passed,"
    return dropout.given
