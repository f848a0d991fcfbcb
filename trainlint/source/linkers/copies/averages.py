"""Averages of weights: how fast each forgets, and in which format it is kept.

An average is kept in the format of what it began as: of the model that was copied, at the line that copied it, unless
the copy itself was cast.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Storage, WeightAverage
from trainlint.knowledge import averages as known_averages
from trainlint.knowledge.precision import CASTS, OPEN_CASTS
from trainlint.source import callers, objects
from trainlint.source.binding import argument, arguments, declared
from trainlint.source.casts import cast
from trainlint.source.linkers.copies import containers
from trainlint.source.linkers.copies.updates import Update, left_of_one, update
from trainlint.source.linkers.site import Site, call_of, named, real_of, standing
from trainlint.source.names import final, reaching
from trainlint.source.parameters import trained
from trainlint.source.sift.copies import averages
from trainlint.source.storage import storage
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Arguments, Built, External, Frame, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Real, Unknown

COPIES = frozenset({"deepcopy", "AveragedModel"})
SCHEDULED = Unknown("the decay changes from step to step")
UNFOLLOWED = Unknown("what the average began as is not followed")
MOVES = frozenset({"eval", "train", "requires_grad_", "cuda", "cpu", "clone", "detach", "to", *CASTS, *OPEN_CASTS})


def sites(world: World, module: Module) -> Iterator[Site]:
    """The updates of averages, and the constructions of a library's."""
    if not averages(module.data):
        return
    for node, _ in named(module, known_averages.WORDS):
        call = call_of(module, node)
        if call is not None:
            yield Site(call, module)
    places: tuple[ast.Call | ast.Assign, ...] = (*module.of_kind(ast.Call), *module.of_kind(ast.Assign))
    yield from (Site(each, module) for each in places if update(each) is not None)


def facts(world: World, site: Site) -> Iterator[WeightAverage]:
    """The average of one place in one world."""
    frame = standing(world, site)
    found = update(site.node)
    if found is not None:
        yield from _by_hand(world, site, frame, found)
    elif isinstance(site.node, ast.Call):
        yield from _by_library(world, site, frame)


def _fact(site: Site, average: str, how: str, decay: Real | Unknown, kept: Storage | Unknown) -> WeightAverage:
    return WeightAverage(site.span, site.span, None, (), (), average=average, how=how, decay=decay, stored=kept)


# A library's


def _by_library(world: World, site: Site, frame: Frame) -> Iterator[WeightAverage]:
    called = world.evaluate(site.call.func, frame)
    given = arguments(world, site.call, frame)
    if not isinstance(called, External):
        return
    if called.name == known_averages.AVERAGED.name:
        decay = _of_function(world, given)
        if decay is not None:
            yield _fact(site, "the average", "AveragedModel", decay, _copied(world, site.call, frame))
        return
    known = known_averages.averager(called.name)
    if known is None:
        return
    default = known.signature.defaults.get(known.decay)
    open_one = Real(default) if isinstance(default, float) else Unknown("no decay is given", known.decay)
    rate = real_of(world, argument(given, known.signature.parameters, known.decay), open_one)
    model = argument(given, known.signature.parameters, known.model)
    kept: Storage | Unknown = UNFOLLOWED
    if isinstance(model, Thunk):
        kept = _of_owners(world, model, site.call, frame) if known.model == "parameters" else storage(
            world, world.force(model), site.call, frame
        )  # fmt: skip
    yield _fact(site, f"the average of {known.signature.last}", known.signature.last, rate, kept)


def _of_function(world: World, given: Arguments) -> Real | Unknown | None:
    """The decay of ``multi_avg_fn=get_ema_multi_avg_fn(0.999)``; None where all weights count alike."""
    for name in ("multi_avg_fn", "avg_fn"):
        passed = argument(given, known_averages.AVERAGED.parameters, name)
        if not isinstance(passed, Thunk) or not isinstance(passed.node, ast.Call):
            continue
        func = world.evaluate(passed.node.func, passed.frame)
        signature = known_averages.FUNCTIONS.get(func.name) if isinstance(func, External) else None
        if signature is not None:
            inner = arguments(world, passed.node, passed.frame)
            return real_of(world, argument(inner, signature.parameters, "decay"), Real(0.999))
    return None


