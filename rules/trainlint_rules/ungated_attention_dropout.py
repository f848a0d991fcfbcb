"""TL503: fused attention goes on dropping when the model is evaluated.

``nn.Dropout`` is a module: ``model.eval()`` switches it off. ``scaled_dot_product_attention`` is a function, and drops
what ``dropout_p`` says, whatever the mode of the model. PyTorch's own documentation says so, and asks for
``dropout_p=self.p if self.training else 0.0``.

What it does. Every validation, every score by which a checkpoint is chosen and every prediction is made with attention
weights left out at random: two runs over the same input differ, and all of them are worse than the model is. Training
looks as it should. In the program below the same input gives two different outputs in evaluation mode.

To fix it, ask for the mode where the rate is passed: ``dropout_p=self.p if self.training else 0.0``.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width=8, dropout=0.1):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.dropout = dropout

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)


    model = Attention()
    model(torch.randn(2, 4, 8)).sum().backward()
    model.eval()
    x = torch.randn(2, 4, 8)
    print((model(x) - model(x)).abs().max())

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, width=8, dropout=0.1):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.dropout = dropout

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0)


    model = Attention()
    model(torch.randn(2, 4, 8)).sum().backward()
    model.eval()
    x = torch.randn(2, 4, 8)
    print((model(x) - model(x)).abs().max())

Severity. An error. A warning where the rate is 0 by a default that a caller or a command line may change: nothing is
dropped until somebody does.

Silent where the rate or the line depends on the mode (``self.training``, a variable that a test sets, an argument of a
caller that asks), where the class writes the rate anew (in its own ``train`` or ``eval``), where the rate is 0, and
where it is passed by nobody who is seen.
"""

from collections.abc import Iterator

from trainlint import Applicability, AttentionDropout, Finding, Fix, Real, Severity, Step, Wrap, rule


@rule("TL503")
def ungated_attention_dropout(dropout: AttentionDropout) -> Iterator[Finding]:
    """Flag a rate of dropout that no mode switches off."""
    none_yet = isinstance(dropout.rate, Real) and dropout.rate.number <= 0
    gate = f"if {dropout.module}.training else 0.0"
    yield Finding(
        dropout.argument,
        f"scaled_dot_product_attention drops {_rate(dropout)} in evaluation too: it knows no mode",
        "validation scores and predictions are made with attention weights left out at random",
        _because(dropout),
        f"pass {dropout.given} {gate}",
        dropout.rate.assumed if isinstance(dropout.rate, Real) else (),
        Severity.WARNING if none_yet else Severity.ERROR,
        dropout.call,
        fix=Fix(Applicability.SAFE, "Drop only in training", (Wrap(dropout.argument, after=f" {gate}"),)),
    )


def _rate(dropout: AttentionDropout) -> str:
    match dropout.rate:
        case Real(number=number) if number > 0 and dropout.given != f"{number:g}":
            return f"{dropout.given} = {number:g}"
        case Real(number=number) if number <= 0:
            return f"{dropout.given}, which is 0 until something else is passed,"
    return dropout.given


def _because(dropout: AttentionDropout) -> tuple[Step, ...]:
    evidence = dropout.rate.evidence if isinstance(dropout.rate, Real) else ()
    return evidence if _is_there(dropout) else (*evidence, dropout.attention)


def _is_there(dropout: AttentionDropout) -> bool:
    """Whether the rate is written in the call that applies it."""
    call, place = dropout.call, dropout.argument
    return call.path == place.path and call.row <= place.row <= call.end_row
