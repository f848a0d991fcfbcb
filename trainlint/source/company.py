"""The facts of a whole project in; out, each in the light of the others: what one alone cannot say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from trainlint.facts import Fact, LabelledLayer, Layer, Loss, LossInput, Optimizer, Selection, Storage
from trainlint.record import replace
from trainlint.span import Span
from trainlint.value import Integer, Position, Step, Unknown

MOST_BESIDE = 3
"""Casts on other ways to an optimizer that are worth a line."""


def joined(facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts of a project, each in the light of the others."""
    return _with_other_casts(_first_of_file(_once_each(_without_parts(_with_twins(facts)))))


def _with_other_casts(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Each optimizer that is given short weights, beside what makes them short on the other ways to it."""
    known = tuple(facts)
    casts: dict[Span, list[Step]] = defaultdict(list)
    for fact in known:
        if isinstance(fact, Optimizer) and fact.short is not None and isinstance(fact.weights, Storage):
            casts[fact.call] += fact.weights.evidence[:1]
    for fact in known:
        if isinstance(fact, Optimizer) and isinstance(fact.weights, Storage) and len(casts.get(fact.call, ())) > 1:
            others = [step for step in dict.fromkeys(casts[fact.call]) if step not in fact.weights.evidence]
            yield replace(fact, beside=tuple(others[:MOST_BESIDE]))
        else:
            yield fact


def _once_each(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Losses that the same input reaches, as one: the first of them, beside the others."""
    known = tuple(facts)
    reaching: dict[Span, set[tuple[object, ...]]] = defaultdict(set)
    for fact in known:
        if isinstance(fact, LossInput):
            reaching[fact.call].add((fact.reaches, fact.wants, fact.several, fact.is_chosen, fact.everywhere))
    alike: dict[frozenset[tuple[object, ...]], list[Span]] = defaultdict(list)
    for call in sorted(reaching):
        alike[frozenset(reaching[call])].append(call)
    for fact in known:
        if not isinstance(fact, LossInput) or isinstance(fact.reaches, Unknown):
            yield fact
        else:
            first, *others = alike[frozenset(reaching[fact.call])]
            if fact.call == first:
                yield replace(fact, beside=tuple(Step(f"{fact.function} is given the same", each) for each in others))


def _first_of_file(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Choices by the lowest loss alone: all but the first of a file say that they repeat it."""
    known = tuple(facts)
    first: dict[str, Span] = {}
    chosen = [fact for fact in known if isinstance(fact, Selection) and fact.keeps_lowest_loss]
    for selection in sorted(chosen, key=lambda each: each.call):
        if (selection.is_named or not selection.metrics) and not selection.learned:
            first.setdefault(selection.call.path, selection.call)
    for fact in known:
        repeats = isinstance(fact, Selection) and first.get(fact.call.path, fact.call) != fact.call
        yield replace(fact, is_repeated=True) if isinstance(fact, Selection) and repeats else fact


def _without_parts(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Each table that a layer serves, unless it serves another that has a label for each of its classes."""
    known = tuple(facts)
    served = [fact for fact in known if isinstance(fact, LabelledLayer) and isinstance(fact.layer, Layer)]
    whole = {(fact.call, fact.table.size) for fact in served}
    for fact in known:
        if isinstance(fact, LabelledLayer) and isinstance(fact.layer, Layer):
            width = fact.layer.classes.number
            if width != fact.table.size and (fact.call, width) in whole:
                continue
        yield fact


def _with_twins(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Each loss whose index is one past the end, beside a layer of the project in which the same symbol is a class."""
    known = tuple(facts)
    layers = [fact.layer for fact in known if isinstance(fact, Loss) and isinstance(fact.layer, Layer)]
    for fact in known:
        if isinstance(fact, Loss) and fact.position is Position.ONE_PAST and isinstance(fact.ignore_index, Integer):
            twin = next((layer for layer in layers if _is_twin(layer.classes, fact.ignore_index)), None)
            yield replace(fact, twin=twin) if twin else fact
        else:
            yield fact


def _is_twin(classes: Integer, index: Integer) -> bool:
    is_counted = not set(index.origins).isdisjoint((*classes.parts, *classes.origins))
    return is_counted and (classes - index).number == 1
