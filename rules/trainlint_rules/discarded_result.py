"""TL502: the result of an operation on a tensor is thrown away.

``x.clamp(0, 1)`` changes no ``x``: it makes a new tensor, and a line that is only this call makes it for nobody. The
same goes for ``torch.clamp(x, ...)``, for ``masked_fill``, ``reshape``, ``unsqueeze``, ``detach``, and for ``to``,
``cuda`` and ``half`` of a tensor. (Those of a *module* change the module itself, and are right without an assignment.)

What it does. The bound that was to be kept is not kept, what was to be masked takes part, the gradient that was to be
stopped flows on. Nothing fails: every later line goes on with the tensor as it was.

To fix it, keep what the call returns, ``x = x.clamp(0, 1)``, or call the operation that changes the tensor itself,
``x.clamp_(0, 1)``. On a parameter the latter needs ``with torch.no_grad():``.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn


    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(8, 4)
            self.scale = nn.Parameter(torch.tensor(10.0))

        def forward(self, x):
            torch.clamp(self.scale, 1e-6)
            return self.head(x) * self.scale


    def step(model, optimizer, x, y):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


    model = Scaled()
    step(model, torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(8, 8), torch.arange(8) % 4)

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn


    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(8, 4)
            self.scale = nn.Parameter(torch.tensor(10.0))

        def forward(self, x):
            scale = torch.clamp(self.scale, 1e-6)
            return self.head(x) * scale


    def step(model, optimizer, x, y):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


    model = Scaled()
    step(model, torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(8, 8), torch.arange(8) % 4)

Severity. An error: a function of torch takes nothing but a tensor, and for a method the line is named by which it is
one (an annotation, what torch makes, a parameter of a module, a layer that is given it). A warning where that holds on
one of several branches.

Silent for modules, sets, batches of tokenizers and whatever else is not shown to be a tensor, with ``out=`` and
``inplace=True``, where an error is caught around the line, where the value is shown (the end of a cell), in what only
takes time (a benchmark), and where nothing reads the tensor afterwards. Reductions and comparisons alone on a line
order nothing, and are not asked for.
"""

from collections.abc import Iterator

from trainlint import DiscardedResult, Finding, Step, Unknown, rule


@rule("TL502")
def discarded_result(result: DiscardedResult) -> Iterator[Finding]:
    """Flag a call that makes a new tensor for nobody."""
    if isinstance(result.proof, Unknown):
        return
    yield Finding(
        result.argument,
        f"{result.operation} makes a new tensor, which nothing takes, and leaves {result.tensor} as it was",
        f"every later line reads {result.tensor} without it",
        (result.proof,) if isinstance(result.proof, Step) else (),
        _cure(result),
    )


def _cure(result: DiscardedResult) -> str:
    instead = f", or call {result.in_place}, which changes the tensor itself" if result.in_place else ""
    return f"assign what it returns{instead}"
