"""Targets that a function leaves out by a comparison, before a loss or after it: ``keep = labels != EOS``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.knowledge.roles import index_roles
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, last
from trainlint.source.things import Thunk
from trainlint.value import Role

SKIPPED = ("pad", "ignor")
"""How the names of what a loss skips sound, beside those of what ends a sequence."""

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


def left_out(target: Thunk, call: ast.Call, module: Module, *, each: bool) -> ast.expr | None:
    """The number whose targets do not count; ``each`` says that the loss gives one value for each target."""
    scope, name = module.scope(call), root(target.node)
    if target.frame.module is not module or not isinstance(scope, FunctionDef) or not name:
        return None
    masks = [*_choosing(target.node), *(_masking(scope, _stored(module, call)) if each else ())]
    if _counts_elsewhere(scope, call, name, {root(mask) for mask in masks} - {"", name}):
        return None
    found = [number for mask in masks for number in _compared(mask, name, scope)]
    return min(found, key=lambda number: not ends(number), default=None)


def ends(node: ast.expr) -> bool:
    """Whether a name says that a number ends a sequence."""
    return isinstance(node, ast.Name | ast.Attribute) and Role.END in index_roles(last(node))


def root(node: ast.expr) -> str:
    """The name that a chain of methods and subscripts starts from: ``target`` of ``target.view(-1)``."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _counts_elsewhere(scope: FunctionDef, loss: ast.Call, targets: str, masks: set[str]) -> bool:
    """Whether the function uses what a mask leaves out: the mask turned round, or the targets in another loss."""
    for node in nodes_of(scope):
        match node:
            case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=turned) if root(turned) in masks:
                return True
            case ast.BinOp(left=ast.Constant(value=1), op=ast.Sub(), right=turned) if root(turned) in masks:
                return True
            case ast.Compare(left=left, ops=[ast.Eq()]) if root(left) == targets:
                return True
            case ast.Call(args=[_, _, *_] as given) if node is not loss:
                if any(root(each) == targets or root(each) in masks for each in given):
                    return True
    return False


def _choosing(node: ast.expr) -> Iterator[ast.expr]:
    """The subscripts by which some of the targets are taken."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript):
            yield node.slice
        node = node.func if isinstance(node, ast.Call) else node.value


def _stored(module: Module, call: ast.Call) -> str:
    """The name that a loss gets."""
    match module.parents.get(call):
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _masking(scope: FunctionDef, loss: str) -> Iterator[ast.expr]:
    """What the values of a loss are multiplied with, or chosen by."""
    for node in nodes_of(scope):
        match node:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                yield from (other for one, other in ((left, right), (right, left)) if root(one) == loss)
            case ast.Subscript(value=value, slice=mask) if root(value) == loss:
                yield mask


def _compared(mask: ast.expr, name: str, scope: FunctionDef, depth: int = 0) -> Iterator[ast.expr]:
    """The numbers that a mask compares the targets with, through its name and what it is joined with."""
    match mask:
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]):
            yield from (
                number for one, number in ((left, right), (right, left)) if root(one) == name and _skips(number)
            )
        case ast.Call(func=ast.Attribute(value=left, attr="ne"), args=[right]) if root(left) == name and _skips(right):
            yield right
        case ast.Call(func=ast.Attribute(value=inner)):
            yield from _compared(inner, name, scope, depth)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.Mult(), right=right):
            yield from (number for side in (left, right) for number in _compared(side, name, scope, depth))
        case ast.Name(id=word) if not depth:
            for node in nodes_of(scope):
                if isinstance(node, ast.Assign) and [root(each) for each in node.targets] == [word]:
                    yield from _compared(node.value, name, scope, depth + 1)


def _skips(node: ast.expr) -> bool:
    named = isinstance(node, ast.Name | ast.Attribute)
    return ends(node) or (named and any(word in last(node).lower() for word in SKIPPED))
