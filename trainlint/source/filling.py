"""A dictionary as the loops of its scope fill it: ``for key, value in section.items(): settings[key] = value``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from trainlint.record import record, replace
from trainlint.source import builtin
from trainlint.source.growth import Around, Lost, between, in_turn
from trainlint.source.names import truth
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, dotted, outermost
from trainlint.source.things import Binding, Constant, Entries, Frame, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Integer

MOST_TURNS = 256
"""A loop over more entries than this is not followed."""

METHODS = frozenset({"update", "pop", "popitem", "clear", "setdefault", "__setitem__", "__delitem__", "move_to_end"})
"""What changes a dictionary, besides writing into it."""

JUMPS = ast.Break | ast.Continue | ast.Return | ast.Raise

Pairs = dict[object, tuple[Thunk, Thunk]]


@record
class Filling:
    """The entries so far of the dictionary under one name."""

    world: World
    name: str
    pairs: Pairs

    def put(self, key: Thing, at: Thunk, value: Thunk) -> None:
        """An entry written over the last one under its key, whose place it keeps."""
        match key:
            case Constant(value=str(word), assumed=()):
                self.pairs[word] = (at, value)
            case Integer(terms=(), constant=number, assumed=()):
                self.pairs[number] = (at, value)
            case _:
                raise Lost


def filled(world: World, thing: Entries, binding: Binding, frame: Frame, use: ast.AST | None) -> Entries | None:
    """A dictionary at its use, whole where every statement between is followed; None where one is not."""
    if not thing.whole or thing.changed or thing.later:
        return None
    filling = Filling(world, binding.name, {})
    try:
        for at, value in thing.pairs:
            filling.put(world.force(at), at, value)
        _all(filling, between(binding.node, frame, use), frame)
    except Lost:
        return None
    return replace(thing, pairs=tuple(filling.pairs.values()))


def _all(filling: Filling, block: Iterable[ast.stmt], frame: Frame) -> None:
    for node in block:
        inside = node.loop if isinstance(node, Around) else node
        if filling.name in _touched(frame.module, inside):
            _follow(filling, node, frame)


def _follow(filling: Filling, node: ast.stmt, frame: Frame) -> None:
    match node:
        case ast.Assign(targets=[ast.Subscript(value=table, slice=key)], value=value) if dotted(table) == filling.name:
            thing = filling.world.evaluate(key, frame)
            filling.put(thing, Thunk(key, frame, thing), Thunk(value, frame))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=table, attr="update"), args=[other], keywords=[])):
            if dotted(table) != filling.name:
                raise Lost
            for at, entry in _whole(filling.world, other, frame).pairs:
                filling.put(filling.world.force(at), at, entry)
        case ast.If():
            decided = _decided(filling.world, node.test, frame)
            if decided is None:
                raise Lost
            _all(filling, node.body if decided else node.orelse, frame)
        case ast.With():
            _all(filling, node.body, frame)
        case ast.For(orelse=[]) if not any(isinstance(each, JUMPS) for each in nodes_of(node)):
            for turn in _turns(filling, node, frame):
                _all(filling, node.body, turn)
        case _:
            raise Lost


def _decided(world: World, test: ast.expr, frame: Frame) -> bool | None:
    """What a test says for sure. What kind an entry is of is as well known as the table is."""
    match test:
        case (
            ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name() as value, ast.Name(id=kind)])
            | ast.Compare(
                left=ast.Call(func=ast.Name(id="type"), args=[ast.Name() as value]),
                ops=[ast.Is() | ast.Eq()],
                comparators=[ast.Name(id=kind)],
            )
        ) if kind in ("dict", "list", "tuple"):
            thing = world.evaluate(value, frame)
            if isinstance(thing, Constant | Integer) and thing.assumed:
                thing = replace(thing, assumed=())
            return builtin.is_of_kind(thing, kind)
    return truth(world, test, frame)


def _turns(filling: Filling, node: ast.For, frame: Frame) -> Iterator[Frame]:
    """A frame for each turn of a loop."""
    values = builtin.sequence(filling.world, filling.world.evaluate(node.iter, frame))
    if values is None or len(values) > MOST_TURNS:
        raise Lost
    for place, value in enumerate(values):
        yield in_turn(filling.world, node, filling.world.force(value), frame, place)


def _whole(world: World, node: ast.expr, frame: Frame) -> Entries:
    table = world.table(world.evaluate(node, frame))
    if not isinstance(table, Entries) or not table.whole or table.changed or table.later:
        raise Lost
    return table


def _touched(module: Module, node: ast.AST) -> frozenset[str]:
    """The names under which anything inside a statement may change a dictionary."""
    known = module.kept.get(("filled", node))
    if not isinstance(known, frozenset):
        known = frozenset(name for each in nodes_of(node) if (name := _changed(each)) is not None)
        module.kept["filled", node] = known
    return known


def _changed(node: ast.AST) -> str | None:
    """The name of the dictionary that a node may change, an entry inside of an entry included."""
    match node:
        case ast.Subscript(ctx=ast.Store() | ast.Del()):
            return dotted(outermost(node, ())[0])
        case ast.AugAssign(target=target):
            return dotted(target)
        case ast.Attribute(value=value, attr=attr) if attr in METHODS:
            return dotted(outermost(value, ())[0])
    return None
