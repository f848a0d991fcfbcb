"""TL301: weights of 16 bits are trained without anything that keeps what rounding loses.

TODO
"""

from collections.abc import Iterator

from trainlint import Compensation, Dtype, Finding, Optimizer, Real, Severity, Step, Unknown, given, joined, rule, taken

SMALL_STEP = 2**-4
"""A step that moves no weight above this moves few: the first weights of a layer with 256 inputs reach so far."""

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
    proved = decay or (optimizer.bounded and _moved(optimizer, short) <= SMALL_STEP)
    severity = Severity.ERROR if proved and not optimizer.doubt else Severity.WARNING
    assumed = joined(optimizer.weights.assumed, taken(optimizer.lr, optimizer.decay) if proved else ())
    message = (
        f"{_trains(optimizer, short)}: {'; '.join(filter(None, (decay, step)))}{_doubt(optimizer)}{given(assumed)}"
    )
    yield Finding(
        optimizer.argument,
        message,
        "updates round away: the weights hardly move, and the loss curve only looks slow",
        _because(optimizer),
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


def _because(optimizer: Optimizer) -> tuple[Step, ...]:
    assert not isinstance(optimizer.weights, Unknown), "their format is known"
    numbers = (each for each in (optimizer.lr, optimizer.decay) if isinstance(each, Real))
    return joined(optimizer.weights.evidence, *(each.evidence for each in numbers))


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


def _step(optimizer: Optimizer, short: Dtype) -> str:
    """What becomes of a step, unless it is large or compensated."""
    rate = optimizer.lr
    if optimizer.compensation is Compensation.KAHAN or (isinstance(rate, Real) and rate.number >= LARGE_RATE):
        return ""
    if not optimizer.bounded or isinstance(rate, Unknown):
        return f"a step below 1/{2 ** (short.significand + 1)} of a weight is lost"
    return f"a step of {rate.number:.3g} moves no weight above {_moved(optimizer, short):.3g}"
