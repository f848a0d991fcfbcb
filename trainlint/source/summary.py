"""One file in, its summary out: a pure function of its arguments, so it can be cached and run in parallel."""

from __future__ import annotations

import ast
import os.path
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from trainlint.record import dataclass, field, replace
from trainlint.source.journal import ALL, BEFORE, BINDS, LAST, MEMBERS, PLAIN, ROWS, SAYS, TEXT
from trainlint.source.nodes import HOLDING, nodes_of
from trainlint.source.pieces import (
    AsyncFunction,
    ClassNode,
    Function,
    Holder,
    Kept,
    Names,
    Nodes,
    Pairs,
    Pieces,
    Reader,
    Table,
    Tracked,
    Tree,
    Values,
    bases,
    divided,
    inside,
)
from trainlint.source.text import Fault, is_test
from trainlint.span import Span
from trainlint.value import Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainlint.source.edited import Part

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Node = TypeVar("Node", bound=ast.AST)
V = TypeVar("V")
Scope = FunctionNode | ast.ClassDef | ast.Module

LONGEST = 100
"""Evidence is one line: what is longer is cut."""


def _in_file(row: int) -> tuple[int | None, int]:
    return None, row


@dataclass(frozen=True, eq=False)
class Module:
    """One file as the linker sees it: its tree, where each node hangs, what it imports, and what it mentions.

    What is read of it is noted by its ``pieces``. ``kept`` is what others worked out from it, ``by_node`` what a node
    tells that whoever asks has at hand. In a notebook, whose rows stand one cell after the other, ``place`` tells cell
    and row from that, and ``faults`` are the cells that could not be read. ``name`` is what its folder's imports call
    it, ``key`` tells it from the other files of that name. ``parts`` are its statements where it was made of them.
    """

    name: str
    key: str
    path: str
    tree: ast.Module
    survey: Survey
    pieces: Pieces
    place: Callable[[int], tuple[int | None, int]] = _in_file
    faults: tuple[Fault, ...] = ()
    by_node: dict[object, object] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each node hangs from."""
        return self.survey.parents

    @cached_property
    def kept(self) -> dict[object, object]:
        reader = self.pieces.reader
        return Kept(reader, self.path) if reader else {}

    def forget(self) -> None:
        """Let go of what others worked out; some of it holds the module."""
        self.kept.clear()
        self.by_node.clear()

    @cached_property
    def loads(self) -> Mapping[str, Sequence[ast.Name | ast.Attribute]]:
        """The names and attributes that are read, by their last word."""
        return self._nodes("loads", self.survey.loads)

    @cached_property
    def keys(self) -> Mapping[object, Sequence[ast.Subscript]]:
        """The subscripts with a constant."""
        return self._nodes("keys", self.survey.keys)

    @cached_property
    def definitions(self) -> Mapping[str, Sequence[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
        """The functions and classes by name."""
        return self._nodes("definitions", self.survey.definitions)

    @cached_property
    def derived(self) -> Mapping[str, Sequence[ast.ClassDef]]:
        """The classes by the last word of each base."""
        return self._nodes("derived", self.survey.derived)

    @cached_property
    def passing(self) -> Mapping[str, Sequence[ast.Call]]:
        """The calls by the name of each argument that they pass by name."""
        return self._nodes("passing", self.survey.passing)

    @cached_property
    def calling(self) -> Mapping[str, Sequence[ast.Call]]:
        """The calls of methods of what has a name, by both names: ``self.step``."""
        return self._nodes("calling", self.survey.calling)

    @cached_property
    def _few(self) -> Mapping[str, Sequence[ast.AST]]:
        survey = self.survey
        few: dict[str, Sequence[ast.AST]] = {
            "walrus": survey.walrus, "comprehensions": survey.comprehensions, "loops": survey.loops,
            "compares": survey.compares,
        }  # fmt: skip
        return self._nodes("_few", few)

    @property
    def loops(self) -> Sequence[ast.For | ast.While]:
        """All loops, in their order."""
        return self._few["loops"]  # type: ignore[return-value]

    @property
    def compares(self) -> Sequence[ast.Compare]:
        """All comparisons, in their order."""
        return self._few["compares"]  # type: ignore[return-value]

    @property
    def nodes(self) -> Iterable[ast.AST]:
        """All nodes, in their order."""
        self.pieces.note(ALL)
        return self.survey.parents

    @property
    def walrus(self) -> Sequence[ast.NamedExpr]:
        """Where ``:=`` stands."""
        return self._few["walrus"]  # type: ignore[return-value]

    @property
    def comprehensions(self) -> Sequence[ast.DictComp]:
        """The comprehensions that make a dictionary."""
        return self._few["comprehensions"]  # type: ignore[return-value]

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """What each imported name stands for."""
        return self._values("imports", self.survey.imports)

    @cached_property
    def imported(self) -> Mapping[str, Sequence[str]]:
        """What is imported, in full, by its last word."""
        found: dict[str, tuple[str, ...]] = {}
        for full in self.survey.imports.values():
            word = full.rpartition(".")[2]
            found[word] = (*found.get(word, ()), full)
        return self._values("imported", found)

    @cached_property
    def renamed(self) -> Mapping[str, Sequence[str]]:
        """The names that ``from ... import ... as`` gives, by what it gives them to."""
        found: dict[str, tuple[str, ...]] = {}
        for new, old in self.survey.renamed.items():
            found[old] = (*found.get(old, ()), new)
        return self._values("renamed", found)

    @cached_property
    def changed(self) -> Mapping[str, frozenset[object]]:
        """The containers that something writes into, by their last word, and the keys that it may write."""
        return self._values("changed", self.survey.changed)

    @cached_property
    def stored(self) -> Set[str]:
        """The places that any statement binds."""
        return self._names("stored", frozenset(self.survey.binding))

    @cached_property
    def binding(self) -> Mapping[str, Sequence[ast.stmt]]:
        """The statements that bind each place."""
        return self._nodes("binding", self.survey.binding)

    @cached_property
    def setting(self) -> Mapping[str, Sequence[ast.stmt]]:
        """The statements that bind an attribute of what has a name, by the attribute: ``self.width = 3``."""
        found: dict[str, list[ast.stmt]] = {}
        for path, nodes in self.survey.binding.items():
            first, _, name = path.partition(".")
            if first and name.isidentifier():
                found.setdefault(name, []).extend(nodes)
        return self._nodes("setting", found)

    @cached_property
    def invoking(self) -> Mapping[str, Sequence[ast.Call]]:
        """The calls of methods of what has a name, by the method."""
        found: dict[str, list[ast.Call]] = {}
        for path, nodes in self.survey.calling.items():
            found.setdefault(path.partition(".")[2], []).extend(nodes)
        return self._nodes("invoking", found)

    @cached_property
    def filled(self) -> Mapping[str, Sequence[ast.Subscript]]:
        """The entries that something is stored in, by the last word of the container."""
        return self._nodes("filled", self.survey.filled)

    @cached_property
    def attribute_writes(self) -> Mapping[str, Sequence[tuple[ast.expr, ast.stmt]]]:
        """The objects whose attributes something writes, by the attribute, each with the statement that does it."""
        found: dict[str, list[tuple[ast.expr, ast.stmt]]] = {}
        for node in self.survey.writing:
            for name, target in attributes_written(node):
                found.setdefault(name, []).append((target, self.statement(node)))
        return Pairs("attribute_writes", found, self.pieces) if self.pieces.reader else found

    @cached_property
    def container_writes(self) -> Mapping[str, Sequence[ast.expr | ast.stmt]]:
        """The nodes that may write into a container, by the last word of that."""
        found: dict[str, list[ast.expr | ast.stmt]] = {}
        for node in self.survey.writing:
            container = container_written(node)
            if container is not None:
                found.setdefault(last(container), []).append(node)
        return self._nodes("container_writes", found)

    @cached_property
    def rebound(self) -> Set[str]:
        """The names that ``global`` and ``nonlocal`` name."""
        return self._names("rebound", frozenset(self.survey.rebound), is_one=True)

    @property
    def stars(self) -> Sequence[tuple[str, int]]:
        """The modules that are imported whole, each with its line; where there are any, all statements are read."""
        self.pieces.note("stars")
        return self.survey.stars

    @property
    def calls(self) -> Sequence[ast.Call]:
        """All calls, in their order."""
        self.pieces.note(ALL)
        return self._calls

    @cached_property
    def _calls(self) -> tuple[ast.Call, ...]:
        order: Callable[[ast.Call], tuple[int, int, int]] = lambda call: (  # noqa: E731
            call.lineno, call.col_offset, -(call.end_col_offset or 0)
        )  # fmt: skip
        return tuple(sorted(self.survey.calls, key=order))

    @property
    def rows(self) -> Sequence[str]:
        """Its lines, with all that stands on them."""
        self.pieces.note(TEXT)
        return self.pieces.rows

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern is found in its text."""
        self.pieces.note(SAYS, f"{pattern.flags} {pattern.pattern}")
        return pattern.search(self._text) is not None

    def row_saying(self, words: Sequence[str]) -> int:
        """The first row of code that holds one of some words, rows of comments aside; 0 where there is none."""
        self.pieces.note("row_saying", "\n".join(words))
        return self._row_saying(tuple(words))

    def _row_saying(self, words: tuple[str, ...]) -> int:
        row = self.by_node.get(("saying", words))
        if not isinstance(row, int):
            said = (row for row, line in enumerate(self.pieces.rows, 1) if any(word in line for word in words))
            row = next((row for row in said if not self.pieces.rows[row - 1].lstrip().startswith("#")), 0)
            self.by_node["saying", words] = row
        return row

    def among(self, words: Collection[str]) -> list[str]:
        """Those of some words that are read."""
        self.pieces.note("among", " ".join(sorted(words)))
        return [word for word in words if word in self.survey.loads]

    def like(self, pattern: str) -> Sequence[str]:
        """The names that are read or imported and spelled so, as a whole."""
        self.pieces.note("like", pattern)
        return [name for name in {**self.survey.loads, **self.survey.imports} if re.fullmatch(pattern, name)]

    def _nodes(self, what: str, table: Mapping[Any, Sequence[Node]], **options: bool) -> Mapping[Any, Sequence[Node]]:
        return Nodes(what, table, self.pieces, **options) if self.pieces.reader else table

    def _values(self, what: str, table: Mapping[str, V], **options: bool) -> Mapping[str, V]:
        return Values(what, table, self.pieces, **options) if self.pieces.reader else table

    def _names(self, what: str, names: frozenset[str], **options: bool) -> Set[str]:
        return Names(what, names, self.pieces, **options) if self.pieces.reader else names

    def answer(self, what: str, word: str) -> tuple[str, ...]:
        """What is noted of a question, for others to be told from it."""
        match what:
            case "among":
                return tuple(sorted(self.among(word.split())))
            case "known_as":
                return tuple(self._known_as(word.split()))
            case "like":
                return tuple(self.like(word))
            case "row_saying":
                row = self._row_saying(tuple(word.split("\n")))
                return (self.pieces.standing(row), self.pieces.rows[row - 1]) if row else ()
            case "stars":
                return self.pieces.answer(MEMBERS, "") if self.survey.stars else ()
            case "binds" | "before":
                return self._binding(word, is_before=what == BEFORE)
        table = getattr(self, what) if what in TABLES else None
        return table.answer(word) if isinstance(table, Table) else self.pieces.answer(what, word)

    @cached_property
    def attributes(self) -> Set[str]:
        """The attributes that any statement of the file writes, by their last word."""
        names = frozenset(name.rpartition(".")[2] for name in self.survey.binding if "." in name)
        return self._names("attributes", names)

    @property
    def is_test(self) -> bool:
        """Whether nothing in it is judged."""
        return is_test(self.path)

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias | ast.arg | ast.excepthandler) -> Span:
        self._note_end(node)
        end_row, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        column, end_column = self._column(node.lineno, node.col_offset), self._column(end_row, end)
        cell, row = self.place(node.lineno)
        return Span(self.path, row, column, row + end_row - node.lineno, end_column, cell)

    def _note_end(self, node: ast.AST) -> None:
        """Where a class ends says its last statement."""
        while isinstance(node, ClassNode):
            self.pieces.note(LAST, node.holder.name)
            node = node.inside[-1]

    def word(self, node: ast.expr) -> Span | None:
        """Where the last word of a dotted name stands; None for a name alone, which an import explains."""
        if not isinstance(node, ast.Attribute):
            return None
        span = self.span(node)
        return replace(span, row=span.end_row, column=span.end_column - len(node.attr))

    def located(self, node: ast.expr | ast.stmt, root: str) -> str:
        """Where a node starts, as one finds it from a folder: ``models/heads.py:12``, ``train.ipynb:cell 5:3``."""
        self.pieces.note(ROWS)
        cell, row = self.place(node.lineno)
        name = os.path.relpath(self.path, root).replace(os.sep, "/")
        return f"{name}:cell {cell}:{row}" if cell else f"{name}:{row}"

    @property
    def text(self) -> str:
        """What its rows say, for words to be looked for."""
        self.pieces.note(TEXT)
        return self._text

    @cached_property
    def _text(self) -> str:
        return "\n".join(self.pieces.rows)

    @property
    def data(self) -> bytes:
        """The same as bytes, as they are sifted."""
        self.pieces.note(TEXT)
        return self._data

    @cached_property
    def _data(self) -> bytes:
        return self._text.encode(errors="replace")

    @cached_property
    def _by_kind(self) -> dict[type[ast.AST], list[ast.AST]]:
        kinds: dict[type[ast.AST], list[ast.AST]] = {}
        for node in self.parents:
            kinds.setdefault(type(node), []).append(node)
        return kinds

    def of_kind(self, kind: type[Node]) -> Sequence[Node]:
        """All nodes of exactly this type, in their order."""
        self.pieces.note(ALL)
        return self._by_kind.get(kind, ())  # type: ignore[return-value]

    @cached_property
    def aliases(self) -> Mapping[str, Sequence[str]]:
        """For the last word of what is imported the other names that it has here."""
        return self._values("aliases", self._aliases)

    @cached_property
    def _aliases(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for name, full in self.survey.imports.items():
            last = full.rpartition(".")[2]
            if last != name:
                found.setdefault(last, []).append(name)
        return found

    def known_as(self, words: Collection[str]) -> list[str]:
        """The other names of some words of imports that are read."""
        self.pieces.note("known_as", " ".join(sorted(words)))
        return self._known_as(words)

    def _known_as(self, words: Collection[str]) -> list[str]:
        names = (name for word in words if word in self._aliases for name in self._aliases[word])
        return [name for name in names if name in self.survey.loads]

    def binds(self, node: ast.AST) -> frozenset[str]:
        """Every dotted name that a statement binds, what stands inside it included, nested functions and classes not.

        It is read from the statement alone, and not noted.
        """
        known = self.by_node.get(("binds", node))
        if isinstance(known, frozenset):
            return known
        names: set[str] = set(bound(node)) if isinstance(node, ast.stmt) else set()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in BLOCKS:
                for inner in getattr(node, name, ()):
                    names |= self.binds(inner)
        if isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        if isinstance(node, ast.match_case):
            names |= captured(node)
        names.update(self.in_head.get(node, ()))
        found = self.by_node["binds", node] = frozenset(names)
        return found

    @cached_property
    def in_head(self) -> Mapping[ast.AST, list[str]]:
        """The names that ``:=`` binds, by the statement that holds each."""
        found: dict[ast.AST, list[str]] = {}
        for node in self.survey.walrus:
            found.setdefault(self.statement(node), []).append(node.target.id)
        return found

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds a node."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def index(self, block: Sequence[ast.AST]) -> dict[str, list[int]]:
        """The places in a block of the statements that bind each name. The block must be a list of the tree itself."""
        known = self.by_node.get(("index", id(block)))
        if isinstance(known, dict):
            return known
        found: dict[str, list[int]] = {}
        for place, inner in enumerate(block):
            for name in self.binds(inner):
                found.setdefault(name, []).append(place)
        self.by_node["index", id(block)] = found
        return found

    def places(self, scope: ClassNode | Tree, names: Sequence[str], before: ast.AST | None = None) -> list[int]:
        """The places among the statements of a scope, before one of them if that is given, that bind one of ``names``:
        a dotted name first, then what it hangs on.
        """
        holder = scope.holder
        end = len(holder.statements) if before is None else holder.place(before)
        if before is None:
            self.pieces.note(BINDS, f"{holder.name} {names[0]}")
        else:
            self.pieces.note(BEFORE, f"{holder.name} {holder.pieces[end]} {names[0]}")
        return self._places(holder, names, end)

    def _places(self, holder: Holder, names: Sequence[str], end: int) -> list[int]:
        index = self.index(holder.statements)
        return sorted({place for name in names if name in index for place in index[name] if place < end})

    def _binding(self, word: str, *, is_before: bool) -> tuple[str, ...]:
        """The pieces that bind a name, as ``places`` finds them."""
        around, _, rest = word.partition(" ")
        holder = self.pieces.holders.get(around)
        if holder is None:
            return ()
        piece, _, name = rest.partition(" ") if is_before else ("", "", rest)
        end = holder.pieces.index(piece) if piece in holder.pieces else len(holder.pieces)
        return tuple(holder.pieces[place] for place in self._places(holder, prefixes(name), end))

    def plain(self, node: ast.ClassDef) -> list[ast.stmt]:
        """The statements of a class that define no function and no class."""
        if not isinstance(node, ClassNode):
            return [each for each in node.body if not isinstance(each, DEFINITIONS)]
        self.pieces.note(PLAIN, node.holder.name)
        return node.holder.plain

    def step(self, node: ast.expr | ast.stmt | ast.alias | ast.arg) -> Step:
        """What the code says at a node, on one line."""
        if isinstance(node, Function | AsyncFunction | ClassNode):
            node.signature.note()
            if inside(node)[0].lineno == node.lineno:
                self.pieces.note(TEXT)
        span, first, end = self.span(node), node.lineno, node.end_lineno or node.lineno
        last = first if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else end
        head = _head(node)
        if head is not None:
            last = head.end_lineno or last
        lines = list(self.pieces.rows[first - 1 : last])
        if head is not None:
            end_column = self.span(head).end_column - 1
            lines[-1] = lines[-1][:end_column] + lines[-1][end_column:].partition(":")[0].rstrip() + ":"
        elif last == end:
            lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        text = " ".join(line.strip() for line in lines[:8])
        return Step(text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}...", span)

    def scope(self, node: ast.AST) -> Scope:
        """The function, class or module whose body a node stands in; a function's own defaults stand outside it.

        Of code that runs when the file does, what stands around it is noted: whoever asks may compare rows.
        """
        scope, statement = self._standing(node)
        if isinstance(scope, ClassNode | Tree) and not isinstance(statement, Tracked):
            self.pieces.note_around(statement)  # type: ignore[arg-type]
        return scope

    def standing(self, node: ast.AST) -> Scope:
        """The same for who does not look at what else stands there."""
        return self._standing(node)[0]

    def _standing(self, node: ast.AST) -> tuple[Scope, ast.AST]:
        """The scope of a node, and the child of that which it stands in."""
        while True:
            child, node = node, self.parents.get(node, self.tree)
            if node is self.tree:
                return self.tree, child
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if child in inside(node):
                    return node, child
                case ast.Lambda() if child is node.body:
                    return node, child

    def _column(self, row: int, offset: int) -> int:
        line = self.pieces.rows[row - 1] if row <= len(self.pieces.rows) else ""
        return offset + 1 if line.isascii() else len(line.encode()[:offset].decode(errors="replace")) + 1


BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

CHANGES = frozenset(
    {
        "append", "extend", "insert", "update", "pop", "add", "remove", "setdefault", "clear", "sort", "reverse",
        "discard", "popitem", "add_module", "register_module",
    }
)  # fmt: skip
"""Methods after which a container is no longer what was written down."""

SETTERS = CHANGES | {"setattr"}
"""Functions and methods that may write an attribute or into a container."""

TABLES = frozenset(
    {
        "loads", "keys", "definitions", "derived", "passing", "calling", "binding", "filled", "setting", "invoking",
        "attribute_writes", "container_writes", "imports", "imported", "renamed", "aliases", "changed", "stored",
        "rebound", "attributes", "_few",
    }
)  # fmt: skip
"""The tables of a module that questions are put to, by what they are called."""

ANY_KEY = "any key"
"""Stands for every key of a container."""


@dataclass
class Survey:
    """What one walk over a tree finds."""

    package: str
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    calls: list[ast.Call] = field(default_factory=list)
    loads: dict[str, list[ast.Name | ast.Attribute]] = field(default_factory=dict)
    keys: dict[object, list[ast.Subscript]] = field(default_factory=dict)
    definitions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]] = field(default_factory=dict)
    derived: dict[str, list[ast.ClassDef]] = field(default_factory=dict)
    passing: dict[str, list[ast.Call]] = field(default_factory=dict)
    calling: dict[str, list[ast.Call]] = field(default_factory=dict)
    comprehensions: list[ast.DictComp] = field(default_factory=list)
    loops: list[ast.For | ast.While] = field(default_factory=list)
    compares: list[ast.Compare] = field(default_factory=list)
    writing: list[ast.expr | ast.stmt] = field(default_factory=list)
    walrus: list[ast.NamedExpr] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    stars: list[tuple[str, int]] = field(default_factory=list)
    binding: dict[str, list[ast.stmt]] = field(default_factory=dict)
    filled: dict[str, list[ast.Subscript]] = field(default_factory=dict)
    rebound: set[str] = field(default_factory=set)
    changed: dict[str, frozenset[object]] = field(default_factory=dict)

    def noting(self) -> dict[type[ast.AST], Callable[[Any], None]]:
        """What takes down a node of each kind; not kept, for it would keep the survey alive."""
        return {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Subscript: self._subscript,
            **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, Function, AsyncFunction), self._definition),
            **dict.fromkeys((ast.ClassDef, ClassNode), self._class),
            ast.DictComp: self.comprehensions.append,
            ast.NamedExpr: self.walrus.append,
            ast.Global: self._global,
            ast.Nonlocal: self._global,
            ast.Import: self._import,
            ast.ImportFrom: self._from,
            **dict.fromkeys((ast.Assign, ast.AnnAssign, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Delete), self._bind),
            ast.For: self._for,
            ast.While: self.loops.append,
            ast.Compare: self.compares.append,
            ast.AugAssign: self._augment,
            ast.Expr: self._express,
        }

    def _name(self, node: ast.Name) -> None:
        if type(node.ctx) is ast.Load:
            self.loads.setdefault(node.id, []).append(node)

    def _attribute(self, node: ast.Attribute) -> None:
        if type(node.ctx) is ast.Load:
            self.loads.setdefault(node.attr, []).append(node)
        else:
            self.writing.append(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.definitions.setdefault(node.name, []).append(node)

    def _class(self, node: ast.ClassDef) -> None:
        self._definition(node)
        for word in {last(base): None for base in bases(node)}:
            self.derived.setdefault(word, []).append(node)

    def _global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.rebound.update(node.names)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.imports.setdefault(*_plain(alias))

    def _bind(self, node: ast.stmt) -> None:
        for place in bound(node):
            self.binding.setdefault(place, []).append(node)

    def _express(self, node: ast.Expr) -> None:
        if type(node.value) is ast.Call:
            self._bind(node)

    def _for(self, node: ast.For) -> None:
        self._bind(node)
        self.loops.append(node)

    def _augment(self, node: ast.AugAssign) -> None:
        self._bind(node)
        self.writing.append(node)
        self._change(node.target, ANY_KEY)

    def _call(self, node: ast.Call) -> None:
        self.calls.append(node)
        for keyword in node.keywords:
            if keyword.arg:
                self.passing.setdefault(keyword.arg, []).append(node)
        if last(node.func) in SETTERS:
            self.writing.append(node)
        if isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name):
                self.calling.setdefault(f"{node.func.value.id}.{node.func.attr}", []).append(node)
            if node.func.attr in CHANGES:
                self._change(node.func.value, *written_keys(node.func.attr, node))

    def _change(self, container: ast.expr, *keys: object) -> None:
        """Note a write: into a container inside a container, it changes the outer one's entry."""
        word = last(container)
        if word:
            self.changed[word] = self.changed.get(word, frozenset()).union(outermost(container, keys)[1])

    def _subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.writing.append(node)
        if isinstance(node.ctx, ast.Store):
            self._change(node)
            self.filled.setdefault(last(node.value), []).append(node)
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


