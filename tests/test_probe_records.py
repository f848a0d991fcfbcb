"""From the counts of a run to what is said of it: records in, findings and open questions out. Needs no torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trainlint.finding import Severity
from trainlint.lint import lint
from trainlint.probe.conclusions import facts, unobserved
from trainlint.probe.merge import disagreements, merged
from trainlint.probe.record import (
    BINS,
    GroupRecord,
    LossRecord,
    OptimizerRecord,
    Place,
    Record,
    Rows,
    Sequences,
    Signal,
    Unreadable,
    Unseen,
    read,
    write,
)
from trainlint.rule import installed

PLACE = Place("/project/train.py", 12, 8, 12, 40, "step")
COUNTS = (50, 60, 70, 0)
STOPS = Sequences(batches=10, sequences=40, least=1, most=5, filled=10, shortest=9, longest=9)
GROUP = GroupRecord(1e-3, 0.95, 1e-8, 0.01, False, None, {"float32": 100}, {"float32": 200})
OPTIMIZER = OptimizerRecord(PLACE, "torch.optim.adamw.AdamW", 10, (GROUP,))


def loss(ignored: int = 3, sequences: Sequences | None = STOPS) -> LossRecord:
    """Four classes; 80 of 260 targets are class 3."""
    return LossRecord(
        PLACE, "cross_entropy", 4, ignored, 0.0, "mean", None, {"float32 on cpu": 10}, Rows(10, 260, COUNTS), Rows(),
        sequences, Signal(100, (0,) * (BINS - 1) + (100,), 100, 0, 100),
    )  # fmt: skip


def record(*losses: LossRecord, group: GroupRecord = GROUP) -> Record:
    return Record(steps=10, complete=True, losses=losses, optimizers=(replace(OPTIMIZER, groups=(group,)),))


def found(seen: Record) -> dict[str, Severity]:
    return {finding.code: finding.severity for finding in lint(facts(seen), installed().values())}


def left_open(seen: Record) -> list[str]:
    return [each.why.reason for fact in facts(seen) for each in fact.unjudged()]


def test_a_class_that_closes_every_sequence_is_likely_a_stop() -> None:
    assert found(record(loss())) == {"TL101": Severity.WARNING}


def test_it_is_one_where_another_loss_over_as_many_classes_counts_it() -> None:
    elsewhere = replace(loss(-100), place=replace(PLACE, row=30), training=Rows(), evaluation=Rows(1, 9, (1, 2, 3, 3)))
    assert found(record(loss(), elsewhere)) == {"TL101": Severity.ERROR}


@pytest.mark.parametrize(
    "shape",
    [
        None,
        replace(STOPS, sequences=7),
        replace(STOPS, filled=9),
        replace(STOPS, scattered=1),
        replace(STOPS, filled=0, whole=3),
    ],
)
def test_other_shapes_are_left_open(shape: Sequences | None) -> None:
    assert found(record(loss(sequences=shape))) == {}
    (reason,) = left_open(record(loss(sequences=shape)))
    assert reason.startswith("80 of 260 targets are 3 and are left out")


def test_what_looks_like_padding_in_every_batch_is_padding() -> None:
    seen = record(loss(sequences=replace(STOPS, filled=0, whole=10)))
    assert (found(seen), left_open(seen)) == ({}, [])


def test_padding_that_the_model_names_is_padding() -> None:
    seen = replace(record(loss()), padding={"4": 3})
    assert (found(seen), left_open(seen)) == ({}, [])
    assert found(replace(seen, padding={"5": 3})) == {"TL101": Severity.WARNING}


def test_a_class_without_weight_is_left_out_on_purpose() -> None:
    assert found(record(replace(loss(), ignored_weight=0.0))) == {}
    assert found(record(replace(loss(), ignored_weight=1.0))) == {"TL101": Severity.WARNING}


def test_nothing_is_said_of_a_class_that_no_target_took() -> None:
    seen = record(replace(loss(), training=Rows(10, 180, COUNTS)))
    assert found(seen) == {}
    assert left_open(seen) == ["none of 180 targets was 3"]


def test_one_past_the_measured_width_is_a_note() -> None:
    assert found(record(replace(loss(4, None), training=Rows(10, 260, (50, 60, 70, 80))))) == {"TL102": Severity.NOTE}


@pytest.mark.parametrize(
    ("counts", "severity"),
    [
        ((50, 60, 70, 0), Severity.ERROR),
        ((50, 0, 70, 10), Severity.ERROR),
        ((0, 60, 70, 10), Severity.NOTE),
        ((50, 60, 70, 9), None),
        ((50, 60, 9, 0), None),
        ((50, 60, 0, 0), None),
    ],
)
def test_a_class_is_dead_once_the_others_came_often(counts: tuple[int, ...], severity: Severity | None) -> None:
    seen = record(replace(loss(-100, None), training=Rows(10, sum(counts), counts)))
    assert found(seen).get("TL108") is severity


def test_a_class_that_another_loss_over_as_many_classes_teaches_is_not_dead() -> None:
    real = replace(loss(-100, None), classes=2, training=Rows(10, 320, (0, 320)))
    made = replace(real, place=replace(PLACE, row=30), training=Rows(10, 320, (320, 0)))
    assert found(record(real, made)) == {}
    assert found(record(made)) == {"TL108": Severity.ERROR}


def test_a_batch_that_is_repeated_counts_once() -> None:
    rows = Rows(10, 180, COUNTS, repeated=True)
    assert found(record(replace(loss(-100, None), training=rows))) == {}
    assert found(record(replace(loss(-100, None), training=replace(rows, calls=3)))) == {"TL108": Severity.ERROR}


@pytest.mark.parametrize(("windows", "codes"), [(2, set()), (3, {"TL311"})])
def test_a_signal_that_ends_for_three_windows_is_flagged(windows: int, codes: set[str]) -> None:
    signal = Signal(100, (0,) * BINS, 100, 40, 100, longest=windows)
    counts = Rows(10, 260, (60, 60, 70, 70))
    assert set(found(record(replace(loss(-100, None), training=counts, signal=signal)))) == codes


@pytest.mark.parametrize(
    ("rho", "severity"), [((0.1, 0.2), Severity.ERROR), ((0.7,), Severity.WARNING), ((0.95,), None)]
)
def test_what_came_through_decides_on_short_weights(rho: tuple[float, ...], severity: Severity | None) -> None:
    group = replace(GROUP, parameters={"bfloat16": 9}, state={"bfloat16": 18}, rho=rho, weight_decay=0.0)
    counts = Rows(10, 260, (60, 60, 70, 70))
    assert found(record(replace(loss(-100, None), training=counts), group=group)).get("TL301") is severity


def test_what_a_step_should_be_must_be_known() -> None:
    group = replace(GROUP, parameters={"bfloat16": 9}, unmeasured="what a step of Mine should be is not known")
    seen = record(replace(loss(-100, None), training=Rows(10, 260, (60, 60, 70, 70))), group=group)
    assert (found(seen), left_open(seen)) == ({}, ["what a step of Mine should be is not known"])


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (Record(), "nothing was trained"),
        (Record(steps=3, optimizers=(OPTIMIZER,)), "3 optimizer steps and no loss that is known"),
        (Record(losses=(loss(),)), "no optimizer stepped"),
        (replace(record(loss()), unseen=(Unseen("cross_entropy", "inside a CUDA graph", 2),)),
         "cross_entropy: inside a CUDA graph (2 times)"),
        (record(replace(loss(), probabilities=True)), "class probabilities"),
        (replace(record(loss()), complete=False), "the run was cut off"),
    ],
)  # fmt: skip
def test_what_was_not_observed_is_said(seen: Record, why: str) -> None:
    assert any(why in each for each in unobserved(seen))
    assert not list(unobserved(record(loss())))


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "rank0-1.probe.json"
    group = replace(GROUP, rho=(0.5,), stuck=(0.25,))
    seen = replace(record(loss(), group=group), unseen=(Unseen("a", "b"),), faults=("c",), complete=True)
    write(seen, path)
    assert read(path) == seen
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 99}', '{"version": 1, "rank": 0}'])
def test_what_is_no_record_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.probe.json"
    path.write_text(text)
    with pytest.raises(Unreadable, match=r"x\.probe\.json"):
        read(path)


def test_processes_are_added_up() -> None:
    one, other = record(loss()), replace(record(loss(), loss(-100)), rank=1, world=2, steps=12)
    both = merged([one, other])
    assert (both.world, both.steps, len(both.losses)) == (2, 12, 2)
    first = both.losses[0]
    assert (first.training.rows, first.training.counts) == (520, (100, 120, 140, 0))
    assert first.sequences == replace(STOPS, batches=20, sequences=80, filled=20)
    assert (first.signal.live, sum(first.signal.margins)) == (200, 200)
    assert merged([one]) == replace(one, world=1)
    assert merged([]) == Record()


def test_ranks_that_disagree_are_named() -> None:
    one, other = record(loss()), replace(record(loss(-100)), rank=1)
    assert list(disagreements([one, one])) == []
    (told,) = disagreements([one, other])
    assert told.endswith("train.py:12: rank 0 4 classes without 3; rank 1 4 classes without -100")


def test_what_was_counted_when_a_run_was_cut_off_is_not_left_out() -> None:
    """The targets of a batch are added up before its rows are."""
    assert Rows(calls=1, rows=6, counts=(4, 4, 4), repeated=False).dropped == 0
