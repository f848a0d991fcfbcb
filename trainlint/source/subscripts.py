"""``value[...]`` and unpacking: an entry, an element, a member of a container of modules, a slice of a tensor."""

from __future__ import annotations

import ast

from trainlint.knowledge.roles import roles
from trainlint.record import replace
from trainlint.source import (
    activations,
    builtin,
    choices,
    lookups,
    objects,
    settings,
    tensors,
)
from trainlint.source.binding import least
from trainlint.source.things import (
    Arguments,
    Built,
    Class,
    Constant,
    Entries,
    External,
    File,
    Frame,
    Items,
    Method,
    Opaque,
    Repeated,
    Tensor,
    Thing,
    Thunk,
    identity,
)  # fmt: skip
from trainlint.source.world import World
from trainlint.value import Integer, Unknown

MASKS = frozenset({"mask", "keep", "kept", "valid", "ok"})
"""What a name says that chooses among entries."""


def part(world: World, value: Thing, place: int, node: ast.expr) -> Thing:
    """One part of something unpacked."""
    match value:
        case Items():
            return element_at(world, value, place)
        case Entries(record=True):
            return builtin.placed(world, value, place)
        case Built(what=Class()) if objects.is_ordered(world, value):
            return objects.field_at(world, value, place)
        case Opaque():
            return replace(value, name=f"{value.name}[{place}]", origin=f"{value.origin}[{place}]")
        case Repeated(start=int(start)):
            return Integer.exact(start + place)
        case Repeated():
            return world.force(value.element)
        case Tensor():
            return value if value.sampled else Tensor(Unknown("a tensor is unpacked"))
    return value if isinstance(value, Unknown) else Unknown("the unpacking is not followed")


def subscript(world: World, value: Thing, node: ast.Subscript, frame: Frame) -> Thing:
    """``value[...]``: an entry, an element, a slice of a tensor."""
    value = builtin.written(value)
    match value:
        case Tensor():
            return _sliced(world, value, node, frame)
        case Entries(record=True) if isinstance(place := world.evaluate(node.slice, frame), Integer):
            return builtin.placed(world, value, place.number)
        case Entries() if (found := lookups.by_subscript(world, value, node, frame)) is not None:
            return found
        case Entries():
            return choices.entry(world, value, world.evaluate(node.slice, frame), node, frame)
        case Built(what=External(name="torch.nn.ModuleList" | "torch.nn.ModuleDict" | "torch.nn.Sequential")):
            return _member(world, value, node, frame)
        case Opaque():
            return _entry_of_opaque(world, value, node, frame)
        case Class():
            return _enum_entry(world, value, node, frame)
        case Built(what=Class() as cls):
            return _by_getitem(world, value, cls, node, frame)
        case Method(thing=Tensor() as tensor, name="shape" | "size"):
            assert isinstance(tensor, Tensor), "matched"
            return tensors.size(tensor, world.integer(world.evaluate(node.slice, frame)), node, frame)
        case Method(thing=File() as file, name=choices.NAMESPACE):
            key = world.evaluate(node.slice, frame)
            return choices.of_module(world, file, key, node, frame) or Unknown("which name is taken is open")
        case Method(thing=External() as library, name=choices.NAMESPACE):
            word = world.evaluate(node.slice, frame)
            return world.attribute(library, str(word.value)) if isinstance(word, Constant) else Unknown("it is open")
        case Method() if isinstance(key := world.evaluate(node.slice, frame), Constant) and isinstance(key.value, str):
            return _looked_up(value, key, node, frame)
        case Unknown() if isinstance(text := _key(world, node, frame), Constant) and any(map(roles, told(text))):
            return _symbol(value, text, node, frame)
        case External() | Unknown():
            return value
    if isinstance(node.slice, ast.Slice):
        return _slice_of_items(world, value, node.slice, frame)
    return _element_at(world, value, world.integer(world.evaluate(node.slice, frame)))


