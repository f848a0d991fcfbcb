"""A loss that goes backward in; out, over what it was averaged, and whether it was divided once more on the way."""

from __future__ import annotations

import ast
import re
from enum import Enum

from trainlint.record import replace, thing
from trainlint.regex import regex
from trainlint.source import callers
from trainlint.source.binding import parameters
from trainlint.source.order import Entry
from trainlint.source.summary import Module, bound, dotted, last
from trainlint.source.things import Built, Class, External, Function
from trainlint.source.training import function_of, inside
from trainlint.source.world import World, quietly
from trainlint.value import Step

DEEPEST = 8
AVERAGING = frozenset(
    {
        "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
        "binary_cross_entropy_with_logits", "ctc_loss", "kl_div", "cosine_embedding_loss", "triplet_margin_loss",
        "CrossEntropyLoss", "NLLLoss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCELoss",
        "BCEWithLogitsLoss", "CTCLoss", "KLDivLoss", "CosineEmbeddingLoss", "TripletMarginLoss", "BCELoss2d",
    }
)  # fmt: skip
"""Losses of PyTorch that average over the batch unless they are told otherwise."""

THROUGH = frozenset(
    {
        "to",
        "cuda",
        "cpu",
        "float",
        "double",
        "half",
        "squeeze",
        "contiguous",
        "clone",
        "scale",
        "requires_grad_",
        "type",
    }
)
WEIGHT = regex(r"weight|lambda|alpha|beta|gamma|coef|ratio|(?<![a-z])w(?![a-z])|lmbda", re.IGNORECASE)


DEVICES = regex(r"gpu|device|parallel|world", re.IGNORECASE)
"""What tests ask that decide whether a loss has a value for each device."""


class Average(Enum):
    """What was done with the terms of a loss."""

    MEAN = "mean"
    DIVIDED = "divided"
    OPEN = "open"


@thing
class Reduction:
    """How a loss was averaged: the line that says so, the divisors since, and a class that a mean leaves out."""

    average: Average
    step: Step | None = None
    divisors: tuple[ast.expr, ...] = ()
    leaves_out: bool = False


OPEN = Reduction(Average.OPEN)


