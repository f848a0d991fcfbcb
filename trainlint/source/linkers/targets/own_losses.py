"""Cross-entropies that the project writes by hand: log-probabilities picked at the targets, some targets masked out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from trainlint.facts import Loss
from trainlint.record import thing
from trainlint.source.gradients import trains
from trainlint.source.linkers.site import Site, layer_of, number_of, standing
from trainlint.source.linkers.targets.losses import job_of
from trainlint.source.summary import Module, last
from trainlint.source.things import Thunk
from trainlint.source.world import World
from trainlint.value import Integer, Unknown

PICKS = frozenset({"gather", "scatter", "scatter_", "one_hot"})
"""What puts the targets in the place of an index into the classes."""

LIKE = frozenset({"zeros_like", "full_like", "ones_like", "empty_like"})
SKIPPED = ("pad", "ignor")
"""How the names of what a loss skips sound."""

CALLED = ("loss", "nll", "smooth", "criterion", "entropy", "xent")
"""How the functions and classes that are losses call themselves."""

NOT_FOLLOWED = Unknown("the targets of a loss written by hand are not followed")
NOT_ASKED = Unknown("a negative index is no class, whatever the layer")


@thing
class Comparison:
    """``target != ignore_index``: where it stands, and its two sides."""

    node: ast.expr
    target: str
    skipped: ast.expr


def sites(world: World, module: Module) -> Iterator[Site]:
    """Each comparison by which a function masks the targets that it picks by."""
    picking = _picking(module)
    if not picking:
        return
    done: set[tuple[ast.AST, str]] = set()
    for word in [word for word in module.loads if any(each in word.lower() for each in SKIPPED)]:
        for node in module.loads[word]:
            compared = _comparison(module, node)
            scope = module.scope(node) if compared is not None else None
            if compared is None or scope not in picking or not isinstance(scope, ast.FunctionDef):
                continue
            if (scope, word) in done or _pick(module, scope, compared.target) is None:
                continue
            if _is_loss(module, scope):
                done.add((scope, word))
                yield Site(compared.node, module)


def facts(world: World, site: Site) -> Iterator[Loss]:
    """The loss that a comparison masks."""
    frame, scope = standing(world, site), site.module.scope(site.node)
    assert isinstance(site.node, ast.expr) and isinstance(scope, ast.FunctionDef), "only these are sites"
    compared = _sides(site.node)
    picked = _pick(site.module, scope, compared.target) if compared else None
    if compared is None or picked is None:
        return
    call, scores = picked
    ignored = number_of(world, Thunk(compared.skipped, frame), NOT_FOLLOWED)
    is_negative = isinstance(ignored, Integer) and ignored.maximum is not None and ignored.maximum < 0
    layer = NOT_ASKED if is_negative else layer_of(world, Thunk(scores, frame))
    yield Loss(
        call=site.module.span(call),
        argument=site.module.span(compared.skipped),
        built=None,
        context=(),
        branch=(),
        function=scope.name,
        layer=layer,
        ignore_index=ignored,
        is_default=False,
        job=job_of(world, ignored, layer, NOT_FOLLOWED, site.span),
        targets=NOT_FOLLOWED,
        trains=trains(site.module, call),
    )


def _comparison(module: Module, node: ast.expr) -> Comparison | None:
    parent = module.parents.get(node)
    return _sides(parent) if isinstance(parent, ast.Compare | ast.Call) else None


def _sides(node: ast.expr) -> Comparison | None:
    """``target == pad``, ``pad != target``, ``target.eq(pad)``."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            left, right = (right, left) if _is_skipped(left) else (left, right)
        case ast.Call(func=ast.Attribute(value=left, attr="eq" | "ne"), args=[right]):
            pass
        case _:
            return None
    name = _root(left)
    return Comparison(node, name, right) if name and _is_skipped(right) else None


def _is_skipped(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and any(word in last(node).lower() for word in SKIPPED)


def _root(node: ast.expr) -> str:
    """The name that a chain of methods and subscripts starts from: ``target`` of ``target.view(-1)``."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_loss(module: Module, scope: ast.FunctionDef) -> bool:
    """Whether a function, its class, or what it computes calls itself a loss."""
    holder = module.parents.get(scope)
    stored = (each.id for each in ast.walk(scope) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    names = " ".join([scope.name, holder.name if isinstance(holder, ast.ClassDef) else "", *stored]).lower()
    return any(word in names for word in CALLED)


def _picking(module: Module) -> Mapping[ast.AST, list[ast.Call]]:
    """The calls that pick by an index, by the functions in which they stand."""
    known = module.kept.get("picking")
    if isinstance(known, dict):
        return known
    found: dict[ast.AST, list[ast.Call]] = {}
    for call in module.calls if not PICKS.isdisjoint(module.loads) else ():
        if last(call.func) in PICKS:
            found.setdefault(module.scope(call), []).append(call)
    module.kept["picking"] = found
    return found


def _pick(module: Module, scope: ast.FunctionDef, target: str) -> tuple[ast.Call, ast.expr] | None:
    """The call that picks by the targets, and the scores that it picks from."""
    for call in _picking(module).get(scope, ()):
        if target in _named(call):
            scores = _scores(call, scope)
            if scores is not None:
                return call, scores
    return None


def _named(call: ast.Call) -> set[str]:
    """The names in the arguments of a call."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return {each.id for argument in given for each in ast.walk(argument) if isinstance(each, ast.Name)}


def _scores(call: ast.Call, scope: ast.FunctionDef) -> ast.expr | None:
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="gather"), args=[scores, *_]):
            return scores
        case ast.Call(func=ast.Attribute(value=scores, attr="gather")):
            return scores
    return next(_softmaxes(scope), None) or next(_models(scope), None)


def _softmaxes(scope: ast.FunctionDef) -> Iterator[ast.expr]:
    """What a function takes the logarithm of a softmax of."""
    for node in ast.walk(scope):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="F" | "torch" | "nn" | "functional"), attr=name)):
                if name == "log_softmax" and node.args:
                    yield node.args[0]
            case ast.Call(func=ast.Name(id="log_softmax"), args=[scores, *_]):
                yield scores
            case ast.Call(func=ast.Attribute(value=scores, attr="log_softmax")):
                yield scores


def _models(scope: ast.FunctionDef) -> Iterator[ast.expr]:
    """What the smoothed targets of a function are made in the shape of."""
    for node in ast.walk(scope):
        match node:
            case ast.Call(func=func, args=[scores, *_]) if last(func) in LIKE:
                yield scores
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=scores, attr="data"), attr="clone")):
                yield scores
