"""A function or the body of a file in; out, what it does for training, in order, the project's own functions opened.

Losses go backward, optimizers step, gradients are cleared, clipped and unscaled, models are put into a mode: each is an
event whose ``subject`` is the thing it is done to, as the outermost function spells it. Tests, loops and early ends
stay in the order, so that a rule can follow what may come after what.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property

from trainlint.record import dataclass, thing
from trainlint.regex import regex
from trainlint.source import callers, objects
from trainlint.source.binding import parameters
from trainlint.source.gradients import NO_GRADIENT
from trainlint.source.names import leaves
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import FunctionNode, Module, Scope, dotted, last, targets
from trainlint.source.things import Class, External, Function
from trainlint.source.training import SCOPES, function_of
from trainlint.source.world import World

DEEPEST = 6
MOST_EVENTS = 4_000
MOST_ROOTS = 4
HIGHEST = 4
OPTIMIZER = regex(r"opt|adam|sgd|scaler|solver|engine|sam$|lbfgs", re.IGNORECASE)
NO_OPTIMIZER = regex(r"sched|^lr|plateau|warmup|options?$", re.IGNORECASE)
CLIPS = regex(r"^_?clip_?(?:and_?)?grad")
CLEARS = regex(r"zero_?grad|clear_?grad|reset_?grad", re.IGNORECASE)
UNWRAPS = regex(r"unwrap|de_?parallel|dataparallel|get_(?:raw|inner|base)_|^get_module$", re.IGNORECASE)
"""A function that hands back the model it is given, with or without its wrapper."""

KEEPS_ITSELF = frozenset(
    {"to", "cuda", "cpu", "float", "double", "half", "bfloat16", "train", "eval", "requires_grad_"}
)
WRAPS = frozenset({"DataParallel", "DistributedDataParallel", "DDP", "compile", "FSDP", "FullyShardedDataParallel"})


class Deed(Enum):
    """What a call does for training."""

    BACKWARD = "backward"
    STEP = "step"
    CLEAR = "clear"
    UNSCALE = "unscale"
    CLIP = "clip"
    EVALUATE = "evaluate"
    TRAIN = "train"
    MAKE = "make"
    CALL = "call"


@thing
class Entry:
    """A call through which a function of the project was entered."""

    node: ast.Call
    module: Module
    function: Function


@thing
class Event:
    """One deed. ``given`` are the names that the call is handed, ``is_seen`` says that it hides no other deed."""

    deed: Deed
    node: ast.expr | ast.stmt
    module: Module
    subject: str
    given: tuple[str, ...] = ()
    is_seen: bool = False
    has_gradient: bool = True
    entered: tuple[Entry, ...] = ()


@thing
class Fork:
    """Of these arms one is taken; ``test`` says which where it is an ``if``."""

    test: ast.expr | None
    arms: tuple[Order, ...]

    @cached_property
    def read(self) -> frozenset[str]:
        """The names that the test reads."""
        nodes = nodes_of(self.test) if self.test is not None else ()
        names = (dotted(each) for each in nodes if isinstance(each, ast.Name | ast.Attribute))
        return frozenset(filter(None, names))

    @cached_property
    def text(self) -> str:
        """The test as it is spelled."""
        return ast.unparse(self.test) if self.test is not None else ""


@thing
class Turns:
    """A loop."""

    node: ast.For | ast.AsyncFor | ast.While
    module: Module
    body: Order


@thing
class Leave:
    """The end of a turn, of a loop or of a function."""

    node: ast.stmt


@thing
class Body:
    """What a function does that is entered."""

    entry: Entry
    order: Order


@thing
class Guarded:
    """What is done, and what is done after it however it ends: ``finally``, the end of a context manager."""

    body: Order
    final: Order


Part = Event | Fork | Turns | Leave | Body | Guarded
Order = tuple[Part, ...]
Names = Mapping[str, str]
Whole = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


@thing
class Root:
    """The outermost function, or file, from which something is reached; ``is_whole`` says that nothing calls it."""

    module: Module
    scope: Whole


def roots(world: World, module: Module, node: ast.AST) -> Iterator[Root]:
    """The outermost functions and files that reach a node."""
    waiting = [(module, module.scope(node), 0)]
    seen: set[ast.AST] = set()
    while waiting:
        home, scope, height = waiting.pop(0)
        while isinstance(scope, ast.ClassDef | ast.Lambda):
            scope = home.scope(scope)
        if scope in seen or len(seen) > MOST_ROOTS * HIGHEST:
            continue
        seen.add(scope)
        found = _callers(world, home, scope) if height < HIGHEST else ()
        waiting += [(each.module, each.module.scope(each.node), height + 1) for each in found]
        if not found:
            yield Root(home, scope)


def _callers(world: World, module: Module, scope: Scope) -> tuple[callers.Caller, ...]:
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return ()
    return callers.callers_of(world, module, scope)


def order(world: World, root: Root) -> Order:
    """What a root does, everything that it calls included."""
    key = ("order", root.scope)
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        reader = _Reader(world)
        place = _Place(root.module, root.scope, {}, ())
        known = tuple(reader.block(root.scope.body, place))
        world.workspace.answers[key] = known
    return known


def events(parts: Order) -> Iterator[Event]:
    """Every event of an order."""
    for part in parts:
        match part:
            case Event():
                yield part
            case Fork(arms=arms):
                for arm in arms:
                    yield from events(arm)
            case Turns(body=inner) | Body(order=inner):
                yield from events(inner)
            case Guarded(body=inner, final=final):
                yield from events((*inner, *final))


@thing
class Held:
    """An event, and what holds it, the outermost first."""

    event: Event
    holders: tuple[Turns | tuple[Fork, int], ...]

    @property
    def loops(self) -> tuple[Turns, ...]:
        return tuple(each for each in self.holders if isinstance(each, Turns))


def held(world: World, root: Root) -> tuple[Held, ...]:
    """Every event of a root, in order."""
    key = ("held", root.scope)
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        known = world.workspace.answers[key] = tuple(_held(order(world, root)))
    return known


def _held(parts: Order, holders: tuple[Turns | tuple[Fork, int], ...] = ()) -> Iterator[Held]:
    """Every event of an order with the loops and the arms around it."""
    for part in parts:
        match part:
            case Event():
                yield Held(part, holders)
            case _:
                for inner, around in _inner(part):
                    yield from _held(inner, (*holders, *around))


def _inner(part: Part) -> Iterator[tuple[Order, tuple[Turns | tuple[Fork, int], ...]]]:
    match part:
        case Fork(arms=arms):
            yield from ((arm, ((part, place),)) for place, arm in enumerate(arms))
        case Turns(body=body):
            yield body, (part,)
        case Body(order=body):
            yield body, ()
        case Guarded(body=body, final=final):
            yield body, ()
            yield final, ()


def stepping(node: ast.Call) -> ast.expr:
    """What steps: ``optimizer.step()``, ``scaler.step(optimizer)``."""
    assert isinstance(node.func, ast.Attribute), "a step is a method"
    by_scaler = node.args and "scal" in last(node.func.value).lower()
    return node.args[0] if by_scaler else node.func.value


@thing
class _Place:
    """Where a reader stands: a function, what its names are called outside, and how it was entered."""

    module: Module
    scope: Scope
    names: Names
    entered: tuple[Entry, ...]
    has_gradient: bool = True

    def name(self, node: ast.AST) -> str:
        """A name as the outermost function spells it; nothing for what has none."""
        match node:
            case ast.Name(id=word):
                return self._root(word)
            case ast.Attribute(value=value, attr="module" | "_orig_mod"):
                return self.name(value)
            case ast.Attribute(value=value, attr=attr):
                inner = self.name(value)
                return f"{inner}.{attr}" if inner else ""
            case ast.Subscript(value=value, slice=ast.Constant(value=key)):
                inner = self.name(value)
                return f"{inner}[{key!r}]" if inner else ""
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in KEEPS_ITSELF:
                return self.name(value)
            case ast.Call(func=func, args=[first, *_]) if last(func) in WRAPS or UNWRAPS.search(last(func)):
                return self.name(first)
            case ast.Call(func=ast.Name(id="super")):
                return self._root("self")
        return ""

    def _root(self, word: str) -> str:
        if word in self.names:
            return self.names[word]
        renamed = _renamed(self.module, self.scope).get(word)
        if renamed is not None:
            return self.name(renamed)
        if not self.entered:
            return word
        if word in _own(self.module, self.scope):
            return f"{word}@{len(self.entered)}:{self.entered[-1].node.lineno}"
        home = self.entered[0].module
        return word if home is self.module else f"{word}@{self.module.name}"


def _own(module: Module, scope: Scope) -> frozenset[str]:
    """The names that a function binds."""
    known = module.kept.get(("own", scope))
    if not isinstance(known, frozenset):
        found = {each.id for each in nodes_of(scope) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= {each.arg for each in nodes_of(scope.args) if isinstance(each, ast.arg)}
        known = module.kept["own", scope] = frozenset(found - module.rebound)
    return known


def _renamed(module: Module, scope: Scope) -> Mapping[str, ast.expr]:
    """The names that a function gives to something that already has one, once and for all."""
    known = module.kept.get(("renamed", scope))
    if isinstance(known, dict):
        return known
    written: dict[str, list[ast.expr | None]] = {}
    for node in _inside(scope):
        for word, value in _bindings(node):
            written.setdefault(word, []).append(value)
    found = {word: _one_name(word, values) for word, values in written.items()}
    renamed = {word: name for word, name in found.items() if name is not None}
    renamed = {word: name for word, name in renamed.items() if not _comes_back(word, renamed)}
    module.kept["renamed", scope] = renamed
    return renamed


def _one_name(word: str, values: Sequence[ast.expr | None]) -> ast.expr | None:
    """What a name stands for where each value that it is given is the same thing, moved or wrapped."""
    names = [_unwrapped(value) for value in values]
    others = {each and dotted(each): each for each in names if not (isinstance(each, ast.Name) and each.id == word)}
    if len(others) != 1:
        return None
    [(spelled, name)] = others.items()
    return name if spelled and spelled.partition(".")[0] != word else None


def _unwrapped(value: ast.expr | None) -> ast.expr | None:
    """A model without what moves it, sets its mode or wraps it; other values are left as they are."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in KEEPS_ITSELF:
            return _unwrapped(inner)
        case ast.Call(func=func, args=[first, *_]) if last(func) in WRAPS or UNWRAPS.search(last(func)):
            return _unwrapped(first)
    return value


