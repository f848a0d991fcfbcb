"""What a run shows: records in, facts out, in the vocabulary that reading code speaks too. Needs no torch.

What the run left open is in the facts; what it could not see at all is listed beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from trainlint.facts import (
    ClassCoverage,
    Dtype,
    Fact,
    Facts,
    Job,
    Layer,
    Loss,
    Optimizer,
    Storage,
    StuckEval,
    Targets,
    ZeroSignal,
)
from trainlint.knowledge.optimizers import Step as StepLength
from trainlint.knowledge.optimizers import optimizer
from trainlint.probe.record import (
    BINS,
    HIGHEST,
    LOWEST,
    GroupRecord,
    LossRecord,
    ModeRecord,
    OptimizerRecord,
    Place,
    Record,
    Sequences,
    Signal,
)
from trainlint.span import Span
from trainlint.value import Integer, Proof, Real, Role, Step, Unknown

SEQUENCES_AT_LEAST = 8
"""Fewer could all end in the same way by chance."""

SHOWN = 10
"""Classes that are named one by one."""

STEPS_AT_LEAST = 20
"""Steps in evaluation mode before it looks like an oversight: shorter stretches may be on purpose."""


def facts(record: Record) -> Facts:
    """Everything that a run says about the places in the user's code."""
    return Facts([*_losses(record), *_coverage(record), *_signals(record), *_optimizers(record), *_modes(record)])


def span(place: Place) -> Span:
    """A place as findings know it."""
    return Span(place.path, place.row, place.column, place.end_row, place.end_column)


def unobserved(record: Record) -> Iterator[str]:
    """What a verdict would need and the run did not show."""
    learned = [loss for loss in record.losses if loss.training.calls]
    if not record.losses and not record.optimizers and not record.unseen:
        yield "no loss and no optimizer step was seen: nothing was trained, or nothing of it passed through torch"
    elif record.steps and not learned:
        yield (
            f"{_times(record.steps, 'optimizer step')} and no loss that is known: a loss that is written by hand, fused"
            " by another library or called through torch.ops is not seen"
        )
    elif learned and not record.steps:
        yield "losses were computed and no optimizer stepped: one that is no torch.optim.Optimizer is not seen"
    elif record.losses and not learned:
        yield "every loss was computed without gradients: nothing was trained"
    if (record.losses or record.optimizers) and not record.complete:
        yield f"the run was cut off: what is said holds for what was recorded, {_times(record.steps, 'step')}"
    yield from (f"{each.what}: {each.why} ({_times(each.times, 'time')})" for each in record.unseen)
    if any(loss.probabilities for loss in learned):
        yield "losses over class probabilities: which classes are targets is not counted"


def _losses(record: Record) -> Iterator[Fact]:
    for loss in record.losses:
        if loss.training.calls and loss.training.counts:
            yield _loss(loss, record)


def _loss(loss: LossRecord, record: Record) -> Loss:
    where = span(loss.place)
    layer = Layer("the layer before this loss", Integer.exact(loss.classes), where)
    index = Integer.exact(loss.ignore_index)
    return Loss(
        where,
        where,
        None,
        (),
        (),
        loss.function,
        layer,
        index,
        loss.ignore_index == -100,
        _job(loss, record),
        Targets(),
    )


def _job(loss: LossRecord, record: Record) -> Job | Unknown | None:
    """What the run shows of the class that the loss skips; None where it skips none."""
    if not 0 <= loss.ignore_index < loss.classes:
        return None
    index, where = loss.ignore_index, span(loss.place)
    if not loss.training.dropped:
        return Unknown(
            f"none of {loss.training.rows} targets was {index}", "a run with other data, or reading the code"
        )
    left_out = f"{loss.training.dropped} of {loss.training.rows} targets are {index} and are left out"
    dropped = Step(left_out, where)
    if record.padding.get(str(loss.classes)) == index or loss.ignored_weight == 0:
        return Job(Role.PAD, Proof.RUN, "padding", (dropped,))
    return _by_shape(loss.sequences, index, dropped, tuple(_counting(loss, record)))


def _counting(loss: LossRecord, record: Record) -> Iterator[Step]:
    """Where another loss over as many classes learns or measures what this one leaves out; its head may be another."""
    index = loss.ignore_index
    for other in record.losses:
        if other.classes == loss.classes and other.ignore_index != index:
            counted = sum(rows.counts[index] for rows in (other.training, other.evaluation) if rows.counts)
            if counted:
                yield Step(f"{counted} targets {index} count in this loss", span(other.place))


def _by_shape(sequences: Sequences | None, index: int, dropped: Step, counting: tuple[Step, ...]) -> Job | Unknown:
    """A class that closes every sequence, and no more than that in the longest, is a stop; it is surely one where
    another loss counts it.
    """
    settle = "reading the code, or a loss elsewhere that counts it"
    if sequences is None or sequences.sequences < SEQUENCES_AT_LEAST:
        return Unknown(f"{dropped.text}, and the run does not show what class {index} is for", settle)
    total = sequences.sequences
    if not sequences.scattered and sequences.filled >= sequences.batches:
        ends = Step(f"{total} sequences in {_batches(sequences)}: the fullest of each lost one target", dropped.where)
        label = f"what each of {total} sequences ends in, the longest too"
        return Job(Role.END, Proof.USE if counting else Proof.RUN, label, (dropped, ends, *counting))
    if not sequences.scattered and sequences.whole >= sequences.batches:
        return Job(Role.PAD, Proof.RUN, "padding", (dropped,))
    return Unknown(
        f"{dropped.text}, in {sequences.whole} of {total} sequences none and in {sequences.scattered} of them in front"
        f" of others, and the run does not show what class {index} is for",
        settle,
    )