def _of_owners(world: World, given: Thunk, node: ast.AST, frame: Frame) -> Storage | Unknown:
    """The format of the models whose parameters an expression hands out."""
    found = trained(world, given)
    if found.open or not found.owners:
        return UNFOLLOWED
    kept = [_began(world, owner.node, owner.frame, node, frame) for owner in found.owners]
    unknown = [each for each in kept if isinstance(each, Unknown)]
    return unknown[0] if unknown else kept[0]


# By hand


def _by_hand(world: World, site: Site, frame: Frame, found: Update) -> Iterator[WeightAverage]:
    rate = _rate(world, found, frame)
    source = _source(site.module, found.average, site.node)
    if source is None:
        return
    if isinstance(source, ast.Name | ast.Attribute):
        kept = containers.stored(world, site, source, frame)
    else:
        kept = _of_owners(world, Thunk(source, frame), site.node, frame)
    yield _fact(site, ast.unparse(found.average), found.how, rate, kept)


def _rate(world: World, found: Update, frame: Frame) -> Real | Unknown:
    """The decay of an update; unknown where it is computed from the number of the step."""
    decay = found.decay if found.rest is None else left_of_one(found.rest)
    if decay is not None:
        return real_of(world, Thunk(decay, frame), SCHEDULED)
    assert found.rest is not None, "one of the two is there"
    rest = real_of(world, Thunk(found.rest, frame), SCHEDULED)
    return Real(1 - rest.number, rest.evidence, rest.assumed) if isinstance(rest, Real) else rest


def _source(module: Module, average: ast.expr, node: ast.AST) -> ast.expr | None:
    """What hands out the tensors that are averaged: what a loop goes over, the table of a subscript, a list."""
    match average:
        case ast.Name(id=name):
            return _looped(module, name, node) or average
        case ast.Subscript(value=value):
            return value
        case ast.Attribute():
            return None
    return average


def _looped(module: Module, name: str, node: ast.AST) -> ast.expr | None:
    """The part of what a loop goes over that gives its value to a variable."""
    parent = module.parents.get(node)
    while parent is not None and not isinstance(parent, ast.FunctionDef | ast.ClassDef):
        if isinstance(parent, ast.For):
            found = _part(parent.target, parent.iter, name)
            if found is not None:
                return found
        parent = module.parents.get(parent)
    return None


def _part(target: ast.expr, over: ast.expr, name: str) -> ast.expr | None:
    match target, over:
        case ast.Name(id=found), _ if found == name:
            return over
        case ast.Tuple(elts=places), ast.Call(func=ast.Name(id="zip"), args=parts) if len(places) == len(parts):
            return next(filter(None, (_part(*pair, name) for pair in zip(places, parts, strict=True))), None)
        case ast.Tuple(elts=places), ast.Call(func=ast.Attribute()):
            return over if any(isinstance(each, ast.Name) and each.id == name for each in places) else None
    return None


# What an average began as


def _began(world: World, model: ast.expr, where: Frame, node: ast.AST, frame: Frame) -> Storage | Unknown:
    """The format of an average that a model holds: of what was copied, at the line that copied it."""
    later = _last_cast(world, model, where)
    if later is not None:
        return later
    for made, inner, line, around in _definitions(world, model, where):
        chain, root = _chain(made)
        for call in reversed(chain):
            known = cast(world, call, inner)
            if known is not None:
                return known
        if isinstance(root, ast.Call) and last(root.func) in COPIES and root.args:
            kept = storage(world, world.evaluate(root.args[0], inner), line, around)
            return _original(world, root, inner, kept) if isinstance(kept, Unknown) else kept
        return UNFOLLOWED if isinstance(root, ast.Name | ast.Attribute) else storage(
            world, world.evaluate(root, inner), line, around
        )  # fmt: skip
    return UNFOLLOWED


