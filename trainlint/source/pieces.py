"""What is read of a file, noted piece by piece, so that an edit takes along only what looked at what was edited.

A file is its head and the bodies of its functions and methods: the head is everything else, their signatures too.
Whoever opens a body notes it, however he came to the function; what a table says of a word is noted with the word.
Blank lines and comments between pieces belong to none, and where a piece stands counts only for who asks for its rows.
"""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, ItemsView, Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from functools import cached_property
from typing import Any, Generic, TypeVar

from trainlint.record import dataclass, field
from trainlint.source.journal import ALL, BODY, ROWS, SAYS, TEXT, Journal, Kind, Query
from trainlint.source.text import column

T = TypeVar("T", bound=Collection[Any])
V = TypeVar("V")

Layout = tuple[tuple[str, int, int, int], ...]
"""The pieces of a file in their order: the name of a body, nothing for a stretch of the head; its first row, and the
row and column of its end.
"""


class Reader:
    """Whoever reads modules now: ``journal`` takes down what."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal


class Question:
    """One thing that can be read of a file."""

    __slots__ = ("_journal", "_number", "_reader", "query")

    def __init__(self, query: Query, reader: Reader) -> None:
        self.query, self._reader = query, reader
        self._journal: Journal | None = None
        self._number = 0

    def note(self) -> None:
        """It is read."""
        journal = self._reader.journal
        if journal is not self._journal:
            self._journal, self._number = journal, journal.number(self.query)
        journal.used(self._number)


class Function(ast.FunctionDef):
    """A function whose body is noted by whoever looks into it."""

    @property
    def body(self) -> list[ast.stmt]:  # type: ignore[override]
        self.question.note()
        return self.inside

    question: Question
    inside: list[ast.stmt]


class AsyncFunction(ast.AsyncFunctionDef):
    """The same for ``async def``."""

    body = Function.body
    question: Question
    inside: list[ast.stmt]


Tracked = Function | AsyncFunction


@dataclass(frozen=True)
class Stretch:
    """A body, by its name, or a part of the head, without one: where it starts and ends, rows from 1, bytes from 0."""

    name: str
    start: tuple[int, int]
    end: tuple[int, int]


@dataclass(eq=False)
class Pieces:
    """The pieces of one file, and every question that was ever put to it; nothing is noted without a reader."""

    path: str
    rows: Sequence[str]
    stretches: list[Stretch] = field(default_factory=list)
    reader: Reader | None = None

    def __post_init__(self) -> None:
        self._questions: dict[tuple[str, str], Question] = {}
        self._starts = [each.start for each in self.stretches]

    def question(self, what: str, word: str = "") -> Question:
        """A question about this file, which is read through a reader."""
        known = self._questions.get((what, word))
        if known is None:
            assert self.reader is not None, "only what is read through a reader has leaves"
            known = self._questions[what, word] = Question(Query(Kind.PIECE, (what, word, self.path)), self.reader)
        return known

    def note(self, what: str, word: str = "") -> None:
        """This is read."""
        if self.reader is not None:
            self.question(what, word).note()

    def name(self, node: ast.expr | ast.stmt) -> str:
        """The name of the body that a node stands in, nothing if that is none."""
        place = bisect_right(self._starts, (node.lineno, node.col_offset)) - 1
        return self.stretches[place].name if place >= 0 else ""

    def note_around(self, node: ast.expr | ast.stmt) -> None:
        """What a node stands in is read."""
        name = self.name(node) if self.reader is not None else ""
        if name:
            self.question(BODY, name).note()

    @property
    def layout(self) -> Layout:
        """Where each piece stands."""
        ends = ((each, column(self.rows[each.end[0] - 1], each.end[1])) for each in self.stretches)
        return tuple((each.name, each.start[0], each.end[0], end) for each, end in ends)

    def answer(self, what: str, word: str) -> tuple[str, ...]:
        """What tells the head, a body, the text or the rows from any other."""
        if what == ROWS:
            return (_digest(repr(self.layout)),)
        if what == SAYS:
            flags, _, pattern = word.partition(" ")
            return ("",) if re.search(pattern, "\n".join(self.rows), int(flags)) else ()
        if what == TEXT:
            return (_digest("\n".join(self.rows)),)
        wanted = (each for each in self.stretches if what == ALL or each.name == word)
        return (_digest("\0".join(self._text(each) for each in wanted)),)

    def _text(self, stretch: Stretch) -> str:
        """A piece with the column in which it starts."""
        (first, start), (last, end) = stretch.start, stretch.end
        lines = list(self.rows[first - 1 : last])
        lines[-1] = lines[-1].encode(errors="replace")[:end].decode(errors="replace")
        lines[0] = lines[0].encode(errors="replace")[start:].decode(errors="replace")
        return f"{start} " + "\n".join(lines)


def _digest(text: str) -> str:
    import hashlib

    return hashlib.blake2b(text.encode(errors="replace"), digest_size=12).hexdigest()


def divided(path: str, tree: ast.Module, rows: Sequence[str], reader: Reader) -> Pieces:
    """The pieces of a file; in its tree a function with a piece of its own becomes one that notes who looks inside."""
    names: dict[str, int] = {}
    waiting: list[tuple[str, list[ast.stmt]]] = [("", tree.body)]
    tracked: list[tuple[str, Tracked]] = []
    stretches: list[Stretch] = []
    while waiting:
        around, block = waiting.pop()
        for place, node in enumerate(block):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    name = f"{around}{node.name}"
                    names[name] = names.get(name, 0) + 1
                    name = name if names[name] == 1 else f"{name}#{names[name]}"
                    start, inside = _start(node), _start(node.body[0])
                    stretches += [Stretch("", start, _before(inside, start, rows)), Stretch(name, inside, _end(node))]
                    block[place] = tracking = _tracked(node)
                    tracked.append((name, tracking))
                case ast.ClassDef():
                    start = _start(node)
                    stretches.append(Stretch("", start, _before(_start(node.body[0]), start, rows)))
                    waiting.append((f"{around}{node.name}.", node.body))
                case _:
                    stretches.append(Stretch("", _start(node), _end(node)))
    stretches.sort(key=lambda each: each.start)
    pieces = Pieces(path, rows, stretches, reader)
    for name, function in tracked:
        function.question = pieces.question(BODY, name)
    return pieces


def _tracked(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Tracked:
    """The same function, its body behind a door."""
    kind: type[Tracked] = Function if isinstance(node, ast.FunctionDef) else AsyncFunction
    made = kind.__new__(kind)
    made.__dict__.update(("inside" if name == "body" else name, value) for name, value in node.__dict__.items())
    return made


def _start(node: ast.stmt) -> tuple[int, int]:
    """Where a statement starts, its decorators included: that is where its first line starts."""
    first = min((each.lineno for each in getattr(node, "decorator_list", ())), default=node.lineno)
    return (first, 0) if first < node.lineno else (node.lineno, node.col_offset)


def _before(body: tuple[int, int], start: tuple[int, int], rows: Sequence[str]) -> tuple[int, int]:
    """Where the signature in front of a body ends: comments and empty lines between them belong to neither."""
    row, column = body
    if row == start[0] or rows[row - 1][:column].strip():
        return body
    row -= 1
    while row > start[0] and rows[row - 1].lstrip()[:1] in ("", "#"):
        row -= 1
    return row, len(rows[row - 1].encode(errors="replace"))


def _end(node: ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def inside(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[ast.stmt]:
    """The body of a function or class, not noted: for who stands in it."""
    return node.inside if isinstance(node, Function | AsyncFunction) else node.body


# The tables of a module


class Table(ABC, Generic[T]):
    """What a file says of words; ``what`` names the question. Where answers seldom change, one note stands for all."""

    def __init__(self, what: str, table: T, pieces: Pieces, *, is_one: bool = False) -> None:
        self._what, self._table, self._pieces, self._is_one = what, table, pieces, is_one

    def _asked(self, word: object) -> Question:
        return self._pieces.question(self._what, "" if self._is_one else _spelled(word))

    def _asked_all(self) -> None:
        self._pieces.note(self._what)

    def __iter__(self) -> Iterator[Any]:
        self._asked_all()
        return iter(self._table)

    def __len__(self) -> int:
        self._asked_all()
        return len(self._table)

    @abstractmethod
    def answer(self, spelled: str) -> tuple[str, ...]:
        """What is said of a word, as it is spelled in a query; without one, of all."""


class Values(Table[Mapping[str, V]], Mapping[str, V]):
    """What a file says of a name."""

    def __getitem__(self, name: str) -> V:
        self._asked(name).note()
        return self._table[name]

    def get(self, name: str, default: Any = None) -> Any:
        """What is said of a name, or something else if that is nothing."""
        self._asked(name).note()
        return self._table.get(name, default)

    def __contains__(self, name: object) -> bool:
        self._asked(name).note()
        return name in self._table

    def answer(self, spelled: str) -> tuple[str, ...]:
        if not spelled:
            return tuple(f"{name} {_said(value)}" for name, value in self._table.items())
        return (_said(self._table[spelled]),) if spelled in self._table else ()


class Nodes(Table[Mapping[Any, Sequence[V]]], Mapping[Any, Sequence[V]]):
    """Nodes of a file by a word: who asks for a word has read what its nodes stand in."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._known: dict[Any, tuple[Question, ...]] = {}

    def __getitem__(self, word: Any) -> Sequence[V]:
        self._note(word)
        return self._table[word]

    def get(self, word: Any, default: Any = None) -> Any:
        """The nodes of a word, or something else if there are none."""
        self._note(word)
        return self._table.get(word, default)

    def _note(self, word: Any) -> None:
        known = self._known.get(word)
        if known is None:
            names = dict.fromkeys(self._names(word))
            bodies = [self._pieces.question(BODY, name) for name in names if name]
            known = self._known[word] = self._asked(word), *bodies
        for each in known:
            each.note()

    def __contains__(self, word: object) -> bool:
        self._asked(word).note()
        return word in self._table

    def _asked_all(self) -> None:
        self._pieces.note(ALL)

    def items(self) -> ItemsView[Any, Sequence[V]]:
        """All words with their nodes: one note stands for them."""
        self._asked_all()
        return self._table.items()

    def values(self) -> ValuesView[Sequence[V]]:
        """The nodes of all words."""
        self._asked_all()
        return self._table.values()

    def _names(self, word: Any) -> list[str]:
        return [self._pieces.name(node) for node in self._table.get(word, ())]  # type: ignore[arg-type]

    def answer(self, spelled: str) -> tuple[str, ...]:
        """The pieces that the nodes of a word stand in."""
        if not spelled:
            return tuple(f"{word} {self._names(word)}" for word in self._table)
        return tuple(self._names(self._spelling.get(spelled)))

    @cached_property
    def _spelling(self) -> dict[str, object]:
        """The words by how they are spelled in a query."""
        return {_spelled(word): word for word in self._table}


