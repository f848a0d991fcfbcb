"""Regions of mixed precision, and the calls through which a line is reached: a line in, what surrounds it out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Device, Dtype
from trainlint.knowledge.formats import AUTOCAST, DEFAULT_FORMATS, NO_REGION
from trainlint.record import record
from trainlint.source import callers, formats, trainers
from trainlint.source.gradients import NO_GRADIENT
from trainlint.source.names import reaching
from trainlint.source.summary import dotted
from trainlint.source.things import Built, Constant, External, Frame, Function, Opaque, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Step, Unknown

MOST_CALLS = 10
"""A line is followed through this many calls to what surrounds it."""

SUSPECT = ("autocast", "amp", "precision", "cast", "ctx")
"""What the name of an open context says where it may be a region."""

COMPILING = ("torch.compile", "torch.jit.script")


@record
class Region:
    """A region of mixed precision: for which device, to which format it casts, and where it begins."""

    device: Device
    dtype: Dtype | Unknown
    step: Step
    node: ast.AST


def levels(world: World, node: ast.AST, frame: Frame) -> Iterator[tuple[ast.AST, Frame]]:
    """A line, the call that enters its function, the call that enters the function of that, and so on."""
    for _ in range(MOST_CALLS):
        frame = _whole(frame)
        yield node, frame
        entered = frame if frame.entry is not None else callers.entered(world, frame)
        if entered is None or entered.entry is None:
            return
        node, frame = entered.entry


def around(world: World, node: ast.AST, frame: Frame) -> Region | Unknown | None:
    """The innermost region around a line, calls included; Unknown where something may be one, None without any."""
    outermost = frame
    for inner, where in levels(world, node, frame):
        outermost = where
        for expression in _contexts(inner, where):
            found = _region(world, expression, where)
            if found is not None:
                return None if found is OFF else found
    return _by_trainer(world, outermost)


def _by_trainer(world: World, frame: Frame) -> Region | Unknown | None:
    """The region that a trainer of a library opens around a method which only it calls."""
    told = trainers.precision(world, frame)
    if told is None or isinstance(told, Unknown) or told.mixed is None:
        return told if isinstance(told, Unknown) else None
    return Region(told.device, told.mixed, told.step, told.node)


def compiled(world: World, node: ast.AST, frame: Frame) -> bool:
    """Whether the compiler sees a line: a function around it is compiled, or one of the calls that lead there."""
    return any(
        _is_marked(world, where) or _calls_compiled(world, inner, where) for inner, where in levels(world, node, frame)
    )


def trained(world: World, node: ast.AST, frame: Frame) -> bool:
    """Whether a gradient can come of a line, for all that surrounds it, calls included."""
    return not any(
        (dotted(each.func if isinstance(each, ast.Call) else each) or "").rpartition(".")[2] in NO_GRADIENT
        for inner, where in levels(world, node, frame)
        for each in _contexts(inner, where)
    )


OFF = Unknown("mixed precision is switched off here")


def _whole(frame: Frame) -> Frame:
    """The frame of a function, whichever turn of a loop it is in."""
    while frame.home is not None or frame.turn is not None:
        frame = frame.home or (frame.turn.around if frame.turn is not None else frame)
    return frame


def _contexts(node: ast.AST, frame: Frame) -> Iterator[ast.expr]:
    """What is entered around a node inside its function, innermost first; then the function's decorators."""
    module = frame.module
    child, holder = node, module.parents.get(node)
    while holder is not None and child is not frame.function:
        if isinstance(holder, ast.With | ast.AsyncWith) and child in holder.body:
            yield from (item.context_expr for item in reversed(holder.items))
        child, holder = holder, module.parents.get(holder)
    if isinstance(frame.function, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from frame.function.decorator_list


def _region(world: World, node: ast.expr, frame: Frame) -> Region | Unknown | None:
    """What entering an expression switches on; ``OFF`` where it switches mixed precision off."""
    thing = world.evaluate(node, frame)
    match thing:
        case Built(what=External(name=name)) if name in AUTOCAST:
            return _of_autocast(world, thing, name, frame.step(node))
        case Built(what=External(name=name)) if name in NO_REGION:
            return None
        case External(name=name) if name in AUTOCAST:
            device = AUTOCAST[name]
            return Region(_device(device), Dtype(DEFAULT_FORMATS[device]), frame.step(node), node) if device else None
        case External():
            return None
    text = frame.step(node).text
    if "no_grad" in text or isinstance(thing, Function) or not any(word in text.lower() for word in SUSPECT):
        return _of_function(world, node, frame)
    return Unknown(f"whether {text} is a region of mixed precision is open", text)


def _of_function(world: World, node: ast.expr, frame: Frame) -> Unknown | None:
    """A context that the project writes itself may open a region."""
    called = world.evaluate(node.func, frame) if isinstance(node, ast.Call) else None
    if not isinstance(called, Function) or isinstance(called.node, ast.Lambda):
        return None
    module = called.frame.module
    inside = module.rows[called.node.lineno - 1 : called.node.end_lineno]
    is_one = any("autocast" in row for row in inside)
    return Unknown(f"whether {called.name} opens a region of mixed precision is open") if is_one else None


def _of_autocast(world: World, built: Built, name: str, step: Step) -> Region | Unknown | None:
    given = built.arguments
    if given is None or given.stars or given.double_stars:
        return Unknown(f"what {step.text} is given is open", step.text)
    places = ("enabled", "dtype") if AUTOCAST[name] else ("device_type", "dtype", "enabled")
    arguments = {**dict(zip(places, given.positional, strict=False)), **given.keywords}
    device = AUTOCAST[name] or _text(world, arguments.get("device_type"))
    if not device:
        return Unknown(f"for which device {step.text} is, is open", step.text)
    enabled = world.force(arguments["enabled"]) if "enabled" in arguments else Constant(True)
    if not isinstance(enabled, Constant) or not isinstance(enabled.value, bool):
        return Unknown(f"whether {step.text} is enabled is open", _name(enabled))
    if not enabled.value:
        return OFF
    dtype = formats.named(world, arguments["dtype"]) if "dtype" in arguments else None
    default = DEFAULT_FORMATS.get(device.partition(":")[0])
    chosen = dtype or (Dtype(default) if default else Unknown(f"the format of {step.text} is open"))
    return Region(_device(device), chosen, step, built.node)


def _device(name: str) -> Device:
    return {"cuda": Device.CUDA, "cpu": Device.CPU}.get(name.partition(":")[0], Device.OTHER)


def _text(world: World, given: Thunk | None) -> str:
    """The kind of a device that is given by name; of ``x.device.type`` nothing is known."""
    thing = world.force(given) if given is not None else None
    match thing:
        case Constant(value=str(text)):
            return text
    return ""


def _name(thing: Thing) -> str:
    return thing.name if isinstance(thing, Opaque) else ""


def _is_marked(world: World, frame: Frame) -> bool:
    """Whether a function is compiled by a decorator."""
    function = frame.function
    marks = function.decorator_list if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else []
    return any(_is_compiler(frame, mark.func if isinstance(mark, ast.Call) else mark) for mark in marks)


def _is_compiler(frame: Frame, node: ast.expr) -> bool:
    name = dotted(node) or ""
    head, dot, rest = name.partition(".")
    return f"{frame.module.imports.get(head, head)}{dot}{rest}" in COMPILING


def _calls_compiled(world: World, node: ast.AST, frame: Frame) -> bool:
    """Whether a call is that of a name which the compiler was given: ``step = torch.compile(step)``."""
    name = dotted(node.func) if isinstance(node, ast.Call) else None
    if name is None or "compile" not in frame.module.loads:
        return False
    found = reaching(world, name, node, frame)
    value = found.node.value if found is not None and isinstance(found.node, ast.Assign) else None
    if value is None:
        assigned = (
            parent
            for use in frame.module.loads["compile"]
            if isinstance(call := frame.module.parents.get(use), ast.Call) and call.func is use
            and isinstance(parent := frame.module.parents.get(call), ast.Assign)
        )  # fmt: skip
        return any(name in [dotted(target) for target in each.targets] for each in assigned)
    return isinstance(value, ast.Call) and _is_compiler(frame, value.func)
