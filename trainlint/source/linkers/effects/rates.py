"""The rate of a dropout on its way to the function that drops, and whether anything on it asks for the mode.

A function knows no mode: what it is told to drop it drops, always. The rate is followed through the names and the calls
by which it comes, as far as nothing on the way asks for the mode.
"""

from __future__ import annotations

import ast
import re

from trainlint.record import replace, thing
from trainlint.regex import regex
from trainlint.source import callers, objects
from trainlint.source.binding import argument, declared, parameters
from trainlint.source.linkers.effects.proofs import is_module
from trainlint.source.linkers.site import real_of
from trainlint.source.names import is_local, leaves, reaching
from trainlint.source.summary import Module, bound, dotted
from trainlint.source.things import Built, Class, Frame, Thunk
from trainlint.source.world import World, quietly
from trainlint.source.writes import attribute_writes, is_receiver
from trainlint.value import Real, Unknown

DEEPEST = 5
ASKS = regex(r"train|eval|infer|deterministic|mode", re.IGNORECASE)
"""What a test says that asks how the module is used."""

NOTHING = regex(r"drop\w*(?:\.p)? (?:==|<=) 0|not [\w.]*drop", re.IGNORECASE)
"""A test that holds only where nothing is dropped."""

MAKING = frozenset({"__init__", "__post_init__", "__new__"})
FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


@thing
class Rate:
    """A rate on its way: the expression, where it stands, and the argument as which it was passed."""

    node: ast.expr
    frame: Frame
    argument: ast.expr
    home: Module

    def passed(self, node: ast.expr, frame: Frame) -> Rate:
        """The same rate one call earlier."""
        return Rate(node, frame, node, frame.module)


def ungated(world: World, rate: Rate, use: ast.AST, depth: int) -> Rate | None:
    """Where a rate comes from: an attribute or a number; None where anything on the way asks for the mode."""
    if depth <= 0 or is_asked(rate.frame.module, use):
        return None
    match rate.node:
        case ast.Constant(value=float() | int()) | ast.Attribute():
            is_known = isinstance(rate.node, ast.Constant) or dotted(rate.node) is not None
            return rate if is_known and not _is_asked_by_callers(world, rate.frame) else None
        case ast.Name(id=name) if is_local(rate.frame.module, rate.frame.function or rate.frame.module.tree, name):
            return _local(world, rate, name, depth)
        case ast.Name(id=name):
            return _handed(world, rate, name, depth)
    return None


def is_asked(module: Module, node: ast.AST) -> bool:
    """Whether a test in the function decides by the mode, or by a rate of zero, whether a line runs."""
    scope, child, holder = module.scope(node), node, module.parents.get(node)
    while holder is not None and child is not scope:
        if isinstance(holder, ast.If | ast.IfExp) and child is not holder.test and _asks(module, holder.test):
            return True
        for field in ("body", "orelse"):
            block = getattr(holder, field, None)
            earlier = block[: block.index(child)] if isinstance(block, list) and child in block else []
            if any(isinstance(each, ast.If) and leaves(each.body) and _asks(module, each.test) for each in earlier):
                return True
        child, holder = holder, module.parents.get(holder)
    return False


def _is_asked_by_callers(world: World, frame: Frame) -> bool:
    """Whether a method is called by another one of its object, ``self.drop(x)``, where a test decides by the mode."""
    for _ in range(DEEPEST):
        called = callers.entered(world, frame)
        if called is None or called.entry is None:
            return False
        node, frame = called.entry
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner))) if owner == receiver_of(world, frame):
                if is_asked(frame.module, node):
                    return True
            case _:
                return False
    return False


def _asks(module: Module, test: ast.expr) -> bool:
    """Whether a test asks for the mode, or for a rate of zero, itself or by what its switches were set to."""
    switches = [each.attr for each in ast.walk(test) if isinstance(each, ast.Attribute)]
    written = (statement for each in switches for _, statement in attribute_writes(module).get(each, ()))
    texts = [ast.unparse(test), *map(ast.unparse, written)]
    return any(ASKS.search(text) or NOTHING.search(text) for text in texts)


