"""What somebody types into a Python file: its text in, edits out, each in one place and of one kind.

Comments are one kind. Numbers, names and arguments are typed into functions that hold a loss, and into functions that
hold none: what is judged again is not the same.
"""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

LOSSES = frozenset({"cross_entropy", "nll_loss", "binary_cross_entropy_with_logits", "CrossEntropyLoss", "NLLLoss"})

COMMENT = "comments"
CODE = ("numbers", "names", "arguments")
BESIDE, ELSEWHERE = "beside a loss", "in other functions"
KINDS = (COMMENT, *(f"{what} {where}" for where in (BESIDE, ELSEWHERE) for what in CODE))
GROUPS = (COMMENT, f"code {BESIDE}", f"code {ELSEWHERE}")
"""The kinds, with numbers, names and arguments taken together."""

FIRST = 10_000
"""The first number that is typed; each edit has the next one, so that no text is ever judged twice."""

STRIDE = 7
"""From one edit of a kind to the next, in places."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Place:
    """Where something is typed: the bytes of one row, from 0, that go, and what comes, around a number."""

    kind: str
    row: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Edit:
    """A row of a file, from 0, as it reads once something of this kind was typed into it."""

    kind: str
    row: int
    line: str


def group(kind: str) -> str:
    """The one of the groups that a kind belongs to.

    >>> group("numbers beside a loss")
    'code beside a loss'
    """
    return kind if kind == COMMENT else f"code {kind.partition(' ')[2]}"


def edits(text: str, count: int) -> Iterator[Edit]:
    """About so many edits, kind after kind, as many of each; each is one of the file as it was, and none comes twice.

    Raises:
        SyntaxError: the file is no Python.
    """
    rows, numbers, found = text.split("\n"), itertools.count(FIRST), places(text)
    for mine in found.values():
        for place in islice(cycle(_spread(mine)), -(-count // len(found))):
            line, new = rows[place.row].encode(), place.text.format(next(numbers)).encode()
            yield Edit(place.kind, place.row, (line[: place.start] + new + line[place.end :]).decode())


def places(text: str) -> dict[str, list[Place]]:
    """Where something can be typed, by kind, from top to bottom; kinds without a place are left out."""
    rows = [row.encode() for row in text.split("\n")]
    found = set(_comments(text))
    for function in _functions(ast.parse(text)):
        nodes = [node for statement in function.body for node in _outside_texts(statement)]
        where = BESIDE if any(map(_is_loss, nodes)) else ELSEWHERE
        found |= {place for node in nodes for place in _at(node, where, rows)}
    by_kind = {kind: [place for place in found if place.kind == kind] for kind in KINDS}
    return {kind: sorted(mine, key=lambda each: (each.row, each.start)) for kind, mine in by_kind.items() if mine}


def _spread(found: Sequence[Place]) -> list[Place]:
    """The same places in an order that jumps through the file."""
    return [place for start in range(STRIDE) for place in found[start::STRIDE]]


def _comments(text: str) -> Iterator[Place]:
    """Rows that are empty or a comment."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row = token.line.rstrip("\r\n")
        if token.type == tokenize.NL and (not row.strip() or row.lstrip().startswith("#")):
            end = len(row.encode())
            yield Place(COMMENT, token.start[0] - 1, end, end, "  # {}")


def _functions(tree: ast.Module) -> Iterator[Function]:
    """Every function that holds no other."""
    for node in ast.walk(tree):
        if isinstance(node, Function) and sum(isinstance(each, Function) for each in ast.walk(node)) == 1:
            yield node


def _outside_texts(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what it holds; not what formatted texts hold, which Python before 3.12 does not place."""
    if not isinstance(node, ast.JoinedStr):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _outside_texts(child)


def _is_loss(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in LOSSES
    return False


def _at(node: ast.AST, where: str, rows: Sequence[bytes]) -> Iterator[Place]:
    """What can be typed at a node: another number, more letters of a name, one more argument."""
    match node:
        case ast.Constant(value=bool()):
            return
        case ast.Constant(value=int() | float(), lineno=row, col_offset=start, end_lineno=last, end_col_offset=end):
            if row == last:
                yield Place(f"numbers {where}", row - 1, start, end or start, "{}")
        case ast.Name(ctx=ast.Load(), end_lineno=int(row), end_col_offset=int(end)):
            yield Place(f"names {where}", row - 1, end, end, "_{}")
        case ast.Call(args=[first, *_], keywords=[], end_lineno=int(row), end_col_offset=int(end)):
            before = rows[row - 1][: end - 1].rstrip()
            if before and not before.endswith(b",") and not isinstance(first, ast.GeneratorExp):
                yield Place(f"arguments {where}", row - 1, end - 1, end - 1, ", {}")
