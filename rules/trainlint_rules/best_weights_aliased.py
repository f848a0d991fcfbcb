"""TL206: the best weights are kept as a reference, and training goes on changing them.

``best = model.state_dict()`` keeps no weights. ``state_dict()`` hands out a new dictionary of the model's own tensors,
and the optimizer writes its next step into those tensors. The same goes for ``dict(...)``, ``.copy()`` and
``copy.copy``, which copy the dictionary and not what is in it, for a comprehension without ``clone()``, for
``.detach()``, which is a view of the same memory on every device, and for ``best_model = model``, which is another name
for the one model.

What it does. The run keeps the best score and loses the best weights: what ``load_state_dict(best)`` restores, and
what is saved or returned as the best model, is the last epoch. Nothing fails, and the score that is printed beside it
belongs to weights that no longer exist. In the program below the weights restored are those of the last epoch, bit for
bit, whichever was the best.

The same holds for the weights of the start that are put aside to begin again from, for another fold or another setting:
loading a model's own tensors back into it changes nothing, and the second run goes on where the first one ended.

``.cpu()``, ``.to("cpu")`` and ``.cpu().numpy()`` copy what lies on another device, and nothing that is on the CPU
already: the program is right on a GPU and keeps nothing on a CPU, where it is often tried first.

To fix it, copy the tensors: ``copy.deepcopy(model.state_dict())`` or ``{k: v.clone() for k, v in ...}``, or save them
to disk when they are best.

Bad:

    import torch
    from torch import nn

    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def fit(train, held_out, epochs=20):
        lowest = float("inf")
        for _ in range(epochs):
            for x, y in train:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
            loss = sum(float(nn.functional.mse_loss(model(x), y)) for x, y in held_out)
            if loss < lowest:
                lowest, best = loss, model.state_dict()
        model.load_state_dict(best)

Good:

    import copy

    import torch
    from torch import nn

    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def fit(train, held_out, epochs=20):
        lowest = float("inf")
        for _ in range(epochs):
            for x, y in train:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
            loss = sum(float(nn.functional.mse_loss(model(x), y)) for x, y in held_out)
            if loss < lowest:
                lowest, best = loss, copy.deepcopy(model.state_dict())
        model.load_state_dict(best)

Severity. An error where the loop that goes on training the same model is seen, and a line that uses what was kept. A
warning where that loop is not seen (an early-stopping class of a library's own, a callback) or a function only says by
its name that it trains. For copies by ``.cpu()`` a note; an error if the project is seen to compute on the CPU alone.
``.detach()`` without ``.cpu()`` copies on no device, and is judged like a reference.

Silent where the tensors are copied (``deepcopy``, ``clone``, ``numpy().copy()``), where the state goes to disk or into
another model at once, where each turn of the loop makes a model of its own (folds, a search over settings, clients of
federated learning), where the loop ends once something was kept, for averages of weights, and where nothing uses what
was kept.
"""

from collections.abc import Iterator

from trainlint import AddImport, Applicability, Finding, Fix, KeptWeights, Severity, Sharing, Unknown, Wrap, rule


@rule("TL206")
def best_weights_aliased(kept: KeptWeights) -> Iterator[Finding]:
    """Flag weights that are put aside without a copy while the model goes on being trained."""
    trained = () if isinstance(kept.trained, Unknown) else kept.trained
    yield Finding(
        kept.argument,
        _what(kept),
        _so(kept),
        (*kept.condition[:1], *trained, kept.used, *(kept.on_cpu or ())),
        _cure(kept),
        severity=_severity(kept),
        fix=_fix(kept),
    )


def _fix(kept: KeptWeights) -> Fix | None:
    """A copy of what is put aside. Of a whole model it may be more than was meant, and on a GPU it is one too many."""
    if kept.value is None:
        return None
    is_sure = kept.shares is Sharing.TENSORS or kept.on_cpu is not None
    edits = (Wrap(kept.value, "copy.deepcopy(", ")"), AddImport(kept.value, "copy"))
    return Fix(Applicability.SAFE if is_sure else Applicability.UNSAFE, "Copy what is kept", edits)


def _severity(kept: KeptWeights) -> Severity:
    if kept.shares is Sharing.ON_CPU and kept.on_cpu is None:
        return Severity.NOTE
    return Severity.ERROR if kept.certain and not isinstance(kept.trained, Unknown) else Severity.WARNING


def _what(kept: KeptWeights) -> str:
    unseen = " (the loop that trains it is not seen)" if isinstance(kept.trained, Unknown) else ""
    match kept.shares:
        case Sharing.ITSELF:
            return f"{kept.kept} is {kept.model} itself under another name, not a copy{unseen}"
        case Sharing.ON_CPU if kept.on_cpu is None:
            return f"{kept.kept} holds the tensors of {kept.model} themselves on a CPU, where {kept.by} copies nothing"
    but = f": {kept.by} copies no tensor" if kept.by else ", not a copy"
    return f"{kept.kept} holds the tensors of {kept.model} themselves{but}{unseen}"


def _so(kept: KeptWeights) -> str:
    where = "on a CPU " if kept.shares is Sharing.ON_CPU and kept.on_cpu is None else ""
    if kept.restarts:
        return f"{where}every later step changes them too, and loading them back changes nothing: training goes on"
    return f"{where}every later step changes them too, and what is used as the best in the end is the last"


def _cure(kept: KeptWeights) -> str:
    if kept.shares is Sharing.ITSELF:
        return f"keep copy.deepcopy({kept.model}), or copy.deepcopy({kept.model}.state_dict())"
    if kept.shares is Sharing.ON_CPU:
        return "add .clone() to each tensor, or keep copy.deepcopy of the state"
    return f"keep copy.deepcopy({kept.model}.state_dict())"
