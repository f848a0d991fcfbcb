"""What is read of a file, noted piece by piece, so that an edit takes along only what looked at what was edited.

A function or method is its signature and its body; a class is its head and its statements; every other statement of a
file or a class is a piece by itself. Whoever looks at a signature, a head or a body notes it, however he came there,
and so does who looks which statements there are, all of them or those that bind a name. What a table says of a word is
noted with the word. A plain statement is named for what it says: whoever noted its name noted all of it. Blank lines
and comments between pieces, or between the statements of a function, belong to none, and where a piece stands counts
only for who asks for its rows.
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
from trainlint.source.comments import beginning, uncommented
from trainlint.source.journal import (
    ALL,
    BODY,
    HEAD,
    LAST,
    MEMBERS,
    PLAIN,
    ROWS,
    SAYS,
    TEXT,
    Journal,
    Kind,
    Query,
)
from trainlint.source.text import column

T = TypeVar("T", bound=Collection[Any])
V = TypeVar("V")

Layout = tuple[tuple[str, int, int, int], ...]
"""The pieces of a file in their order: the name of each, its first row, and the row and column of its end."""


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


def _behind(question: str, name: str) -> property:
    """A field of a node that notes whoever reads it."""

    def read(node: ast.AST) -> Any:
        fields = node.__dict__
        fields[question].note()
        return fields[hidden(name)]

    return property(read)


def hidden(name: str) -> str:
    """Where a field is kept that stands behind a question."""
    return "inside" if name == "body" else f"own_{name}"


class Function(ast.FunctionDef):
    """A function whose signature and whose body are noted by whoever looks at them."""

    body = _behind("question", "body")
    args = _behind("signature", "args")
    decorator_list = _behind("signature", "decorator_list")
    returns = _behind("signature", "returns")
    question: Question
    signature: Question
    inside: list[ast.stmt]


class AsyncFunction(ast.AsyncFunctionDef):
    """The same for ``async def``."""

    body = Function.body
    args = Function.args
    decorator_list = Function.decorator_list
    returns = Function.returns
    question: Question
    signature: Question
    inside: list[ast.stmt]


class ClassNode(ast.ClassDef):
    """A class: its head is noted by whoever looks at it, and so is which statements its body has."""

    body = _behind("question", "body")
    bases = _behind("signature", "bases")
    keywords = _behind("signature", "keywords")
    decorator_list = _behind("signature", "decorator_list")
    question: Question
    signature: Question
    inside: list[ast.stmt]
    own_bases: list[ast.expr]
    holder: Holder


class Tree(ast.Module):
    """A file: whoever looks which statements it has is noted."""

    body = _behind("question", "body")
    question: Question
    inside: list[ast.stmt]
    holder: Holder


Tracked = Function | AsyncFunction | ClassNode | Tree
BEHIND = {
    kind: frozenset(name for name in kind._fields if isinstance(vars(kind).get(name), property))
    for kind in (Function, AsyncFunction, ClassNode)
}
"""The fields of a node that stand behind a question."""


@dataclass(frozen=True, eq=False)
class Holder:
    """A file or a class: its name, nothing for the file, its statements, and the name of the piece of each."""

    name: str
    statements: list[ast.stmt]
    pieces: tuple[str, ...]

    def place(self, statement: ast.AST) -> int:
        """Where one of its statements stands."""
        return next(place for place, each in enumerate(self.statements) if each is statement)

    @property
    def plain(self) -> list[ast.stmt]:
        """The statements that define no function and no class, not noted."""
        pairs = zip(self.statements, self.pieces, strict=True)
        return [each for each, piece in pairs if is_plain(piece)]


@dataclass(frozen=True)
class Stretch:
    """A piece by its name: where it starts and ends, rows from 1, bytes from 0."""

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
    holders: dict[str, Holder] = field(default_factory=dict)

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
        """The name of the piece that a node stands in, nothing if that is none."""
        place = bisect_right(self._starts, (node.lineno, node.col_offset)) - 1
        return self.stretches[place].name if place >= 0 else ""

    def standing(self, row: int) -> str:
        """The piece in which a row stands, and how far below its start: who knows both can move what is said of it."""
        place = bisect_right(self._starts, (row + 1, 0)) - 1
        stretch = self.stretches[place] if place >= 0 else Stretch("", (1, 0), (1, 0))
        return f"{stretch.name} {row - stretch.start[0]}"

    def note_around(self, node: ast.expr | ast.stmt) -> None:
        """What a node stands in is read; of code that runs when the file does, what stands around it too."""
        name = self.name(node) if self.reader is not None else ""
        if name:
            self.question(BODY, name).note()
        if is_plain(name):
            self.question(MEMBERS, name.rpartition("=")[0].removesuffix(".")).note()

    @property
    def layout(self) -> Layout:
        """Where each piece stands."""
        ends = ((each, column(self.rows[each.end[0] - 1], each.end[1])) for each in self.stretches)
        return tuple((each.name, each.start[0], each.end[0], end) for each, end in ends)

    def answer(self, what: str, word: str) -> tuple[str, ...]:
        """What tells a piece, the text or the rows from any other."""
        if what == HEAD:
            return ("",)
        if what == SAYS:
            flags, _, pattern = word.partition(" ")
            return ("",) if re.search(pattern, "\n".join(self.rows), int(flags)) else ()
        text = self._told(what, word)
        return () if text is None else (_digest(text),)

    def _told(self, what: str, word: str) -> str | None:
        """A text that tells the answer to a question from any other; None where there is no such piece."""
        if what == ROWS:
            return repr(self.layout)
        if what == TEXT:
            return "\n".join(self.rows)
        if what == ALL:
            return "\0".join(map(self._text, self.stretches))
        if what == BODY:
            return self._text(self._by_name[word]) if word in self._by_name else None
        holder = self.holders.get(word)
        pieces = holder.pieces if holder else ()
        chosen = {MEMBERS: pieces, PLAIN: tuple(filter(is_plain, pieces)), LAST: pieces[-1:]}[what]
        return "\0".join(chosen) if holder else None

    @cached_property
    def _by_name(self) -> dict[str, Stretch]:
        return {each.name: each for each in self.stretches}

    @cached_property
    def _functions(self) -> dict[str, list[ast.stmt]]:
        """What is inside of each function that is a piece."""
        pairs = (pair for each in self.holders.values() for pair in zip(each.pieces, each.statements, strict=True))
        return {name: node.inside for name, node in pairs if isinstance(node, Function | AsyncFunction)}

    def _text(self, stretch: Stretch) -> str:
        """What is written in a piece; of a function's body, without the comments that nobody quotes with the code."""
        text, inside = _between(self.rows, stretch.start, stretch.end), self._functions.get(stretch.name)
        if inside is None or "#" not in text:
            return text
        return _between(self.rows, stretch.start, stretch.end, uncommented(self.rows, inside))


