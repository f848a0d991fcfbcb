"""Where an object goes: the calls that may apply it. Names only; the evaluator then confirms each call."""

from __future__ import annotations

import ast
import os.path
from collections.abc import Iterable, Iterator
from itertools import islice

from trainlint.knowledge import torch
from trainlint.record import dataclass, field
from trainlint.regex import regex
from trainlint.source import objects
from trainlint.source.binding import declared, parameters
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, dotted, last, targets
from trainlint.source.things import Class, Constant, Entries, External, Function, Opaque, Partial, Thing
from trainlint.source.workspace import Workspace
from trainlint.source.world import World
from trainlint.value import Unknown

MOST_PLACES = 400
"""A search that has looked at this many places gives up: what it found is still confirmed one by one."""

MOST_NAMESAKES = 3
HANDED_BACK = frozenset(
    {"functools.partial", *(f"builtins.{name}" for name in ("dict", "list", "tuple", "zip", "enumerate", "reversed"))}
)
"""Functions whose result holds their arguments."""

FunctionDef = ast.FunctionDef
MAKES = ("from_pretrained", "load_from_checkpoint")
"""Methods by which a library makes an object of a class of the project."""

APPLIES = ("forward", "update", "__call__")


@dataclass(frozen=True)
class Name:
    """A name that may hold the object: in one scope as a variable, else wherever the project can know its owner.

    ``owner`` is the class whose attribute it is, or the module whose global: files that never say that word cannot
    read it, unless somebody handed them the object.
    """

    word: str
    module: Module
    scope: ast.AST | None = None
    owner: str = ""


@dataclass
class Search:
    """The state of one search: what waits, what was seen, what was found."""

    world: World
    waiting: list[tuple[Module, ast.AST]] = field(default_factory=list)
    seen: set[object] = field(default_factory=set)
    found: dict[ast.Call, Module] = field(default_factory=dict)

    def add(self, module: Module, node: ast.AST) -> None:
        if node not in self.seen and len(self.seen) < MOST_PLACES:
            self.seen.add(node)
            self.waiting.append((module, node))


def applications(world: World, module: Module, source: ast.AST) -> dict[ast.Call, Module]:
    """Every call whose callable may be the object that an expression makes, with its module."""
    known = world.workspace.answers.get(("applications", source))
    if isinstance(known, dict):
        return known
    search = Search(world)
    search.add(module, source)
    while search.waiting:
        _follow(search, *search.waiting.pop(0))
    world.workspace.answers["applications", source] = search.found
    return search.found


def _follow(search: Search, module: Module, node: ast.AST) -> None:
    """Climb from one occurrence to where it is kept, passed, returned or called."""
    while True:
        parent = module.parents.get(node)
        match parent:
            case ast.Call(func=func) if func is node:
                if node in search.seen:
                    search.found.setdefault(parent, module)
                    return
            case ast.Call():
                if not _passed(search, module, parent, node):
                    return
            case ast.keyword():
                call = module.parents[parent]
                if not (isinstance(call, ast.Call) and _passed(search, module, call, parent)):
                    return
                parent = call
            case ast.Attribute(attr="items" | "values" | "get"):
                pass
            case ast.Attribute(attr=attr) if attr in MAKES and isinstance(module.parents.get(parent), ast.Call):
                call = module.parents[parent]
                assert isinstance(call, ast.Call)
                search.found.setdefault(call, module)
                return
            case ast.Attribute(attr=attr) if attr not in torch.SELF_METHODS and attr not in APPLIES:
                return
            case ast.For(iter=over) | ast.AsyncFor(iter=over) if over is node:
                _looped(search, module, parent)
                return
            case ast.comprehension(iter=over) if over is node:
                _looped(search, module, parent)
                return
            case ast.Compare() | ast.BinOp() | ast.UnaryOp():
                return
            case ast.Attribute(attr=attr) if attr in APPLIES and isinstance(module.parents.get(parent), ast.Call):
                call = module.parents[parent]
                assert isinstance(call, ast.Call)
                search.found.setdefault(call, module)
                return
            case ast.arguments():
                _default(search, module, parent, node)
                return
            case ast.Return() | ast.Lambda():
                _returned(search, module, module.scope(node if isinstance(parent, ast.Lambda) else parent))
                return
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                _kept(search, module, parent)
                return
            case ast.stmt() | None:
                return
        assert parent is not None
        node = parent


