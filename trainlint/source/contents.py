"""What a list of token ids may hold: every number that some line puts into it, or the line that leaves it open.

Order does not matter here, nor which path runs: all that is ever put in counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product

from trainlint.record import thing
from trainlint.source import builtin, callers
from trainlint.source.binding import arguments, declared
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Entries, Frame, Function, Thing
from trainlint.source.world import World
from trainlint.value import Integer, Step, Unknown

KEEPS = frozenset(
    {"tensor", "LongTensor", "as_tensor", "array", "asarray", "list", "tuple", "stack", "cat", "long", "clone", "int"}
)
"""Callables that hold what they are given."""

CODECS = ("utf-8", "utf8", "latin-1", "ascii")
Ends = tuple[Integer, Integer]
BYTES = (Integer.exact(0), Integer.exact(255))


@thing
class Held:
    """Numbers from ``lowest`` to ``highest`` that a line puts in."""

    lowest: Integer
    highest: Integer
    where: Step

    def excludes(self, number: Integer) -> bool:
        """Whether none of them is this number."""
        above, below = (self.lowest - number).minimum, (number - self.highest).minimum
        return (above is not None and above > 0) or (below is not None and below > 0)


def held(
    world: World, node: ast.expr, frame: Frame, within: frozenset[object] = frozenset()
) -> Iterator[Held | Unknown]:
    """Everything that a list may hold; ``within`` are the variables and functions that are being looked into."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from held(world, part, frame, within)
        case ast.Dict(values=parts):
            for part in parts:
                yield from held(world, part, frame, within)
        case ast.Starred(value=value) | ast.Subscript(value=value, slice=ast.Slice() | ast.Tuple()):
            yield from held(world, value, frame, within)
        case ast.BinOp(left=left, op=ast.Add(), right=right) if _is_list(world, node, frame):
            yield from held(world, left, frame, within)
            yield from held(world, right, frame, within)
        case ast.BinOp(left=ast.List() as items, op=ast.Mult()):
            yield from held(world, items, frame, within)
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
            yield from held(world, element, frame, within)
        case ast.IfExp(body=body, orelse=orelse):
            yield from held(world, body, frame, within)
            yield from held(world, orelse, frame, within)
        case ast.Call():
            yield from _called(world, node, frame, within)
        case ast.Name() if (own := _bindings(frame, node.id)) is not None:
            for each in own if (key := (frame.number, node.id)) not in within else ():
                yield from held(world, each, frame, within | {key})
        case _:
            yield from _number(world, node, frame)


def _is_list(world: World, node: ast.BinOp, frame: Frame) -> bool:
    """Whether a sum joins lists: a side that is one shows it."""
    sides = (node.left, node.right)
    return not any(isinstance(world.integer(world.evaluate(side, frame)), Integer) for side in sides)


def _called(world: World, node: ast.Call, frame: Frame, within: frozenset[object]) -> Iterator[Held | Unknown]:
    if last(node.func) in KEEPS and node.args:
        yield from held(world, node.args[0], frame, within)
        return
    if _is_bytes(node):
        yield Held(*BYTES, frame.step(frame.module.statement(node)))
        return
    ranges = _ranges(world, node, frame)
    if ranges:
        yield from (Held(*ends, frame.step(frame.module.statement(node))) for ends in ranges)
        return
    thing = world.evaluate(node.func, frame)
    if isinstance(thing, Function) and isinstance(thing.node, ast.FunctionDef) and thing.node not in within:
        inner = callers.activation(world, thing, arguments(world, node, frame), node, frame)
        for each in nodes_of(thing.node):
            if isinstance(each, ast.Return) and inner.module.scope(each) is thing.node and each.value is not None:
                yield from held(world, each.value, inner, within | {thing.node})
        return
    yield Unknown(f"what {ast.unparse(node.func)}() returns may carry it", ast.unparse(node.func))


def _is_bytes(node: ast.Call) -> bool:
    """``text.encode("utf-8")`` gives numbers up to 255; ``tokenizer.encode(text)`` may give any."""
    match node:
        case ast.Call(func=ast.Attribute(attr="encode"), args=[ast.Constant(value=str(codec))]):
            return codec.lower() in CODECS
        case ast.Call(func=ast.Name(id="bytes"), args=[_, ast.Constant(value=str(codec))]):
            return codec.lower() in CODECS
    return False


def _bindings(frame: Frame, name: str) -> list[ast.expr] | None:
    """Everything that a function puts into one of its own variables; None for a name of somebody else."""
    function = frame.function
    if not isinstance(function, ast.FunctionDef) or name in declared(function):
        return None
    found = [value for node in nodes_of(function) for value in _put(frame.module, node, name)]
    return found or None


def _put(module: Module, node: ast.AST, name: str) -> Iterator[ast.expr]:
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=target)], value=value)
            | ast.AugAssign(target=ast.Name(id=target), value=value)
        ) if target == name:
            if not (isinstance(value, ast.Subscript) and dotted(value.value) == name):
                yield value
        case ast.Call(func=ast.Attribute(value=ast.Name(id=target), attr="append" | "extend"), args=[value]):
            if target == name:
                yield value
        case ast.Call(func=ast.Attribute(value=ast.Name(id=target), attr="insert"), args=[_, value]):
            if target == name:
                yield value
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=target))], value=value) if target == name:
            yield value


def _number(world: World, node: ast.expr, frame: Frame) -> Iterator[Held | Unknown]:
    """One number, as far as it is known."""
    ranges = _ranges(world, node, frame)
    yield from (Held(*ends, frame.step(frame.module.statement(node))) for ends in ranges)
    if not ranges:
        text = ast.unparse(node)
        yield Unknown(f"{text} may carry it", text)


def _ranges(world: World, node: ast.expr, frame: Frame) -> list[Ends]:
    """The ranges that an expression can fall into; none where it is open."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            pairs = product(_ranges(world, left, frame), _ranges(world, right, frame))
            return [(first[0] + second[0], first[1] + second[1]) for first, second in pairs]
        case ast.Call(func=ast.Attribute(value=value, attr="index"), args=[_]):
            length = builtin.length(world, world.evaluate(value, frame))
            return [] if isinstance(length, Unknown) else [(Integer.exact(0), length - Integer.exact(1))]
        case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[_, default]):
            table, other = _values(world, world.evaluate(value, frame)), _ranges(world, default, frame)
            return [*table, *other] if table and other else []
        case ast.Subscript(value=value) if not isinstance(node.slice, ast.Slice):
            return _values(world, world.evaluate(value, frame))
        case ast.Name() if (over := _comprehended(frame.module, node)) is not None:
            return [BYTES] if isinstance(over, ast.Call) and _is_bytes(over) else []
    number = world.integer(world.evaluate(node, frame))
    return [(number, number)] if isinstance(number, Integer) and number.number is not None else []


def _values(world: World, table: Thing) -> list[Ends]:
    """The numbers of a table that is written out; none if one is not known."""
    if not isinstance(table, Entries) or not table.whole:
        return []
    values = [world.integer(world.force(value)) for _, value in table.pairs]
    known = [(value, value) for value in values if isinstance(value, Integer) and value.number is not None]
    return known if len(known) == len(values) else []


def _comprehended(module: Module, name: ast.Name) -> ast.expr | None:
    """What a comprehension runs over, for its own variable."""
    node: ast.AST | None = name
    while node is not None and not isinstance(node, ast.stmt):
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            for each in node.generators:
                if isinstance(each.target, ast.Name) and each.target.id == name.id:
                    return each.iter
        node = module.parents.get(node)
    return None