def _key(world: World, node: ast.Subscript, frame: Frame) -> Thing | None:
    """What is looked up; nothing of a slice, or of several dimensions."""
    return None if isinstance(node.slice, ast.Slice | ast.Tuple) else world.evaluate(node.slice, frame)


def told(key: Thing) -> tuple[str, ...]:
    """What a look-up says of the entry that it asks for: its text, and what the code calls the text."""
    if not isinstance(key, Constant) or not isinstance(key.value, str):
        return ()
    return (key.value, key.name) if key.name and roles(key.name) else (key.value,)


def _symbol(table: Unknown, key: Constant, node: ast.Subscript, frame: Frame) -> Opaque:
    """``tables[language]["<pad>"]``: whatever the table is, a number that keeps the word."""
    text = f"{ast.unparse(node.value)}[{key.value!r}]"
    return Opaque(text, f"{id(node)}#{frame.number}[{key.value!r}]", table, 0, node, told(key))


def _looked_up(table: Method, key: Constant, node: ast.expr, frame: Frame) -> Opaque:
    """``vocabulary.stoi["<pad>"]`` of a library's object: a number that keeps the word."""
    word = str(key.value)
    holder = table.thing
    name = getattr(holder, "label", "") or getattr(holder, "name", "it")
    who = f"{identity(holder)}" if isinstance(holder, Built) else f"@{id(node)}#{frame.number}"
    why = Unknown(f"{name}.{table.name}[...] is decided when it runs", f"{name}.{table.name}[{word!r}]")
    return Opaque(f"{name}.{table.name}[{word!r}]", f"{who}.{table.name}[{word!r}]", why, 0, node, told(key))


def _by_getitem(world: World, built: Built, cls: Class, node: ast.Subscript, frame: Frame) -> Thing:
    """``vocabulary["<eos>"]`` asks the object; what it cannot say is a number of its own."""
    function = objects.method(world, cls, "__getitem__", built)
    key = world.evaluate(node.slice, frame)
    if function is None and objects.is_ordered(world, built):
        if isinstance(key, Integer) and key.number is not None:
            return objects.field_at(world, built, key.number)
        if isinstance(key, Constant) and isinstance(key.value, str):
            return world.attribute(built, key.value)
    if function is not None:
        found = world.call(function, Arguments((Thunk(node.slice, frame),)), node, frame)
        if not isinstance(found, Unknown):
            return found
    table = settings.held(world, built) if function is None else None
    known = builtin.entry(world, table, key) if table is not None else Unknown("it is made of no table")
    if not isinstance(known, Unknown):
        return known
    name = built.label or built.name
    text = key.value if isinstance(key, Constant) and isinstance(key.value, str) else None
    why = Unknown(f"{name}[...] is decided when it runs", f"{name}[{text!r}]")
    origin = f"{identity(built)}[{text!r}]" if text is not None else f"{id(node)}#{frame.number}"
    return Opaque(f"{name}[{text!r}]", origin, why, 0, node, told(key))


def _enum_entry(world: World, cls: Class, node: ast.Subscript, frame: Frame) -> Thing:
    key = world.evaluate(node.slice, frame)
    return world.attribute(cls, key.value) if isinstance(key, Constant) and isinstance(key.value, str) else cls


def element_at(world: World, items: Items, place: int) -> Thing:
    """One element: from the front, or from the end where that is known."""
    known = items.elements if items.whole or place >= 0 else items.rear
    if -len(known) <= place < len(known):
        return world.force(known[place])
    return Unknown("the element is not known")


def _element_at(world: World, value: Thing, place: Integer | Unknown) -> Thing:
    if isinstance(value, Repeated):
        return world.force(value.element)
    number = place.number if isinstance(place, Integer) else None
    if isinstance(value, Items) and number is not None:
        return element_at(world, value, number)
    if isinstance(value, Constant) and isinstance(value.value, str) and number is not None:
        return (
            Constant(value.value[number]) if -len(value.value) <= number < len(value.value) else Unknown("past the end")
        )
    return Unknown("the element is not known")


