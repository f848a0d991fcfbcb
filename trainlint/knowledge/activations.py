"""What turns scores into probabilities or their logarithms: by qualified name, the word that a reader knows it by."""

from __future__ import annotations

FUNCTIONS: dict[str, str] = {
    **{f"torch.{word}": word for word in ("softmax", "log_softmax", "sigmoid", "log", "exp")},
    **{f"torch.nn.functional.{word}": word for word in ("softmax", "log_softmax", "sigmoid", "logsigmoid")},
    **{f"torch.special.{word}": word for word in ("softmax", "log_softmax")},
    "torch.special.expit": "sigmoid",
}
METHODS = ("softmax", "log_softmax", "sigmoid", "log", "exp")
"""Methods of tensors that are activations."""

MODULES: dict[str, str] = {
    "torch.nn.Softmax": "softmax",
    "torch.nn.Softmax2d": "softmax",
    "torch.nn.LogSoftmax": "log_softmax",
    "torch.nn.Sigmoid": "sigmoid",
    "torch.nn.LogSigmoid": "logsigmoid",
}
SAME_METHODS = frozenset(
    {
        "float", "double", "half", "bfloat16", "to", "type", "type_as", "cpu", "cuda", "detach", "clone", "contiguous",
        "pin_memory", "expand", "expand_as", "view_as", "reshape_as", "squeeze", "unsqueeze", "index_select",
        "masked_select", "repeat_interleave", "flip", "numpy",
    }
)  # fmt: skip
"""Methods that copy, cast or move numbers, and leave each what it was."""

SAME_FUNCTIONS = frozenset(
    f"torch.{name}" for name in ("squeeze", "unsqueeze", "flip", "masked_select", "index_select", "detach")
)
SAME_MODULES = frozenset({"torch.nn.Identity"})
BOUNDING = frozenset({"clamp", "clip", "nan_to_num"})
"""Operations that keep a probability a probability; of a raw score they may make one."""
