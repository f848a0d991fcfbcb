"""torchmetrics: metrics over class indices that can skip one of them. Names as torchmetrics 1.8 spells them."""

from __future__ import annotations

from trainlint.knowledge.signature import Signature

ROOTS = ("torchmetrics", "pytorch_lightning.metrics")
NAMES = (
    "Accuracy", "Precision", "Recall", "F1Score", "FBetaScore", "Specificity", "JaccardIndex", "StatScores", "CohenKappa",
    "ConfusionMatrix", "AUROC", "AveragePrecision", "CalibrationError", "HammingDistance", "MatthewsCorrCoef",
    "PrecisionRecallCurve", "ROC", "ExactMatch", "Dice", "IoU",
)  # fmt: skip

CLASSES = tuple(f"torchmetrics.{prefix}{name}" for name in NAMES for prefix in ("", "Multiclass"))
"""Metric classes; all of them take ``num_classes`` and ``ignore_index``."""

FUNCTIONS = tuple(
    f"torchmetrics.functional.{prefix}{name}"
    for name in ("accuracy", "precision", "recall", "f1_score", "fbeta_score", "specificity", "jaccard_index", "stat_scores",
                 "confusion_matrix", "auroc", "average_precision", "calibration_error", "hamming_distance", "exact_match")
    for prefix in ("", "multiclass_")
)  # fmt: skip

SIGNATURES = (
    *(Signature(name, ("task", "threshold", "num_classes") if "Multiclass" not in name else ("num_classes", "top_k"),
                {"ignore_index": None}) for name in CLASSES),
    *(Signature(name, ("preds", "target", "num_classes"), {"ignore_index": None}) for name in FUNCTIONS),
)  # fmt: skip


def canonical(name: str) -> str:
    """The short name: ``torchmetrics.classification.accuracy.MulticlassAccuracy`` is ``torchmetrics.MulticlassAccuracy``."""
    last = name.rpartition(".")[2]
    functional = ".functional." in name
    return f"torchmetrics.functional.{last}" if functional else f"torchmetrics.{last}"