class Names(Table[frozenset[str]], Set[str]):
    """Names of a file that something holds for."""

    def __contains__(self, name: object) -> bool:
        self._asked(name).note()
        return name in self._table

    @classmethod
    def _from_iterable(cls, names: Iterable[Any]) -> frozenset[Any]:
        return frozenset(names)

    def answer(self, spelled: str) -> tuple[str, ...]:
        """Whether a name is there; without one, all of them."""
        return tuple(sorted(self._table)) if not spelled else ("",) if spelled in self._table else ()


class Kept(dict[object, object]):
    """What was worked out from a file, each with what it rests on."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self._reader, self._journal = reader, reader.journal
        self._numbers: dict[object, int] = {}
        self._begun: dict[object, int] = {}

    def get(self, key: object, default: object = None) -> object:
        """What is known, or the start of working it out."""
        known = key in self
        return self[key] if known else default

    def __contains__(self, key: object) -> bool:
        if self._journal is not self._reader.journal:
            # Where an answer was worked out is no place of another journal.
            self.clear()
            self._numbers, self._begun, self._journal = {}, {}, self._reader.journal
        known = super().__contains__(key)
        if not known:
            self._begun[key] = len(self._journal)
        return known

    def __getitem__(self, key: object) -> object:
        self._journal.used(self._numbers[key])
        return super().__getitem__(key)

    def __setitem__(self, key: object, value: object) -> None:
        super().__setitem__(key, value)
        journal = self._journal
        start = self._begun.get(key, len(journal))
        self._numbers[key] = journal.worked_out(start)


def _spelled(word: object) -> str:
    return word if type(word) is str else repr(word)


def _said(value: object) -> str:
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
