"""TL205: the lowest validation loss alone decides which weights are left of a run.

The validation loss is an average over everything that the model says. What it does seldom, such as ending a sentence,
hardly counts in it: a model can get better on average and lose a rare capability on the way, and the weights that had
it are overwritten. In public reports, models of speech that were chosen this way spoke on and on, or stopped at once,
while a later or an earlier file of the same run did not.

Keeping the lowest loss is common and not wrong by itself. It is one step from a bug where nothing else of the run is
kept: then nobody can look back.

To fix it, keep the last weights or those of each few epochs too, or choose by a number that measures the task.

Bad:

    import torch


    def fit(model, epochs, train, validate):
        best_loss = float("inf")
        for _ in range(epochs):
            train(model)
            val_loss = validate(model)
            if val_loss < best_loss:
                best_loss = val_loss
                torch.save(model.state_dict(), "best.pt")

Good:

    import torch


    def fit(model, epochs, train, validate):
        best_loss = float("inf")
        for _ in range(epochs):
            train(model)
            val_loss = validate(model)
            if val_loss < best_loss:
                best_loss = val_loss
                torch.save(model.state_dict(), "best.pt")
            torch.save(model.state_dict(), "last.pt")

Severity. A note, once per file; a warning where the model must say itself when to stop: its file, or one that is
imported beside it, ends a loop on what the model says.

Silent where the last, periodic or all weights are kept too, or where another rule keeps its own winner; where a task
metric is computed (TL202) or the loss is that of the training steps (TL203); where nothing is kept; where
transformers' trainer loads the best in the end, which deletes neither the last checkpoint nor, without
``save_total_limit``, any other (``save_strategy="best"`` saves no other); and where each turn of the loop makes a new
model, in a search for settings. To silence it, give the reason:
``# trainlint: ignore[TL205] the loss is what we publish``.
"""

from collections.abc import Iterator

from trainlint import Finding, Purpose, Selection, Severity, Unknown, rule

SO = "what the average does not show is lost with the weights that are written over"
SO_STOP = "a model that no longer stops can have the lowest loss of the run, and the weights that did stop are gone"
CURE = "keep the last or periodic weights too, or choose by what the model is for"


@rule("TL205")
def lowest_loss_checkpoint(selection: Selection) -> Iterator[Finding]:
    """Flag a choice by the lowest loss where nothing else of the run is left."""
    measured = selection.measured
    if isinstance(measured, Unknown) or not selection.keeps_lowest_loss or selection.learned:
        return
    if selection.purpose is Purpose.LOAD:  # the last checkpoint stays on disk beside the best
        return
    if selection.metrics and not selection.is_named:
        return
    must_stop = bool(selection.endings)
    if selection.is_repeated and not must_stop:
        return
    message = f"{selection.chooser} keeps only the model with the lowest {measured.name}"
    severity = Severity.WARNING if must_stop else Severity.NOTE
    because = (*selection.endings, *measured.evidence)
    yield Finding(selection.call, message, SO_STOP if must_stop else SO, because, CURE, severity=severity)
