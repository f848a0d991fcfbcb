"""What changes nothing by itself: operations that make a new tensor, and what is known to be a tensor or a module."""

from __future__ import annotations

from trainlint.knowledge.torch import F

IN_PLACE_TWINS = frozenset(
    {
        "abs", "absolute", "add", "addcdiv", "addcmul", "bernoulli", "ceil", "clamp", "clamp_max", "clamp_min", "clip",
        "copysign", "cumprod", "cumsum", "detach", "div", "divide", "exp", "exp2", "expm1", "fix", "float_power",
        "floor", "floor_divide", "fmod", "frac", "index_add", "index_copy", "index_fill", "index_put", "index_reduce",
        "lerp", "log", "log10", "log1p", "log2", "logit", "masked_fill", "masked_scatter", "mul", "multiply",
        "nan_to_num", "neg", "negative", "pow", "reciprocal", "relu", "remainder", "renorm", "round", "rsqrt",
        "scatter", "scatter_add", "scatter_reduce", "sigmoid", "sign", "sqrt", "square", "squeeze", "sub", "subtract",
        "swapaxes", "swapdims", "tanh", "transpose", "tril", "triu", "true_divide", "trunc", "unsqueeze",
    }
)  # fmt: skip
"""Methods of a tensor that make a new one, beside which there is one with ``_`` that changes the tensor itself."""

NEW_TENSORS = frozenset(
    {
        "bfloat16", "bool", "cuda", "double", "expand", "flatten", "flip", "float", "half", "int",
        "long", "masked_select", "movedim", "permute", "repeat", "reshape", "roll", "softmax", "tile", "to", "view",
    }
)  # fmt: skip
"""Methods of a tensor that are documented to return another one, and that read like an order."""

CASTS = frozenset({"bfloat16", "bool", "cuda", "double", "float", "half", "int", "long", "to"})
"""Those of them that modules have too, which then change themselves."""

METHODS = IN_PLACE_TWINS | NEW_TENSORS

FUNCTIONS = frozenset(
    {
        *(f"torch.{name}" for name in IN_PLACE_TWINS - {"bernoulli"}),
        *(f"torch.{name}" for name in ("flatten", "flip", "masked_select", "permute", "reshape", "roll", "softmax")),
        *(
            f"{F}.{name}"
            for name in (
                "celu", "dropout", "elu", "gelu", "hardtanh", "interpolate", "leaky_relu", "log_softmax", "normalize",
                "pad", "relu", "rrelu", "selu", "sigmoid", "silu", "softmax", "softplus", "tanh", "threshold",
            )
        ),
    }
)  # fmt: skip
"""Functions that make a new tensor out of their first argument."""

IN_PLACE_FUNCTIONS = frozenset(
    {
        *(f"torch.{name}" for name in ("abs", "ceil", "clamp", "clamp_max", "clamp_min", "clip", "exp", "exp2", "expm1",
        "fix", "floor", "frac", "log", "log10", "log1p", "log2", "logit", "nan_to_num", "neg", "negative", "reciprocal",
        "relu", "round", "rsqrt", "sigmoid", "sqrt", "square", "tanh", "trunc", "detach")),
        *(f"{F}.{name}" for name in ("celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold")),
    }
)  # fmt: skip
"""Those of them that have a twin with ``_``."""

SWITCHES = frozenset({"out", "inplace"})
"""Arguments by which such an operation changes a tensor that it is given."""

MAKERS = frozenset(
    f"torch.{name}"
    for name in (
        "arange", "as_tensor", "empty", "empty_like", "eye", "from_numpy", "full", "full_like", "linspace", "logspace",
        "normal", "ones", "ones_like", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
        "randperm", "tensor", "zeros", "zeros_like", "Tensor", "FloatTensor", "LongTensor", "cat", "concat", "stack",
        "hstack", "vstack", "matmul", "mm", "bmm", "einsum", "cdist", "dot", "outer", "mean", "sum", "prod", "var",
        "std", "norm", "argmax", "argmin", "argsort", "multinomial", "bernoulli", "gather", "index_select",
    )
)  # fmt: skip
"""Functions that return one tensor, whatever they are given."""

TENSOR_ONLY = FUNCTIONS | frozenset(
    {
        f"{F}.{name}"
        for name in (
            "adaptive_avg_pool2d", "avg_pool2d", "batch_norm", "binary_cross_entropy", "layer_norm", "linear",
            "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv3d", "cross_entropy", "embedding", "l1_loss",
            "max_pool2d", "mse_loss", "nll_loss", "one_hot", "smooth_l1_loss", "unfold",
        )
    }
)  # fmt: skip
"""Functions whose first argument can be nothing but a tensor."""

ANSWERS = METHODS | frozenset(
    {
        "all", "any", "argmax", "argmin", "argsort", "bmm", "clone", "contiguous", "cos", "cpu", "dot", "eq", "ge",
        "gt", "index_select", "le", "log_softmax", "logsumexp", "lt", "masked_select", "matmul", "mean", "mm", "ne",
        "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "norm", "prod", "sin", "std", "sum", "t",
        "type_as", "unfold", "var", "view_as", "expand_as", "repeat_interleave", "gather", "multinomial",
        "requires_grad_",
    }
)  # fmt: skip
"""Methods of a tensor that return one tensor, called with or without arguments."""

PARTS = frozenset({"data", "grad", "T", "mT", "H", "mH", "real", "imag"})
"""Attributes of a tensor that are tensors."""

TENSORS = frozenset(
    {
        "torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor", "torch.HalfTensor",
        "torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.autograd.Variable", "torch.DoubleTensor",
        "torch.IntTensor", "torch.ByteTensor",
    }
)  # fmt: skip
"""Classes of tensors."""

MODULES = ("PreTrainedModel", "ModelMixin", "LightningModule", "MessagePassing", "FairseqEncoder", "FairseqDecoder")
"""How classes of modules end that are meant to be extended, those of ``torch.nn`` aside."""

MISSPELLED = frozenset(
    {
        "require_grad", "require_grads", "required_grad", "requires_grads", "requires_gard", "requiresgrad",
        "requires_gradient",
    }
)  # fmt: skip
"""What is written instead of ``requires_grad``, and is nothing to PyTorch."""

ZOOS = ("torchvision.models.", "timm.", "torch.hub.load", "segmentation_models_pytorch.", "open_clip.create_model")
"""How the names of libraries' functions begin whose result is a module."""

PRETRAINED = ("transformers.", "diffusers.")
"""Libraries whose models are made by ``from_pretrained``."""

NO_MODELS = ("Tokenizer", "TokenizerFast", "Processor", "Config", "FeatureExtractor", "Scheduler", "Pipeline")
"""How the classes of such a library end that are no modules."""

MEMBERS = frozenset(
    {
        "backbone", "base_model", "bert", "classifier", "decoder", "distilbert", "embeddings", "encoder", "fc",
        "features", "language_model", "layer1", "layer2", "layer3", "layer4", "model", "roberta", "text_model",
        "transformer", "vision_model", "vision_tower",
    }
)  # fmt: skip
"""Attributes of such a model that are modules."""


def is_zoo(name: str) -> bool:
    """Whether a callable of a library makes a model.

    >>> is_zoo("torchvision.models.resnet18"), is_zoo("transformers.AutoTokenizer.from_pretrained")
    (True, False)
    """
    made = name.removesuffix(".from_pretrained")
    word = made.rpartition(".")[2]
    named = any(part in word for part in ("Model", "For", "UNet")) and not word.endswith(NO_MODELS)
    return (made.startswith(PRETRAINED) and named) or name.startswith(ZOOS)
