"""What one call does to the format of a model: a method that casts, a trainer whose precision does."""

from __future__ import annotations

import ast
import re

from trainlint.facts import Dtype, Storage
from trainlint.knowledge import precision
from trainlint.regex import regex
from trainlint.source import dtypes
from trainlint.source.summary import last
from trainlint.source.things import Built, Constant, Frame, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Step, Unknown

DEVICES = regex(r"device|cuda|\bcpu\b|rank|gpu|\bmps\b|\bxpu\b|\bnpu\b", re.IGNORECASE)


def is_cast(call: ast.Call) -> bool:
    word = last(call.func)
    is_one = word in precision.CASTS or word in precision.OPEN_CASTS
    return isinstance(call.func, ast.Attribute) and is_one and may_cast(call)


def may_cast(call: ast.Call) -> bool:
    """Whether the arguments of ``to`` may name a format: a device alone casts nothing."""
    word = last(call.func)
    if word in precision.CASTS:
        return not call.args
    if any(keyword.arg in precision.DTYPE_KEYWORDS for keyword in call.keywords):
        return True
    return any(not DEVICES.search(ast.unparse(each)) for each in call.args)


def cast(world: World, call: ast.Call, frame: Frame) -> Storage | Unknown | None:
    """The format to which a method casts; None if it casts to none."""
    word = last(call.func)
    if word in precision.CASTS:
        return plain(Dtype(precision.CASTS[word]), frame, call)
    named = next((k.value for k in call.keywords if k.arg in precision.DTYPE_KEYWORDS), None)
    if named is not None:
        return named_format(world, named, call, frame)
    places = [each for each in call.args if not DEVICES.search(ast.unparse(each))]
    for each in places:
        found = named_format(world, each, call, frame)
        if isinstance(found, Storage) or _names_a_format(each):
            return found
    return None


def _names_a_format(node: ast.expr) -> bool:
    return bool(re.search(r"dtype|precision|half|float|weight_type", ast.unparse(node)))


def plain(dtype: Dtype, frame: Frame, call: ast.expr | ast.stmt) -> Storage:
    return Storage(dtype, (frame.step(call),))


def named_format(world: World, node: ast.expr, call: ast.expr, frame: Frame) -> Storage | Unknown:
    """The format that an expression names, and the line of the cast as evidence."""
    return from_argument(world, Thunk(node, frame), frame.step(call))


def from_argument(world: World, given: Thunk, step: Step) -> Storage | Unknown:
    found = dtypes.dtype_at(world, given)
    return found if isinstance(found, Unknown) else Storage(found[0], (step,), found[1])


def by_engine(world: World, engine: Thing) -> Storage | Unknown | None:
    """What ``Fabric(precision="bf16-true")`` makes of the weights that it is given; None if it leaves them."""
    if not isinstance(engine, Built) or engine.arguments is None or engine.name not in ("Fabric", "Trainer"):
        return None
    given = engine.arguments.keywords.get("precision")
    if given is None:
        return None
    value = world.force(given)
    if not isinstance(value, Constant):
        return Unknown("the precision of the engine is open", "precision") if not _is_number(value) else None
    name = precision.TRUE_PRECISIONS.get(str(value.value))
    step = engine.frame.step(engine.node)  # type: ignore[arg-type]
    return Storage(Dtype(name), (step,), value.assumed, step.where) if name else None


def _is_number(value: Thing) -> bool:
    return getattr(value, "number", None) is not None


def trained_cast(world: World, call: ast.Call, frame: Frame) -> Storage | Unknown:
    """``cast_training_params([unet], dtype=torch.float32)``."""
    given = next((k.value for k in call.keywords if k.arg == "dtype"), call.args[1] if len(call.args) > 1 else None)
    return named_format(world, given, call, frame) if given is not None else plain(Dtype.FLOAT32, frame, call)
