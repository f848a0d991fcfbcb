"""Losses of other libraries with the contract of a cross-entropy: where each takes its logits, and what it skips.

Signatures as in liger-kernel 0.8.5, cut-cross-entropy 25.1.1, segmentation-models-pytorch 0.6.0, transformers 5.14,
flash-attention 2.8, apex and fairseq 0.12. A fused loss takes the hidden state and the weight of the head instead of
logits: the weight's rows are the classes.
"""

from __future__ import annotations

from trainlint.knowledge.signature import Signature
from trainlint.record import record


@record
class Contract:
    """One loss: what it is given when it is called, by place and by name, and the parameter that says what it skips.

    ``weight`` is the place and the name of a head's weight; then the classes are its rows. ``head`` is the parameter of
    the construction that counts the classes of a loss which holds the head itself. Without a ``default`` it skips
    nothing.
    """

    name: str
    parameters: tuple[str, ...]
    logits: tuple[int, str] = (0, "input")
    target: tuple[int, str] = (1, "target")
    weight: tuple[int, str] | None = None
    head: str = ""
    sentinel: str = "ignore_index"
    default: int | None = -100

    @property
    def signature(self) -> Signature:
        """The callable by itself."""
        return Signature(self.name, self.parameters, {} if self.default is None else {self.sentinel: self.default})

    @property
    def word(self) -> str:
        """The word by which a file that uses it mentions it."""
        return self.name.removesuffix(".apply").rpartition(".")[2]

    @property
    def is_class(self) -> bool:
        """Whether what is called is an object that it makes."""
        return self.name.rpartition(".")[2][:1].isupper() and not self.name.startswith("transformers.")


_LIGER = "liger_kernel.transformers"
_SMP = "segmentation_models_pytorch.losses"
_HUGGING_FACE = "transformers.loss.loss_utils"
_SHAPED = ("classes", "log_loss", "from_logits", "smooth", "ignore_index")
_LABELS = ("logits", "labels", "vocab_size", "num_items_in_batch", "ignore_index")
_PREDICTED, _TRUE = (0, "y_pred"), (1, "y_true")

CONTRACTS = (
    Contract(
        "torch.nn.functional.linear_cross_entropy",
        ("input", "linear_weight", "target"),
        target=(2, "target"),
        weight=(1, "linear_weight"),
    ),
    Contract("torch.nn.LinearCrossEntropyLoss", ("in_features", "num_classes"), head="num_classes"),
    Contract(f"{_LIGER}.functional.liger_cross_entropy", ("input", "target", "weight", "size_average", "ignore_index")),
    Contract(
        f"{_LIGER}.functional.liger_fused_linear_cross_entropy",
        ("input", "weight", "target", "bias", "ce_weight", "ignore_index"),
        target=(2, "target"),
        weight=(1, "weight"),
    ),
    Contract(f"{_LIGER}.LigerCrossEntropyLoss", ("weight", "ignore_index"), (0, "_input")),
    Contract(
        f"{_LIGER}.LigerFusedLinearCrossEntropyLoss",
        ("ce_weight", "ignore_index"),
        (1, "_input"),
        (2, "target"),
        (0, "lin_weight"),
    ),
    Contract(
        "cut_cross_entropy.linear_cross_entropy",
        ("e", "c", "targets", "ignore_index"),
        (0, "e"),
        (2, "targets"),
        (1, "c"),
    ),
    Contract("cut_cross_entropy.LinearCrossEntropy", ("ignore_index",), (0, "e"), (2, "targets"), (1, "c")),
    Contract(
        f"{_HUGGING_FACE}.fixed_cross_entropy",
        ("source", "target", "num_items_in_batch", "ignore_index"),
        (0, "source"),
    ),
    Contract(f"{_HUGGING_FACE}.ForCausalLMLoss", _LABELS, (0, "logits"), (1, "labels")),
    Contract(f"{_HUGGING_FACE}.ForMaskedLMLoss", _LABELS, (0, "logits"), (1, "labels")),
    Contract("flash_attn.losses.cross_entropy.CrossEntropyLoss", ("ignore_index", "reduction", "label_smoothing")),
    Contract(
        "apex.contrib.xentropy.SoftmaxCrossEntropyLoss.apply",
        ("logits", "labels", "smoothing", "padding_idx", "half_to_float"),
        (0, "logits"),
        (1, "labels"),
        sentinel="padding_idx",
        default=0,
    ),
    Contract(
        "fairseq.criterions.label_smoothed_cross_entropy.label_smoothed_nll_loss",
        ("lprobs", "target", "epsilon", "ignore_index", "reduce"),
        (0, "lprobs"),
        default=None,
    ),
    Contract(f"{_SMP}.SoftCrossEntropyLoss", ("reduction", "smooth_factor", "ignore_index", "dim"), _PREDICTED, _TRUE),
)
SEGMENTING = (
    Contract(f"{_SMP}.FocalLoss", ("mode", "alpha", "gamma", "ignore_index"), _PREDICTED, _TRUE, default=None),
    Contract(f"{_SMP}.DiceLoss", ("mode", *_SHAPED), _PREDICTED, _TRUE, default=None),
    Contract(f"{_SMP}.JaccardLoss", ("mode", *_SHAPED), _PREDICTED, _TRUE, default=None),
    Contract(f"{_SMP}.LovaszLoss", ("mode", "per_image", "ignore_index"), _PREDICTED, _TRUE, default=None),
)
"""Losses whose names many projects use for their own: looked for only where something is skipped."""

CTC_CLASSES = (Signature("warpctc_pytorch.CTCLoss", ("blank", "size_average", "length_average"), {"blank": 0}),)

SPELLINGS = {
    f"{_LIGER}.cross_entropy.LigerCrossEntropyLoss": f"{_LIGER}.LigerCrossEntropyLoss",
    f"{_LIGER}.fused_linear_cross_entropy.LigerFusedLinearCrossEntropyLoss": (
        f"{_LIGER}.LigerFusedLinearCrossEntropyLoss"
    ),
    "cut_cross_entropy.linear_cross_entropy.linear_cross_entropy": "cut_cross_entropy.linear_cross_entropy",
    "cut_cross_entropy.linear_cross_entropy.LinearCrossEntropy": "cut_cross_entropy.LinearCrossEntropy",
    "fairseq.criterions.label_smoothed_nll_loss": (
        "fairseq.criterions.label_smoothed_cross_entropy.label_smoothed_nll_loss"
    ),
    **{
        f"{_SMP}.{file}.{name}": f"{_SMP}.{name}"
        for file, name in (
            ("soft_ce", "SoftCrossEntropyLoss"),
            ("focal", "FocalLoss"),
            ("dice", "DiceLoss"),
            ("jaccard", "JaccardLoss"),
            ("lovasz", "LovaszLoss"),
        )
    },
}
"""Other names of the same callables."""

WITHOUT_SENTINEL = ("torch.nn.", "torch.nn.functional.", "timm.loss.")
"""Where a loss that is not among the known ones takes no sentinel: it skips no class."""

KNOWN = {known.name: known for known in (*CONTRACTS, *SEGMENTING)}
SIGNATURES = (*(known.signature for known in KNOWN.values()), *CTC_CLASSES)
