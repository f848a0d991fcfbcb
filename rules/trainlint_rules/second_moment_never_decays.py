"""TL306: the second moment of Adam can grow but never fall in 16 bits.

TODO
"""

from collections.abc import Iterator

from trainlint import Compensation, Finding, Optimizer, Real, Severity, Unknown, given, joined, rule


@rule("TL306")
def second_moment_never_decays(optimizer: Optimizer) -> Iterator[Finding]:
    """Flag a second moment that forgets less in a step than its format can tell."""
    second, state, weights = optimizer.second, optimizer.state, optimizer.weights
    if not isinstance(second, Real) or isinstance(state, Unknown) or isinstance(weights, Unknown):
        return
    forgets = 1 - second.number
    if optimizer.compensation is Compensation.MASTER or not state.is_short or not 0 < forgets < state.least_change:
        return
    assumed = joined(weights.assumed, second.assumed)
    doubt = f", {optimizer.doubt}" if optimizer.doubt else ""
    yield Finding(
        optimizer.argument,
        f"1 - beta2 = {forgets:.3g} is lost in the {state.value} state of {optimizer.name}: its second moment grows "
        f"and never falls{doubt}{given(assumed)}",
        "one large gradient shortens every later step of that weight for good",
        joined(weights.evidence, second.evidence),
        "set beta2 to 0.99, or keep the weights in float32, and with them the state",
        assumed,
        Severity.WARNING if optimizer.doubt else Severity.ERROR,
        call=optimizer.call,
    )