def _comes_back(word: str, renamed: Mapping[str, ast.expr]) -> bool:
    """Whether names stand for each other in a circle."""
    seen: set[str] = set()
    while word in renamed and word not in seen:
        seen.add(word)
        word = (dotted(renamed[word]) or "").partition(".")[0]
    return word in seen


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=word)], value=value):
            yield word, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            for name, value in zip(names, values, strict=True):
                if isinstance(name, ast.Name):
                    yield name.id, value
        case ast.Name(id=word, ctx=ast.Store()):
            pass
        case ast.For(target=target) | ast.comprehension(target=target) | ast.Assign(targets=[target]):
            yield from ((each.id, None) for each in nodes_of(target) if isinstance(each, ast.Name))
        case ast.AugAssign(target=ast.Name(id=word)) | ast.NamedExpr(target=ast.Name(id=word)):
            yield word, None
        case ast.withitem(optional_vars=ast.Name(id=word)):
            yield word, None


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    stack = list(ast.iter_child_nodes(scope))
    while stack:
        each = stack.pop()
        yield each
        if not isinstance(each, SCOPES):
            stack.extend(ast.iter_child_nodes(each))


@dataclass
class _Reader:
    """Reads statements one after the other, until there are too many events."""

    world: World
    events: int = 0

    def block(self, statements: Sequence[ast.stmt], place: _Place) -> Iterator[Part]:
        """Statements in their order; what stands behind ``if test: continue`` is the other arm of the test."""
        for number, node in enumerate(statements, 1):
            if self.events > MOST_EVENTS:
                return
            match node:
                case ast.If(test=test, body=body, orelse=[]) if leaves(body):
                    yield from self.expression(test, place)
                    rest = tuple(self.block(statements[number:], place))
                    yield Fork(test, (tuple(self.block(body, place)), rest))
                    return
            yield from self.statement(node, place)

    def statement(self, node: ast.stmt, place: _Place) -> Iterator[Part]:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                yield from self.expression(test, place)
                yield Fork(test, (tuple(self.block(body, place)), tuple(self.block(orelse, place))))
            case ast.For(iter=head) | ast.AsyncFor(iter=head) | ast.While(test=head):
                yield from self.expression(head, place)
                yield Turns(node, place.module, tuple(self.block(node.body, place)))
                yield from self.block(node.orelse, place)
            case ast.With() | ast.AsyncWith():
                yield from self._with(node, place)
            case ast.Try():
                tried = tuple(self.block([*node.body, *node.orelse], place))
                handlers = (tuple(self.block(each.body, place)) for each in node.handlers)
                final = tuple(self.block(node.finalbody, place))
                yield Guarded((*tried, Fork(None, ((), *handlers))), final)
            case ast.Match(subject=subject, cases=cases):
                yield from self.expression(subject, place)
                yield Fork(None, ((), *(tuple(self.block(each.body, place)) for each in cases)))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                yield from self._parts(node, place)
                yield Leave(node)
            case _:
                yield from self._parts(node, place)
                yield from self._assigned(node, place)

    def _parts(self, node: ast.AST, place: _Place) -> Iterator[Part]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from self.expression(child, place)

    def _assigned(self, node: ast.stmt, place: _Place) -> Iterator[Event]:
        """``p.grad = None`` clears, ``model.training = True`` trains."""
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="grad")]) | ast.Delete(targets=[ast.Attribute(attr="grad")]):
                yield self._event(Deed.CLEAR, node, place, "")
            case ast.Assign(targets=[ast.Attribute(value=model, attr="training")]):
                yield self._event(Deed.TRAIN, node, place, place.name(model))
            case ast.Assign(targets=[target], value=ast.Call() as value) if not place.name(value):
                for each in targets(target):
                    yield self._event(Deed.MAKE, node, place, place.name(each))

    def _event(self, deed: Deed, node: ast.expr | ast.stmt, place: _Place, subject: str) -> Event:
        self.events += 1
        return Event(deed, node, place.module, subject, (), True, place.has_gradient, place.entered)

    def _with(self, node: ast.With | ast.AsyncWith, place: _Place) -> Iterator[Part]:
        """What a block does, between what its context managers do before and after it."""
        after: list[Part] = []
        for item in node.items:
            parts = tuple(self.expression(item.context_expr, place))
            yield from parts
            if any(isinstance(part, Body) for part in parts):
                after += _restoring(parts)
        if any(_is_without_gradient(item.context_expr) for item in node.items):
            place = _without_gradient(place)
        yield Guarded(tuple(self.block(node.body, place)), tuple(after))

    def expression(self, node: ast.expr, place: _Place) -> Iterator[Part]:
        """The calls of an expression, inner ones first."""
        if self.events > MOST_EVENTS:
            return
        match node:
            case ast.Lambda():
                return
            case ast.Call():
                if not isinstance(node.func, ast.Name):
                    yield from self.expression(node.func, place)
                for each in (*node.args, *(keyword.value for keyword in node.keywords)):
                    yield from self.expression(each, place)
                yield from self._call(node, place)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield from self.expression(test, place)
                yield Fork(test, (tuple(self.expression(body, place)), tuple(self.expression(orelse, place))))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                for child in nodes_of(node):
                    if isinstance(child, ast.Call):
                        yield from self._call(child, place)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        yield from self.expression(child, place)

    def _call(self, node: ast.Call, place: _Place) -> Iterator[Part]:
        deed = _deed(node)
        functions = self._functions(node, place)
        if deed in (Deed.TRAIN, Deed.EVALUATE) and any(map(self._is_of_module, functions)):
            functions = ()
        entries = [Entry(node, place.module, each) for each in functions]
        running = {each.function.node for each in place.entered}
        entries = [each for each in entries if each.function.node not in running and _tells(self.world, each.function)]
        if entries and len(place.entered) < DEEPEST:
            bodies = tuple(Body(each, tuple(self._entered(each, place))) for each in entries)
            yield bodies[0] if len(bodies) == 1 else Fork(None, tuple((body,) for body in bodies))
            return
        if functions and not entries:
            deed = Deed.CALL if deed in (Deed.TRAIN, Deed.EVALUATE, Deed.STEP) else deed
        self.events += 1
        given = (place.name(each) for each in (*node.args, *(keyword.value for keyword in node.keywords)))
        yield Event(
            deed, node, place.module, _subject(deed, node, place), tuple(filter(None, given)), bool(functions),
            place.has_gradient, place.entered,
        )  # fmt: skip

    def _functions(self, node: ast.Call, place: _Place) -> tuple[Function, ...]:
        """The functions of the project that a call may enter: what it names, and what derived classes make of that."""
        closure = _closure(self.world, node, place)
        found = closure or function_of(self.world, place.module, node)
        if found is None:
            return ()
        match node.func, place.module.parents.get(place.scope):
            case ast.Attribute(value=ast.Name(id="self"), attr=attr), ast.ClassDef() as holder:
                own = Class(holder, place.module, self.world.open_frame(place.module, holder))
                return (found, *_overriding(self.world, own, attr))
        return (found,)

    def _is_of_module(self, function: Function) -> bool:
        owner = function.owner
        bases = objects.lineage(self.world, owner) if owner is not None else []
        return any(isinstance(each, External) and each.name.endswith("Module") for each in bases)

    def _entered(self, entry: Entry, place: _Place) -> Iterator[Part]:
        function, home = entry.function, entry.function.frame.module
        assert not isinstance(function.node, ast.Lambda), "function_of finds none"
        names = _handed(entry, place)
        inner = _Place(home, function.node, names, (*place.entered, entry), place.has_gradient)
        if objects.marks(function.node) & NO_GRADIENT:
            inner = _without_gradient(inner)
        after = self._dressing(entry, place) if _is_dressed(self.world, function) else ()
        yield Guarded(tuple(self.block(function.node.body, inner)), tuple(after))

    def _dressing(self, entry: Entry, place: _Place) -> Iterator[Event]:
        """What the decorators of a function do behind it."""
        yield self._event(Deed.TRAIN, entry.node, place, "")


