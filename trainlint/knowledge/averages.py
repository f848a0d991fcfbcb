"""Libraries that average weights: what makes the average, what it averages, and how fast it forgets."""

from __future__ import annotations

from trainlint.knowledge.signature import Signature
from trainlint.record import record


@record
class Averager:
    """A class that keeps an average: its parameters, which of them is the model and which the decay.

    ``grows`` says that the decay begins low and reaches its value later: what is said of it holds from then on.
    """

    signature: Signature
    model: str
    decay: str
    grows: bool = False


KNOWN = (
    Averager(
        Signature("timm.utils.ModelEma", ("model", "decay", "device", "resume"), {"decay": 0.9999}), "model", "decay"
    ),
    Averager(Signature("timm.utils.ModelEmaV2", ("model", "decay", "device"), {"decay": 0.9999}), "model", "decay"),
    Averager(
        Signature(
            "timm.utils.ModelEmaV3",
            (
                "model",
                "decay",
                "min_decay",
                "update_after_step",
                "use_warmup",
                "warmup_gamma",
                "warmup_power",
                "device",
            ),
            {"decay": 0.9999},
        ),
        "model",
        "decay",
    ),
    Averager(
        Signature(
            "diffusers.training_utils.EMAModel",
            ("parameters", "decay", "min_decay", "update_after_step", "use_ema_warmup", "inv_gamma", "power"),
            {"decay": 0.9999},
        ),
        "parameters",
        "decay",
        grows=True,
    ),
    Averager(
        Signature("torch_ema.ExponentialMovingAverage", ("parameters", "decay", "use_num_updates"), {}),
        "parameters",
        "decay",
        grows=True,
    ),
    Averager(
        Signature("ema_pytorch.EMA", ("model", "ema_model", "beta"), {"beta": 0.9999}), "model", "beta", grows=True
    ),
)
AVERAGERS = {known.signature.name: known for known in KNOWN}
SPELLINGS = {
    "diffusers.EMAModel": "diffusers.training_utils.EMAModel",
    "torch_ema.ema.ExponentialMovingAverage": "torch_ema.ExponentialMovingAverage",
    "ema_pytorch.ema_pytorch.EMA": "ema_pytorch.EMA",
    **{f"timm.utils.model_ema.{name}": f"timm.utils.{name}" for name in ("ModelEma", "ModelEmaV2", "ModelEmaV3")},
}
AVERAGED = Signature(
    "torch.optim.swa_utils.AveragedModel", ("model", "device", "avg_fn", "multi_avg_fn", "use_buffers"), {}
)
"""PyTorch's own: without one of the functions below it averages all weights alike, and has no decay."""

FUNCTIONS = {
    f"torch.optim.swa_utils.{name}": Signature(f"torch.optim.swa_utils.{name}", ("decay",), {"decay": 0.999})
    for name in ("get_ema_multi_avg_fn", "get_ema_avg_fn")
}
"""What makes an average with a decay for ``avg_fn`` and ``multi_avg_fn``."""

WORDS = frozenset(
    {
        AVERAGED.last,
        *(known.signature.last for known in KNOWN),
    }
)


def averager(name: str) -> Averager | None:
    """What is known of a class by its qualified name."""
    return AVERAGERS.get(SPELLINGS.get(name, name))