def _between(
    rows: Sequence[str], start: tuple[int, int], end: tuple[int, int], others: Mapping[int, str] | None = None
) -> str:
    """What stands there, with the columns in which it starts, in bytes and in characters; ``others`` are rows that say
    something else, by their number.
    """
    (first, offset), (last, stop) = start, end
    lines = list(rows[first - 1 : last])
    for number, row in (others or {}).items():
        lines[number - first] = row
    lines[-1] = lines[-1].encode(errors="replace")[:stop].decode(errors="replace")
    before = len(lines[0])
    lines[0] = lines[0].encode(errors="replace")[offset:].decode(errors="replace")
    return f"{offset} {before - len(lines[0])} " + "\n".join(lines)


def is_plain(name: str) -> bool:
    """Whether a piece is a statement that defines no function and no class."""
    return "=" in name


def _digest(text: str) -> str:
    import hashlib

    return hashlib.blake2b(text.encode(errors="replace"), digest_size=12).hexdigest()


def divided(path: str, tree: ast.Module, rows: Sequence[str], reader: Reader) -> tuple[Tree, Pieces]:
    """A file in pieces: what can be looked into notes who does. The tree that is given is used up."""
    pieces = Pieces(path, rows, [], reader)
    division = _Division(pieces)
    division.hold("", tree.body)
    found = Pieces(path, rows, sorted(division.stretches, key=lambda each: each.start), reader, pieces.holders)
    return whole(tree.body, pieces.holders[""].pieces, found), found


