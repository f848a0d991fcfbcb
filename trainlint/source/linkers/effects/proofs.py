"""An expression in; out, the line that proves it to be a tensor, or to be a module. What is only likely proves nothing.

A tensor is what torch's own functions and layers make, a parameter of a module, what an annotation says, and what a
function is given that takes nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from trainlint.knowledge import effects, torch
from trainlint.knowledge.torch import SELF_METHODS
from trainlint.record import thing
from trainlint.source import objects
from trainlint.source.binding import declared
from trainlint.source.names import final, holds, reaching
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Binding, Built, Class, External, Frame, Function, Method, Opaque, Thing
from trainlint.source.world import World
from trainlint.source.writes import attribute_writes, is_receiver
from trainlint.value import Step

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef
DEEPEST = 6
"""Names, attributes and operations between an expression and what proves its kind."""

MANY = ("parameters", "buffers")
MANY_NAMED = ("named_parameters", "named_buffers")
INSIDE = ("modules", "children")
INSIDE_NAMED = ("named_modules", "named_children")
OF_TORCH = frozenset(torch.LAYERS) | torch.KEEPS_CLASSES | {"torch.nn.Embedding", "torch.nn.Flatten"}
"""Modules of the library that take one tensor and return one."""


def tensor(world: World, node: ast.expr, frame: Frame, depth: int = 0) -> Step | None:
    """The line by which an expression is a tensor."""
    if depth > DEEPEST:
        return None
    match node:
        case ast.Call():
            return _made(world, node, frame, depth + 1)
        case ast.BinOp(left=left, right=right):
            return tensor(world, left, frame, depth + 1) or tensor(world, right, frame, depth + 1)
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=value) | ast.Subscript(value=value):
            return tensor(world, value, frame, depth + 1)
        case ast.Attribute(value=value, attr=attr) if attr in effects.PARTS:
            return tensor(world, value, frame, depth + 1)
        case ast.Attribute():
            return _attribute(world, node, frame, depth + 1)
        case ast.Name():
            return _name(world, node, frame, depth + 1)
    return None


def _made(world: World, node: ast.Call, frame: Frame, depth: int) -> Step | None:
    """What a call of torch makes, a layer's answer, or what a function of the project says that it returns."""
    match node.func:
        case ast.Attribute(value=value, attr=attr) if (
            attr in effects.ANSWERS or attr.removesuffix("_") in effects.METHODS
        ):
            known = tensor(world, value, frame, depth)
            if known is not None:
                return known
    match _callee(world, node.func, frame):
        case External(name=name) if name in effects.MAKERS | effects.FUNCTIONS | effects.TENSORS:
            return frame.step(node)
        case Built(what=External(name=name)) if name in OF_TORCH:
            return frame.step(node)
        case Function(node=ast.FunctionDef(returns=ast.expr() as said)) as function:
            return function.frame.step(function.node) if _says(said, function.frame.module) else None
    return None


def _callee(world: World, func: ast.expr, frame: Frame) -> Thing | None:
    """What is called, as far as one line says it: what is imported or defined here, a layer that is made here."""
    root = (dotted(func) or "").partition(".")[0]
    if root in frame.module.imports or root in frame.module.definitions:
        return world.evaluate(func, frame) if not last(func).startswith(("from_", "load_")) else None
    match func:
        case ast.Name(id=name):
            found = reaching(world, name, func, frame)
            value = found.node.value if found is not None and isinstance(found.node, ast.Assign) else None
            return _layer(world, value, frame)
        case ast.Attribute(value=holder, attr=attr) if (cls := _own_class(holder, frame)) is not None:
            return objects.method(world, cls, attr, None) or _layer_of(world, cls, attr)
    return None


def _layer_of(world: World, cls: Class, name: str) -> Thing | None:
    """The layer that the methods of a class put into an attribute, if only one line does."""
    written = list(_writes(world, cls, name))
    if len(written) != 1:
        return None
    ((module, value),) = written
    return _layer(world, value, world.open_frame(module, value))