def _original(world: World, copy: ast.Call, frame: Frame, why: Unknown) -> Storage | Unknown:
    """The format of a model at the line that copies it, where a name and a straight line of statements tell it."""
    model, module = copy.args[0], frame.module
    name, scope = dotted(model), module.scope(copy)
    casts = [
        call
        for call in module.calls
        if isinstance(call.func, ast.Attribute)
        and last(call.func) in {*CASTS, *OPEN_CASTS}
        and dotted(call.func.value) == name
        and call.lineno < copy.lineno
        and module.scope(call) is scope
    ]
    if name is None or any(module.parents[module.statement(call)] is not scope for call in casts):
        return why
    known = [cast(world, call, frame) for call in casts]
    for made, inner, _, _ in _definitions(world, model, frame):
        known = [*(cast(world, call, inner) for call in _chain(made)[0]), *known]
    return next((each for each in reversed(known) if each is not None), why)


def _copied(world: World, call: ast.Call, frame: Frame) -> Storage | Unknown:
    """The format of what ``AveragedModel`` copies."""
    return storage(world, world.evaluate(call.args[0], frame), call, frame) if call.args else UNFOLLOWED


def _definitions(world: World, model: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, Frame, ast.AST, Frame]]:
    """The expression that a model's name stands for, its frame, and the line and frame where that runs."""
    match model:
        case ast.Name(id=name):
            yield from _named(world, name, model, frame)
        case ast.Attribute(value=ast.Name(), attr=name):
            _, receiver = callers.owner(world, frame)
            yield from _in_init(world, receiver, name)


def _named(world: World, name: str, model: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, Frame, ast.AST, Frame]]:
    found, where = reaching(world, name, model, frame), frame
    if found is None and frame.function is not None and not _is_parameter(name, frame):
        where = world.module_frame(frame.module)
        found = final(world, name, frame.module.tree, where)
    if found is not None and isinstance(found.node, ast.Assign):
        yield found.node.value, where, found.node, where
        return
    thing = world.evaluate(model, frame)
    if isinstance(thing, Built) and isinstance(thing.node, ast.Call) and last(thing.node.func) in COPIES:
        yield thing.node, thing.frame, thing.node, thing.frame


def _is_parameter(name: str, frame: Frame) -> bool:
    return isinstance(frame.function, ast.FunctionDef | ast.AsyncFunctionDef) and name in declared(frame.function)


def _in_init(world: World, receiver: Thing | None, name: str) -> Iterator[tuple[ast.expr, Frame, ast.AST, Frame]]:
    if not isinstance(receiver, Built) or isinstance(receiver.what, External):
        return
    for _, inner in objects.initialisers(world, receiver):
        for each in ast.walk(inner.function) if inner.function is not None else ():
            match each:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=found)], value=made):
                    if found == name:
                        yield made, inner, receiver.node, receiver.frame


def _chain(node: ast.expr) -> tuple[list[ast.Call], ast.expr]:
    """The methods called on what makes a model, first to last, and what makes it."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in MOVES and not _is_module(inner):
            calls, root = _chain(inner)
            return [*calls, node], root
    return [], node


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("copy", "torch")


def _last_cast(world: World, model: ast.expr, frame: Frame) -> Storage | Unknown | None:
    """The last cast of an average under its own name, anywhere in its file."""
    name, module = dotted(model), frame.module
    found: Storage | Unknown | None = None
    for word in (*CASTS, *OPEN_CASTS) if name else ():
        for node in module.loads.get(word, ()):
            call = call_of(module, node)
            if call is not None and isinstance(node, ast.Attribute) and dotted(node.value) == name:
                found = cast(world, call, frame) or found
    return found
