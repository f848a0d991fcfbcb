"""What libraries select models, stop training or lower the learning rate by, and which way they do it by default."""

from __future__ import annotations

from trainlint.knowledge.signature import Signature
from trainlint.value import Better

LIGHTNING = ("lightning", "pytorch_lightning")
"""The packages under which Lightning is imported."""

CHECKPOINT = Signature(
    "lightning.pytorch.callbacks.ModelCheckpoint",
    ("dirpath", "filename", "monitor", "verbose", "save_last", "save_top_k"),
    {"monitor": None, "save_last": None, "save_top_k": 1, "mode": "min"},
)
"""The places that all versions since 1.3 share; what follows them is given by name."""

STOPPING = Signature(
    "lightning.pytorch.callbacks.EarlyStopping",
    ("monitor", "min_delta", "patience", "verbose", "mode"),
    {"mode": "min"},
)
LIGHTNING_CALLBACKS = (CHECKPOINT, STOPPING)

AUTO_BEFORE = (1, 3)
"""Before this version ``mode`` was "auto" by default: the name of the metric decided."""

AUTO_ONLY = ("filepath", "prefix")
"""Parameters that went with it: who passes one uses such a version."""


def by_name(monitor: str) -> Better:
    """What Lightning's ``mode="auto"`` made of a metric's name (1.2, callbacks/model_checkpoint.py).

    >>> by_name("val_acc").value, by_name("val_f1").value
    ('higher', 'lower')
    """
    return Better.HIGHER if "acc" in monitor or monitor.startswith("fmeasure") else Better.LOWER


TRACKERS = Signature("fastai.callback.tracker.SaveModelCallback", ("monitor", "comp"), {"monitor": "valid_loss"})


def by_fastai(monitor: str) -> Better:
    """What fastai makes of a metric's name where ``comp`` is not given (2.8, callback/tracker.py)."""
    return Better.LOWER if "loss" in monitor or "error" in monitor else Better.HIGHER


ARGUMENTS = frozenset(
    {
        "TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig", "DPOConfig", "KTOConfig", "ORPOConfig",
        "CPOConfig", "RewardConfig", "GKDConfig", "SentenceTransformerTrainingArguments",
        "CrossEncoderTrainingArguments", "SparseEncoderTrainingArguments", "ORTTrainingArguments",
        "GaudiTrainingArguments", "AdapterTrainingArguments",
    }
)  # fmt: skip
"""Classes that take ``load_best_model_at_end``, ``metric_for_best_model`` and ``greater_is_better``."""

ARGUMENT_ROOTS = ("transformers", "trl", "sentence_transformers", "optimum", "adapters")

SUFFIX_SINCE = (4, 42)
"""Since this version every name that ends in "loss" is better lower; before, "loss" and "eval_loss" alone."""


def by_transformers(metric: str) -> Better:
    """What ``greater_is_better`` is where it is not given (transformers 5.24, training_args.py).

    >>> by_transformers("eval_wer").value, by_transformers("dev_loss").value
    ('higher', 'lower')
    """
    return Better.LOWER if metric.endswith("loss") else Better.HIGHER


def by_old_transformers(metric: str) -> Better:
    """The same before ``SUFFIX_SINCE``.

    >>> by_old_transformers("eval_loss").value, by_old_transformers("dev_loss").value
    ('lower', 'higher')
    """
    return Better.LOWER if metric in ("loss", "eval_loss") else Better.HIGHER


PLATEAU = Signature("torch.optim.lr_scheduler.ReduceLROnPlateau", ("optimizer", "mode"), {"mode": "min"})

IGNITE = {
    "ignite.handlers.Checkpoint": Signature(
        "ignite.handlers.Checkpoint", ("to_save", "save_handler", "filename_prefix", "score_function", "score_name")
    ),
    "ignite.handlers.ModelCheckpoint": Signature(
        "ignite.handlers.ModelCheckpoint", ("dirname", "filename_prefix", "score_function", "score_name")
    ),
    "ignite.handlers.EarlyStopping": Signature(
        "ignite.handlers.EarlyStopping", ("patience", "score_function", "trainer")
    ),
}
"""Handlers that take the highest value of a function for the best."""
