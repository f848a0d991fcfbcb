"""How far one sequence is moved against another along time: ``x[1:]`` is one step ahead of ``x[:-1]``.

An expression goes in; out comes the sequence that it is cut from, and how many steps are dropped in front.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.record import replace, thing
from trainlint.source import names, objects
from trainlint.source.binding import argument
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import dotted, last
from trainlint.source.things import Built, Class, External, Frame, Function, Opaque, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Integer, Step

KEEPS = frozenset(
    {
        "clone", "contiguous", "long", "to", "cuda", "cpu", "view", "reshape", "flatten", "detach", "int", "float",
        "copy", "squeeze", "unsqueeze", "transpose", "permute", "type", "astype", "masked_fill",
    }
)  # fmt: skip
"""Methods after which a sequence begins where it began."""

MAKES = frozenset({"tensor", "LongTensor", "as_tensor", "from_numpy", "array", "asarray", "stack", "list", "rearrange"})
"""Functions of a sequence that make a tensor of it."""

LOADER = "torch.utils.data.DataLoader"
MOST_NAMES = 12
NOTHING = Integer.exact(0)


@thing
class Cut:
    """What an expression is cut from, where that stands, the steps dropped in front, and the lines that cut."""

    base: ast.expr
    frame: Frame
    dropped: Integer = NOTHING
    steps: tuple[Step, ...] = ()

    @property
    def source(self) -> tuple[object, ...]:
        """What tells the sequence from others: two calls make two, though they are spelled alike."""
        made = any(isinstance(each, ast.Call) for each in nodes_of(self.base))
        return (self.frame.number, id(self.base) if made else ast.dump(self.base))


def cut(world: World, node: ast.expr, frame: Frame) -> Cut | None:
    """An expression as a cut of another sequence; None where that is not seen."""
    found = Cut(node, frame)
    for _ in range(MOST_NAMES):
        inner = _step(world, found)
        if inner is None:
            return found
        found = inner
    return None


def _step(world: World, found: Cut) -> Cut | None:
    """One step back towards the sequence; None where there is none."""
    match found.base:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in KEEPS:
            return replace(found, base=value)
        case ast.Call(func=func, args=[inner, *_]) if last(func) in MAKES:
            return replace(found, base=inner)
        case ast.Subscript(value=value, slice=place) if (front := _front(world, place, found.frame)) is not None:
            step = found.frame.step(found.base)
            return replace(found, base=value, dropped=found.dropped + front, steps=(*found.steps, step))
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
            return _entered(found, entry(world, value, key, found.frame))
        case ast.Name():
            return _entered(found, _bound(world, found.base, found.frame))
    return None


def _entered(found: Cut, inner: tuple[ast.expr, Frame] | None) -> Cut | None:
    return None if inner is None else replace(found, base=inner[0], frame=inner[1])


def _front(world: World, place: ast.expr, frame: Frame) -> Integer | None:
    """The steps that a subscript drops in front: of the last slice that cuts, since the first ones run over batches."""
    parts = place.elts if isinstance(place, ast.Tuple) else [place]
    cuts = [part for part in parts if isinstance(part, ast.Slice) and (part.lower or part.upper)]
    if len(cuts) != 1 or cuts[0].step is not None or any(isinstance(part, ast.Name) for part in parts):
        return None
    lower = cuts[0].lower
    if lower is None:
        return Integer.exact(0)
    number = world.integer(world.evaluate(lower, frame))
    return number if isinstance(number, Integer) and (number.number is None or number.number >= 0) else None


def _bound(world: World, node: ast.Name, frame: Frame) -> tuple[ast.expr, Frame] | None:
    """The expression that a name stands for."""
    found = names.reaching(world, node.id, node, frame)
    match found.node if found else None:
        case ast.Assign(targets=[ast.Name()], value=value):
            return value, frame
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            pairs = zip(targets, values, strict=True)
            return next(((value, frame) for target, value in pairs if dotted(target) == node.id), None)
        case ast.For(target=ast.Tuple(elts=targets), iter=over):
            place = next((place for place, target in enumerate(targets) if dotted(target) == node.id), None)
            return next(_parts(world, over, frame, place), None) if place is not None else None
    if found is None and frame.arguments is not None:
        given = frame.arguments.keywords.get(node.id)
        return (given.node, given.frame) if given is not None else None
    return None


def entry(world: World, node: ast.expr, key: str, frame: Frame) -> tuple[ast.expr, Frame] | None:
    """The expression under a key of a dictionary, of a batch or of a row."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return next(((value, frame) for name, value in pairs if _is(name, key)), None)
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            return next(((keyword.value, frame) for keyword in keywords if keyword.arg == key), None)
        case ast.Call(func=ast.Attribute(value=value, attr="to")):
            return entry(world, value, key, frame)
        case ast.DictComp(generators=[ast.comprehension(iter=ast.Call(func=ast.Attribute(value=value, attr="items")))]):
            return entry(world, value, key, frame)
        case ast.Name():
            return _entry_of_name(world, node, key, frame)
    return None