def _layer(world: World, value: ast.expr | None, frame: Frame) -> Thing | None:
    """A module that torch's own class makes, and that may be moved in the same line."""
    made = value.func if isinstance(value, ast.Call) else None
    while isinstance(made, ast.Attribute) and made.attr in SELF_METHODS and isinstance(made.value, ast.Call):
        value, made = made.value, made.value.func
    root = (dotted(made) or "").partition(".")[0] if made is not None else ""
    if value is None or not frame.module.imports.get(root, root).startswith("torch"):
        return None
    return world.evaluate(value, frame)


def _says(said: ast.expr, module: Module) -> bool:
    """Whether an annotation says that a value is a tensor, or that it is None."""
    match said:
        case ast.Constant(value=str(text)):
            return _is_named(text, module)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _says(left, module)
        case ast.Subscript(value=value, slice=inner) if last(value) == "Optional":
            return _says(inner, module)
    return _is_named(dotted(said) or "", module)


def _is_named(name: str, module: Module) -> bool:
    head, dot, rest = name.partition(".")
    return f"{module.imports.get(head, head)}{dot}{rest}" in effects.TENSORS


@thing
class _Home:
    """What binds a name, and the frame in which it does; a parameter is bound by nothing."""

    binding: Binding | None
    frame: Frame


def _home(world: World, node: ast.Name, frame: Frame) -> _Home | None:
    """Where a name gets its value, inner scopes first."""
    found = reaching(world, node.id, node, frame)
    each: Frame | None = frame
    while each is not None:
        if found is not None:
            return _Home(found, each)
        if isinstance(each.function, FunctionDef) and node.id in declared(each.function):
            return _Home(None, each)
        each = _outer(world, each)
        if each is not None:
            scope = each.function if isinstance(each.function, FunctionDef) else each.module.tree
            found = final(world, node.id, scope, each)
    return None


def _outer(world: World, frame: Frame) -> Frame | None:
    """The next scope in which a name is looked for: that of a class is none."""
    outer = frame.outer
    while outer is not None and isinstance(outer.function, ast.ClassDef):
        outer = outer.outer
    return outer or (world.module_frame(frame.module) if frame.function is not None else None)


def _name(world: World, node: ast.Name, frame: Frame, depth: int) -> Step | None:
    home = _home(world, node, frame)
    if home is None or (home.binding is not None and home.binding.name != node.id):
        return None
    proof = _bound(world, home.binding, home.frame, depth) if home.binding else _parameter(node.id, home.frame)
    return proof or (_taken(world, node, home, depth) if home.frame is frame else None)


def _parameter(name: str, frame: Frame) -> Step | None:
    """What the annotation of a parameter says."""
    assert isinstance(frame.function, FunctionDef), "a parameter belongs to a function"
    place = declared(frame.function)[name]
    said = place.annotation
    return frame.step(place) if said is not None and _says(said, frame.module) else None  # type: ignore[arg-type]


