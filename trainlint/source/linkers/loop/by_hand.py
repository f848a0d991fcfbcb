"""Gradients that a file changes by hand: lines that write into them, and hooks that are given them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.regex import regex
from trainlint.source.summary import Module, bound, dotted, last, targets

HOOK = regex(r"^register_\w*hook$")
CHANGES = regex(r"^(?:_foreach_)?(?:mul|div|copy|sub|zero|fill|lerp)_$")
"""Operations that make another gradient of one; what cuts it off, such as ``clamp_``, is none."""


def changes_gradients(module: Module) -> bool:
    """Whether a line of a file scales gradients, clears them or puts others in their place, or a hook of it may."""
    known = module.kept.get("changes gradients")
    if not isinstance(known, bool):
        known = any(map(HOOK.match, module.loads)) or _writes_into(module)
        module.kept["changes gradients"] = known
    return known


def _writes_into(module: Module) -> bool:
    names = _holders(module)
    return any(_is_gradient(each, names) for node in module.nodes for each in _written(node))


def _written(node: ast.AST) -> Iterator[ast.expr]:
    """What a node changes in place."""
    match node:
        case ast.AugAssign(target=target, op=ast.Div() | ast.Mult() | ast.Sub()):
            yield target
        case ast.Assign(targets=[ast.Attribute(attr="grad") as target], value=ast.BinOp() | ast.Call() | ast.Name()):
            yield target
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value="grad"), _]):
            yield ast.Name("grad")
        case ast.Call(func=ast.Attribute(value=value, attr=word), args=args, keywords=keywords):
            if CHANGES.match(word):
                yield args[0] if word.startswith("_foreach") and args else value
            yield from (each.value for each in keywords if each.arg == "out")


def _is_gradient(node: ast.AST, names: frozenset[str]) -> bool:
    """Whether an expression is made of gradients."""
    for each in ast.walk(node):
        match each:
            case ast.Attribute(value=owner, attr="grad") if last(owner) != "autograd":
                return True
            case ast.Name(id=name) if name in names or "grad" in name.lower():
                return True
    return False


def _holders(module: Module) -> frozenset[str]:
    """The names that a file puts gradients into: ``grads = [p.grad for p in parameters]``, ``for g in grads``."""
    names: frozenset[str] = frozenset()
    if "grad" not in module.loads:
        return names
    for _ in range(2):
        names |= {name for node in module.nodes for name in _filled(node, names)}
    return names


def _filled(node: ast.AST, names: frozenset[str]) -> Iterator[str]:
    match node:
        case ast.Assign(value=value) if not isinstance(value, ast.Call) and _is_gradient(value, names):
            yield from bound(node)
        case ast.For(target=target, iter=source) | ast.comprehension(target=target, iter=source):
            if _is_gradient(source, names):
                yield from (name for each in targets(target) if (name := dotted(each)) is not None)
