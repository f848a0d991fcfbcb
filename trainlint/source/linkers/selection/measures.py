"""What a compared value measures: an expression in, the names that it goes by on the way to where it is computed.

Each name may say what the number is (``val_loss``, ``metrics["f1"]``, ``accuracy_score(...)``). A caller's word beats
that of the parameter it fills; two words of one function that disagree say nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Measured
from trainlint.knowledge.scores import score
from trainlint.record import replace, thing
from trainlint.source import callers
from trainlint.source.binding import argument, declared, parameters
from trainlint.source.names import own_statements
from trainlint.source.summary import Module, bound, dotted, last
from trainlint.source.things import Frame, Function, Thunk
from trainlint.source.world import World
from trainlint.value import Better, Score, Step, Unknown

DEEPEST = 6
"""Assignments and calls that a value is followed through."""

SAME = frozenset(
    {
        "item", "cpu", "detach", "numpy", "mean", "sum", "float", "double", "tolist", "compute", "squeeze", "result",
        "average", "get_average", "round", "clone", "data", "avg", "value", "val", "global_avg", "to", "min", "max",
    }
)  # fmt: skip
"""Methods and attributes after which a number still measures what it did; ``losses.avg``, ``meter.value()``."""

RISING = frozenset(
    {
        "float", "int", "round", "sum", "mean", "average", "nanmean", "exp", "log", "log10", "sqrt", "tensor",
        "asarray", "array", "min", "max", "abs", "reduce", "all_reduce", "reduce_tensor", "gather", "median",
    }
)  # fmt: skip
"""Functions that rise with their first argument."""

GROWS = frozenset({"append", "update", "add", "extend"})
"""Methods that take a number up."""

TURNING = frozenset({"sign", "factor", "direction", "mode", "mult", "multiplier", "polarity", "order", "flip"})
"""Words of a factor that may turn a number round."""

COMPARED_BY = "nothing says what is compared"
FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


@thing
class Reading:
    """One name on the way: what it says, whether the number is its negative here, and how many callers away it is."""

    name: str
    score: Score | None
    falls: bool
    node: ast.expr
    frame: Frame
    level: int
    turns: bool = False

    @property
    def better(self) -> Better | None:
        """Which value of the compared number is better, by this name."""
        if self.score is None:
            return None
        return self.score.better.other if self.falls else self.score.better


@thing
class Place:
    """Where the search stands: a frame, the sign so far, the callers entered and the steps taken.

    Inside of a function that was entered by a call, ``inside``, no other caller counts.
    """

    frame: Frame
    falls: bool = False
    level: int = 0
    depth: int = 0
    inside: bool = False

    def turned(self) -> Place:
        return replace(self, falls=not self.falls)

    def deeper(self) -> Place:
        return replace(self, depth=self.depth + 1)

    def within(self, frame: Frame) -> Place:
        return replace(self, frame=frame, depth=self.depth + 1, inside=True)


def readings(world: World, node: ast.expr, frame: Frame) -> list[Reading]:
    """Every name that a value goes by, the nearest first."""
    return list(_read(world, node, Place(frame)))


def decided(found: list[Reading]) -> tuple[Reading, tuple[Reading, ...]] | Unknown:
    """The reading that says what a value measures, and all that were asked for it."""
    if not found:
        return Unknown(COMPARED_BY)
    top = max(reading.level for reading in found)
    said = [each for each in found if each.level == top]
    known = [each for each in said if each.better is not None]
    if any(each.turns for each in found):
        return Unknown("a factor decides about the direction", next(each.name for each in found if each.turns))
    if not known:
        return Unknown(f"the name {said[0].name} does not say what it measures", said[0].name)
    if len({each.better for each in known}) > 1 or len({each.score.measure for each in known if each.score}) > 1:
        return Unknown(f"{known[0].name} and {known[-1].name} say different things of one number", known[0].name)
    return known[0], tuple(found)


def is_open_parameter(reading: Reading) -> bool:
    """Whether a name is a parameter for which no call is seen: what is passed may be anything."""
    function, module = reading.frame.function, reading.frame.module
    if not isinstance(function, FunctionDef) or not isinstance(reading.node, ast.Name):
        return False
    return reading.name in declared(function) and feed(module, reading.name, reading.node) is None


def measured(reading: Reading, found: tuple[Reading, ...]) -> Measured:
    """The deciding name as the rules are told of it."""
    assert reading.score is not None, "the reading decided"
    steps = (_step(each) for each in found if each.level != 0 or each is reading)
    return Measured(reading.name, reading.score, tuple(dict.fromkeys(steps)))


def _step(reading: Reading) -> Step:
    return reading.frame.module.step(reading.frame.module.statement(reading.node))


def _read(world: World, node: ast.expr, place: Place) -> Iterator[Reading]:
    if place.depth > DEEPEST:
        return
    match node:
        case ast.Name():
            yield _named(node.id, node, place)
            yield from _behind(world, node.id, node, place)
        case ast.Attribute(value=value, attr=attr) if attr in SAME:
            yield from _read(world, value, place)
        case ast.Attribute():
            yield _named(node.attr, node, place)
            yield from _behind(world, dotted(node) or "", node, place)
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
            yield _named(key, node, place)
            if score(key) is None:
                yield from _read(world, value, place)
        case ast.Subscript(value=value):
            yield from _read(world, value, place)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _read(world, operand, place.turned())
        case ast.BinOp():
            yield from _computed(world, node, place)
        case ast.Call():
            yield from _called(world, node, place)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _read(world, body, place)
            yield from _read(world, orelse, place)
        case ast.NamedExpr(value=value) | ast.Await(value=value):
            yield from _read(world, value, place)


def _named(name: str, node: ast.expr, place: Place) -> Reading:
    return Reading(name, score(name), place.falls, node, place.frame, place.level)


def _computed(world: World, node: ast.BinOp, place: Place) -> Iterator[Reading]:
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _sides(world, (left, place), (right, place))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield from _sides(world, (left, place), (right, place.turned()))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            is_turned = sum(_is_negative(each) for each in (left, right)) == 1
            inner = place.turned() if is_turned else place
            yield from (_turning(each, place) for each in (left, right) if _may_turn(each))
            yield from _sides(world, (left, inner), (right, inner))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            yield from _sides(world, (left, place), (right, place.turned()))


def _sides(world: World, *sides: tuple[ast.expr, Place]) -> Iterator[Reading]:
    """Both sides of an operation; one that says nothing by itself (a count, an epsilon) is left out."""
    found = [list(_read(world, node, place)) for node, place in sides]
    telling = [each for each in found if any(reading.score is not None for reading in each)]
    for each in telling or found[:1]:
        yield from each


def _is_negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)


def _may_turn(node: ast.expr) -> bool:
    return not TURNING.isdisjoint(last(node).lower().split("_"))


def _turning(node: ast.expr, place: Place) -> Reading:
    return Reading(last(node), None, place.falls, node, place.frame, place.level, turns=True)


def _called(world: World, node: ast.Call, place: Place) -> Iterator[Reading]:
    match node.func:
        case ast.Attribute(value=value, attr="get"):
            match node.args:
                case [ast.Constant(value=str(key)), *_]:
                    yield _named(key, node, place)
                    return
            yield from _read(world, value, place)
            return
        case ast.Attribute(value=value, attr=attr) if attr in SAME and not _is_library(value, place.frame.module):
            yield from _read(world, value, place)
            return
    word = last(node.func)
    if word in RISING and node.args:
        first = node.args[0]
        yield from _read(world, first.elt if isinstance(first, ast.ListComp | ast.GeneratorExp) else first, place)
        return
    if word and score(word) is not None:
        yield _named(word, node, place)
    yield from _returned(world, node, None, place)


def _is_library(node: ast.expr, module: Module) -> bool:
    """``np.mean(...)`` is a function and no method."""
    return isinstance(node, ast.Name) and node.id in module.imports


def _behind(world: World, name: str, node: ast.AST, place: Place) -> Iterator[Reading]:
    """What a name was given: by the nearest statement before it, or by the caller."""
    found = feed(place.frame.module, name, node)
    match found:
        case None:
            yield from _passed(world, name, place)
        case ast.Assign(targets=[target], value=value):
            if dotted(target) == name:
                yield from _read(world, value, place.deeper())
            elif isinstance(target, ast.Tuple | ast.List):
                yield from _unpacked(world, target, value, name, place)
        case ast.AugAssign(op=ast.Add(), value=value) | ast.AnnAssign(value=ast.expr() as value):
            yield from _read(world, value, place.deeper())
        case ast.AugAssign(op=ast.Div() | ast.Mult()) if place.depth < DEEPEST:
            yield from _behind(world, name, found, place.deeper())
        case ast.Expr(value=ast.Call(args=[value, *_])):
            yield from _read(world, value, place.deeper())


def _unpacked(
    world: World, target: ast.Tuple | ast.List, value: ast.expr, name: str, place: Place
) -> Iterator[Reading]:
    where = next((index for index, each in enumerate(target.elts) if dotted(each) == name), None)
    if where is None or any(isinstance(each, ast.Starred) for each in target.elts[:where]):
        return
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        yield from _read(world, value.elts[where], place.deeper())
    elif isinstance(value, ast.Call):
        yield from _returned(world, value, where, place)


def latest(module: Module, name: str, use: ast.AST) -> ast.stmt | None:
    """The nearest statement before a use, in its own scope, that binds a name anew."""
    scope = module.scope(use)
    row = module.statement(use).lineno
    found = [each for each in _binders(module, scope).get(name, ()) if each.lineno < row]
    return found[-1] if found else None


def _binders(module: Module, scope: ast.AST) -> dict[str, list[ast.stmt]]:
    """The statements of a scope that bind each name, in the order of their lines; ``+=`` binds nothing anew."""
    known = module.kept.get(("binders", scope))
    if isinstance(known, dict):
        return known
    made: dict[str, list[ast.stmt]] = {}
    for node in own_statements(scope):
        if not isinstance(node, ast.AugAssign):
            for name in bound(node):
                made.setdefault(name, []).append(node)
    for each in made.values():
        each.sort(key=lambda node: node.lineno)
    module.kept["binders", scope] = made
    return made


def feed(module: Module, name: str, use: ast.AST) -> ast.stmt | None:
    """The nearest statement before a use that binds a name, adds to it or appends to it."""
    row = module.statement(use).lineno
    found = [each for each in _feeds(module, module.scope(use)).get(name, ()) if each.lineno < row]
    return found[-1] if found else None


def _feeds(module: Module, scope: ast.AST) -> dict[str, list[ast.stmt]]:
    known = module.kept.get(("feeds", scope))
    if isinstance(known, dict):
        return known
    made: dict[str, list[ast.stmt]] = {}
    for node in own_statements(scope):
        for name in _fed_by(node):
            made.setdefault(name, []).append(node)
    for each in made.values():
        each.sort(key=lambda node: node.lineno)
    module.kept["feeds", scope] = made
    return made


def _fed_by(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=holder, attr=attr), args=[_, *_])) if attr in GROWS:
            yield dotted(holder) or ""
        case _:
            yield from bound(node)


def _passed(world: World, name: str, place: Place) -> Iterator[Reading]:
    """What the caller of this world passes for a parameter."""
    given = None if place.inside else passed(world, name, place.frame)
    if given is not None:
        yield from _read(world, given.node, replace(place.deeper(), frame=given.frame, level=place.level + 1))


def passed(world: World, name: str, frame: Frame) -> Thunk | None:
    """The argument for a parameter, as an expression in the caller's frame."""
    function = frame.function
    if not isinstance(function, FunctionDef):
        return None
    entered = frame if frame.arguments is not None else callers.entered(world, frame)
    if entered is None or entered.arguments is None:
        return None
    names = [each.arg for each in parameters(function)]
    if entered.receiver is not None:
        names = names[1:]
    found = argument(entered.arguments, names, name) if name in {*names, *_by_name_only(function)} else None
    return found if isinstance(found, Thunk) and found.known is None else None


