"""Hugging Face transformers and trl: trainers whose models compute the loss themselves, from ``labels``, skipping -100."""

from __future__ import annotations

TRAINERS = frozenset(
    {"transformers.Trainer", "transformers.Seq2SeqTrainer", "transformers.trainer.Trainer", "trl.SFTTrainer"}
)
IGNORE_INDEX = -100
"""What every model of the library skips in ``labels`` (transformers 5, loss/loss_utils.py)."""

MODELS = (
    "ForCausalLM",
    "ForMaskedLM",
    "ForConditionalGeneration",
    "ForSeq2SeqLM",
    "LMHeadModel",
    "ForTokenClassification",
)
"""How the names of models end that take ``labels`` per token."""
