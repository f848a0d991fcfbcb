"""Optimizers: their parameters and defaults, how far a step can reach, and in what they keep and round numbers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from trainlint.knowledge.signature import Signature
from trainlint.record import field, record


class Step(Enum):
    """What bounds the step of one weight."""

    LEARNING_RATE = "about the learning rate"
    GRADIENT = "the gradient"


class State(Enum):
    """In which numbers an optimizer keeps what it remembers of each weight."""

    AS_WEIGHTS = "as the weights"
    FLOAT32 = "float32"
    QUANTISED = "a few bits"


@record
class Known:
    """An optimizer of a library.

    ``second`` names the parameter that holds the rate of the second moment (``betas[1]`` or ``alpha``), ``eps`` says
    that its epsilon is added to a square root in the format of the weights. ``decoupled`` says that weight decay
    scales the weights before the step, in their own format; ``switch`` names a parameter that turns this on.
    ``compensates`` are parameters that keep what rounding loses, with what they do.
    """

    signature: Signature
    step: Step = Step.LEARNING_RATE
    state: State = State.AS_WEIGHTS
    second: str = ""
    eps: bool = False
    decoupled: bool = False
    switch: str = ""
    compensates: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.signature.name


MASTER, STOCHASTIC, KAHAN = "a float32 copy", "stochastic rounding", "Kahan summation"

_ADAM = ("params", "lr", "betas", "eps", "weight_decay", "amsgrad")
_ADAM_DEFAULTS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}
T = "torch.optim"

TORCH = (
    Known(
        Signature(
            f"{T}.Adam",
            (*_ADAM, "foreach", "maximize", "capturable", "differentiable", "fused", "decoupled_weight_decay"),
            _ADAM_DEFAULTS,
        ),
        second="betas",
        eps=True,
        switch="decoupled_weight_decay",
    ),
    Known(
        Signature(
            f"{T}.AdamW",
            (*_ADAM, "maximize", "foreach", "capturable", "differentiable", "fused"),
            {**_ADAM_DEFAULTS, "weight_decay": 1e-2},
        ),
        second="betas",
        eps=True,
        decoupled=True,
    ),
    Known(
        Signature(
            f"{T}.NAdam",
            (
                *_ADAM[:5], "momentum_decay", "decoupled_weight_decay", "foreach", "maximize", "capturable",
                "differentiable",
            ),
            {**_ADAM_DEFAULTS, "lr": 2e-3},
        ),
        second="betas",
        eps=True,
        switch="decoupled_weight_decay",
    ),
    Known(
        Signature(
            f"{T}.RAdam",
            (*_ADAM[:5], "decoupled_weight_decay", "foreach", "maximize", "capturable", "differentiable"),
            _ADAM_DEFAULTS,
        ),
        second="betas",
        switch="decoupled_weight_decay",
    ),
    Known(
        Signature(
            f"{T}.Adamax",
            (*_ADAM[:5], "foreach", "maximize", "differentiable", "capturable"),
            {**_ADAM_DEFAULTS, "lr": 2e-3},
        ),
        eps=True,
    ),
    Known(
        Signature(
            f"{T}.RMSprop",
            (
                "params", "lr", "alpha", "eps", "weight_decay", "momentum", "centered", "capturable", "foreach",
                "maximize", "differentiable",
            ),
            {"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0},
        ),
        second="alpha",
        eps=True,
    ),
    Known(
        Signature(
            f"{T}.Adagrad",
            (
                "params", "lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps", "foreach", "maximize",
                "differentiable", "fused",
            ),
            {"lr": 1e-2, "eps": 1e-10, "weight_decay": 0},
        ),
        eps=True,
    ),
    Known(
        Signature(
            f"{T}.SGD",
            (
                "params", "lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize", "foreach",
                "differentiable", "fused",
            ),
            {"lr": 1e-3, "weight_decay": 0},
        ),
        Step.GRADIENT,
    ),
    Known(
        Signature(
            f"{T}.Adafactor",
            ("params", "lr", "beta2_decay", "eps", "d", "weight_decay", "foreach", "maximize"),
            {"lr": 1e-2, "weight_decay": 0.0},
        ),
        decoupled=True,
    ),
)  # fmt: skip
"""torch 2.13; tested against the signatures of the installed version."""

OTHERS = (
    Known(
        Signature(
            "transformers.AdamW",
            (*_ADAM[:5], "correct_bias", "no_deprecation_warning"),
            {**_ADAM_DEFAULTS, "eps": 1e-6},
        ),
        second="betas",
        eps=True,
        decoupled=True,
    ),
    Known(
        Signature(
            "transformers.Adafactor",
            (
                "params", "lr", "eps", "clip_threshold", "decay_rate", "beta1", "weight_decay", "scale_parameter",
                "relative_step", "warmup_init",
            ),
            {"weight_decay": 0.0},
        ),
        Step.GRADIENT,
    ),
    *(
        Known(
            Signature(f"bitsandbytes.optim.{paged}{name}{bits}", _ADAM, {**_ADAM_DEFAULTS, "weight_decay": decay}),
            state=State.QUANTISED if bits == "8bit" else State.FLOAT32,
        )
        for name, decay in (("Adam", 0), ("AdamW", 1e-2))
        for paged in ("", "Paged")
        for bits in ("", "8bit", "32bit")
    ),
    *(
        Known(
            Signature(
                f"bitsandbytes.optim.{paged}Lion{bits}",
                ("params", "lr", "betas", "weight_decay"),
                {"lr": 1e-4, "weight_decay": 0},
            ),
            state=State.QUANTISED if bits == "8bit" else State.FLOAT32,
        )
        for paged in ("", "Paged")
        for bits in ("", "8bit", "32bit")
    ),
    *(
        Known(
            Signature(
                f"torchao.optim.{name}",
                (*_ADAM, *(() if name == "_AdamW" else ("block_size",)), "bf16_stochastic_round"),
                {**_ADAM_DEFAULTS, "weight_decay": 1e-2 if "W" in name else 0},
            ),
            state=State.AS_WEIGHTS if name == "_AdamW" else State.QUANTISED,
            second="betas",
            compensates={"bf16_stochastic_round": STOCHASTIC},
        )
        for name in ("Adam8bit", "Adam4bit", "AdamFp8", "AdamW8bit", "AdamW4bit", "AdamWFp8", "_AdamW")
    ),
    *(
        Known(
            Signature(
                f"optimi.{name}",
                ("params", "lr", "betas", "weight_decay", "eps"),
                {"betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": decay, "kahan_sum": True},
            ),
            second="betas",
            decoupled=name != "Adam",
            compensates={"kahan_sum": KAHAN},
        )
        for name, decay in (("Adam", 0), ("AdamW", 1e-2), ("StableAdamW", 1e-2))
    ),
    Known(
        Signature(
            "optimi.Lion",
            ("params", "lr", "betas", "weight_decay"),
            {"betas": (0.9, 0.99), "weight_decay": 0, "kahan_sum": True},
        ),
        decoupled=True,
        compensates={"kahan_sum": KAHAN},
    ),
    Known(
        Signature(
            "lion_pytorch.Lion",
            ("params", "lr", "betas", "weight_decay", "use_triton", "decoupled_weight_decay"),
            {"lr": 1e-4, "betas": (0.9, 0.99), "weight_decay": 0.0},
        ),
        decoupled=True,
    ),
    Known(
        Signature("apex.optimizers.FusedAdam", ("params", "lr", "bias_correction", "betas", "eps"), _ADAM_DEFAULTS),
        state=State.FLOAT32,
        compensates={"master_weights": MASTER},
    ),
    Known(
        Signature("deepspeed.ops.adam.FusedAdam", ("params", "lr", "bias_correction", "betas", "eps"), _ADAM_DEFAULTS),
    ),
    Known(
        Signature(
            "deepspeed.ops.adam.DeepSpeedCPUAdam",
            ("model_params", "lr", "bias_correction", "betas", "eps"),
            _ADAM_DEFAULTS,
        ),
        state=State.FLOAT32,
    ),
    Known(
        Signature(
            "schedulefree.AdamWScheduleFree",
            (*_ADAM[:5], "warmup_steps", "r", "weight_lr_power", "foreach"),
            {**_ADAM_DEFAULTS, "lr": 2.5e-3},
        ),
        second="betas",
        eps=True,
    ),
)  # fmt: skip
"""torchao 0.18, torch-optimi 0.3.3 (it compensates 16-bit weights unless told not to), lion-pytorch 0.2.5,
schedulefree 1.4.1, bitsandbytes, apex, DeepSpeed; ``transformers.AdamW`` ended with version 4."""

OPTIMIZERS = {known.name: known for known in (*TORCH, *OTHERS)}
WORDS = frozenset(known.signature.last for known in OPTIMIZERS.values())
BASES = WORDS | {"Optimizer"}
"""What a class of the project extends that is an optimizer."""

SPELLINGS = {
    "bitsandbytes.optim.adamw": "bitsandbytes.optim", "bitsandbytes.optim.adam": "bitsandbytes.optim",
    "transformers.optimization": "transformers", "torchao.optim.adam": "torchao.optim",
    "torchao.prototype.low_bit_optim": "torchao.optim", "deepspeed.ops.adam.fused_adam": "deepspeed.ops.adam",
    "deepspeed.ops.adam.cpu_adam": "deepspeed.ops.adam", "bitsandbytes.optim.lion": "bitsandbytes.optim",
}  # fmt: skip
"""Modules out of which a library's own package takes the class."""


