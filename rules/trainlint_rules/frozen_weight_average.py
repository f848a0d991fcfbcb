"""TL307: an average of weights is kept in 16 bits and never moves.

An exponential average moves towards the weights by ``1 - decay`` of the way in each step. A number of 16 bits cannot
move by so little: for a decay of 0.999 that is a 1000th of the way, and bfloat16 has 8 significant bits.

What it does. The step is rounded away, every step anew, so it does not add up: the average stays, bit for bit, what it
began as. It began as a copy of the first weights, and that is what is evaluated, saved or used as a teacher. The bound
is ``1 - decay < eps / 4``: bfloat16 0.00195 (a decay of 0.9981 and more), float16 0.000244 (0.9998 and more). Below it
``average * decay`` rounds back to the average, and what is added is lost as long as the weight is not larger than the
average by the factor ``eps / 4 / (1 - decay)``. Measured on 4160 weights that changed by 30 %, 50 steps: in bfloat16
with 0.999 none of the averages moves, with 0.9 all; in float16 none with 0.9999.

Where a weight grows past that factor, ``mul_`` and ``add_`` move the average up and never down again.

To fix it, keep the average in float32, whatever the model is kept in: ``copy.deepcopy(model).float()``, or an average
that is made before the model is cast.

Bad:

    import copy

    import torch
    from torch import nn

    DECAY = 0.999
    model = nn.Linear(8, 2).bfloat16()
    average = copy.deepcopy(model)


    def update():
        with torch.no_grad():
            for kept, weight in zip(average.parameters(), model.parameters()):
                kept.mul_(DECAY).add_(weight, alpha=1 - DECAY)

Good:

    import copy

    import torch
    from torch import nn

    DECAY = 0.999
    model = nn.Linear(8, 2).bfloat16()
    average = copy.deepcopy(model).float()


    def update():
        with torch.no_grad():
            for kept, weight in zip(average.parameters(), model.parameters()):
                kept.mul_(DECAY).add_(weight, alpha=1 - DECAY)

Severity. An error: format and decay are known, and the rest is arithmetic. The message names a default that the decay
rests on. Known are updates by hand (``mul_`` and ``add_``, ``lerp_``, ``copy_`` or an assignment of the sum,
``torch._foreach_lerp_``), PyTorch's ``AveragedModel`` with ``get_ema_multi_avg_fn`` or ``get_ema_avg_fn``, timm's
``ModelEma``, diffusers' ``EMAModel``, ``torch_ema`` and ``ema_pytorch``. Those of the last three libraries that begin
with a lower decay move at first and stand still once the decay has grown.

Silent where the average is kept in float32, also beside a model in 16 bits, where the decay is not known or changes
from step to step, and where the format is not followed.
"""

from collections.abc import Iterator

from trainlint import Finding, Unknown, WeightAverage, given, rule, taken


@rule("TL307")
def frozen_weight_average(average: WeightAverage) -> Iterator[Finding]:
    """Flag an average whose steps are all rounded away."""
    decay, stored = average.decay, average.stored
    if isinstance(decay, Unknown) or isinstance(stored, Unknown) or not stored.dtype.is_short:
        return
    left, least = 1 - decay.number, stored.dtype.eps / 4
    if not 0 < left < least:
        return
    assumed = (*taken(decay), *stored.assumed)
    yield Finding(
        average.argument,
        f"{average.average} is kept in {stored.dtype.value} and cannot move: 1 - {decay.number:g} = {left:.2g} is less "
        f"than eps / 4 = {least:.3g}{given(assumed)}",
        f"it stays what it began as until a weight is {least / left:.3g} times as large as its average",
        (*stored.evidence, *decay.evidence),
        "keep the average in float32: copy the model, then .float()",
        assumed,
    )
