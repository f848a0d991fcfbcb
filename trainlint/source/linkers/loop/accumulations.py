"""Gradients that are added up over several batches, and whether their sum is still a mean.

An optimizer that steps and clears behind a test which lets only each n-th batch through, or behind an inner loop over
n batches, moves by the sum of n gradients. That is a mean where each loss is divided by n, or the gradients are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from trainlint.facts import Accumulation, Grouping
from trainlint.record import thing
from trainlint.regex import regex
from trainlint.source.linkers.loop.by_hand import changes_gradients
from trainlint.source.linkers.site import Site
from trainlint.source.order import Deed, Fork, Held, Turns, held, roots, stepping
from trainlint.source.reductions import Average, Reduction, Tracing, going_backward
from trainlint.source.summary import Module, bound, dotted, last
from trainlint.source.things import Built, External, Thing
from trainlint.source.training import inside
from trainlint.source.world import World, quietly
from trainlint.value import Integer, Unknown

ACCUMULATES = regex(r"accum|grad_acc|micro|virtual|n_acc|acc_step|update_freq|iter_size|subdivision", re.IGNORECASE)
"""How the number of batches is called whose gradients are added up."""

UNSCALED = regex(r"^(?:R|N|Fused)?Adam|^Adam|Lion|^RAdam|Adafactor|RMSprop|LAMB|Lamb|Rprop|Adagrad|SignSGD")
RESCALES = regex(r"(?:scale|average|avg|normali[sz]e|div|multiply|rescale|reduce|mean|sync)_?\w*grad", re.IGNORECASE)
RATE = regex(r"(?<![a-z])lr(?![a-z])|learning_rate|batch_?size|nbs", re.IGNORECASE)
UNSEEN = Unknown("the optimizer is made elsewhere")
NOT_TRACED = Unknown(
    "what the loss is averaged over is not seen", "a loss of PyTorch, or .mean(), in front of backward"
)


@thing
class Group:
    """The number of batches between two steps, as the code spells it, and the test or loop that counts them."""

    number: ast.expr
    node: ast.expr | ast.stmt
    module: Module


def facts(world: World, site: Site) -> Iterator[Accumulation]:
    """What becomes of the gradients of one ``backward``, where they are added up."""
    loss = going_backward(site.call)
    if loss is None or isinstance(site.module.parents.get(site.call), ast.keyword):
        return
    for root in roots(world, site.module, site.call):
        every = held(world, root)
        for back in (each for each in every if each.event.node is site.call):
            yield from _judged(world, site, every, back, loss)


def _judged(world: World, site: Site, every: Sequence[Held], back: Held, loss: ast.expr) -> Iterator[Accumulation]:
    group = _by_test(world, every, back) or _by_loop(every, back)
    if group is None or _is_rescaled(every, back, group):
        return
    reduction = Tracing(world, back.event.module, back.event.entered).of(loss)
    number = _number(world, group)
    if not isinstance(number, Unknown) and number.number == 1 and not number.assumed:
        return
    grouping = _grouping(reduction, group)
    if grouping is None:
        return
    clips = [each.event for each in every if each.event.deed is Deed.CLIP and _shares(each, back)]
    span = site.span
    yield Accumulation(
        span, span, None, (), (), grouping=grouping, over=ast.unparse(group.number), number=number,
        mean=reduction.step, stepped=group.module.step(group.node),
        clipped=clips[0].module.step(clips[0].node) if clips else None, unscaled=_unscaled(world, every, back),
    )  # fmt: skip


def _shares(one: Held, other: Held) -> bool:
    """Whether two events stand in a loop of both."""
    return bool(one.loops and other.loops and one.loops[0] is other.loops[0])


def _grouping(reduction: Reduction, group: Group) -> Grouping | Unknown | None:
    match reduction.average:
        case Average.MEAN:
            return Grouping.BATCH
        case Average.DIVIDED if reduction.leaves_out and _divides(reduction, group):
            return Grouping.UNEVEN
        case Average.OPEN:
            return NOT_TRACED
    return None


def _divides(reduction: Reduction, group: Group) -> bool:
    """Whether a loss is divided by the number of batches itself, and not by that of its terms."""
    return any(last(each) == last(group.number) != "" for each in reduction.divisors)


def _by_test(world: World, every: Sequence[Held], back: Held) -> Group | None:
    """A test that lets only each n-th batch through to the step and to the clearing, and every batch backward."""
    if not back.loops:
        return None
    loop = back.loops[-1]
    steps = [each for each in every if each.event.deed is Deed.STEP and loop in each.holders]
    clears = [each for each in every if each.event.deed is Deed.CLEAR and loop in each.holders]
    for step in steps:
        for fork, _ in _tests(step, loop):
            group = _counted(fork, step.event.module, loop)
            if group is None or any(inner is fork for inner, _ in _tests(back, loop)):
                continue
            if clears and all(_is_counted(each, loop, group) for each in clears):
                return group
    return None


def _tests(one: Held, loop: Turns) -> list[tuple[Fork, int]]:
    """The arms around an event inside a loop."""
    inner = one.holders[one.holders.index(loop) + 1 :]
    return [each for each in inner if isinstance(each, tuple)]


def _is_counted(clear: Held, loop: Turns, group: Group) -> bool:
    """Whether gradients are cleared behind a test of the same number too."""
    wanted = ast.dump(group.number)
    for fork, _ in _tests(clear, loop):
        found = _counted(fork, group.module, loop)
        if found is not None and ast.dump(found.number) == wanted:
            return True
    return False


def _counted(fork: Fork, module: Module, loop: Turns) -> Group | None:
    """The number of a test that holds for each n-th batch."""
    if fork.test is None:
        return None
    tests = [fork.test]
    if isinstance(fork.test, ast.Name):
        tests += _assigned(module, fork.test)
    for test in tests:
        number = _modulo(test) or _counter(test, loop)
        if number is not None:
            return Group(number, fork.test, module)
    return None


def _assigned(module: Module, name: ast.Name) -> list[ast.expr]:
    """What a function puts into a name."""
    found = (each for each in inside(module.scope(name)) if isinstance(each, ast.Assign) and name.id in bound(each))
    return [each.value for each in found]


def _modulo(test: ast.expr) -> ast.expr | None:
    """``n`` of ``(step + 1) % n == 0``."""
    for each in ast.walk(test):
        match each:
            case ast.BinOp(op=ast.Mod(), left=left, right=right) if not isinstance(left, ast.Constant):
                return right
    return None


def _counter(test: ast.expr, loop: Turns) -> ast.expr | None:
    """``n`` of ``count == n``, where each turn of the loop counts."""
    for each in ast.walk(test):
        match each:
            case ast.Compare(left=counter, ops=[ast.Eq() | ast.GtE()], comparators=[number]):
                name = dotted(counter)
                if name is not None and _counts(loop, name) and ACCUMULATES.search(ast.unparse(each)):
                    return number
    return None


def _counts(loop: Turns, name: str) -> bool:
    return any(
        isinstance(each, ast.AugAssign) and dotted(each.target) == name and isinstance(each.op, ast.Add)
        for each in ast.walk(loop.node)
    )


def _by_loop(every: Sequence[Held], back: Held) -> Group | None:
    """An inner loop over n batches, behind which the optimizer steps."""
    if len(back.loops) < 2:
        return None
    outer, inner = back.loops[-2:]
    match inner.node:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[*_, number])) if ACCUMULATES.search(
            ast.unparse(number)
        ):
            pass
        case _:
            return None
    outside = [each for each in every if outer in each.holders and inner not in each.holders]
    within = [each for each in every if inner in each.holders]
    deeds = {each.event.deed for each in outside}
    if {Deed.STEP, Deed.CLEAR} <= deeds and not {Deed.STEP, Deed.CLEAR} & {each.event.deed for each in within}:
        return Group(number, inner.node, inner.module)
    return None


def _is_rescaled(every: Sequence[Held], back: Held, group: Group) -> bool:
    """Whether something else makes up for the number of batches: gradients that are divided, the learning rate."""
    modules = {each.event.module for each in every if _shares(each, back)} | {group.module}
    word = last(group.number)
    return any(_divides_gradients(module) or _rates(module, word) for module in modules)


def _divides_gradients(module: Module) -> bool:
    return changes_gradients(module) or any(RESCALES.search(word) for word in module.loads if "clip" not in word)


def _rates(module: Module, word: str) -> bool:
    """Whether a line of a file computes a learning rate or a batch size with the number of batches."""
    if not word:
        return False
    lines = (row.partition("#")[0] for row in module.rows if word in row)
    return any(
        RATE.search(row) and re.search(r"[*/]", row) and not row.lstrip().startswith(("if", "def")) for row in lines
    )


def _number(world: World, group: Group) -> Integer | Unknown:
    """What the number of batches is worth."""
    found = quietly(world, lambda inner: inner.integer(
        inner.evaluate(group.number, inner.open_frame(group.module, group.node))
    ))  # fmt: skip
    return found if found is not None else Unknown("it is not known")


def _unscaled(world: World, every: Sequence[Held], back: Held) -> str | Unknown:
    """The optimizer that steps, if its steps are the same however large the gradients are."""
    for each in every:
        node = each.event.node
        if each.event.deed is Deed.STEP and _shares(each, back) and isinstance(node, ast.Call):
            optimizer, module = stepping(node), each.event.module
            thing = quietly(world, lambda inner: inner.evaluate(optimizer, inner.open_frame(module, node)))  # noqa: B023
            name = _name(thing)
            return UNSEEN if name is None else name if UNSCALED.search(name) else ""
    return UNSEEN


def _name(thing: Thing | None) -> str | None:
    match thing:
        case Built(what=External(name=name)):
            return name.rpartition(".")[2]
    return None