def optimizer(name: str) -> Known | None:
    """What is known of an optimizer by its qualified name.

    >>> optimizer("torch.optim.adamw.AdamW").name, optimizer("torch.optim.lr_scheduler.LambdaLR")
    ('torch.optim.AdamW', None)
    """
    home, _, last = name.rpartition(".")
    home = T if home.startswith(f"{T}.") and home.count(".") == 2 else SPELLINGS.get(home, home)
    return OPTIMIZERS.get(f"{home}.{last}")


TRAINER_OPTIMIZERS = {
    "adamw_torch": f"{T}.AdamW", "adamw_torch_fused": f"{T}.AdamW", "adamw_hf": "transformers.AdamW",
    "sgd": f"{T}.SGD", "adafactor": "transformers.Adafactor", "adamw_bnb_8bit": "bitsandbytes.optim.AdamW8bit",
    "adamw_8bit": "bitsandbytes.optim.AdamW8bit", "paged_adamw_8bit": "bitsandbytes.optim.PagedAdamW8bit",
    "paged_adamw": "bitsandbytes.optim.PagedAdamW", "paged_adamw_32bit": "bitsandbytes.optim.PagedAdamW",
    "lion_32bit": "bitsandbytes.optim.Lion", "lion": "bitsandbytes.optim.Lion",
    "lion_8bit": "bitsandbytes.optim.Lion8bit", "paged_lion_32bit": "bitsandbytes.optim.PagedLion",
    "paged_lion_8bit": "bitsandbytes.optim.PagedLion8bit", "schedule_free_adamw": "schedulefree.AdamWScheduleFree",
    "stable_adamw": "optimi.StableAdamW", "rmsprop": f"{T}.RMSprop", "adagrad": f"{T}.Adagrad",
}  # fmt: skip
"""What ``TrainingArguments(optim=...)`` makes (transformers 4 and 5)."""

TRAINER_DEFAULTS = {
    "learning_rate": 5e-5, "weight_decay": 0.0, "adam_beta2": 0.999, "adam_epsilon": 1e-8,
}  # fmt: skip
"""``transformers.TrainingArguments``; the configs of TRL have other learning rates of their own."""
