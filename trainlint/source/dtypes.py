"""Formats as code names them: an expression in, a format with the defaults that it rests on out."""

from __future__ import annotations

import ast

from trainlint.facts import Dtype
from trainlint.knowledge.precision import FORMATS, SHORT_NAMES, TENSOR_TYPES
from trainlint.source import callers
from trainlint.source.binding import argument, declared, defaults, parameters
from trainlint.source.names import reaching
from trainlint.source.things import Constant, Entries, External, Frame, Opaque, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Step, Unknown

DEEPEST = 8


def dtype(thing: Thing) -> Dtype | None:
    """The format that a value stands for: ``torch.half``, ``"bfloat16"``; None for anything else."""
    match thing:
        case External(name=name) if name.startswith(("torch.", "jax.", "numpy.")):
            word = name.rpartition(".")[2]
            return _format(FORMATS.get(word) or TENSOR_TYPES.get(word))
        case Constant(value=str(text)):
            word = text.removeprefix("torch.").strip().lower()
            return _format(FORMATS.get(word) or SHORT_NAMES.get(word) or TENSOR_TYPES.get(text.rpartition(".")[2]))
    return None


def _format(name: str | None) -> Dtype | None:
    return Dtype(name) if name else None


def dtype_at(world: World, given: Thunk) -> tuple[Dtype, tuple[Step, ...]] | Unknown:
    """The format that an argument names, and the defaults by which it is this one."""
    thing = world.force(given)
    found = dtype(thing)
    if found is not None:
        return found, assumed(world, given.node, given.frame)
    if isinstance(thing, Unknown):
        return thing
    if isinstance(thing, Constant) and thing.value == "auto":
        return Unknown("the checkpoint decides its format", "dtype=")
    if isinstance(thing, Opaque):
        return Unknown(f"{thing.name}: {thing.why.reason}", thing.why.settle or thing.name)
    return Unknown(f"{ast.unparse(given.node)} is no format that is known")


def assumed(world: World, node: ast.expr, frame: Frame, depth: int = DEEPEST) -> tuple[Step, ...]:
    """The defaults behind a value that cannot carry them itself, such as the format under ``DTYPES[args.dtype]``."""
    if depth == 0 or frame.module is None:
        return ()
    found = world.evaluate(node, frame)
    if isinstance(found, Constant) and found.assumed:
        return found.assumed
    match node:
        case ast.Name(id=name):
            return _behind_name(world, name, node, frame, depth)
        case ast.Subscript(slice=key):
            return assumed(world, key, frame, depth - 1)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, key, *_]):
            return assumed(world, key, frame, depth - 1)
        case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]):
            return assumed(world, key, frame, depth - 1) if isinstance(world.evaluate(table, frame), Entries) else ()
    return ()


def _behind_name(world: World, name: str, node: ast.expr, frame: Frame, depth: int) -> tuple[Step, ...]:
    found = reaching(world, name, node, frame) if name not in frame.local else None
    if found is not None:
        is_one = isinstance(found.node, ast.Assign) and found.name == name and len(found.node.targets) == 1
        value = found.node.value if isinstance(found.node, ast.Assign) else None
        return assumed(world, value, frame, depth - 1) if is_one and value is not None else ()
    function = frame.function
    if function is None or isinstance(function, ast.ClassDef) or name not in declared(function):
        return ()
    entered = frame if frame.arguments is not None else callers.entered(world, frame)
    if entered is None or entered.arguments is None:
        default = defaults(function).get(name)
        step = frame.module.step(declared(function)[name])
        return (Step(f"{name} = {frame.step(default).text}", step.where),) if default is not None else ()
    given = argument(entered.arguments, _places(entered), name)
    return assumed(world, given.node, given.frame, depth - 1) if isinstance(given, Thunk) else ()


def _places(frame: Frame) -> list[str]:
    function = frame.function
    assert function is not None and not isinstance(function, ast.ClassDef), "a function has parameters"
    names = [place.arg for place in parameters(function)]
    return names[1:] if frame.receiver is not None else names
