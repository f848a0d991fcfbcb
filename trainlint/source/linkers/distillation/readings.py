"""What is done with a teacher that is kept on a module: who calls it, freezes it, switches its mode, writes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.record import dataclass, field, thing
from trainlint.regex import regex
from trainlint.source import callers, objects
from trainlint.source.gradients import NO_GRADIENT
from trainlint.source.objects import FunctionDef, marks
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Class, Function
from trainlint.source.world import World
from trainlint.value import Step

FREEZING = regex(r"freeze|grad", re.IGNORECASE)
"""A function that freezes what it is given says so."""

EVALUATED = frozenset({"eval", "from_pretrained"})
"""Methods that hand back a module in evaluation mode."""

SETTERS = frozenset({"to", "cuda", "cpu", "half", "float", "bfloat16", "double", "config", "device", "dtype"})
HANDED_OUT = frozenset({"parameters", "named_parameters", "state_dict", "load_state_dict", "modules", "buffers"})
"""Methods through which an average is written, or a mode that is not followed."""

SIDE = regex(r"loss|crit|metric|log|print|(?<![a-z])t(?:eacher|_)|teacher|train|eval|device", re.IGNORECASE)
"""Parts of an object that are no student."""

LOOKS = frozenset({"isinstance", "print", "hasattr", "getattr", "type", "id"})


@thing
class Keeper:
    """The class that keeps a teacher, under which name, and the method in which it is put there."""

    cls: Class
    name: str
    init: FunctionDef
    assignment: ast.Assign

    @property
    def first(self) -> str:
        """What the method calls the object."""
        return self.init.args.args[0].arg if self.init.args.args else ""


@thing
class Reading:
    """One place that reads a teacher; ``at_start`` says that it is in the constructor."""

    module: Module
    node: ast.expr
    at_start: bool

    def step(self, node: ast.AST) -> Step:
        """The line of a node, as evidence."""
        return self.module.step(self.module.statement(node))


@dataclass
class Uses:
    """What is done with a teacher: the lines by kind.

    ``still`` calls it without a gradient, ``learning`` with one. ``handled`` says that something else decides about its
    mode or its weights.
    """

    still: list[Step] = field(default_factory=list)
    learning: list[Step] = field(default_factory=list)
    frozen: list[Step] = field(default_factory=list)
    evaluated: list[Step] = field(default_factory=list)
    handled: bool = False

    @property
    def still_lines(self) -> tuple[Step, ...]:
        """What shows that it is asked and learns nothing."""
        if not self.still and not self.learning:
            return ()
        return tuple(self.frozen[:1] or ([] if self.learning else self.still[:1]))


def uses(world: World, module: Module, keeper: Keeper) -> Uses:
    """Everything that is done with a teacher, in its class, in those around it, and from outside."""
    found = Uses(handled=_is_written_again(keeper))
    for reading in (*_reads(world, module, keeper), *_alias(module, keeper)):
        _note(world, reading, found)
    for call in (each for each in ast.walk(keeper.assignment.value) if isinstance(each, ast.Call)):
        if last(call.func) in EVALUATED:
            found.evaluated.append(module.step(keeper.assignment))
        elif last(call.func) == "requires_grad_":
            found.frozen.append(module.step(keeper.assignment))
    return found


def is_beside_student(module: Module, keeper: Keeper) -> bool:
    """Whether the method that asks the teacher asks another part of the object too, and with a gradient.

    A module that only asks a teacher is a teacher itself.
    """
    calls = {name: list(_asked(node)) for name, node in objects.methods(keeper.cls).items() if node is not keeper.init}
    asking = {name for name, found in calls.items() if any(word == keeper.name for word, _ in found)}
    asking |= {name for name, found in calls.items() if any(word in asking for word, _ in found)}
    return any(
        not (SIDE.search(word) or word in asking) and not _is_without_gradient(module, call)
        for name in asking
        for word, call in calls[name]
    )


def _asked(node: FunctionDef) -> Iterator[tuple[str, ast.Call]]:
    """The parts of an object that a method calls: ``self.student(x)``, ``self.student.encode(x)``, ``self(x)``."""
    first = node.args.args[0].arg if node.args.args else ""
    for call in (each for each in ast.walk(node) if isinstance(each, ast.Call)):
        receiver, _, rest = (dotted(call.func) or "").partition(".")
        if receiver == first:
            yield rest.partition(".")[0], call


def _is_written_again(keeper: Keeper) -> bool:
    """Whether the class puts another module in the place of a teacher."""
    assigned = (each for each in ast.walk(keeper.cls.node) if isinstance(each, ast.Assign))
    others = (each for each in assigned if each is not keeper.assignment and not isinstance(each.value, ast.Constant))
    return any(last(target) == keeper.name for each in others for target in each.targets)


def _reads(world: World, module: Module, keeper: Keeper) -> Iterator[Reading]:
    others = [each for each in world.workspace.mentions(f".{keeper.name}", module.path) if each is not module]
    every = [*objects.lineage(world, keeper.cls), *callers.subclasses(world, keeper.cls)]
    family = {each.node for each in every if isinstance(each, Class)}
    for other in (module, *others):
        for node in () if other.is_test else other.loads.get(keeper.name, ()):
            if isinstance(node, ast.Attribute) and (dotted(node.value) != "self" or _class_of(other, node) in family):
                yield Reading(other, node, other.scope(node) is keeper.init)


def _class_of(module: Module, node: ast.AST) -> ast.AST | None:
    holder: ast.AST | None = node
    while holder is not None and not isinstance(holder, ast.ClassDef):
        holder = module.parents.get(holder)
    return holder


def _alias(module: Module, keeper: Keeper) -> Iterator[Reading]:
    """Where the constructor reads the variable that it keeps as the teacher."""
    value = keeper.assignment.value
    for node in module.loads.get(value.id, ()) if isinstance(value, ast.Name) else ():
        if isinstance(node, ast.Name) and module.scope(node) is keeper.init and node is not value:
            yield Reading(module, node, at_start=True)


def _note(world: World, reading: Reading, found: Uses) -> None:
    """What one read of a teacher does with it."""
    node, parent = reading.node, reading.module.parents.get(reading.node)
    match parent:
        case ast.Call(func=func) if func is node:
            _called(reading, parent, found)
        case ast.Call():
            _passed(world, reading, parent, found)
        case ast.keyword():
            found.handled |= not reading.at_start
        case ast.Attribute(attr="eval" | "train"):
            found.evaluated.append(reading.step(parent))
            found.handled |= not reading.at_start
        case ast.Attribute(attr="requires_grad_"):
            found.frozen.append(reading.step(parent))
        case ast.Attribute(attr=attr) if attr in HANDED_OUT:
            _handed_out(reading, found)
        case ast.Attribute(attr=attr) if attr not in SETTERS:
            _called_within(reading, parent, found)


def _called_within(reading: Reading, node: ast.Attribute, found: Uses) -> None:
    """``self.teacher.encoder.encode(x)``."""
    outer = reading.module.parents.get(node)
    while isinstance(outer, ast.Attribute):
        node, outer = outer, reading.module.parents.get(outer)
    if isinstance(outer, ast.Call) and outer.func is node:
        _called(reading, outer, found)


def _called(reading: Reading, call: ast.Call, found: Uses) -> None:
    """A teacher answers: with a gradient, or without."""
    parent = reading.module.parents.get(call)
    is_detached = isinstance(parent, ast.Attribute) and parent.attr == "detach"
    is_still = is_detached or _is_without_gradient(reading.module, call)
    (found.still if is_still else found.learning).append(reading.step(call))


def _is_without_gradient(module: Module, node: ast.AST) -> bool:
    holder: ast.AST | None = node
    while holder is not None:
        match holder:
            case ast.With(items=items) if any(_says_no_gradient(item.context_expr) for item in items):
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() if marks(holder) & NO_GRADIENT:
                return True
        holder = module.parents.get(holder)
    return False


def _says_no_gradient(node: ast.expr) -> bool:
    return last(node.func if isinstance(node, ast.Call) else node) in NO_GRADIENT


def _passed(world: World, reading: Reading, call: ast.Call, found: Uses) -> None:
    """A function is given the teacher: it may freeze it, or average into it."""
    if not reading.at_start:
        found.handled |= last(call.func) not in LOOKS
        return
    if FREEZING.search(last(call.func)):
        found.frozen.append(reading.step(call))
    if evaluates(world, reading.module, call):
        found.evaluated.append(reading.step(call))


def evaluates(world: World, module: Module, call: ast.Call) -> bool:
    """Whether a function of the project puts something into evaluation mode."""
    quiet = world.apart()
    thing = quiet.evaluate(call.func, quiet.open_frame(module, call))
    if not isinstance(thing, Function):
        return False
    return any(isinstance(each, ast.Attribute) and each.attr == "eval" for each in ast.walk(thing.node))


def _handed_out(reading: Reading, found: Uses) -> None:
    """The parameters of a teacher are frozen in a loop, or written, or given away."""
    loop = reading.module.statement(reading.node)
    if isinstance(loop, ast.For) and _freezes(loop):
        found.frozen.append(reading.module.step(loop))
    elif not reading.at_start:
        found.handled = True


def _freezes(loop: ast.For) -> bool:
    """``for p in teacher.parameters(): p.requires_grad = False``."""
    words = {each.attr for each in ast.walk(loop) if isinstance(each, ast.Attribute)}
    return bool(words & {"requires_grad", "requires_grad_"})
