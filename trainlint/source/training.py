"""A loop and the name of a model in; out, the lines of the loop that train the model.

Training is a ``backward`` and a ``step``, in the loop or in functions of the project that it calls. A function that is
not seen counts where its name says that it trains, but is not certain.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.record import thing
from trainlint.regex import regex
from trainlint.source.binding import parameters
from trainlint.source.nodes import children, nodes_of
from trainlint.source.summary import Module, bound, dotted, last
from trainlint.source.things import Function
from trainlint.source.world import World
from trainlint.value import Step

DEEPEST = 3
MOST_CALLS = 60
BACKWARD = frozenset({"backward", "manual_backward"})
STEPS = frozenset({"step", "optimizer_step", "step_optimizer", "train_step"})
SAYS = regex(
    r"^_?(?:train|fit|learn)(?!er|ing_|able)|train_(?:one_)?(?:epoch|step|model|loop)|(?:run|one)_epoch", re.IGNORECASE
)
"""A function that says that it trains."""

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@thing
class Trained:
    """The lines that train, and whether they are known to."""

    steps: tuple[Step, ...]
    certain: bool


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a statement or a function, in its order; functions and classes in it are not opened."""
    stack = children(node)[::-1]
    while stack:
        each = stack.pop()
        yield each
        if not isinstance(each, SCOPES):
            stack += children(each)[::-1]


def trained(world: World, module: Module, loop: ast.stmt, model: str, keeping: ast.AST) -> Trained | None:
    """What trains a model in each turn of a loop; None where nothing does. ``keeping`` is what keeps its weights."""
    calls = [each for each in inside(loop) if isinstance(each, ast.Call)]
    done = {call: work(world, module, call) for call in calls[:MOST_CALLS]}
    if {"backward", "step"} <= frozenset().union(*done.values()):
        call = next(call for call, found in done.items() if "backward" in found)
        if _mentions(loop, model, keeping) or any(_knows(world, module, each, model) for each in done if done[each]):
            return Trained((module.step(call),), True)
        return None
    said = next((call for call in calls if _says(call, model)), None)
    return Trained((module.step(said),), False) if said is not None else None


def work(world: World, module: Module, call: ast.Call, depth: int = 0) -> frozenset[str]:
    """Which halves of training a call does, by itself or in functions of the project."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in BACKWARD:
        return frozenset({"backward"})
    found = function_of(world, module, call) if depth < DEEPEST else None
    if found is not None:
        return _of_function(world, found, depth + 1)
    return frozenset({"step"}) if name in STEPS else frozenset()


def function_of(world: World, module: Module, call: ast.Call) -> Function | None:
    """The function of the project that a call enters."""
    if not _may_be_defined(world, module, last(call.func)):
        return None
    quiet = world.apart()
    thing = quiet.evaluate(call.func, quiet.open_frame(module, call))
    return thing if isinstance(thing, Function) and not isinstance(thing.node, ast.Lambda) else None


def _may_be_defined(world: World, module: Module, word: str) -> bool:
    """Whether a function of the project may have a name: most calls are of libraries."""
    return not word or word in module.definitions or word in module.imports or world.workspace.says(f"def {word}")


def _of_function(world: World, function: Function, depth: int) -> frozenset[str]:
    key = ("training in", function.node, depth)
    known = world.workspace.answers.get(key)
    if not isinstance(known, frozenset):
        world.workspace.answers[key] = frozenset()
        calls = [each for each in inside(function.node) if isinstance(each, ast.Call)]
        works = (work(world, function.frame.module, each, depth) for each in calls[:MOST_CALLS])
        known = frozenset().union(*works)
        world.workspace.answers[key] = known
    return known


def _is_part(name: str | None, model: str) -> bool:
    """Whether a name is that of a model, of what it hangs on, or of a part of it."""
    return name is not None and (name == model or name.startswith(f"{model}.") or model.startswith(f"{name}."))


def _mentions(loop: ast.stmt, model: str, keeping: ast.AST) -> bool:
    """Whether a loop reads a model anywhere but where its weights are kept."""
    root = model.partition(".")[0]
    kept = set(nodes_of(keeping))
    return any(
        isinstance(each, ast.Name | ast.Attribute | ast.Subscript)
        and each not in kept
        and (ast.unparse(each) if isinstance(each, ast.Subscript) else dotted(each) or "").startswith(model)
        for each in inside(loop)
        if isinstance(each, ast.Name | ast.Attribute | ast.Subscript)
    ) or (root not in ("self", "cls") and any(
        isinstance(each, ast.Name) and each.id == root and each not in kept and "." in model for each in inside(loop)
    ))  # fmt: skip


def _knows(world: World, module: Module, call: ast.Call, model: str) -> bool:
    """Whether a function that trains knows the model: it is given it, its object has it, or it reads it around it."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(dotted(each) == model for each in given):
        return True
    found = function_of(world, module, call)
    if found is None:
        return False
    root, _, rest = model.partition(".")
    receiver = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
    if receiver is not None and rest and _is_part(receiver, model):
        return True
    function = found.node
    assert not isinstance(function, ast.Lambda), "function_of finds none"
    own = {each.arg for each in parameters(function)}
    own |= {name for each in inside(function) if isinstance(each, ast.stmt) for name in bound(each)}
    reads = (each.id for each in nodes_of(function) if isinstance(each, ast.Name))
    return root not in own and root in set(reads)


def _says(call: ast.Call, model: str) -> bool:
    """Whether a call says that it trains the model, which it is given or is a method of."""
    if not SAYS.search(last(call.func)):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if isinstance(call.func, ast.Attribute):
        receiver = dotted(call.func.value)
        if _is_part(receiver, model) and (given or receiver != model) and call.func.attr != "train":
            return True
    return any(_is_part(dotted(each), model) for each in given if dotted(each))