def _coverage(record: Record) -> Iterator[ClassCoverage]:
    """One fact for each number of classes: a class that counts anywhere is not dead, and heads are not told apart."""
    widths: dict[int, list[LossRecord]] = {}
    for loss in record.losses:
        if loss.training.calls and loss.training.counts:
            widths.setdefault(loss.classes, []).append(loss)
    for classes, losses in widths.items():
        counts = [sum(each) for each in zip(*(loss.training.drawn for loss in losses), strict=True)]
        untaught = {record.padding.get(str(classes)), *(loss.ignore_index for loss in losses)}
        missing = [number for number, seen in enumerate(counts) if not seen and number not in untaught]
        where = span(max(losses, key=lambda loss: loss.training.kept).place)
        least, shown = min((seen for seen in counts if seen), default=0), tuple(missing[:SHOWN])
        yield ClassCoverage(where, where, None, (), (), classes, sum(counts), shown, len(missing), least)


def _signals(record: Record) -> Iterator[Fact]:
    for loss in record.losses:
        signal = loss.signal
        if signal.live:
            where, arithmetic = span(loss.place), max(loss.arithmetic, key=lambda name: loss.arithmetic[name])
            yield ZeroSignal(
                where, where, None, (), (), signal.zero / signal.live, signal.live, signal.longest, arithmetic,
                _significand(arithmetic), median(signal),
            )  # fmt: skip


def _significand(arithmetic: str) -> int | None:
    """The bits in which a loss is summed; other hardware than a CPU sums short numbers in longer ones."""
    name, _, where = arithmetic.partition(" on ")
    known = (dtype.significand for dtype in Dtype if dtype.value == name)
    return next(known, None) if where.startswith("cpu") else None


def median(signal: Signal) -> float | None:
    """The middle of the margins, as far as the histogram knows it."""
    half = sum(signal.margins) / 2
    if not half:
        return None
    place = next(number for number, total in enumerate(accumulate(signal.margins)) if total >= half)
    return LOWEST + (place + 0.5) * (HIGHEST - LOWEST) / BINS


def _optimizers(record: Record) -> Iterator[Fact]:
    for each in record.optimizers:
        for group in each.groups:
            formats = [dtype for dtype in Dtype if group.parameters.get(dtype.value)]
            if formats:
                yield _optimizer(each, group, formats[-1])


def _optimizer(record: OptimizerRecord, group: GroupRecord, dtype: Dtype) -> Optimizer:
    """One group of parameters."""
    where, known = span(record.place), optimizer(record.kind)
    state = next((each for each in reversed(Dtype) if group.state.get(each.value)), None)
    return Optimizer(
        where,
        where,
        None,
        (),
        (),
        name=record.kind.rpartition(".")[2],
        weights=_weights(group, dtype, where),
        lr=_real(group.lr),
        decay=_real(group.weight_decay),
        eps=_real(group.eps) if known and known.eps and not group.fused else None,
        second=None if group.second is None or not (known and known.second) else Real(group.second),
        state=state or Unknown("it keeps nothing of each weight, or took no step"),
        scales=bool(known and (known.decoupled or group.decoupled)),
        bounded=bool(known and known.step is StepLength.LEARNING_RATE),
        transmitted=sum(group.rho) / len(group.rho) if group.rho else None,
    )


def _weights(group: GroupRecord, shortest: Dtype, where: Span) -> Storage | Unknown:
    counts = " and ".join(f"{count:,} {name}" for name, count in group.parameters.items())
    if shortest.is_short and len(group.parameters) > 1:
        return Unknown(f"it steps weights of several formats, {counts}", "reading the code")
    if shortest.is_short and group.unmeasured:
        return Unknown(group.unmeasured, "reading the code")
    return Storage(shortest, (Step(f"it steps {counts} weights", where),))


def _real(number: float | None) -> Real | Unknown:
    return Unknown("it is not a number") if number is None else Real(number)


def _modes(record: Record) -> Iterator[Fact]:
    for mode in record.modes:
        if mode.steps >= STEPS_AT_LEAST and mode.before and mode.layers:
            yield _stuck(mode)


def _stuck(mode: ModeRecord) -> StuckEval:
    where = span(mode.place)
    return StuckEval(
        where, where, None, (), (), mode.module, mode.layers,
        proof=(Step(f"{mode.steps} steps in evaluation mode", span(mode.optimizer)),), before=mode.before,
        steps=mode.steps,
    )  # fmt: skip


def _times(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _batches(sequences: Sequences) -> str:
    return f"{sequences.batches} batch" if sequences.batches == 1 else f"{sequences.batches} batches"