def summarize(
    name: str, key: str, path: str, tree: ast.Module, rows: tuple[str, ...], reader: Reader | None = None
) -> Module:
    """Everything about one file that its text alone tells; what is read of it is noted, if there is a reader."""
    tree, pieces = divided(path, tree, rows, reader) if reader else (tree, Pieces(path, rows))
    survey = Survey(name if path.endswith("__init__.py") else name.rpartition(".")[0])
    return Module(name, key, path, tree, walked(survey, tree), pieces)


def walked(survey: Survey, root: ast.AST) -> Survey:
    """A survey of a node and of all that stands in it."""
    parents, notes = survey.parents, survey.noting()
    stack = [root]
    # Plain dictionaries and exact types: this loop meets every node of every file that is read.
    while stack:
        node = stack.pop()
        kind = type(node)
        holding = HOLDING[kind]
        if holding:
            fields, first = node.__dict__, len(stack)
            for name in holding:
                value = fields.get(name)
                if type(value) is list:
                    for child in value:
                        if isinstance(child, ast.AST):
                            parents[child] = node
                            stack.append(child)
                elif isinstance(value, ast.AST):
                    parents[value] = node
                    stack.append(value)
            if len(stack) > first + 1:
                stack[first:] = reversed(stack[first:])
        note = notes.get(kind)
        if note:
            note(node)
    return survey


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


