"""Weights that are put aside at the start, to begin again from; out, the lines that train and that load them.

A state that was never copied is the model's own: loading it back into the model changes nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.source.linkers.copies.aliases import unwrapped
from trainlint.source.linkers.copies.rounds import LOOPS, is_anew
from trainlint.source.linkers.copies.uses import Aside
from trainlint.source.summary import Module, bound, dotted
from trainlint.source.training import Trained, inside, trained
from trainlint.source.world import World
from trainlint.value import Step


def again(world: World, aside: Aside, model: str) -> tuple[Trained, Step] | None:
    """What trains the model before the very same state is loaded into it again; None where nothing does."""
    module, scope = aside.module, aside.module.scope(aside.statement)
    if not isinstance(aside.holder, ast.Name) or aside.gathers or _is_written(aside, scope):
        return None
    for call in _loads(world, aside, scope, model):
        line = module.statement(call)
        for each in _between(module, aside.statement, line):
            if bound(each) & {model} or (isinstance(each, LOOPS) and is_anew(world, module, each, model)):
                break
            found = trained(world, module, each, model, line)
            if found is not None and found.certain:
                return found, module.step(line)
    return None


def _is_written(aside: Aside, scope: ast.AST) -> bool:
    """Whether anything but the one statement binds the name, or writes into what it holds."""
    name = aside.name
    for node in ast.walk(scope):
        match node:
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()) if dotted(value) == name:
                return True
            case ast.Call(func=ast.Attribute(value=value, attr="update" | "pop" | "setdefault")):
                if dotted(value) == name:
                    return True
            case ast.stmt() if node is not aside.statement and name in bound(node):
                return True
    return False


def _loads(world: World, aside: Aside, scope: ast.AST, model: str) -> Iterator[ast.Call]:
    """The calls that load the state into the model that it is of."""
    for node in inside(scope):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="load_state_dict"), args=[ast.Name(id=name), *_]):
                found = unwrapped(world, aside.module, value)
                if name == aside.name and found is not None and ast.unparse(found) == model:
                    yield node


def _between(module: Module, first: ast.stmt, last: ast.stmt) -> Iterator[ast.stmt]:
    """The statements behind one in its block, up to that in which the other stands."""
    parent = module.parents[first]
    blocks = (getattr(parent, field, None) for field in ("body", "orelse", "finalbody"))
    block = next((each for each in blocks if isinstance(each, list) and first in each), [])
    for each in block[block.index(first) + 1 :] if block else []:
        ends = last in ast.walk(each)
        if not ends or isinstance(each, LOOPS):
            yield each
        if ends:
            return
