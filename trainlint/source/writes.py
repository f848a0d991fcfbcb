"""Who else writes an attribute of a class's objects: a method that construction calls, or code outside of the class."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from trainlint.source.nodes import nodes_of
from trainlint.source.summary import ANY_KEY, Module, dotted
from trainlint.source.things import Built, Class, Items, Thing
from trainlint.source.world import Budget, Impossible, Path, World

FEW_STEPS = 800
"""Expressions that may be looked at to find out whose attribute a statement writes."""

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef
Write = tuple[Module, ast.stmt]


def own_calls(module: Module, function: FunctionDef) -> tuple[ast.Call, ...]:
    """The calls ``self.method(...)`` of a method, in the order of its lines."""
    known = module.kept.get(("own calls", function))
    if not isinstance(known, tuple):
        receiver = function.args.args[0].arg if function.args.args else ""
        known = tuple(
            node
            for node in nodes_of(function)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and dotted(node.func.value) == receiver
        )
        known = tuple(sorted(known, key=lambda call: (call.lineno, call.col_offset)))
        module.kept["own calls", function] = known
    return known


def from_outside(world: World, classes: tuple[Class, ...], name: str) -> tuple[Write, ...]:
    """The statements outside of these classes that write an attribute of one of their objects."""
    key = ("written from outside", classes[0].node, name)
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        world.workspace.answers[key] = ()
        known = tuple(_outside(world, classes, name))
        world.workspace.answers[key] = known
    return known


def by_any_name(world: World, classes: tuple[Class, ...]) -> tuple[Write, ...]:
    """The statements that may write any attribute of an object of these classes: ``setattr(config, key, value)``."""
    key = ("written by any name", classes[0].node)
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        world.workspace.answers[key] = ()
        nodes = {each.node for each in classes}
        modules = dict.fromkeys(
            module
            for each in classes
            for word in ("setattr(", "__dict__", "vars(")
            for module in world.workspace.mentions_both(word, each.name)
        )
        known = tuple(
            (module, statement)
            for module in modules
            for target, statement in attribute_writes(module).get(ANY_KEY, ())
            if _concerns(world, module, target, nodes)
        )
        others = tuple(each for each in _through_parameters(world) if each[2] & nodes)
        known = (*known, *((module, statement) for module, statement, _ in others if (module, statement) not in known))
        world.workspace.answers[key] = known
    return known


def _through_parameters(world: World) -> tuple[tuple[Module, ast.stmt, frozenset[ast.ClassDef]], ...]:
    """The functions that write any attribute of what they are given: the statement, and the classes that are passed."""
    key = ("written through parameters",)
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        world.workspace.answers[key] = ()
        known = tuple(
            (module, statement, _passed(world, module, target))
            for module in world.workspace.mentions_both("setattr(", "setattr(")
            for target, statement in attribute_writes(module).get(ANY_KEY, ())
            if isinstance(target, ast.Name)
        )
        world.workspace.answers[key] = known
    return known


def _passed(world: World, module: Module, target: ast.Name) -> frozenset[ast.ClassDef]:
    """The classes whose objects the calls of a function pass as one of its parameters, alone or in a tuple."""
    scope = module.scope(target)
    places = [place.arg for place in scope.args.args] if isinstance(scope, FunctionDef) else []
    if target.id not in places or not isinstance(scope, FunctionDef) or target.id == "self":
        return frozenset()
    found: set[ast.ClassDef] = set()
    for other in world.workspace.mentions(scope.name, module.path):
        for node in other.loads.get(scope.name, ()) if not other.is_test else ():
            call = other.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node and len(call.args) > places.index(target.id):
                given = call.args[places.index(target.id)]
                found |= _classes(world, world.apart().evaluate(given, world.open_frame(other, given)))
    return frozenset(found)


def _classes(world: World, thing: Thing) -> set[ast.ClassDef]:
    if isinstance(thing, Items):
        return {each for part in thing.elements for each in _classes(world, world.apart().force(part))}
    cls = _class(thing)
    return {cls} if cls is not None else set()


def _outside(world: World, classes: tuple[Class, ...], name: str) -> Iterator[Write]:
    nodes = {each.node for each in classes}
    for module in world.workspace.writers(name, classes[0].name):
        for target, statement in attribute_writes(module).get(name, ()):
            if not is_receiver(module, target, statement) and _concerns(world, module, target, nodes):
                yield module, statement


def attribute_writes(module: Module) -> Mapping[str, Sequence[tuple[ast.expr, ast.stmt]]]:
    """The objects whose attributes a file writes, by attribute, with the statement that does it."""
    return module.attribute_writes


def is_receiver(module: Module, target: ast.expr, statement: ast.stmt) -> bool:
    """``self.width = 3`` in a method: the class's own business."""
    scope = module.scope(statement)
    if not isinstance(scope, FunctionDef) or not isinstance(module.parents.get(scope), ast.ClassDef):
        return False
    return bool(scope.args.args) and dotted(target) == scope.args.args[0].arg


def _concerns(world: World, module: Module, target: ast.expr, nodes: set[ast.ClassDef]) -> bool:
    """Whether what a statement writes to is an object of one of these classes, each of which asks that."""
    journal, answers = world.workspace.journal, world.workspace.answers
    known = answers.get(("classes of what is written to",))
    if not isinstance(known, dict):
        known = answers["classes of what is written to",] = {}
    if target in known:
        cls, number = known[target]
        journal.used(number)
        return cls in nodes
    start = len(journal)
    cls, is_lasting = world.apart().by_itself(lambda: _class_of(world, module, target))
    # What is not found may be so for being asked too deep inside of other questions.
    if cls is not None or is_lasting:
        known[target] = cls, journal.worked_out(start)
    return cls in nodes


def _class_of(world: World, module: Module, target: ast.expr) -> ast.ClassDef | None:
    frame = world.open_frame(module, target)
    cls = _class(world.apart().evaluate(target, frame))
    if cls is None:
        # Its own small budget, not the asker's: what is found must not depend on who asks.
        with suppress(Impossible):
            cls = _class(type(world)(world.workspace, Path(), Budget(FEW_STEPS)).evaluate(target, frame))
    return cls


def _class(thing: Thing) -> ast.ClassDef | None:
    match thing:
        case Built(what=Class(node=node)) | Class(node=node):
            return node
    return None
