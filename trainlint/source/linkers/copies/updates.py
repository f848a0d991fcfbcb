"""A statement in; out, the average that it updates and the decay: ``a.mul_(d).add_(w, alpha=1 - d)`` and its kin."""

from __future__ import annotations

import ast

from trainlint.record import thing
from trainlint.source.summary import last

PASSING = frozenset({"detach", "clone", "cpu", "float", "to", "cuda", "type_as"})


@thing
class Update:
    """What is averaged, the expression of the decay, or of what is left of 1 beside it, and what does it."""

    average: ast.expr
    decay: ast.expr | None
    rest: ast.expr | None
    how: str


def update(node: ast.AST) -> Update | None:
    """The update that an expression or a statement makes; None where it makes none."""
    match node:
        case ast.Call(func=ast.Attribute(attr="add_" | "add")):
            return _added(node)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="_foreach_lerp_"), args=[average, _, rest]):
            return Update(average, None, rest, "torch._foreach_lerp_")
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="lerp"), args=[average, _, rest]):
            return Update(bare(average), None, rest, "torch.lerp") if _stores(node) else None
        case ast.Call(func=ast.Attribute(value=average, attr="lerp_"), args=[_, rest]):
            return Update(bare(average), None, rest, "lerp_")
        case ast.Call(
            func=ast.Attribute(value=average, attr="lerp_"), args=[_], keywords=[ast.keyword("weight", rest)]
        ):
            return Update(bare(average), None, rest, "lerp_")
        case ast.Call(func=ast.Attribute(value=average, attr="copy_"), args=[value]):
            return _mixed(bare(average), value)
        case ast.Assign(targets=[target], value=value) if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            return _mixed(bare(target), value)
    return None


def _stores(node: ast.Call) -> bool:
    return any(keyword.arg == "out" for keyword in node.keywords)


def bare(node: ast.expr) -> ast.expr:
    """A tensor behind ``.data``, and behind methods that hand back its numbers."""
    match node:
        case ast.Attribute(value=value, attr="data"):
            return bare(value)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in PASSING:
            return bare(value)
    return node


def _added(node: ast.Call) -> Update | None:
    """``average.mul_(decay).add_(...)``, however the rest is written."""
    assert isinstance(node.func, ast.Attribute), "the caller matched it"
    match node.func.value:
        case ast.Call(func=ast.Attribute(value=average, attr="mul_"), args=[decay]) if node.func.attr == "add_":
            rest = [*(each.value for each in node.keywords if each.arg == "alpha"), *node.args[:1]]
            told = next((each for each in rest if left_of_one(each) is not None or _weighted(each)), None)
            return Update(bare(average), decay, None, "mul_ and add_") if told is not None else None
    return None


def _weighted(node: ast.expr) -> bool:
    """``(1 - decay) * weight``."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return left_of_one(left) is not None or left_of_one(right) is not None
        case ast.Call(func=ast.Attribute(attr="mul"), args=[by]):
            return left_of_one(by) is not None
    return False


def left_of_one(node: ast.expr) -> ast.expr | None:
    """The decay in ``1 - decay``."""
    match node:
        case ast.BinOp(left=ast.Constant(value=1), op=ast.Sub(), right=right):
            return right
    return None


def _mixed(target: ast.expr, value: ast.expr) -> Update | None:
    """``decay * average + (1 - decay) * weight``, in either order."""
    match bare(value):
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            for one, other in ((left, right), (right, left)):
                old = _factor(one, target)
                if old is not None and _weighted(other):
                    return Update(target, old, None, "decay * average + (1 - decay) * weight")
    return None


def _factor(node: ast.expr, target: ast.expr) -> ast.expr | None:
    """What multiplies the average itself."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for factor, value in ((left, right), (right, left)):
                if ast.unparse(bare(value)) == ast.unparse(target):
                    return factor
        case ast.Call(func=ast.Attribute(value=value, attr="mul"), args=[factor]):
            if last(value) and ast.unparse(bare(value)) == ast.unparse(target):
                return factor
    return None
