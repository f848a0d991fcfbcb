"""Rows of a dataset: the functions of the project that make them, and where these mask a part of the labels."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.source.nodes import nodes_of
from trainlint.source.objects import lineage, methods
from trainlint.source.summary import Module, last
from trainlint.source.things import Built, Class, Function, Opaque, Thing
from trainlint.source.world import World
from trainlint.value import Integer, Step, Unknown

MOST_FUNCTIONS = 12

Made = tuple[Module, ast.AST]


def makers(world: World, dataset: Thing) -> list[Made] | Unknown:
    """The functions that make the rows of a dataset, and those of the project that they call."""
    if isinstance(dataset, Built) and isinstance(dataset.what, Class):
        classes = [each for each in lineage(world, dataset.what) if isinstance(each, Class)]
        first: list[Made] = [(each.module, function) for each in classes for function in methods(each).values()]
    elif isinstance(dataset, Opaque) and dataset.mapped:
        found = [world.force(each) for each in dataset.mapped]
        first = [(each.frame.module, each.node) for each in found if isinstance(each, Function)]
        if len(first) < len(found):
            return Unknown("a function that makes its rows is not followed")
    else:
        return Unknown("the rows of the dataset are not followed", getattr(dataset, "name", ""))
    return _with_callees(world, first)


def _with_callees(world: World, first: list[Made]) -> list[Made]:
    found = {node: module for module, node in first}
    waiting = list(first)
    while waiting and len(found) < MOST_FUNCTIONS:
        module, function = waiting.pop(0)
        for call in nodes_of(function):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                thing = world.apart().evaluate(call.func, world.open_frame(module, call))
                if isinstance(thing, Function) and thing.node not in found:
                    found[thing.node] = thing.frame.module
                    waiting.append((thing.frame.module, thing.node))
    return [(module, node) for node, module in found.items()]


def makes_labels(function: ast.AST) -> bool:
    """Whether a function puts ``labels`` into what it makes."""
    return any(
        (isinstance(node, ast.Constant) and node.value == "labels")
        or (isinstance(node, ast.keyword) and node.arg == "labels")
        for node in nodes_of(function)
    )


def masked(world: World, module: Module, function: ast.AST) -> Iterator[Step]:
    """The lines by which a function masks labels that are no padding: a prompt, what others say."""
    for node in nodes_of(function):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=target, slice=ast.Slice(lower=None, upper=ast.expr()))]):
                if _is_label(target) and _is_sentinel(world, module, node.value):
                    yield module.step(node)
            case ast.BinOp(op=ast.Mult(), left=ast.List(elts=[value]), right=count):
                parent = module.parents.get(node)
                in_front = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add) and parent.left is node
                if in_front and not _is_rest(count) and _is_sentinel(world, module, value):
                    yield module.step(module.statement(node))


def _is_label(target: ast.expr) -> bool:
    name = last(target) if not isinstance(target, ast.Subscript) else ast.unparse(target)
    return any(word in name.lower() for word in ("label", "target", "tgt"))


def _is_rest(count: ast.expr) -> bool:
    """Whether a count is what is left of a length, as for padding."""
    return any(isinstance(each, ast.Sub) for each in nodes_of(count)) or "pad" in ast.unparse(count).lower()


def _is_sentinel(world: World, module: Module, value: ast.expr) -> bool:
    match value:
        case ast.BinOp(op=ast.Mult(), left=ast.List(elts=[only])):
            value = only
    thing = world.apart().evaluate(value, world.open_frame(module, value))
    return isinstance(thing, Integer) and thing.maximum is not None and thing.maximum < 0
