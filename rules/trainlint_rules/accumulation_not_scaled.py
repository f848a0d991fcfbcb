"""TL508: gradients of several batches are added up, and nothing makes a mean of the sum.

``backward`` adds to the gradients that are there. Where the optimizer steps and clears only after every n-th batch, it
moves by the sum of n gradients, each of them the mean over its batch: by n times the gradient of the batch that the
accumulation stands for. Clipping then cuts off what is too much in every step, the norm that is logged means nothing,
and changing n changes the learning rate. Measured on the program below with n = 16: 16.0 times the gradient.
Adam divides by the size of its gradients and hides it, as long as nothing clips.

Dividing each loss by n is right where every batch has the same number of terms. A token loss with ``ignore_index`` is
the mean over the tokens that a batch keeps: the mean of these means gives a token in a short batch more weight than one
in a long batch. Add up ``reduction="sum"`` and divide by the tokens of all n batches.

Trainers of transformers divide by n themselves, unless the model's ``forward`` takes ``**kwargs``: then they hand
``num_items_in_batch`` to the loss and trust it to divide. A ``compute_loss`` of your own that does not use it is not
divided by anything.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn

    ACCUMULATE = 16
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def epoch(batches):
        for number, (x, y) in enumerate(batches, 1):
            F.cross_entropy(model(x), y).backward()
            if number % ACCUMULATE == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn

    ACCUMULATE = 16
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


    def epoch(batches):
        for number, (x, y) in enumerate(batches, 1):
            (F.cross_entropy(model(x), y) / ACCUMULATE).backward()
            if number % ACCUMULATE == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()

Severity. An error where a mean is added up undivided. A warning where the number of batches is 1 unless a command line
changes it, where neither the optimizer nor anything that clips is seen, and for a ``compute_loss`` that does not use
``num_items_in_batch``. A note where the steps of the optimizer are the same however large the gradients are and nothing
clips them, and for a mean of means over unequal counts.

Silent where the loss, the gradients or the learning rate are divided, where the loss is a sum, where one batch is known
to make a step, for engines that divide themselves (accelerate, DeepSpeed, Lightning), for a trainer that says
``model_accepts_loss_kwargs = False``, and for a model of the project whose ``forward`` takes no ``**kwargs``.
"""

from collections.abc import Iterator

from trainlint import Accumulation, Finding, Grouping, Integer, Severity, Unknown, rule


@rule("TL508")
def accumulation_not_scaled(accumulation: Accumulation) -> Iterator[Finding]:
    """Flag gradients of several batches whose sum is used in the place of their mean."""
    if isinstance(accumulation.grouping, Unknown):
        return
    number = accumulation.number
    assumed = number.assumed if isinstance(number, Integer) else ()
    yield Finding(
        accumulation.argument,
        _what(accumulation),
        _so(accumulation),
        tuple(filter(None, (accumulation.mean, accumulation.stepped, accumulation.clipped))),
        _cure(accumulation),
        assumed if accumulation.grouping is Grouping.BATCH else (),
        _severity(accumulation),
        call=accumulation.call,
    )


def _is_one_by_default(accumulation: Accumulation) -> bool:
    number = accumulation.number
    return isinstance(number, Integer) and number.number == 1


def _severity(accumulation: Accumulation) -> Severity:
    match accumulation.grouping:
        case Grouping.UNEVEN:
            return Severity.NOTE
        case Grouping.UNASKED:
            return Severity.WARNING
    if accumulation.unscaled and accumulation.clipped is None:
        return Severity.NOTE
    is_open = isinstance(accumulation.unscaled, Unknown) and accumulation.clipped is None
    return Severity.WARNING if is_open or _is_one_by_default(accumulation) else Severity.ERROR


def _what(accumulation: Accumulation) -> str:
    over = accumulation.over
    match accumulation.grouping:
        case Grouping.UNEVEN:
            return f"the mean over the targets that each batch keeps is divided by {over}, whatever their number"
        case Grouping.UNASKED:
            return f"compute_loss of {accumulation.owner} does not use num_items_in_batch, so nothing divides by {over}"
    number = accumulation.number
    known = number.number if isinstance(number, Integer) else None
    spelled = over if known is None or over == str(known) else f"{over} = {known}"
    return f"the gradients of {spelled} batches are added up, and each is the mean over its batch"


def _so(accumulation: Accumulation) -> str:
    match accumulation.grouping:
        case Grouping.UNEVEN:
            return "a token in a batch that keeps few of them weighs more than one in a batch that keeps many"
        case Grouping.UNASKED:
            return "the gradients are as many times too large as there are batches in a step"
    if accumulation.clipped is not None:
        return "the step is that many times too long, and clipping cuts it off without a word"
    if isinstance(accumulation.unscaled, Unknown):
        return "the step is that many times too long, unless the optimizer, which is not seen, divides by its size"
    if accumulation.unscaled:
        return f"{accumulation.unscaled} hides it as long as nothing clips or reads the size of the gradients"
    return "the step is that many times too long"


def _cure(accumulation: Accumulation) -> str:
    match accumulation.grouping:
        case Grouping.UNEVEN:
            return 'add up reduction="sum" and divide by the targets of all batches of the step'
        case Grouping.UNASKED:
            return "divide the sum of the terms by num_items_in_batch, or set self.model_accepts_loss_kwargs = False"
    return f"divide the loss by {accumulation.over} before backward"
