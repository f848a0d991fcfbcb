"""Number formats: how code spells them, what casts a tensor, and what changes the format in which PyTorch computes.

What mixed precision computes in 32 bits is the list of torch 2.13 (``autocast_mode.h``), measured anew in the tests.
"""

from __future__ import annotations

CASTING = frozenset({"float", "double", "half", "bfloat16", "to", "type", "type_as"})
"""Methods of tensors that cast, or may."""

PROMOTED = frozenset(
    {
        "softmax", "log_softmax", "softplus", "exp", "expm1", "log", "log1p", "log2", "log10", "pow", "norm", "sum",
        "prod", "cumsum", "cumprod", "logsumexp", "layer_norm", "group_norm", "normalize", "cosine_similarity", "cdist",
        "dist", "rsqrt", "reciprocal", "renorm", "LayerNorm", "GroupNorm", "Softmax", "LogSoftmax", "Softplus",
    }
)  # fmt: skip
"""What mixed precision computes in 32 bits on CUDA; a part of it on the CPU too."""

MIXING = frozenset({"add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_"})
"""Methods and functions of two tensors: the wider format wins."""

AUTOCAST: dict[str, str] = {
    "torch.autocast": "",
    "torch.amp.autocast": "",
    "torch.amp.autocast_mode.autocast": "",
    "torch.autocast_mode.autocast": "",
    "torch.cuda.amp.autocast": "cuda",
    "torch.cuda.amp.autocast_mode.autocast": "cuda",
    "torch.cpu.amp.autocast": "cpu",
}
"""Regions of mixed precision, and the device that the name itself says; else the first argument does."""

NO_REGION = frozenset({"contextlib.nullcontext", "contextlib.suppress", "contextlib.ExitStack"})
REGIONS = frozenset(AUTOCAST) | NO_REGION

DEFAULT_FORMATS = {"cuda": "float16", "cpu": "bfloat16", "xpu": "float16", "mps": "float16", "hpu": "bfloat16"}
"""What a region casts to when nothing is said."""

SHARDERS: dict[str, str] = {
    "torch.distributed.fsdp.fully_shard": "mp_policy",
    "torch.distributed._composable.fsdp.fully_shard": "mp_policy",
    "torch.distributed.fsdp.FullyShardedDataParallel": "mixed_precision",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel": "mixed_precision",
}
"""What shards a model, and the argument that says in which format it computes: without autocast."""

POLICIES: dict[str, tuple[str, ...]] = {
    "torch.distributed.fsdp.MixedPrecisionPolicy": ("param_dtype", "reduce_dtype", "output_dtype"),
    "torch.distributed._composable.fsdp.MixedPrecisionPolicy": ("param_dtype", "reduce_dtype", "output_dtype"),
    "torch.distributed.fsdp.MixedPrecision": ("param_dtype", "reduce_dtype", "buffer_dtype"),
    "torch.distributed.fsdp.fully_sharded_data_parallel.MixedPrecision": (
        "param_dtype", "reduce_dtype", "buffer_dtype",
    ),
}  # fmt: skip
"""Policies of sharded models, and their parameters by place."""

WORDS = (
    "bfloat16",
    "float16",
    "bf16",
    "fp16",
    ".half",
    "autocast",
    "HalfTensor",
    "16-true",
    "16-mixed",
    "from_pretrained",
)
"""How code mentions 16 bits, or loads what may have them: where none of these stands, all is computed in 32."""

WIDE = ("float64", ".double")
"""How code mentions 64 bits."""

FRAMEWORKS = ("Accelerator", "Fabric", "TrainingArguments")
"""Classes of libraries that cast, or open regions, around code of the project."""