def attributes_written(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The attributes that a node writes, each with its object; ``ANY_KEY`` where which ones is open."""
    match node:
        case ast.Attribute(value=value, attr=name, ctx=ast.Store()):
            yield name, value
        case ast.Call(func=ast.Name(id="setattr"), args=[target, ast.Constant(value=str(name)), _]):
            yield name, target
        case ast.Call(func=ast.Name(id="setattr"), args=[target, _, _]):
            yield ANY_KEY, target
        case (
            ast.Call(
                func=ast.Attribute(value=target, attr="add_module" | "register_module"),
                args=[ast.Constant(value=str(name)), _],
            )
            | ast.Subscript(
                value=ast.Attribute(value=target, attr="_modules"), slice=ast.Constant(value=str(name)), ctx=ast.Store()
            )
        ):
            yield name, target
        case ast.Call(func=ast.Attribute(value=table, attr="update")) | ast.Subscript(value=table, ctx=ast.Store()):
            match table:
                case ast.Attribute(value=target, attr="__dict__") | ast.Call(func=ast.Name(id="vars"), args=[target]):
                    yield ANY_KEY, target


def container_written(node: ast.AST) -> ast.expr | None:
    """The container that a node may write into, the outermost if one holds another."""
    match node:
        case ast.Subscript(ctx=ast.Store()):
            return outermost(node, ())[0]
        case ast.Subscript(value=value, ctx=ast.Del()):
            return value
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in CHANGES:
            return outermost(value, ())[0]
        case ast.AugAssign(target=ast.Name() | ast.Attribute() as target):
            return target
    return None


def outermost(container: ast.expr, keys: tuple[object, ...]) -> tuple[ast.expr, tuple[object, ...]]:
    """A write into a container as one into the container that holds it, if one does."""
    while isinstance(container, ast.Subscript):
        keys, container = (_key(container.slice),), container.value
    return container, keys


def _named_keys(node: ast.Call) -> tuple[object, ...]:
    return tuple(keyword.arg or ANY_KEY for keyword in node.keywords)


def _key(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else ANY_KEY


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


@lru_cache(4096)
def prefixes(name: str) -> tuple[str, ...]:
    """``a.b.c``, ``a.b`` and ``a``."""
    parts = name.split(".")
    return tuple(".".join(parts[:count]) for count in range(len(parts), 0, -1))


def captured(case: ast.match_case) -> frozenset[str]:
    """The names that a pattern binds."""
    names: set[str | None] = set()
    for node in nodes_of(case.pattern):
        match node:
            case ast.MatchAs(name=name) | ast.MatchStar(name=name) | ast.MatchMapping(rest=name):
                names.add(name)
    return frozenset(name for name in names if name)


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
        case ast.Assign(targets=[ast.Name(id=only)]):
            return frozenset((only,))
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
