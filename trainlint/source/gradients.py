"""Whether a gradient can come of what stands at a place."""

from __future__ import annotations

import ast
import re

from trainlint.regex import regex
from trainlint.source.names import own_statements
from trainlint.source.objects import marks
from trainlint.source.summary import Module, dotted, last

NO_GRADIENT = frozenset({"no_grad", "inference_mode"})
COMPARES = regex(r"kl|mse|l1|l2|cos|huber|js|dist|match|triplet|contrast", re.IGNORECASE)
"""Losses between two outputs, either of which may be the one that learns."""


def trains(module: Module, node: ast.AST) -> bool:
    """Whether a gradient can come of a loss.

    Not under ``no_grad``, nor of what was made there, nor where ``training`` is seen to be false, nor where the value
    is only shown.
    """
    if _is_only_shown(module, node) or _is_cut_off(module, node):
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


def _is_cut_off(module: Module, node: ast.AST) -> bool:
    """Whether the input of a loss is a name that the same function binds under ``no_grad`` and nowhere else.

    A loss that compares two outputs may learn from the second.
    """
    match node:
        case ast.Call(func=func, args=[ast.Name(id=name), *_]) if not COMPARES.search(last(func)):
            scope = own_statements(module.scope(node))
            known = [each for each in scope if isinstance(each, ast.Assign) and name in module.binds(each)]
            return bool(known) and all(_is_without_gradient(module, each) for each in known)
    return False


def _is_without_gradient(module: Module, node: ast.AST) -> bool:
    holder = module.parents.get(node)
    while isinstance(holder, ast.stmt) and not isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(holder, ast.With) and any(_is_no_gradient(item.context_expr) for item in holder.items):
            return True
        holder = module.parents.get(holder)
    return False


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
