"""In which numbers a tensor is: casts, and what operations do to a format. Things in, formats out."""

from __future__ import annotations

import ast

from trainlint.facts import Dtype
from trainlint.knowledge.formats import CASTING, MIXING, PROMOTED
from trainlint.knowledge.precision import CASTS
from trainlint.record import replace
from trainlint.source.dtypes import dtype
from trainlint.source.summary import last
from trainlint.source.things import (
    Arguments,
    Built,
    Cast,
    Constant,
    External,
    Format,
    Frame,
    Made,
    Method,
    Opaque,
    Softened,
    Tensor,
    Thing,
    Thunk,
)  # fmt: skip
from trainlint.source.world import World
from trainlint.value import Integer, Unknown

MIXED = Unknown("arithmetic with something open may have changed the format of the logits")


def known(thing: Thing | None) -> Format | None:
    """The format of a thing that is a tensor, as far as it is followed."""
    return thing.format if isinstance(thing, Tensor | Opaque) else None


def put(thing: Thing, format: Format | None) -> Thing:
    """The same tensor in another format."""
    return replace(thing, format=format) if isinstance(thing, Tensor | Opaque) else thing


def named(world: World, given: Thunk) -> Dtype | Unknown | None:
    """The format that an argument names; None where it is a device, or nothing."""
    thing = world.force(given)
    found = dtype(thing)
    if found is not None:
        return found
    match thing:
        case External(name=name) if name.startswith("torch."):
            return Unknown(f"{name} is no format of fractions")
        case Constant() | Integer() | Built():
            return None
    text = given.frame.step(given.node).text if given.known is None else getattr(thing, "name", "")
    is_format = any(word in text.lower() for word in ("type", "precision", "fp16", "bf16"))
    why = f"the format {text} is open"
    return Unknown(why, text) if is_format else None


def of_call(world: World, called: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Format:
    """The format of what something open returns: a cast says it by its name, else the thing decides."""
    word = last(node.func) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    found = _cast(world, word, given, node, frame, None) if word in CASTING else None
    return found if found is not None else Made(called, node, frame)


def after(
    world: World, name: str, given: Arguments, node: ast.AST, frame: Frame, before: Thing, result: Thing
) -> Thing:
    """What an operation makes, in its format: ``before`` is what it was called on."""
    if not isinstance(result, Tensor | Opaque):
        return result
    if name in CASTING:
        return put(result, _cast(world, name, given, node, frame, known(before)))
    format = known(result)
    if isinstance(format, Made) and name in PROMOTED:
        return put(result, replace(format, promoted=True))
    if name in MIXING:
        others = [world.force(each) for each in given.positional]
        return put(result, _mixed(format, others))
    return result


def combined(result: Thing, left: Thing, right: Thing) -> Thing:
    """The result of an operator, in the format of its sides."""
    if not isinstance(result, Tensor):
        return result
    first, second = (left, right) if isinstance(left, Tensor) else (right, left)
    return put(result, _mixed(known(first), [second]))


def inside(thing: Thing, whole: Made) -> Thing:
    """What a part of a module made is made by the module as a whole."""
    part = known(thing)
    return put(thing, replace(whole, promoted=part.promoted)) if isinstance(part, Made) else thing


def product(thing: Thing, node: ast.AST, frame: Frame, *operands: Thing) -> Thing:
    """A product of matrices: in the format of what went in, unless a region decides."""
    if not isinstance(thing, Tensor):
        return thing
    owner = next((each.thing for each in operands if isinstance(each, Method) and each.name == "weight"), None)
    like = next((format for each in operands if (format := known(each)) is not None), None)
    return replace(thing, format=Made(owner, node, frame, like))


def softened(world: World, given: Thunk | None, tensor: Tensor, node: ast.AST, frame: Frame) -> Tensor:
    """A tensor behind a softmax that was told to compute in a format, or was not."""
    format = tensor.format
    if given is not None:
        wanted = named(world, given)
        format = Cast(wanted, (frame.step(node),)) if wanted is not None and isinstance(node, ast.expr) else format
    return replace(tensor, format=format, softened=Softened(format, node, frame))


def _mixed(format: Format | None, others: list[Thing]) -> Format | None:
    """What is left of a format beside others: numbers leave it alone."""
    if format is None or all(isinstance(each, Integer | Constant) or _is_same(format, known(each)) for each in others):
        return format
    return Cast(MIXED, ())


def _is_same(first: Format, second: Format | None) -> bool:
    match first, second:
        case Cast(dtype=Dtype() as one), Cast(dtype=Dtype() as other):
            return one is other
        case Made(), Made():
            return first.frame.number == second.frame.number
    return False


def _cast(
    world: World, name: str, given: Arguments, node: ast.AST, frame: Frame, before: Format | None
) -> Format | None:
    assert isinstance(node, ast.expr), "a call is an expression"
    steps = (frame.step(node),)
    if name in CASTS:
        return Cast(Dtype(CASTS[name]), steps)
    arguments = [*given.positional, *(given.keywords[key] for key in ("dtype", "other") if key in given.keywords)]
    for each in arguments:
        thing = world.force(each)
        format = known(thing.thing if isinstance(thing, Method) and thing.name == "dtype" else thing)
        wanted = named(world, each) if format is None else None
        if format is not None or wanted is not None:
            return format if format is not None else Cast(wanted or MIXED, steps)
        if isinstance(thing, Tensor) or name == "type_as":
            return Cast(Unknown(f"{frame.step(node).text} casts to the format of something open"), steps)
    return before
