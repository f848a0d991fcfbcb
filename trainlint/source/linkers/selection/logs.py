"""What a Lightning module logs beside the loss that a checkpoint is chosen by, and where it logs it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Measured
from trainlint.knowledge.scores import TRAINED, VALIDATED, score, words
from trainlint.record import thing
from trainlint.source.summary import Module
from trainlint.source.world import World
from trainlint.value import Measure, Step

OPEN = "{}"
"""Stands for what an f-string fills in."""


@thing
class Log:
    """One name that a class logs: as the code spells it, the method that does it, and the place."""

    name: str
    method: str
    node: ast.expr
    module: Module
    cls: ast.ClassDef

    def is_called(self, wanted: str) -> bool:
        """Whether it may be logged under a name."""
        pattern = ".+".join(re.escape(part) for part in self.name.split(OPEN))
        return re.fullmatch(f"{pattern}(?:_epoch|_step)?", wanted) is not None


def metrics(world: World, near: Module, name: str) -> tuple[Measured, ...]:
    """The task metrics that are logged by each class which logs this name."""
    groups = [_metrics(logs, name) for logs in _loggers(world, near, name)]
    return groups[0] if groups and all(groups) else ()


def _metrics(logs: list[Log], name: str) -> tuple[Measured, ...]:
    wanted = [log for log in logs if log.is_called(name)]
    stage, methods = _stage(name), {log.method for log in wanted}
    found: dict[str, Measured] = {}
    for log in logs:
        said = score(log.name.replace(OPEN, ""))
        same = _stage(log.name) == stage if stage and OPEN not in log.name else log.method in methods
        if said is not None and said.measure is Measure.TASK and same:
            found.setdefault(log.name, Measured(log.name, said, (log.module.step(log.node),)))
    return tuple(found.values())


def _stage(name: str) -> frozenset[str]:
    return frozenset(words(name)) & (VALIDATED | TRAINED)


def learned(world: World, near: Module, name: str) -> tuple[Step, ...]:
    """The line that logs a name in the training step alone, in a class that has a validation step."""
    for logs in _loggers(world, near, name):
        wanted = [log for log in logs if log.is_called(name)]
        validates = any(
            isinstance(node, ast.FunctionDef) and node.name == "validation_step" for node in wanted[0].cls.body
        )
        if not validates or any(log.method != "training_step" or OPEN in log.name for log in wanted):
            return ()
        return (wanted[0].module.step(wanted[0].node),)
    return ()


def _loggers(world: World, near: Module, name: str) -> list[list[Log]]:
    """What each class logs that logs this name; those of the file that asks alone, if it has any."""
    modules = dict.fromkeys(
        each for word in ("self.log", "self.log_dict") for each in (near, *world.workspace.mentions(word, near.path))
    )
    found = [logs for module in modules for logs in _by_class(module) if any(log.is_called(name) for log in logs)]
    return [logs for logs in found if logs[0].module is near] or found


def _by_class(module: Module) -> list[list[Log]]:
    known = module.kept.get("logs")
    if not isinstance(known, list):
        every: dict[ast.ClassDef, list[Log]] = {}
        for log in [] if module.is_test else _logs(module):
            every.setdefault(log.cls, []).append(log)
        known = module.kept["logs"] = list(every.values())
    return known


def _logs(module: Module) -> Iterator[Log]:
    for call in module.calls:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="log"), args=[name, *_]):
                names = [name]
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="self"), attr="log_dict"), args=[ast.Dict(keys=keys), *_]
            ):
                names = [key for key in keys if key is not None]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="log"), keywords=keywords):
                names = [keyword.value for keyword in keywords if keyword.arg == "name"]
            case _:
                continue
        method, cls = _home(module, call)
        if cls is not None:
            for each in names:
                text = _text(each)
                if text is not None:
                    yield Log(text, method, each, module, cls)


def _home(module: Module, node: ast.AST) -> tuple[str, ast.ClassDef | None]:
    """The method and the class that a node stands in."""
    method, holder = "", module.scope(node)
    while not isinstance(holder, ast.ClassDef | ast.Module):
        method = getattr(holder, "name", method)
        holder = module.scope(holder)
    return method, holder if isinstance(holder, ast.ClassDef) else None


def _text(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(each.value) if isinstance(each, ast.Constant) else OPEN for each in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _text(left), _text(right)
            return (first or OPEN) + (second or OPEN) if first or second else None
    return None
