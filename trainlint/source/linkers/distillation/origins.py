"""Where the numbers of a tensor come from: an expression in; out, what made them and what was done to them since.

Only what is the same wherever it is computed is passed through: a softmax, a division, a cast. Two tensors of one
origin with the same steps are the same numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from trainlint.record import thing
from trainlint.source import callers
from trainlint.source.binding import argument, declared, parameters
from trainlint.source.names import reaching
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import dotted, last
from trainlint.source.things import Frame, Thunk
from trainlint.source.world import World

DEEPEST = 24
SOFT = {"softmax": "softmax", "log_softmax": "softmax", "log": ""}
"""Two sides of which one is the logarithm of the other agree."""

SAME = frozenset(
    {"detach", "float", "double", "contiguous", "clone", "to", "cpu", "cuda", "type_as", "half", "bfloat16"}
)
SHAPING = frozenset({"view", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "permute"})


@thing
class Origin:
    """What made a tensor, as the code spells it, and the steps since, first to last.

    ``key`` is the same for what is the same object; ``detached`` says that no gradient goes back beyond here.
    """

    node: ast.expr
    frame: Frame
    key: tuple[object, ...]
    steps: tuple[str, ...] = ()

    def then(self, step: str) -> Origin:
        """The same after one more step."""
        return Origin(self.node, self.frame, self.key, (*self.steps, step))


def origin(world: World, node: ast.expr, frame: Frame, depth: int = DEEPEST) -> Origin:
    """What made the numbers of an expression."""
    if depth == 0:
        return Origin(node, frame, (id(node), frame.number))
    match node:
        case ast.Name():
            return _named(world, node, frame, depth)
        case ast.Call(func=func, args=[first, *rest]) if last(func) in SOFT and not _is_method(func):
            return _soft(origin(world, first, frame, depth - 1), last(func), rest, node)
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=given) if attr in SOFT:
            return _soft(origin(world, value, frame, depth - 1), attr, given, node)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in SAME:
            return origin(world, value, frame, depth - 1)
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=given) if attr in SHAPING:
            text = ", ".join(map(ast.unparse, given))
            return origin(world, value, frame, depth - 1).then(f"{attr}({text})")
        case ast.BinOp(left=left, op=ast.Div() | ast.Mult() as op, right=right):
            return origin(world, left, frame, depth - 1).then(f"{type(op).__name__} {ast.unparse(right)}")
        case ast.Subscript(value=value, slice=place):
            return origin(world, value, frame, depth - 1).then(f"[{ast.unparse(place)}]")
        case ast.Attribute(value=ast.Name() | ast.Call() as value, attr=attr) if not _is_stored(node, frame):
            return origin(world, value, frame, depth - 1).then(f".{attr}")
    return Origin(node, frame, (id(node), frame.number))


def _is_stored(node: ast.Attribute, frame: Frame) -> bool:
    """Whether the file writes an attribute of this name: two readings of it may be different objects."""
    return node.attr in frame.module.attributes


def _soft(before: Origin, word: str, given: Sequence[ast.expr], call: ast.Call) -> Origin:
    """The same behind a softmax or a logarithm, with the dimension as it is spelled."""
    places = [ast.unparse(each) for each in given]
    places += [ast.unparse(each.value) for each in call.keywords if each.arg == "dim"]
    return before.then(f"{SOFT[word]}({', '.join(places)})") if SOFT[word] else before


def _is_method(func: ast.expr) -> bool:
    """Whether a softmax is taken of what it is called on, and not of what it is given: ``F`` and ``torch`` are none."""
    return isinstance(func, ast.Attribute) and dotted(func.value) not in ("F", "torch", "nn.functional", "functional")


def _named(world: World, node: ast.Name, frame: Frame, depth: int) -> Origin:
    found = reaching(world, node.id, node, frame)
    if found is None:
        return _parameter(world, node, frame, depth)
    value = _given(found.node, node.id)
    if value is not None and not found.earlier and not _is_changed(node.id, frame):
        return origin(world, value, frame, depth - 1)
    return Origin(node, frame, (id(found.node), node.id, found.earlier, frame.number))


def _given(node: ast.AST, name: str) -> ast.expr | None:
    """What an assignment gives one name."""
    match node:
        case ast.Assign(targets=[ast.Name()], value=value):
            return value
        case ast.Assign(targets=[ast.Tuple(elts=places)], value=ast.Tuple(elts=values)) if len(places) == len(values):
            pairs = zip(places, values, strict=True)
            return next((value for place, value in pairs if isinstance(place, ast.Name) and place.id == name), None)
    return None


def _is_changed(name: str, frame: Frame) -> bool:
    """Whether a scope writes into what a name holds: ``x[mask] = 0``, ``x.add_(1)``."""
    scope = frame.function or frame.module.tree
    for each in nodes_of(scope):
        match each:
            case ast.Subscript(value=ast.Name(id=word), ctx=ast.Store()) if word == name:
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=word), attr=attr)) if word == name and attr.endswith(
                "_"
            ):
                return attr != "requires_grad_"
    return False


def _parameter(world: World, node: ast.Name, frame: Frame, depth: int) -> Origin:
    """A parameter is what the caller passes."""
    function = frame.function
    if function is None or isinstance(function, ast.ClassDef) or node.id not in declared(function):
        return Origin(node, frame, (node.id, frame.module.path, frame.number))
    entered = frame if frame.arguments is not None else callers.entered(world, frame)
    if entered is not None and entered.arguments is not None:
        places = [place.arg for place in parameters(function)]
        given = argument(entered.arguments, places[1:] if entered.receiver is not None else places, node.id)
        if isinstance(given, Thunk) and given.known is None:
            return origin(world, given.node, given.frame, depth - 1)
    return Origin(node, frame, (node.id, id(function), frame.number))
