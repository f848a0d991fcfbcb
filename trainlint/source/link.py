"""Summaries in, facts out: the only step that looks across files.

It starts at the sites of interest and evaluates backwards what each needs, once per path.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from trainlint.facts import Crash, CtcLoss, Fact, Loss
from trainlint.record import dataclass, replace
from trainlint.source.evaluate import Evaluator
from trainlint.source.journal import Dependencies
from trainlint.source.linkers import LINKERS
from trainlint.source.linkers.linker import Linker
from trainlint.source.linkers.site import Site
from trainlint.source.reading import Judged
from trainlint.source.summary import Module
from trainlint.source.workspace import Workspace
from trainlint.source.world import MOST_WORLDS, RESTORED, Budget, Impossible, Path, World, worlds
from trainlint.span import Span
from trainlint.value import Integer, Unknown

ELSEWHERE = Unknown("on one branch this calls something that is not a known loss")
MOST_ANSWERS = 12
"""A fork beneath which there are as many paths as this is not settled before the others."""

MOST_COMBINATIONS = 1024
"""Answers to the forks of a first path, all combined, beyond which a site is given up: few such are followed whole."""

TOO_MANY = Unknown("too many paths lead here to follow them all")


Place = tuple[str, Span, str]
"""One site as it is known from one look to the next: what is done there, where, and the kind of its node."""


@dataclass(frozen=True)
class Chosen:
    """The places of one file that one linker looks at, and the stretch of the journal that this choice rests on."""

    linker: Linker
    sites: Mapping[Place, Site]
    stretch: tuple[int, int]


def doings() -> tuple[str, ...]:
    """What the linkers do, in words, each by its own, in their order."""
    return tuple(linker.doing for linker in LINKERS)


def choices(workspace: Workspace, path: str, wanted: Collection[str]) -> Iterator[Chosen]:
    """The places of a file that the linkers look at which do this; none of a file that cannot be read, or of a test."""
    module = workspace.module(path)
    if isinstance(module, Module) and not module.is_test:
        for linker in (each for each in LINKERS if each.doing in wanted):
            start = len(workspace.journal)
            workspace.module(path)
            looks = linker.may_look_at(module)
            every = linker.sites(Evaluator(workspace.seen_from(path), Path(), None), module) if looks else ()
            sites: dict[Place, Site] = {}
            for site in every:
                sites.setdefault((linker.doing, site.span, type(site.node).__name__), site)
            yield Chosen(linker, sites, (start, len(workspace.journal)))


def judged(workspace: Workspace, linker: Linker, site: Site) -> Judged:
    """What a linker says of one place; a fault there leaves the others alone."""
    start = len(workspace.journal)
    workspace.module(site.module.path)
    site.module.pieces.note_around(site.node)
    facts = tuple(_guarded(workspace.seen_from(site.module.path), linker, site))
    return Judged(site.module.path, site.span, facts, (start, len(workspace.journal)))


def rests_on(workspace: Workspace, judged: Judged) -> Dependencies:
    """The files and the queries, empty answers included, outside of which nothing can change a verdict."""
    return workspace.journal.between(*judged.stretch)


def _guarded(workspace: Workspace, linker: Linker, site: Site) -> Iterator[Fact]:
    try:
        facts = tuple(_facts(workspace, linker, site))
        alone = any(_asks(fact) for fact in facts) and _tells_alone(workspace, linker, site)
        yield from (fact.by_itself() if alone else fact for fact in facts)
    except Exception as error:  # A fault of ours is a finding (TL999); the rest is still judged.
        yield Crash(site.span, site.span, None, (), (), linker.doing, f"{type(error).__name__}: {error}")


def _asks(fact: Fact) -> bool:
    """Whether a fact leaves a question open that a number of its site may settle alone."""
    return fact.by_itself() is not fact and any(fact.unjudged())


def _tells_alone(workspace: Workspace, linker: Linker, site: Site) -> bool:
    """Whether the number that a site is given settles it on every path: then no layer need be known.

    A number is found on fewer forks than a layer, so that paths are followed which the search for the layer gives up.
    """
    budget, seen, last = Budget(linker.steps), 0, Path()

    def make(path: Path) -> World:
        nonlocal last
        world, last = Evaluator(workspace, path, budget), path
        world.narrow = True
        return world

    for facts, path in worlds(make, lambda world: tuple(linker.facts(world, site))):
        seen += 1
        asking = any(True for fact in facts for _ in fact.unjudged())
        if asking or (not facts and not path.followed) or budget.left < 0:
            return False
    return seen > 0 and last.next() is None


@dataclass
class Followed:
    """What the paths to one site show: the facts by their kind, each path with the kinds that it showed, and whether
    every path was followed.
    """

    found: dict[type[Fact], dict[Fact, Fact]]
    paths: list[tuple[Path, set[type[Fact]]]]
    is_whole: bool = True


def _facts(workspace: Workspace, linker: Linker, site: Site) -> Iterator[Fact]:
    """The facts of a site for each path to it: each caller, each arm of a branch that matters."""
    run: Callable[[World], tuple[Fact, ...]] = lambda world: _in_one_world(world, linker, site)  # noqa: E731
    settled = _settled(workspace, linker.steps, run, MOST_WORLDS)
    followed = _followed(workspace, linker.steps, run, settled)
    if not followed.is_whole and not settled and {Loss, CtcLoss} & set(followed.found):
        settled = _settled(workspace, linker.steps, run, 1)
        followed = _followed(workspace, linker.steps, run, settled) if settled else followed
    if not followed.is_whole:
        firsts = tuple(next(iter(of_kind.values())) for of_kind in followed.found.values())
        firsts = firsts if followed.paths else tuple(_from_nowhere(workspace, linker, site))
        yield from filter(None, (fact.given_up(TOO_MANY) for fact in firsts))
        return
    if not followed.paths:
        yield from _from_nowhere(workspace, linker, site)
    for kind, of_kind in ((kind, _without_restored(each)) for kind, each in followed.found.items()):
        others = [path for path, kinds in followed.paths if kind not in kinds]
        yield from _with_others(list(of_kind.values()), others)


def _from_nowhere(workspace: Workspace, linker: Linker, site: Site) -> Iterator[Fact]:
    """What a site shows by itself, where no path was found that leads there."""
    with suppress(Impossible):
        yield from (replace(fact, context=()) for fact in linker.facts(Evaluator(workspace, Path(), None), site))


def _followed(
    workspace: Workspace,
    steps: int,
    run: Callable[[World], tuple[Fact, ...]],
    settled: dict[tuple[object, ...], int],
) -> Followed:
    """Run an evaluation on each path, the forks aside that are settled, until there are too many or no steps left."""
    budget, last, followed = Budget(steps), Path(), Followed(defaultdict(dict), [])

    def make(path: Path) -> World:
        nonlocal last
        world, last = Evaluator(workspace, path, budget), path
        world.given.update(settled)
        return world

    for facts, path in worlds(make, run):
        followed.paths.append((path, {type(fact) for fact in facts}))
        for fact in facts:
            each = replace(fact, branch=path.steps("branch"))
            followed.found[type(fact)].setdefault(replace(fact, context=()), each)
        # What is given up is told: there must be something to tell it of.
        if budget.left < 0 or (followed.found and followed.paths[0][0].combinations > MOST_COMBINATIONS):
            break
    followed.is_whole = last.next() is None
    return followed


def _without_restored(facts: dict[Fact, Fact]) -> dict[Fact, Fact]:
    """The facts of one kind without those that rest on numbers out of a saved file, if the paths on which they were
    saved show others.
    """
    own = {key: fact for key, fact in facts.items() if not _is_restored(fact)}
    return own or facts


def _is_restored(fact: Fact) -> bool:
    if not isinstance(fact, Loss | CtcLoss):
        return False
    layer = fact.layer
    numbers = (fact.ignore_index if isinstance(fact, Loss) else fact.blank, getattr(layer, "classes", layer))
    symbols = (symbol for number in numbers if isinstance(number, Integer) for symbol, _ in number.terms)
    return any(symbol.origin.startswith(RESTORED) for symbol in symbols)


def _settled(
    workspace: Workspace, steps: int, run: Callable[[World], tuple[Fact, ...]], most: int
) -> dict[tuple[object, ...], int]:
    """Where there are more than ``most`` paths: the forks of the first path whose other answers change nothing.

    They keep their first answer; only what matters for this site is then followed on every path. Where an answer leads
    to questions which the first path was not asked, none of their answers may change anything.
    """
    budget, first = Budget(steps), Path()
    known = Evaluator(workspace, first, budget)
    base = _result(known, run)
    if not base or first.combinations <= most:
        return {}
    settled: dict[tuple[object, ...], int] = {}
    for key, fork in reversed(first.forks.items()):
        others = (first.turned(key, answer) for answer in range(1, len(fork.answers)))
        results = [each for other in others for each in _beneath(workspace, budget, run, other, set(first.forks))]
        if budget.left < 0:
            return settled
        if len(results) < MOST_ANSWERS and all(result is None or result == base for result in results):
            settled[key] = 0
    return settled


def _beneath(
    workspace: Workspace,
    budget: Budget,
    run: Callable[[World], tuple[Fact, ...]],
    path: Path,
    known: set[tuple[object, ...]],
) -> Iterator[frozenset[Fact] | None]:
    """What a path shows, and each that answers otherwise to questions which only this path is asked."""
    each: Path | None = path
    for _ in range(MOST_ANSWERS):
        if each is None or budget.left < 0:
            return
        yield _result(Evaluator(workspace, each, budget), run)
        each = each.next()
        if each is None or next(reversed(each.forks)) in known:
            return


def _result(world: World, run: Callable[[World], tuple[Fact, ...]]) -> frozenset[Fact] | None:
    """What one path shows, whichever way it came; None if it cannot be."""
    with suppress(Impossible):
        return frozenset(replace(fact, context=()) for fact in run(world))
    return None


def _in_one_world(world: World, linker: Linker, site: Site) -> tuple[Fact, ...]:
    question = f"{linker.doing} at {id(site.node)}{' narrowly' * world.narrow}"
    facts = world.ask(question, world.module_frame(site.module), lambda each: tuple(linker.facts(each, site)))
    return tuple(replace(fact, context=tuple(world.context.values())) for fact in facts)


def _with_others(facts: Sequence[Fact], others: Sequence[Path]) -> Iterator[Fact]:
    """The facts of one kind at one site, beside the paths on which there is none."""
    if not others:
        seen = Counter(fact.context for fact in facts)
        yield from (replace(fact, branch=()) if seen[fact.context] == 1 else fact for fact in facts)
        return
    unknown = [path for path in others if not path.followed]
    open_one = facts[0].elsewhere(ELSEWHERE) if unknown else None
    yield from facts if open_one else (replace(fact, everywhere=False) for fact in facts)
    if open_one:
        yield replace(open_one, branch=unknown[0].steps("branch"))
