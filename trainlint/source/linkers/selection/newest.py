"""Weights that are saved as the best where nothing compares: the newest are kept under that name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Fact, NewestBest
from trainlint.regex import regex
from trainlint.source.linkers.selection import saves
from trainlint.source.linkers.site import Site
from trainlint.source.names import own_statements
from trainlint.source.sift.selection import saves_best
from trainlint.source.summary import Module, last
from trainlint.source.world import World

SAYS_BEST = regex(r"(?<![a-z])best(?![a-z])", re.IGNORECASE)
SCORES = regex(r"best|improv|record|lowest|highest|min_|max_|early|patien|metric_for|monitor", re.IGNORECASE)
"""Names of what may have scored the model."""

PLAIN_TEST = regex(r"rank|main_process|is_main|master|%|epochs?\b|save|debug|verbose|exists|step|iter|gpu|dist|^not")
FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that save a model under a name that says best, in a function that trains it."""
    if not saves_best(module.data):
        return
    for call in saves.stores(module):
        if isinstance(call, ast.Call) and _called(call) and not _is_scored(module, call):
            yield Site(call, module)


def _called(call: ast.Call) -> str:
    """The text by which a call says that it saves the best."""
    for each in [*call.args, *(keyword.value for keyword in call.keywords)]:
        for node in ast.walk(each):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and SAYS_BEST.search(node.value):
                return node.value
    return ""


def _is_scored(module: Module, call: ast.Call) -> bool:
    """Whether anything in its function may have chosen what a call saves."""
    scope = module.scope(call)
    if any(not PLAIN_TEST.search(ast.unparse(test)) for test in _tests(module, call)):
        return True
    for node in (each for holder in own_statements(scope) for each in ast.walk(holder)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)) if SCORES.search(name):
                return True
            case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
                return True
            case ast.Call(func=func) if last(func) in (
                "load_state_dict",
                "argmin",
                "argmax",
                "load",
                "from_pretrained",
            ):
                return True
    return False


def _tests(module: Module, node: ast.AST) -> Iterator[ast.expr]:
    """The tests of the function that lead to a node."""
    scope, holder = module.scope(node), module.parents.get(node)
    child: ast.AST = node
    while holder is not None and holder is not scope:
        if isinstance(holder, ast.If):
            yield holder.test
        child, holder = holder, module.parents.get(holder)
    if child is None:
        return


def facts(world: World, site: Site) -> Iterator[Fact]:
    """The newest weights under the name of the best, if their own function trains them."""
    trained = _trained(site.module, site.call)
    if trained is not None:
        name = _called(site.call)
        yield NewestBest(site.span, site.span, None, (), (), name, (site.module.step(trained),))


def _trained(module: Module, call: ast.Call) -> ast.expr | None:
    """The line of a loop around a call, or before it in its function, that trains."""
    scope, row = module.scope(call), module.statement(call).lineno
    for other in module.calls:
        if last(other.func) in ("backward",) and module.scope(other) is scope and other.lineno < row:
            holder: ast.AST | None = other
            while holder is not None and holder is not scope:
                holder = module.parents.get(holder)
                if isinstance(holder, ast.For | ast.While):
                    return other
    return None
