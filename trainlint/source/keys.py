"""Under which names ``setattr(self, key, value)`` writes: a class out of the project in, its open writes out.

A key is evaluated for the class itself: it may be a constant of each class, run through a loop over names that are
written out, or be what all callers of a function give. What it is worth may rest on attributes of the object that
another such statement writes over; then it is as open as that one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from trainlint.record import dataclass, replace
from trainlint.source import builtin, objects
from trainlint.source.names import reaching
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module
from trainlint.source.things import Built, Class, Constant, Frame, Thing
from trainlint.source.world import Path, World, worlds
from trainlint.source.writes import by_any_name

MOST_PATHS = 8
"""A key that may be worth more than this by the branches before it is open; most have one path."""

MOST_TURNS = 64
MOST_FILES = 20
"""A function whose name more files hold is not followed to its callers: reading them all costs more than it tells."""

ANYTHING = ".*"
FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


class Open(Exception):
    """Nothing limits what a key may be."""


@dataclass(frozen=True)
class OpenWrite:
    """A statement that writes attributes of a class's objects under names that are not written out in it.

    ``names`` are those that it may write, as a pattern; None where it may write any.
    """

    module: Module
    statement: ast.stmt
    names: re.Pattern[str] | None


@dataclass(frozen=True)
class _Keys:
    """The patterns of the names that a statement writes, and the attributes of the object that they are made of."""

    patterns: frozenset[str]
    reads: frozenset[str]


def open_writes(world: World, classes: tuple[Class, ...]) -> tuple[OpenWrite, ...]:
    """The statements that write attributes of an object of these classes under open names, with those names."""
    key = ("open writes", classes[0].node)
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        writes = by_any_name(world, classes)
        world.workspace.answers[key] = tuple(OpenWrite(*write, None) for write in writes)
        keys = [_keys(world, classes, *write) for write in writes]
        pairs = zip(writes, _settled(keys), strict=True)
        known = tuple(OpenWrite(module, statement, _pattern(each)) for (module, statement), each in pairs)
        world.workspace.answers[key] = known
    return known


def _settled(keys: Sequence[_Keys | None]) -> list[_Keys | None]:
    """The keys without those that rest on an attribute which one of these statements may write."""
    known, before = list(keys), None
    while known != before:
        before = known
        patterns = [_pattern(each) for each in before]
        known = [None if each is None or _is_written(each.reads, patterns) else each for each in before]
    return known


def _is_written(reads: frozenset[str], patterns: Sequence[re.Pattern[str] | None]) -> bool:
    return any(each is None or each.fullmatch(name) for name in reads for each in patterns)


def _pattern(keys: _Keys | None) -> re.Pattern[str] | None:
    return re.compile("|".join(sorted(keys.patterns))) if keys is not None else None


def _keys(world: World, classes: tuple[Class, ...], module: Module, statement: ast.stmt) -> _Keys | None:
    """What the keys of a statement are worth for the first of these classes; None where one is open."""
    frame, reader = _standing(world, classes, module, statement)
    reads: set[tuple[ast.ClassDef, str]] = set()
    patterns: set[str] = set()
    try:
        for key in _written_under(module, statement):
            patterns |= _worth(world, key, frame, reads)
    except Open:
        return None
    if not patterns or any(node is not reader for node, _ in reads):
        return None
    return _Keys(frozenset(patterns), frozenset(name for _, name in reads))


def _standing(
    world: World, classes: tuple[Class, ...], module: Module, statement: ast.stmt
) -> tuple[Frame, ast.ClassDef | None]:
    """The frame of a statement, and the class whose attributes are known there: that of the object, in its methods.

    Elsewhere an object may be of a derived class, whose attributes are others.
    """
    function, cls = module.scope(statement), classes[0]
    if isinstance(function, FunctionDef):
        owner = next((each for each in classes if objects.methods(each).get(function.name) is function), None)
        if owner is not None and not objects.marks(function) & {"staticmethod", "classmethod"}:
            number = world.workspace.number("instance", id(cls.node))
            built = Built(cls, None, cls.node, Frame(cls.module, number=number))
            return objects.entered(world, function, owner, built, None, function), cls.node
    return world.open_frame(module, statement), None


def _written_under(module: Module, statement: ast.stmt) -> tuple[ast.expr, ...]:
    """The keys of the calls of ``setattr`` in a statement."""
    known = module.kept.get(("setattr keys", statement))
    if not isinstance(known, tuple):
        found = []
        for node in nodes_of(statement):
            match node:
                case ast.Call(func=ast.Name(id="setattr"), args=[_, key, _]):
                    found.append(key)
        known = module.kept["setattr keys", statement] = tuple(found)
    return known


def _worth(world: World, key: ast.expr, frame: Frame, reads: set[tuple[ast.ClassDef, str]]) -> set[str]:
    """The patterns that a key may be, on whichever path and in whichever turn of the loops around it."""
    path, found = Path(), set[str]()

    def make(taken: Path) -> World:
        nonlocal path
        path = taken
        inner = type(world)(world.workspace, taken, None)
        inner.reads = reads
        return inner

    run: Callable[[World], set[str]] = lambda inner: {  # noqa: E731
        _text(inner, key, turn) for turn in _turns(inner, key, frame)
    }
    for texts, _ in worlds(make, run, MOST_PATHS):
        found |= texts
    if path.next() is not None:
        raise Open
    return found


def _turns(world: World, node: ast.AST, frame: Frame) -> list[Frame]:
    """The frames of the turns of all loops around a node, as far as they are known."""
    frames = [frame]
    for loop in reversed([*loops(frame.module, node)]):
        frames = [turn for each in frames for turn in _turned(world, loop, each)]
    return frames


def _turned(world: World, loop: ast.For, frame: Frame) -> list[Frame]:
    values = builtin.sequence(world, world.evaluate(loop.iter, frame))
    if values is None or len(values) > MOST_TURNS:
        return [frame]
    turns = (world.turn(loop.target, world.force(value), frame, place) for place, value in enumerate(values))
    # What the body binds is bound in each turn.
    return [replace(turn, home=None) for turn in turns]


def loops(module: Module, node: ast.AST) -> Iterator[ast.For]:
    """The loops around a node, the innermost first."""
    holder = module.parents.get(node)
    while holder is not None and not isinstance(holder, ast.FunctionDef):
        if isinstance(holder, ast.For):
            yield holder
        holder = module.parents.get(holder)


def _text(world: World, key: ast.expr, frame: Frame) -> str:
    """A pattern of what a key may be."""
    if isinstance(key, ast.JoinedStr):
        return "".join(_part(world, each, frame) for each in key.values)
    found = _constant(world.evaluate(key, frame))
    if found is not None:
        return re.escape(found)
    if not isinstance(key, ast.Name) or not isinstance(frame.function, FunctionDef):
        raise Open
    if key.id in frame.local or reaching(world, key.id, key, frame) is not None:
        raise Open
    return "|".join(sorted(map(re.escape, _given(world, frame.module, frame.function, key.id))))


def _part(world: World, part: ast.expr, frame: Frame) -> str:
    """A part of a text that is put together: what is not known may be anything."""
    value = part.value if isinstance(part, ast.FormattedValue) else part
    found = _constant(world.evaluate(value, frame)) if isinstance(value, ast.expr) else None
    is_plain = not isinstance(part, ast.FormattedValue) or (part.format_spec is None and part.conversion == -1)
    return re.escape(found) if found is not None and is_plain else ANYTHING


def _constant(thing: Thing) -> str | None:
    """A text that is known; a default is what somebody may change."""
    is_known = isinstance(thing, Constant) and isinstance(thing.value, str) and not thing.assumed
    return str(thing.value) if is_known else None  # type: ignore[union-attr]


def _given(world: World, module: Module, function: FunctionDef, name: str) -> set[str]:
    """What all calls by the name of a function give for one of its parameters."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    is_method = isinstance(module.parents.get(function), ast.ClassDef)
    if function.decorator_list or function.name.startswith("__") or name not in names[is_method:]:
        raise Open
    if len(world.workspace.saying(function.name, function.name)) > MOST_FILES:
        raise Open
    found: set[str] = set()
    for other in world.workspace.mentions_both(function.name, function.name):
        for node in other.loads.get(function.name, ()) if not other.is_test else ():
            call = other.parents.get(node)
            if not isinstance(call, ast.Call) or call.func is not node:
                raise Open  # It is handed on, to be called by others.
            found.add(_passed(world, other, call, names[is_method:].index(name), name))
    if not found:
        raise Open
    return found


def _passed(world: World, module: Module, call: ast.Call, place: int, name: str) -> str:
    """The text that a call passes for a parameter at a place."""
    frame = world.open_frame(module, call)
    stars = any(isinstance(each, ast.Starred) for each in call.args)
    of_class = isinstance(call.func, ast.Attribute) and isinstance(world.evaluate(call.func.value, frame), Class)
    named = [each.value for each in call.keywords if each.arg == name]
    given = named or ([] if stars else call.args[place : place + 1])
    found = _constant(world.evaluate(given[0], frame)) if given and not of_class else None
    if found is None:
        raise Open
    return found
