"""Whether a model must say itself when to stop: a decode loop that ends on what the model says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from trainlint.knowledge.roles import index_roles
from trainlint.regex import regex
from trainlint.source import jobs
from trainlint.source.summary import Module, last
from trainlint.source.world import World
from trainlint.value import Role, Step

GATE = regex(r"(?:stop|gate|end)_?(?:token|prob|pred|logit|output|out|score|flag|value)|eos|eot\b|gate$", re.I)
"""What a model's own word about the end is called."""

PATIENT = regex(r"early|patien|count|epoch|iter|delta|loss|metric", re.IGNORECASE)


def endings(world: World, modules: Iterable[Module]) -> tuple[Step, ...]:
    """The first line of these files by which a model ends its own output."""
    for module in modules:
        step = _ending(world, module)
        if step is not None:
            return (step,)
    return ()


def _ending(world: World, module: Module) -> Step | None:
    known = module.kept.get("ending")
    if known is None:
        known = module.kept["ending"] = (_found(world, module),)
    assert isinstance(known, tuple), "written above"
    step = known[0]
    return step if isinstance(step, Step) else None


def _found(world: World, module: Module) -> Step | None:
    for word, nodes in module.loads.items():
        if not (Role.END in index_roles(word) or GATE.search(word)):
            continue
        for node in nodes:
            compare = _compare(module, node)
            if compare is not None and _ends(world, module, compare, node):
                return module.step(compare)
    return None


def _compare(module: Module, node: ast.AST) -> ast.Compare | None:
    """The comparison whose side a name stands in."""
    while isinstance(node, ast.expr):
        if isinstance(node, ast.Compare):
            return node
        parent = module.parents.get(node)
        if parent is None:
            return None
        node = parent
    return None


def _ends(world: World, module: Module, compare: ast.Compare, node: ast.expr) -> bool:
    if isinstance(compare.ops[0], ast.Eq | ast.In) and Role.END in index_roles(last(node)):
        return jobs.meets_a_sample(world, module, compare, node) and jobs.stops(module, compare)
    if not isinstance(compare.ops[0], ast.Gt | ast.GtE) or PATIENT.search(ast.unparse(compare)):
        return False
    # The end of a span is a number too: ``if end > length: break`` asks no model.
    return bool(GATE.search(last(node))) and _breaks(module, compare)


def _breaks(module: Module, compare: ast.Compare) -> bool:
    """Whether a loop is left where a comparison holds."""
    holder: ast.AST | None = compare
    while isinstance(holder, ast.expr):
        holder = module.parents.get(holder)
    return isinstance(holder, ast.If) and any(isinstance(each, ast.Break) for each in holder.body)


def around(world: World, modules: Iterable[Module]) -> Iterator[Module]:
    """These files, and those of the project that they import by name."""
    found: dict[Module, None] = dict.fromkeys(modules)
    for module in tuple(found):
        found |= dict.fromkeys(world.workspace.imported(module))
    yield from found
