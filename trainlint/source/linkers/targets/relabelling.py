"""Collators that make labels anew, where a trainer or a loader puts one behind a dataset."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Fact, Relabelling
from trainlint.knowledge import canonical, transformers
from trainlint.source import rows
from trainlint.source.binding import argument, arguments
from trainlint.source.linkers.site import Site, call_of, named, standing
from trainlint.source.objects import lineage, methods
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Built, Class, External, Function, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Step, Unknown

TRAINERS = {name.rpartition(".")[2] for name in transformers.TRAINERS}
LOADER = "torch.utils.data.DataLoader"
KEYS = ("labels", "input_ids")
CALLS = ("__call__", "torch_call")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The trainers and loaders that are given a collator."""
    for node, word in named(module, TRAINERS | {"DataLoader"}):
        call = call_of(module, node)
        wanted = "collate_fn" if word == "DataLoader" else "data_collator"
        if call is not None and any(keyword.arg in (wanted, None) for keyword in call.keywords):
            yield Site(call, module)


def facts(world: World, site: Site) -> Iterator[Fact]:
    """What one world shows of a collator; nothing if it keeps the labels that it is given."""
    frame = standing(world, site)
    called = world.evaluate(site.call.func, frame)
    name = canonical(called.name) if isinstance(called, External) else ""
    given = arguments(world, site.call, frame)
    if name == LOADER:
        dataset, collator = argument(given, ("dataset",), "dataset"), given.keywords.get("collate_fn")
    elif name in transformers.TRAINERS:
        dataset, collator = given.keywords.get("train_dataset"), given.keywords.get("data_collator")
    else:
        return
    if isinstance(dataset, Thunk) and isinstance(collator, Thunk):
        made = world.force(collator)
        rebuilt = _rebuilds(world, made)
        if rebuilt is not None:
            yield _relabelled(world, site, world.force(dataset), made, rebuilt)


def _relabelled(world: World, site: Site, dataset: Thing, collator: Thing, rebuilt: tuple[Step, ...]) -> Relabelling:
    span = site.span
    if isinstance(collator, Built):
        span = collator.frame.module.span(collator.node)  # type: ignore[arg-type]
    made = rows.makers(world, dataset)
    masked: tuple[Step, ...] | Unknown = made if isinstance(made, Unknown) else ()
    if not isinstance(made, Unknown) and any(rows.makes_labels(function) for _, function in made):
        masked = tuple(step for module, function in made for step in rows.masked(world, module, function))
    by = collator.name if isinstance(collator, Built | Function) else ""
    return Relabelling(site.span, span, None, (), (), by, rebuilt, masked)


def _rebuilds(world: World, collator: Thing) -> tuple[Step, ...] | None:
    """Where a collator makes labels from ids alone; None if it may keep what it is given."""
    match collator:
        case Built(what=External(name=name)) if transformers.is_language_collator(name):
            return ()
        case Built(what=Class() as cls):
            return _of_class(world, cls)
        case Function():
            return _of_function(collator.frame.module, collator.node)
    return None


def _of_class(world: World, cls: Class) -> tuple[Step, ...] | None:
    for each in lineage(world, cls):
        if isinstance(each, External):
            return () if transformers.is_language_collator(each.name) else None
        function = next((methods(each)[name] for name in CALLS if name in methods(each)), None)
        if function is not None:
            return _of_function(each.module, function)
    return None


def _of_function(module: Module, function: ast.AST) -> tuple[Step, ...] | None:
    """The lines that put ids into ``labels``, in a function that reads no labels and masks nothing but padding."""
    words = [node for node in ast.walk(function) if isinstance(node, ast.Constant) and node.value in KEYS]
    stored = [(word.value, _stored(module, word)) for word in words]
    found = [value for key, value in stored if key == "labels"]
    ids = {ast.dump(_copied(function, value)) for key, value in stored if key == "input_ids" and value is not None}
    if not found or any(value is None or not _is_of_ids(_copied(function, value), ids) for value in found):
        return None
    slices = (
        node for node in ast.walk(function) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    )
    if any(isinstance(node.slice, ast.Slice | ast.Tuple) for node in slices):
        return None
    return tuple(module.step(value) for value in found if value is not None)


def _stored(module: Module, word: ast.Constant) -> ast.expr | None:
    """What is put under a key, if it is put there and not read."""
    parent = module.parents.get(word)
    match parent:
        case ast.Dict(keys=keys, values=values):
            return values[keys.index(word)]
        case ast.Subscript(ctx=ast.Store()) if isinstance(holder := module.parents.get(parent), ast.Assign):
            return holder.value
    return None


def _is_of_ids(value: ast.expr, ids: set[str]) -> bool:
    """Whether a value is what stands under ``input_ids``, in the batch or in what the function makes."""
    match value:
        case ast.Subscript(slice=ast.Constant(value="input_ids")) | ast.Attribute(attr="input_ids"):
            return True
    return ast.dump(value) in ids


def _copied(function: ast.AST, value: ast.expr, seen: frozenset[str] = frozenset()) -> ast.expr:
    """What a value is a copy of; a variable stands for itself where it is made of something else."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr="clone" | "copy" | "detach")):
            return _copied(function, inner, seen)
        case ast.Call(func=func, args=[inner]) if last(func) in ("deepcopy", "copy", "clone"):
            return _copied(function, inner, seen)
        case ast.Name(id=name) if name not in seen:
            made = [node.value for node in ast.walk(function) if isinstance(node, ast.Assign) and _binds(node, name)]
            inner = _copied(function, made[0], seen | {name}) if len(made) == 1 else value
            return inner if isinstance(inner, ast.Name | ast.Subscript | ast.Attribute) else value
    return value


def _binds(node: ast.Assign, name: str) -> bool:
    return any(dotted(target) == name for target in node.targets)
