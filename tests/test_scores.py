"""What names say about a number that models are compared by. The names were met in public training code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainlint import Better, Measure
from trainlint.knowledge.scores import is_trained, is_validated, score, words

HIGHER = """acc val_acc valid_acc test_accuracy valAcc accuracy eval_accuracy top1 acc1 val_acc1 Acc@1 val_acc_epoch
    val/acc val/acc_top1 f1 F1 eval_f1 f1_macro macro_f1 micro-f1 val_f1_score fscore auc val_auc auroc AUROC ROC_AUC
    mAP val_map mAP50 mAP_50 map50-95 map@10 mIoU miou val_miou mean_iou meanIoU iou val_jaccard dice val_mean_dice
    bleu BLEU-4 bleu4 sacrebleu eval_rouge1 rougeL rouge_l_f recall recall@10 Recall@K precision val_precision kappa
    mcc ndcg@10 NDCG mrr ssim pearson spearmanr bestacc best_acc1 uar exact_match_accuracy"""

LOWER = """loss val_loss valid_loss eval_loss dev-loss valLoss validation/loss avg_loss epoch_loss total_loss mean_loss
    acc_loss dice_loss loss_per_token error val_error top1_error error_rate err wer val_wer WER cer eval_cer
    per dev_per eer val_eer ppl perplexity val_ppl mse rmse MAE mae_test val_rmse nll bpc fid FID lpips
    accuracy_error losses logloss train_loss"""

SILENT = """score reward best metric value x epoch step acc_steps grad_acc accum_steps acc_grad neg_loss negative_loss
    neg_mean_squared_error inv_acc loss_weight loss_ratio loss_scale loss_fn loss_diff delta_loss acc_change
    device_map attention_map feature_map id_map g_loss d_loss G_loss loss_D gen_loss disc_loss generator_loss
    critic_loss adv_loss loss_G policy_loss return_per_episode num_losses loss_names max_norm lr time iou_threshold
    f1_threshold images_per_sec mixed_precision precision_bits recall_k_list success quality
    val_1-acc dice_distance val_fpr_at_95_recall attack_acc probe_acc_leakage recall_missing forget_acc
    -val_acc -val_loss val_wer_acc epochs_to_acc acc_uncertainty false_alarm_at_recall"""


@pytest.mark.parametrize("name", HIGHER.split())
def test_a_name_says_that_higher_is_better(name: str) -> None:
    said = score(name)
    assert said is not None
    assert said.better is Better.HIGHER


@pytest.mark.parametrize("name", LOWER.split())
def test_a_name_says_that_lower_is_better(name: str) -> None:
    said = score(name)
    assert said is not None
    assert said.better is Better.LOWER


@pytest.mark.parametrize("name", SILENT.split())
def test_a_name_that_only_looks_like_a_score_says_nothing(name: str) -> None:
    assert score(name) is None


@pytest.mark.parametrize(
    ("measure", "names"),
    [
        (Measure.LOSS, "val_loss ppl perplexity nll dice_loss bpc"),
        (Measure.DISTANCE, "mse val_mae rmse error psnr r2 fid"),
        (Measure.TASK, "val_acc wer eval_cer f1 miou bleu per eer"),
    ],
)
def test_a_name_says_whether_it_is_a_loss_a_distance_or_a_task(measure: Measure, names: str) -> None:
    assert [said and said.measure for said in map(score, names.split())] == [measure] * len(names.split())


@pytest.mark.parametrize(
    "name", ["val_loss", "valid/acc", "devAcc", "test_loss", "evaluate", "eval_f1", "valloss", "validation_error"]
)
def test_a_name_says_that_other_data_was_measured(name: str) -> None:
    assert is_validated(name)
    assert not is_trained(name)


@pytest.mark.parametrize("name", ["train_loss", "training_acc", "trainLoss"])
def test_a_name_says_that_the_training_data_was_measured(name: str) -> None:
    assert is_trained(name)
    assert not is_validated(name)


@given(st.text(max_size=30))
def test_any_text_has_words_and_a_score_or_none(text: str) -> None:
    assert all(word == word.lower() for word in words(text))
    assert score(text) is None or score(text) == score(text)
