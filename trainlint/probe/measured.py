"""The numbers behind the findings of a run: a record in, plain values by place out. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from trainlint.probe.conclusions import median, span
from trainlint.probe.record import LossRecord, ModeRecord, OptimizerRecord, Record
from trainlint.span import Span


def measured(record: Record) -> dict[Span, dict[str, object]]:
    """What was measured at each call: of a loss, of an optimizer, of a change of mode."""
    found: dict[Span, dict[str, object]] = {}
    for where, numbers in _each(record):
        found.setdefault(where, {}).update(numbers)
    return found


def _each(record: Record) -> Iterator[tuple[Span, Mapping[str, object]]]:
    for loss in record.losses:
        yield span(loss.place), _loss(loss)
    for optimizer in record.optimizers:
        yield span(optimizer.place), _optimizer(optimizer)
    for mode in record.modes:
        yield span(mode.place), _mode(mode)


def _loss(loss: LossRecord) -> dict[str, object]:
    signal, training = loss.signal, loss.training
    return {
        "loss": loss.function,
        "classes": loss.classes,
        "ignore_index": loss.ignore_index,
        "arithmetic": dict(loss.arithmetic),
        "calls": training.calls,
        "rows": training.rows,
        "dropped": training.dropped,
        "evaluated_rows": loss.evaluation.rows,
        "sequences": asdict(loss.sequences) if loss.sequences else None,
        "never_targets": sum(not seen for seen in training.counts),
        "margins": list(signal.margins),
        "median_margin": median(signal),
        "zero_signal": signal.zero / signal.live if signal.live else None,
        "rows_without_gradient": signal.dead,
        "lost_signal": signal.lost / signal.live if signal.live else None,
    }


def _optimizer(optimizer: OptimizerRecord) -> dict[str, object]:
    groups = [asdict(group) for group in optimizer.groups]
    return {"optimizer": optimizer.kind, "steps": optimizer.steps, "groups": groups}


def _mode(mode: ModeRecord) -> dict[str, object]:
    return {"module": mode.module, "steps_in_training": mode.before, "steps_in_evaluation": mode.steps}
