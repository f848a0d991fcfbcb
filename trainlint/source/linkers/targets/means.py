"""Means over what a mask leaves, where the mask may leave nothing: a sum divided by a sum, ``loss[mask].mean()``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import EmptyMean, Fill, Loss
from trainlint.regex import regex
from trainlint.source.gradients import trains
from trainlint.source.linkers.site import Site, standing
from trainlint.source.names import reaching
from trainlint.source.sift.targets import DIVIDED, SELECTED
from trainlint.source.summary import Module, bound, dotted
from trainlint.source.text import Fault
from trainlint.source.things import Frame
from trainlint.source.world import World
from trainlint.value import Step, Unknown

DIVISIONS, SELECTIONS = regex(DIVIDED.decode()), regex(SELECTED.decode())
DRESS = frozenset({"float", "long", "int", "bool", "half", "to", "type", "type_as", "view", "reshape", "unsqueeze"})
"""What is done to a mask between its making and its use."""

RANDOM = frozenset({"rand", "rand_like", "bernoulli", "bernoulli_", "uniform_", "randint", "randint_like"})
COSTS = regex(r"loss|nll|cost|objective|entropy|penalty|ce$|bce|mse", re.IGNORECASE)
ANSWERS = regex(r"label|target|class|cls|\by$|\bgt\b|truth", re.IGNORECASE)
SURE = regex(r"thresh|conf|tau\b|cutoff", re.IGNORECASE)
MARKS = regex(r"pad|ignore|void|invalid|missing", re.IGNORECASE)
CHECKS = frozenset({"isnan", "isfinite", "nan_to_num", "isinf"})


def sites(world: World, module: Module) -> Iterator[Site]:
    """Divisions by the sum of a mask, and means of what a mask selects."""
    nodes = (*module.of_kind(ast.BinOp), *module.of_kind(ast.Call))
    found = [(node, mask) for node in nodes if (mask := _mask(node)) is not None]
    if found and (DIVISIONS.search(module.text) or SELECTIONS.search(module.text)):
        yield from (Site(node, module) for node, mask in found if _may_break(module, node, mask))


def _may_break(module: Module, node: ast.expr, mask: ast.expr) -> bool:
    return _is_cost(module, node) and trains(module, node) and not _is_guarded(module, node, mask)


def _mask(node: ast.expr) -> ast.expr | None:
    """The mask over which an expression takes a mean, however many places it leaves."""
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            mask = _summed(right)
            return mask if mask is not None and _summed(left) is not None and _holds(left, mask) else None
        case ast.Call(func=ast.Attribute(value=ast.Subscript(slice=mask), attr="mean"), args=[], keywords=[]):
            return mask if isinstance(mask, ast.Name | ast.Attribute | ast.Compare) else None
    return None


def _summed(node: ast.expr) -> ast.expr | None:
    """What a sum over everything is taken of."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="sum"), args=[of], keywords=[]):
            return of
        case ast.Call(func=ast.Attribute(value=of, attr="sum"), args=[], keywords=[]):
            return of
    return None


def _holds(node: ast.expr, part: ast.expr) -> bool:
    wanted = ast.dump(part)
    return any(isinstance(each, type(part)) and ast.dump(each) == wanted for each in ast.walk(node))


def _is_cost(module: Module, node: ast.expr) -> bool:
    """Whether what is averaged is trained on, as far as names say: its own, its target's, its function's."""
    scope, holder = module.scope(node), module.statement(node)
    names = [*bound(holder), getattr(scope, "name", "") if isinstance(holder, ast.Return) else ""]
    averaged = node.left if isinstance(node, ast.BinOp) else node
    names += [dotted(each) or "" for each in ast.walk(averaged) if isinstance(each, ast.Name | ast.Attribute)]
    return any(COSTS.search(name.rpartition(".")[2]) for name in names)


def _is_guarded(module: Module, node: ast.expr, mask: ast.expr) -> bool:
    """Whether the function asks for the mask anywhere, or looks at what comes out."""
    names = {name for each in ast.walk(mask) if (name := dotted(each))}
    scope = module.scope(node)
    for each in ast.walk(scope):
        if isinstance(each, ast.Attribute | ast.Name) and (dotted(each) or "").rpartition(".")[2] in CHECKS:
            return True
        if isinstance(each, ast.If | ast.IfExp | ast.Assert | ast.While) and _mentions(each.test, names):
            return True
    return False


