"""TL201: the worse model is taken for the better one.

A callback, a trainer or a comparison keeps the model with the lowest value of a metric of which the highest is best, or
the other way round. Nothing fails: a file is written, its name says best, and it holds the worst model of the run.

The defaults invite it. Lightning's ``ModelCheckpoint`` and ``EarlyStopping`` take the lowest value unless ``mode`` says
otherwise (before 1.3 the name decided, and "acc" alone meant higher). transformers takes the highest value of every
metric whose name does not end in "loss": of ``wer``, ``cer``, ``mse`` or ``perplexity``, the worst.
``ReduceLROnPlateau`` waits for a lower value, so with an accuracy it lowers the rate while the model gets better. Of 27
public files whose Lightning callback monitors an accuracy, 6 kept the worst model.

To fix it, say which way is better: ``mode="max"``, ``greater_is_better=False``, or the other comparison.

Bad:

    from lightning.pytorch.callbacks import ModelCheckpoint

    checkpoint = ModelCheckpoint(monitor="val_acc", save_top_k=1)

Good:

    from lightning.pytorch.callbacks import ModelCheckpoint

    checkpoint = ModelCheckpoint(monitor="val_acc", mode="max", save_top_k=1)

Severity. An error. Which value of a metric is better is read off its name, and "loss" or "error" in a name wins.

Where a function is given what it compares, the finding is at the call that gives it.

Silent on names that say nothing (``score``, ``reward``), on names that turn their meaning round (``neg_loss``), where
two names of one number disagree, where a setting or a branch decides which way the comparison goes, in code that
attacks another model, and where nothing is kept or stopped by a comparison.
"""

from collections.abc import Iterator

from trainlint import (
    Applicability,
    Better,
    Finding,
    Fix,
    Option,
    Purpose,
    Replace,
    Selection,
    SetKeyword,
    Sign,
    Unknown,
    given,
    rule,
)

SO = {
    Purpose.KEEP: "the model that is kept is the worst one, and each better one is dropped",
    Purpose.LOAD: "the trainer ends with the worst of its checkpoints and shows it as the best",
    Purpose.STOP: "training is stopped while the model gets better, and goes on while it gets worse",
    Purpose.SLOW: "the learning rate falls while the model gets better, and stays while it gets worse",
}


@rule("TL201")
def selection_direction(selection: Selection) -> Iterator[Finding]:
    """Flag a choice that takes the lowest value of what is better higher, or the highest of what is better lower."""
    measured, wins = selection.measured, selection.wins
    if isinstance(measured, Unknown) or isinstance(wins, Unknown) or measured.score.better is wins or selection.branch:
        return
    better = Better.LOWER if wins is Better.HIGHER else Better.HIGHER
    message = (
        f"{selection.chooser} takes the {wins.extreme} {measured.name} for the best, "
        f"but a {better.value} {measured.name} is better{given(measured.assumed)}"
    )
    because = (*measured.evidence, *selection.because)
    so, cure = SO[selection.purpose], selection.cure
    yield Finding(selection.where, message, so, because, cure, fix=_fix(selection, better))


def _fix(selection: Selection, better: Better) -> Fix | None:
    """What decides, turned round; a setting that decides may have more to it."""
    message = f"Choose by the {better.extreme} value"
    match selection.decided:
        case Option(call, name, other, position, is_written):
            sure = Applicability.SAFE if is_written else Applicability.UNSAFE
            return Fix(sure, message, (SetKeyword(call, name, other, position),))
        case Sign(where, other, start, first):
            begins = (Replace(start, first),) if start else ()
            return Fix(Applicability.SAFE, message, (Replace(where, other), *begins))
    return None
