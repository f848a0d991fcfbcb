"""TL507: a model goes on training in evaluation mode.

``model.eval()`` before a validation switches dropout off and freezes the statistics of batch normalization. Where
nothing calls ``model.train()`` afterwards, every later step trains a model without dropout on statistics that no
longer follow the data. Nothing fails, and the training loss even looks better.

Reading follows the loop, the project's own helpers included: a model that was put into evaluation mode and looked at,
and that comes to a ``backward`` of the same loop before anything puts it back. A run under ``trainlint probe run`` sees
it at the steps: the model took some in training mode, was told to evaluate, and took all its further steps so.

To fix it, call ``model.train()`` at the start of every epoch, in front of the loop over the batches.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 4))
    optimizer = torch.optim.AdamW(model.parameters())
    inputs, targets = torch.randn(16, 8), torch.arange(16) % 4
    model.train()
    for epoch in range(4):
        for _ in range(10):
            loss = F.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model(inputs).argmax(1)

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 4))
    optimizer = torch.optim.AdamW(model.parameters())
    inputs, targets = torch.randn(16, 8), torch.arange(16) % 4
    for epoch in range(4):
        model.train()
        for _ in range(10):
            loss = F.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            model(inputs).argmax(1)

Severity. An error: the mode was seen at the steps themselves, or the way to them was. A warning where the code shows
the way and the layers of the model are not seen: it may have none that act otherwise.

Silent for a model that was never in training mode, which may be on purpose, for one without a layer that acts
otherwise then, for parts of a model, and in a run for fewer than 20 steps. Silent where a helper, a context manager, a
decorator or a derived class may put the model back, where the evaluation comes in the last turn of the loop, and where
each turn makes a model of its own.
"""

from collections.abc import Iterator

from trainlint import Finding, Severity, StuckEval, rule


@rule("TL507")
def stuck_in_eval(model: StuckEval) -> Iterator[Finding]:
    """Flag a model that is optimized in evaluation mode once it was evaluated."""
    if model.told is not None:
        return
    yield Finding(
        model.argument,
        _what(model),
        _so(model),
        model.proof,
        "call train() again before the next step",
        severity=_severity(model),
        call=model.call,
    )


def _severity(model: StuckEval) -> Severity:
    return Severity.ERROR if model.layers or model.steps is not None else Severity.WARNING


def _what(model: StuckEval) -> str:
    if model.steps is None:
        return f"{model.module} is put into evaluation mode here, and the loop goes on training it so"
    return f"{model.module} was put into evaluation mode after {model.before} steps and took {model.steps} more so"


def _so(model: StuckEval) -> str:
    if not model.layers:
        return "where it has dropout, that stays off, and batch normalization no longer follows the data"
    return f"{' and '.join(model.layers)} no longer {'act' if len(model.layers) > 1 else 'acts'} as in training"
