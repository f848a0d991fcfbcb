"""Texts that are cut into rows of one length, or that end a turn in a token of their own: then no end can be lost."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.source import endings, tokenizers
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, last
from trainlint.source.things import Constant, Function
from trainlint.source.world import World
from trainlint.value import Step

MOST_FILES = 24
JOINS = ("chain", "concatenate", "concatenate_datasets", "from_iterable")


def spared(world: World, module: Module) -> Iterator[Step]:
    """The lines that show it, in this file, in those it imports, and in those that lead to it."""
    around = _around(world, module)
    for each in around:
        for call in each.calls:
            if _is_packing(world, each, call) and not _is_asked_for(each, call) and _runs(around, each, call):
                yield each.step(call)
        yield from tokenizers.other_stops(each)
    yield from endings.own_stops(world, around)


def unended(world: World, module: Module, tokenizer: str) -> tuple[Step, ...]:
    """The lines that make ids of texts in these files, where it is seen that no end token is put behind them."""
    if tokenizers.ends_by_itself(world, tokenizer, module.path):
        return ()
    around = _around(world, module)
    encoded = [(each, call) for each in around for call in tokenizers.encoding(world, each, tokenizer)]
    return endings.plain(world, around, encoded)


def _around(world: World, module: Module) -> list[Module]:
    found = {module.path: module}
    for step in world.way():
        caller = world.workspace.module(step.where.path)
        if isinstance(caller, Module):
            found.setdefault(caller.path, caller)
    for each in list(found.values()):
        for other in world.workspace.imported(each):
            if len(found) < MOST_FILES:
                found.setdefault(other.path, other)
    return list(found.values())


def _runs(around: list[Module], module: Module, call: ast.Call) -> bool:
    """Whether the function around a call is itself called, and not only where packing is asked for."""
    function = module.scope(call)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return True
    uses = ((each, use) for each in around for use in each.loads.get(function.name, ()))
    return any(not _is_asked_for(each, use) for each, use in uses)


def _is_asked_for(module: Module, node: ast.AST) -> bool:
    """Whether a test on packing decides if a call runs: then it may as well not run."""
    parent = module.parents.get(node)
    while parent is not None:
        if isinstance(parent, ast.If | ast.IfExp) and "pack" in ast.unparse(parent.test):
            return True
        parent = module.parents.get(parent)
    return False


def _is_packing(world: World, module: Module, call: ast.Call) -> bool:
    match last(call.func):
        case "map" if call.args:
            return _cuts(world, module, call)
        case "ConstantLengthDataset":
            return True
        case "SFTConfig" | "SFTTrainer":
            return any(_packs(world, module, each) for each in call.keywords)
    return False


def _packs(world: World, module: Module, keyword: ast.keyword) -> bool:
    if keyword.arg != "packing":
        return False
    thing = world.apart().evaluate(keyword.value, world.open_frame(module, keyword.value))
    return isinstance(thing, Constant) and bool(thing.value)


def _cuts(world: World, module: Module, call: ast.Call) -> bool:
    """Whether the function that a ``map`` applies joins its texts, or cuts each into several rows."""
    thing = world.apart().evaluate(call.args[0], world.open_frame(module, call))
    if not isinstance(thing, Function):
        return False
    return any(_joins(node) for node in nodes_of(thing.node))


def _joins(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="sum"), args=[_, ast.List(elts=[])]):
            return True
        case ast.Call(func=func) if last(func) in JOINS:
            return True
        case ast.keyword(arg="return_overflowing_tokens", value=ast.Constant(value=True)):
            return True
    return False
