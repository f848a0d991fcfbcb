"""Sizes of tensors that nobody settled: two of them are the same number if they are read off the same shape."""

from __future__ import annotations

import ast

from trainlint.source.names import reaching
from trainlint.source.things import Frame, Opaque
from trainlint.source.world import World
from trainlint.value import Unknown

KEEPING = frozenset({"contiguous", "float", "double", "half", "detach", "clone", "cpu", "cuda", "to", "type"})
DEEPEST = 8
"""Assignments that one shape is followed through."""


def size(world: World, node: ast.expr, frame: Frame) -> Opaque | None:
    """``logits.size(1)`` and ``logits.shape[1]`` as a number of its own; None for anything else."""
    match node:
        case (
            ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[place], keywords=[])
            | ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"), slice=place)
        ) if (number := _number(place)) is not None:
            name = ast.unparse(node)
            why = Unknown(f"{name} is decided when it runs", name)
            return Opaque(name, dimension(world, tensor, number, frame), why, 1, node)
    return None


def _number(place: ast.expr) -> int | None:
    match place:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def dimension(world: World, tensor: ast.expr, place: int, frame: Frame) -> str:
    """What tells one dimension of a tensor from all others."""
    return f"{shape(world, tensor, frame)}.size({place})"


def shape(world: World, node: ast.expr, frame: Frame, depth: int = 0) -> str:
    """What tells the shape of a tensor from all others; equal parts of one tensor share theirs."""
    itself = f"{id(node)}#{frame.number}"
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=given):
            if name in KEEPING:
                return shape(world, inner, frame, depth + 1) if depth < DEEPEST else itself
            if name in ("squeeze", "unsqueeze") and all(_number(each) is not None for each in given):
                places = ",".join(str(_number(each)) for each in given)
                return f"{shape(world, inner, frame, depth + 1)}.{name}({places})" if depth < DEEPEST else itself
        case ast.Name(id=name):
            return _of_name(world, node, name, frame, depth)
    return itself


def _of_name(world: World, node: ast.Name, name: str, frame: Frame, depth: int) -> str:
    found = reaching(world, name, node, frame)
    if found is None:
        return f"{name}#{frame.number}"
    match found.node:
        case ast.Assign(targets=[ast.Name()], value=value) if depth < DEEPEST:
            return shape(world, value, frame, depth + 1)
        case ast.Assign(targets=[ast.Tuple()], value=value) if _is_even(value):
            return f"part of {id(value)}#{frame.number}"
    return f"{name}:{id(found.node)}#{frame.number}"


def _is_even(node: ast.expr) -> bool:
    """Whether a call cuts a tensor into parts of one shape."""
    match node:
        case ast.Call(func=ast.Attribute(attr="split"), args=[ast.Constant(value=1), *_]):
            return True
        case ast.Call(func=ast.Attribute(attr="unbind")):
            return True
    return False
