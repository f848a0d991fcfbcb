"""What the project makes of one class index: looked up in the class table, and in the uses of the same symbol."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Job, Layer
from trainlint.knowledge import torch
from trainlint.knowledge.roles import entry_role, roles
from trainlint.source.summary import Module, dotted, targets
from trainlint.source.things import Tensor
from trainlint.source.world import World
from trainlint.value import Integer, Proof, Role, Step, Unknown

MOST_ALIASES = 12
QUIET = (Role.PAD, Role.VOID, Role.START)


def job(world: World, number: Integer, layer: Layer) -> Job | None | Unknown:
    """The strongest job that can be shown; a role without a job if only that is known; None if nothing is."""
    found = [*_in_table(number, layer), *_uses(world, number), *_by_name(number)]
    with_job = [each for each in found if each.role.is_job]
    order = list(Proof)
    if with_job:
        return min(with_job, key=lambda each: order.index(each.proof))
    return found[0] if found else None


def _in_table(number: Integer, layer: Layer) -> Iterator[Job]:
    """The entry of the table that sizes the head."""
    table = layer.classes.table
    label = table.label(number.number) if table and number.number is not None else None
    if table is None or label is None:
        return
    yield Job(entry_role(label), Proof.TABLE, label, (Step(f"{table.name}: {number} is {label!r}", table.where),))


def _by_name(number: Integer) -> Iterator[Job]:
    for name in number.names:
        for role in (Role.END, *QUIET, Role.BLANK):
            if role in roles(name):
                yield Job(role, Proof.NAME, name, tuple(step for step in number.evidence if name in step.text))


def _uses(world: World, number: Integer) -> Iterator[Job]:
    """Every use of the same symbol in the project, under any of its names."""
    waiting = [origin for origin in number.origins]
    seen: set[str] = set()
    while waiting and len(seen) < MOST_ALIASES:
        origin = waiting.pop(0)
        if origin in seen:
            continue
        seen.add(origin)
        word = origin.rpartition(".")[2]
        for module, node in _mentions(world, word):
            value = world.apart().evaluate(node, world.open_frame(module, node))
            if not isinstance(value, Integer) or origin not in value.origins:
                continue
            for alias, job in _use(world, module, node):
                if job:
                    yield job
                if alias:
                    waiting.append(alias)


def _mentions(world: World, word: str) -> Iterator[tuple[Module, ast.expr]]:
    if not word.isidentifier():
        return
    for module in world.workspace.mentions(word):
        for node in module.parents:
            match node:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()) if name == word:
                    assert isinstance(node, ast.expr)
                    yield module, node


def _use(world: World, module: Module, node: ast.expr) -> Iterator[tuple[str, Job | None]]:
    """What one use says: another name for the symbol, or a job."""
    parent = module.parents.get(node)
    match parent:
        case ast.Assign() | ast.AnnAssign() if parent.value is node:
            yield from _alias(world, module, parent)
        case ast.keyword(arg=str(name)):
            yield "", _named(name, module.step(module.parents[parent]))  # type: ignore[arg-type]
        case ast.Compare():
            if _meets_a_sample(world, module, parent, node):
                yield "", Job(Role.END, Proof.USE, "the stop check", (module.step(parent),))
        case ast.List() | ast.Tuple() | ast.Call():
            yield from _appended(module, parent, node)


def _alias(world: World, module: Module, node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[str, Job | None]]:
    places = node.targets if isinstance(node, ast.Assign) else [node.target]
    scope = module.scope(node)
    for target in (each for place in places for each in targets(place)):
        name = dotted(target) or ""
        last = name.rpartition(".")[2]
        match scope:
            case ast.Module():
                origin = f"{module.name}.{last}"
            case ast.ClassDef(name=owner):
                origin = f"{module.name}.{owner}.{last}"
            case _:
                origin = ""
        yield origin, _named(last, module.step(node))


def _named(name: str, step: Step) -> Job | None:
    found = roles(name)
    role = next((role for role in (Role.END, *QUIET, Role.BLANK) if role in found), None)
    return Job(role, Proof.NAME, name, (step,)) if role else None


def _meets_a_sample(world: World, module: Module, compare: ast.Compare, node: ast.expr) -> bool:
    """Whether a symbol is compared with a predicted class."""
    if not all(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.Is) for op in compare.ops):
        return False
    for other in (compare.left, *compare.comparators):
        if other is node:
            continue
        value = world.apart().evaluate(other, world.open_frame(module, other))
        if (isinstance(value, Tensor) and value.sampled) or _samples(other):
            return True
    return False


def _samples(node: ast.expr) -> bool:
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return any((dotted(func) or getattr(func, "attr", "")).rpartition(".")[2] in torch.SAMPLING - {"max"} for func in calls)


def _appended(module: Module, parent: ast.AST, node: ast.expr) -> Iterator[tuple[str, Job | None]]:
    """``ids + [EOS]`` and ``ids.append(EOS)`` write the symbol into a sequence as its end."""
    holder = module.parents.get(parent)
    step = module.step(parent)  # type: ignore[arg-type]
    match parent, holder:
        case ast.Call(func=ast.Attribute(attr="append"), args=[only]), _ if only is node:
            yield "", Job(Role.END, Proof.USE, "the end of a sequence", (step,))
        case (ast.List(elts=[*_, last]) | ast.Tuple(elts=[*_, last])), ast.BinOp(op=ast.Add(), right=right) if (
            last is node and right is parent
        ):
            yield "", Job(Role.END, Proof.USE, "the end of a sequence", (module.step(holder),))