def _local(world: World, rate: Rate, name: str, depth: int) -> Rate | None:
    """What the only statement that binds a variable gives it; a second one may be the answer to a test."""
    scope = rate.frame.function
    assert isinstance(scope, FunctionDef), "a local variable is one of a function"
    bindings = [each for each in ast.walk(scope) if isinstance(each, ast.stmt) and name in bound(each)]
    found = reaching(world, name, rate.node, rate.frame)
    if found is None or len(bindings) != 1:
        return None
    match found.node:
        case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=ast.expr() as value):
            return ungated(world, replace(rate, node=value), found.node, depth - 1)
    return None


def _handed(world: World, rate: Rate, name: str, depth: int) -> Rate | None:
    """What the caller of this path passes for a parameter."""
    function = rate.frame.function
    if not isinstance(function, FunctionDef) or name not in declared(function):
        return None
    entered = rate.frame if rate.frame.arguments is not None else callers.entered(world, rate.frame)
    if entered is None or entered.entry is None:
        return None
    places = [each.arg for each in parameters(function)]
    given = argument(entered.arguments, places[1:] if entered.receiver is not None else places, name)
    if isinstance(given, Thunk) and given.known is None:
        return ungated(world, rate.passed(given.node, given.frame), entered.entry[0], depth - 1)
    return None


def receiver_of(world: World, frame: Frame) -> str | None:
    """How the method of a module that holds some code calls the module; None where there is no such method."""
    cls, _ = callers.owner(world, frame)
    if cls is None or not is_module(world, cls):
        return None
    around: Frame | None = frame
    while around is not None and around.function is not None and around.function not in cls.node.body:
        around = around.outer
    method = around.function if around is not None else None
    if not isinstance(method, FunctionDef) or not parameters(method) or "staticmethod" in objects.marks(method):
        return None
    return parameters(method)[0].arg


def applied(world: World, rate: Rate) -> Real | Unknown | None:
    """How much a rate drops that no mode decides; None where that is nothing, or others may set it."""
    receiver, cls = receiver_of(world, rate.frame), callers.owner(world, rate.frame)[0]
    if receiver is None or cls is None:
        return None
    known = real_of(world, _number(world, rate), Unknown("nothing is passed"))
    if isinstance(known, Real) and known.number <= 0 and not known.assumed:
        return None
    is_its_own = not isinstance(rate.node, ast.Attribute) or _is_kept(world, cls, rate.node, receiver)
    return known if is_its_own else None


def _number(world: World, rate: Rate) -> Thunk:
    """A rate, or what a layer of dropout was made with whose ``p`` it is."""
    match rate.node:
        case ast.Attribute(value=layer, attr="p"):
            made = quietly(world, lambda inner: inner.evaluate(layer, rate.frame))
            if isinstance(made, Built) and made.arguments is not None:
                given = argument(made.arguments, ("p",), "p")
                if isinstance(given, Thunk):
                    return given
    return Thunk(rate.node, rate.frame)


def _is_kept(world: World, cls: Class, node: ast.Attribute, receiver: str) -> bool:
    """Whether an attribute of a module is what its making left there, whatever the mode."""
    path = (dotted(node) or "").split(".")
    if path[0] != receiver or objects.method(world, cls, path[1], None) is not None:
        return False
    for module in {cls.module, *world.workspace.writers(path[-1], cls.name)}:
        for target, written in attribute_writes(module).get(path[-1], ()):
            making = getattr(module.scope(written), "name", "") in MAKING
            if not making and (not is_receiver(module, target, written) or _is_own(world, cls, module, written)):
                return False
    return True


def _is_own(world: World, cls: Class, module: Module, written: ast.stmt) -> bool:
    """Whether a statement stands in a method of the class or of one of its bases."""
    holder = module.parents.get(module.scope(written))
    return any(isinstance(each, Class) and each.node is holder for each in objects.lineage(world, cls))