def _is(name: ast.expr | None, key: str) -> bool:
    return isinstance(name, ast.Constant) and name.value == key


def _entry_of_name(world: World, node: ast.Name, key: str, frame: Frame) -> tuple[ast.expr, Frame] | None:
    binding = names.reaching(world, node.id, node, frame)
    match binding.node if binding else None:
        case ast.Assign(targets=[ast.Name()], value=value):
            return entry(world, value, key, frame)
        case ast.For(target=target, iter=over):
            inside = over.args[0] if isinstance(over, ast.Call) and last(over.func) == "enumerate" else over
            if isinstance(target, ast.Name) or inside is not over:
                rows = _rows(world, world.evaluate(inside, frame))
                return next((found for row, own in rows if (found := entry(world, row, key, own))), None)
    return None


def _parts(world: World, over: ast.expr, frame: Frame, place: int) -> Iterator[tuple[ast.expr, Frame]]:
    for row, own in _rows(world, world.evaluate(over, frame)):
        if isinstance(row, ast.Tuple) and place < len(row.elts):
            yield row.elts[place], own


def _rows(world: World, loader: Thing) -> Iterator[tuple[ast.expr, Frame]]:
    """What one row of a loader's dataset is, as the project writes it."""
    if isinstance(loader, Built) and isinstance(loader.what, External) and loader.what.name == LOADER:
        given = argument(loader.arguments, ("dataset",), "dataset")
        own_batches = loader.arguments is not None and "collate_fn" in loader.arguments.keywords
        if isinstance(given, Thunk) and not own_batches:
            yield from rows(world, world.force(given))


def rows(world: World, dataset: Thing) -> Iterator[tuple[ast.expr, Frame]]:
    """What one row of a dataset is: what ``__getitem__`` returns, or the function that a ``map`` applies."""
    function: Thing | None = None
    if isinstance(dataset, Built) and isinstance(dataset.what, Class):
        function = objects.method(world, dataset.what, "__getitem__", dataset)
    elif isinstance(dataset, Opaque) and len(dataset.mapped) == 1:
        function = world.force(dataset.mapped[0])
    if not isinstance(function, Function) or not isinstance(function.node, ast.FunctionDef):
        return
    module = function.frame.module
    number = world.workspace.number("row", id(function.node), function.frame.number)
    frame = Frame(module, function.node, None, function.receiver, function.frame, number)
    for each in nodes_of(function.node):
        if isinstance(each, ast.Return) and each.value is not None and module.scope(each) is function.node:
            yield each.value, frame


def ahead(labels: Cut, inputs: Cut) -> Integer | None:
    """How many steps labels are ahead of inputs; None if they are not seen to be cuts of one sequence."""
    return labels.dropped - inputs.dropped if labels.source == inputs.source else None
