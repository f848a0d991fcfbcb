"""What names say about a class index. The names were met in public training code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainlint import END_TEXT_IDS, Role, index_roles, roles
from trainlint.knowledge.roles import entry_role, words

SAID = {
    Role.END: """eos eos_id EOS_IDX eosid eos_token_id EOSToken eosTokenId tokenizer.eos_token_id self.eos _eos
        eot_token eod stop_id stop_token STOP STOP_TAG STOP_CODON stop_audio_token self.stop_id
        cfg.model.stop_token_id end_token end_of_text end_of_text_token END END_IDX Token.EOS.value
        Vocab.END special_tokens.end audio_end_token im_end_id endoftext_id text_eos_token
        CHAR_EOS_IDX start_and_eos </s> <eos> <EOS> [EOS] <|endoftext|> <|im_end|> <|eot_id|>
        <|end_of_text|> <end_of_turn> <end> [STOP] [s] _EOS <｜end▁of▁sentence｜>""",
    Role.START: """sos bos bos_id SOS_TOKEN sos_idx decoder_start_token_id start_token START START_TAG
        im_start_token_id GO _GO <s> <sos> <bos> [GO] <start> <|startoftranscript|> <|im_start|>
        [CLS] start_of_audio_token""",
    Role.PAD: """pad padding pad_id PAD PAD_IDX padidx pad_token_id padding_idx TRG_PAD_IDX tokenizer.pad_token_id
        label_pad_token_id pad_value self.padding_value <pad> [PAD] <|pad|> <PAD> PADDING_TOKEN""",
    Role.VOID: """void void_class VOID_LABEL unlabeled unlabelled_id ignore_id IGNORE IGNORE_LABEL ignore_label
        ignored_tag ignore_value background unk_id unk_token mask_token mask_token_id <mask> [MASK]
        <unk> [UNK] <eps> dont_care NULL <null>""",
    Role.BLANK: "blank blank_id BLANK blank_idx sym_blank blk <blank> <ctc_blank> [CTCblank] blankidx",
    Role.NO_OBJECT: "no_object noobj no_object_id NO_OBJ NoObject ∅",
}

SILENT = """weekend trend extend stopwords stop_words backend depend end_lr endpoint end_point send append legend
    stop_epoch early_stop early_stopping stop_grad should_stop end_epoch end_of_epoch end_logits
    end_positions end_index end_idx start_idx start_index start end stop start_pos end_pos slice.stop
    begin begin_index start_time time_end stop_loss STOP_LOSS_PCT STOP_LEVEL STOP_PATIENCE STOP_EPOCH
    stop_sequence stop_strings goal category ergo agog append_eos add_eos_token has_eos num_pad n_blank
    eos_mask eos_weight eos_coef eos_loss eos_penalty pad_len padding_mask pad_mask blank_penalty
    non_pad length_no_eos frames_after_eos without_blank ignore_index ignored_index ignore_idx
    self.ignore_index semantic_loss_ignore_index ignore_keys ignore_mismatched_sizes attention_mask mask
    masks mask_label mask_ratio src_mask vocab_size num_classes NUM_CODES codes bosch sosa avoid
    vowel_mask unknown other video void_cast_size index_of_eos token_start span_end text_end
    <|vision_start|> stop_sign_size"""


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in SAID.items() for name in names.split()])
def test_a_name_tells_the_role_of_its_class(role: Role, name: str) -> None:
    assert role in roles(name)


@pytest.mark.parametrize("name", SILENT.split())
def test_a_name_that_only_looks_like_a_role_tells_none(name: str) -> None:
    assert roles(name) == frozenset()


@pytest.mark.parametrize(
    ("name", "both"),
    [
        ("pad_or_eos", {Role.PAD, Role.END}),
        ("eos_pad_id", {Role.PAD, Role.END}),
        ("sos_eos", {Role.START, Role.END}),
        ("<sos/eos>", {Role.START, Role.END}),
        ("<eos-bos>", {Role.START, Role.END}),
        ("ignore_padding_token", {Role.VOID, Role.PAD}),
    ],
)
def test_a_name_with_two_roles_tells_both(name: str, both: set[Role]) -> None:
    assert roles(name) == both


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("NOUN", Role.LABEL),
        ("background", Role.LABEL),
        ("stop", Role.LABEL),
        ("go", Role.LABEL),
        ("stop sign", Role.LABEL),
        ("no mask", Role.LABEL),
        ("unknown", Role.LABEL),
        ("'", Role.LABEL),
        ("-", Role.LABEL),
        ("", Role.LABEL),
        ("<eos>", Role.END),
        ("STOP", Role.END),
        ("<s>", Role.START),
        ("<pad>", Role.PAD),
        ("void", Role.VOID),
        ("ignore", Role.VOID),
        ("[SEP]", Role.VOID),
        ("<unk>", Role.VOID),
        ("[MASK]", Role.VOID),
        ("<blank>", Role.BLANK),
        ("no object", Role.NO_OBJECT),
        ("no_object", Role.NO_OBJECT),
    ],
)
def test_an_entry_of_a_class_table_is_a_label_unless_its_words_say_otherwise(label: str, role: Role) -> None:
    assert entry_role(label) is role


@pytest.mark.parametrize(
    ("name", "role"),
    [("end", Role.END), ("self.stop", Role.END), ("stop_idx", Role.END), ("start", Role.START), ("ignore", Role.VOID)],
)
def test_an_everyday_word_counts_where_its_value_is_a_class_index(name: str, role: Role) -> None:
    assert roles(name) == frozenset()
    assert index_roles(name) == {role}


@pytest.mark.parametrize("name", ["stop_epoch", "end_logits", "weekend", "ignore_index", "num_pad", "codes"])
def test_a_name_that_is_no_role_is_none_for_a_class_index_either(name: str) -> None:
    assert index_roles(name) == frozenset()


def test_an_entry_is_a_start_where_its_table_closes_it() -> None:
    assert entry_role("<w>", ["<w>", "</w>", "a"]) is Role.START
    assert entry_role("</w>", ["<w>", "</w>", "a"]) is Role.END
    assert entry_role("<w>", ["<w>", "a"]) is Role.LABEL


def test_a_capital_is_padding_only_where_start_and_end_are_capitals_too() -> None:
    assert entry_role("P", ["P", "tea", "S", "E"]) is Role.PAD
    assert entry_role("P", ["P", "I", "S", "E"]) is Role.PAD
    assert entry_role("P", ["B", "I", "E", "S", "P"]) is Role.LABEL
    assert entry_role("P", ["P"]) is Role.LABEL


def test_an_entry_that_both_pads_and_ends_is_an_end() -> None:
    assert entry_role("<eos/pad>") is Role.END


@given(st.text(max_size=30))
def test_any_text_can_be_asked(name: str) -> None:
    assert roles(name) <= set(Role)
    assert isinstance(entry_role(name), Role)


@given(st.lists(st.sampled_from(["eos", "pad", "stop", "token", "id", "epoch", "of", "text"]), min_size=1, max_size=4))
def test_the_way_in_which_words_are_joined_changes_nothing(parts: list[str]) -> None:
    snake, camel = "_".join(parts), parts[0] + "".join(part.title() for part in parts[1:])
    assert words(snake) == words(camel) == tuple(parts)
    assert roles(snake) == roles(camel)


def test_the_known_end_of_text_ids_are_too_large_to_be_a_coincidence() -> None:
    assert min(END_TEXT_IDS) > 10_000
    assert 151643 not in END_TEXT_IDS
