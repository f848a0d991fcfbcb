"""Ids that a program looks up in a table of labels, and the labels that it looks up by what was predicted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Ids
from trainlint.source import builtin
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module
from trainlint.source.things import Arguments, Constant, Entries, Frame, Items, Tensor, Thing
from trainlint.source.world import World
from trainlint.value import Integer, Step, Table

KEEPING = frozenset(
    {
        "float", "double", "half", "to", "type", "type_as", "cpu", "cuda", "detach", "detach_", "clone", "contiguous",
        "int", "long", "pin_memory", "expand", "expand_as", "roll", "flip", "view_as", "reshape_as", "squeeze",
        "squeeze_", "unsqueeze", "unsqueeze_", "repeat_interleave", "index_select", "gather", "masked_select", "numpy",
        "view", "reshape", "flatten", "transpose", "permute", "t", "argmax",
    }
)  # fmt: skip
"""Operations of a tensor after which its entries are what they were."""


ADDING = (ast.Add, ast.Sub)


def by_subscript(world: World, table: Entries, node: ast.Subscript, frame: Frame) -> Tensor | None:
    """``ids[label]`` of a label that only a run knows."""
    key = world.evaluate(node.slice, frame)
    return _ids(world, table, node, frame) if _is_open(key) else None


def by_method(world: World, table: Thing, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Tensor | None:
    """``labels.index(label)`` and ``ids.get(label)`` of a label that only a run knows."""
    match table, name, given.positional:
        case (Items(), "index", [key]) | (Entries(), "get", [key]) if _is_open(world.force(key)):
            return _ids(world, table, node, frame)
        case Entries(), "get", [key, rest] if _is_open(world.force(key)):
            found, other = _ids(world, table, node, frame), world.force(rest)
            number = other.number if isinstance(other, Integer) else None
            is_entry = found is not None and number is not None and found.ids[0].table.label(number) is not None
            return found if is_entry else None
    return None


def of_comprehension(world: World, thing: Items) -> tuple[Ids, ...]:
    """What a list written out by a comprehension was looked up in, whatever its labels were."""
    if not isinstance(thing.node, ast.ListComp) or thing.frame.module is None:
        return ()
    made = world.evaluate(thing.node.elt, thing.frame)
    return made.ids if isinstance(made, Tensor) else ()


def moved(ids: tuple[Ids, ...], by: Integer) -> tuple[Ids, ...]:
    """The same ids with a number added to each."""
    if by.number is None:
        return ()
    return tuple(Ids(each.table, each.where, each.offset + by.number) for each in ids)


def table_behind(world: World, number: Integer, near: str) -> Table | None:
    """The table in which a number was looked up: ``PAD = ids["<pad>"]``."""
    for origin in number.origins:
        label = origin.partition("[")[2].removesuffix("]").strip("'\"")
        if not label:
            continue
        for module in world.workspace.mentions(label, near):
            for container, node in _lookups(module, label):
                quiet, frame = world.apart(), world.open_frame(module, node)
                value = quiet.evaluate(node, frame)
                if isinstance(value, Integer) and origin in value.origins:
                    return builtin.table_of(quiet, quiet.evaluate(container, frame))
    return None


def unmoved(world: World, table: Table) -> Step | None:
    """A place where the project looks up a label that only a run knows, if it counts on from no such place."""
    word = table.name.rpartition(".")[2]
    found: list[Step] = []
    for module in world.workspace.mentions(word, table.where.path) if word.isidentifier() else ():
        for name in () if module.is_test else module.loads.get(word, ()):
            node = _lookup(module, name)
            thing = world.apart().evaluate(node, world.open_frame(module, node)) if node is not None else None
            if node is None or not isinstance(thing, Tensor) or all(ids.table != table for ids in thing.ids):
                continue
            if _counts_on(module, node):
                return None
            found.append(module.step(module.statement(node)))
    return found[0] if found else None


def _lookup(module: Module, name: ast.expr) -> ast.expr | None:
    """The expression that looks something up in a container that is read here."""
    parent = module.parents.get(name)
    match parent:
        case ast.Subscript(value=value) if value is name:
            return parent
        case ast.Attribute(attr="index" | "get") if isinstance(call := module.parents.get(parent), ast.Call):
            return call
    return None


def _counts_on(module: Module, node: ast.expr) -> bool:
    """Whether the function around a lookup adds to something, which may be the id."""
    scope = module.scope(node)
    around: ast.AST = module.statement(node) if isinstance(scope, ast.Module) else scope
    return any(isinstance(each, ast.BinOp | ast.AugAssign) and isinstance(each.op, ADDING) for each in nodes_of(around))


def _lookups(module: Module, label: str) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Where a file looks up one label: the container, and the whole expression."""
    for node in module.keys.get(label, ()):
        if isinstance(node.ctx, ast.Load):
            yield node.value, node
    for method in module.loads.get("index", ()):
        call = module.parents.get(method)
        match call:
            case ast.Call(func=ast.Attribute(value=container), args=[ast.Constant(value=text)]) if text == label:
                yield container, call


def _is_open(key: Thing) -> bool:
    return not isinstance(key, Constant | Integer | Tensor)


def _ids(world: World, table: Thing, node: ast.AST, frame: Frame) -> Tensor | None:
    """Ids of a table that is whole, and whose labels stand for numbers."""
    assert isinstance(table, Entries | Items), "a table of labels"
    known = builtin.table_of(world, table)
    if known is None or not known.complete or (isinstance(table, Entries) and not _gives_numbers(world, table)):
        return None
    where = frame.module.span(builtin.expression(node))
    return Tensor(ids=(Ids(known, where),), evidence=(frame.step(builtin.expression(node)),))


def _gives_numbers(world: World, table: Entries) -> bool:
    return not table.changed and all(isinstance(world.force(value), Integer) for _, value in table.pairs)