def _slice_of_items(world: World, value: Thing, cut: ast.Slice, frame: Frame) -> Thing:
    ends = [
        None if end is None else world.integer(world.evaluate(end, frame)) for end in (cut.lower, cut.upper, cut.step)
    ]
    numbers = [end.number if isinstance(end, Integer) else None for end in ends]
    if any(end is not None and number is None for end, number in zip(ends, numbers, strict=True)):
        return Unknown("a slice with open ends")
    if isinstance(value, Items) and value.whole:
        return replace(value, elements=value.elements[slice(*numbers)], name="")
    if isinstance(value, Constant) and isinstance(value.value, str) and 0 not in numbers[2:]:
        return replace(value, value=value.value[slice(*numbers)], name="")
    return Unknown("a slice of something open")


def _member(world: World, built: Built, node: ast.Subscript, frame: Frame) -> Thing:
    """A member of a container of modules: by place, by name, or any of them where all are made by one expression."""
    held = builtin.contents(world, built)
    key = world.evaluate(node.slice, frame)
    place = key.number if isinstance(key, Integer) else None
    match held:
        case Entries():
            return _labelled(builtin.entry(world, held, key), built)
        case Repeated():
            return _labelled(world.force(held.element), built)
        case Items() if isinstance(node.slice, ast.Slice):
            return replace(built, arguments=Arguments((Thunk(node, frame, subscript(world, held, node, frame)),)))
        case Items() if place is not None:
            return _labelled(element_at(world, held, place), built)
        case Items(whole=True, elements=(only,)):
            return _labelled(world.force(only), built)
        case Items():
            return Unknown(f"which member of {built.label or built.name} is taken is open")
    return Unknown(f"the members of {built.label or built.name} are not written out", built.label)


def _labelled(thing: Thing, container: Built) -> Thing:
    if isinstance(thing, Built) and not thing.label and container.label:
        return replace(thing, label=f"{container.label}[]")
    return thing


def _entry_of_opaque(world: World, value: Opaque, node: ast.Subscript, frame: Frame) -> Thing:
    key = world.evaluate(node.slice, frame)
    name = key.value if isinstance(key, Constant) and isinstance(key.value, str) else None
    number = key.number if isinstance(key, Integer) else None
    label = repr(name) if name is not None else str(number) if number is not None else f"@{id(node)}"
    words = told(key) or value.words
    minimum = least(name) if name else None
    shown = label if not label.startswith("@") else "..."
    return replace(
        value, name=f"{value.name}[{shown}]", origin=f"{value.origin}[{label}]", words=words, minimum=minimum, node=node
    )


