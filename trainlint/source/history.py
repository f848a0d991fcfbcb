"""What has run before a line: the calls before it, those inside the functions they enter, and those of the callers.

The last comes first. Arms in which nothing is of concern are passed over, so that their tests are no forks.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress

from trainlint.record import thing
from trainlint.source import callers, objects
from trainlint.source.binding import arguments, parameters
from trainlint.source.names import arm, leaves, returns
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module
from trainlint.source.things import Built, Class, Frame, Function, Thing
from trainlint.source.world import Impossible, World

DEEPEST = 5
"""Calls inside calls that are looked into."""

MOST_EVENTS = 4_000
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
BLOCKS = ("body", "orelse", "finalbody", "handlers")


@thing
class Earlier:
    """A call or a ``for`` that has run, or a ``with`` that is still open, and where."""

    node: ast.Call | ast.For | ast.With
    frame: Frame


class History:
    """The walk back from a line.

    ``says`` tells by the words of a node whether anything inside it may be of concern, ``concerns`` whether a call is.
    """

    def __init__(
        self,
        world: World,
        says: Callable[[World, Module, ast.AST], bool],
        concerns: Callable[[ast.Call, Frame], bool],
    ) -> None:
        self.world, self.says, self.concerns = world, says, concerns
        self.quiet: History | None = None
        self.held: dict[tuple[ast.AST, int], bool] = {}
        self.inside: list[ast.AST] = []
        self.receivers: list[Thing] = []
        self.left = MOST_EVENTS

    def asking(self, quiet: History) -> History:
        """This walk, with another one that is asked first whether anything is of concern: on a path of its own, so
        that the tests which it meets are no forks of this one.
        """
        self.quiet = quiet
        return self

    def before(self, node: ast.AST, frame: Frame) -> Iterator[Earlier]:
        """What has run when a node runs."""
        seen: set[int] = set()
        here: ast.AST = node
        while True:
            if frame.receiver is not None:
                self.receivers.append(frame.receiver)
            yield from self._around(here, frame)
            onward = yield from self._onward(frame)
            if onward is None or id(onward[0]) in seen:
                return
            here, frame = onward
            seen.add(id(here))

    def _around(self, node: ast.AST, frame: Frame) -> Iterator[Earlier]:
        """What has run before a node in its own scope: inside its own statement first."""
        if not isinstance(node, ast.stmt):
            yield from self._before_in_statement(node, frame)
        scope, module = frame.function or frame.module.tree, frame.module
        child: ast.AST = node if node is scope else module.statement(node)
        while child is not scope:
            parent = module.parents.get(child)
            if parent is None:
                return
            block = next((each for each in _blocks(parent) if child in each), [])
            yield from self._block(block[: block.index(child)] if block else [], frame)
            if isinstance(parent, ast.With) and child in parent.body:
                yield Earlier(parent, frame)
            child = parent

    def _before_in_statement(self, node: ast.AST, frame: Frame) -> Iterator[Earlier]:
        """The calls of a statement that end before a node does: its arguments, and what stands to its left."""
        whole = frame.module.statement(node)
        end = (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))
        for call in _calls(frame.module, whole):
            if call is not node and (call.end_lineno, call.end_col_offset) <= end:
                yield from self._called(call, frame)

    def _onward(self, frame: Frame) -> Generator[Earlier, None, tuple[ast.AST, Frame] | None]:
        """Where a scope was entered from."""
        function = frame.function
        if frame.entry is not None:
            return frame.entry
        if function is None or isinstance(function, ast.ClassDef):
            return None
        entered = callers.entered(self.world, frame)
        if entered is not None and entered.entry is not None:
            if entered.receiver is not None:
                self.receivers.append(entered.receiver)
            return entered.entry
        first = parameters(function)[0].arg if parameters(function) else ""
        made = callers.receiver(self.world, first, frame) if first else None
        if isinstance(made, Built) and isinstance(made.what, Class) and made.arguments is not None:
            self.receivers.append(made)
            yield from self.constructed(made)
            return made.node, made.frame
        if frame.outer is not None and not isinstance(frame.outer.function, ast.ClassDef):
            scope = frame.outer.function or frame.module.tree
            yield from self._block(scope.body if isinstance(scope.body, list) else [], frame.outer)
        return None

    def _block(self, block: Sequence[ast.AST], frame: Frame) -> Iterator[Earlier]:
        for each in reversed(block):
            # A definition runs nothing of what stands in it, which is dear to look through.
            if not isinstance(each, ast.stmt) or isinstance(each, DEFINITIONS) or self.left <= 0:
                continue
            if self.says(self.world, frame.module, each):
                yield from self._ran(each, frame)

    def _ran(self, node: ast.stmt, frame: Frame) -> Iterator[Earlier]:
        """One statement that has run."""
        match node:
            case ast.If():
                yield from self._arm(node, frame)
            case ast.For() | ast.AsyncFor() | ast.While():
                if isinstance(node, ast.For):
                    yield Earlier(node, frame)
                yield from self._block(node.orelse, frame)
                yield from self._block(node.body, frame)
            case ast.With() | ast.AsyncWith():
                yield from self._block(node.body, frame)
            case ast.Try():
                for block in (node.finalbody, node.orelse, node.body):
                    yield from self._block(block, frame)
            case _:
                for call in _calls(frame.module, node):
                    yield from self._called(call, frame)

    def _arm(self, node: ast.If, frame: Frame) -> Iterator[Earlier]:
        """The arm that this world takes, if either holds anything of concern."""
        if leaves(node.body) and not node.orelse:
            return
        arms = [*node.body, *node.orelse]
        if self._is_worth_a_fork(arms, frame):
            yield from self._block(node.orelse if arm(self.world, node, frame) else node.body, frame)

    def _is_worth_a_fork(self, arms: Sequence[ast.AST], frame: Frame) -> bool:
        with suppress(Impossible):
            return any((self.quiet or self)._is_of_concern(each, frame) for each in arms)
        return True

    def _is_of_concern(self, node: ast.AST, frame: Frame) -> bool:
        if not self.says(self.world, frame.module, node):
            return False
        if any(isinstance(each, ast.For) and self.says(self.world, frame.module, each) for each in nodes_of(node)):
            return True
        return any(self.concerns(call, frame) or self._enters(call, frame) for call in _calls(frame.module, node))

    def _enters(self, call: ast.Call, frame: Frame) -> bool:
        """Whether anything inside what a call enters is of concern."""
        return any(True for _ in self._entered(call, frame))

    def _called(self, call: ast.Call, frame: Frame) -> Iterator[Earlier]:
        """A call that has run: itself, then what it entered."""
        self.left -= 1
        if self.says(self.world, frame.module, call) and self._may_concern(call, frame):
            if self.concerns(call, frame):
                yield Earlier(call, frame)
            yield from self._entered(call, frame)

    def _may_concern(self, call: ast.Call, frame: Frame) -> bool:
        """Whether a call, or anything that it enters, is of concern on the path of the quiet walk."""
        if self.quiet is None:
            return True
        key = (call, frame.number)
        if key not in self.held:
            self.quiet.receivers = self.receivers
            self.held[key] = True
            with suppress(Impossible):
                self.held[key] = any(True for _ in self.quiet._called(call, frame))
        return self.held[key]

    def _entered(self, call: ast.Call, frame: Frame) -> Iterator[Earlier]:
        if len(self.inside) >= DEEPEST or call in self.inside:
            return
        self.inside.append(call)
        try:
            thing = self._callable(call, frame)
            match thing:
                case Function(node=ast.FunctionDef() | ast.AsyncFunctionDef()):
                    if self.says(self.world, thing.frame.module, thing.node):
                        given = arguments(self.world, call, frame)
                        yield from self.ran(callers.activation(self.world, thing, given, call, frame))
                case Class():
                    made = self.world.evaluate(call, frame)
                    if isinstance(made, Built) and isinstance(made.what, Class):
                        yield from self.constructed(made)
        finally:
            self.inside.pop()

    def _callable(self, call: ast.Call, frame: Frame) -> Thing | None:
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
            inner = call.func.value.func
            if isinstance(inner, ast.Name) and inner.id == "super":
                # The bases of a class that is made are entered by ``constructed``.
                return self._of_base(call.func.attr, frame) if call.func.attr != "__init__" else None
        return self.world.evaluate(call.func, frame)

    def _of_base(self, name: str, frame: Frame) -> Thing | None:
        owner, receiver = callers.owner(self.world, frame)
        if owner is None or not isinstance(receiver, Built) or not isinstance(receiver.what, Class):
            return None
        return objects.method(self.world, receiver.what, name, receiver, after=owner)

    def ran(self, frame: Frame) -> Iterator[Earlier]:
        """Everything that one call of a function ran."""
        function = objects.function_of(frame)
        found = next(returns(self.world, function.body, frame), None)
        if found is None:
            yield from self._block(function.body, frame)
            return
        for call in _calls(frame.module, found):
            yield from self._called(call, frame)
        yield from self._around(found, frame)

    def constructed(self, made: Built) -> Iterator[Earlier]:
        """What ran when an object was made: the ``__init__`` of its class, whose own call of the base is entered."""
        assert isinstance(made.what, Class), "only classes of the project have a readable __init__"
        if made.arguments is None:
            return
        for owner, frame in objects.initialisers(self.world, made):
            if self.says(self.world, owner.module, objects.function_of(frame)):
                yield from self._block(objects.function_of(frame).body, frame)


def _blocks(node: ast.AST) -> Iterator[list[ast.AST]]:
    for field in BLOCKS:
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block


def _calls(module: Module, node: ast.AST) -> list[ast.Call]:
    """The calls of a statement, the outer ones first; not those of functions defined in it."""
    known = module.kept.get(("calls of", node))
    if isinstance(known, list):
        return known
    found: list[ast.Call] = []
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, ast.Call):
            found.append(each)
        if not isinstance(each, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or each is node:
            waiting += ast.iter_child_nodes(each)
    module.kept["calls of", node] = found
    return found
