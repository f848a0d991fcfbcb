"""What stands beside a choice: what else is saved, and which task metrics are computed where its loss is."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from trainlint.facts import Measured
from trainlint.knowledge.scores import is_trained, is_validated, score
from trainlint.source.binding import declared
from trainlint.source.linkers.selection import saves
from trainlint.source.linkers.selection.choices import Choice, choices
from trainlint.source.linkers.selection.measures import (
    Reading,
    function_of,
    innermost_loop,
    latest,
    spelled,
)
from trainlint.source.names import holds, own_statements
from trainlint.source.summary import Module, dotted, last, targets
from trainlint.source.things import Frame
from trainlint.source.world import World
from trainlint.value import Measure, Step

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


def kept(module: Module, each: Choice | None, others: Collection[Module]) -> Iterator[Step]:
    """The lines of these files that save a model, whoever wins."""
    if each is not None:
        yield from _whatever_wins(module, each)
    for where in {module: None, **dict.fromkeys(others)}:
        inside = _entered(where, each) if each is not None else set()
        for node in saves.stores(where):
            if each is not None and where is module and any(holds(module, block, node) for block in each.winning):
                continue
            if each is not None and (node in each.handed or _is_itself(module, node, each)):
                continue
            if not _is_helper(where, node, inside) and not _is_won_by_loss(where, node, each):
                yield where.step(node)  # type: ignore[arg-type]


def _is_itself(module: Module, node: ast.AST, each: Choice) -> bool:
    """Whether a call enters the function that compares."""
    name = getattr(module.scope(each.compare), "name", "")
    return isinstance(node, ast.Call) and last(node.func) == name


def _entered(module: Module, each: Choice) -> set[ast.AST]:
    """The functions that only the winner's statements need."""
    calls = [call for block in each.winning for call in ast.walk(block) if isinstance(call, ast.Call)]
    return saves.helpers(module, [*calls, *each.handed])


def _is_helper(module: Module, node: ast.AST, inside: set[ast.AST]) -> bool:
    """Whether a call stands in a function that saves for its callers: then their calls count."""
    scope = module.scope(node)
    while isinstance(scope, FunctionDef | ast.Lambda):
        name = getattr(scope, "name", "")
        if scope in inside or saves.WRITES.search(name) or saves.PLAIN.fullmatch(name):
            return True
        scope = module.scope(scope)
    return False


def _is_won_by_loss(module: Module, node: ast.AST, each: Choice | None) -> bool:
    """Whether another comparison of a loss on the same data leads to a place: it keeps no other kind of winner."""
    for other in choices(module):
        if (each is None or other.compare is not each.compare) and any(
            holds(module, arm, node) for arm in other.winning
        ):
            name = last(other.value)
            said = score(name) if name else None
            same = each is None or is_validated(name) == is_validated(last(each.value))
            return said is not None and said.measure is Measure.LOSS and same
    return False


def _whatever_wins(module: Module, each: Choice) -> Iterator[Step]:
    """A helper that is given the flag saves the newest too, unless it is seen to save the winner alone."""
    for call in each.handed:
        found = [node for node in module.definitions.get(last(call.func), ()) if isinstance(node, FunctionDef)]
        if not found or any(_saves_always(module, node, call) for node in found):
            yield module.step(call)


def _saves_always(module: Module, function: FunctionDef, call: ast.Call) -> bool:
    names = set(declared(function))
    for node in saves.stores(module):
        if module.scope(node) is function:
            holder: ast.AST | None = node
            while holder is not None and holder is not function:
                holder = module.parents.get(holder)
                if isinstance(holder, ast.If) and names & {name.id for name in _names(holder.test)}:
                    break
            else:
                return True
    return False


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Name))


