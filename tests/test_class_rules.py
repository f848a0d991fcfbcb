"""The rules about classes and their labels, against facts made by hand and against PyTorch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made import found, severity
from trainlint_rules.background_collision import background_collision
from trainlint_rules.class_count_mismatch import class_count_mismatch
from trainlint_rules.padding_idx_collision import padding_idx_collision
from trainlint_rules.unused_sentinel import unused_sentinel

from trainlint import (
    Embedding,
    Finding,
    Integer,
    Job,
    LabelledLayer,
    Layer,
    Proof,
    ReservedClass,
    Role,
    Service,
    Severity,
    Span,
    Step,
    Symbol,
    Table,
    Unknown,
    UnusedSentinel,
)

HEAD, TABLE, LABEL = Span("model.py", 14, 21), Span("tags.py", 1), Span("data.py", 15)
OPEN = Unknown("not found")
TAGS = Table("TAGS", tuple(enumerate(("NOUN", "VERB", "ADJ", "DET", "PUNCT"))), 5, TABLE)
LOOKED_UP = Step("TAGS.index(tag)", Span("data.py", 9))


def labelled(
    classes: int | Integer, table: Table = TAGS, service: Service = Service.TARGETS, beside: tuple[int, ...] = ()
) -> LabelledLayer:
    width = Integer.exact(classes) if isinstance(classes, int) else classes
    others = tuple(map(Integer.exact, beside))
    layer = Layer("Tagger.head", width, HEAD)
    return LabelledLayer(HEAD, HEAD, None, (), (), layer, table, service, (LOOKED_UP,), others)


def of_size(size: int) -> Table:
    return Table("WORDS", tuple((number, f"word{number}") for number in range(size)), size, TABLE)


def test_a_layer_with_more_classes_than_labels_is_told_with_both_numbers() -> None:
    assert found(class_count_mismatch, labelled(9)) == Finding(
        where=HEAD,
        message="Tagger.head emits 9 classes, and its targets are looked up in TAGS, which has 5 labels",
        consequence="classes 5 to 8 can be predicted and can never be right: no label is behind it",
        because=(Step("Tagger.head emits 9 classes", HEAD), LOOKED_UP, Step("TAGS has 5 entries", TABLE)),
        help="size the layer with the length of TAGS",
        severity=Severity.WARNING,
        call=HEAD,
        code="TL119",
        name="class-count-mismatch",
        distinct=("Tagger.head - TAGS = 4",),
    )


def test_a_label_without_a_class_is_named() -> None:
    finding = found(class_count_mismatch, labelled(4))
    assert finding
    assert finding.consequence == "'PUNCT' and what follows it have no class: the first such target stops the run"


def test_a_width_rounded_up_is_a_note_only_where_it_is_sampled_in_full() -> None:
    words = of_size(100)
    assert severity(class_count_mismatch, labelled(128, words)) is None
    assert severity(class_count_mismatch, labelled(128, words, Service.PREDICTIONS)) is Severity.NOTE
    assert severity(class_count_mismatch, labelled(200, words)) is Severity.WARNING
    assert severity(class_count_mismatch, labelled(104, words)) is None
    assert severity(class_count_mismatch, labelled(8)) is Severity.WARNING


def test_one_class_more_counts_where_every_target_is_known() -> None:
    assert severity(class_count_mismatch, labelled(6)) is Severity.WARNING
    named = replace(labelled(6, service=Service.PREDICTIONS), spare=(Step("STOP = 5", HEAD),))
    assert severity(class_count_mismatch, named) is None


@pytest.mark.parametrize(
    "fact",
    [
        labelled(5),
        labelled(6, beside=(5,)),
        labelled(6, beside=(-100, 7)),
        labelled(replace(Integer.exact(9), parts=("tags.len(TAGS)",))),
        labelled(replace(Integer.exact(9), table=TAGS)),
        labelled(Integer.symbol(Symbol("classes", "cfg.classes", 1))),
        replace(labelled(9), layer=OPEN),
        labelled(1),
        labelled(4, service=Service.PREDICTIONS),
        labelled(4, service=Service.SENTINEL),
        labelled(replace(Integer.exact(9), table=of_size(9)), service=Service.SENTINEL),
        labelled(4, Table("TAGS", (*TAGS.entries[:4], (4, "<pad>")), 5, TABLE)),
    ],
)
def test_a_layer_that_may_be_meant_as_it_is_stays_quiet(fact: LabelledLayer) -> None:
    assert found(class_count_mismatch, fact) is None


def test_an_open_width_is_not_called_clean() -> None:
    (open_one,) = labelled(Integer.symbol(Symbol("cfg.classes", "cfg.classes", 1))).unjudged()
    assert open_one.why.settle == "cfg.classes"
    assert list(replace(labelled(9), layer=OPEN).unjudged())
    assert not list(labelled(9).unjudged())


def test_torch_gives_probability_to_a_class_that_no_target_has() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    hidden, targets = torch.randn(64, 8), torch.randint(0, 6, (64,))
    shares = {}
    for classes in (6, 8):
        head = torch.nn.Linear(8, classes)
        optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
        for _ in range(50):
            loss = torch.nn.functional.cross_entropy(head(hidden), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        shares[classes] = head(hidden).softmax(-1)[:, 6:].sum(-1).mean().item()
    assert shares[6] == 0
    assert shares[8] > 0.01


def reserved(
    label: str | Unknown, index: int = 0, classes: int = 4, head: str = "FastRCNNPredictor", kept: str = "background"
) -> ReservedClass:
    shown = (Step("CLASSES.index(name)", LABEL),)
    return ReservedClass(LABEL, LABEL, HEAD, (), (), head, kept, label, Integer.exact(classes), index, shown)


def test_a_label_that_is_the_background_is_an_error_at_the_label() -> None:
    assert found(background_collision, reserved("'helmet'")) == Finding(
        where=LABEL,
        message="class 0, which FastRCNNPredictor keeps for background, is also the id of 'helmet'",
        consequence="'helmet' is learned as background and never found, and the loss curve will not show it",
        because=(Step("CLASSES.index(name)", LABEL),),
        help="count the labels from 1, and num_classes with the background",
        severity=Severity.ERROR,
        call=LABEL,
        code="TL112",
        name="background-collision",
        distinct=("FastRCNNPredictor - 'helmet' = 4",),
    )


def test_a_label_that_is_no_object_is_to_be_counted_from_zero() -> None:
    finding = found(background_collision, reserved("'patch'", 3, 4, "Queries.label", "no object"))
    assert finding
    assert finding.message == "class 3, which Queries.label keeps for no object, is also the id of 'patch'"
    assert finding.help == "count the labels from 0, so that the last class has no label"


def test_a_background_that_was_not_counted_leaves_a_label_without_a_class() -> None:
    finding = found(background_collision, reserved("'glove'", 3, 3))
    assert finding
    assert finding.message == "FastRCNNPredictor has 3 classes with the background, and 'glove' has the id 3"
    assert finding.help == "give num_classes one more, for the background"


def test_a_class_count_that_rests_on_a_default_is_a_warning_that_names_it() -> None:
    assumed = Integer.exact(4).assuming(Step("classes = 4", HEAD))
    finding = found(background_collision, replace(reserved("'helmet'"), classes=assumed))
    assert finding
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith(", given the default classes = 4")


def test_labels_that_are_not_traced_are_not_called_clean() -> None:
    assert found(background_collision, reserved(OPEN)) is None
    (open_one,) = reserved(OPEN).unjudged()
    assert open_one.why is OPEN
    assert not list(reserved("'helmet'").unjudged())


def test_torch_learns_the_last_kind_as_nothing_where_its_id_fills_the_targets() -> None:
    torch = pytest.importorskip("torch")
    lost = {}
    for first in (0, 1):
        torch.manual_seed(0)
        kinds = torch.arange(first, first + 3)
        hidden = torch.randn(3, 4, 8)
        targets = torch.full((3, 4), 3)
        targets[:, 0] = kinds
        head = torch.nn.Linear(8, 4)
        optimizer = torch.optim.Adam(head.parameters(), lr=0.1)
        for _ in range(200):
            loss = torch.nn.functional.cross_entropy(head(hidden).transpose(1, 2), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        lost[first] = int((head(hidden)[:, 0].argmax(-1) == 3).sum())
    assert lost == {0: 0, 1: 1}


LETTER = Job(Role.LABEL, Proof.TABLE, "a", (Step("LETTERS: 0 is 'a'", TABLE),))


def embedding(index: Integer | Unknown, rows: int | Unknown = 4, job: Job | Unknown | None = LETTER) -> Embedding:
    layer = rows if isinstance(rows, Unknown) else Layer("embed", Integer.exact(rows), HEAD)
    return Embedding(HEAD, LABEL, None, (), (), layer, index, job)


ZERO = Integer.exact(0)


def test_a_padding_row_that_is_a_letter_is_an_error_at_the_argument() -> None:
    assert found(padding_idx_collision, embedding(ZERO)) == Finding(
        where=LABEL,
        message="padding_idx=0 is one of the 4 rows of embed, and 0 is the id of 'a'",
        consequence="the row of 'a' is zero and gets no gradient: it can mean nothing to the model",
        because=LETTER.evidence,
        help="give the padding an id of its own, or leave padding_idx out",
        severity=Severity.ERROR,
        call=HEAD,
        code="TL117",
        name="padding-idx-collision",
        distinct=("embed - padding_idx = 4",),
    )


def test_a_padding_index_that_rests_on_a_default_is_a_warning() -> None:
    assumed = ZERO.assuming(Step("--pad, default=0", HEAD))
    assert severity(padding_idx_collision, embedding(assumed)) is Severity.WARNING


@pytest.mark.parametrize(
    "fact",
    [
        embedding(ZERO, job=None),
        embedding(ZERO, job=OPEN),
        embedding(ZERO, job=replace(LETTER, role=Role.PAD)),
        embedding(ZERO, job=replace(LETTER, role=Role.START)),
        embedding(ZERO, job=replace(LETTER, proof=Proof.NAME)),
        embedding(ZERO, job=replace(LETTER, role=Role.BLANK, label="<blank>")),
        embedding(ZERO, job=replace(LETTER, label="_")),
        embedding(ZERO, job=replace(LETTER, label=" ")),
        embedding(ZERO, job=replace(LETTER, label="missing")),
        embedding(ZERO, job=replace(LETTER, role=Role.END, proof=Proof.USE, label="PAD, which ends decoding")),
        embedding(ZERO.named("EOS_ID"), job=replace(LETTER, role=Role.END, label="</s>")),
        embedding(OPEN),
        embedding(ZERO, OPEN),
    ],
)
def test_a_padding_row_without_a_symbol_is_quiet(fact: Embedding) -> None:
    assert found(padding_idx_collision, fact) is None


def test_a_padding_index_that_is_not_known_is_not_called_clean() -> None:
    (open_one,) = embedding(OPEN, job=None).unjudged()
    assert open_one.why is OPEN
    assert not list(embedding(ZERO).unjudged())


def test_torch_never_changes_the_padding_row() -> None:
    torch = pytest.importorskip("torch")
    embed = torch.nn.Embedding(4, 8, padding_idx=0)
    optimizer = torch.optim.SGD(embed.parameters(), lr=0.1)
    embed(torch.tensor([0, 1, 0])).sum().backward()
    optimizer.step()
    assert not embed.weight[0].any()
    assert not embed.weight.grad[0].any()
    assert embed.weight.grad[1].all()


KEPT = Step("self.ignore_index = ignore_index", LABEL)


def unused(value: Integer | Unknown, function: str = "cross_entropy") -> UnusedSentinel:
    return UnusedSentinel(HEAD, HEAD, None, (), (), "TokenLoss", "ignore_index", KEPT, value, function)


def test_a_loss_that_lacks_its_sentinel_is_an_error_at_the_loss() -> None:
    assert found(unused_sentinel, unused(ZERO)) == Finding(
        where=HEAD,
        message="TokenLoss takes ignore_index=0, and cross_entropy is called without it",
        consequence="targets that are filled with 0 are learned as if they were answers",
        because=(KEPT,),
        help="pass ignore_index to the loss, or leave those targets out of it",
        severity=Severity.ERROR,
        call=HEAD,
        code="TL114",
        name="unused-sentinel",
    )


def test_a_loss_written_by_hand_is_named_by_what_it_returns() -> None:
    finding = found(unused_sentinel, unused(ZERO, ""))
    assert finding
    assert finding.message == "TokenLoss takes ignore_index=0, and the loss that it returns never uses it"


def test_a_sentinel_of_unknown_value_is_a_warning_without_a_number() -> None:
    finding = found(unused_sentinel, unused(OPEN))
    assert finding
    assert finding.severity is Severity.WARNING
    assert finding.message == "TokenLoss takes ignore_index, and cross_entropy is called without it"


def test_a_sentinel_that_rests_on_a_default_names_it() -> None:
    finding = found(unused_sentinel, unused(ZERO.assuming(Step("ignore_index = 0", LABEL))))
    assert finding
    assert finding.message.endswith(", given the default ignore_index = 0")


def test_a_sentinel_that_the_loss_skips_anyway_is_quiet() -> None:
    assert found(unused_sentinel, unused(Integer.exact(-100))) is None
