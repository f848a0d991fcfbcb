"""What becomes of a container after it was written down: it grows, its entries are replaced, here or elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.record import replace, thing
from trainlint.source import builtin, filling, growth
from trainlint.source.binding import declared, parameters
from trainlint.source.summary import (
    ANY_KEY,
    CHANGES,
    FunctionNode,
    Module,
    Scope,
    dotted,
    last,
    outermost,
    updated,
    written_keys,
)
from trainlint.source.things import Arguments, Binding, Built, Entries, Frame, Function, Items, Later, Thing, Thunk
from trainlint.source.world import World
from trainlint.source.writes import attribute_writes
from trainlint.value import Unknown

MODULES = ("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict")
OPTIONS = ("ignore_index", "blank", "reduction")
"""What a program may set on a loss after it was made."""

MOST_UPWARD = 40


@thing
class Write:
    """One write into a container: under which name, which keys, where; ``bound`` if it binds them as places."""

    name: str
    keys: tuple[object, ...]
    scope: Scope
    node: ast.AST
    bound: bool


def changed(world: World, thing: Thing, binding: Binding, frame: Frame, use: ast.AST | None) -> Thing:
    """A container as it is where it is read: what its own scope writes into it is followed, the rest leaves it open."""
    if isinstance(thing, Built):
        return _rewritten(world, thing, binding, frame, use)
    word = binding.name.rpartition(".")[2]
    if not isinstance(thing, Items | Entries) or not _may_change(thing, word, frame):
        return thing
    elsewhere = _changed_elsewhere(world, word, frame)
    if word not in frame.module.changed and not elsewhere:
        return thing
    if isinstance(thing, Entries):
        return _rewritten_entries(world, thing, binding, frame, use, elsewhere)
    concerning = [each for each in _writes(frame.module, word) if _concerns(each, binding.name, frame)]
    if not concerning and not elsewhere:
        return thing
    return (
        growth.grown(world, thing, binding, frame, use) if not elsewhere else replace(thing, elements=(), whole=False)
    )


def _may_change(thing: Items | Entries, word: str, frame: Frame) -> bool:
    """A tuple changes by ``+=`` alone."""
    if isinstance(thing, Entries) or thing.mutable:
        return True
    return any(isinstance(each.node, ast.AugAssign) for each in _writes(frame.module, word))


def _rewritten_entries(
    world: World,
    thing: Entries,
    binding: Binding,
    frame: Frame,
    use: ast.AST | None,
    elsewhere: tuple[frozenset[object], ...],
) -> Entries:
    """A dictionary whose scope writes some of its keys; keys that others write, or that are open, stay open."""
    word, scope = binding.name.rpartition(".")[2], frame.function or frame.module.tree
    writes = [each for each in _writes(frame.module, word) if _concerns(each, binding.name, frame)]
    if not writes and not elsewhere:
        return thing
    inside = [each for each in writes if each.scope is scope and each.name == binding.name]
    own = [each for each in inside if each.bound]
    full = filling.filled(world, thing, binding, frame, use) if len(own) < len(inside) else None
    followed = own if full is None else inside
    opened = {key for each in writes if each not in followed for key in each.keys}.union(*elsewhere)
    if full is not None:
        return replace(full, whole=not opened, changed=frozenset(opened))
    keys = tuple(dict.fromkeys(str(key) for each in own for key in each.keys if key not in opened))
    later = (Later(binding.name, keys, frame, use), *thing.later) if keys else thing.later
    return replace(thing, whole=False, changed=thing.changed.union(opened), later=later)


def _writes(module: Module, word: str) -> tuple[Write, ...]:
    """Every write of a file into a container of one name."""
    known = module.kept.get(("container writes", word))
    if not isinstance(known, tuple):
        nodes = module.container_writes.get(word, ())
        writes = (write for node in nodes for write in _write(module, node))
        known = tuple(each for each in writes if each.name.rpartition(".")[2] == word)
        module.kept["container writes", word] = known
    return known


def _write(module: Module, node: ast.AST) -> Iterator[Write]:
    match node:
        case ast.Subscript(value=value, ctx=ast.Store()):
            container, keys = outermost(node, ())
            name = dotted(container)
            is_bound = value is container and all(isinstance(key, str) and "." not in key for key in keys)
            yield Write(name or last(container), keys, module.scope(node), node, is_bound and keys != (ANY_KEY,))
        case ast.Subscript(value=value, ctx=ast.Del()):
            yield Write(dotted(value) or last(value), (), module.scope(node), node, bound=False)
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in CHANGES:
            container, keys = outermost(value, written_keys(method, node))
            is_bound = method == "update" and value is container and set(keys) == set(updated(node))
            is_bound = is_bound and isinstance(module.parents.get(node), ast.Expr)
            yield Write(dotted(container) or last(container), keys, module.scope(node), node, is_bound)
        case ast.AugAssign(target=ast.Name() | ast.Attribute() as target):
            yield Write(dotted(target) or last(target), (ANY_KEY,), module.scope(node), node, bound=False)


def _concerns(write: Write, name: str, frame: Frame) -> bool:
    """Whether a write may be into the container that a name stands for: a plain name belongs to one scope."""
    if "." in name or "." in write.name:
        return True
    scope: ast.AST = write.scope
    for _ in range(MOST_UPWARD):
        if scope is (frame.function or frame.module.tree):
            return True
        if not isinstance(scope, ast.ClassDef) and _binds(frame.module, scope, name):
            return False
        if isinstance(scope, ast.Module):
            return False
        scope = frame.module.scope(scope)
    return True


def _binds(module: Module, scope: ast.AST, name: str) -> bool:
    """Whether a name is a function's own."""
    if isinstance(scope, FunctionNode) and name in declared(scope):
        return True
    body = getattr(scope, "body", [])
    return isinstance(body, list) and any(name in module.binds(inner) for inner in body)


