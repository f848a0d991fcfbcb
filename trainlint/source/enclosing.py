"""The text of a file, or of a cell, in; the definitions that its rows lie in out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from trainlint.record import record
from trainlint.source.text import parsed_or_none

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast


@record
class Definition:
    """A class or a function: its name with those around it, and its rows."""

    name: str
    first: int
    last: int

    def holds(self, row: int) -> bool:
        return self.first <= row <= self.last


def definitions(text: str) -> tuple[Definition, ...]:
    """Every class and function, the outer ones first; none where the text cannot be read.

    >>> [each.name for each in definitions("class Model:\\n    def step(self):\\n        pass\\n")]
    ['Model', 'Model.step']
    """
    tree = parsed_or_none(text)
    if tree is None and (flush := textwrap.dedent(text)) != text:
        tree = parsed_or_none(flush)
    found = () if tree is None else _within(tree)
    return tuple(sorted(found, key=lambda each: (each.first, -each.last)))


def _within(tree: ast.Module) -> Iterator[Definition]:
    """A walk without recursion: a tree may be as deep as its file is long."""
    import ast

    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            around = f"{around}.{node.name}" if around else node.name
            yield Definition(around, node.lineno, node.end_lineno or node.lineno)
        children = (each for each in ast.iter_child_nodes(node) if not isinstance(each, ast.expr))
        waiting.extend((child, around) for child in children)