def _mentions(test: ast.expr, names: set[str]) -> bool:
    return any(dotted(each) in names for each in ast.walk(test) if isinstance(each, ast.Name | ast.Attribute))


def facts(world: World, site: Site) -> Iterator[EmptyMean]:
    """A mean whose mask may leave nothing, in one world."""
    node, frame = site.node, standing(world, site)
    mask = _mask(node) if isinstance(node, ast.expr) else None
    made = _made(world, mask, frame) if mask is not None else None
    if made is None:
        return
    expression, step = made
    why = _may_be_empty(expression)
    if why:
        by_hand = isinstance(node, ast.BinOp)
        yield EmptyMean(site.span, site.span, None, (), (), ast.unparse(mask or node), why, (step,), by_hand=by_hand)


def built_in(world: World, site: Site, loss: Loss) -> Iterator[EmptyMean]:
    """The mean of PyTorch's own loss, where a masked prompt may be all that truncation leaves of the targets."""
    index, targets = loss.ignore_index, loss.targets
    if isinstance(index, Unknown) or isinstance(targets, Unknown) or not loss.trains or len(site.call.args) < 2:
        return
    fill = next((fill for fill in targets.fills if fill.cut and (fill.value - index).number == 0), None)
    if fill is None or _is_guarded(site.module, site.call, site.call.args[1]) or _chooses(world, fill):
        return
    steps = (Step(f"targets are {fill.how} {fill.value}, and cut to a length", fill.where),)
    why = "is all that truncation leaves of a row with a long prompt"
    yield EmptyMean(loss.call, loss.argument, loss.built, (), (), "the masked prompt", why, steps, by_hand=False)


def _chooses(world: World, fill: Fill) -> bool:
    """Whether the function that fills the targets has a condition: it may leave out rows without an answer."""
    module = world.workspace.module(fill.where.path)
    if isinstance(module, Fault):
        return True
    functions = (node for found in module.definitions.values() for node in found if not isinstance(node, ast.ClassDef))
    inside = (node for node in functions if node.lineno <= fill.where.row <= (node.end_lineno or node.lineno))
    return any(isinstance(each, ast.If | ast.IfExp | ast.Assert) for node in inside for each in ast.walk(node))


def _made(world: World, mask: ast.expr, frame: Frame) -> tuple[ast.expr, Step] | None:
    """The expression that makes a mask, and its line."""
    name = dotted(mask)
    if name is None:
        return mask, frame.step(mask)
    found = reaching(world, name, mask, frame)
    if found is None or found.name != name or not isinstance(found.node, ast.Assign):
        return None
    is_one = len(found.node.targets) == 1 and dotted(found.node.targets[0]) == name
    return (found.node.value, frame.step(found.node)) if is_one else None


def _may_be_empty(node: ast.expr) -> str:
    """Why a mask may leave no place, in words that complete "the mask ..."; empty where nothing says so."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in DRESS:
            return _may_be_empty(inner)
        case ast.Call(func=ast.Attribute(value=left, attr="eq" | "ge" | "gt" | "lt" | "le" as attr), args=[right]):
            return _compared(left, attr, right)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.Mult(), right=right):
            return _may_be_empty(left) or _may_be_empty(right)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, _word(op), right)
        case ast.Call(func=func) if (dotted(func) or "").rpartition(".")[2] in RANDOM:
            return "is drawn at random"
    return ""


def _word(op: ast.cmpop) -> str:
    return {ast.Eq: "eq", ast.Gt: "gt", ast.GtE: "ge", ast.Lt: "lt", ast.LtE: "le"}.get(type(op), "")


def _compared(left: ast.expr, how: str, right: ast.expr) -> str:
    sides = (left, right)
    if how in ("gt", "ge", "lt", "le"):
        if any(_calls(each, RANDOM) for each in sides):
            return "is drawn at random"
        return "holds only what is above a threshold" if any(SURE.search(_said(each)) for each in sides) else ""
    answers = any(ANSWERS.search(_said(each)) for each in sides)
    if how == "eq" and answers and not any(MARKS.search(_said(each)) for each in sides):
        return "holds the places of one answer"
    return ""


def _calls(node: ast.expr, names: frozenset[str]) -> bool:
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return any((func.attr if isinstance(func, ast.Attribute) else dotted(func)) in names for func in calls)


def _said(node: ast.expr) -> str:
    return " ".join((dotted(each) or "") for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute))
