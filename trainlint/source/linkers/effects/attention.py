"""The dropout of fused attention, and whether anything switches it off outside of training.

``scaled_dot_product_attention`` is a function and knows no mode: what it is given as ``dropout_p`` it drops, always.
The rate is followed through the names and the calls by which it comes, as far as nothing on the way asks for the mode.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import AttentionDropout
from trainlint.knowledge.torch import F
from trainlint.record import replace, thing
from trainlint.regex import regex
from trainlint.source import callers, objects
from trainlint.source.binding import argument, declared, parameters
from trainlint.source.linkers.effects.projects import trains
from trainlint.source.linkers.effects.proofs import is_module
from trainlint.source.linkers.site import Site, call_of, named, real_of, standing
from trainlint.source.names import is_local, leaves, reaching
from trainlint.source.sift.effects import drops
from trainlint.source.summary import Module, bound, dotted
from trainlint.source.things import Built, Class, External, Frame, Thunk
from trainlint.source.world import World, quietly
from trainlint.source.writes import attribute_writes, is_receiver
from trainlint.value import Real, Unknown

ATTENTION = "scaled_dot_product_attention"
PLACE = 4
"""Where ``dropout_p`` stands without its name."""

DEEPEST = 5
ASKS = regex(r"train|eval|infer|deterministic|mode", re.IGNORECASE)
"""What a test says that asks how the module is used."""

NOTHING = regex(r"drop\w*(?:\.p)? (?:==|<=) 0|not [\w.]*drop", re.IGNORECASE)
"""A test that holds only where nothing is dropped."""

MAKING = frozenset({"__init__", "__post_init__", "__new__"})
FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of fused attention that are told to drop something, in a project that trains."""
    if not drops(module.data) or not trains(world):
        return
    for node, _ in named(module, {ATTENTION}):
        call = call_of(module, node)
        if call is not None and _told(call) is not None:
            yield Site(call, module)


def _told(call: ast.Call) -> ast.expr | None:
    """The argument that says how much to drop, if it says more than a zero."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "dropout_p"), None)
    if given is None and len(call.args) > PLACE and not any(isinstance(each, ast.Starred) for each in call.args):
        given = call.args[PLACE]
    match given:
        case ast.Constant(value=value) if not value:
            return None
    return given


@thing
class _Rate:
    """A rate on its way to attention: the expression, where it stands, and the argument as which it was passed."""

    node: ast.expr
    frame: Frame
    argument: ast.expr
    home: Module

    def passed(self, node: ast.expr, frame: Frame) -> _Rate:
        """The same rate one call earlier."""
        return _Rate(node, frame, node, frame.module)


def facts(world: World, site: Site) -> Iterator[AttentionDropout]:
    """What one path shows of the rate of a call."""
    frame, given = standing(world, site), _told(site.call)
    assert given is not None, "a site is told a rate"
    match world.evaluate(site.call.func, frame):
        case External(name=name) if name == f"{F}.{ATTENTION}":
            rate = _ungated(world, _Rate(given, frame, given, site.module), site.call, DEEPEST)
            if rate is not None:
                yield from _dropped(world, site, rate)


def _ungated(world: World, rate: _Rate, use: ast.AST, depth: int) -> _Rate | None:
    """Where a rate comes from: an attribute or a number; None where anything on the way asks for the mode."""
    if depth <= 0 or _is_asked(rate.frame.module, use):
        return None
    match rate.node:
        case ast.Constant(value=float() | int()):
            return rate
        case ast.Attribute() if dotted(rate.node):
            return rate
        case ast.Name(id=name) if is_local(rate.frame.module, rate.frame.function or rate.frame.module.tree, name):
            return _local(world, rate, name, depth)
        case ast.Name(id=name):
            return _handed(world, rate, name, depth)
    return None


def _is_asked(module: Module, node: ast.AST) -> bool:
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


def _asks(module: Module, test: ast.expr) -> bool:
    """Whether a test asks for the mode, or for a rate of zero, itself or by what its switches were set to."""
    switches = [each.attr for each in ast.walk(test) if isinstance(each, ast.Attribute)]
    written = (statement for each in switches for _, statement in attribute_writes(module).get(each, ()))
    texts = [ast.unparse(test), *map(ast.unparse, written)]
    return any(ASKS.search(text) or NOTHING.search(text) for text in texts)


def _local(world: World, rate: _Rate, name: str, depth: int) -> _Rate | None:
    """What the only statement that binds a variable gives it; a second one may be the answer to a test."""
    scope = rate.frame.function
    assert isinstance(scope, FunctionDef), "a local variable is one of a function"
    bindings = [each for each in ast.walk(scope) if isinstance(each, ast.stmt) and name in bound(each)]
    found = reaching(world, name, rate.node, rate.frame)
    if found is None or len(bindings) != 1:
        return None
    match found.node:
        case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=ast.expr() as value):
            return _ungated(world, replace(rate, node=value), found.node, depth - 1)
    return None


def _handed(world: World, rate: _Rate, name: str, depth: int) -> _Rate | None:
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
        return _ungated(world, rate.passed(given.node, given.frame), entered.entry[0], depth - 1)
    return None


def _dropped(world: World, site: Site, rate: _Rate) -> Iterator[AttentionDropout]:
    cls, _ = callers.owner(world, rate.frame)
    function = rate.frame.function
    if cls is None or not is_module(world, cls) or not isinstance(function, FunctionDef) or not parameters(function):
        return
    receiver = parameters(function)[0].arg
    known = real_of(world, _number(world, rate), Unknown("nothing is passed"))
    if isinstance(known, Real) and known.number <= 0 and not known.assumed:
        return
    if isinstance(rate.node, ast.Attribute) and not _is_kept(world, cls, rate.node, receiver):
        return
    span = rate.home.span(rate.argument)
    text = ast.unparse(rate.argument)
    yield AttentionDropout(site.span, span, None, (), (), text, known, receiver, site.module.step(site.call))


def _number(world: World, rate: _Rate) -> Thunk:
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
