"""PyTorch: losses, layers, and the operations that logits and targets pass. Names as torch 2.13 spells them."""

from __future__ import annotations

from trainlint.knowledge.signature import Signature

F = "torch.nn.functional"

LOSS_FUNCTIONS = (
    Signature(
        f"{F}.cross_entropy",
        ("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"),
        {"ignore_index": -100},
    ),
    Signature(
        f"{F}.nll_loss",
        ("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction"),
        {"ignore_index": -100},
    ),
)
LOSS_CLASSES = (
    Signature(
        "torch.nn.CrossEntropyLoss",
        ("weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"),
        {"ignore_index": -100},
    ),
    Signature(
        "torch.nn.NLLLoss",
        ("weight", "size_average", "ignore_index", "reduce", "reduction"),
        {"ignore_index": -100},
    ),
    Signature(
        "torch.nn.NLLLoss2d",
        ("weight", "size_average", "ignore_index", "reduce", "reduction"),
        {"ignore_index": -100},
    ),
)
_OF_BINARY = ("weight", "size_average", "reduce", "reduction")
BINARY_FUNCTIONS = (
    Signature(f"{F}.binary_cross_entropy", ("input", "target", *_OF_BINARY)),
    Signature(f"{F}.binary_cross_entropy_with_logits", ("input", "target", *_OF_BINARY, "pos_weight")),
)
BINARY_CLASSES = (
    Signature("torch.nn.BCELoss", _OF_BINARY),
    Signature("torch.nn.BCEWithLogitsLoss", (*_OF_BINARY, "pos_weight")),
)
_OF_DIVERGENCE = ("size_average", "reduce", "reduction", "log_target")
DIVERGENCE_FUNCTION = Signature(
    f"{F}.kl_div", ("input", "target", *_OF_DIVERGENCE), {"reduction": "mean", "log_target": False}
)
DIVERGENCE_CLASS = Signature("torch.nn.KLDivLoss", _OF_DIVERGENCE, {"reduction": "mean", "log_target": False})
_MATCHING = (
    ("mse_loss", "MSELoss"),
    ("l1_loss", "L1Loss"),
    ("smooth_l1_loss", "SmoothL1Loss"),
    ("huber_loss", "HuberLoss"),
)
MATCHING_FUNCTIONS = (DIVERGENCE_FUNCTION.name, *(f"{F}.{name}" for name, _ in _MATCHING))
MATCHING_CLASSES = (DIVERGENCE_CLASS.name, *(f"torch.nn.{name}" for _, name in _MATCHING))
"""Losses that are zero where the two tensors are the same."""

CTC_FUNCTIONS = (
    Signature(
        f"{F}.ctc_loss",
        ("log_probs", "targets", "input_lengths", "target_lengths", "blank", "reduction", "zero_infinity"),
        {"blank": 0},
    ),
)
CTC_CLASSES = (Signature("torch.nn.CTCLoss", ("blank", "reduction", "zero_infinity"), {"blank": 0}),)

LAST, CHANNELS = -1, 1
"""Where a layer puts its classes: the last dimension, or the channels of a picture."""

LAYERS: dict[str, tuple[str, int]] = {
    "torch.nn.Linear": ("out_features", LAST),
    "torch.nn.LazyLinear": ("out_features", LAST),
    "torch.nn.Bilinear": ("out_features", LAST),
    **{f"torch.nn.{lazy}Conv{n}d": ("out_channels", CHANNELS) for n in (1, 2, 3) for lazy in ("", "Lazy")},
    **{f"torch.nn.{lazy}ConvTranspose{n}d": ("out_channels", CHANNELS) for n in (1, 2, 3) for lazy in ("", "Lazy")},
}
"""A layer that can make logits: the parameter that says how many classes, and where it puts them."""

_CONV = (
    "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias", "padding_mode", "device", "dtype",
)  # fmt: skip
_DECONV = (
    "out_channels", "kernel_size", "stride", "padding", "output_padding", "groups", "bias", "dilation", "padding_mode",
    "device", "dtype",
)  # fmt: skip
_EMBEDDING = (
    "num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse",
    "_weight", "_freeze", "device", "dtype",
)  # fmt: skip
LAYER_SIGNATURES = (
    Signature("torch.nn.Linear", ("in_features", "out_features", "bias", "device", "dtype")),
    Signature("torch.nn.LazyLinear", ("out_features", "bias", "device", "dtype")),
    Signature("torch.nn.Bilinear", ("in1_features", "in2_features", "out_features", "bias", "device", "dtype")),
    *(Signature(f"torch.nn.Conv{n}d", ("in_channels", *_CONV)) for n in (1, 2, 3)),
    *(Signature(f"torch.nn.LazyConv{n}d", _CONV) for n in (1, 2, 3)),
    *(Signature(f"torch.nn.ConvTranspose{n}d", ("in_channels", *_DECONV)) for n in (1, 2, 3)),
    *(Signature(f"torch.nn.LazyConvTranspose{n}d", _DECONV) for n in (1, 2, 3)),
    Signature("torch.nn.Embedding", _EMBEDDING),
)

