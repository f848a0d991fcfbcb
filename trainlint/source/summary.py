"""One file in, its summary out: a pure function of its arguments, so it can be cached and run in parallel."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from trainlint.source.text import Fault, is_test
from trainlint.span import Span
from trainlint.value import Step

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Node = TypeVar("Node", bound=ast.AST)
Scope = FunctionNode | ast.ClassDef | ast.Module

LONGEST = 100
"""Evidence is one line: what is longer is cut."""


def _in_file(row: int) -> tuple[int | None, int]:
    return None, row


@dataclass(frozen=True, eq=False)
class Module:
    """One file as the linker sees it: its tree, where each node hangs, what it imports, and what it mentions.

    ``loads`` are the names and attributes that are read, by their last word; ``keys`` the subscripts with a constant.
    ``stars`` are the modules that are imported whole, each with its line. ``changed`` are the containers that something
    writes into, by their last word, and the keys that it may write. In a notebook, whose rows stand one cell after the
    other, ``place`` tells cell and row from that, and ``faults`` are the cells that could not be read. ``name`` is what
    its folder's imports call it, ``key`` tells it from the other files of that name.
    """

    name: str
    key: str
    path: str
    tree: ast.Module
    rows: tuple[str, ...]
    parents: dict[ast.AST, ast.AST]
    calls: tuple[ast.Call, ...]
    loads: dict[str, list[ast.Name | ast.Attribute]]
    keys: dict[object, list[ast.Subscript]]
    definitions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]
    comprehensions: tuple[ast.DictComp, ...]
    walrus: tuple[ast.NamedExpr, ...]
    imports: dict[str, str]
    renamed: dict[str, str]
    stars: tuple[tuple[str, int], ...]
    stored: frozenset[str]
    rebound: frozenset[str]
    changed: Mapping[str, frozenset[object]]
    kept: dict[object, object] = field(default_factory=dict)
    place: Callable[[int], tuple[int | None, int]] = _in_file
    faults: tuple[Fault, ...] = ()

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that any statement of the file writes, by their last word."""
        return frozenset(name.rpartition(".")[2] for name in self.stored if "." in name)

    @property
    def is_test(self) -> bool:
        """Whether nothing in it is judged."""
        return is_test(self.path)

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias | ast.arg | ast.excepthandler) -> Span:
        end_row, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        column, end_column = self._column(node.lineno, node.col_offset), self._column(end_row, end)
        cell, row = self.place(node.lineno)
        return Span(self.path, row, column, row + end_row - node.lineno, end_column, cell)

    def word(self, node: ast.expr) -> Span | None:
        """Where the last word of a dotted name stands; None for a name alone, which an import explains."""
        if not isinstance(node, ast.Attribute):
            return None
        span = self.span(node)
        return replace(span, row=span.end_row, column=span.end_column - len(node.attr))

    def line(self, node: ast.expr | ast.stmt) -> str:
        """Where a node starts, in words."""
        cell, row = self.place(node.lineno)
        return f"line {row} of cell {cell}" if cell else f"line {row}"

    @cached_property
    def text(self) -> str:
        """What its rows say, for words to be looked for."""
        return "\n".join(self.rows)

    @cached_property
    def data(self) -> bytes:
        """The same as bytes, as they are sifted."""
        return self.text.encode(errors="replace")

    @cached_property
    def _by_kind(self) -> dict[type[ast.AST], list[ast.AST]]:
        kinds: dict[type[ast.AST], list[ast.AST]] = {}
        for node in self.parents:
            kinds.setdefault(type(node), []).append(node)
        return kinds

    def of_kind(self, kind: type[Node]) -> Sequence[Node]:
        """All nodes of exactly this type, in their order."""
        return self._by_kind.get(kind, ())  # type: ignore[return-value]

    @cached_property
    def aliases(self) -> dict[str, list[str]]:
        """For the last word of what is imported the other names that it has here."""
        found: dict[str, list[str]] = {}
        for name, full in self.imports.items():
            last = full.rpartition(".")[2]
            if last != name:
                found.setdefault(last, []).append(name)
        return found

    def step(self, node: ast.expr | ast.stmt | ast.alias | ast.arg) -> Step:
        """What the code says at a node, on one line."""
        span, first, end = self.span(node), node.lineno, node.end_lineno or node.lineno
        last = first if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else end
        head = _head(node)
        if head is not None:
            last = head.end_lineno or last
        lines = [self.rows[row - 1] for row in range(first, last + 1)]
        if head is not None:
            end_column = self.span(head).end_column - 1
            lines[-1] = lines[-1][:end_column] + lines[-1][end_column:].partition(":")[0].rstrip() + ":"
        elif last == end:
            lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        text = " ".join(line.strip() for line in lines[:8])
        return Step(text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}...", span)

    def scope(self, node: ast.AST) -> Scope:
        """The function, class or module whose body a node stands in; a function's own defaults stand outside it."""
        while True:
            child, node = node, self.parents.get(node, self.tree)
            if node is self.tree:
                return self.tree
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if child in node.body:
                    return node
                case ast.Lambda() if child is node.body:
                    return node

    def _column(self, row: int, offset: int) -> int:
        line = self.rows[row - 1] if row <= len(self.rows) else ""
        return offset + 1 if line.isascii() else len(line.encode()[:offset].decode(errors="replace")) + 1