@thing
class Tracing:
    """Where a trace stands, and the calls by which it came here."""

    world: World
    module: Module
    entered: tuple[Entry, ...]
    depth: int = 0

    def deeper(self) -> Tracing:
        return replace(self, depth=self.depth + 1)

    def of(self, node: ast.expr) -> Reduction:
        """How the value of an expression was averaged."""
        if self.depth > DEEPEST:
            return OPEN
        inner = self.deeper()
        match node:
            case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv(), right=right):
                return _divided(inner.of(left), right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return inner._product(left, right)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return _worst(inner.of(left), inner.of(right))
            case ast.UnaryOp(operand=operand):
                return inner.of(operand)
            case ast.IfExp(body=body, orelse=orelse):
                return _worst(inner.of(body), inner.of(orelse))
            case ast.Call():
                return inner._call(node)
            case ast.Name() | ast.Attribute() if dotted(node):
                return inner._named(dotted(node) or "", node)
        return OPEN

    def _product(self, left: ast.expr, right: ast.expr) -> Reduction:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, ast.Constant) and isinstance(one.value, int | float):
                return self.of(other) if one.value >= 1 else _divided(self.of(other), one)
            if WEIGHT.search(last(one)):
                return self.of(other)
        return Reduction(Average.DIVIDED, None, (left, right))

    def _call(self, node: ast.Call) -> Reduction:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in THROUGH:
            value = node.args[0] if func.attr == "scale" and node.args else func.value
            return self.of(value)
        if isinstance(func, ast.Attribute) and func.attr in ("div", "div_", "true_divide") and node.args:
            return _divided(self.of(func.value), node.args[0])
        if isinstance(func, ast.Attribute) and func.attr == "mean" and not node.args and not node.keywords:
            return Reduction(Average.MEAN, self.module.step(node))
        function = function_of(self.world, self.module, node)
        if function is not None:
            return self._returned(function, node)
        match quietly(self.world, lambda world: world.evaluate(func, world.open_frame(self.module, node))):
            case External(name=name) if name.rpartition(".")[2] in AVERAGING and name.startswith("torch."):
                return self._by_loss(node, node)
            case Built(what=External(name=name), node=ast.Call() as made) if name.rpartition(".")[
                2
            ] in AVERAGING and name.startswith("torch."):
                return self._by_loss(node, made)
            case Built(what=Class()) | Function():
                return OPEN
        return OPEN

    def _by_loss(self, node: ast.Call, told: ast.Call) -> Reduction:
        """A loss of PyTorch, as its call or its construction tells it to average."""
        keywords = {each.arg: each.value for each in told.keywords}
        reduction = keywords.get("reduction")
        if {"reduce", "size_average", None} & set(keywords) or len(told.args) > 3:
            return OPEN
        if reduction is None or (isinstance(reduction, ast.Constant) and reduction.value == "mean"):
            return Reduction(Average.MEAN, self.module.step(node), (), "ignore_index" in keywords)
        return OPEN

    def _returned(self, function: Function, node: ast.Call) -> Reduction:
        """What a function of the project returns, if it returns one thing."""
        assert not isinstance(function.node, ast.Lambda), "function_of finds none"
        home = function.frame.module
        found = [
            each.value for each in inside(function.node) if isinstance(each, ast.Return) and each.value is not None
        ]
        if len(found) != 1:
            return OPEN
        entry = Entry(node, self.module, function)
        value = found[0].elts[0] if isinstance(found[0], ast.Tuple) else found[0]
        return replace(self, module=home, entered=(*self.entered, entry)).of(value)

    def _named(self, name: str, node: ast.expr) -> Reduction:
        """What the statements of a function put into a name; what its caller gives it."""
        scope = self.module.scope(node)
        nodes = (each for each in inside(scope) if isinstance(each, ast.stmt | ast.withitem) and name in _bound(each))
        written = [each for each in nodes if _line(each) <= node.lineno]
        found = [each for each in (self._written(each, name) for each in written) if each is not None]
        before = [each for each in found if each is not None]
        if not before:
            return self._given(name, scope)
        return before[0] if len(before) == 1 else _worst(*before)

    def _written(self, node: ast.AST, name: str) -> Reduction | None:
        match node:
            case ast.AugAssign(op=ast.Div() | ast.FloorDiv(), value=value):
                return Reduction(Average.DIVIDED, None, (value,))
            case ast.AugAssign(op=ast.Add() | ast.Sub()):
                return None
            case ast.AugAssign():
                return OPEN
            case ast.Assign(targets=[target], value=value) if dotted(target) == name:
                is_open = isinstance(value, ast.Constant) or self._is_over_devices(node)
                return None if is_open else self._assigned(value, name)
            case ast.AnnAssign(value=ast.expr() as value):
                return self._assigned(value, name)
            case ast.Assign(targets=[ast.Tuple(elts=[first, *_])], value=ast.Call() as value) if dotted(first) == name:
                return self.of(value)
            case ast.withitem(context_expr=ast.Call(func=func, args=[value, *_])) if last(func) == "scale_loss":
                return self.of(value)
        return OPEN

    def _is_over_devices(self, node: ast.Assign) -> bool:
        """``if n_gpu > 1: loss = loss.mean()`` averages over the devices, whatever each of them did."""
        test = self.module.parents.get(node)
        return isinstance(test, ast.If) and DEVICES.search(ast.unparse(test.test)) is not None

    def _assigned(self, value: ast.expr, name: str) -> Reduction | None:
        """What a name is made of, what is made of itself aside: ``loss = loss / n``."""
        match value:
            case ast.BinOp(left=left, op=op, right=right) if dotted(left) == name:
                return Reduction(Average.DIVIDED, None, (right,)) if isinstance(op, ast.Div) else None
            case ast.Name() | ast.Attribute() if dotted(value) == name:
                return None
        return self.of(value)

    def _given(self, name: str, scope: ast.AST) -> Reduction:
        """What the call gives by which this function was entered."""
        if not self.entered or not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            return OPEN
        *outer, entry = self.entered
        if scope is not entry.function.node or name not in {each.arg for each in parameters(scope)}:
            return OPEN
        caller = callers.Caller(entry.node, entry.module)
        value = callers.given_to(self.module, scope, name, caller)
        return replace(self, module=entry.module, entered=tuple(outer)).of(value) if value is not None else OPEN


def _bound(node: ast.stmt | ast.withitem) -> frozenset[str]:
    if isinstance(node, ast.withitem):
        name = dotted(node.optional_vars) if node.optional_vars is not None else None
        return frozenset({name}) if name else frozenset()
    return frozenset() if isinstance(node, ast.With | ast.AsyncWith) else bound(node)


def _line(node: ast.stmt | ast.withitem) -> int:
    return node.lineno if isinstance(node, ast.stmt) else node.context_expr.lineno


def _divided(of: Reduction, by: ast.expr) -> Reduction:
    return Reduction(Average.DIVIDED, of.step, (*of.divisors, by), of.leaves_out)


def _worst(*each: Reduction) -> Reduction:
    """What a sum says: divided if a part is, and a mean if none is and one is a mean."""
    for average in (Average.DIVIDED, Average.MEAN):
        found = next((one for one in each if one.average is average), None)
        if found is not None:
            means = next((one for one in each if one.step is not None), found)
            return replace(found, step=means.step, leaves_out=means.leaves_out)
    return OPEN


def going_backward(call: ast.Call) -> ast.expr | None:
    """The loss of a call of ``backward``: its receiver, or what it is given."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="self") | ast.Name(id="fabric"), attr="manual_backward" | "backward"):
            return call.args[0] if call.args else None
        case ast.Attribute(value=value, attr="backward") if not call.args:
            return value
    return None
