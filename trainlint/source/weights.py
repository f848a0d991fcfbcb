"""What lies in the project beside a model's code: the shapes of its weights, and the settings saved with them."""

from __future__ import annotations

import ast
import os

from trainlint.source import files, settings
from trainlint.source.data.datum import Broken, Mapping
from trainlint.source.data.safetensors import shapes
from trainlint.source.things import (
    Arguments,
    Built,
    Constant,
    Entries,
    External,
    Frame,
    Items,
    Opaque,
    Thing,
    Thunk,
)  # fmt: skip
from trainlint.source.workspace import Workspace
from trainlint.source.world import World
from trainlint.span import Span
from trainlint.value import Integer, Step, Unknown

LOADERS = frozenset({"safetensors.torch.load_file", "safetensors.numpy.load_file", "safetensors.safe_open"})
TENSOR = External("safetensors.tensor")
CONFIGS = {"GenerationConfig": "generation_config.json"}
SETTINGS = "config.json"


def call(world: World, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """``load_file("model.safetensors")``: its tensors, as far as their shapes go; None for anything else."""
    if name not in LOADERS or not given.positional:
        return None
    source = world.force(given.positional[0])
    file = files.found(world, source, frame.module)
    known = file if isinstance(file, Unknown) else of_file(world.workspace, file.path)
    if isinstance(known, Unknown):
        return Opaque(f"load_file({known.settle})", f"{name}@{id(node)}#{frame.number}", known, node=node)
    assert not isinstance(file, Unknown), "its shapes are known"
    hole = node if isinstance(node, ast.expr) else ast.Constant(None)
    pairs = tuple(
        (Thunk(hole, frame, Constant(word)), Thunk(hole, frame, _tensor(file, word, sizes, hole, frame)))
        for word, sizes in known.items()
    )
    return Entries(pairs, hole, frame, os.path.basename(file.path))


def _tensor(file: files.Found, word: str, sizes: tuple[int, ...], node: ast.expr, frame: Frame) -> Built:
    numbers = tuple(Thunk(node, frame, _size(file, word, sizes, axis)) for axis in range(len(sizes)))
    return Built(TENSOR, Arguments(numbers), node, frame, word)


def _size(file: files.Found, word: str, sizes: tuple[int, ...], axis: int) -> Integer:
    number = Integer.exact(sizes[axis]).because(Step(f"{word}: {list(sizes)}", Span(file.path, 1, 1, 1, 1)))
    for step in file.assumed:
        number = number.assuming(step)
    return number.named(word, f"{file.path}:{word}.{axis}")


def of_file(workspace: Workspace, path: str) -> dict[str, tuple[int, ...]] | Unknown:
    """The shapes that the header of a file states."""
    raw = workspace.data(path)
    name = os.path.relpath(path, workspace.root)
    if not isinstance(raw, bytes):
        return Unknown(f"{name} is not read: {raw.reason}", name)
    try:
        return shapes(raw)
    except Broken as broken:
        return Unknown(f"{name} is not read: {broken.reason}", name)


def shape(tensor: Built) -> Items:
    """The shape of a tensor out of a file."""
    sizes = tensor.arguments.positional if tensor.arguments is not None else ()
    hole = tensor.node if isinstance(tensor.node, ast.expr) else ast.Constant(None)
    return Items(sizes, hole, tensor.frame)


def size(world: World, tensor: Built, given: Arguments) -> Thing:
    """``tensor.size(0)``."""
    sizes = tensor.arguments.positional if tensor.arguments is not None else ()
    place = world.integer(world.force(given.positional[0])) if given.positional else Unknown("no place")
    number = place.number if isinstance(place, Integer) else None
    whole = number is not None and -len(sizes) <= number < len(sizes)
    return world.force(sizes[number or 0]) if whole else Unknown("which size is asked for is open")


def saved(world: World, path: Thing, frame: Frame, setting: str, file: str = SETTINGS) -> Thing | None:
    """A setting out of the folder that a model is loaded from; None where it is not in the project."""
    inside = files.joined(path, Constant(file)) if isinstance(path, Constant) else None
    found = files.found(world, inside, frame.module) if inside is not None else Unknown("no path")
    if isinstance(found, Unknown):
        return None
    table = settings.read(world.workspace, found, "json")
    if not isinstance(table, Entries):
        return None
    if setting == "num_labels" and not settings.has(world, table, setting):
        labels = settings.data(world.workspace, found.path, "json")
        names = labels.get("id2label") if isinstance(labels, Mapping) else None
        return Integer.exact(len(names.pairs)) if isinstance(names, Mapping) else None
    return settings.attribute(world, table, setting) if settings.has(world, table, setting) else None
