"""What names say of a number that models are compared by: which of two values is the better model, and of what kind.

Words only. A name that says nothing, or that turns its meaning round (``neg_loss``), has no direction: silence costs
less than a wrong word.
"""

from __future__ import annotations

from trainlint.regex import regex
from trainlint.value import Better, Measure, Score


def _all(text: str) -> frozenset[str]:
    return frozenset(text.split())


LOSSES = _all("loss losses nll logloss ppl perplexity bpc bpb bpd xent crossentropy")
DISTANCES = _all(
    """error errors err errs mse mae rmse rmsle mape smape mad lpips mcd fid hd95 assd hausdorff mpjpe crps brier ece
    epe ade fde msle nmse nrmse wape mase"""
)
WORSE = _all("wer cer eer hter der ter mer minwer misclassification levenshtein")
"""Error rates of a task: they are what the task is judged by."""

HIGHER = _all(
    """acc accs accuracy accuracies f1 f1score fscore fmeasure fbeta f2 auc auroc auprc aupr rocauc prauc roc ap map
    miou iou jaccard dice bleu sacrebleu rouge rougel rougelsum meteor cider chrf bertscore ssim recall
    precision kappa qwk mcc ndcg mrr sensitivity specificity pearson pearsonr spearman spearmanr spearmanrho pck sisdr
    sdr pesq stoi uas las cindex top1 top5 prec1 prec5 acc1 acc5 mpca bacc uar"""
)
FROM_SQUARES = _all("psnr r2 r2score snr sisnr")
"""Higher is better, and a squared error says the same."""

_AMBIGUOUS = _all("per mer ter der prec hits em r2 ap las map roc precision")
"""Words that mean something else beside words of other things: ``device_map``, ``mixed_precision``."""

_OPEN = _all(
    """neg negative minus inv inverse inverted non not no delta diff difference gap ratio change improvement improve
    decrease increase drop reduction relative rank weight weights coef factor scale lr lambda alpha threshold thresh
    thr step steps iter iters iteration iterations num count counter patience time idx index id name names path file
    dir key mode fn func function list args kwargs grad accum accumulation buffer limit budget g d gen disc
    discriminator generator gan adv adversarial critic actor policy reward return returns episode q td bound tolerance
    eps std var variance"""
)
"""Words beside which the rest says nothing: a change, a count, a weight, or one side of a game."""

_UNWANTED = _all(
    """distance leakage leak forgetting missing missed fpr far frr fnr attack attacker poison poisoned backdoor bias
    disparity unlearn unlearned forget cost range uncertainty alarm alarms undetected epochs to"""
)
"""Words beside which a metric that is better higher is not wanted high: ``dice_distance``, ``fpr_at_95_recall``."""

_REST = regex(r"(?<![A-Za-z0-9])1-[A-Za-z]")
"""What is left of 1: ``val_1-acc``."""

_SPLITS = _all(
    """val valid validation dev test eval train training best avg average mean total epoch running current cur overall
    global macro micro weighted batch new last final min max lowest highest smooth prev"""
)
"""Words that say on what, or how, a metric was measured."""

_GLUED = regex(
    r"(?:val|valid|validation|dev|test|eval|train|best|avg|mean|cur|current|epoch|min|max|curr|mean|tst|trn)"
    r"(acc|accuracy|loss|f1|auc|wer|cer|bleu|iou|miou|map|dice|error|err|mae|mse|rmse|ppl)s?"
)
_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PART = regex(r"[^\W_]+")
VALIDATED = _all("val valid validation validate valloss dev test tst eval evaluate evaluation held heldout holdout")
"""Words that say a number was measured on other data than the training data."""

_HELD_OUT = _all("val valid validation dev eval held heldout holdout")

TRAINED = _all("train training trn tr")


def words(name: str) -> tuple[str, ...]:
    """The words of a metric's name in lower case, glued ones apart.

    >>> words("val/meanIoU"), words("mAP50"), words("valLoss"), words("best_acc1")
    (('val', 'mean', 'iou'), ('map',), ('val', 'loss'), ('best', 'acc1'))
    """
    found: list[str] = []
    for part in _PART.findall(name):
        found += _split(part)
    return tuple(word for word in found if word)


def _split(part: str) -> list[str]:
    whole = part.lower()
    for word in (whole, whole.rstrip("0123456789")):
        if _known(word):
            return [word]
    glued = _GLUED.fullmatch(whole.rstrip("0123456789"))
    if glued:
        return [whole[: whole.index(glued[1])], glued[1]]
    if whole.startswith("mean") and _known(whole[4:]):
        return ["mean", whole[4:]]
    return [each for each in _camel(part) if not each.isdigit()]


def _camel(part: str) -> list[str]:
    if part.startswith("mean") and part[4:].lower() in HIGHER:
        return ["mean", part[4:].lower()]
    return [each.lower() for each in _WORD.findall(part)]


def _known(word: str) -> bool:
    return word in LOSSES or word in DISTANCES or word in WORSE or word in HIGHER or word in FROM_SQUARES


def score(name: str) -> Score | None:
    """What a name says; None where it says nothing, or two things.

    >>> [each and each.better.value for each in map(score, ("val_acc", "eval_wer", "acc_loss", "neg_loss", "score"))]
    ['higher', 'lower', 'lower', None, None]
    """
    every = words(name)
    if not every or name.startswith("-") or any(word in _OPEN for word in every):
        return None
    if any(word in LOSSES for word in every) or every[-1] == "ce":
        return Score(Better.LOWER, Measure.LOSS)
    if any(word in DISTANCES for word in every):
        return Score(Better.LOWER, Measure.DISTANCE)
    known = [word for word in every if _says(word, every)]
    if any(word in WORSE or word == "per" for word in known):
        if any(word in ("acc", "accuracy") for word in known):
            return None
        return Score(Better.LOWER, Measure.TASK)
    if _REST.search(name) or not _UNWANTED.isdisjoint(every):
        return None
    if any(word in HIGHER for word in known):
        return Score(Better.HIGHER, Measure.TASK)
    return Score(Better.HIGHER, Measure.DISTANCE) if any(word in FROM_SQUARES for word in known) else None


def _says(word: str, every: tuple[str, ...]) -> bool:
    """Whether a word is one of a metric beside these."""
    return word not in _AMBIGUOUS or all(other == word or other in _SPLITS or other in HIGHER for other in every)


def is_validated(name: str) -> bool:
    """Whether a name says that its number was not measured on the training data.

    >>> is_validated("val_loss"), is_validated("devAcc"), is_validated("value")
    (True, True, False)
    """
    return not VALIDATED.isdisjoint(words(name))


def is_held_out(name: str) -> bool:
    """Whether a name is that of data which models may be chosen by; test data is not.

    >>> is_held_out("val_loader"), is_held_out("x_test"), is_held_out("validation_size")
    (True, False, False)
    """
    said = words(name)
    return not _HELD_OUT.isdisjoint(said) and said[-1] not in ("size", "split", "fraction", "ratio", "mode")


def is_trained(name: str) -> bool:
    """Whether a name says that its number was measured on the training data."""
    return not TRAINED.isdisjoint(words(name)) and not is_validated(name)
