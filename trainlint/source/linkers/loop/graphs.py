"""Losses that are kept with their graphs once they went backward: ``total += loss``, ``losses.append(loss)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import KeptGraph
from trainlint.source.gradients import trains
from trainlint.source.linkers.site import Site
from trainlint.source.reductions import going_backward
from trainlint.source.summary import Module, dotted, last
from trainlint.source.training import inside
from trainlint.source.world import World

Loop = ast.For | ast.AsyncFor | ast.While
SAME_GRAPH = frozenset({"to", "cuda", "cpu", "float", "double", "mean", "sum", "clone", "squeeze", "view", "reshape"})
"""Methods of a tensor whose result hangs on the graph of the tensor."""

FREES = frozenset({"item", "detach", "detach_", "tolist", "numpy", "clear", "pop", "popleft"})
SHORT = 64
"""A loop over a range of fewer turns than this keeps little."""


def facts(world: World, site: Site) -> Iterator[KeptGraph]:
    """What keeps the loss of one ``backward`` for as long as a loop runs."""
    loss = going_backward(site.call)
    module = site.module
    name = dotted(_base(loss)) if loss is not None else None
    if name is None or site.call.keywords or name.partition(".")[0] == "self":
        return
    scope = module.scope(site.call)
    around = _loops(module, site.call, scope)
    for node in inside(scope):
        kept = _kept(module, node, name) if isinstance(node, ast.stmt) else None
        if kept is None or not isinstance(node, ast.stmt) or not trains(module, node):
            continue
        own = _loops(module, node, scope)
        loop = own[0] if own and own[0] in around else None
        if loop is None or loop is not around[0] or not _lasts(module, loop, scope, kept, name):
            continue
        if _is_another(loop, name, site.call, node) or _is_freed_by_a_call(module, loop, scope, kept, name):
            continue
        span = module.span(node)
        yield KeptGraph(
            span, span, None, (), (), loss=name, keeper=kept, backward=module.step(site.call), loop=module.step(loop)
        )


def _base(node: ast.expr) -> ast.expr:
    """``loss`` of ``scaler.scale(loss / n)``."""
    match node:
        case ast.BinOp(left=left, op=ast.Div() | ast.Mult()):
            return _base(left)
        case ast.Call(func=ast.Attribute(attr="scale"), args=[value]):
            return _base(value)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in SAME_GRAPH:
            return _base(value)
    return node


def _loops(module: Module, node: ast.AST, scope: ast.AST) -> list[Loop]:
    """The loops of a function around a node, the innermost first."""
    found: list[Loop] = []
    while node is not scope:
        node = module.parents[node]
        if isinstance(node, Loop):
            found.append(node)
    return found


def _kept(module: Module, node: ast.stmt, loss: str) -> str | None:
    """What a statement keeps a loss in, if it does."""
    match node:
        case ast.AugAssign(target=target, op=ast.Add(), value=value) if _hangs(value, loss):
            return ast.unparse(target)
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            name = ast.unparse(target)
            for one, other in ((left, right), (right, left)):
                if ast.unparse(one) == name != loss and _hangs(other, loss):
                    return name
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr="append"), args=[value], keywords=[])):
            return ast.unparse(target) if _hangs(value, loss) and _is_list(module, target) else None
    return None


def _is_list(module: Module, keeper: ast.expr) -> bool:
    """Whether a file makes a list of what is appended to, or of what holds it: meters of libraries append numbers."""
    while isinstance(keeper, ast.Subscript):
        keeper = keeper.value
    made = (each.value for each in module.nodes if isinstance(each, ast.Assign) and any(
        ast.unparse(part) == ast.unparse(keeper) for target in each.targets for part in _parts(target)
    ))  # fmt: skip
    return any(isinstance(inner, ast.List | ast.ListComp) or _is_call_of(inner, "list") for value in made
               for inner in ast.walk(value))  # fmt: skip


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _hangs(node: ast.expr, loss: str) -> bool:
    """Whether a value hangs on the graph of a loss: the loss itself, scaled, moved or averaged."""
    match node:
        case ast.BinOp(left=left, op=ast.Div() | ast.Mult(), right=right):
            return _hangs(left, loss) or (isinstance(node.op, ast.Mult) and _hangs(right, loss))
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in SAME_GRAPH:
            return _hangs(value, loss)
    return dotted(node) == loss


def _lasts(module: Module, loop: Loop, scope: ast.AST, keeper: str, loss: str) -> bool:
    """Whether what is kept stays through all turns of a loop of some length."""
    if _is_short(loop) or _is_bounded(scope, keeper):
        return False
    around = _loops(module, loop, scope)
    if _counts(loop) and any(_frees(node, keeper, loss) for each in around[:1] for node in inside(each)):
        return False
    return not any(_frees(node, keeper, loss) for node in inside(loop))


def _is_another(loop: Loop, loss: str, back: ast.Call, kept: ast.stmt) -> bool:
    """Whether the name of a loss stands for something else when it is kept than when it went backward."""
    given = (
        each for each in inside(loop) if isinstance(each, ast.Assign) and _place(back) < _place(each) < _place(kept)
    )
    return any(
        loss in {ast.unparse(part) for target in each.targets for part in _parts(target)}
        and not _hangs(each.value, loss)
        for each in given
    )  # fmt: skip


def _place(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is_freed_by_a_call(module: Module, loop: Loop, scope: ast.AST, keeper: str, loss: str) -> bool:
    """Whether a loop calls a function of the file that empties what keeps a loss."""
    called = {last(each.func) for each in inside(loop) if isinstance(each, ast.Call)}
    bodies = (body for word in called for body in module.definitions.get(word, ()) if body is not scope)
    return any(_frees(node, keeper, loss) for body in bodies for node in inside(body))


def _counts(loop: Loop) -> bool:
    """Whether a loop only counts, so that it may be one over the parts of a batch."""
    return isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and last(loop.iter.func) == "range"


def _is_short(loop: Loop) -> bool:
    match loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[*_, ast.Constant(value=int(number))])):
            return number < SHORT
        case ast.For(iter=ast.Tuple() | ast.List()):
            return True
    return False


def _frees(node: ast.AST, keeper: str, loss: str) -> bool:
    """Whether a node makes a keeper anew, or a loss a number."""
    match node:
        case ast.Assign(targets=targets, value=value):
            names = {ast.unparse(each) for target in targets for each in _parts(target)}
            if any(_is_held_by(keeper, name) for name in names) and not _adds(value, keeper):
                return True
            return loss in names and any(_is_freed(each) for each in ast.walk(value))
        case ast.Delete(targets=targets):
            return keeper in {ast.unparse(each) for each in targets}
        case ast.Call(func=ast.Attribute(value=value, attr="detach_")) if ast.unparse(value) == loss:
            return True
        case ast.Call(func=ast.Attribute(value=value, attr="update" | "clear")) if keeper != ast.unparse(value):
            return _is_held_by(keeper, ast.unparse(value))
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in FREES:
            return ast.unparse(value) == keeper and attr not in ("item", "detach", "tolist", "numpy")
    return False


def _is_held_by(keeper: str, name: str) -> bool:
    """Whether a name is a keeper, or what holds it."""
    return keeper == name or keeper.startswith((f"{name}[", f"{name}."))


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _adds(value: ast.expr, keeper: str) -> bool:
    """``total = total + loss``."""
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and keeper in map(
        ast.unparse, (value.left, value.right)
    )  # fmt: skip


def _is_freed(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (last(node.func) in FREES or last(node.func) == "float")


def _is_bounded(scope: ast.AST, keeper: str) -> bool:
    """Whether a keeper is a queue of a bounded length, or something else than a number or a list."""
    made = [each.value for each in inside(scope) if isinstance(each, ast.Assign)
            and keeper in {ast.unparse(part) for target in each.targets for part in _parts(target)}]  # fmt: skip
    return any(isinstance(each, ast.Call) and last(each.func) == "deque" for each in made)