def _kept(search: Search, module: Module, node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> None:
    places = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in (each for place in places for each in targets(place)):
        scope = module.scope(module.statement(node))
        if isinstance(target, ast.Attribute):
            _occurrences(search, Name(target.attr, module, owner=_class_of(module, scope)))
        elif isinstance(target, ast.Name):
            _occurrences(search, _variable(target.id, module, scope))
    for place in places:
        if isinstance(place, ast.Subscript):
            word = (dotted(place.value) or "").rpartition(".")[2]
            _occurrences(search, Name(word, module, module.scope(module.statement(node))))


def _looped(search: Search, module: Module, loop: ast.For | ast.AsyncFor | ast.comprehension) -> None:
    """Each turn of a loop over the container gives it to the loop's variables."""
    holder = module.parents[loop] if isinstance(loop, ast.comprehension) else module.scope(loop)
    for target in targets(loop.target):
        if isinstance(target, ast.Name):
            _occurrences(search, Name(target.id, module, holder))


def _variable(word: str, module: Module, scope: ast.AST) -> Name:
    match scope:
        case ast.Module():
            return Name(word, module, owner=module.name.rpartition(".")[2])
        case ast.ClassDef(name=owner):
            return Name(word, module, owner=owner)
    return Name(word, module, scope)


def _class_of(module: Module, scope: ast.AST) -> str:
    holder = module.parents.get(scope)
    return holder.name if isinstance(holder, ast.ClassDef) else ""


def _passed(search: Search, module: Module, call: ast.Call, node: ast.AST) -> bool:
    """An argument goes on as a parameter; True if the call hands it back in some dress."""
    world = search.world.apart()
    thing = world.evaluate(call.func, world.open_frame(module, call))
    while isinstance(thing, Partial):
        thing = thing.callable
    if isinstance(thing, External):
        last_word = thing.name.rpartition(".")[2]
        return thing.name in torch.WRAPPERS or thing.name in HANDED_BACK or last_word[:1].isupper()
    for other, function, shift in _entered(search, thing, call, module):
        places = [place.arg for place in parameters(function)][shift:]
        names: Iterable[str] = ()
        if isinstance(node, ast.keyword):
            names = (node.arg,) if node.arg is not None else _spread(search, module, node.value)
            names = (name for name in names if name in declared(function))
        elif isinstance(node, ast.expr) and node in call.args:
            names = places[call.args.index(node) :][:1]
        for name in names:
            _occurrences(search, Name(name, other, function))
    return False


def _spread(search: Search, module: Module, node: ast.expr) -> Iterator[str]:
    """The names under which ``**options`` hands on what is searched for."""
    world = search.world.apart()
    table = world.evaluate(node, world.open_frame(module, node))
    for at, value in table.pairs if isinstance(table, Entries) else ():
        key = world.force(at)
        if isinstance(key, Constant) and not search.seen.isdisjoint(nodes_of(value.node)):
            yield str(key.value)


def _entered(search: Search, thing: Thing, call: ast.Call, near: Module) -> Iterator[tuple[Module, FunctionDef, int]]:
    """The functions that a call may enter, and how many parameters it does not fill: what it calls, or a namesake."""
    above = _above(search, call, near)
    if above is not None:
        yield above
        return
    match thing:
        case Function(node=ast.FunctionDef() as function):
            yield thing.frame.module, function, int(thing.receiver is not None)
        case Class():
            init = objects.method(search.world.apart(), thing, "__init__", None)
            if init is not None and isinstance(init.node, ast.FunctionDef):
                yield init.frame.module, init.node, 1
        case Opaque() | Unknown():
            yield from _namesakes(search.world.workspace, last(call.func), near)


def _above(search: Search, call: ast.Call, module: Module) -> tuple[Module, FunctionDef, int] | None:
    """The method of a base that ``super().name(...)`` enters, as seen from the class in which it stands."""
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
            holder = module.parents.get(module.scope(call))
        case _:
            return None
    if not isinstance(holder, ast.ClassDef):
        return None
    world = search.world.apart()
    cls = Class(holder, module, world.open_frame(module, holder))
    found = objects.method(world, cls, name, None, after=cls)
    if found is None or not isinstance(found.node, ast.FunctionDef):
        return None
    return found.frame.module, found.node, 1


def _namesakes(workspace: Workspace, word: str, near: Module) -> tuple[tuple[Module, FunctionDef, int], ...]:
    """The few methods of the project with one name; a name that many share says nothing."""
    known = workspace.answers.get(("named", word, os.path.dirname(near.path)))
    if not isinstance(known, tuple):
        found = tuple(islice(_defined(workspace, word, near), MOST_NAMESAKES + 1)) if word else ()
        known = found if len(found) <= MOST_NAMESAKES else ()
        workspace.answers["named", word, os.path.dirname(near.path)] = known
    return known


def _defined(workspace: Workspace, word: str, near: Module) -> Iterator[tuple[Module, FunctionDef, int]]:
    """The functions of the project with one name, and how many parameters of each a call does not fill."""
    for module in workspace.mentioning(f"def {word}", near.path, regex(rb"def %b(?!\w)" % word.encode())):
        for node in module.definitions.get(word, ()):
            if isinstance(node, ast.FunctionDef):
                yield module, node, int(isinstance(module.parents.get(node), ast.ClassDef))


def _default(search: Search, module: Module, node: ast.arguments, value: ast.AST) -> None:
    function = module.parents[node]
    places = [*node.posonlyargs, *node.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = []
    pairs += zip(places[len(places) - len(node.defaults) :], node.defaults, strict=True)
    pairs += zip(node.kwonlyargs, node.kw_defaults, strict=True)
    for place, default in pairs:
        if default is value:
            _occurrences(search, Name(place.arg, module, function))


def _returned(search: Search, module: Module, function: ast.AST) -> None:
    """What a function returns goes where it is called; a property, where it is read."""
    if isinstance(function, ast.Lambda):
        search.add(module, function)
        return
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function.name in APPLIES:
        return
    is_property = any((dotted(mark) or "").endswith("property") for mark in function.decorator_list)
    owner = _class_of(module, function)
    readers = search.world.workspace.mentions(owner or function.name, module.path)
    for other in readers if module in readers else (module, *readers):
        for node in other.loads.get(function.name, ()):
            parent = other.parents.get(node)
            if is_property:
                search.add(other, node)
            elif isinstance(parent, ast.Call) and parent.func is node and _may_be(search, other, node, function):
                search.add(other, parent)


def _may_be(search: Search, module: Module, node: ast.expr, function: ast.AST) -> bool:
    """Whether a name may be a function, for all that is known of it."""
    world = search.world.apart()
    thing = world.evaluate(node, world.open_frame(module, node))
    return thing.node is function if isinstance(thing, Function) else isinstance(thing, Opaque | Unknown)


def _occurrences(search: Search, name: Name) -> None:
    """Every place that reads a name."""
    if name in search.seen or not name.word:
        return
    search.seen.add(name)
    for module in _readers(search, name):
        for node in module.loads.get(name.word, ()):
            if name.scope is None or _within(module, node, name.scope):
                holder = module.parents.get(node)
                taken = isinstance(holder, ast.Subscript) and holder.value is node
                search.add(module, holder if taken and holder is not None else node)


def _readers(search: Search, name: Name) -> list[Module]:
    """The files that may read a name."""
    if name.scope is not None:
        return [name.module]
    knowing = search.world.workspace.mentions(name.owner, name.module.path) if name.owner else ()
    found = [module for module in knowing if name.word in module.loads]
    return found if name.module in found else [name.module, *found]


def _within(module: Module, node: ast.AST, scope: ast.AST) -> bool:
    while node is not scope:
        parent = module.parents.get(node)
        if parent is None:
            return False
        node = parent
    return True
