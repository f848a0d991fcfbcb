"""Where an object goes: the calls that may apply it. Names only; the evaluator then confirms each call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from trainlint.source.binding import declared, parameters
from trainlint.source.names import statement
from trainlint.source.summary import Module, dotted, targets
from trainlint.source.workspace import Workspace

MOST_PLACES = 400
"""A search that has looked at this many places gives up: what it found is still confirmed one by one."""

APPLIES = ("forward", "update", "__call__")


@dataclass(frozen=True)
class Name:
    """A name that may hold the object: everywhere as an attribute, in one scope as a variable."""

    word: str
    module: Module | None = None
    scope: ast.AST | None = None


@dataclass
class Search:
    """The state of one search: what waits, what was seen, what was found."""

    workspace: Workspace
    waiting: list[tuple[Module, ast.AST]] = field(default_factory=list)
    seen: set[object] = field(default_factory=set)
    found: dict[ast.Call, Module] = field(default_factory=dict)

    def add(self, module: Module, node: ast.AST) -> None:
        if node not in self.seen and len(self.seen) < MOST_PLACES:
            self.seen.add(node)
            self.waiting.append((module, node))


def applications(workspace: Workspace, module: Module, source: ast.AST) -> dict[ast.Call, Module]:
    """Every call whose callable may be the object that an expression makes, with its module."""
    search = Search(workspace)
    search.add(module, source)
    while search.waiting:
        _follow(search, *search.waiting.pop(0))
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
                _passed(search, module, parent, node)
            case ast.keyword():
                call = module.parents[parent]
                if isinstance(call, ast.Call):
                    _passed(search, module, call, parent)
                    node = parent
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
        if isinstance(target, ast.Attribute):
            _occurrences(search, Name(target.attr))
        elif isinstance(target, ast.Name):
            scope = module.scope(statement(module, node))
            everywhere = isinstance(scope, ast.Module | ast.ClassDef)
            _occurrences(search, Name(target.id) if everywhere else Name(target.id, module, scope))
    for place in places:
        if isinstance(place, ast.Subscript):
            word = (dotted(place.value) or "").rpartition(".")[2]
            _occurrences(search, Name(word, module, module.scope(statement(module, node))))


def _passed(search: Search, module: Module, call: ast.Call, node: ast.AST) -> None:
    """An argument goes on as the parameter of every function of that name."""
    word = _last(call.func)
    if not word:
        return
    for other in search.workspace.mentions(word):
        for function, shift in _named(other, word):
            places = [place.arg for place in parameters(function)][shift:]
            if isinstance(node, ast.keyword):
                names = [node.arg] if node.arg in declared(function) else []
            else:
                place = call.args.index(node) if node in call.args else len(places)  # type: ignore[arg-type]
                names = places[place : place + 1]
            for name in names:
                if name:
                    _occurrences(search, Name(name, other, function))


def _named(module: Module, word: str) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    """The functions a call of this name may enter, and how many parameters the call does not fill."""
    for node in _definitions(module):
        inside = isinstance(module.parents.get(node), ast.ClassDef)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == word:
            yield node, int(inside)
        if isinstance(node, ast.ClassDef) and node.name == word:
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                    yield inner, 1


def _definitions(module: Module) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, ...]:
    known = module.kept.get("definitions")
    if not isinstance(known, tuple):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        known = tuple(node for node in module.parents if isinstance(node, kinds))
        module.kept["definitions"] = known
    return known


def _default(search: Search, module: Module, node: ast.arguments, value: ast.AST) -> None:
    function = module.parents[node]
    places = [*node.posonlyargs, *node.args]
    pairs = [*zip(places[len(places) - len(node.defaults) :], node.defaults), *zip(node.kwonlyargs, node.kw_defaults)]
    for place, default in pairs:
        if default is value:
            _occurrences(search, Name(place.arg, module, function))


def _returned(search: Search, module: Module, function: ast.AST) -> None:
    """What a function returns goes where it is called; a property, where it is read."""
    if isinstance(function, ast.Lambda):
        search.add(module, function)
        return
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    is_property = any((dotted(mark) or "").endswith("property") for mark in function.decorator_list)
    for other in search.workspace.mentions(function.name):
        for node in _loads(other).get(function.name, ()):
            parent = other.parents.get(node)
            if isinstance(parent, ast.Call) and parent.func is node:
                search.add(other, parent)
            elif is_property:
                search.add(other, node)


def _occurrences(search: Search, name: Name) -> None:
    """Every place that reads a name."""
    if name in search.seen or not name.word:
        return
    search.seen.add(name)
    modules = (name.module,) if name.module else search.workspace.mentions(name.word)
    for module in modules:
        for node in _loads(module).get(name.word, ()):
            if name.scope is None or _within(module, node, name.scope):
                search.add(module, node)


def _loads(module: Module) -> dict[str, list[ast.AST]]:
    """Every name and attribute that is read, by its last word; a subscript counts as what it is taken from."""
    known = module.kept.get("loads")
    if not isinstance(known, dict):
        known = {}
        for node in module.parents:
            match node:
                case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
                    holder = module.parents.get(node)
                    taken = isinstance(holder, ast.Subscript) and holder.value is node
                    known.setdefault(_last(node), []).append(holder if taken else node)
        module.kept["loads"] = known
    return known


def _within(module: Module, node: ast.AST, scope: ast.AST) -> bool:
    while node is not scope:
        parent = module.parents.get(node)
        if parent is None:
            return False
        node = parent
    return True


def _last(node: ast.AST) -> str:
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word):
            return word
        case ast.Subscript(value=value):
            return _last(value)
    return ""
