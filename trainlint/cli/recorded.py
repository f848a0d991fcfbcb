"""``trainlint probe report``: the records of a run in, findings and what was seen out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from trainlint import config
from trainlint.check import Scope, judge, text_of
from trainlint.cli import UsageError, complain
from trainlint.cli.check import layers
from trainlint.cli.options import Said
from trainlint.cli.output import COLOURS, FORMATS, PROGRAMS, choice, rendered, write
from trainlint.config import ConfigError
from trainlint.probe import launch
from trainlint.probe.conclusions import facts, median, span, unobserved
from trainlint.probe.measured import measured
from trainlint.probe.merge import disagreements, merged
from trainlint.probe.record import LossRecord, OptimizerRecord, Record
from trainlint.record import replace
from trainlint.report import Report, place, text
from trainlint.report.table import table
from trainlint.rule import installed
from trainlint.selection import UnknownSelector
from trainlint.span import Span


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Report on the records in a folder."""
    if len(arguments) != 1:
        raise UsageError("which folder? as in: trainlint probe report runs/probe")
    folder = Path(arguments[0])
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    form(said)
    return tell(folder, said)


def form(said: Said) -> str:
    return choice(said, "output-format", FORMATS)


def tell(folder: Path, said: Said) -> int:
    """Write the report on these records; the exit status that goes with it."""
    found, faults = launch.records(folder)
    record = merged(found)
    report = judged(record, said)
    report = replace(report, unobserved=(*report.unobserved, *disagreements(found)))
    report = replace(report, faults=(*report.faults, *faults, *(f"the probe failed: {each}" for each in record.faults)))
    write(_rendered(report, record, said), said.get("output", ("",))[-1], choice(said, "color", COLOURS))
    for fault in report.faults:
        complain(fault)
    for each in report.unobserved:
        print(f"not observed: {each}", file=sys.stderr)
    return report.exit_code


def judged(record: Record, said: Said) -> Report:
    """What the rules make of a record."""
    folder = os.getcwd()
    try:
        own = tuple(layers({name: values for name, values in said.items() if name != "output-format"}, folder))
        here = None if "isolated" in said else config.nearest(folder)
        settings = config.settings((*((here,) if here else ()), *own))
        seen = facts(record)
        report = judge(seen, installed().values(), Scope(folder, settings, (os.sep,)), cache(text_of))
    except (ConfigError, UnknownSelector) as error:
        raise UsageError(str(error)) from error
    return replace(
        report,
        roots=(folder,),
        observer="probe",
        measured=measured(record),
        unobserved=tuple(unobserved(record)),
    )


def _rendered(report: Report, record: Record, said: Said) -> Iterator[text.Line]:
    folder, chosen = os.getcwd(), form(said)
    if chosen in PROGRAMS:
        yield from rendered(chosen, report, folder, {})
    elif chosen == "concise":
        yield from text.concise(report, folder)
    else:
        yield from text.full(report, folder)
        if "quiet" not in said:
            yield from _seen(record, folder)
            yield from text.unjudged(report, folder)
            yield (("bold", _summary(report, record)),)


def _seen(record: Record, folder: str) -> Iterator[text.Line]:
    names = ("loss", "classes", "skips", "targets", "left out", "never a target", "margin", "zero signal", "arithmetic")
    yield from table(names, [_loss(loss, folder) for loss in record.losses])
    yield from [()] if record.losses else []
    stepped = ("optimizer", "class", "steps", "parameters", "lr", "came through")
    rows = [row for each in record.optimizers for row in _groups(each, folder)]
    yield from table(stepped, rows)
    yield from [()] if rows else []
    yield from _modes(record, folder)


def _modes(record: Record, folder: str) -> Iterator[text.Line]:
    """Only of models that trained in both modes: the usual is not told."""
    told = [mode for mode in record.modes if mode.before and mode.steps]
    rows = [(_where(span(each.place), folder), each.module, f"{each.before:,}", f"{each.steps:,}") for each in told]
    yield from table(("told its mode", "model", "steps in training", "steps in evaluation"), rows)
    yield from [()] if rows else []


def _loss(loss: LossRecord, folder: str) -> tuple[str, ...]:
    rows, signal = loss.training if loss.training.calls else loss.evaluation, loss.signal
    margin = median(signal)
    return (
        _where(span(loss.place), folder) + ("" if loss.training.calls else " (evaluation)"),
        f"{loss.classes:,}",
        str(loss.ignore_index),
        f"{rows.rows:,}",
        f"{rows.dropped:,}",
        f"{sum(not seen for seen in rows.counts):,}",
        "-" if margin is None else f"{margin:.1f}",
        f"{signal.zero / signal.live:.1%}" if signal.live else "-",
        ", ".join(loss.arithmetic) or "-",
    )


def _groups(optimizer: OptimizerRecord, folder: str) -> Iterator[tuple[str, ...]]:
    for group in optimizer.groups:
        yield (
            _where(span(optimizer.place), folder),
            optimizer.kind.rpartition(".")[2],
            f"{optimizer.steps:,}",
            ", ".join(f"{count:,} {dtype}" for dtype, count in group.parameters.items()),
            "-" if group.lr is None else f"{group.lr:g}",
            f"{sum(group.rho) / len(group.rho):.0%}" if group.rho else "-",
        )


def _where(where: Span, folder: str) -> str:
    return place(where, folder).rpartition(":")[0]


def _summary(report: Report, record: Record) -> str:
    tally = report.judged["losses"]
    found = f"{len(report.findings)} finding{'s' * (len(report.findings) != 1)}" if report.findings else "no findings"
    counts = (("safe", tally.safe), ("flagged", tally.flagged), ("not judged", tally.unjudged))
    losses = ", ".join(f"{count} {word}" for word, count in counts if count) or "none seen"
    processes = f" in {record.world} processes" if record.world > 1 else ""
    return f"{found} after {record.steps:,} optimizer steps{processes}; losses: {losses}"
