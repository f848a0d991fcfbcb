"""Loops that go backward and step, and in which nothing clears the gradients, or only a loop around them does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence, Set

from trainlint.facts import UnclearedGradients
from trainlint.regex import regex
from trainlint.source.linkers.loop.by_hand import changes_gradients
from trainlint.source.linkers.site import Site, call_of
from trainlint.source.order import CLEARS, Deed, Event, Held, Turns, held, roots, stepping
from trainlint.source.reductions import going_backward
from trainlint.source.summary import Module, Scope, last
from trainlint.source.things import Built, External, Thing
from trainlint.source.training import inside
from trainlint.source.world import World, quietly
from trainlint.value import Unknown

UNSEEN = Unknown("which optimizer steps is not seen, and some clear the gradients themselves")
HIDDEN = Unknown("something that is not seen may clear the gradients")
MAY_CLEAR = regex(r"optim|zero|clear|reset|update|callback|hook|step|clip|^on_|before|after", re.IGNORECASE)
"""What functions that are not seen call themselves where they may clear gradients."""

BY_HAND = frozenset({"register_post_accumulate_grad_hook", "dist_autograd", "register_hook", "zero_", "fill_"})
"""Ways to clear gradients, or to have none that stay, that are not followed."""


def facts(world: World, site: Site) -> Iterator[UnclearedGradients]:
    """The loops in which the gradients of one ``backward`` are added to those of the turn before."""
    if going_backward(site.call) is None or BY_HAND & site.module.loads.keys():
        return
    for root in roots(world, site.module, site.call):
        every = held(world, root)
        for back in (each for each in every if each.event.node is site.call):
            yield from _judged(world, site, every, back)


def _judged(world: World, site: Site, every: Sequence[Held], back: Held) -> Iterator[UnclearedGradients]:
    if not back.loops:
        return
    around = [each for each in every if each.loops[:1] == back.loops[:1]]
    found = _stepping(around, back)
    if found is None or _runs_once(found[1]):
        return
    step, loop = found
    cleared = next((each for each in around if each.event.deed is Deed.CLEAR), None)
    if cleared is not None:
        around = [each for each in around if loop in each.holders]
        if any(each.event.deed is Deed.CLEAR for each in around) or not _steps_each_turn(around, step, loop):
            return
    if any(each.event.deed is Deed.MAKE and _is_fresh(each.event, step.event) for each in around):
        return
    span = site.span
    yield UnclearedGradients(
        span, span, None, (), (), optimizer=_spelled(step.event), stepped=step.event.module.step(step.event.node),
        loop=loop.module.step(loop.node), why=_why(world, around, step),
        cleared=cleared.event.module.step(cleared.event.node) if cleared is not None else None,
    )  # fmt: skip


def _stepping(around: list[Held], back: Held) -> tuple[Held, Turns] | None:
    """The step behind a ``backward``, in the innermost loop that holds both."""
    for loop in reversed(back.loops):
        steps = [each for each in around if each.event.deed is Deed.STEP and loop in each.holders]
        behind = [each for each in steps if around.index(each) > around.index(back)]
        if behind:
            return behind[0], loop
    return None


def _runs_once(loop: Turns) -> bool:
    """Whether a loop is left in its first turn."""
    match loop.node:
        case ast.For(body=[*_, ast.Break() | ast.Return()]) | ast.While(body=[*_, ast.Break() | ast.Return()]):
            return True
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=1)])):
            return True
    return False


def _steps_each_turn(around: Sequence[Held], step: Held, loop: Turns) -> bool:
    """Whether one and the same optimizer steps in every turn of a loop."""
    if not isinstance(loop.node, ast.For) or not step.event.subject:
        return False
    inside_it = list(ast.walk(loop.node))
    bound_there = {each.id for each in inside_it if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    if any(isinstance(each, ast.Continue) for each in inside_it) or step.event.subject.partition(".")[0] in bound_there:
        return False
    steps = [each for each in around if each.event.deed is Deed.STEP]
    forks = [each[0] for each in step.holders[step.holders.index(loop) :] if isinstance(each, tuple)]
    return all(
        any((fork, place) in each.holders for each in steps) for fork in forks for place in range(len(fork.arms))
    )


def _is_fresh(made: Event, step: Event) -> bool:
    """Whether an optimizer is made anew in the loop, and with it what it optimizes."""
    name = made.subject
    return bool(name) and (name == step.subject or name.startswith(f"{step.subject}."))


def _spelled(step: Event) -> str:
    assert isinstance(step.node, ast.Call), "a step is a call"
    return ast.unparse(stepping(step.node))


def _why(world: World, around: list[Held], step: Held) -> Unknown | None:
    """What keeps a loop from being judged."""
    modules = {each.event.module for each in around}
    if any(_may_clear(each.event, step.event) for each in around) or any(map(changes_gradients, modules)):
        return HIDDEN
    walked = {each.event.node for each in around}
    if any(_clears_out_of_turn(module, walked) for module in modules):
        return HIDDEN
    event = step.event
    assert isinstance(event.node, ast.Call), "a step is a call"
    node = stepping(event.node)
    thing = quietly(world, lambda inner: inner.evaluate(node, inner.open_frame(event.module, event.node)))
    return None if _is_of_torch(thing) else UNSEEN


def _clears_out_of_turn(module: Module, walked: Set[ast.AST]) -> bool:
    """Whether a function clears gradients that runs around the turns of a loop: a generator, what a decorator makes."""
    nodes = (node for word, nodes in module.loads.items() if CLEARS.search(word) for node in nodes)
    return any(_is_around(module, module.scope(node)) for node in nodes if call_of(module, node) not in walked)


def _is_around(module: Module, scope: Scope) -> bool:
    if isinstance(module.scope(scope), ast.FunctionDef) or isinstance(scope, ast.Lambda):
        return True
    return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in inside(scope))


def _is_of_torch(thing: Thing | None) -> bool:
    match thing:
        case Built(what=External(name=name)):
            return name.startswith("torch.optim.")
    return False


def _may_clear(event: Event, step: Event) -> bool:
    """Whether a call that is not seen has the optimizer, or an object that holds it, and may clear what it clears."""
    if event.is_seen or event.deed is not Deed.CALL or not isinstance(event.node, ast.Call):
        return False
    if any(step.subject == each or step.subject.startswith(f"{each}.") for each in event.given):
        return True
    owner = event.subject.rpartition(".")[0]
    holds = bool(owner) and (step.subject == owner or step.subject.startswith(f"{owner}."))
    return holds and MAY_CLEAR.search(last(event.node.func)) is not None
