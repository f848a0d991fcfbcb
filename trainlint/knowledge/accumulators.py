"""Losses that never hold all logits, and add up the gradient of the head's weight piece by piece.

As in liger-kernel 0.8.2 (``accum_dtype`` since 0.6.2; before, always the format of the weight) and cut-cross-entropy
25.5 (``accum_c_fp32`` since 25.3). The chunks of torch's own ``linear_cross_entropy`` are added up in float32.
"""

from __future__ import annotations

from trainlint.record import record


@record
class Accumulator:
    """One loss: its parameters, which of them says the format of the sum, and where it is given the weight.

    ``is_switch`` says that the parameter is on or off, ``exempting`` are parameters by which another implementation is
    chosen, unless they have one of ``defaults``.
    """

    name: str
    parameters: tuple[str, ...]
    parameter: str
    weight: tuple[int, str]
    is_switch: bool = False
    exempting: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The word by which a file that uses it mentions it."""
        return self.name.rpartition(".")[2]

    @property
    def is_class(self) -> bool:
        """Whether what is called is an object that it makes."""
        return self.word[:1].isupper()


_LIGER = "liger_kernel.transformers"
_FIRST = ("ignore_index", "softcap", "reduction", "shift")
_LAST = ("filter_eps", "accum_e_fp32", "accum_c_fp32", "filter_e_grad", "filter_c_grad", "impl")

ACCUMULATORS = (
    Accumulator(
        f"{_LIGER}.LigerFusedLinearCrossEntropyLoss",
        (
            "ce_weight",
            "ignore_index",
            "lse_square_scale",
            "label_smoothing",
            "reduction",
            "softcap",
            "return_z_loss",
            "accum_dtype",
            "use_token_scaling",
            "return_token_accuracy",
            "return_predicted_tokens",
        ),
        "accum_dtype",
        (0, "lin_weight"),
    ),
    Accumulator(
        f"{_LIGER}.functional.liger_fused_linear_cross_entropy",
        (
            "input",
            "weight",
            "target",
            "bias",
            "ce_weight",
            "ignore_index",
            "lse_square_scale",
            "label_smoothing",
            "reduction",
            "softcap",
            "return_z_loss",
            "accum_dtype",
        ),
        "accum_dtype",
        (1, "weight"),
    ),
    Accumulator(
        "cut_cross_entropy.linear_cross_entropy",
        ("e", "c", "targets", "bias", *_FIRST, "return_lse", *_LAST),
        "accum_c_fp32",
        (1, "c"),
        is_switch=True,
        exempting=("impl",),
        defaults=("cce",),
    ),
    Accumulator(
        "cut_cross_entropy.LinearCrossEntropy",
        (*_FIRST, *_LAST, "return_lse"),
        "accum_c_fp32",
        (1, "c"),
        is_switch=True,
        exempting=("impl",),
        defaults=("cce",),
    ),
)

KNOWN = {known.name: known for known in ACCUMULATORS}