KEEPS_CLASSES = frozenset(
    f"torch.nn.{name}"
    for name in (
        "LogSoftmax", "Softmax", "Softmax2d", "Identity", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d",
        "AlphaDropout", "ReLU", "LeakyReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "LogSigmoid", "ELU", "SELU", "Hardtanh",
        "Softplus", "LayerNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d",
        "GroupNorm", "SyncBatchNorm", "RMSNorm", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d", "MaxPool1d",
        "MaxPool2d", "AvgPool1d", "AvgPool2d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "ZeroPad2d",
    )
)  # fmt: skip
"""Modules whose output has the classes of their input."""

WRAPPERS = frozenset(
    {
        "torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.DistributedDataParallel",
        "torch.compile", "torch.jit.script", "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "copy.deepcopy",
        "torch.nn.utils.weight_norm", "torch.nn.utils.parametrizations.weight_norm", "torch.nn.utils.spectral_norm",
        "torch.distributed.fsdp.FullyShardedDataParallel", "torch.fx.symbolic_trace",
        "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_shard", "torch.distributed._composable.fsdp.fully_shard",
        "torch.distributed.tensor.parallel.parallelize_module",
    }
)  # fmt: skip
"""Callables that hand back their first argument, dressed."""

PREPARING = frozenset(
    {
        ("accelerate.Accelerator", "prepare"), ("accelerate.Accelerator", "prepare_model"),
        ("accelerate.Accelerator", "unwrap_model"), ("lightning.Fabric", "setup"),
        ("lightning.Fabric", "setup_module"), ("lightning.fabric.Fabric", "setup"),
    }
)  # fmt: skip
"""Methods that hand back what they are given, dressed, in its order."""

CASTING = frozenset({"apex.amp.initialize"})
"""Functions that hand back a model, or a model and its optimizer, as they are given by place."""

INITIALISING = frozenset({"deepspeed.initialize"})
"""Functions that hand back a tuple of which the model, passed by its name, is the first."""

SELF_METHODS = frozenset(
    {
        "to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type", "train", "eval", "requires_grad_", "apply",
        "share_memory", "compile", "to_empty", "xpu", "npu",
    }
)  # fmt: skip
"""Methods of a module that return the module."""

KEEPING_METHODS = frozenset(
    {
        "float", "double", "half", "bfloat16", "to", "type", "type_as", "cpu", "cuda", "detach", "detach_", "clone",
        "contiguous", "requires_grad_", "log_softmax", "softmax", "relu", "relu_", "tanh", "sigmoid", "exp", "log",
        "add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_", "clamp", "clamp_", "clip", "int", "long",
        "pin_memory", "expand", "expand_as", "masked_fill", "masked_fill_", "roll", "flip", "abs", "neg", "view_as",
        "reshape_as", "squeeze", "squeeze_", "unsqueeze", "unsqueeze_", "nan_to_num", "repeat_interleave",
        "index_select", "gather", "masked_select", "mean", "sum", "numpy",
    }
)  # fmt: skip
"""Tensor methods after which the class dimension is where it was, as wide as it was."""

KEEPING_FUNCTIONS = frozenset(
    f"{F}.{name}"
    for name in (
        "log_softmax", "softmax", "dropout", "relu", "gelu", "silu", "tanh", "sigmoid", "leaky_relu", "layer_norm",
        "normalize", "interpolate", "upsample", "elu", "hardtanh", "softplus", "logsigmoid", "avg_pool2d", "max_pool2d",
        "adaptive_avg_pool2d",
    )
) | frozenset(
    f"torch.{name}"
    for name in (
        "softmax", "sigmoid", "tanh", "relu", "exp", "log", "clamp", "flip", "roll", "squeeze", "unsqueeze", "dropout",
        "masked_fill", "nan_to_num", "abs", "add", "sub", "mul", "div", "masked_select", "index_select", "detach",
    )
)  # fmt: skip
"""Functions of a tensor after which the class dimension is where it was, as wide as it was."""

SHARED = frozenset(f"{F}.{name}" for name in ("log_softmax", "ctc_loss"))
"""What torch also offers without ``nn.functional``."""

SAMPLING = frozenset({"argmax", "multinomial", "topk", "max", "sample", "generate", "argsort"})
"""Calls whose result is a predicted class: what is compared with it is looked for in the output."""

SIGNATURES = (
    *LOSS_FUNCTIONS, *LOSS_CLASSES, *BINARY_FUNCTIONS, *BINARY_CLASSES, *CTC_FUNCTIONS, *CTC_CLASSES,
    DIVERGENCE_FUNCTION, DIVERGENCE_CLASS, *LAYER_SIGNATURES,
)  # fmt: skip
