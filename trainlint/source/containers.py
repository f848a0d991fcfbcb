"""What becomes of a container after it was written down: it grows, its entries are replaced, here or elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from trainlint.source.binding import parameters
from trainlint.source.summary import Module, Scope, dotted, last
from trainlint.source.things import Arguments, Binding, Built, Entries, Frame, Function, Items, Repeated, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Unknown

MODULES = ("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict")
OPTIONS = ("ignore_index", "blank", "reduction")
"""What a program may set on a loss after it was made."""


def changed(world: World, thing: Thing, binding: Binding, frame: Frame) -> Thing:
    """A container that something may change after its definition is no longer whole."""
    if isinstance(thing, Built):
        return _rewritten(thing, binding.name, frame)
    if not isinstance(thing, Items | Entries) or (isinstance(thing, Items) and not thing.mutable):
        return thing
    word = binding.name.rpartition(".")[2]
    keys = [frame.module.changed[word]] if word in frame.module.changed else []
    keys += _changed_elsewhere(world, word, frame)
    if not keys:
        return thing
    if isinstance(thing, Entries):
        return replace(thing, whole=False, changed=thing.changed.union(*keys))
    grown = _appended(binding.name, frame)
    if not grown:
        return replace(thing, whole=False)
    if not thing.elements and len(grown) == 1:
        return Repeated(Thunk(grown[0], frame), Unknown("the list grows in a loop"), thing.node)
    return replace(thing, whole=False, tail=Thunk(grown[-1], frame))


def _rewritten(thing: Built, name: str, frame: Frame) -> Built:
    """An object of a library that is no longer what it was made as: a member is put in, an option is set."""
    kind, module = thing.what.name, frame.module
    if kind in MODULES and name.rpartition(".")[2] in module.changed:
        return replace(thing, arguments=None)
    if kind.startswith("torch.nn.") and any(f"{name}.{option}" in module.stored for option in OPTIONS):
        open_ones = Thunk(ast.Constant(None), frame, Unknown(f"an option of {name} is set after it was made"))
        return replace(thing, arguments=Arguments(double_stars=(open_ones,)))
    return thing


def _appended(name: str, frame: Frame) -> list[ast.expr]:
    """What the scope appends to a list, in the order of the text."""
    scope = frame.function or frame.module.tree
    known = frame.module.kept.get(("appended", scope))
    if not isinstance(known, dict):
        known = frame.module.kept["appended", scope] = _every_append(scope)
    return list(known.get(name, ()))


def _every_append(scope: ast.AST) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(scope):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="append"), args=[only]) if name := dotted(value):
                found.setdefault(name, []).append(only)
    return {name: sorted(each, key=lambda node: (node.lineno, node.col_offset)) for name, each in found.items()}


def _changed_elsewhere(world: World, word: str, frame: Frame) -> tuple[frozenset[object], ...]:
    """The keys that others write into a container under this name: who is handed it, and who imports it."""
    scope: Scope = frame.function or frame.module.tree
    key = ("changed elsewhere", scope, word)
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        world.workspace.answers[key] = ()
        known = (*_by_others(world, word, frame.module, scope), *_by_importers(world, word, frame.module, scope))
        world.workspace.answers[key] = known
    return known


def _by_others(world: World, word: str, module: Module, scope: Scope) -> Iterator[frozenset[object]]:
    """``extend(vocabulary)``, ``words = vocabulary``: something writes into it under another name."""
    for node in module.loads.get(word, ()):
        parent = module.parents.get(node)
        if parent is None or module.scope(parent) is not scope:
            continue
        match parent:
            case ast.Call(args=args) if node in args:
                yield from _by_callee(world, module, parent, args.index(node))
            case ast.Assign(targets=targets, value=value) if value is node:
                yield from (module.changed[name] for target in targets if (name := last(target)) in module.changed)


def _by_callee(world: World, module: Module, call: ast.Call, position: int) -> Iterator[frozenset[object]]:
    """What a function of the project writes into the argument at a position."""
    thing = world.apart().evaluate(call.func, world.open_frame(module, call))
    if not isinstance(thing, Function):
        return
    names = [each.arg for each in parameters(thing.node)][int(thing.receiver is not None) :]
    if position < len(names) and names[position] in thing.frame.module.changed:
        yield thing.frame.module.changed[names[position]]


def _by_importers(world: World, word: str, module: Module, scope: Scope) -> Iterator[frozenset[object]]:
    """Another file imports the container, or the module that holds it, and writes into it."""
    if not isinstance(scope, ast.Module) or not word:
        return
    for other in world.workspace.changing(word, module.name.rpartition(".")[2]):
        if other is not module and word in other.changed and _imports(world, other, module, word):
            yield other.changed[word]


def _imports(world: World, other: Module, module: Module, word: str) -> bool:
    if any(world.workspace.find(star, other) is module for star, _ in other.stars):
        return True
    for full in other.imports.values():
        home, _, last = full.rpartition(".")
        if (last == word and world.workspace.find(home, other) is module) or world.workspace.find(
            full, other
        ) is module:
            return True
    return False