def _rewritten(world: World, thing: Built, binding: Binding, frame: Frame, use: ast.AST | None) -> Thing:
    """An object of a library that is no longer what it was made as: a member is put in, an option is set."""
    kind, module, name = thing.what.name, frame.module, binding.name
    if kind in MODULES and name.rpartition(".")[2] in module.changed:
        return _refilled(world, thing, binding, frame, use)
    if kind.startswith("torch.nn.") and _has_option_set(world, name, module):
        open_ones = Thunk(ast.Constant(None), frame, Unknown(f"an option of {name} is set after it was made"))
        return replace(thing, arguments=Arguments(double_stars=(open_ones,)))
    return thing


def _has_option_set(world: World, name: str, module: Module) -> bool:
    """Whether an option is set on what has this name: here, or as the attribute of whatever object elsewhere."""
    if any(f"{name}.{option}" in module.stored for option in OPTIONS):
        return True
    _, dot, word = name.rpartition(".")
    return any(
        last(target) == word and (dotted(target) == name if not dot else isinstance(target, ast.Attribute))
        for option in OPTIONS
        for other in (world.workspace.writers(option, "") if dot else (module,))
        for target, _ in attribute_writes(other).get(option, ())
    )


def _refilled(world: World, thing: Built, binding: Binding, frame: Frame, use: ast.AST | None) -> Built:
    """A container of modules after what its scope puts into it."""
    given, node = thing.arguments, builtin.expression(thing.node)
    if given is None or given.stars or given.keywords or given.double_stars:
        return replace(thing, arguments=None)
    first: Thing | None = world.force(given.positional[0]) if len(given.positional) == 1 else None
    held: Thing
    if thing.what.name == "torch.nn.ModuleDict":
        held = first if isinstance(first, Entries) else Entries((), node, thing.frame)
    elif isinstance(first, Items):
        held = replace(first, mutable=True)
    elif first is None or isinstance(first, Built):
        held = Items(given.positional, node, thing.frame, mutable=True)
    else:
        return replace(thing, arguments=None)
    after = changed(world, held, binding, frame, use)
    return replace(thing, arguments=Arguments((Thunk(node, thing.frame, after),)))


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
    homes = (full.rpartition(".")[0] for full in other.imported.get(word, ()))
    files = other.imported.get(module.name.rpartition(".")[2], ())
    return any(world.workspace.find(full, other) is module for full in (*homes, *files))
