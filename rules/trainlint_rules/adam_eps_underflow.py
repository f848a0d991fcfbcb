"""TL303: the epsilon of Adam is zero in float16.

TODO
"""

from collections.abc import Iterator

from trainlint import Compensation, Dtype, Finding, Optimizer, Real, Severity, Unknown, given, joined, rule

ROUNDS_TO_ZERO = 2.0**-25
"""Half of the smallest number of float16; the tie goes to zero."""


@rule("TL303")
def adam_eps_underflow(optimizer: Optimizer) -> Iterator[Finding]:
    """Flag an optimizer that divides by zero in its first step."""
    eps, weights = optimizer.eps, optimizer.weights
    if not isinstance(eps, Real) or isinstance(weights, Unknown) or eps.number > ROUNDS_TO_ZERO:
        return
    if optimizer.state is not Dtype.FLOAT16 or optimizer.compensation is Compensation.MASTER:
        return
    assumed = joined(weights.assumed, eps.assumed)
    doubt = f", {optimizer.doubt}" if optimizer.doubt else ""
    yield Finding(
        optimizer.argument,
        f"eps = {eps.number:.3g} is 0 in float16, in which {optimizer.name} divides by it{doubt}{given(assumed)}",
        "the first step makes a weight NaN where its gradient is 0, and infinite where it is small",
        joined(weights.evidence, eps.evidence),
        "keep the weights in float32, or raise eps to 1e-4",
        assumed,
        Severity.WARNING if optimizer.doubt else Severity.ERROR,
        call=optimizer.call,
    )