def _bound(world: World, binding: Binding, frame: Frame, depth: int) -> Step | None:
    """What a statement binds a name to."""
    match binding.node:
        case ast.Assign(targets=[*_, ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            pairs = zip(names, values, strict=True)
            found = next((value for name, value in pairs if dotted(name) == binding.name), None)
            return tensor(world, found, frame, depth) if found is not None else None
        case ast.Assign(targets=targets, value=value) if any(dotted(each) == binding.name for each in targets):
            return tensor(world, value, frame, depth)
        case ast.AnnAssign(annotation=said, value=value) as statement:
            known = tensor(world, value, frame, depth) if value is not None else None
            return known or (frame.step(statement) if _says(said, frame.module) else None)
        case ast.AugAssign(target=target, value=value):
            return tensor(world, target, frame, depth) or tensor(world, value, frame, depth)
        case ast.For(target=target, iter=over) as loop:
            is_one = _runs_over(target, over, binding.name, MANY, MANY_NAMED) or (
                dotted(target) == binding.name and tensor(world, over, frame, depth) is not None
            )
            return frame.step(loop) if is_one else None
    return None


def _runs_over(target: ast.expr, over: ast.expr, name: str, alone: Sequence[str], beside: Sequence[str]) -> bool:
    """Whether a loop gives a name what ``alone`` hands out, or ``beside`` hands out beside a name."""
    method = over.func.attr if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) else ""
    match target:
        case ast.Tuple(elts=[_, second]):
            return method in beside and dotted(second) == name
    return method in alone and dotted(target) == name


def _taken(world: World, node: ast.Name, home: _Home, depth: int) -> Step | None:
    """A call that is given the same value, whatever else happens, and takes nothing but tensors."""
    frame, module = home.frame, home.frame.module
    for use in module.loads.get(node.id, ()):
        call = module.parents.get(use)
        if not (isinstance(call, ast.Call) and call.args[:1] == [use]) or module.scope(use) is not module.scope(node):
            continue
        if _runs_with(module, call, node) and _takes_tensors(world, call, frame):
            again = reaching(world, node.id, use, frame)
            if (again.node if again else None) is (home.binding.node if home.binding else None):
                return frame.step(call)
    return None


def _runs_with(module: Module, call: ast.AST, node: ast.AST) -> bool:
    """Whether no test lies between a call and another line of its function that the other line does not pass too."""
    holder, scope = module.parents.get(call), module.scope(call)
    while holder is not None and holder is not scope:
        if isinstance(holder, ast.If | ast.IfExp | ast.Try | ast.While) and not holds(module, holder, node):
            return False
        holder = module.parents.get(holder)
    return True


def _takes_tensors(world: World, call: ast.Call, frame: Frame) -> bool:
    match _callee(world, call.func, frame):
        case External(name=name):
            return name in effects.TENSOR_ONLY
        case Built(what=External(name=name)):
            return name in OF_TORCH
    return False


def _attribute(world: World, node: ast.Attribute, frame: Frame, depth: int) -> Step | None:
    """A parameter or a buffer of a module, or what every write to an attribute of an object gives it."""
    name = dotted(node)
    if name is not None and name in frame.module.stored:
        found = reaching(world, name, node, frame)
        if found is not None and found.name == name:
            return _bound(world, found, frame, depth)
    if node.attr in ("weight", "bias"):
        return _of_layer(world, node.value, frame)
    cls = _own_class(node.value, frame)
    return _left(world, cls, node.attr, depth) if cls is not None else None


def _of_layer(world: World, holder: ast.expr, frame: Frame) -> Step | None:
    """The line that makes a layer of torch, whose weight and bias are tensors."""
    match world.evaluate(holder, frame):
        case Built(what=External(name=name)) as built if name in OF_TORCH:
            return _made_at(built)
    return None


def _own_class(holder: ast.expr, frame: Frame) -> Class | None:
    """The class of ``self`` in one of its methods; what others are is dear to find out."""
    outer = frame.outer
    if not isinstance(holder, ast.Name) or outer is None or not isinstance(outer.function, ast.ClassDef):
        return None
    first = next(iter(declared(frame.function)), "") if isinstance(frame.function, FunctionDef) else ""
    return Class(outer.function, outer.module, outer.outer or outer) if holder.id == first else None


def _made_at(built: Built) -> Step | None:
    return built.frame.step(built.node) if isinstance(built.node, ast.expr | ast.stmt) and built.frame.module else None


def _left(world: World, cls: Class, name: str, depth: int) -> Step | None:
    """What the methods of a class put into an attribute, if all of them put in a tensor, or None."""
    with world.once(("a tensor", cls.node, name)) as is_free:
        proofs = [_put(world, *each, depth) for each in _writes(world, cls, name)] if is_free else [None]
    known = [proof for proof in proofs if proof is not None]
    return known[0] if known and len(known) == len(proofs) else None


def _put(world: World, module: Module, value: ast.expr, depth: int) -> Step | None:
    proof = tensor(world, value, world.open_frame(module, value), depth)
    return module.step(module.statement(value)) if proof is not None else None


def _writes(world: World, cls: Class, name: str) -> Iterator[tuple[Module, ast.expr]]:
    """The values that methods of a class and of its bases write to an attribute; None is no value."""
    for each in objects.lineage(world, cls):
        if not isinstance(each, Class):
            continue
        module = each.module
        for target, node in attribute_writes(module).get(name, ()):
            value = getattr(node, "value", None)
            is_own = holds(module, each.node, node) and is_receiver(module, target, node)
            if is_own and isinstance(value, ast.expr) and not _is_none(value):
                yield module, value
        for call in module.calls:
            match call:
                case ast.Call(
                    func=ast.Attribute(attr="register_buffer" | "register_parameter"),
                    args=[ast.Constant(value=str(said)), value, *_],
                ) if said == name and holds(module, each.node, call) and not _is_none(value):
                    yield module, value


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def parameter(world: World, node: ast.expr, frame: Frame) -> Step | None:
    """The line by which an expression is a parameter of a module, which is trained unless it is told not to be."""
    home = _home(world, node, frame) if isinstance(node, ast.Name) else None
    match home.binding.node if home is not None and home.binding is not None else node:
        case ast.For(target=target, iter=over) as loop if home is not None:
            is_one = _runs_over(target, over, last(node), MANY[:1], MANY_NAMED[:1])
            return home.frame.step(loop) if is_one else None
        case ast.Assign(value=ast.Call(func=func) as made) if home is not None and last(func) == "Parameter":
            return home.frame.step(made)
        case ast.Attribute(value=holder, attr="weight" | "bias"):
            return module(world, holder, frame)
    return None


def module(world: World, node: ast.expr, frame: Frame) -> Step | None:
    """The line by which an expression is a module."""
    if isinstance(node, ast.Name) and (home := _home(world, node, frame)) is not None and home.binding is not None:
        match home.binding.node:
            case ast.For(target=target, iter=over) as loop if _runs_over(target, over, node.id, INSIDE, INSIDE_NAMED):
                return home.frame.step(loop)
    thing = world.evaluate(node, frame)
    return _of_class(world, thing) or (frame.step(node) if _is_of_zoo(thing) else None)


def _of_class(world: World, thing: Thing) -> Step | None:
    match thing:
        case Built(what=External(name=name)) as built if is_module_of_torch(name) or effects.is_zoo(name):
            return _made_at(built)
        case Built(what=Class() as cls) if is_module(world, cls):
            return cls.module.step(cls.node)
    return None


def _is_of_zoo(thing: Thing) -> bool:
    """Whether a thing is a model of a library, or a part of one that is a module."""
    match thing:
        case Method(thing=Built(what=External(name=name)), name=part):
            return effects.is_zoo(name) and part in effects.MEMBERS
        case Opaque(origin=origin):
            made, _, where = origin.partition("()@")
            parts = where.split(".")[1:]
            return effects.is_zoo(made) and all(part in effects.MEMBERS for part in parts)
    return False


def is_module_of_torch(name: str) -> bool:
    """Whether a name is that of a class of modules of torch."""
    head, _, word = name.rpartition(".")
    return head in ("torch.nn", "torch.nn.parallel") and word[:1].isupper() and name not in effects.TENSORS


def is_module(world: World, cls: Class) -> bool:
    """Whether a class of the project is one of modules."""
    bases = (each.name for each in objects.lineage(world, cls) if isinstance(each, External))
    return any(is_module_of_torch(base) or base.endswith(effects.MODULES) for base in bases)
