"""Each rule against facts made by hand: what fires, what keeps quiet, how sure, and in which words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made import found, severity
from trainlint_rules.ctc_blank_collision import ctc_blank_collision
from trainlint_rules.internal_error import internal_error
from trainlint_rules.metric_sentinel_collision import metric_sentinel_collision
from trainlint_rules.padding_not_ignored import padding_not_ignored
from trainlint_rules.sentinel_collision import sentinel_collision
from trainlint_rules.sentinel_one_past_end import sentinel_one_past_end
from trainlint_rules.unreadable_code import unreadable_code

from trainlint import (
    Crash,
    CtcLoss,
    Fact,
    Fill,
    Finding,
    Integer,
    Job,
    Layer,
    Loss,
    Metric,
    Proof,
    Role,
    Rule,
    Severity,
    Span,
    Step,
    Symbol,
    Table,
    Targets,
    Unknown,
    Unreadable,
)

CALL, ARGUMENT = Span("train.py", 20, 12), Span("train.py", 23, 22)
HEAD = Span("heads.py", 14, 21)
OPEN = Unknown("not found")

CODES = Step("CODES = 1024", Span("constants.py", 2))
WIDENED = Step("Linear(64, CODES + 1)", HEAD)
STOP = Step("stop_id = CODES", Span("heads.py", 10))
FILLED = Fill(Integer.exact(0), Span("data.py", 7), "padded by pad_sequence with")

codes = Integer.exact(1024).because(CODES).named("CODES", "constants.CODES")
stop_by_name = Job(Role.END, Proof.NAME, "stop_id", (STOP,))
stop_by_use = Job(Role.END, Proof.USE, "STOP", (Step("token == STOP", Span("sample.py", 9)),))
noun = Job(Role.LABEL, Proof.TABLE, "NOUN", (Step("TAGS[0] is 'NOUN'", Span("tags.py", 1)),))


def exact(number: int, *names: str) -> Integer:
    value = Integer.exact(number)
    for name in names:
        value = value.named(name, f"ids.{name}")
    return value


def head(classes: Integer | int, name: str = "FirstStage.proj") -> Layer:
    return Layer(name, exact(classes) if isinstance(classes, int) else classes, HEAD)


WIDE = head((codes + exact(1)).because(WIDENED))


def loss(
    index: Integer | Unknown | int = -100,
    layer: Layer | Unknown = OPEN,
    job: Job | Unknown | None = None,
    targets: Targets | Unknown = OPEN,
) -> Loss:
    value = exact(index) if isinstance(index, int) else index
    return Loss(CALL, ARGUMENT, None, (), (), "cross_entropy", layer, value, False, job, targets)


def message(rule: Rule, fact: Fact) -> str:
    finding = found(rule, fact)
    return finding.message if finding else ""


def collision(fact: Loss) -> Severity | None:
    return severity(sentinel_collision, fact)


def test_a_collision_is_told_with_its_numbers_its_proof_and_its_cure() -> None:
    targets = Targets(fills=(Fill(codes, Span("train.py", 19), "filled by masked_fill with"),))
    finding = found(sentinel_collision, loss(codes, WIDE, stop_by_name, targets))
    assert finding == Finding(
        where=ARGUMENT,
        message="ignore_index=1024 is one of the 1025 classes that FirstStage.proj emits, and class 1024 is stop_id",
        consequence="every target 1024 is dropped: "
        "the model is never shown a stop, and the loss curve will not show it",
        because=(CODES, WIDENED, STOP),
        help="use -100 (PyTorch's default) and fill padding with it, "
        "also where targets are filled by masked_fill with 1024 now",
        severity=Severity.ERROR,
        call=CALL,
        code="TL101",
        name="sentinel-collision",
        distinct=("FirstStage.proj - ignore_index = 1",),
    )


def test_a_collision_is_told_in_symbols_where_the_numbers_are_not_known() -> None:
    n = Integer.symbol(Symbol("cfg.vocab_size", "train.cfg.vocab_size", minimum=1))
    fact = loss(n, head(n + exact(1), "Decoder.out"), stop_by_use)
    assert message(sentinel_collision, fact) == (
        "ignore_index=cfg.vocab_size is one of the cfg.vocab_size + 1 classes that Decoder.out emits, "
        "and class cfg.vocab_size is STOP"
    )
    assert collision(fact) is Severity.ERROR


@pytest.mark.parametrize("job", [stop_by_use, noun, replace(noun, role=Role.NO_OBJECT), replace(noun, role=Role.BLANK)])
def test_a_class_whose_job_is_shown_by_use_or_table_is_an_error(job: Job) -> None:
    assert collision(loss(3, head(9), job)) is Severity.ERROR


def test_a_class_known_to_end_a_sequence_by_its_name_alone_is_a_warning_that_says_so() -> None:
    fact = loss(3, head(9), stop_by_name)
    assert collision(fact) is Severity.WARNING
    assert message(sentinel_collision, fact).endswith("and class 3 is stop_id by its name")


def test_an_end_by_name_is_an_error_where_the_layer_was_widened_for_it() -> None:
    assert collision(loss(codes, WIDE, stop_by_name)) is Severity.ERROR


def test_an_end_by_name_is_a_warning_where_it_is_the_last_of_a_vocabulary() -> None:
    words = exact(40, "WORDS").because(Step("WORDS = 40", Span("a.py", 1)))
    last = (words - exact(1)).named("eos").because(Step("eos = WORDS - 1", Span("a.py", 2)))
    assert collision(loss(last, head(words), replace(stop_by_name, label="eos"))) is Severity.WARNING


def test_an_end_by_name_is_an_error_where_padding_has_a_number_of_its_own() -> None:
    padded = Targets(fills=(replace(FILLED, value=exact(0, "PAD_ID")),))
    assert collision(loss(2, head(80), stop_by_name, padded)) is Severity.ERROR
    unnamed = Targets(fills=(FILLED,))
    assert collision(loss(2, head(80), stop_by_name, unnamed)) is Severity.WARNING


def test_padding_that_is_another_name_of_the_end_is_flagged() -> None:
    assert collision(loss(exact(2, "eos_id", "pad_id"), head(80), stop_by_use)) is Severity.ERROR


@pytest.mark.parametrize("role", [Role.PAD, Role.VOID, Role.START])
@pytest.mark.parametrize("proof", list(Proof))
def test_a_class_without_a_job_may_be_skipped(role: Role, proof: Proof) -> None:
    assert collision(loss(codes, WIDE, Job(role, proof, "PAD", ()))) is None


@pytest.mark.parametrize("role", [Role.BLANK, Role.NO_OBJECT, Role.LABEL])
def test_a_name_alone_proves_no_job_but_an_end(role: Role) -> None:
    assert collision(loss(0, head(9), Job(role, Proof.NAME, "name", ()))) is None


@pytest.mark.parametrize("index", [-100, -1])
def test_a_negative_index_is_quiet(index: int) -> None:
    assert collision(loss(index, head(9), stop_by_use)) is None
    assert collision(loss(index, head(9), None, Targets(values=(exact(index), exact(3))))) is None


@pytest.mark.parametrize("index", [9, 255])
def test_an_index_beyond_the_classes_is_quiet(index: int) -> None:
    assert collision(loss(index, head(9), stop_by_use)) is None


@pytest.mark.parametrize("fact", [loss(3, OPEN, stop_by_use), loss(OPEN, head(9), stop_by_use), loss(3, head(9))])
def test_what_is_not_known_is_quiet(fact: Loss) -> None:
    assert collision(fact) is None
    assert collision(replace(fact, job=OPEN)) is None


def test_a_position_that_the_symbols_leave_open_is_quiet() -> None:
    n, m = (Integer.symbol(Symbol("n", origin, minimum=1)) for origin in ("a", "b"))
    fact = loss(n, head(m), stop_by_use)
    assert collision(fact) is None
    assert [open.why.settle for open in fact.unjudged()] == ["n"]


@pytest.mark.parametrize("index", [0, 1])
def test_a_class_of_two_is_an_error_whatever_it_is_called(index: int) -> None:
    fact = loss(exact(index, "pad_index"), head(2, "NextSentence.linear"), Job(Role.PAD, Proof.NAME, "pad_index", ()))
    assert collision(fact) is Severity.ERROR
    finding = found(sentinel_collision, fact)
    assert finding
    assert finding.message == (
        f"ignore_index={index} is one of the 2 classes that NextSentence.linear emits, "
        f"so only class {1 - index} is left to learn"
    )
    assert finding.consequence == (
        f"every target {index} is dropped: the answer {1 - index} is right every time, and a falling loss says nothing"
    )
    assert finding.help == "give this head a loss of its own that skips no class"


def test_two_classes_by_a_default_that_callers_change_are_a_warning_that_names_it() -> None:
    default = Step("num_classes = 2", Span("model.py", 4))
    fact = loss(0, head(exact(2).assuming(default), "Net.fc"))
    assert collision(fact) is Severity.WARNING
    assert message(sentinel_collision, fact).endswith("is left to learn, given the default num_classes = 2")


def test_a_proof_that_rests_on_defaults_names_them() -> None:
    pad, tags = Step("pad_index: int = 0", Span("config.py", 9)), Step("n_tags: int = 6", Span("config.py", 10))
    finding = found(sentinel_collision, loss(exact(0).assuming(pad), head(exact(6).assuming(tags)), noun))
    assert finding
    assert finding.message == (
        "ignore_index=0 is one of the 6 classes that FirstStage.proj emits, and class 0 is 'NOUN', "
        "given the defaults pad_index: int = 0 and n_tags: int = 6"
    )
    assert (finding.severity, finding.assumed) == (Severity.ERROR, (pad, tags))


def test_a_slot_added_for_exactly_this_number_is_a_warning_while_nothing_calls_it_padding() -> None:
    fact = loss(codes, WIDE)
    assert collision(fact) is Severity.WARNING
    assert message(sentinel_collision, fact) == (
        "ignore_index=1024 is the last of the 1025 classes that FirstStage.proj emits, "
        "and nothing calls that class padding"
    )
    n = Integer.symbol(Symbol("n", "cfg.n", minimum=1))
    assert collision(loss(n, head(n + exact(1)))) is Severity.WARNING


@pytest.mark.parametrize("name", ["PAD", "pad_id", "VOID", "ignore_label", "<pad>", "sos"])
def test_an_added_slot_that_a_name_calls_padding_is_quiet(name: str) -> None:
    assert collision(loss(codes.named(name), WIDE)) is None
    assert collision(loss(codes, head((codes + exact(1)).because(WIDENED).named(name)))) is None


def test_an_added_slot_is_quiet_where_the_number_has_nothing_to_do_with_the_width() -> None:
    assert collision(loss(1024, WIDE)) is None
    assert collision(loss(21, head(22))) is None


def test_an_added_slot_is_quiet_where_its_use_was_not_settled() -> None:
    assert collision(loss(codes, WIDE, OPEN)) is None


@pytest.mark.parametrize(("number", "name"), [(50256, "<|endoftext|> of GPT-2"), (100257, "<|endoftext|> of cl100k")])
def test_a_known_end_of_text_id_is_a_warning_whatever_it_is_called(number: int, name: str) -> None:
    fact = loss(exact(number, "PAD"), head(number + 1), Job(Role.PAD, Proof.NAME, "PAD", ()))
    assert collision(fact) is Severity.WARNING
    assert message(sentinel_collision, fact).endswith(f"and {number} is {name} by its number")


def test_a_known_end_of_text_id_beyond_the_classes_is_quiet() -> None:
    assert collision(loss(50256, head(21))) is None


def test_a_value_that_real_targets_take_is_an_error_far_beyond_the_classes() -> None:
    shown = Step("torch.where(gray > 127, FOREGROUND, BACKGROUND)", Span("masks.py", 9))
    targets = Targets(values=(exact(255, "FOREGROUND"), exact(0, "BACKGROUND")), evidence=(shown,))
    finding = found(sentinel_collision, loss(exact(255, "IGNORED"), head(2), None, targets))
    assert finding
    assert finding.severity is Severity.ERROR
    assert finding.message == "ignore_index=255 is one of the values that real targets take (255, 0)"
    assert finding.consequence == (
        "every target 255 is dropped: the model is never shown that answer, and the loss curve will not show it"
    )
    assert finding.because == (shown,)


def test_a_value_of_the_targets_is_an_error_also_where_the_layer_is_not_known() -> None:
    assert collision(loss(255, OPEN, None, Targets(values=(exact(255, "FOREGROUND"), exact(0))))) is Severity.ERROR


def test_a_bare_number_among_targets_is_no_answer_for_sure() -> None:
    assert collision(loss(255, head(300), None, Targets(values=(exact(255), exact(0))))) is None


@pytest.mark.parametrize(("proof", "verdict"), [(Proof.USE, None), (Proof.TABLE, None), (Proof.NAME, Severity.ERROR)])
def test_a_value_of_the_targets_that_is_seen_to_be_padding_is_quiet(proof: Proof, verdict: Severity | None) -> None:
    targets = Targets(values=(exact(0, "FIRST"), exact(3)))
    assert collision(loss(0, head(9), Job(Role.PAD, proof, "pad", ()), targets)) is verdict


def test_a_target_that_is_written_by_the_sentinels_own_name_marks_what_to_skip() -> None:
    index = exact(255, "IGNORED")
    assert collision(loss(index, head(9), None, Targets(values=(index, exact(3))))) is None
    assert collision(loss(255, head(9), None, Targets(values=(exact(255, "void"), exact(3))))) is None


def test_a_target_one_past_the_classes_marks_what_to_skip() -> None:
    assert collision(loss(9, head(9), None, Targets(values=(exact(9), exact(3))))) is None


def test_a_class_that_targets_are_given_by_its_own_name_is_an_error() -> None:
    index = exact(8, "RELEASE")
    assert collision(loss(index, head(9), None, Targets(values=(index, exact(3))))) is Severity.ERROR


@pytest.mark.parametrize(("lowest", "verdict"), [(0, Severity.ERROR), (1, None)])
def test_codes_that_reach_the_sentinel_are_an_error_and_shifted_codes_are_quiet(
    lowest: int, verdict: Severity | None
) -> None:
    targets = Targets(lowest=exact(lowest), highest=exact(1023 + lowest))
    pad = Job(Role.PAD, Proof.NAME, "pad_id", ())
    assert collision(loss(0, head(1025), pad, targets)) is verdict


def test_a_range_is_told_in_its_own_numbers() -> None:
    k = Integer.symbol(Symbol("codebook_size", "vq.codebook_size", minimum=1))
    targets = Targets(lowest=exact(0), highest=k - exact(1))
    assert message(sentinel_collision, loss(0, OPEN, None, targets)) == (
        "ignore_index=0 is the first of the real targets, which count from 0"
    )
    assert message(sentinel_collision, loss(k - exact(1), OPEN, None, targets)) == (
        "ignore_index=codebook_size - 1 is one of the real targets, which run from 0 to codebook_size - 1"
    )
    assert collision(loss(0, OPEN, None, Targets(lowest=exact(0)))) is Severity.ERROR


def test_labels_that_are_shifted_past_the_index_do_not_use_the_label_behind_it() -> None:
    shifted = Targets(lowest=exact(1), highest=exact(6))
    assert collision(loss(0, head(7), noun, shifted)) is None
    assert collision(loss(0, head(7), stop_by_use, shifted)) is Severity.ERROR


def test_a_length_of_the_sizing_table_is_the_slot_that_was_added_to_it() -> None:
    tags = Table("TAGS", ((0, "NOUN"),), 6, Span("tags.py", 1))
    index = replace(exact(6, "stop_id"), table=tags)
    assert collision(loss(index, head(replace(exact(7), table=tags)), stop_by_name)) is Severity.ERROR
    assert collision(loss(index, head(7), stop_by_name)) is Severity.WARNING


@pytest.mark.parametrize("fact", [loss(codes, WIDE, stop_by_use), replace(loss(0, head(2)), job=None)])
def test_a_loss_that_trains_nothing_is_quiet(fact: Loss) -> None:
    assert collision(fact) is Severity.ERROR
    assert collision(replace(fact, trains=False)) is None


def test_evidence_is_told_once_and_always_holds_the_layer() -> None:
    job = replace(stop_by_use, evidence=(CODES, STOP))
    finding = found(sentinel_collision, loss(codes, head(codes + exact(1)), job))
    assert finding
    assert finding.because == (CODES, Step("FirstStage.proj emits 1025 classes", HEAD), STOP)


def test_a_sentinel_one_past_the_end_is_a_note() -> None:
    finding = found(sentinel_one_past_end, loss(codes, head(codes, "SecondStage.proj")))
    assert finding
    assert (finding.severity, finding.where, finding.call) == (Severity.NOTE, ARGUMENT, CALL)
    assert finding.message == "ignore_index=1024 is one past the last of the 1024 classes that SecondStage.proj emits"
    assert finding.consequence == (
        "no class is skipped, until SecondStage.proj gets one more: then every target 1024 is dropped"
    )
    assert finding.help == "use -100 (PyTorch's default), which no layer can reach, and fill padding with it"


def test_a_sentinel_one_past_the_end_names_the_wider_twin() -> None:
    finding = found(sentinel_one_past_end, replace(loss(codes, head(codes, "SecondStage.proj")), twin=WIDE))
    assert finding
    assert finding.consequence == (
        "no class is skipped here; FirstStage.proj emits 1025 classes, and 1024 is one of those"
    )
    assert WIDENED in finding.because


def test_a_sentinel_one_past_the_end_is_known_without_its_number_and_names_defaults() -> None:
    default = Step("--classes 21", Span("args.py", 3))
    n = Integer.symbol(Symbol("n_class", "net.n_class", minimum=1))
    assert severity(sentinel_one_past_end, loss(n, head(n))) is Severity.NOTE
    assert message(sentinel_one_past_end, loss(21, head(exact(21).assuming(default)))).endswith(
        "emits, given the default --classes 21"
    )


@pytest.mark.parametrize("fact", [loss(20, head(21)), loss(22, head(21)), loss(-100, head(21)), loss(21), loss(OPEN)])
def test_only_a_traced_layer_of_exactly_that_width_is_noted(fact: Loss) -> None:
    assert found(sentinel_one_past_end, fact) is None


def padded(
    value: Integer | int, index: int = -100, layer: Layer | Unknown = OPEN, how: str = "padded by pad_sequence with"
) -> Loss:
    filler = exact(value) if isinstance(value, int) else value
    return loss(index, layer, None, Targets(fills=(replace(FILLED, value=filler, how=how),)))


def test_padding_that_is_not_ignored_is_a_warning_at_the_loss_with_the_fill_as_evidence() -> None:
    finding = found(padding_not_ignored, padded(0, layer=head(500)))
    assert finding == Finding(
        where=ARGUMENT,
        message="targets are padded by pad_sequence with 0, but cross_entropy ignores -100",
        consequence="every filled place is learned as an answer 0, and the easy padding pulls the loss down",
        because=(Step("targets are padded by pad_sequence with 0", FILLED.where),),
        help="fill the targets with -100, or pass ignore_index=0 if it is no class that must be learned",
        severity=Severity.WARNING,
        call=CALL,
        code="TL105",
        name="padding-not-ignored",
        distinct=("fill - ignore_index = 100",),
    )


def test_a_fill_for_a_loss_inside_a_library_model_is_reported_at_the_fill() -> None:
    finding = found(padding_not_ignored, replace(padded(0, how="overwritten with"), inside="LlamaForCausalLM"))
    assert finding
    assert finding.where == FILLED.where
    assert finding.message == "targets are overwritten with 0, but LlamaForCausalLM ignores -100"
    assert finding.help == "fill the targets with -100"


def test_a_wrapper_whose_default_decides_is_reported_where_it_is_built() -> None:
    built = Span("fit.py", 11)
    fact = replace(padded(0), targets=Targets(fills=(replace(FILLED, built=built),)))
    finding = found(padding_not_ignored, fact)
    assert finding
    assert finding.where == built


def test_each_filled_value_is_held_against_the_ignored_one() -> None:
    fills = (replace(FILLED, value=exact(-100)), replace(FILLED, value=exact(0)))
    assert "with 0," in message(padding_not_ignored, loss(-100, OPEN, None, Targets(fills=fills)))


def test_a_fill_rests_on_the_defaults_of_both_numbers() -> None:
    default = Step("pad_value = 0", Span("data.py", 2))
    assert message(padding_not_ignored, padded(exact(0).assuming(default))).endswith("given the default pad_value = 0")


@pytest.mark.parametrize(
    "fact",
    [
        padded(-100),
        padded(0, index=0),
        padded(-1),
        padded(255, layer=head(21)),
        padded(21, layer=head(21)),
        padded(exact(2, "eos_id")),
        padded(exact(2, "pad_or_eos")),
        padded(exact(8, "LIFT"), how="filled by masked_fill with"),
        replace(padded(0), trains=False),
        loss(-100, OPEN, None, OPEN),
        loss(-100, OPEN, None, Targets()),
        replace(padded(0), ignore_index=OPEN),
        replace(padded(0, index=2, layer=head(80)), job=stop_by_name),
    ],
)
def test_a_fill_that_is_ignored_refused_or_an_answer_is_quiet(fact: Loss) -> None:
    assert found(padding_not_ignored, fact) is None


@pytest.mark.parametrize(("name", "verdict"), [("PADDING", Severity.WARNING), ("LIFT", None)])
def test_a_named_number_written_into_targets_is_padding_only_if_it_is_called_so(
    name: str, verdict: Severity | None
) -> None:
    assert severity(padding_not_ignored, padded(exact(8, name), how="filled by masked_fill with")) is verdict


def test_a_fill_that_may_equal_the_ignored_number_is_quiet() -> None:
    n, m = (Integer.symbol(Symbol(name, name, minimum=0)) for name in ("pad_id", "ignored"))
    fact = replace(padded(n), ignore_index=m)
    assert found(padding_not_ignored, fact) is None
    assert severity(padding_not_ignored, replace(fact, ignore_index=exact(-100))) is Severity.WARNING


@pytest.mark.parametrize(("least", "verdict"), [(0, None), (1, Severity.WARNING)])
def test_a_fill_differs_only_where_no_value_of_its_symbols_equals_the_ignored_number(
    least: int, verdict: Severity | None
) -> None:
    size = Integer.symbol(Symbol("size", "cfg.size", minimum=least))
    assert severity(padding_not_ignored, padded(size, index=0)) is verdict
    assert severity(padding_not_ignored, replace(padded(0), ignore_index=size)) is verdict


def metric(
    index: Integer | Unknown | int, layer: Layer | Unknown, job: Job | Unknown | None, declared: int = 1025
) -> Metric:
    value = exact(index) if isinstance(index, int) else index
    return Metric(CALL, ARGUMENT, None, (), (), "MulticlassAccuracy", exact(declared), layer, value, job)


def test_a_metric_that_skips_a_class_with_a_job_is_a_note_at_the_argument() -> None:
    finding = found(metric_sentinel_collision, metric(codes, WIDE, stop_by_use))
    assert finding == Finding(
        where=ARGUMENT,
        message="MulticlassAccuracy skips 1024, one of the 1025 classes that FirstStage.proj emits, "
        "and class 1024 is STOP",
        consequence="the score can be perfect for a model that never gets a stop right",
        because=(CODES, WIDENED, *stop_by_use.evidence),
        help="give the metric the sentinel of the padding, such as -100",
        severity=Severity.NOTE,
        call=CALL,
        code="TL106",
        name="metric-sentinel-collision",
        distinct=("FirstStage.proj - ignore_index = 1",),
    )


@pytest.mark.parametrize("job", [stop_by_name, noun])
def test_a_metric_skips_a_job_that_is_known_by_name_or_table(job: Job) -> None:
    assert severity(metric_sentinel_collision, metric(0, head(6), job)) is Severity.NOTE


@pytest.mark.parametrize(
    "fact",
    [
        metric(codes, head(codes), stop_by_use),
        metric(codes, OPEN, stop_by_use),
        metric(OPEN, WIDE, stop_by_use),
        metric(-100, WIDE, stop_by_use),
        metric(codes, WIDE, None),
        metric(codes, WIDE, OPEN),
        metric(codes, WIDE, Job(Role.PAD, Proof.USE, "PAD", ())),
        metric(codes, WIDE, Job(Role.LABEL, Proof.NAME, "thing", ())),
    ],
)
def test_the_layer_and_the_job_decide_for_a_metric_and_not_its_declared_count(fact: Metric) -> None:
    assert found(metric_sentinel_collision, fact) is None


LETTERS = Table("LETTERS", ((0, "a"), (25, "z"), (26, "'")), 27, Span("units.py", 1))
apostrophe = Job(Role.LABEL, Proof.TABLE, "'", (Step('LETTERS[26] is "\'"', LETTERS.where),))


def ctc(
    blank: Integer | Unknown | int,
    layer: Layer | Unknown,
    job: Job | Unknown | None = None,
    is_default: bool = False,
) -> CtcLoss:
    value = exact(blank) if isinstance(blank, int) else blank
    return CtcLoss(CALL, ARGUMENT, None, (), (), "CTCLoss", layer, value, is_default, job)


def listed(classes: int, table: Table) -> Layer:
    return Layer("Acoustic.out", replace(exact(classes), table=table), HEAD)


def test_a_blank_that_is_a_symbol_is_an_error() -> None:
    finding = found(ctc_blank_collision, ctc(26, head(28, "Acoustic.out"), apostrophe))
    assert finding == Finding(
        where=ARGUMENT,
        message='blank=26 is also the id of "\'"',
        consequence='the loss reads "\'" as a blank, and decoding deletes it',
        because=(Step("Acoustic.out emits 28 classes", HEAD), *apostrophe.evidence),
        help="give the blank an id that no symbol has, and the layer one class more than there are symbols",
        severity=Severity.ERROR,
        call=CALL,
        code="TL107",
        name="ctc-blank-collision",
        distinct=("Acoustic.out - blank = 2",),
    )


def test_a_default_blank_is_called_one() -> None:
    fact = ctc(0, listed(27, LETTERS), replace(apostrophe, label="a"), is_default=True)
    assert message(ctc_blank_collision, fact) == "blank=0 (the default) is also the id of 'a'"


def test_a_symbol_known_in_part_or_by_name_is_a_warning() -> None:
    part = replace(LETTERS, complete=False)
    assert severity(ctc_blank_collision, ctc(0, listed(27, part), apostrophe)) is Severity.WARNING
    assert severity(ctc_blank_collision, ctc(0, head(28), stop_by_name)) is Severity.WARNING
    assert severity(ctc_blank_collision, ctc(0, listed(27, LETTERS), apostrophe)) is Severity.ERROR


def test_a_layer_without_room_for_the_blank_is_an_error() -> None:
    assert message(ctc_blank_collision, ctc(27, head(27, "Acoustic.out"))) == (
        "blank=27 is outside the 27 classes that Acoustic.out emits"
    )
    shifted = Table("IDS", ((1, "a"), (2, "b"), (3, "c")), 3, LETTERS.where)
    fact = ctc(0, listed(3, shifted))
    assert severity(ctc_blank_collision, fact) is Severity.ERROR
    assert message(ctc_blank_collision, fact) == (
        "blank=0 takes one of the 3 classes that Acoustic.out emits, and 'c' has the id 3"
    )


@pytest.mark.parametrize(
    "fact",
    [
        ctc(0, listed(4, Table("IDS", ((1, "a"), (2, "b"), (3, "c")), 3, LETTERS.where))),
        ctc(27, head(28)),
        ctc(0, head(28), Job(Role.BLANK, Proof.TABLE, "<blank>", ())),
        ctc(0, head(28), Job(Role.PAD, Proof.TABLE, "<pad>", ())),
        ctc(0, head(28), OPEN),
        ctc(0, OPEN, apostrophe),
        ctc(OPEN, head(28), apostrophe),
    ],
)
def test_a_blank_with_a_class_of_its_own_is_quiet(fact: CtcLoss) -> None:
    assert found(ctc_blank_collision, fact) is None


def test_a_file_that_cannot_be_read_is_an_error() -> None:
    where = Span("broken.py", 3, 9)
    finding = found(unreadable_code, Unreadable(where, where, None, (), (), "'(' was never closed"))
    assert finding
    assert (finding.code, finding.severity, finding.where) == ("TL902", Severity.ERROR, where)
    assert finding.message == "this file cannot be read as Python: '(' was never closed"


def test_a_cell_that_cannot_be_read_is_called_a_cell() -> None:
    where = Span("train.ipynb", 3, 8, cell=2)
    finding = found(unreadable_code, Unreadable(where, where, None, (), (), "invalid syntax"))
    assert finding
    assert finding.message == "this cell cannot be read as Python: invalid syntax"
    assert finding.help == "mend the cell, or make it no cell of code if it is no Python program"


def test_a_fault_of_the_tool_is_an_error_that_says_how_to_report_it() -> None:
    where = Span("model.py", 3)
    finding = found(internal_error, Crash(where, where, None, (), (), "evaluating a width", "KeyError: 'x'"))
    assert finding
    assert (finding.code, finding.severity, finding.where) == ("TL999", Severity.ERROR, where)
    assert finding.message == "trainlint failed while evaluating a width: KeyError: 'x'"
    assert finding.help.startswith("report this message")


@pytest.mark.parametrize("rule", [sentinel_collision, sentinel_one_past_end, padding_not_ignored])
def test_messages_are_one_sentence_without_a_full_stop(rule: Rule) -> None:
    fact = replace(padded(0, index=2, layer=head(2 if rule is sentinel_one_past_end else 3)), job=None)
    if rule is sentinel_collision:
        fact = replace(fact, job=stop_by_use)
    finding = found(rule, fact)
    assert finding
    for text in (finding.message, finding.consequence, finding.help):
        assert text
        assert not text.endswith(".")
        assert "please" not in text.lower()
