"""torchmetrics: metrics over class indices that can skip one of them. Names and places as torchmetrics 1.9 has them.

Parameters are listed up to ``ignore_index``, the one that decides; what follows it is of no interest.
"""

from __future__ import annotations

from trainlint.knowledge.signature import Signature

ROOTS = ("torchmetrics", "pytorch_lightning.metrics")

_COUNTING = ("Accuracy", "Precision", "Recall", "F1Score", "Specificity", "StatScores", "HammingDistance")
_COUNTING_FUNCTIONS = (
    "accuracy", "precision", "recall", "f1_score", "specificity", "stat_scores", "hamming_distance",
)  # fmt: skip

_BY_TASK = {
    **dict.fromkeys(_COUNTING, "task threshold num_classes num_labels average multidim_average top_k ignore_index"),
    "FBetaScore": "task beta threshold num_classes num_labels average multidim_average top_k ignore_index",
    "JaccardIndex": "task threshold num_classes num_labels average ignore_index",
    "CohenKappa": "task threshold num_classes weights ignore_index",
    "ConfusionMatrix": "task threshold num_classes num_labels normalize ignore_index",
    "AUROC": "task thresholds num_classes num_labels average max_fpr ignore_index",
    "AveragePrecision": "task thresholds num_classes num_labels average ignore_index",
    "CalibrationError": "task n_bins norm num_classes ignore_index",
    "MatthewsCorrCoef": "task threshold num_classes num_labels ignore_index",
    "PrecisionRecallCurve": "task thresholds num_classes num_labels ignore_index",
    "ROC": "task thresholds num_classes num_labels ignore_index",
    "ExactMatch": "task threshold num_classes num_labels multidim_average ignore_index",
}
_MULTICLASS = {
    **dict.fromkeys(_COUNTING, "num_classes top_k average multidim_average ignore_index"),
    "FBetaScore": "beta num_classes top_k average multidim_average ignore_index",
    "JaccardIndex": "num_classes average ignore_index",
    "CohenKappa": "num_classes ignore_index",
    "ConfusionMatrix": "num_classes ignore_index",
    "AUROC": "num_classes average thresholds ignore_index",
    "AveragePrecision": "num_classes average thresholds ignore_index",
    "CalibrationError": "num_classes n_bins norm ignore_index",
    "MatthewsCorrCoef": "num_classes ignore_index",
    "PrecisionRecallCurve": "num_classes thresholds average ignore_index",
    "ROC": "num_classes thresholds average ignore_index",
    "ExactMatch": "num_classes multidim_average ignore_index",
}
_FUNCTIONS_BY_TASK = {
    **dict.fromkeys(_COUNTING_FUNCTIONS, _BY_TASK["Accuracy"]),
    "fbeta_score": _BY_TASK["FBetaScore"],
    "jaccard_index": _BY_TASK["JaccardIndex"],
    "confusion_matrix": _BY_TASK["ConfusionMatrix"],
    "auroc": _BY_TASK["AUROC"],
    "average_precision": _BY_TASK["AveragePrecision"],
    "calibration_error": _BY_TASK["CalibrationError"],
    "exact_match": "task num_classes num_labels threshold multidim_average ignore_index",
}
_MULTICLASS_FUNCTIONS = {
    **dict.fromkeys(_COUNTING_FUNCTIONS, "num_classes average top_k multidim_average ignore_index"),
    "fbeta_score": "beta num_classes average top_k multidim_average ignore_index",
    "jaccard_index": "num_classes average ignore_index",
    "confusion_matrix": "num_classes normalize ignore_index",
    "auroc": "num_classes average thresholds ignore_index",
    "average_precision": "num_classes average thresholds ignore_index",
    "calibration_error": "num_classes n_bins norm ignore_index",
    "exact_match": "num_classes multidim_average ignore_index",
}
GONE = {
    "torchmetrics.Dice": "zero_division num_classes threshold average mdmc_average ignore_index",
    "torchmetrics.IoU": "num_classes ignore_index",
}
"""Classes of older versions, by name: Dice as torchmetrics 1.4 has it, IoU as 0.5."""

_CLASSES = {
    **{f"torchmetrics.{name}": parameters for name, parameters in _BY_TASK.items()},
    **{f"torchmetrics.Multiclass{name}": parameters for name, parameters in _MULTICLASS.items()},
    **GONE,
}
_FUNCTIONS = {
    **{f"torchmetrics.functional.{name}": parameters for name, parameters in _FUNCTIONS_BY_TASK.items()},
    **{f"torchmetrics.functional.multiclass_{name}": known for name, known in _MULTICLASS_FUNCTIONS.items()},
}

CLASSES = tuple(_CLASSES)
"""Metric classes; all of them take ``num_classes`` and ``ignore_index``."""

FUNCTIONS = tuple(_FUNCTIONS)

SIGNATURES = (
    *(Signature(name, tuple(known.split()), {"ignore_index": None}) for name, known in _CLASSES.items()),
    *(
        Signature(name, ("preds", "target", *known.split()), {"ignore_index": None})
        for name, known in _FUNCTIONS.items()
    ),
)


def canonical(name: str) -> str:
    """The short name of a metric.

    >>> canonical("torchmetrics.classification.accuracy.MulticlassAccuracy")
    'torchmetrics.MulticlassAccuracy'
    """
    last = name.rpartition(".")[2]
    return f"torchmetrics.functional.{last}" if ".functional." in name else f"torchmetrics.{last}"
