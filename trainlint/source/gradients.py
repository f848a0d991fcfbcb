"""Whether a gradient can come of what stands at a place."""

from __future__ import annotations

import ast

from trainlint.source.objects import marks
from trainlint.source.summary import Module, dotted

NO_GRADIENT = {"no_grad", "inference_mode"}


def trains(module: Module, node: ast.AST) -> bool:
    """Whether a gradient can come of a loss.

    Not under ``no_grad``, nor where ``training`` is seen to be false, nor where the value is only shown.
    """
    if _is_only_shown(module, node):
        return False
    holder: ast.AST | None = node
    while holder is not None:
        child, holder = holder, module.parents.get(holder)
        match holder:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if marks(holder) & NO_GRADIENT:
                return False
            case ast.With(items=items) if any(_is_no_gradient(item.context_expr) for item in items):
                return False
            case ast.If(test=ast.Attribute(attr="training"), orelse=orelse) if child in orelse:
                return False
            case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=ast.Attribute(attr="training")), body=body):
                return child not in body and trains(module, holder)
    return True


def _is_only_shown(module: Module, node: ast.AST) -> bool:
    """Whether a value goes nowhere but where it is shown, under its name too."""
    match module.parents.get(node):
        case ast.Assign(targets=[ast.Name(id=name)]):
            scope = module.scope(node)
            uses = [use for use in module.loads.get(name, ()) if isinstance(use, ast.Name)]
            return bool(uses) and all(module.scope(use) is scope and _shows(module, use) for use in uses)
    return _shows(module, node)


def _shows(module: Module, node: ast.AST) -> bool:
    """Whether a value is printed here, or read as a number."""
    parent = module.parents.get(node)
    match parent:
        case ast.FormattedValue():
            return True
        case ast.Call(func=func):
            return func is not node and dotted(func) == "print"
        case ast.Attribute(attr="item"):
            return isinstance(module.parents.get(parent), ast.Call)
    return False


def _is_no_gradient(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    return (dotted(func) or "").rpartition(".")[2] in NO_GRADIENT
