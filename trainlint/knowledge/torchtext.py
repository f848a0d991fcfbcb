"""torchtext: the fields that number the words of a text, as torchtext 0.8 spells them, since 0.4 and until 0.11."""

from __future__ import annotations

from trainlint.knowledge.signature import Signature

_PARAMETERS = (
    "sequential", "use_vocab", "init_token", "eos_token", "fix_length", "dtype", "preprocessing", "postprocessing",
    "lower", "tokenize", "tokenizer_language", "include_lengths", "batch_first", "pad_token", "unk_token", "pad_first",
    "truncate_first", "stop_words", "is_target",
)  # fmt: skip

SIGNATURES = tuple(
    Signature(f"{home}.Field", _PARAMETERS, {"pad_token": "<pad>", "unk_token": "<unk>"})
    for home in ("torchtext.data", "torchtext.data.field", "torchtext.legacy.data", "torchtext.legacy.data.field")
)
