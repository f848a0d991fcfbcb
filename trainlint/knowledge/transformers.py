"""Hugging Face transformers and trl: trainers whose models make the loss themselves, from ``labels``, skipping -100."""

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

COLLATOR = "DataCollatorForLanguageModeling"
COLLATOR_PARAMETERS = ("tokenizer", "mlm", "whole_word_mask", "mlm_probability")
"""With ``mlm=False`` it copies the ids to ``labels`` and puts -100 wherever a label equals the padding token
(transformers 5.24, data/data_collator.py). TRL's class of the same name masks by position."""

COMPLETIONS = "DataCollatorForCompletionOnlyLM"
COMPLETIONS_PARAMETERS = ("response_template", "instruction_template", "tokenizer", "mlm")
"""TRL before 0.20: derived from the collator above, with ``mlm=False`` unless told otherwise."""

PADDED = ("bert", "electra", "t5", "bart", "pegasus", "marian", "opt-", "bloom", "gemma", "qwen", "phi-3", "phi-4")
"""Words in the names of checkpoints whose tokenizer brings a padding token of its own."""

UNPADDED = ("gpt2", "gpt-neo", "gpt-j", "pythia", "llama-2", "llama-3", "mistralai/", "falcon", "codegen", "dialogpt")
"""Words in the names of checkpoints whose tokenizer brings none."""

WITHOUT_END_OPTION = ("gpt2", "gpt-neo", "gpt-j", "codegen", "pythia", "phi-1", "phi-2", "dialogpt")
"""Words in the names of checkpoints whose tokenizer (byte-level BPE of GPT-2's kind) takes ``add_eos_token`` and adds
nothing."""

ENDED = ("t5", "bart", "bert", "pegasus", "marian", "electra", "byt5", "mbart", "nllb")
"""Words in the names of checkpoints whose tokenizer puts an end token behind each text by itself."""

STOPS = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>", "<|eom_id|>", "<|end_of_turn|>")
"""What ends a turn of a chat where ``eos_token`` may be another token."""


KEEPS_ROWS = frozenset(
    {
        "shuffle", "select", "filter", "with_format", "train_test_split", "remove_columns", "rename_column", "shard",
        "with_transform", "flatten_indices", "sort", "take", "skip", "cast_column",
    }
)  # fmt: skip
"""Methods of a library's dataset after which its rows are what they were."""


UNSHIFTED = (
    "Bart", "MBart", "Pegasus", "Blenderbot", "Marian", "PLBart", "Speech2Text2", "TrOCR", "ProphetNet", "Mvp",
    "Whisper", "XLNet", "XLMWith",
)  # fmt: skip
"""Models whose names say causal and whose loss takes labels as they are."""


def shifts_labels(name: str) -> bool:
    """Whether a model of the library moves ``labels`` one step ahead itself.

    >>> [shifts_labels(f"transformers.{name}") for name in ("GPT2LMHeadModel", "BartForCausalLM", "BertForMaskedLM")]
    [True, False, False]
    """
    last = name.rpartition(".")[2]
    causal = last.endswith(("ForCausalLM", "LMHeadModel"))
    return name.startswith("transformers.") and causal and not any(word in last for word in UNSHIFTED)


def is_language_collator(name: str) -> bool:
    """Whether a qualified name is that of the library's collator for language models.

    >>> [is_language_collator(f"{library}.DataCollatorForLanguageModeling") for library in ("transformers", "trl")]
    [True, False]
    """
    return name.startswith("transformers.") and name.rpartition(".")[2] == COLLATOR


def is_completion_collator(name: str) -> bool:
    """Whether a qualified name is that of TRL's collator for completions."""
    return name.startswith("trl.") and name.rpartition(".")[2] == COMPLETIONS
