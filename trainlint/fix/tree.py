"""One text in, its tree by places out: which expression, call or statement a span is, and what stands around it.

Rows and columns are those of ``Span``: from 1, in characters, the end column outside.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider, ScopeProvider
from libcst.metadata.scope_provider import Scope

from trainlint.span import Span

N = TypeVar("N", bound=cst.CSTNode)
Place = tuple[int, int]
"""A row and a column."""

COMMENT = re.compile(r"#[^\n]*\n")
"""A comment inside of an expression, which goes on below; what only looks like one may be found too."""


class Unfixable(Exception):
    """A fix that cannot be put into the text of its file; the message says why."""


class Tree:
    """One text, parsed, and the range of each of its nodes."""

    def __init__(self, text: str) -> None:
        """Parse a text whose lines end in a newline.

        Raises:
            Unfixable: it is no Python that can be taken apart.
        """
        self.text = text
        self.rows = text.split("\n")
        try:
            self._wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
            self._ranges = self._wrapper.resolve(PositionProvider)
            self._parents = self._wrapper.resolve(ParentNodeProvider)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise Unfixable("the file cannot be taken apart") from error

    @property
    def module(self) -> cst.Module:
        return self._wrapper.module

    @cached_property
    def _scopes(self) -> dict[cst.CSTNode, Scope | None]:
        return dict(self._wrapper.resolve(ScopeProvider))

    @cached_property
    def _by_place(self) -> dict[tuple[Place, Place], list[cst.CSTNode]]:
        """The nodes by their range; what stands in parentheses by that of its innermost pair, too."""
        found: dict[tuple[Place, Place], list[cst.CSTNode]] = defaultdict(list)
        for node in self._ranges:
            found[self.start(node), self.end(node)].append(node)
            if isinstance(node, cst.BaseExpression) and node.lpar:
                found[self.start(node.lpar[-1]), self.end(node.rpar[0])].append(node)
        return found

    def start(self, node: cst.CSTNode) -> Place:
        return _place(self._ranges[node].start)

    def end(self, node: cst.CSTNode) -> Place:
        return _place(self._ranges[node].end)

    def outer(self, node: cst.BaseExpression) -> tuple[Place, Place]:
        """The range of an expression with all of its parentheses."""
        first, last = (node.lpar[0], node.rpar[-1]) if node.lpar else (node, node)
        return self.start(first), self.end(last)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        return self._parents[node]

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """A node and all that it stands in."""
        while True:
            yield node
            if isinstance(node, cst.Module):
                return
            node = self._parents[node]

    def scope(self, node: cst.CSTNode) -> Scope | None:
        return next((self._scopes[each] for each in self.above(node) if each in self._scopes), None)

    def at(self, place: Place) -> cst.CSTNode:
        """The smallest node that a place lies in."""
        around = (node for node in self._ranges if self.start(node) <= place < self.end(node))
        return max(around, key=lambda node: (self.start(node), [-each for each in self.end(node)]), default=self.module)

    def find(self, where: Span, kind: type[N] | tuple[type[N], ...]) -> N:
        """The outermost node of a kind that a span is, exactly.

        Raises:
            Unfixable: there is none.
        """
        key = ((where.row, where.column), (where.end_row, where.end_column))
        for node in reversed(self._by_place.get(key, ())):
            if isinstance(node, kind):
                return node
        raise Unfixable("what stands there is not what was judged")

    def spare(self, start: Place, end: Place) -> None:
        """See that a stretch that goes holds no comment.

        Raises:
            Unfixable: it holds one, which would be lost.
        """
        if COMMENT.search(self.between(start, end)):
            raise Unfixable("a comment stands in what would be removed")

    def between(self, start: Place, end: Place) -> str:
        """The text of a stretch."""
        (row, column), (end_row, end_column) = start, end
        if row == end_row:
            return self.rows[row - 1][column - 1 : end_column - 1]
        middle = self.rows[row : end_row - 1]
        return "\n".join([self.rows[row - 1][column - 1 :], *middle, self.rows[end_row - 1][: end_column - 1]])


def stretch(where: Span, start: Place, end: Place) -> Span:
    """Another stretch of the file, or cell, that a span lies in."""
    return Span(where.path, *start, *end, where.cell)


def _place(position: object) -> Place:
    return position.line, position.column + 1  # type: ignore[attr-defined]