def _restoring(parts: tuple[Part, ...]) -> Iterator[Part]:
    """What a context manager does after its block: whatever puts a model back into training."""
    for part in parts:
        match part:
            case Event(deed=Deed.TRAIN):
                yield part
            case Body(order=inner) | Turns(body=inner):
                yield from _restoring(inner)
            case Guarded(body=inner, final=final):
                yield from _restoring((*inner, *final))
            case Fork(arms=arms):
                for arm in arms:
                    yield from _restoring(arm)


def _without_gradient(place: _Place) -> _Place:
    return _Place(place.module, place.scope, place.names, place.entered, has_gradient=False)


def _is_without_gradient(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    return last(func) in NO_GRADIENT


def _closure(world: World, node: ast.Call, place: _Place) -> Function | None:
    """The function that an optimizer calls itself: ``optimizer.step(closure)``."""
    match node:
        case ast.Call(func=ast.Attribute(attr="step"), args=[ast.Name() as given, *_]):
            quiet = world.apart()
            thing = quiet.evaluate(given, quiet.open_frame(place.module, node))
            return thing if isinstance(thing, Function) and not isinstance(thing.node, ast.Lambda) else None
    return None


def _overriding(world: World, owner: Class, name: str) -> Iterator[Function]:
    """What the classes derived from one make of a method."""
    for derived in callers.subclasses(world, owner):
        if name in objects.methods(derived):
            found = objects.method(world.apart(), derived, name, None)
            if found is not None:
                yield found
        yield from _overriding(world, derived, name)


def _handed(entry: Entry, place: _Place) -> Names:
    """What the names of a function that is entered are called outside."""
    function, home = entry.function.node, entry.function.frame.module
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef), "function_of finds nothing else"
    names: dict[str, str] = {}
    caller = callers.Caller(entry.node, place.module)
    places = [each.arg for each in (*parameters(function), *function.args.kwonlyargs)]
    for word in places:
        given = callers.given_to(home, function, word, caller)
        name = place.name(given) if given is not None else ""
        if name:
            names[word] = name
    is_method = isinstance(home.parents.get(function), ast.ClassDef) and "staticmethod" not in objects.marks(function)
    if is_method and places and isinstance(entry.node.func, ast.Attribute):
        names[places[0]] = place.name(entry.node.func.value) or f"{places[0]}@{entry.node.lineno}"
    if isinstance(home.scope(function), ast.FunctionDef) and home.scope(function) is place.scope:
        names = {**{word: place.name(ast.Name(word, ast.Load())) for word in _own(home, place.scope)}, **names}
    return names


