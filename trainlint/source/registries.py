"""Registries: tables that decorators fill, ``@MODELS.register("small")``, and that give what they hold by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.record import replace
from trainlint.source import builtin, settings
from trainlint.source.summary import Module, dotted
from trainlint.source.things import (
    Arguments,
    Built,
    Class,
    Constant,
    Entries,
    External,
    Frame,
    Function,
    Method,
    Opaque,
    Thing,
    Thunk,
)
from trainlint.source.world import World
from trainlint.value import Unknown

LOOKUPS = frozenset({"get", "get_model", "lookup", "__getitem__", "__call__"})
BUILDS = frozenset({"build", "create", "make", "build_model"})
KINDS = ("type", "name", "NAME", "TYPE")
"""Under which key a table of settings says what is to be built."""

Definition = ast.ClassDef | ast.FunctionDef


def of_table(world: World, table: Entries) -> Entries | None:
    """A dictionary together with what the decorators of its module put into it; None where none does."""
    module = table.frame.module
    if module is None or not table.name or "." in table.name:
        return None
    found = [
        pair for each in _registrars(module, table.name) for pair in _decorated(world, each, table.node, table.frame)
    ]
    return replace(table, pairs=(*table.pairs, *found), whole=True, changed=frozenset()) if found else None


def _registrars(module: Module, table: str) -> tuple[str, ...]:
    """The functions of a module that hand something back and write into a table of this name."""
    known = module.kept.get(("registrars", table))
    if not isinstance(known, tuple):
        stores = (store for store in module.filled.get(table, ()) if dotted(store.value) == table)
        writing = {each: None for store in stores for each in _around(module, store)}
        known = module.kept["registrars", table] = tuple(each.name for each in writing if _hands_back(each))
    return known


def _around(module: Module, node: ast.AST) -> list[ast.FunctionDef]:
    """The functions that a node stands in, the outer ones first."""
    found: list[ast.FunctionDef] = []
    each = module.parents.get(node)
    while each is not None:
        found[:0] = [each] if isinstance(each, ast.FunctionDef) else []
        each = module.parents.get(each)
    return found


def _hands_back(function: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Return) and each.value for each in ast.walk(function))


def of_object(world: World, registry: Built) -> Entries | None:
    """What the decorators ``@registry.register(...)`` put into an object; None where none does."""
    if not registry.label or "." in registry.label:
        return None
    hole = builtin.expression(registry.node)
    found = tuple(_decorated(world, registry.label, hole, registry.frame))
    return Entries(found, hole, registry.frame, registry.label) if found else None


def _decorated(world: World, word: str, node: ast.expr, frame: Frame) -> Iterator[tuple[Thunk, Thunk]]:
    """The definitions under a decorator of this name, by the name that it gives them."""
    for module in world.workspace.mentions(f"@{word}", frame.module.path) if frame.module is not None else ():
        if module.is_test:
            continue
        for definition in (each for nodes in module.definitions.values() for each in nodes):
            if isinstance(definition, Definition) and (key := _key(definition, word)) is not None:
                home = world.open_frame(module, definition)
                hole = ast.copy_location(ast.Constant(key), definition)
                yield Thunk(hole, home, Constant(key)), Thunk(hole, home, _thing(definition, module, home))


def _thing(definition: Definition, module: Module, home: Frame) -> Thing:
    return Class(definition, module, home) if isinstance(definition, ast.ClassDef) else Function(definition, home)


def _key(definition: Definition, word: str) -> str | None:
    """The name under which a decorator registers a definition: the one it is given, else the definition's own."""
    for mark in definition.decorator_list:
        called = mark.func if isinstance(mark, ast.Call) else mark
        path = (dotted(called) or "").split(".")
        if path[0] != word and path[-1] != word:
            continue
        given = [*mark.args, *(each.value for each in mark.keywords)] if isinstance(mark, ast.Call) else []
        texts = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        return texts[0] if texts else definition.name
    return None


def asked(world: World, registry: Built, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """What a registry gives for a name, or builds from settings; None where nothing is known to be registered."""
    if name not in LOOKUPS | BUILDS or not given.positional:
        return None
    first = world.force(given.positional[0])
    if name in LOOKUPS and isinstance(first, Constant):
        table = of_object(world, registry)
        found = builtin.entry(world, table, first) if table is not None else None
        return None if isinstance(found, Unknown) else found
    return _built(world, registry, first, given, node, frame)


def _built(world: World, registry: Built, config: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """``MODELS.build(dict(type="Small", width=8))``: the class of that name, made with the rest."""
    if not isinstance(config, Entries) or not config.whole:
        return None
    kind = next((key for key in KINDS if settings.has(world, config, key)), None)
    table = of_object(world, registry) if kind is not None else None
    if kind is None or table is None:
        return None
    made = builtin.entry(world, table, builtin.entry(world, config, Constant(kind)))
    if isinstance(made, Unknown | Opaque | External | Method):
        return None
    own = {
        str(name.value): value
        for key, value in config.pairs
        if isinstance(name := world.force(key), Constant) and name.value != kind
    }
    passed = replace(given, positional=given.positional[1:], keywords={**own, **given.keywords})
    return world.call(made, passed, node, frame)
