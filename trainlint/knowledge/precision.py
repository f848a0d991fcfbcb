"""Formats of numbers by their names, and what libraries do with the format in which a model is stored."""

from __future__ import annotations

FORMATS = {
    "float64": "float64", "double": "float64", "float32": "float32", "float": "float32", "float16": "float16",
    "half": "float16", "bfloat16": "bfloat16",
}  # fmt: skip
"""What follows ``torch.``, and the format that it stands for."""

TENSOR_TYPES = {
    "DoubleTensor": "float64",
    "FloatTensor": "float32",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
}
"""What ``set_default_tensor_type`` and ``type`` take."""

SHORT_NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64"}
"""Formats as projects abbreviate them."""

CASTS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}
"""Methods of a module that store its parameters in one format."""

OPEN_CASTS = frozenset({"to", "type", "_apply", "to_empty"})
"""Methods whose arguments say to which format, if to any."""

DTYPE_KEYWORDS = ("torch_dtype", "dtype")
"""How a load is told in which format to keep the weights."""

LOADS = frozenset(
    {"from_pretrained", "from_config", "_from_config", "from_single_file", "from_name", "load_from_checkpoint"}
)
"""Methods of a library that hand back a model."""

QUANTISING = frozenset({"load_in_8bit", "load_in_4bit", "quantization_config"})
"""Arguments of a load after which the weights are no floating-point numbers."""

ADAPTING = frozenset({"get_peft_model", "inject_adapter_in_model", "PeftModel", "get_peft_model_state_dict"})
ADAPTERS = frozenset({"add_adapter", "load_lora_weights", "load_adapter", "inject_adapter"})
"""Methods that put adapters into a model: in the format of their base or in float32, as the version of PEFT has it."""

KBIT = frozenset({"prepare_model_for_kbit_training", "prepare_model_for_int8_training"})
"""PEFT: what stays short is frozen, and what is trained is made float32."""

TRUE_PRECISIONS = {"bf16-true": "bfloat16", "16-true": "float16", "64-true": "float64", "32-true": "float32"}
"""Lightning: the weights themselves are stored in the format. Any other ``precision`` leaves them as they are."""

DEFAULT_SETTERS = frozenset({"set_default_dtype", "set_default_tensor_type", "local_torch_dtype", "default_dtype"})
"""Functions, and contexts that projects call the same, after which new parameters have another format."""

TRAINED_CASTS = frozenset({"cast_training_params"})
"""diffusers: functions that cast what is trained, and leave what is frozen."""

PREPARERS = frozenset({"setup", "setup_module"})
"""Methods of an engine of Lightning that take a model and may cast it."""

INITIALISING = frozenset({"init_module", "init_tensor"})
"""Contexts of an engine of Lightning in which new parameters have the format of its precision."""

SHORT_WORDS = (
    "bfloat16", "half", "float16", "bf16", "fp16", "HalfTensor", "BFloat16Tensor", "16-true", "torch_dtype",
    "getattr(torch", "from_pretrained",
)  # fmt: skip
"""A project without any of these stores no weights in 16 bits: it names no such format, and loads nothing as it is."""
