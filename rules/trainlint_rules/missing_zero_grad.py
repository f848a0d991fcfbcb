"""TL501: a loop goes backward and steps, and nothing clears the gradients.

``backward`` adds to the gradients that are there. Without ``zero_grad()`` each step moves along the sum of the
gradients of all batches so far, those of long ago included: a momentum of 1 that nobody asked for. The loss falls for a
while, then swings or diverges, and a smaller learning rate seems to help.

To fix it, call ``optimizer.zero_grad()`` in the loop, in front of ``backward`` or behind ``step``.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn

    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def epoch(batches):
        for x, y in batches:
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn

    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def epoch(batches):
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

Severity. An error: the loop, the functions that it calls and those that call it are seen, and none of them clears. A
call of ``zero_grad`` in front of the loop is none in it, be it once or in each turn of a loop over epochs.

Silent where any of them does, for this optimizer or another one, by ``zero_grad``, by ``grad = None`` or by hand; where
each turn of the loop makes an optimizer of its own; for engines and optimizers of other libraries and of the project,
which may clear in their own step; and for distributed autograd, whose gradients live in a context.
"""

from collections.abc import Iterator

from trainlint import Finding, UnclearedGradients, rule


@rule("TL501")
def missing_zero_grad(gradients: UnclearedGradients) -> Iterator[Finding]:
    """Flag a loop whose gradients are added to those of all turns before."""
    if gradients.why is not None:
        return
    seldom = (gradients.cleared,) if gradients.cleared is not None else ()
    since = "since they were cleared" if seldom else "so far"
    yield Finding(
        gradients.argument,
        f"nothing in this loop clears the gradients that {gradients.optimizer} steps along",
        f"each step moves along the sum of the gradients of all batches {since}",
        (gradients.loop, gradients.stepped, *seldom),
        f"call {gradients.optimizer}.zero_grad() in the loop",
        call=gradients.call,
    )
