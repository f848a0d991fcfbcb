"""Whether a compared value is the loss that the model has just learned from: added up where ``backward`` runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.knowledge.scores import is_held_out, is_validated
from trainlint.record import replace, thing
from trainlint.regex import regex
from trainlint.source.linkers.selection.measures import (
    feed,
    function_of,
    innermost_loop,
    passed,
    returned,
    spelled,
)
from trainlint.source.names import holds
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Frame
from trainlint.source.world import World
from trainlint.value import Step

DEEPEST = 5
EITHER_WAY = regex(r"amp\b|fp16|half|scaler|apex|accum|deepspeed|fsdp|nan|finite|%|distributed|mixed|precision")
"""Words of tests that decide how a model is trained, not whether."""

MODES = frozenset({"eval", "dev"})
"""Names that say nothing of data: a mode of the model, a device."""


@thing
class Trail:
    """Where the search stands: a frame, the steps taken, and whether other callers no longer count."""

    frame: Frame
    depth: int = 0
    inside: bool = False


def learned(world: World, node: ast.expr, frame: Frame) -> tuple[Step, ...]:
    """The line that takes the training loss into a value, and the line that trains on it; nothing if that is open."""
    return next(_steps(world, node, Trail(frame)), ())


def holds_out(module: Module) -> bool:
    """Whether a file has names of data to choose by: ``val_loader``, ``held_out``, ``meta_data_eval``."""
    names = {*module.loads, *module.definitions, *module.stored} - MODES
    return any(is_held_out(name) for name in names)


def _steps(world: World, node: ast.expr, trail: Trail) -> Iterator[tuple[Step, ...]]:
    if trail.depth > DEEPEST or any(is_validated(name) for name in spelled(node)):
        return
    match node:
        case ast.Name() | ast.Attribute() if dotted(node):
            yield from _fed(world, dotted(_base(node)) or "", node, trail)
        case ast.Call():
            entered = function_of(world, node, trail.frame)
            if entered is not None:
                yield from _entered(world, node, None, trail)
            else:
                for inner in _inner(node):
                    yield from _steps(world, inner, trail)
        case ast.BinOp(left=left, right=right):
            for inner in (left, right):
                yield from _steps(world, inner, trail)
        case ast.Subscript(value=value) | ast.UnaryOp(operand=value) | ast.Attribute(value=value):
            yield from _steps(world, value, trail)
        case ast.IfExp(body=body, orelse=orelse):
            for inner in (body, orelse):
                yield from _steps(world, inner, trail)


def _inner(node: ast.Call) -> list[ast.expr]:
    """What a library's call is made of: its first argument, or the object whose method it is."""
    receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    return [*node.args[:1], *receiver]


def _base(node: ast.expr) -> ast.expr:
    """``losses`` of ``losses.avg``."""
    while isinstance(node, ast.Attribute) and node.attr in ("avg", "val", "value", "mean", "sum", "data", "global_avg"):
        node = node.value
    return node


def _fed(world: World, name: str, use: ast.expr, trail: Trail) -> Iterator[tuple[Step, ...]]:
    """What the nearest line before a use puts into a name."""
    module = trail.frame.module
    fed = feed(module, name, use)
    if fed is None:
        given = None if trail.inside else passed(world, name, trail.frame)
        if given is not None and not _reads_validation(given.frame.module, given.node):
            yield from _steps(world, given.node, replace(trail, frame=given.frame, depth=trail.depth + 1))
        return
    if _is_guarded(module, fed, use):
        return
    taken = _taken(fed, name)
    if taken is None:
        return
    deeper = replace(trail, depth=trail.depth + 1)
    target = fed.targets[0] if isinstance(fed, ast.Assign) else None
    if isinstance(target, ast.Tuple) and isinstance(taken, ast.Call):
        places = [dotted(each) for each in target.elts]
        if not is_validated(name) and not any(is_validated(each) for each in spelled(taken)):
            yield from _entered(world, taken, places.index(name) if name in places else None, deeper)
        return
    trained = _trained_on(module, fed, taken)
    if trained is not None:
        yield module.step(fed), module.step(trained)
    else:
        yield from _steps(world, taken, deeper)


def _reads_validation(module: Module, node: ast.expr) -> bool:
    return any(is_validated(each) for each in spelled(node))


