"""TL202: a task metric is computed, and the model is chosen by the loss.

``load_best_model_at_end=True`` without ``metric_for_best_model`` loads the checkpoint with the lowest evaluation loss,
whatever ``compute_metrics`` returns. A loop that measures the accuracy and the loss on the validation data, prints both
and compares the loss does the same by hand.

The loss and the metric part ways late in training: a classifier that grows too sure of its few mistakes has a rising
loss and a rising accuracy, a speech recogniser's loss goes up while its error rate still falls. The model that is kept
is then an early one, and the better ones are gone.

To fix it, choose by the metric: ``metric_for_best_model="f1"``, ``monitor="val_wer"``, a comparison of the accuracy. To
keep the loss on purpose, say so: ``metric_for_best_model="eval_loss"``.

Bad:

    from transformers import Trainer, TrainingArguments


    def compute_metrics(prediction):
        return {"accuracy": (prediction.predictions.argmax(-1) == prediction.label_ids).mean()}


    def train(model, train_set, dev_set):
        args = TrainingArguments("out", eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True)
        trainer = Trainer(model, args, train_dataset=train_set, eval_dataset=dev_set, compute_metrics=compute_metrics)
        trainer.train()

Good:

    from transformers import Trainer, TrainingArguments


    def compute_metrics(prediction):
        return {"accuracy": (prediction.predictions.argmax(-1) == prediction.label_ids).mean()}


    def train(model, train_set, dev_set):
        args = TrainingArguments(
            "out",
            eval_strategy="epoch",
            save_strategy="epoch",
            load_best_model_at_end=True,
            metric_for_best_model="accuracy",
        )
        trainer = Trainer(model, args, train_dataset=train_set, eval_dataset=dev_set, compute_metrics=compute_metrics)
        trainer.train()

Severity. A warning where a library's object chooses. A note where a loop compares by hand: who prints an accuracy may
still want the loss (15 of 17 such choices in public code were debatable, docs/precision.md).

Silent where the arguments name the loss themselves, where the only metric is computed from the loss (perplexity, a
squared error), where a metric takes part in the choice or in another one, where the file that holds it also saves the
last model or each epoch's, and on losses that play against each other.
"""

from collections.abc import Iterator

from trainlint import Better, Finding, Purpose, Selection, Severity, Unknown, rule

SO = "the model that is kept is that of the lowest loss, though another may do the task better"


@rule("TL202")
def metric_ignored(selection: Selection) -> Iterator[Finding]:
    """Flag a choice by a loss where a task metric is at hand."""
    measured, metrics = selection.measured, selection.metrics
    if isinstance(measured, Unknown) or not metrics or selection.is_named or selection.kept or selection.learned:
        return
    if selection.purpose in (Purpose.STOP, Purpose.SLOW) or selection.wins is not Better.LOWER or not measured.is_loss:
        return
    names = " and ".join(metric.name for metric in metrics[:2])
    computed = f"{names} {'are' if len(metrics) > 1 else 'is'} computed"
    message = f"{selection.chooser} chooses the model by {measured.name}, though {computed}"
    because = tuple(step for metric in metrics[:2] for step in metric.evidence)
    cure = f"choose by {metrics[0].name}, or say that the loss is meant"
    severity = Severity.WARNING if selection.built is not None else Severity.NOTE
    yield Finding(selection.where, message, SO, because, cure, severity=severity)
