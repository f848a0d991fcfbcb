"""Summaries in, facts out: the only step that looks across files.

It starts at the sites of interest and evaluates backwards what each needs, once per path.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from trainlint.facts import Crash, Fact, LabelledLayer, Layer, Loss, LossInput, Unreadable
from trainlint.source.evaluate import Evaluator
from trainlint.source.linkers import (
    cuts,
    detectors,
    embeddings,
    indices,
    inputs,
    label_masks,
    labels,
    losses,
    means,
    relabelling,
    shifts,
    stops,
    unused,
)
from trainlint.source.linkers.site import Site
from trainlint.source.summary import Module
from trainlint.source.text import Fault
from trainlint.source.workspace import Workspace
from trainlint.source.world import MOST_WORLDS, Budget, Path, World, worlds
from trainlint.span import Span
from trainlint.value import Integer, Position, Step, Unknown

ELSEWHERE = Unknown("on one branch this calls something that is not a known loss")
TOO_MANY = Unknown("too many paths lead here to follow them all")


@dataclass(frozen=True)
class Linker:
    """One kind of site: what is done there in words, the sites of a file, and the facts of a site in one world."""

    doing: str
    sites: Callable[[World, Module], Iterable[Site]]
    facts: Callable[[World, Site], Iterable[Fact]]


LINKERS = (
    Linker("judging a loss", losses.sites, losses.facts),
    Linker("judging what a loss is given", inputs.sites, inputs.facts),
    Linker("judging a mask of labels", label_masks.sites, label_masks.facts),
    Linker("judging a collator", relabelling.sites, relabelling.facts),
    Linker("following a prediction to its label", labels.sites, labels.facts),
    Linker("judging a detector", detectors.sites, detectors.facts),
    Linker("judging an embedding", embeddings.sites, embeddings.facts),
    Linker("judging a stop check", stops.sites, stops.facts),
    Linker("judging a shift of labels", shifts.sites, shifts.facts),
    Linker("looking for the use of a sentinel", unused.sites, unused.facts),
    Linker("judging a cut of the classes", cuts.sites, cuts.facts),
    Linker("judging an index", indices.sites, indices.facts),
    Linker("judging a mean", means.sites, means.facts),
)


def link(workspace: Workspace, files: Sequence[str]) -> Iterator[Fact]:
    """Every fact of these files; a fault at one site leaves the others alone."""
    done: set[tuple[str, int]] = set()
    world = Evaluator(workspace, Path(), None)
    for path in files:
        module = workspace.module(path)
        if isinstance(module, Fault):
            yield _unreadable(path, module)
        elif not module.is_test:
            yield from (_unreadable(path, fault) for fault in module.faults)
            for linker in LINKERS:
                for site in linker.sites(world, module):
                    if (linker.doing, id(site.node)) not in done:
                        done.add((linker.doing, id(site.node)))
                        yield from _guarded(workspace, linker, site)


def joined(facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts of a project, each in the light of the others."""
    return _once_each(_without_parts(_with_twins(facts)))


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


def _unreadable(path: str, fault: Fault) -> Unreadable:
    span = Span(path, fault.row, fault.column, cell=fault.cell)
    return Unreadable(span, span, None, (), (), fault.reason)


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
    return (classes - index).number == 1 and bool(set(index.origins) & {*classes.parts, *classes.origins})


def _guarded(workspace: Workspace, linker: Linker, site: Site) -> Iterator[Fact]:
    try:
        yield from _facts(workspace, linker, site)
    except Exception as error:  # A fault of ours is a finding (TL999); the rest is still judged.
        yield Crash(site.span, site.span, None, (), (), linker.doing, f"{type(error).__name__}: {error}")


def _facts(workspace: Workspace, linker: Linker, site: Site) -> Iterator[Fact]:
    """The facts of a site for each path to it: each caller, each arm of a branch that matters."""
    budget = Budget()
    make: Callable[[Path], World] = lambda path: Evaluator(workspace, path, budget)  # noqa: E731
    found: dict[type[Fact], dict[Fact, Fact]] = defaultdict(dict)
    paths: list[tuple[Path, set[type[Fact]]]] = []
    for facts, path in worlds(make, lambda world: _in_one_world(world, linker, site)):
        paths.append((path, {type(fact) for fact in facts}))
        for fact in facts:
            found[type(fact)].setdefault(replace(fact, context=()), replace(fact, branch=path.steps("branch")))
        if (len(paths) == MOST_WORLDS or budget.left < 0) and path.next() is not None:
            firsts = (next(iter(of_kind.values())) for of_kind in found.values())
            yield from filter(None, (fact.given_up(TOO_MANY) for fact in firsts))
            return
    for kind, of_kind in found.items():
        others = [path for path, kinds in paths if kind not in kinds]
        yield from _with_others(list(of_kind.values()), others)


def _in_one_world(world: World, linker: Linker, site: Site) -> tuple[Fact, ...]:
    facts = tuple(linker.facts(world, site))
    return tuple(replace(fact, context=tuple(world.context.values())) for fact in facts)


def _with_others(facts: Sequence[Fact], others: Sequence[Path]) -> Iterator[Fact]:
    """The facts of one kind at one site, beside the paths on which there is none."""
    if not others:
        seen = Counter(fact.context for fact in facts)
        yield from (replace(fact, branch=()) if seen[fact.context] == 1 else fact for fact in facts)
        return
    open_one = facts[0].elsewhere(ELSEWHERE)
    yield from facts if open_one else (replace(fact, everywhere=False) for fact in facts)
    if open_one:
        yield replace(open_one, branch=others[0].steps("branch"))