class _Division:
    """A file that is being divided, its classes from outside in."""

    def __init__(self, pieces: Pieces) -> None:
        self.stretches: list[Stretch] = []
        self._pieces = pieces
        self._names: dict[str, int] = {}

    def hold(self, name: str, block: list[ast.stmt]) -> Holder:
        """The statements of the file or of a class, in their pieces."""
        around = f"{name}." if name else ""
        names = []
        for place, node in enumerate(block):
            piece = self._numbered(f"{around}{self._name(node)}")
            names.append(piece)
            block[place] = self._piece(piece, node)
        holder = self._pieces.holders[name] = Holder(name, block, tuple(names))
        return holder

    def _name(self, node: ast.stmt) -> str:
        """What a statement is called where it stands: a plain one by what it says."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return f"{node.name}{ENDS[type(node)]}"
        return f"={_digest(_between(self._pieces.rows, beginning(node), _end(node)))[:DIGITS]}"

    def _numbered(self, name: str) -> str:
        """A name that no other piece has."""
        count = self._names[name] = self._names.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"

    def _piece(self, name: str, node: ast.stmt) -> ast.stmt:
        """A statement with a piece of its own, or with two of them."""
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.stretches.append(Stretch(name, beginning(node), _end(node)))
            return node
        start, inner = beginning(node), beginning(node.body[0])
        head = Stretch(f"{name}()", start, _before(inner, start, self._pieces.rows))
        self.stretches.append(head)
        signature = self._pieces.question(BODY, head.name)
        if not isinstance(node, ast.ClassDef):
            self.stretches.append(Stretch(name, inner, _end(node)))
            kind: type[Function | AsyncFunction] = Function if isinstance(node, ast.FunctionDef) else AsyncFunction
            return _tracked(kind, node, signature=signature, question=self._pieces.question(BODY, name))
        holder = self.hold(name, node.body)
        question = self._pieces.question(MEMBERS, name)
        return _tracked(ClassNode, node, signature=signature, question=question, holder=holder)


def whole(statements: list[ast.stmt], names: Sequence[str], pieces: Pieces) -> Tree:
    """A file of these statements, whose pieces have these names."""
    tree = Tree.__new__(Tree)
    tree.__dict__.update(inside=statements, type_ignores=[], question=pieces.question(MEMBERS, ""))
    tree.holder = pieces.holders[""] = Holder("", statements, tuple(names))
    return tree


ENDS = {ast.FunctionDef: "", ast.AsyncFunctionDef: "*", ast.ClassDef: ":"}
"""What tells the names of things that are defined from each other."""

DIGITS = 16
"""Of what a statement says, so many tell it from all others of its file."""


def _tracked(
    kind: type[Function | AsyncFunction | ClassNode], node: ast.stmt, **more: Question | Holder
) -> Function | AsyncFunction | ClassNode:
    """The same node, what it holds behind doors."""
    made, behind = kind.__new__(kind), BEHIND[kind]
    made.__dict__.update((hidden(each) if each in behind else each, value) for each, value in node.__dict__.items())
    made.__dict__.update(more)
    return made


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


def inside(node: ast.AST) -> list[ast.stmt]:
    """The body of a function, class or file, not noted: for who stands in it."""
    return node.inside if isinstance(node, Tracked) else node.body  # type: ignore[attr-defined]


def bases(node: ast.ClassDef) -> list[ast.expr]:
    """The bases of a class, not noted."""
    return node.own_bases if isinstance(node, ClassNode) else node.bases


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

    def items(self) -> ItemsView[str, V]:
        """All names with what is said of them: one note stands for them."""
        self._asked_all()
        return self._table.items()

    def values(self) -> ValuesView[V]:
        """What is said of all names."""
        self._asked_all()
        return self._table.values()

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
            # A statement is named for what it says.
            bodies = [self._pieces.question(BODY, name) for name in names if name and not is_plain(name)]
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
        return [self._pieces.name(self._node(each)) for each in self._table.get(word, ())]

    def _node(self, value: V) -> ast.expr | ast.stmt:
        return value  # type: ignore[return-value]

    def answer(self, spelled: str) -> tuple[str, ...]:
        """The pieces that the nodes of a word stand in."""
        if not spelled:
            return tuple(f"{word} {self._names(word)}" for word in self._table)
        return tuple(self._names(self._spelling.get(spelled)))

    @cached_property
    def _spelling(self) -> dict[str, object]:
        """The words by how they are spelled in a query."""
        return {_spelled(word): word for word in self._table}


class Pairs(Nodes[tuple[ast.expr, ast.stmt]]):
    """Nodes with their statements."""

    def _node(self, value: tuple[ast.expr, ast.stmt]) -> ast.expr | ast.stmt:
        return value[0]


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
    """What was worked out from a file, each with what it rests on.

    As long as the file is as it was, so is what rests on nothing else: it is taken over by the next journal.
    """

    def __init__(self, reader: Reader, path: str) -> None:
        super().__init__()
        self._reader, self._journal, self._path = reader, reader.journal, path
        self._numbers: dict[object, int] = {}
        self._begun: dict[object, int] = {}
        self._own: dict[object, frozenset[int]] = {}

    def get(self, key: object, default: object = None) -> object:
        """What is known, or the start of working it out."""
        known = key in self
        return self[key] if known else default

    def __contains__(self, key: object) -> bool:
        if self._journal is not self._reader.journal:
            self._turn()
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

    def _turn(self) -> None:
        """Be noted in the journal that is written now."""
        before, journal = self._journal, self._reader.journal
        known, numbers, own = dict(self), self._numbers, self._own
        self.clear()
        self._numbers, self._begun, self._own, self._journal = {}, {}, {}, journal
        # Places mean something else once leaves were let go of.
        for key, value in known.items() if before.leaves is journal.leaves else ():
            places = own.get(key)
            if places is None:
                places = before.rests(numbers[key])
                if not journal.leaves.are_of(places, self._path):
                    continue
            super().__setitem__(key, value)
            self._own[key], self._numbers[key] = places, journal.known(places)


def _spelled(word: object) -> str:
    return word if type(word) is str else repr(word)


def _said(value: object) -> str:
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