def _sliced(world: World, tensor: Tensor, node: ast.Subscript, frame: Frame) -> Tensor:
    """A slice along time or batch keeps the classes; one that may cut the classes hides them."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if tensor.sampled:
        chosen = any(_chooses(each) for each in parts)
        return tensor.but(layer=Unknown("only some predictions are taken")) if chosen else tensor
    if tensor.fills and (any(_selects(world, each, frame) for each in parts) or _is_row_to_its_length(node)):
        tensor = replace(tensor, fills=())
    if tensor.ascending:
        tensor = _after_its_first(tensor, parts)
    tensor = replace(tensor, activation=activations.along(tensor, lambda axis: _after_cut(axis, parts)))
    if any(fill.first for fill in tensor.fills) and _is_truncated(parts[-1]):
        tensor = replace(tensor, fills=tuple(replace(fill, cut=fill.first) for fill in tensor.fills))
    has_dots = any(isinstance(each, ast.Constant) and each.value is Ellipsis for each in parts)
    for place, each in enumerate(parts):
        if _cuts(world, each, frame) and _may_hit(tensor, place, len(parts), has_dots, each):
            return replace(tensor, layer=Unknown("the logits are sliced along their classes"))
    dropped = any(isinstance(each, ast.Constant) and isinstance(each.value, int) for each in parts)
    return replace(tensor, dim=None) if dropped and tensor.dim != -1 else tensor


def _after_its_first(tensor: Tensor, parts: list[ast.expr]) -> Tensor:
    """``arange(n)[1:]`` counts from the next number on."""
    match parts:
        case [ast.Slice(lower=ast.Constant(value=int(count)), step=None)] if count >= 0 and tensor.lowest is not None:
            return replace(tensor, lowest=tensor.lowest + Integer.exact(count))
        case [ast.Slice(lower=None, step=None)]:
            return tensor
    return replace(tensor, ascending=False)


def _is_row_to_its_length(node: ast.Subscript) -> bool:
    """``labels[i, :lengths[i]]`` and ``labels[i][: len(text)]``: of one row, what lies before its padding."""
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Name(), ast.Slice(lower=None, upper=upper)])):
            return isinstance(upper, ast.Name | ast.Subscript | ast.Call | ast.Attribute)
        case ast.Subscript(value=ast.Subscript(slice=ast.Name()), slice=ast.Slice(lower=None, upper=upper)):
            return isinstance(upper, ast.Name | ast.Subscript | ast.Call | ast.Attribute)
    return False


def _is_truncated(cut: ast.expr) -> bool:
    """``[:most]``, but not ``[:-1]``: what is longer loses its end."""
    return isinstance(cut, ast.Slice) and cut.lower is None and isinstance(cut.upper, ast.Name | ast.Attribute)


def _after_cut(axis: int, parts: list[ast.expr]) -> int | None:
    """Where the sums of a softmax run behind a subscript: the last dimension stays the last unless it is cut itself."""
    if any(isinstance(each, ast.Constant) and each.value in (None, Ellipsis) for each in parts):
        return axis if axis == -1 and isinstance(parts[-1], ast.Slice) and not _has_ends(parts[-1]) else None
    if axis == -1:
        return axis if len(parts) == 1 or (isinstance(parts[-1], ast.Slice) and not _has_ends(parts[-1])) else None
    return axis if isinstance(parts[0], ast.Slice) and len(parts) == 1 else None


def _has_ends(cut: ast.Slice) -> bool:
    return cut.lower is not None or cut.upper is not None


def _chooses(each: ast.expr) -> bool:
    """Whether a subscript is a mask."""
    name = each.id if isinstance(each, ast.Name) else ""
    return isinstance(each, ast.Compare | ast.BinOp | ast.UnaryOp) or bool(MASKS & set(name.lower().split("_")))


def _selects(world: World, each: ast.expr, frame: Frame) -> bool:
    """Whether a subscript may take only the real entries: a mask, or places found by the program."""
    if isinstance(each, ast.Slice) or (isinstance(each, ast.Constant) and not isinstance(each.value, bool)):
        return False
    return not isinstance(world.evaluate(each, frame), Integer)


def _cuts(world: World, each: ast.expr, frame: Frame) -> bool:
    return isinstance(each, ast.Slice) and not (each.lower is None and each.upper is None)


def _may_hit(tensor: Tensor, place: int, count: int, has_dots: bool, each: ast.expr) -> bool:
    """Whether a cut at a place may fall on the class dimension. A cut by one, as for the next token, is along time."""
    if place == 0 or isinstance(tensor.layer, Unknown):
        return False
    if has_dots:
        return place == count - 1 if tensor.dim == -1 else tensor.dim is not None and place == count - 2
    if tensor.dim == 1:
        return place == 1
    shift = isinstance(each, ast.Slice) and _is_one(each.lower) and _is_one(each.upper)
    is_last = place == count - 1 or tensor.dim is None
    return is_last and (place >= 2 or not shift)


def _is_one(node: ast.expr | None) -> bool:
    match node:
        case None | ast.Constant(value=1) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return True
    return False
