"""TL106: a metric skips a class that the model must learn.

A metric with ``ignore_index=k`` leaves out every position whose target is k, as a loss does. If k is a class with a
job, the number on the dashboard says nothing about that class. Training may be right; what is lost is the instrument
that would show if it is not.

An example with four positions, of which the model gets three right and misses the stop: the accuracy that skips the
stop reads 1.00, the one that skips -100 reads 0.75. In a speech model that never stops, the first number is perfect.

What counts is the layer whose output the metric is shown, not the ``num_classes`` that it was given. A metric for N + 1
classes that skips N, in front of a layer with N classes, hides nothing.

To fix it, give the metric the sentinel of the padding, -100, and look at the stop class by itself: its recall is the
number that fails first.

Bad:

    import torch.nn as nn
    from torchmetrics.classification import MulticlassAccuracy

    CODES = 1024


    class Decoder(nn.Module):
        stop_id = CODES

        def __init__(self):
            super().__init__()
            self.head = nn.Linear(64, CODES + 1)
            self.accuracy = MulticlassAccuracy(CODES + 1, average="micro", ignore_index=CODES)

        def validate(self, hidden, targets):
            return self.accuracy(self.head(hidden), targets)

Good:

    import torch.nn as nn
    from torchmetrics.classification import MulticlassAccuracy

    CODES = 1024


    class Decoder(nn.Module):
        stop_id = CODES

        def __init__(self):
            super().__init__()
            self.head = nn.Linear(64, CODES + 1)
            self.accuracy = MulticlassAccuracy(CODES + 1, average="micro", ignore_index=-100)

        def validate(self, hidden, targets):
            return self.accuracy(self.head(hidden), targets)

Severity. Always a note: the objective is untouched, and some projects leave the class out on purpose and watch it
elsewhere.

Silent for padding, void and start entries, for a layer that is too narrow to emit the class, and where the layer is
not known.
"""

from collections.abc import Iterator

from trainlint import Finding, Job, Metric, Position, Proof, Role, Severity, Unknown, given, joined, rule, taken


@rule("TL106")
def metric_sentinel_collision(metric: Metric) -> Iterator[Finding]:
    """Note a metric that cannot see a class which has a job."""
    index, layer, job = metric.ignore_index, metric.layer, metric.job
    if isinstance(index, Unknown) or isinstance(layer, Unknown) or metric.position is not Position.INSIDE:
        return
    if not isinstance(job, Job) or not job.role.is_job or (job.proof is Proof.NAME and job.role is not Role.END):
        return
    assumed = taken(index, layer.classes)
    yield Finding(
        metric.argument,
        f"{metric.function} skips {index}, one of the {layer.classes} classes that {layer.name} emits, "
        f"and class {index} is {job.title}{given(assumed)}",
        f"the score can be perfect for a model that never gets {job.lesson} right",
        joined(index.evidence, layer.evidence, job.evidence),
        "give the metric the sentinel of the padding, such as -100",
        assumed,
        Severity.NOTE,
        distinct=(f"{layer.name} - ignore_index = {layer.classes - index}",),
    )
