"""A list as the statements of its scope leave it: what it was written down as, and what they append, in their order."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from trainlint.record import dataclass, replace
from trainlint.source import builtin
from trainlint.source.names import blocks, following, leaves, taken, truth
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import CHANGES, Module, dotted
from trainlint.source.things import Binding, Frame, Items, Repeated, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Integer, Unknown

MOST_UNROLLED = 48
"""A loop of more turns than this is known by its last turn alone."""


class Lost(Exception):
    """Something happens to the list that is not followed."""


@dataclass
class Growth:
    """The elements so far: the front, and behind a stretch of unknown length the rear."""

    world: World
    name: str
    front: list[Thunk]
    rear: list[Thunk] | None = None
    looped: int = 0

    def add(self, element: Thunk) -> None:
        (self.front if self.rear is None else self.rear).append(element)


def grown(world: World, thing: Items, binding: Binding, frame: Frame, use: ast.AST | None) -> Thing:
    """A list at its use: whole where every statement between is followed, else its front and its rear."""
    growth = Growth(world, binding.name, list(thing.elements))
    try:
        _all(growth, list(between(binding.node, frame, use)), frame)
    except Lost:
        return replace(thing, elements=(), whole=False)
    if growth.rear is None:
        return replace(thing, elements=tuple(growth.front))
    if not growth.front and len(growth.rear) == 1 and growth.looped == 1:
        return Repeated(growth.rear[0], Unknown("the list grows in a loop"), thing.node)
    return replace(thing, elements=tuple(growth.front), whole=False, rear=tuple(growth.rear))


def between(start: ast.AST, frame: Frame, use: ast.AST | None) -> Iterator[ast.stmt]:
    """The statements that may run after a definition and before its use, or until the scope ends."""
    module, scope = frame.module, frame.function or frame.module.tree
    holders = _holders(frame, use) if use is not None else set()
    child: ast.AST = module.statement(start) if not isinstance(start, ast.stmt) else start
    while child is not scope:
        parent = module.parents.get(child)
        if parent is None:
            return
        if isinstance(parent, ast.For | ast.While | ast.AsyncFor) and child in parent.body and parent not in holders:
            raise Lost
        for after in following(parent, child):
            if after in holders:
                yield from _inside(after, holders)
                return
            yield after
        child = parent


def _inside(node: ast.stmt, holders: set[ast.AST]) -> Iterator[ast.stmt]:
    """What runs inside a statement before the use that it holds."""
    for block in blocks(node):
        if not any(each in holders for each in block):
            continue
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            yield Around(node)
        for each in block:
            if each in holders:
                yield from _inside(each, holders)
                return
            yield each


class Around(ast.stmt):
    """A loop around the use: turns before this one may have run its body."""

    def __init__(self, loop: ast.For | ast.While | ast.AsyncFor) -> None:
        super().__init__()
        self.loop = loop


def _holders(frame: Frame, use: ast.AST) -> set[ast.AST]:
    found: set[ast.AST] = set()
    node: ast.AST | None = use
    while node is not None and node is not frame.function:
        found.add(node)
        node = frame.module.parents.get(node)
    return found


def _touches(module: Module, node: ast.AST, name: str) -> bool:
    """Whether anything inside a statement may change the list under its name."""
    known = module.kept.get(("touched", node))
    if not isinstance(known, frozenset):
        known = frozenset(filter(None, map(_touched, nodes_of(node))))
        module.kept["touched", node] = known
    return name in known


def _touched(node: ast.AST) -> str | None:
    """The name of the list that a node changes."""
    match node:
        case ast.Attribute(value=value, attr=attr) if attr in CHANGES:
            return dotted(value)
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()) | ast.AugAssign(target=value):
            return dotted(value)
    return None


def _follow(growth: Growth, node: ast.stmt, frame: Frame) -> None:
    if isinstance(node, Around):
        if _touches(frame.module, node.loop, growth.name):
            raise Lost
        return
    if not _touches(frame.module, node, growth.name):
        return
    match node:
        case ast.Expr(value=ast.Call() as call):
            _called(growth, call, frame)
        case ast.AugAssign(op=ast.Add(), value=value) if dotted(node.target) == growth.name:
            _extend(growth, value, frame)
        case ast.If() if not leaves(node.body) and not leaves(node.orelse):
            _all(growth, node.orelse if taken(growth.world, node, frame) else node.body, frame)
        case ast.With():
            _all(growth, node.body, frame)
        case ast.For(orelse=[]):
            _loop(growth, node, frame)
        case ast.While(orelse=[]):
            _open_turn(growth, node.body, frame)
        case _:
            raise Lost


def _all(growth: Growth, block: Sequence[ast.stmt], frame: Frame) -> None:
    """Statements in their order. A test that is open is no fork where something is added for sure behind it."""
    sure = [place for place, each in enumerate(block) if isinstance(each, ast.Expr | ast.AugAssign)]
    final = max((place for place in sure if _touches(frame.module, block[place], growth.name)), default=-1)
    for place, inner in enumerate(block):
        open_test = isinstance(inner, ast.If) and place < final and truth(growth.world, inner.test, frame) is None
        if open_test and _touches(frame.module, inner, growth.name):
            growth.rear = []
            growth.looped += 2
        else:
            _follow(growth, inner, frame)


def _called(growth: Growth, call: ast.Call, frame: Frame) -> None:
    if not isinstance(call.func, ast.Attribute) or dotted(call.func.value) != growth.name or call.keywords:
        raise Lost
    if any(isinstance(each, ast.Lambda) for each in nodes_of(call)):
        raise Lost
    match call.func.attr, call.args:
        case "append", [only]:
            growth.add(Thunk(only, frame))
        case (("add_module" | "register_module"), [_, only]):
            growth.add(Thunk(only, frame))
        case "extend", [only]:
            _extend(growth, only, frame)
        case _:
            raise Lost


def _extend(growth: Growth, value: ast.expr, frame: Frame) -> None:
    thing = growth.world.evaluate(value, frame)
    parts = builtin.sequence(growth.world, thing)
    if parts is not None:
        for part in parts:
            growth.add(part)
    elif isinstance(thing, Repeated):
        growth.rear = [thing.element]
    elif isinstance(thing, Items) and thing.rear:
        growth.rear = list(thing.rear)
    else:
        growth.rear = []


def _loop(growth: Growth, node: ast.For, frame: Frame) -> None:
    """Each turn where the turns are known and few, else the last one."""
    if any(isinstance(each, ast.Break | ast.Continue | ast.Return) for each in nodes_of(node)):
        raise Lost
    over = growth.world.evaluate(node.iter, frame)
    turns = builtin.sequence(growth.world, over)
    if turns is not None and len(turns) <= MOST_UNROLLED:
        for place, turn in enumerate(turns):
            _all(growth, node.body, in_turn(growth.world, node, growth.world.force(turn), frame, place))
        return
    last = _last(growth.world, over)
    _open_turn(growth, node.body, frame if last is None else in_turn(growth.world, node, last, frame, -1))


def in_turn(world: World, loop: ast.For, value: Thing, frame: Frame, place: int) -> Frame:
    """A frame in which a turn of a loop runs: what its body binds is bound in this turn."""
    return replace(world.turn(loop.target, value, frame, place), home=None)


def _last(world: World, over: Thing) -> Thing | None:
    """The value of a loop's last turn."""
    match over:
        case Repeated(start=int(start), length=Integer() as length):
            return length + Integer.exact(start - 1)
        case Items(whole=True, elements=(*_, final)) | Items(rear=(*_, final)):
            return world.force(final)
    return None


def _open_turn(growth: Growth, body: Sequence[ast.stmt], frame: Frame) -> None:
    """A loop of unknown length: what its last turn adds is the rear; nothing is known of it where that stays open."""
    growth.rear = []
    _all(growth, body, frame)
    growth.looped += 1