def _by_name_only(function: FunctionDef) -> list[str]:
    return [each.arg for each in function.args.kwonlyargs]


def _returned(world: World, call: ast.Call, place_in_tuple: int | None, place: Place) -> Iterator[Reading]:
    """What a function of the project returns, or one element of it."""
    for value, frame in returned(world, call, place.frame):
        if place_in_tuple is None:
            yield from _read(world, value, place.within(frame))
        elif isinstance(value, ast.Tuple) and place_in_tuple < len(value.elts):
            yield from _read(world, value.elts[place_in_tuple], place.within(frame))


def returned(world: World, call: ast.Call, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """The expressions that a project's function returns, in a frame of which nobody knows the caller."""
    called = world.apart().evaluate(call.func, world.open_frame(frame.module, call))
    if not isinstance(called, Function) or not isinstance(called.node, FunctionDef):
        return
    module = called.frame.module
    for each in own_statements(called.node):
        if isinstance(each, ast.Return) and each.value is not None:
            yield each.value, world.open_frame(module, each)


def function_of(world: World, call: ast.Call, frame: Frame) -> tuple[FunctionDef, Module] | None:
    """The project's function that a call enters."""
    called = world.apart().evaluate(call.func, world.open_frame(frame.module, call))
    if isinstance(called, Function) and isinstance(called.node, FunctionDef):
        return called.node, called.frame.module
    return None


def innermost_loop(module: Module, node: ast.AST) -> ast.For | ast.AsyncFor | ast.While | None:
    """The loop of the same function that a node stands in."""
    scope = module.scope(node)
    holder: ast.AST | None = node
    while holder is not None and holder is not scope:
        child, holder = holder, module.parents.get(holder)
        if isinstance(holder, ast.For | ast.AsyncFor | ast.While) and child in holder.body:
            return holder
    return None


def spelled(node: ast.AST) -> Iterator[str]:
    """The names and strings in an expression."""
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                yield name
