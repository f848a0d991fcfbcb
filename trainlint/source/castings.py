"""Which statements may cast something, by their words and by those of the functions that they call."""

from __future__ import annotations

import ast

from trainlint.knowledge import precision
from trainlint.source.nodes import nodes_of
from trainlint.source.objects import methods
from trainlint.source.summary import Module, dotted
from trainlint.source.things import Class, Function
from trainlint.source.world import World

METHODS = frozenset({*precision.CASTS, *precision.OPEN_CASTS, *precision.PREPARERS, *precision.ADAPTERS})
WORDS = frozenset(
    {
        *precision.DEFAULT_SETTERS, *precision.TRAINED_CASTS, *precision.LOADS, *precision.ADAPTING, *precision.KBIT,
    }
)  # fmt: skip
DEEPEST = 4
"""Functions inside functions whose words are read."""


def says(world: World, module: Module, node: ast.AST, depth: int = DEEPEST) -> bool:
    """Whether anything inside a node may cast a model, or makes one that is loaded, so many calls deep."""
    key = ("casts", node, depth)
    known = module.kept.get(key)
    if not isinstance(known, bool):
        calls = [each for each in nodes_of(node) if isinstance(each, ast.Call)]
        known = any(_speaks(each.func) for each in calls) or any(_enters(world, module, each, depth) for each in calls)
        module.kept[key] = known
    return known


def _speaks(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in METHODS or node.attr in WORDS
    return isinstance(node, ast.Name) and node.id in WORDS


def _enters(world: World, module: Module, call: ast.Call, depth: int) -> bool:
    """Whether a call enters a function of the project that may cast."""
    if depth == 0 or _is_foreign(world, module, call.func):
        return False
    thing = world.apart().evaluate(call.func, world.open_frame(module, call))
    match thing:
        case Function(node=ast.FunctionDef() | ast.AsyncFunctionDef()):
            return says(world, thing.frame.module, thing.node, depth - 1)
        case Class():
            init = methods(thing).get("__init__")
            return init is not None and says(world, thing.module, init, depth - 1)
    return False


def _is_foreign(world: World, module: Module, func: ast.expr) -> bool:
    """Whether a call is of something that a library defines, or that nothing is known of."""
    name = dotted(func)
    if name is None:
        return not isinstance(func, ast.Attribute)
    root, _, rest = name.partition(".")
    home = module.imports.get(root)
    if home is None:
        return not rest and root not in module.definitions
    return (
        world.workspace.locate(home, module) is None and world.workspace.locate(home.rpartition(".")[0], module) is None
    )