def _is_another_loss(scope: ast.AST, name: str) -> bool:
    """``loss, loss_scaled = evaluate()``: beside the plain loss, one that was made for the choice."""
    for node in own_statements(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [last(target) for target in targets(node.targets[0])]
            if name in names and any(other != name and other in name and _is_loss(other) for other in names):
                return True
    return False


def _is_loss(name: str) -> bool:
    said = score(name)
    return said is not None and said.measure is Measure.LOSS


def metrics(world: World, each: Choice, chain: Sequence[Reading], module: Module) -> Iterator[Measured]:
    """The task metrics that are computed where the compared loss is, and that choose nothing."""
    scope = module.scope(each.compare)
    if _is_chosen_by_a_task(module, each) or _is_another_loss(scope, last(each.value)):
        return
    seen: set[str] = set()
    for name, node, where in _candidates(world, each, chain, module):
        said = score(name)
        if said is None or said.measure is not Measure.TASK or name in seen or _is_no_result(name):
            continue
        if _is_compared(module, name, scope):
            return
        seen.add(name)
        yield Measured(name, said, (where.step(node),))


def _is_no_result(name: str) -> bool:
    return "best" in name.lower() or is_trained(name)


def _is_compared(module: Module, name: str, scope: ast.AST) -> bool:
    """Whether any line of a scope compares a metric with something: then it takes part in a choice."""
    for node in own_statements(scope):
        for test in _tests(node):
            for each in ast.walk(test):
                ordered = isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
                if ordered and name in ast.unparse(each):
                    return True
    return False


def _tests(node: ast.stmt) -> Iterator[ast.expr]:
    return (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))


def _is_chosen_by_a_task(module: Module, each: Choice) -> bool:
    """Whether a test around a choice, or its own, asks a task metric."""
    scope, holder = module.scope(each.compare), module.parents.get(each.compare)
    while holder is not None and holder is not scope:
        if isinstance(holder, ast.If) and _asks_a_task(holder.test):
            return True
        holder = module.parents.get(holder)
    return False


def is_shared(each: Choice) -> bool:
    """Whether the test of a choice asks a task metric too."""
    return each.test is not None and _asks_a_task(each.test)


def _asks_a_task(test: ast.expr) -> bool:
    said = (score(name) for name in spelled(test))
    return any(found is not None and found.measure is Measure.TASK for found in said)


def _candidates(
    world: World, each: Choice, chain: Sequence[Reading], module: Module
) -> Iterator[tuple[str, ast.stmt, Module]]:
    """Names that get a value beside the compared one."""
    for reading in chain:
        where = reading.frame.module
        found = latest(where, dotted(reading.node) or "", reading.node)
        if isinstance(found, ast.Assign):
            yield from _beside(found, where)
            if isinstance(found.value, ast.Call):
                yield from _inside(world, found.value, reading.frame)
        if isinstance(reading.node, ast.Subscript):
            yield from _same_table(where, reading.node)
    yield from _same_turn(each, module)


def _beside(node: ast.Assign, module: Module) -> Iterator[tuple[str, ast.stmt, Module]]:
    """``loss, accuracy = evaluate(...)``."""
    for target in node.targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from ((last(each), node, module) for each in targets(target) if last(each))


def _inside(world: World, call: ast.Call, frame: Frame) -> Iterator[tuple[str, ast.stmt, Module]]:
    """What the function that computes the loss computes too."""
    entered = function_of(world, call, frame)
    if entered is None:
        return
    function, module = entered
    for node in own_statements(function):
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant):
            for target in node.targets:
                yield from ((last(each), node, module) for each in targets(target) if last(each))


def _same_table(module: Module, node: ast.Subscript) -> Iterator[tuple[str, ast.stmt, Module]]:
    """``results["accuracy"]`` beside ``results["loss"]``."""
    table, scope = ast.unparse(node.value), module.scope(node)
    for key, nodes in module.keys.items():
        for other in nodes:
            if isinstance(key, str) and ast.unparse(other.value) == table and module.scope(other) is scope:
                yield key, _statement(module, other), module


def _statement(module: Module, node: ast.AST) -> ast.stmt:
    while not isinstance(node, ast.stmt):
        node = module.parents[node]
    return node


def _same_turn(each: Choice, module: Module) -> Iterator[tuple[str, ast.stmt, Module]]:
    """What the same turn of the loop measures on data that is not trained on."""
    loop = innermost_loop(module, each.compare)
    for node in own_statements(loop) if loop is not None else ():
        if isinstance(node, ast.Assign) and node.lineno < each.compare.lineno:
            tested = isinstance(node.value, ast.Call) and is_validated(last(node.value.func))
            for target in node.targets:
                for name in (last(each) for each in targets(target)):
                    if name and (tested or is_validated(name)) and not isinstance(node.value, ast.Constant):
                        yield name, node, module
