"""A place where weights are kept in; out, the loop that goes on training the same model, and the tests on the way.

The loops around the place are looked at from the inside out, then those around the calls that lead to it. A loop that
makes the model anew keeps a different model each time, and ends the search.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.knowledge import torch
from trainlint.record import replace, thing
from trainlint.regex import regex
from trainlint.source import callers
from trainlint.source.linkers.copies.aliases import FunctionDef
from trainlint.source.summary import Module, bound, dotted, last, prefixes
from trainlint.source.things import Function
from trainlint.source.training import inside, trained
from trainlint.source.world import World
from trainlint.value import Step, Unknown

UNSEEN = Unknown("the loop that trains is not seen", "a call of this function in the loop that trains")
DEEPEST = 3
MOST_CALLERS = 3
LOOPS = (ast.For, ast.AsyncFor, ast.While)

CHOOSES = regex(r"best|better|improv|is_new|lowest|highest|min|max", re.IGNORECASE)
COUNTS = regex(r"epoch|step|iter|rank|round|patience|counter|count|wait|warm|len$|size|every|freq", re.IGNORECASE)
"""What a comparison counts by: it says when, and not that something is better."""

WRAPS = frozenset({"prepare", "compile", "script", "setup", *(name.rpartition(".")[2] for name in torch.WRAPPERS)})
WRAPS -= {"deepcopy"}


@thing
class Going:
    """What goes on training a model: the lines, whether they are known to, the loop, and the tests before keeping.

    ``home`` is where the loop stands; ``around`` is the loop, or None where it is not seen.
    """

    steps: tuple[Step, ...] | Unknown
    certain: bool
    tests: tuple[Step, ...]
    home: Module
    around: ast.stmt | None


@thing
class Place:
    """A place on the way to the loop, and the model as it is spelled there; None before the model is known."""

    module: Module
    node: ast.AST
    model: str | None
    tests: tuple[Step, ...] = ()


def going_on(world: World, place: Place, through: tuple[callers.Caller, ...] = (), depth: int = 0) -> Going | None:
    """The loop that goes on training the model; None where there is none, ``around`` None where it is not seen."""
    module = place.module
    if isinstance(module.scope(place.node), ast.Lambda) and not through:
        return Going(UNSEEN, False, place.tests, module, None)
    child: ast.AST = module.statement(place.node)
    keeping = child
    broken, parent = False, module.parents.get(child)
    scope = module.scope(child)
    while parent is not None and child is not scope and parent is not scope:
        if isinstance(parent, ast.If):
            keeping = parent if keeping is child else keeping
            place = _tested(place, parent)
        broken = broken or _ends(parent, child)
        if isinstance(parent, LOOPS) and child in parent.body and not through and place.model is not None:
            if is_anew(world, module, parent, place.model):
                return None
            found = None if broken else trained(world, module, parent, place.model, keeping)
            if found is not None:
                return Going(found.steps, found.certain, place.tests, module, parent)
            broken = False
        child, parent = parent, module.parents.get(parent)
    return _from_callers(world, place, scope, through, depth)


def _tested(place: Place, node: ast.If) -> Place:
    return replace(place, tests=(*place.tests, place.module.step(node.test))) if chooses(node.test) else place


def chooses(test: ast.expr) -> bool:
    """Whether a test may say that something is better than before."""
    for each in ast.walk(test):
        match each:
            case ast.Compare(left=left, ops=[ast.Lt() | ast.Gt() | ast.LtE() | ast.GtE(), *_], comparators=[right, *_]):
                if not (_counts(left) or _counts(right)):
                    return True
            case ast.Name() | ast.Attribute() if CHOOSES.search(last(each)):
                return True
    return False


def _counts(node: ast.expr) -> bool:
    words = [last(each) for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute)]
    return any(COUNTS.search(word) and not CHOOSES.search(word) for word in words)


def _ends(parent: ast.AST, child: ast.AST) -> bool:
    """Whether the block leaves its loop once a statement of it has run."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and child in block:
            return any(isinstance(each, ast.Return | ast.Break) for each in block[block.index(child) + 1 :])
    return False


def is_anew(world: World, module: Module, loop: ast.stmt, model: str) -> bool:
    """Whether a loop gives the model, or what it hangs on, a new value in each turn."""
    words = {name for root in _names(model) for name in prefixes(root)}
    for node in inside(loop):
        if isinstance(node, ast.stmt) and bound(node) & words and not _same(world, module, node, words):
            return True
        if isinstance(node, ast.Call) and _makes(world, module, node, model):
            return True
    return False


