"""Models chosen by hand: a comparison with the best value so far, and what is kept or stopped by it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Fact, Purpose, Selection
from trainlint.record import replace
from trainlint.regex import regex
from trainlint.source import callers
from trainlint.source.linkers.copies.rounds import is_anew
from trainlint.source.linkers.selection import beside, saves, turning
from trainlint.source.linkers.selection.choices import Choice, choice, choices
from trainlint.source.linkers.selection.endings import around, endings
from trainlint.source.linkers.selection.learned import holds_out, learned
from trainlint.source.linkers.selection.measures import (
    Reading,
    decided,
    innermost_loop,
    is_open_parameter,
    measured,
    readings,
)
from trainlint.source.linkers.site import Site, standing
from trainlint.source.names import truth
from trainlint.source.sift.selection import chooses
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Frame
from trainlint.source.world import World
from trainlint.span import Span
from trainlint.value import Better, Unknown

WAITING = regex(r"count|patien|wait|no_?improv|bad|stop|trial|trigger|stale|worse|es_|early", re.IGNORECASE)
"""What is counted until training stops."""

MODE = regex(
    r"mode(?!l)|greater|higher|lower|better|maxim|minim|direction|bigger|larger|ascend|descend|objective|[\"']m(?:ax|in)[\"']"
)
"""What decides which way a comparison goes."""

ATTACKS = regex(r"attack|adversar|poison|backdoor|trojan", re.IGNORECASE)
"""Code that wants a model to be bad."""

SEARCHES = regex(r"hyper_?param|hpo(?![a-z])|tuner|tuning|sweep|grid_?search|optuna", re.IGNORECASE)
"""Code that looks for settings."""

UNSAID = Unknown("nothing says what is compared")
TWO_WAYS = Unknown("a setting decides which way the comparison goes")
FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


def sites(world: World, module: Module) -> Iterator[Site]:
    """The comparisons with a record by which weights are kept or training is stopped."""
    found = choices(module)
    if found and chooses(module.data):
        yield from (Site(each.compare, module) for each in found if _purpose(module, each) is not None)


def _purpose(module: Module, each: Choice) -> Purpose | None:
    if any(saves.kept_in(module, list(each.winning))) or any(_saves(call) for call in each.handed):
        return Purpose.KEEP
    waits = [*_counted(each.losing), *_counted(each.winning)]
    return Purpose.STOP if any(WAITING.search(name) for name in waits) else None


def _saves(call: ast.Call) -> bool:
    return re.search(r"save|checkpoint|ckpt", last(call.func), re.IGNORECASE) is not None


def _counted(block: tuple[ast.stmt, ...]) -> Iterator[str]:
    """The names that these statements count up or set back."""
    for node in (each for holder in block for each in ast.walk(holder)):
        match node:
            case ast.AugAssign(target=target, value=ast.Constant(value=1)):
                yield last(target)
            case ast.Assign(targets=[target], value=ast.Constant(value=0)):
                yield last(target)


def facts(world: World, site: Site) -> Iterator[Fact]:
    """What one world shows of a comparison."""
    assert isinstance(site.node, ast.Compare), "a site is a comparison"
    module, each = site.module, choice(site.module, site.node)
    purpose = _purpose(module, each) if each is not None else None
    if each is None or purpose is None:
        return
    frame = standing(world, site)
    wins = _wins(world, each, module, frame)
    said = decided(readings(world, each.value, frame))
    bare = Selection(site.span, site.span, None, (), (), "the comparison", purpose, UNSAID, UNSAID)
    if wins is None:
        return
    if isinstance(said, Unknown) or isinstance(wins, Unknown):
        why = said if isinstance(said, Unknown) else wins
        assert isinstance(why, Unknown), "one of the two is open"
        yield replace(bare, measured=why)
        return
    reading, chain = said
    if reading.score is not None and wins is not reading.better and is_open_parameter(reading):
        yield replace(bare, measured=Unknown(f"nobody is seen to pass {reading.name}", reading.name))
        return
    known = replace(
        bare,
        argument=_handed(chain, site),
        measured=measured(reading, chain),
        wins=wins.other if reading.falls else wins,
        because=(module.step(module.statement(each.compare)),),
        cure="turn the comparison round",
        decided=turning.sign(module, each) if not reading.falls and _handed(chain, site) == site.span else None,
    )
    yield _in_company(world, each, known, chain, module) if purpose is Purpose.KEEP else known


def _wins(world: World, each: Choice, module: Module, frame: Frame) -> Better | Unknown | None:
    """Which of two values the comparison takes; None where it never runs, or where the worse model is wanted."""
    if any(MODE.search(text) for text in _beside_it(each)) or _turns_in_its_test(each, module):
        return TWO_WAYS
    if _is_about(ATTACKS, module, each.compare):
        return None
    node: ast.AST | None = each.compare
    while node is not None and node is not frame.function:
        child, node = node, module.parents.get(node)
        if isinstance(node, ast.If) and child is not node.test and MODE.search(ast.unparse(node.test)):
            holding = truth(world, node.test, frame)
            if holding is None:
                return TWO_WAYS
            if holding is not (child in node.body):
                return None
    return each.wins


def _beside_it(each: Choice) -> Iterator[str]:
    """The other parts of a test."""
    waiting = [each.test] if each.test is not None else []
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.BoolOp):
            waiting += part.values
        elif isinstance(part, ast.UnaryOp):
            waiting.append(part.operand)
        elif part is not each.compare:
            yield ast.unparse(part)


def _turns_in_its_test(each: Choice, module: Module) -> bool:
    """Whether the same test compares the same two the other way round."""
    inside = set(ast.walk(each.test)) if each.test is not None else set()
    texts = {ast.unparse(each.record), ast.unparse(each.value)}
    others = [other for other in choices(module) if other.compare in inside and other.compare is not each.compare]
    return any({ast.unparse(other.record), ast.unparse(other.value)} == texts for other in others)


def _handed(chain: tuple[Reading, ...], site: Site) -> Span:
    """Where a caller hands in what is compared; the comparison, if its own function computes it."""
    level = max(reading.level for reading in chain)
    first = next(reading for reading in chain if reading.level == level)
    return first.frame.module.span(first.node) if level else site.span


def _in_company(world: World, each: Choice, known: Selection, chain: tuple[Reading, ...], module: Module) -> Selection:
    """The same choice beside what else is saved, computed and learned from."""
    near = [*(reading.frame.module for reading in chain), *_calling(world, module, each.compare)]
    where = list(dict.fromkeys(near))
    kept = tuple(beside.kept(module, each, where))
    measured = known.measured
    if isinstance(measured, Unknown) or not measured.is_loss or known.wins is not Better.LOWER:
        return replace(known, kept=kept)
    if beside.is_shared(each) or _is_search(world, module, each):
        return replace(known, kept=(module.step(each.compare),))
    top = chain[0]
    return replace(
        known,
        kept=kept,
        metrics=tuple(beside.metrics(world, each, chain, module)),
        learned=learned(world, top.node, top.frame),
        held_out=any(holds_out(each) for each in (module, *(reading.frame.module for reading in chain))),
        endings=endings(world, around(world, [module, *where])),
    )


def _calling(world: World, module: Module, node: ast.AST) -> Iterator[Module]:
    """The files that call the function of a choice."""
    scope = module.scope(node)
    if isinstance(scope, FunctionDef):
        yield from (caller.module for caller in callers.callers_of(world, module, scope))


def _is_search(world: World, module: Module, each: Choice) -> bool:
    """Whether the loop around a choice makes a new model in each turn: it searches for settings."""
    if _is_about(SEARCHES, module, each.compare):
        return True
    loop = innermost_loop(module, each.compare)
    if loop is None:
        return False
    kept = [node for holder in saves.kept_in(module, list(each.winning)) for node in ast.walk(holder)]
    read = (node for node in kept if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load))
    names = {dotted(node) for node in read}
    models = sorted(name for name in names if name and saves.MODEL.search(name.rpartition(".")[2]))
    return any(is_anew(world, module, loop, model) for model in models if model.rpartition(".")[2] != "state_dict")


def _is_about(words: re.Pattern[str], module: Module, node: ast.AST) -> bool:
    """Whether the names of a file, a class or a function around a node say what it is about."""
    names, scope = [module.key], module.scope(node)
    while not isinstance(scope, ast.Module):
        names.append(getattr(scope, "name", ""))
        scope = module.scope(scope)
    return any(words.search(name) for name in names)
