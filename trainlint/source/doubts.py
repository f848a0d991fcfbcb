"""Attributes that a statement may write under an open name: ``setattr(self, key, value)`` in a loop, say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.source import builtin, objects, settings
from trainlint.source.arithmetic import assumed_by
from trainlint.source.binding import declared
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, bound
from trainlint.source.things import Built, Class, Constant, Entries, Frame, Thing
from trainlint.source.world import World
from trainlint.source.writes import by_any_name
from trainlint.value import Integer, Unknown


def doubted(world: World, built: Built, name: str, value: Thing) -> Thing:
    """An attribute with what such statements leave of it: a number becomes a default, anything else is not known."""
    assert isinstance(built.what, Class), "an object of the project"
    classes = tuple(each for each in objects.lineage(world, built.what) if isinstance(each, Class))
    for module, statement in by_any_name(world, classes):
        if not _may_write(world, built, name, module, statement):
            continue
        table = _table(world, built, module, statement)
        if table is not None and settings.has(world, table, name):
            value = builtin.entry(world, table, Constant(name))
        elif table is None and not isinstance(value, Integer | Constant):
            return Unknown(f"setattr in {module.located(statement, world.workspace.root)} may write over it")
        elif table is None:
            value = assumed_by(value, module.step(statement))
    return value


def _may_write(world: World, built: Built, name: str, module: Module, statement: ast.stmt) -> bool:
    """Whether a statement may write this attribute after the class itself did."""
    if not all(_may_be(module, key, name) for key in _keys(module, statement)):
        return False
    function = module.scope(statement)
    named = isinstance(function, ast.FunctionDef) and _spreads_keywords(module, statement, function)
    for _, frame in objects.initialisers(world, built) if getattr(function, "name", "") == "__init__" else ():
        init = objects.function_of(frame)
        if (named and name in declared(init)) or (init is not function and _written_last(frame.module, init, name)):
            return False
        if init is function:
            break
    return True


def _table(world: World, built: Built, module: Module, statement: ast.stmt) -> Entries | None:
    """The table, known as a whole, whose entries a loop writes into the object."""
    node = _spread(module, statement)
    if node is None:
        return None
    function = module.scope(statement)
    if getattr(function, "name", "") == "__init__":
        for _, frame in objects.initialisers(world, built):
            if frame.function is function:
                return _whole(world, node, frame)
    key = ("spread by", statement)
    if key not in world.workspace.answers:
        world.workspace.answers[key] = None
        world.workspace.answers[key] = _whole(world.apart(), node, world.open_frame(module, statement))
    return world.workspace.answers[key]  # type: ignore[return-value]


def _whole(world: World, node: ast.expr, frame: Frame) -> Entries | None:
    opened = world.table(world.evaluate(node, frame))
    return opened if isinstance(opened, Entries) and opened.whole else None


def _spread(module: Module, statement: ast.stmt) -> ast.expr | None:
    """The table over whose items the loop around a statement runs."""
    for loop in _loops(module, statement):
        match loop.iter:
            case ast.Call(func=ast.Attribute(value=table, attr="items")):
                return table
    return None


def _keys(module: Module, statement: ast.stmt) -> tuple[ast.expr, ...]:
    """The keys under which a statement sets attributes."""
    known = module.kept.get(("setattr keys", statement))
    if not isinstance(known, tuple):
        found = []
        for node in nodes_of(statement):
            match node:
                case ast.Call(func=ast.Name(id="setattr"), args=[_, key, _]):
                    found.append(key)
        known = module.kept["setattr keys", statement] = tuple(found)
    return known


def _may_be(module: Module, key: ast.expr, name: str) -> bool:
    """Whether a key may be this name: its fixed parts fit, and a loop over names that are written out names it."""
    match key:
        case ast.JoinedStr(values=parts):
            texts = (re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*" for part in parts)
            return re.fullmatch("".join(texts), name) is not None
        case ast.Name(id=variable):
            written = [set(_texts(loop.iter)) for loop in _loops(module, key) if _runs(loop.target, variable)]
            return not written or not written[0] or name in written[0]
    return True


def _loops(module: Module, node: ast.AST) -> Iterator[ast.For]:
    """The loops around a node, the innermost first."""
    holder = module.parents.get(node)
    while holder is not None and not isinstance(holder, ast.FunctionDef):
        if isinstance(holder, ast.For):
            yield holder
        holder = module.parents.get(holder)


def _runs(target: ast.expr, variable: str) -> bool:
    return isinstance(target, ast.Name) and target.id == variable


def _texts(node: ast.expr) -> Iterator[str]:
    """The strings of a sequence that holds nothing else."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []
    if all(isinstance(each, ast.Constant) for each in parts):
        yield from (str(each.value) for each in parts if isinstance(each, ast.Constant))


def _spreads_keywords(module: Module, statement: ast.stmt, function: ast.FunctionDef) -> bool:
    """Whether a loop runs over ``**kwargs``: no name that a parameter catches, here or in a derived class, is there."""
    for loop in _loops(module, statement):
        match loop.iter:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=table), attr="items")):
                return function.args.kwarg is not None and function.args.kwarg.arg == table
    return False


def _written_last(module: Module, init: objects.FunctionDef, name: str) -> bool:
    """Whether a constructor writes the attribute after it has called that of its base."""
    upward = objects.call_of_base(module, init)
    path = f"{init.args.args[0].arg if init.args.args else 'self'}.{name}"
    rows = (node.lineno for node in init.body if path in bound(node))
    return upward is not None and max(rows, default=0) > upward.lineno
