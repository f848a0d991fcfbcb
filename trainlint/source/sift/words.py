"""The words of the tables in ``knowledge`` that files are sifted by, spelled out.

To read those tables takes longer than to sift the files of a hook. A test holds them in step.
"""

from __future__ import annotations


def _all(text: str) -> frozenset[bytes]:
    return frozenset(text.encode().split())


LOSS = _all(
    """
    BCELoss BCEWithLogitsLoss CTCLoss CrossEntropyLoss ForCausalLMLoss ForMaskedLMLoss LigerCrossEntropyLoss
    LigerFusedLinearCrossEntropyLoss LinearCrossEntropy LinearCrossEntropyLoss NLLLoss NLLLoss2d SoftCrossEntropyLoss
    SoftmaxCrossEntropyLoss binary_cross_entropy binary_cross_entropy_with_logits cross_entropy ctc_loss
    fixed_cross_entropy label_smoothed_nll_loss liger_cross_entropy liger_fused_linear_cross_entropy
    linear_cross_entropy nll_loss
    """
)
SEGMENTING = _all("DiceLoss FocalLoss JaccardLoss LovaszLoss")
METRIC = _all(
    """
    AUROC Accuracy AveragePrecision CalibrationError CohenKappa ConfusionMatrix Dice ExactMatch F1Score FBetaScore
    HammingDistance IoU JaccardIndex MatthewsCorrCoef MulticlassAUROC MulticlassAccuracy MulticlassAveragePrecision
    MulticlassCalibrationError MulticlassCohenKappa MulticlassConfusionMatrix MulticlassExactMatch MulticlassF1Score
    MulticlassFBetaScore MulticlassHammingDistance MulticlassJaccardIndex MulticlassMatthewsCorrCoef
    MulticlassPrecision MulticlassPrecisionRecallCurve MulticlassROC MulticlassRecall MulticlassSpecificity
    MulticlassStatScores Precision PrecisionRecallCurve ROC Recall Specificity StatScores accuracy auroc
    average_precision calibration_error confusion_matrix exact_match f1_score fbeta_score hamming_distance
    jaccard_index multiclass_accuracy multiclass_auroc multiclass_average_precision multiclass_calibration_error
    multiclass_confusion_matrix multiclass_exact_match multiclass_f1_score multiclass_fbeta_score
    multiclass_hamming_distance multiclass_jaccard_index multiclass_precision multiclass_recall multiclass_specificity
    multiclass_stat_scores precision recall specificity stat_scores
    """
)
TRAINER = _all("SFTTrainer Seq2SeqTrainer Trainer")
DETECTOR = _all(
    """
    FastRCNNPredictor FasterRCNN KeypointRCNN MaskRCNN MaskRCNNPredictor SSDClassificationHead
    SSDLiteClassificationHead fasterrcnn_mobilenet_v3_large_320_fpn fasterrcnn_mobilenet_v3_large_fpn
    fasterrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2 keypointrcnn_resnet50_fpn maskrcnn_resnet50_fpn
    maskrcnn_resnet50_fpn_v2 ssd300_vgg16 ssdlite320_mobilenet_v3_large
    """
)
COLLATOR = _all("DataCollatorForCompletionOnlyLM DataCollatorForLanguageModeling")
SAMPLED = _all("argmax argsort generate multinomial sample topk")
OPTIMIZER = _all(
    """
    Adafactor Adagrad Adam Adam32bit Adam4bit Adam8bit AdamFp8 AdamW AdamW32bit AdamW4bit AdamW8bit AdamWFp8
    AdamWScheduleFree Adamax DeepSpeedCPUAdam FusedAdam Lion Lion32bit Lion8bit NAdam PagedAdam PagedAdam32bit
    PagedAdam8bit PagedAdamW PagedAdamW32bit PagedAdamW8bit PagedLion PagedLion32bit PagedLion8bit RAdam RMSprop SGD
    StableAdamW _AdamW
    """
)
TRACKER = _all("SaveModelCallback")
DIVERGENCE = _all("KLDivLoss kl_div")
MATCHING = _all(
    """
    HuberLoss KLDivLoss L1Loss MSELoss SmoothL1Loss huber_loss kl_div l1_loss mse_loss smooth_l1_loss
    """
)
OPERATIONS = _all(
    """
    abs absolute add addcdiv addcmul bernoulli bfloat16 bool ceil celu clamp clamp_max clamp_min clip copysign cuda
    cumprod cumsum detach div divide double dropout elu exp exp2 expand expm1 fix flatten flip float float_power floor
    floor_divide fmod frac gelu half hardtanh index_add index_copy index_fill index_put index_reduce int interpolate
    leaky_relu lerp log log10 log1p log2 log_softmax logit long masked_fill masked_scatter masked_select movedim mul
    multiply nan_to_num neg negative normalize pad permute pow reciprocal relu remainder renorm repeat reshape roll
    round rrelu rsqrt scatter scatter_add scatter_reduce selu sigmoid sign silu softmax softplus sqrt square squeeze
    sub subtract swapaxes swapdims tanh threshold tile to transpose tril triu true_divide trunc unsqueeze view
    """
)
CASTS = _all("bfloat16 bool cuda double float half int long to")
MISSPELLED = _all(
    """
    require_grad require_grads required_grad requires_gard requires_gradient requires_grads requiresgrad
    """
)
