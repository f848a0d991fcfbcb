"""A line of the project in; out, what each name on it is worth and by which lines, or why nobody can say.

This is how a user asks the reader what it believes. It evaluates as the judging of a site does: it enters the callers
and takes the branches that lead to the line.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from trainlint.record import replace
from trainlint.source import callers
from trainlint.source.evaluate import Evaluator
from trainlint.source.summary import Module, dotted, places
from trainlint.source.things import Binding, Constant, Opaque, Tensor, Thing
from trainlint.source.words import A_TENSOR, in_words, lines
from trainlint.source.workspace import Workspace
from trainlint.source.world import Budget, Path, World, worlds
from trainlint.value import Integer, Settled, Unknown, Worth

MOST_WORTHS = 8
"""Values of one name, by caller and branch, that anybody wants to read."""

NOWHERE = Unknown("no path leads here")

Asked = ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.arg


def settled(workspace: Workspace, module: Module, cell: int | None, row: int) -> Iterator[Settled]:
    """What stands in a row is worth, from left to right, each name once."""
    seen: set[str] = set()
    workspace = workspace.seen_from(module.path)
    for node in sorted(_asked(module, cell, row), key=lambda node: (node.col_offset, -(node.end_col_offset or 0))):
        name = f"{module.step(node.func).text}(...)" if isinstance(node, ast.Call) else module.step(node).text
        if name not in seen:
            seen.add(name)
            yield Settled(name, module.span(node), tuple(_worths(workspace, module, node)))


def _asked(module: Module, cell: int | None, row: int) -> Iterator[Asked]:
    """The longest names that start in a row, those that it binds too, and a call that is returned or stands alone."""
    for node in ast.walk(module.tree):
        if isinstance(node, Asked) and module.place(node.lineno) == (cell, row) and _is_wanted(node, module):
            yield node


def _is_wanted(node: Asked, module: Module) -> bool:
    parent = module.parents.get(node)
    match node:
        case ast.Call():
            return isinstance(parent, ast.Return | ast.Expr | ast.Await)
        case ast.arg():
            holder = module.parents.get(parent) if isinstance(parent, ast.arguments) else None
            return isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef)
        case ast.Subscript(value=value, slice=ast.Constant()):
            return dotted(value) is not None
    return dotted(node) is not None and not _is_part(node, parent)


def _is_part(node: ast.expr, parent: ast.AST | None) -> bool:
    """Whether a name only begins a longer one that is asked for itself."""
    match parent:
        case ast.Attribute(value=value):
            return value is node
        case ast.Subscript(value=value, slice=ast.Constant()):
            return value is node
    return False


def _worths(workspace: Workspace, module: Module, node: Asked) -> Iterator[Worth]:
    """Each value once, with the first way that leads to it."""
    budget = Budget()
    make: Callable[[Path], World] = lambda path: Evaluator(workspace, path, budget)  # noqa: E731
    found: dict[tuple[str, Unknown | None], Worth] = {}
    for worth, path in worlds(make, lambda world: _worth(world, _value(world, module, node))):
        by = (*worth.context, *path.steps("branch"))
        found.setdefault((worth.text, worth.why), replace(worth, context=by))
        if len(found) == MOST_WORTHS or budget.left < 0:
            break
    if len(found) == 1:
        yield from (replace(only, context=()) for only in found.values())
        return
    yield from found.values() or (Worth("", NOWHERE),)


def _value(world: World, module: Module, node: Asked) -> Thing:
    """What a node is worth where it stands; a name that is bound there, what it is bound to."""
    if isinstance(node, ast.arg):
        return _parameter(world, module, node)
    frame = world.open_frame(module, node)
    callers.stand(world, node, frame)
    if isinstance(node, ast.Call) or isinstance(node.ctx, ast.Load):
        return world.evaluate(node, frame)
    name = next(places(node), "")
    return world.bound_value(Binding(name, module.statement(node)), name, frame)


def _parameter(world: World, module: Module, node: ast.arg) -> Thing:
    function = module.parents[module.parents[node]]
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef), "asked for parameters of functions alone"
    return world.lookup(node.arg, function.body[0], world.open_frame(module, function.body[0]))


def _worth(world: World, thing: Thing) -> Worth:
    """A thing in words, by this world's caller."""
    known = world.integer(thing) if isinstance(thing, Opaque) else thing
    context = world.way()
    match thing, known:
        case Unknown(), _:
            return Worth("", thing, context=context)
        case Opaque(), Integer(number=None):
            return Worth(thing.name, replace(thing.why, settle=thing.name), thing.evidence, context=context)
    why = known.layer if isinstance(known, Tensor) and isinstance(known.layer, Unknown) else None
    if why is not None and in_words(world, known) == A_TENSOR:
        return Worth(A_TENSOR, why, tuple(lines(known)), context=context)
    assumed = known.assumed if isinstance(known, Integer | Constant) else ()
    return Worth(in_words(world, known), None, tuple(dict.fromkeys(lines(known))), assumed, context)