CHANGES = frozenset(
    {
        "append", "extend", "insert", "update", "pop", "add", "remove", "setdefault", "clear", "sort", "reverse",
        "discard", "popitem", "add_module", "register_module",
    }
)  # fmt: skip
"""Methods after which a container is no longer what was written down."""

ANY_KEY = "any key"
"""Stands for every key of a container."""


@dataclass
class _Survey:
    """What one walk over a tree finds."""

    package: str
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    calls: list[ast.Call] = field(default_factory=list)
    loads: dict[str, list[ast.Name | ast.Attribute]] = field(default_factory=dict)
    keys: dict[object, list[ast.Subscript]] = field(default_factory=dict)
    definitions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]] = field(default_factory=dict)
    comprehensions: list[ast.DictComp] = field(default_factory=list)
    walrus: list[ast.NamedExpr] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    stars: list[tuple[str, int]] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)
    rebound: set[str] = field(default_factory=set)
    changed: dict[str, set[object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.notes: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Subscript: self._subscript,
            ast.FunctionDef: self._definition,
            ast.AsyncFunctionDef: self._definition,
            ast.ClassDef: self._definition,
            ast.DictComp: self.comprehensions.append,
            ast.NamedExpr: self.walrus.append,
            ast.Global: self._global,
            ast.Nonlocal: self._global,
            ast.Import: self._import,
            ast.ImportFrom: self._from,
            **dict.fromkeys(
                (ast.Assign, ast.AnnAssign, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Delete), self._bind
            ),
            ast.AugAssign: self._augment,
            ast.Expr: self._express,
        }

    def _name(self, node: ast.Name) -> None:
        if type(node.ctx) is ast.Load:
            self.loads.setdefault(node.id, []).append(node)

    def _attribute(self, node: ast.Attribute) -> None:
        if type(node.ctx) is ast.Load:
            self.loads.setdefault(node.attr, []).append(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.definitions.setdefault(node.name, []).append(node)

    def _global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.rebound.update(node.names)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imports.setdefault(*_plain(alias))

    def _bind(self, node: ast.stmt) -> None:
        self.stored |= bound(node)

    def _express(self, node: ast.Expr) -> None:
        if type(node.value) is ast.Call:
            self.stored |= bound(node)

    def _augment(self, node: ast.AugAssign) -> None:
        self.stored |= bound(node)
        self._change(node.target, ANY_KEY)

    def _call(self, node: ast.Call) -> None:
        self.calls.append(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            self._change(node.func.value, *written_keys(node.func.attr, node))

    def _change(self, container: ast.expr, *keys: object) -> None:
        """Note a write: into a container inside a container, it changes the outer one's entry."""
        self.changed.setdefault(last(container), set()).update(outermost(container, keys)[1])

    def _subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Store):
            self._change(node)
        elif isinstance(node.ctx, ast.Del):
            self._change(node.value)
        elif isinstance(node.slice, ast.Constant):
            self.keys.setdefault(node.slice.value, []).append(node)

    def _from(self, node: ast.ImportFrom) -> None:
        base = absolute(self.package, node.level, node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self.stars.append((base, node.lineno))
            else:
                self.imports.setdefault(alias.asname or alias.name, f"{base}.{alias.name}")
                if alias.asname:
                    self.renamed[alias.asname] = alias.name


def summarize(name: str, key: str, path: str, tree: ast.Module, rows: tuple[str, ...]) -> Module:
    """Everything about one file that its text alone tells."""
    survey = _Survey(name if path.endswith("__init__.py") else name.rpartition(".")[0])
    parents, notes = survey.parents, survey.notes
    stack: list[ast.AST] = [tree]
    # Plain dictionaries and exact types: this loop meets every node of every file that is read.
    while stack:
        node = stack.pop()
        first = len(stack)
        for value in node.__dict__.values():
            if type(value) is list:
                for child in value:
                    if isinstance(child, ast.AST):
                        parents[child] = node
                        stack.append(child)
            elif isinstance(value, ast.AST) and type(value) not in _LEAVES:
                parents[value] = node
                stack.append(value)
        stack[first:] = reversed(stack[first:])
        note = notes.get(type(node))
        if note:
            note(node)
    calls = sorted(survey.calls, key=lambda call: (call.lineno, call.col_offset, -(call.end_col_offset or 0)))
    return Module(
        name, key, path, tree, rows, parents, tuple(calls), survey.loads, survey.keys, survey.definitions,
        tuple(survey.comprehensions), tuple(survey.walrus), survey.imports, survey.renamed, tuple(survey.stars),
        frozenset(survey.stored), frozenset(survey.rebound),
        {word: frozenset(keys) for word, keys in survey.changed.items() if word},
    )  # fmt: skip


def updated(call: ast.Call) -> dict[str, ast.expr]:
    """The entries that ``update({...}, key=...)`` writes down."""
    found = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    match call.args:
        case [ast.Dict(keys=keys, values=values)]:
            pairs = zip(keys, values, strict=True)
            found |= {key.value: value for key, value in pairs if _is_text(key)}  # type: ignore[union-attr]
    return {key: value for key, value in found.items() if "." not in key}


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def written_keys(method: str, node: ast.Call) -> tuple[object, ...]:
    """The keys whose entries a method of a container may replace. What is taken out is not read afterwards."""
    match method, node.args:
        case "update", []:
            return _named_keys(node)
        case "update", [ast.Dict(keys=keys)]:
            return (*(_key(key) for key in keys), *_named_keys(node))
        case "setdefault", [key, *_]:
            return (_key(key),)
        case "update", _:
            return (ANY_KEY,)
    return ()


def outermost(container: ast.expr, keys: tuple[object, ...]) -> tuple[ast.expr, tuple[object, ...]]:
    """A write into a container as one into the container that holds it, if one does."""
    while isinstance(container, ast.Subscript):
        keys, container = (_key(container.slice),), container.value
    return container, keys


def _named_keys(node: ast.Call) -> tuple[object, ...]:
    return tuple(keyword.arg or ANY_KEY for keyword in node.keywords)


def _key(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else ANY_KEY


_LEAVES = frozenset(
    kind
    for base in (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    for kind in base.__subclasses__()
)
"""Nodes without a place of their own: one object stands for all of them."""


def _head(node: ast.AST) -> ast.expr | None:
    """Where the head of a statement with a body ends, if that is an expression."""
    match node:
        case ast.If(test=head) | ast.While(test=head) | ast.For(iter=head):
            return head
    return None


def absolute(package: str, level: int, name: str) -> str:
    """The full name of the module that a ``from`` import names, its dots (``level`` of them) resolved.

    >>> absolute("codec.model", 2, "sizes")
    'codec.sizes'
    """
    if not level:
        return name
    parts = package.split(".") if package else []
    return ".".join([*parts[: len(parts) - (level - 1)], *([name] if name else [])])


def _plain(alias: ast.alias) -> tuple[str, str]:
    top = alias.name.partition(".")[0]
    return (alias.asname, alias.name) if alias.asname else (top, top)


def dotted(node: ast.AST) -> str | None:
    """``self.cfg.pad`` as one string, None for anything but names and attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def place(node: ast.AST) -> str | None:
    """What an assignment can bind as one string: a dotted name, or the entry under a string of one.

    >>> place(ast.parse("cfg.sizes['pad']", mode="eval").body)
    "cfg.sizes.['pad']"
    """
    match node:
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))) if "." not in key:
            name = dotted(value)
            return f"{name}.[{key!r}]" if name else None
    return dotted(node)


def places(target: ast.AST) -> Iterator[str]:
    """The places that one target binds, tuples opened."""
    match target:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from places(element)
        case ast.Starred(value=value):
            yield from places(value)
        case _:
            name = place(target)
            if name:
                yield name


def last(node: ast.AST) -> str:
    """The last word of a name, an attribute or what a subscript is taken from; nothing for anything else."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def targets(node: ast.AST) -> Iterator[ast.expr]:
    """The names and attributes that one target binds, tuples opened."""
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from targets(element)
        case ast.Starred(value=value):
            yield from targets(value)
        case ast.Name() | ast.Attribute():
            yield node


SEQUENCES = (ast.List, ast.ListComp, ast.Tuple)
"""What ``+=`` adds to a sequence: it grows, it is not bound anew."""


def bound(node: ast.stmt) -> frozenset[str]:
    """The places that one statement binds by itself, what stands inside it aside."""
    found: list[ast.AST] = []
    match node:
        case ast.Assign():
            found += node.targets
        case ast.AnnAssign(value=value) if value is not None:
            found.append(node.target)
        case ast.AugAssign(value=value) if not isinstance(value, SEQUENCES):
            found.append(node.target)
        case ast.For() | ast.AsyncFor():
            found.append(node.target)
        case ast.With() | ast.AsyncWith():
            found += [item.optional_vars for item in node.items if item.optional_vars]
        case ast.Import():
            return frozenset(_plain(alias)[0] for alias in node.names)
        case ast.ImportFrom():
            return frozenset(alias.asname or alias.name for alias in node.names)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return frozenset((node.name,))
        case ast.Delete():
            found += node.targets
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=container, attr="update")) as call):
            name = dotted(container)
            return frozenset(f"{name}.[{key!r}]" for key in updated(call)) if name else frozenset()
    return frozenset(name for each in found for name in places(each))
