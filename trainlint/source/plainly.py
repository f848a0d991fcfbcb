"""Whether all that a class of the project makes when it is constructed has PyTorch's default format.

A class in, a yes or no out, the same for every object of it: nothing in its constructors, nor in those of the modules
that they make, casts, loads, or names a format. So this is asked once of a class, not of each model that holds such a
part, and costs no path.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.knowledge import precision
from trainlint.source import objects
from trainlint.source.castings import says
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module
from trainlint.source.things import Built, Class, External, Function, Opaque, Thing
from trainlint.source.world import World
from trainlint.value import Unknown

DEEPEST = 4
"""Functions inside functions that are looked through for modules which they hand back."""

MOST_CLASSES = 200
FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


def makes_plainly(world: World, cls: Class) -> bool:
    """Whether all that is made for an object of a class has the default format, what is handed in aside."""
    key = ("makes plainly", cls.node)
    known = world.workspace.answers.get(key)
    if not isinstance(known, bool):
        known = world.workspace.answers[key] = _is_closed(world, cls)
    return known


def is_module(world: World, cls: Class) -> bool:
    """Whether the objects of a class are modules, of PyTorch or of a library that builds on it."""
    return any(isinstance(each, External) and each.name.endswith("Module") for each in objects.lineage(world, cls))


def _is_closed(world: World, cls: Class) -> bool:
    found, waiting = {cls.node}, [cls]
    while waiting:
        made = _makes(world, waiting.pop())
        if made is None or len(found) > MOST_CLASSES:
            return False
        waiting += [each for each in made if each.node not in found]
        found.update(each.node for each in made)
    return True


def _makes(world: World, cls: Class) -> tuple[Class, ...] | None:
    """The modules of the project that the constructors of a class make; None where some are open, or not plain."""
    key = ("makes", cls.node)
    if key not in world.workspace.answers:
        world.workspace.answers[key] = _made(world, cls)
    return world.workspace.answers[key]  # type: ignore[return-value]


def _made(world: World, cls: Class) -> tuple[Class, ...] | None:
    made: dict[ast.ClassDef, Class] = {}
    for owner in objects.lineage(world, cls):
        init = objects.methods(owner).get("__init__") if isinstance(owner, Class) else None
        if init is None or isinstance(owner, External):
            continue
        if says(world, owner.module, init):
            return None
        for each in _modules(world, owner.module, init, cls, DEEPEST):
            if each is None:
                return None
            made[each.node] = each
    return tuple(made.values())


def _modules(world: World, module: Module, function: ast.AST, cls: Class | None, depth: int) -> Iterator[Class | None]:
    """The modules that a function makes, None for what is open, or is told a format; ``cls`` is its receiver's."""
    first = function.args.args[0].arg if cls and isinstance(function, FunctionDef) and function.args.args else ""
    for node in nodes_of(function):
        match node:
            case ast.Assign(value=ast.Name() as value):
                if _is_of_module(world.apart().evaluate(value, world.open_frame(module, value))):
                    yield None
            case ast.Call():
                is_own = isinstance(node.func, ast.Attribute) and _is_name(node.func.value, first)
                thing = _own(world, cls, node) if is_own and cls else None
                if thing is None:
                    thing = world.apart().evaluate(node.func, world.open_frame(module, node))
                yield from _by_call(world, module, node, thing, cls if is_own else None, depth)


def _is_of_module(thing: Thing) -> bool:
    """Whether an object was made by the code of a module itself, where it may have been cast since."""
    return isinstance(thing, Built) and isinstance(thing.node, ast.Call) and thing.frame.function is None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _own(world: World, cls: Class, call: ast.Call) -> Thing | None:
    """What a call ``self.name(...)`` calls in an object of a class: a method, or what stands in its body."""
    assert isinstance(call.func, ast.Attribute), "a call of the object's own"
    method = objects.method(world, cls, call.func.attr, None)
    return method if method is not None else objects.class_attribute(world.apart(), cls, call.func.attr)


def _by_call(
    world: World, module: Module, call: ast.Call, thing: Thing, cls: Class | None, depth: int
) -> Iterator[Class | None]:
    match thing:
        case Class() if not is_module(world, thing):
            return
        case External(name=name) if not name.startswith("torch.nn."):
            return
        case Class() | External():
            is_told = any(each.arg is None or each.arg in precision.DTYPE_KEYWORDS for each in call.keywords)
            if is_told or isinstance(thing, Class):
                yield None if is_told else thing  # type: ignore[misc]
        case Function(node=inner) if depth and _is_taken(module, call):
            yield from _modules(world, thing.frame.module, inner, cls, depth - 1)
        case Opaque() | Unknown() if (cls or not isinstance(call.func, ast.Attribute)) and _is_taken(module, call):
            yield None


def _is_taken(module: Module, call: ast.Call) -> bool:
    """Whether what a call returns may become a part: it is neither dropped nor tested, nor another object's."""
    child: ast.AST = call
    holder = module.parents.get(call)
    while holder is not None and not isinstance(holder, ast.stmt):
        child, holder = holder, module.parents.get(holder)
    match holder:
        case ast.Expr():
            return child is not call
        case ast.If() | ast.While() | ast.Assert() | ast.Raise():
            return False
        case ast.Assign(targets=[ast.Attribute(value=ast.Attribute())]):
            return False
    return True
