"""Tensors put together and taken apart: what that leaves of their classes."""

from __future__ import annotations

import ast

from trainlint.record import replace
from trainlint.source import activations
from trainlint.source.things import Arguments, Frame, Items, Repeated, Tensor, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Integer, Unknown

ALONG = Unknown("tensors are joined along their classes")
APART = Unknown("the logits are split along their classes")
STACKS = ("stack", "hstack", "vstack")


def joined(world: World, thing: Thing, how: str, given: Arguments) -> Thing:
    """``cat`` and ``stack`` keep the classes of what one layer makes, unless they join along the classes."""
    dim = _dim(world, given, 1, "axis")
    if isinstance(thing, Repeated):
        inner = world.force(thing.element)
        return (
            _along(inner, how, dim)
            if isinstance(inner, Tensor)
            else Tensor(Unknown(f"torch.{how} joins something open"))
        )
    parts = [world.force(each) for each in thing.elements] if isinstance(thing, Items) and thing.whole else []
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if parts and len(tensors) == len(parts) and _are_one(tensors):
        return _along(tensors[0].but(), how, dim)
    fills = tuple(fill for part in tensors for fill in part.fills)
    closing = _closed(parts) if how in ("cat", "concat", "concatenate") else ()
    steps = (thing.frame.step(thing.node),) if closing and isinstance(thing, Items) else ()
    return Tensor(Unknown(f"torch.{how} joins several tensors"), fills=fills, appended=closing, evidence=steps)


def _are_one(tensors: list[Tensor]) -> bool:
    """Whether one layer made all of them, with the classes in one place."""
    layers = [each.layer for each in tensors]
    is_known = not any(isinstance(layer, Unknown) for layer in layers)
    return is_known and len(set(layers)) == 1 and len({each.dim for each in tensors}) == 1


def _along(tensor: Tensor, how: str, dim: int | None) -> Tensor:
    """A tensor joined with others like it."""
    if isinstance(tensor.layer, Unknown):
        return tensor
    if how in STACKS:
        known = activations.along(tensor, lambda _: None)
        return tensor.but(dim=-1 if tensor.dim == -1 and dim != -1 else None, activation=known)
    return tensor.but(layer=ALONG) if _hits(tensor, dim) else tensor


def split(world: World, tensor: Tensor, how: str, given: Arguments, node: ast.AST, frame: Frame) -> Repeated:
    """The parts of a tensor: as many classes each, unless they are cut along the classes."""
    dim = _dim(world, given, 0 if how == "unbind" else 1, "axis")
    whole = isinstance(tensor.layer, Unknown) or not _hits(tensor, dim)
    known = activations.along(tensor, lambda axis: axis if axis == -1 else None)
    part = tensor.but(activation=known) if whole else tensor.but(layer=APART)
    if how == "unbind" and part.dim != -1:
        part = replace(part, dim=None)
    place = node if isinstance(node, ast.expr) else ast.Constant(None)
    return Repeated(Thunk(place, frame, replace(part, sizes=())), Unknown("the number of parts is open"), place)


def _dim(world: World, given: Arguments, place: int, other: str) -> int | None:
    """The dimension that is given, 0 without one; None where it is open."""
    named = given.keywords.get("dim") or given.keywords.get(other)
    thunk = named or (given.positional[place] if len(given.positional) > place else None)
    if thunk is None:
        return None if given.stars or given.double_stars else 0
    number = world.integer(world.force(thunk))
    return number.number if isinstance(number, Integer) else None


def _hits(tensor: Tensor, dim: int | None) -> bool:
    """Whether a dimension may be that of the classes. Dimension 1 is time where the classes come last, unless there is
    one class only: such scores are put side by side to be the classes.
    """
    if dim is None or tensor.dim == dim:
        return True
    if dim == 0 or (dim == -2 and tensor.dim == -1):
        return False
    if dim == 1 and tensor.dim == -1:
        return isinstance(tensor.layer, Unknown) or tensor.layer.classes.number == 1
    return tensor.dim != 1 or dim == -2


def _closed(parts: list[Thing]) -> tuple[Integer, ...]:
    """``cat([ids, full((n, 1), end)])`` closes each row with one answer more."""
    last = parts[-1] if len(parts) > 1 else None
    return last.values if isinstance(last, Tensor) and last.constant else ()
