"""Published checkpoints: in which format their weights are stored. Facts of their pages and of reports, no guesses.

Only what is well known is here; a checkpoint that is not named is not known.
"""

from __future__ import annotations

from trainlint.regex import regex

SHORT = (
    (regex(r"meta-llama/Llama-2-\d+b"), "float16"),
    (regex(r"meta-llama/(?:Meta-Llama-3-|Llama-3\.[123]-)\d+B"), "bfloat16"),
    (regex(r"Qwen/Qwen(?:2\.5|3|3\.5)-[\d.]+B(?:-Instruct|-Base)?$"), "bfloat16"),
    (regex(r"mistralai/Mistral-7B-(?:Instruct-)?v0\.[123]$"), "bfloat16"),
)  # fmt: skip
"""Stored in 16 bits: `torch_dtype` in their own config.json."""

LONG = (
    regex(r"(?:google-bert/)?bert-(?:base|large)-(?:un)?cased$"),
    regex(r"(?:FacebookAI/)?(?:xlm-)?roberta-(?:base|large)$"),
    regex(r"(?:openai-community/)?gpt2(?:-medium|-large|-xl)?$"),
    regex(r"(?:distilbert/)?distilbert-base-(?:un)?cased$"),
    regex(r"(?:google-t5/)?t5-(?:small|base|large)$"),
    regex(r"facebook/bart-(?:base|large)$"),
)
"""Stored in float32."""


def stored(name: str) -> str | None:
    """The format in which a published checkpoint is stored; None where that is not known.

    >>> stored("meta-llama/Llama-2-7b-hf"), stored("bert-base-uncased"), stored("my-org/encoder")
    ('float16', 'float32', None)
    """
    if any(pattern.match(name) for pattern in LONG):
        return "float32"
    return next((dtype for pattern, dtype in SHORT if pattern.match(name)), None)
