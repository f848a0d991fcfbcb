"""TL204: weights are saved as the best, and nothing compares them with anything.

``torch.save(model.state_dict(), "best.pt")`` at the end of each epoch writes over the file each time: it holds the
newest weights. So does Lightning's ``ModelCheckpoint(filename="best")`` without ``monitor``. Whoever loads the file
believes that the run was searched for its best model, and measures the last one.

To fix it, save under a condition, or call the file what it is.

Bad:

    import torch


    def fit(model, optimizer, batches, epochs):
        for _ in range(epochs):
            for x, y in batches:
                loss = torch.nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            torch.save(model.state_dict(), "best.pt")

Good:

    import torch


    def fit(model, optimizer, batches, epochs):
        for _ in range(epochs):
            for x, y in batches:
                loss = torch.nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            torch.save(model.state_dict(), "last.pt")

Severity. A warning.

Silent where the function compares anything with less or greater, loads weights, or has a name that says best, improved
or early; where a test decides that is about more than the rank, the epoch or an option; and where the training is not
in the same function.
"""

from collections.abc import Iterator

from trainlint import Finding, NewestBest, Severity, rule

SO = "the file holds the newest weights, and who loads it takes them for the best of the run"


@rule("TL204")
def best_is_newest(newest: NewestBest) -> Iterator[Finding]:
    """Flag weights that are called the best and were compared with nothing."""
    message = f"{newest.saved!r} is written whatever the model scores"
    cure = "save where a validation score is better than the best so far, or call the file the last"
    yield Finding(newest.call, message, SO, newest.evidence, cure, severity=Severity.WARNING)