def _names(model: str) -> list[str]:
    """The names in the spelling of a model: those of ``models[index]`` are two."""
    found = [dotted(each) for each in ast.walk(ast.parse(model, mode="eval"))]
    return [name for name in found if name]


def _same(world: World, module: Module, node: ast.stmt, words: set[str]) -> bool:
    """Whether a statement binds a model to itself, moved, dressed or trained."""
    if not isinstance(node, ast.Assign):
        return False
    match node.value:
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if dotted(value) in words:
            return attr in torch.SELF_METHODS
        case ast.Call(func=func, args=args) if last(func) in WRAPS:
            return any(dotted(each) in words for each in args)
        case ast.Call(func=func) as call:
            return _hands_back(world, module, call, words)
        case ast.Attribute(value=value, attr="module"):
            return dotted(value) in words
    return False


def _hands_back(world: World, module: Module, call: ast.Call, words: set[str]) -> bool:
    """``model = train(model, loader)``, where ``train`` returns the model that it was given."""
    quiet = world.apart()
    thing = quiet.evaluate(call.func, quiet.open_frame(module, call))
    if not isinstance(thing, Function) or not isinstance(thing.node, FunctionDef):
        return False
    function, home = thing.node, thing.frame.module
    names = [
        each.arg
        for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if dotted(callers.given_to(home, function, each.arg, callers.Caller(call, module)) or call) in words
    ]
    answers = [each.value for each in inside(function) if isinstance(each, ast.Return)]
    bound_again = {name for each in inside(function) if isinstance(each, ast.stmt) for name in bound(each)}
    returned = [
        part.id
        for answer in answers
        for part in (answer.elts if isinstance(answer, ast.Tuple) else [answer])
        if isinstance(part, ast.Name)
    ]
    return any(name in returned and name not in bound_again for name in names)


def _makes(world: World, module: Module, call: ast.Call, model: str) -> bool:
    """``self.build()`` in a loop, where ``build`` sets the attribute that the model is."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=receiver), attr=name) if model.startswith(f"{receiver}."):
            owner = module.parents.get(module.scope(call))
            known = module.definitions.get(name, ()) if isinstance(owner, ast.ClassDef) else ()
            return any(
                module.parents.get(each) is owner and isinstance(each, FunctionDef) and _binds(each, model)
                for each in known
            )
    return False


def _binds(function: FunctionDef, model: str) -> bool:
    for each in inside(function):
        if isinstance(each, ast.Assign) and any(dotted(target) == model for target in each.targets):
            match each.value:
                case ast.Call(func=ast.Attribute(value=value)) if dotted(value) == model:
                    continue
                case ast.Call(args=args) if any(dotted(arg) == model for arg in args):
                    continue
            return True
    return False


def _from_callers(
    world: World, place: Place, scope: ast.AST, through: tuple[callers.Caller, ...], depth: int
) -> Going | None:
    """The same from the calls of the function that keeps."""
    if through:
        *rest, caller = through
        return going_on(world, replace(place, module=caller.module, node=caller.node), tuple(rest), depth)
    if not isinstance(scope, FunctionDef) or place.model is None:
        return None
    found = callers.callers_of(world, place.module, scope) if depth < DEEPEST else ()
    if not found:
        return Going(UNSEEN, False, place.tests, place.module, None)
    answers = [each for caller in found[:MOST_CALLERS] for each in _from_one(world, place, scope, caller, depth)]
    return max(answers, key=lambda each: (each.certain, each.around is not None), default=None)


def _from_one(world: World, place: Place, function: FunctionDef, caller: callers.Caller, depth: int) -> Iterator[Going]:
    model = _outside(place, function, caller)
    if model is None:
        return
    found = going_on(world, Place(caller.module, caller.node, model, place.tests), (), depth + 1)
    if found is not None:
        yield found


def _outside(place: Place, function: FunctionDef, caller: callers.Caller) -> str | None:
    """The model as the caller spells it; None where each call has its own."""
    root, _, rest = (place.model or "").partition(".")
    is_method = isinstance(place.module.parents.get(function), ast.ClassDef)
    places = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if is_method and places[:1] == [root]:
        func = caller.node.func
        head = dotted(func.value) if isinstance(func, ast.Attribute) and func.attr == function.name else dotted(func)
        return ".".join(filter(None, (head, rest))) if head else None
    if root in (*places, *(each.arg for each in function.args.kwonlyargs)):
        given = callers.given_to(place.module, function, root, caller)
        head = dotted(given) if given is not None else None
        return ".".join(filter(None, (head, rest))) if head else None
    stored = {name for each in inside(function) if isinstance(each, ast.stmt) for name in bound(each)}
    return None if root in stored else place.model
