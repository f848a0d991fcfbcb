"""Casts to 32 bits or more that stand in plain sight: an expression in, the cast that decides out, whoever calls.

Only the lines of one function are read, and only those that run whatever its branches do: what is found holds on every
path, so that none has to be followed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Dtype
from trainlint.knowledge.precision import CASTS, FORMATS
from trainlint.source.summary import Module, dotted, last, places
from trainlint.source.things import Cast

KEEPING = frozenset(
    {
        "view", "reshape", "flatten", "contiguous", "transpose", "permute", "squeeze", "unsqueeze", "clone", "detach",
        "masked_fill", "clamp", "tanh", "log_softmax", "softmax", "log", "mean", "sum", "cuda", "cpu", "t",
        "rearrange", "gather", "index_select", "expand", "repeat", "chunk", "split",
    }
)  # fmt: skip
"""Methods and functions of a tensor whose result has its format."""

SUMS = frozenset({"log_softmax", "softmax", "log"})
DEEPEST = 12


def cast(module: Module, node: ast.expr, depth: int = DEEPEST) -> Cast | None:
    """The cast by which an expression has 32 bits or more, if one is in sight."""
    if depth == 0:
        return None
    match node:
        case ast.Call():
            return _of_call(module, node, depth)
        case ast.Subscript(value=value):
            return cast(module, value, depth - 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            return cast(module, left, depth - 1) or cast(module, right, depth - 1)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return cast(module, operand, depth - 1)
        case ast.Name(id=name):
            before = _assigned(module, name, node)
            return cast(module, before, depth - 1) if before is not None else None
    return None


def softened(module: Module, node: ast.expr) -> Cast | None:
    """The cast of what a ``log_softmax`` is given; one behind it comes too late."""
    value = _assigned(module, node.id, node) if isinstance(node, ast.Name) else node
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in KEEPING - SUMS:
        value = value.func.value
    is_one = isinstance(value, ast.Call) and last(value.func) == "log_softmax"
    return cast(module, value) if is_one and value is not None else None


def _of_call(module: Module, node: ast.Call, depth: int) -> Cast | None:
    func, word = node.func, last(node.func)
    told = next((keyword.value for keyword in node.keywords if keyword.arg == "dtype"), None)
    if told is not None and word in ("softmax", "log_softmax", "to"):
        wide = _wide(told)
        return Cast(wide, (module.step(node),)) if wide is not None else None
    if isinstance(func, ast.Attribute) and word in CASTS and not node.args:
        wide = Dtype(CASTS[word])
        return None if wide.is_short else Cast(wide, (module.step(node),))
    if isinstance(func, ast.Attribute) and word in ("to", "type"):
        found = next((each for argument in node.args if (each := _named(argument)) is not None), None)
        if found is not None:
            return None if found.is_short else Cast(found, (module.step(node),))
        return cast(module, func.value, depth - 1) if _is_to_a_device(node) else None
    if word not in KEEPING:
        return None
    is_function = isinstance(func, ast.Name) or (dotted(func) or "").partition(".")[0] in ("torch", "F", "nn", "einops")
    inner = (node.args[0] if node.args else None) if is_function else getattr(func, "value", None)
    return cast(module, inner, depth - 1) if inner is not None else None


def _wide(node: ast.expr) -> Dtype | None:
    found = _named(node)
    return None if found is None or found.is_short else found


def _named(node: ast.expr) -> Dtype | None:
    """``torch.float32``."""
    head, _, word = (dotted(node) or "").rpartition(".")
    return Dtype(FORMATS[word]) if head == "torch" and word in FORMATS else None


def _is_to_a_device(node: ast.Call) -> bool:
    """Whether what ``to`` is given says that it is a device."""
    given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg != "non_blocking")]
    return all("device" in (dotted(each) or "") for each in given)


def _assigned(module: Module, name: str, use: ast.Name) -> ast.expr | None:
    """The one value that a name has where it is used, if no branch and no loop decides about it."""
    if _is_of_comprehension(module, name, use):
        return None
    child: ast.AST = module.statement(use)
    while True:
        parent = module.parents.get(child)
        if parent is None or isinstance(parent, ast.ClassDef | ast.Module):
            return None
        if isinstance(parent, ast.For | ast.AsyncFor | ast.While) and name in module.binds(parent):
            return _last(module, name, child, parent) if child in parent.body else None
        found = _last(module, name, child, parent)
        if found is not None or _is_bound_before(module, name, child, parent):
            return found
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return None
        child = parent


def _is_of_comprehension(module: Module, name: str, use: ast.AST) -> bool:
    """Whether a name is the variable of a comprehension around its use."""
    node: ast.AST | None = use
    while node is not None and not isinstance(node, ast.stmt):
        if any(
            isinstance(each, ast.comprehension) and name in places(each.target) for each in ast.iter_child_nodes(node)
        ):
            return True
        node = module.parents.get(node)
    return False


def _before(child: ast.AST, parent: ast.AST) -> Iterator[ast.stmt]:
    """The statements of the same block before this one, the nearest first."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and child in block:
            yield from reversed(block[: block.index(child)])


def _is_bound_before(module: Module, name: str, child: ast.AST, parent: ast.AST) -> bool:
    return any(name in module.binds(each) for each in _before(child, parent))


def _last(module: Module, name: str, child: ast.AST, parent: ast.AST) -> ast.expr | None:
    """The value of the nearest statement before this one that binds a name, if it does nothing else."""
    nearest = next((each for each in _before(child, parent) if name in module.binds(each)), None)
    match nearest:
        case ast.Assign(targets=[ast.Name()], value=value):
            return value
        case ast.With(body=body):
            inner = next((each for each in reversed(body) if name in module.binds(each)), None)
            return inner.value if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Name) else None
    return None
