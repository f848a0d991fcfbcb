"""A file of a project in; out, a loop over epochs that trains, in the programs that the file is a part of.

A program is a file with all that it imports. A file that builds data is a part of each program that imports it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.record import thing
from trainlint.regex import regex
from trainlint.source.linkers.selection.measures import latest
from trainlint.source.names import holds
from trainlint.source.reach import reach
from trainlint.source.summary import Module, dotted
from trainlint.source.training import inside, work
from trainlint.source.world import World
from trainlint.value import Integer, Step

MOST_PROGRAMS = 12
MOST_CALLS = 60
EPOCHS = regex(r"epoch|(?<![a-z])ep(?![a-z])", re.IGNORECASE)
LOOPS = (ast.For, ast.While)


@thing
class Epochs:
    """A loop over epochs, the line in it that trains, and where both stand."""

    loop: ast.For | ast.While
    trained: ast.expr
    module: Module

    @property
    def steps(self) -> tuple[Step, Step]:
        """The loop and what trains in it, as lines of code."""
        return self.module.step(self.loop), self.module.step(self.trained)


def programs(world: World, module: Module) -> Iterator[list[Module]]:
    """The files of each program that a file is a part of: its own, and those of the files that import it."""
    word = module.name.rpartition(".")[2]
    importers = [each for each in world.workspace.mentions(word, module.path) if each is not module] if word else []
    for entry in (module, *importers[:MOST_PROGRAMS]):
        files = [] if entry.is_test else list(reach(world, [entry]))
        if any(each.path == module.path for each in files):
            yield files


def epochs(world: World, files: list[Module]) -> Epochs | None:
    """The first loop over epochs in these files that trains, and that may run more than once."""
    for module in files:
        if world.workspace.holds(module.path, "backward") or world.workspace.holds(module.path, "epoch"):
            found = _of_file(world, module)
            if found is not None:
                return found
    return None


def _of_file(world: World, module: Module) -> Epochs | None:
    key = ("epochs", module.path)
    if key not in world.workspace.answers:
        world.workspace.answers[key] = next(_loops(world, module), None)
    known = world.workspace.answers[key]
    return known if isinstance(known, Epochs) else None


def _loops(world: World, module: Module) -> Iterator[Epochs]:
    for loop in module.loops:
        if not _counts_epochs(module, loop) or _is_one(world, module, loop):
            continue
        calls = [each for each in inside(loop) if isinstance(each, ast.Call)]
        for call in calls[:MOST_CALLS]:
            if "backward" in work(world, module, call) and _repeats(module, loop, call):
                yield Epochs(loop, call, module)
                break


def _counts_epochs(module: Module, loop: ast.For | ast.While) -> bool:
    """Whether a loop says that it runs over epochs, itself or where its numbers come from."""
    if isinstance(loop, ast.While):
        return EPOCHS.search(ast.unparse(loop.test)) is not None
    text = f"{ast.unparse(loop.target)} {ast.unparse(loop.iter)}"
    name = dotted(loop.iter)
    source = latest(module, name, loop) if name is not None else None
    return EPOCHS.search(text + (ast.unparse(source) if source is not None else "")) is not None


def _is_one(world: World, module: Module, loop: ast.For | ast.While) -> bool:
    """``for epoch in range(1)``."""
    match loop:
        case ast.For(iter=ast.Call(func=func, args=[count])) if (dotted(func) or "").endswith("range"):
            number = world.apart().evaluate(count, world.open_frame(module, loop))
            return isinstance(number, Integer) and number.number == 1 and not number.assumed
    return False


def _repeats(module: Module, loop: ast.For | ast.While, call: ast.Call) -> bool:
    """Whether a call that trains runs for many batches in each turn: in a loop of its own, or in what it enters."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "manual_backward")):
        return True
    holder = module.parents.get(call)
    while holder is not None and holder is not loop:
        if isinstance(holder, LOOPS):
            return holds(module, loop, holder)
        holder = module.parents.get(holder)
    return False
