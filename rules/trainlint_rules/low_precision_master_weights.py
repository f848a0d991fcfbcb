"""TL301: weights of 16 bits are trained without anything that keeps what rounding loses.

``model.bfloat16()``, ``torch_dtype=torch.bfloat16`` and ``precision="bf16-true"`` store the weights in 16 bits, and
the optimizer then works on these very numbers. A bfloat16 has 8 significant bits: between 0.5 and 1 its numbers lie
1/256 apart, and whatever changes a weight by less than half of that changes nothing. Nothing adds up either: the next
step starts from the same number.

What it does. Weight decay multiplies each weight by ``1 - lr*wd``. Where ``lr*wd`` is below a quarter of the format's
epsilon (1.95e-3 in bfloat16, 2.44e-4 in float16) the product rounds back to the weight, for every weight there is:
300 steps of AdamW with a decay of 1 and of 0 end in the same bits. A step of Adam is about as long as the learning
rate, so weights above a limit do not move at all: above 0.5 with 1e-3, above 0.0078 with 2e-5 (bfloat16). A small
network after 600 steps at 1e-4: a loss of 2.22 with bfloat16 weights, 1.67 with float32 weights.

``autocast`` and ``GradScaler`` do not change this: they choose in what a step is computed, not in what it is kept.

To fix it, keep the weights in float32 and let ``torch.autocast`` (``bf16=True``, ``precision="bf16-mixed"``) compute
in 16 bits, or shard float32 weights (FSDP casts them for the computation). Where memory allows no float32 weights,
take an optimizer with stochastic rounding. Kahan summation saves the steps, not the decay.

Bad:

    import torch
    from torch import nn

    model = nn.Linear(64, 10)
    model = model.to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)

Good:

    import torch
    from torch import nn

    model = nn.Linear(64, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1)

    def loss(x, y):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(x)
        return nn.functional.cross_entropy(logits.float(), y)

Severity. An error where the numbers prove it: the decay does nothing, or no weight above 1/16 can move. Else a
warning: plain gradient descent, whose steps depend on the data; an open learning rate; one of several branches; a
cast inside a training step; and where accelerate or a command line may bring a DeepSpeed or FSDP config that keeps a
float32 copy.

Reported at the optimizer, at the trainer that makes it, at the trainer whose precision decides it, or at the cast that
stands inside a training step.

Silent where the weights are made float32 again, or cast after the optimizer is made; for float32 adapters over a short
base, quantised models, DeepSpeed and apex (they keep a float32 copy), stochastic rounding; for learning rates of 0.05
and more unless the decay is lost; and where the format is not found (listed as not judged). Casts of a part of a model
are not judged.
"""

from collections.abc import Iterator

from trainlint import Compensation, Dtype, Finding, Optimizer, Real, Severity, Step, Unknown, given, joined, rule, taken

SMALL_STEP = 2**-4
"""A step that moves no weight above this moves few: the first weights of a layer with 256 inputs reach so far."""

THROUGH, HALF = 0.9, 0.5
"""Shares of the updates that come through where a run measured it: a healthy run shows 1.00, plain bfloat16 0.15 at a
learning rate of 1e-4 and 0.69 at 1e-3."""

LARGE_RATE = 0.05
"""From this learning rate on, a step is some numbers long for every weight below 6 (bfloat16)."""


@rule("TL301")
def low_precision_master_weights(optimizer: Optimizer) -> Iterator[Finding]:
    """Flag an optimizer whose own weights have 16 bits."""
    short = optimizer.short
    if short is None or isinstance(optimizer.weights, Unknown):
        return
    decay, step = _decay(optimizer, short), _step(optimizer, short)
    if not decay and not step:
        return
    proved = decay or _is_mostly_lost(optimizer, short)
    severity = Severity.ERROR if proved and not optimizer.doubt else Severity.WARNING
    assumed = joined(optimizer.weights.assumed, taken(optimizer.lr, optimizer.decay) if proved else ())
    message = (
        f"{_trains(optimizer, short)}: {'; '.join(filter(None, (decay, step)))}{_doubt(optimizer)}{given(assumed)}"
    )
    yield Finding(
        optimizer.argument,
        message,
        "updates round away: the weights hardly move, and the loss curve only looks slow",
        joined(optimizer.weights.evidence, *_numbers(optimizer, decay), optimizer.beside),
        f"keep the weights in float32 and compute in {short.value} under autocast",
        assumed,
        severity,
        call=optimizer.call,
    )


def _trains(optimizer: Optimizer, short: Dtype) -> str:
    if optimizer.inside:
        return f"{optimizer.inside} casts the model that is trained to {short.value}"
    return f"{optimizer.name} trains {short.value} weights"


def _doubt(optimizer: Optimizer) -> str:
    return f", {optimizer.doubt}" if optimizer.doubt else ""


def _numbers(optimizer: Optimizer, decay: str) -> list[tuple[Step, ...]]:
    """The lines of the numbers that the message names."""
    named = (optimizer.lr, optimizer.decay if decay else None)
    return [each.evidence for each in named if isinstance(each, Real)]


def _decay(optimizer: Optimizer, short: Dtype) -> str:
    """What weight decay does, where it is proved to do nothing."""
    lr, decay = optimizer.lr, optimizer.decay
    if not optimizer.scales or isinstance(lr, Unknown) or isinstance(decay, Unknown):
        return ""
    product = lr.number * decay.number
    if not 0 < product < short.least_change:
        return ""
    needs = f"{short.value} needs {short.least_change:.3g} to change any weight"
    return f"lr*wd = {product:.3g} and {needs}, so weight decay does nothing"


def _moved(optimizer: Optimizer, short: Dtype) -> float:
    """The weight above which no step of the length of the learning rate moves anything."""
    rate = optimizer.lr
    return short.unmoved(rate.number) if isinstance(rate, Real) and rate.number > 0 else float("inf")


def _is_mostly_lost(optimizer: Optimizer, short: Dtype) -> bool:
    if optimizer.transmitted is not None:
        return optimizer.transmitted < HALF
    return optimizer.bounded and _moved(optimizer, short) <= SMALL_STEP


def _step(optimizer: Optimizer, short: Dtype) -> str:
    """What becomes of a step, unless it is large or compensated; where a run measured it, that alone counts."""
    rate = optimizer.lr
    if optimizer.transmitted is not None:
        return f"{optimizer.transmitted:.0%} of its updates came through" if optimizer.transmitted < THROUGH else ""
    if optimizer.compensation is Compensation.KAHAN or (isinstance(rate, Real) and rate.number >= LARGE_RATE):
        return ""
    if not optimizer.bounded or isinstance(rate, Unknown) or not rate.number > 0:
        return f"a step below 1/{2 ** (short.significand + 1)} of a weight is lost"
    return f"a step of {rate.number:.3g} moves no weight above {_moved(optimizer, short):.3g}"