def _is_dressed(world: World, function: Function) -> bool:
    """Whether a decorator of the project's own may put a model back into training."""
    node = function.node
    marks = [] if isinstance(node, ast.Lambda) else node.decorator_list
    for mark in marks:
        quiet = world.apart()
        thing = quiet.evaluate(mark.func if isinstance(mark, ast.Call) else mark, function.frame)
        if isinstance(thing, Function) and any(_deed(each) is Deed.TRAIN for each in _calls(thing.node)):
            return True
    return False


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (each for each in nodes_of(node) if isinstance(each, ast.Call))


def _tells(world: World, function: Function, depth: int = 0) -> bool:
    """Whether a function does anything for training, by itself or in what it calls."""
    key = ("does for training", function.node)
    known = world.workspace.answers.get(key)
    if isinstance(known, bool):
        return known
    world.workspace.answers[key] = False
    home = function.frame.module
    answer = _assigns(function.node) or any(_deed(call) is not Deed.CALL for call in _calls(function.node))
    if not answer and depth < DEEPEST:
        inner = (function_of(world, home, call) for call in _calls(function.node))
        answer = any(_tells(world, each, depth + 1) for each in inner if each is not None)
    world.workspace.answers[key] = answer
    return answer


def _assigns(node: FunctionNode) -> bool:
    return any(
        isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and each.attr in ("grad", "training")
        for each in nodes_of(node)
    )


