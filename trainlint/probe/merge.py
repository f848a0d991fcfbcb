"""The records of all processes of a run in, one out: counts are added, extremes kept. Needs no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

from trainlint.probe.record import (
    GroupRecord,
    LossRecord,
    ModeRecord,
    OptimizerRecord,
    Place,
    Record,
    Rows,
    Sequences,
    Signal,
    Unseen,
)

T = TypeVar("T")


def merged(records: Sequence[Record]) -> Record:
    """One record for all. Steps are those of the process that took most: processes step together."""
    if not records:
        return Record()
    unseen: Counter[tuple[str, str]] = Counter()
    for each in (each for record in records for each in record.unseen):
        unseen[each.what, each.why] += each.times
    return replace(
        records[0],
        rank=0,
        world=max(record.world for record in records),
        steps=max(record.steps for record in records),
        complete=all(record.complete for record in records),
        losses=_joined((each for record in records for each in record.losses), _site, _loss),
        optimizers=_joined((each for record in records for each in record.optimizers), _stepped, _optimizer),
        modes=_joined((each for record in records for each in record.modes), _told, _mode),
        padding={size: index for record in records for size, index in record.padding.items()},
        unseen=tuple(Unseen(what, why, times) for (what, why), times in unseen.items()),
        faults=tuple(dict.fromkeys(fault for record in records for fault in record.faults)),
    )


def disagreements(records: Sequence[Record]) -> Iterator[str]:
    """Losses that one rank was given otherwise than another: all should compute the same."""
    seen: dict[Place, dict[int, set[tuple[int, int]]]] = {}
    for record in records:
        for loss in record.losses:
            if loss.training.calls:
                ranks = seen.setdefault(loss.place, {})
                ranks.setdefault(record.rank, set()).add((loss.classes, loss.ignore_index))
    for place, ranks in seen.items():
        if len(set(map(frozenset, ranks.values()))) > 1:
            told = "; ".join(f"rank {rank} {_named(given)}" for rank, given in sorted(ranks.items()))
            yield f"ranks disagree on the loss at {place.path}:{place.row}: {told}"


def _named(given: Iterable[tuple[int, int]]) -> str:
    return " and ".join(f"{classes} classes without {ignored}" for classes, ignored in sorted(given))


def _joined(each: Iterable[T], key: Callable[[T], Hashable], join: Callable[[T, T], T]) -> tuple[T, ...]:
    found: dict[Hashable, T] = {}
    for one in each:
        known = found.get(key(one))
        found[key(one)] = one if known is None else join(known, one)
    return tuple(found.values())


def _site(loss: LossRecord) -> Hashable:
    return loss.place, loss.function, loss.classes, loss.ignore_index


def _stepped(optimizer: OptimizerRecord) -> Hashable:
    return optimizer.place, optimizer.kind, len(optimizer.groups)


def _told(mode: ModeRecord) -> Hashable:
    return mode.place, mode.module


def _loss(one: LossRecord, other: LossRecord) -> LossRecord:
    return replace(
        one,
        arithmetic=_sums(one.arithmetic, other.arithmetic),
        training=_rows(one.training, other.training),
        evaluation=_rows(one.evaluation, other.evaluation),
        sequences=_sequences(one.sequences, other.sequences),
        signal=_signal(one.signal, other.signal),
        probabilities=one.probabilities or other.probabilities,
    )


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return dict(Counter(one) + Counter(other))


def _rows(one: Rows, other: Rows) -> Rows:
    repeated = one.repeated and other.repeated
    return Rows(one.calls + other.calls, one.rows + other.rows, _added(one.counts, other.counts), repeated)


def _added(one: Iterable[int], other: Iterable[int]) -> tuple[int, ...]:
    return tuple(first + second for first, second in zip_longest(one, other, fillvalue=0))


def _sequences(one: Sequences | None, other: Sequences | None) -> Sequences | None:
    if one is None or other is None:
        return one or other
    added = {
        name: getattr(one, name) + getattr(other, name)
        for name in ("batches", "sequences", "whole", "scattered", "filled")
    }
    least, most = min(one.least, other.least), max(one.most, other.most)
    shortest, longest = min(one.shortest, other.shortest), max(one.longest, other.longest)
    return Sequences(**added, least=least, most=most, shortest=shortest, longest=longest)


def _signal(one: Signal, other: Signal) -> Signal:
    pairs = zip(one.windows, other.windows, strict=False)
    return Signal(
        sampled=one.sampled + other.sampled,
        margins=_added(one.margins, other.margins),
        observed=one.observed + other.observed,
        zero=one.zero + other.zero,
        live=one.live + other.live,
        dead=one.dead + other.dead,
        lost=one.lost + other.lost,
        windows=tuple((first[0] + second[0], first[1] + second[1]) for first, second in pairs),
        longest=max(one.longest, other.longest),
    )


def _optimizer(one: OptimizerRecord, other: OptimizerRecord) -> OptimizerRecord:
    groups = tuple(_group(*pair) for pair in zip(one.groups, other.groups, strict=True))
    return replace(one, steps=max(one.steps, other.steps), groups=groups)


def _group(one: GroupRecord, other: GroupRecord) -> GroupRecord:
    """Replicas of one group, or its shards: all that was measured of either."""
    return replace(one, rho=(*one.rho, *other.rho), stuck=(*one.stuck, *other.stuck))


def _mode(one: ModeRecord, other: ModeRecord) -> ModeRecord:
    return one if one.steps <= other.steps else other
