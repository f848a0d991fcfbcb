"""TL504: every epoch of a distributed training has the same order.

``DistributedSampler`` shuffles by ``seed + epoch``, so that all processes shuffle alike. It counts no epochs: it must
be told by ``sampler.set_epoch(epoch)`` before the loader is read again. PyTorch's documentation warns of it.

What it does. The data are shuffled once, and each epoch shows the same rows to the same process, in the same order and
in the same batches. Nothing fails, and the loss falls: the model sees less variety than the loss curve of a single
process promised, and the batches' noise repeats.

A loader without any sampler, whose model is wrapped in ``DistributedDataParallel`` beside it, repeats more than the
order: every process reads all of the data.

To fix it, call ``sampler.set_epoch(epoch)`` at the start of each epoch.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    data = TensorDataset(torch.randn(64, 8), torch.arange(64) % 4)
    sampler = DistributedSampler(data, num_replicas=2, rank=0)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    data = TensorDataset(torch.randn(64, 8), torch.arange(64) % 4)
    sampler = DistributedSampler(data, num_replicas=2, rank=0)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

Severity. A warning: the loop over epochs and the sampler are seen, and that the loop reads a loader with this sampler
is concluded from their being parts of one program.

Silent where any file of the program says ``set_epoch``, or shares its data out in another way (a sampler of its own,
shards, an iterable dataset), for samplers that do not shuffle or take their seed from the
epoch, for data that by its name is not trained on, for one epoch, for a class of the project of the same name, and
where a library leads the loop (Lightning, Accelerate, Ignite and others tell the sampler themselves).
"""

from collections.abc import Iterator

from trainlint import Finding, Repetition, Severity, SharedData, rule


@rule("TL504")
def sampler_without_set_epoch(data: SharedData) -> Iterator[Finding]:
    """Flag a sampler that shuffles every epoch alike, and a loader that needs one and has none."""
    message, consequence, cure = _words(data)
    because = (data.shared, data.looped, data.trained) if data.shared is not None else (data.looped, data.trained)
    yield Finding(data.argument, message, consequence, because, cure, severity=Severity.WARNING)


def _words(data: SharedData) -> tuple[str, str, str]:
    if data.repeats is Repetition.ORDER:
        return (
            f"{data.made} shuffles by the number of the epoch, and nothing tells it: set_epoch is never called",
            "every epoch shows each process the same rows in the same order",
            "call set_epoch(epoch) of the sampler at the start of each epoch",
        )
    return (
        f"{data.made} has no sampler, and every process that shares its gradients reads all of the data",
        "an epoch is as long as with one process, and the processes learn from the same rows",
        "give the loader a DistributedSampler, and call its set_epoch(epoch) at the start of each epoch",
    )
