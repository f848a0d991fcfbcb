"""Something that is chosen by name when a program runs: a registry, a module's own table of names.

A name that has a default is that default. One that nobody settles is a fork: each candidate is followed by itself.
"""

from __future__ import annotations

import ast

from trainlint.source import builtin, registries
from trainlint.source.names import top
from trainlint.source.things import (
    Arguments,
    Class,
    Constant,
    Entries,
    External,
    File,
    Frame,
    Function,
    Items,
    Method,
    Opaque,
    Partial,
    Thing,
    Thunk,
)
from trainlint.source.world import World
from trainlint.value import Step, Unknown

MOST_CHOICES = 8
"""More candidates than this are not followed one by one."""

NAMESPACE = "__dict__"


def entry(world: World, table: Entries, key: Thing, node: ast.AST, frame: Frame) -> Thing:
    """The entry under a key; under an open key, any of a few callables."""
    found = builtin.entry(world, table, key)
    filled = registries.of_table(world, table) if isinstance(found, Unknown) else None
    if filled is not None:
        table, found = filled, builtin.entry(world, filled, key)
    if not isinstance(found, Unknown) or not _is_open(key) or not table.whole or table.changed:
        return found
    values = [value for _, value in table.pairs]
    if not all(_is_called(world, world.force(value)) for value in values):
        return found
    steps = [value.frame.step(value.node) for value in values if value.frame.module is not None]
    return _any(world, values, steps, node, frame) or found


def _is_called(world: World, thing: Thing) -> bool:
    """Whether a thing can only be called, or is a row that holds such a thing."""
    if isinstance(thing, Items):
        return thing.whole and any(_is_called(world, world.force(each)) for each in thing.elements)
    return isinstance(thing, Class | Function | External | Partial)


def _is_open(key: Thing) -> bool:
    return isinstance(key, Opaque | Unknown | External)


def _any(world: World, values: list[Thunk], steps: list[Step], node: ast.AST, frame: Frame) -> Thing | None:
    if not values or len(values) > MOST_CHOICES or len(steps) < len(values):
        return None
    return world.force(values[world.choose("branch", ("choice", id(node), frame.number), steps)])


def of_module(world: World, file: File, key: Thing, node: ast.AST, frame: Frame) -> Thing | None:
    """``getattr(models, name)``: what a module defines under a name; under an open one, any of a few callables."""
    if isinstance(key, Constant) and isinstance(key.value, str):
        return world.attribute(file, key.value)
    if not _is_open(key):
        return None
    module = file.module
    home = world.module_frame(module)
    names = sorted(name for name in top(module) if not name.startswith("_") and name in module.definitions)
    values = [Thunk(ast.Constant(name), home, world.attribute(file, name)) for name in names[: MOST_CHOICES + 1]]
    steps = [module.step(module.definitions[name][-1]) for name in names[: MOST_CHOICES + 1]]
    return _any(world, values, steps, node, frame)


def call(world: World, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """``globals()``, ``vars(module)`` and ``getattr(module, name)``; None for anything else."""
    if name not in ("builtins.globals", "builtins.vars", "builtins.getattr"):
        return None
    match name, [world.force(each) for each in given.positional]:
        case "builtins.globals", []:
            return Method(File(frame.module), NAMESPACE)
        case "builtins.vars", [File() | External() as module]:
            return Method(module, NAMESPACE)
        case "builtins.getattr", [File() as file, key, *_]:
            return of_module(world, file, key, node, frame)
    return None