def _taken(fed: ast.stmt, name: str) -> ast.expr | None:
    """What a statement puts into a name."""
    match fed:
        case ast.Assign(value=value) | ast.AugAssign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            if isinstance(fed, ast.AugAssign) and not isinstance(fed.op, ast.Add):
                return ast.copy_location(ast.Name(name, ast.Load()), fed)
            return value
        case ast.Expr(value=ast.Call(args=[value, *_])):
            return value
    return None


def _is_guarded(module: Module, fed: ast.AST, use: ast.AST) -> bool:
    """Whether a test decides if a statement runs before a use that runs anyway."""
    holder: ast.AST | None = fed
    while holder is not None and not holds(module, holder, use):
        holder = module.parents.get(holder)
        outside = isinstance(holder, ast.If | ast.Match) and not holds(module, holder, use)
        if outside and not (isinstance(holder, ast.If) and _trains_either_way(holder)):
            return True
    return False


def _trains_either_way(node: ast.If) -> bool:
    """Whether a test decides how the model is trained, and not whether it is."""
    return EITHER_WAY.search(ast.unparse(node.test).lower()) is not None


def _entered(world: World, call: ast.Call, place: int | None, trail: Trail) -> Iterator[tuple[Step, ...]]:
    """What a function of the project returns."""
    for value, frame in returned(world, call, trail.frame):
        inner = Trail(frame, trail.depth + 1, inside=True)
        if place is None and not isinstance(value, ast.Tuple):
            yield from _steps(world, value, inner)
        elif isinstance(value, ast.Tuple) and place is not None and place < len(value.elts):
            yield from _steps(world, value.elts[place], inner)


def _trained_on(module: Module, fed: ast.stmt, taken: ast.expr) -> ast.expr | None:
    """The ``backward`` of a loss that a statement takes up, if it runs whenever the statement does."""
    loop = innermost_loop(module, fed)
    if loop is None or _is_without_gradient(module, fed):
        return None
    names = {dotted(each) for each in ast.walk(taken) if isinstance(each, ast.Name | ast.Attribute)} - {None}
    for call in module.calls:
        if isinstance(call.func, ast.Attribute) and "backward" in call.func.attr and holds(module, loop, call):
            of = {dotted(each) for each in ast.walk(call) if isinstance(each, ast.Name | ast.Attribute)}
            shared = sorted(name for name in names & of if name and _is_loss(name, taken))
            if shared and _runs_always(module, call, fed, loop) and _is_same(module, shared[0], call, fed):
                return call
    return None


def _is_loss(name: str, taken: ast.expr) -> bool:
    """Whether the name is what is taken up, and no mere part of an object such as ``self``."""
    return (name not in ("self", "torch", "np") and "loss" in name.lower()) or _is_alone(name, taken)


def _is_alone(name: str, taken: ast.expr) -> bool:
    while isinstance(taken, ast.Call | ast.Attribute):
        taken = taken.func if isinstance(taken, ast.Call) else taken.value
    return dotted(taken) == name


def _is_same(module: Module, name: str, call: ast.Call, fed: ast.stmt) -> bool:
    """Whether a name is the same loss in both places."""
    return feed(module, name, call) is feed(module, name, fed)


def _runs_always(module: Module, call: ast.Call, fed: ast.stmt, loop: ast.AST) -> bool:
    """Whether nothing but the manner of training decides if ``backward`` runs where the loss is taken up."""
    holder: ast.AST | None = call
    while holder is not None and holder is not loop:
        child, holder = holder, module.parents.get(holder)
        decides = isinstance(holder, ast.If) and not holds(module, holder, fed) and child is not holder.test
        if decides and isinstance(holder, ast.If) and not (_trains_either_way(holder) or _both(holder)):
            return False
    scope = module.scope(call)
    return holder is loop and module.scope(fed) is scope


def _both(node: ast.If) -> bool:
    """Whether both arms go backward."""
    arms = (node.body, node.orelse)
    return all(any("backward" in last(each.func) for each in _calls(arm)) for arm in arms)


def _calls(block: list[ast.stmt]) -> Iterator[ast.Call]:
    for node in block:
        yield from (each for each in ast.walk(node) if isinstance(each, ast.Call))


def _is_without_gradient(module: Module, node: ast.AST) -> bool:
    holder: ast.AST | None = node
    while holder is not None:
        holder = module.parents.get(holder)
        match holder:
            case ast.With(items=items):
                if any("no_grad" in ast.unparse(item.context_expr) for item in items):
                    return True
    return False