def _deed(node: ast.Call) -> Deed:
    """What a call does for training, by the name of what it calls."""
    word = last(node.func)
    match node:
        case ast.Call(func=ast.Attribute(), args=args, keywords=keywords) if word == "train" and _is_mode(
            args, keywords
        ):
            return Deed.EVALUATE if _is_false(args, keywords) else Deed.TRAIN
        case ast.Call(func=ast.Attribute(), args=[], keywords=[]) if word == "eval":
            return Deed.EVALUATE
        case ast.Call(func=ast.Attribute(value=value)) if word in ("step", "optimizer_step", "step_optimizer"):
            return Deed.STEP if _is_optimizer(value) or word != "step" else Deed.CALL
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="grad") | ast.Attribute(attr="data"), attr="zero_")):
            return Deed.CLEAR
    if word in ("backward", "manual_backward"):
        return Deed.BACKWARD
    if word in ("unscale_", "unscale_gradients"):
        return Deed.UNSCALE
    if CLEARS.search(word):
        return Deed.CLEAR
    return Deed.CLIP if CLIPS.match(word) else Deed.CALL


def _is_mode(args: list[ast.expr], keywords: list[ast.keyword]) -> bool:
    """Whether arguments are those of ``Module.train``: none, or the mode."""
    return (not args and not keywords) or (len(args) == 1 and not keywords) or (
        not args and [each.arg for each in keywords] == ["mode"]
    )  # fmt: skip


def _is_false(args: list[ast.expr], keywords: list[ast.keyword]) -> bool:
    given = [*args, *(each.value for each in keywords)]
    return bool(given) and isinstance(given[0], ast.Constant) and given[0].value is False


def _is_optimizer(node: ast.expr) -> bool:
    word = last(node.func) if isinstance(node, ast.Call) else last(node)
    return OPTIMIZER.search(word) is not None and not NO_OPTIMIZER.search(word)


def _subject(deed: Deed, node: ast.Call, place: _Place) -> str:
    """What a call is done to."""
    func = node.func
    if deed is Deed.CALL:
        return place.name(func)
    if not isinstance(func, ast.Attribute):
        return place.name(node.args[0]) if node.args else ""
    if deed is Deed.STEP:
        return place.name(stepping(node))
    if deed is Deed.UNSCALE and node.args:
        return place.name(node.args[0])
    if deed is Deed.TRAIN and node.args and last(func.value) == "Module":
        return place.name(node.args[0])
    return place.name(func.value)
