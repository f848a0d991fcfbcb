"""TL203: the best model is chosen by the loss that it has just been trained on.

The number that is compared is added up in the loop that calls ``backward``. It says how well the model fits what it was
shown, with dropout on, and it falls as long as training goes on. The model that is kept is the one that has learned the
training data by heart best; a validation loss that rises is never looked at.

In the one run that was reported in full, the model chosen by the training loss had a 20 % better training loss than the
one before it, and had lost 54 % of its capability to stop.

To fix it, compare a number that is measured on data which the model does not learn from, or keep every epoch.

Bad:

    import torch


    def fit(model, optimizer, batches, epochs):
        best_loss = float("inf")
        for _ in range(epochs):
            total = 0.0
            for x, y in batches:
                loss = torch.nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            if total < best_loss:
                best_loss = total
                torch.save(model.state_dict(), "best.pt")

Good:

    import torch


    def fit(model, optimizer, batches, held_out, epochs):
        best_loss = float("inf")
        for epoch in range(epochs):
            for x, y in batches:
                loss = torch.nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                total = sum(torch.nn.functional.cross_entropy(model(x), y).item() for x, y in held_out)
            if total < best_loss:
                best_loss = total
                torch.save(model.state_dict(), "best.pt")
            torch.save(model.state_dict(), "last.pt")

Severity. A warning; a note where no name in these files speaks of data that is held out.

Silent where a test decides whether the loop trains, where any name on the way says validation, where each epoch's model
or the last one is saved too, and on losses that play against each other.
"""

from collections.abc import Iterator

from trainlint import Better, Finding, Purpose, Selection, Severity, Unknown, rule

SO = "the model that is kept is the one that fits its training data best, whatever it does on other data"
CURE = "compare a loss or a metric that is measured on data which the model does not learn from"


@rule("TL203")
def selected_by_training_loss(selection: Selection) -> Iterator[Finding]:
    """Flag a choice by the loss of the training steps."""
    measured = selection.measured
    if isinstance(measured, Unknown) or not selection.learned or selection.kept:
        return
    if selection.purpose is not Purpose.KEEP or selection.wins is not Better.LOWER:
        return
    message = f"{selection.chooser} chooses the model by {measured.name}, the loss that it is trained on"
    because = (*selection.learned, *measured.evidence)
    severity = Severity.WARNING if selection.held_out else Severity.NOTE
    yield Finding(selection.where, message, SO, because, CURE, severity=severity)
