"""One file in, its summary out: a pure function of its arguments, so it can be cached and run in parallel."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from trainlint.span import Span
from trainlint.value import Step

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Scope = FunctionNode | ast.ClassDef | ast.Module

LONGEST = 100
"""Evidence is one line: what is longer is cut."""


@dataclass(frozen=True, eq=False)
class Module:
    """One file as the linker sees it: its tree, where each node hangs, and what it imports."""

    name: str
    path: str
    tree: ast.Module
    rows: tuple[str, ...]
    parents: dict[ast.AST, ast.AST]
    imports: dict[str, str]
    stars: tuple[str, ...]
    kept: dict[object, object] = field(default_factory=dict)

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """Every call in the file, in the order of the text."""
        found = [node for node in self.parents if isinstance(node, ast.Call)]
        return tuple(sorted(found, key=lambda call: (call.lineno, call.col_offset, -(call.end_col_offset or 0))))

    @cached_property
    def is_test(self) -> bool:
        """Whether pytest would collect the file: what a test calls says nothing of what is trained."""
        parts = self.path.split(os.sep)
        file = parts[-1]
        return file == "conftest.py" or file.startswith("test_") or file.endswith("_test.py")

    @cached_property
    def stored(self) -> frozenset[str]:
        """The dotted names that any statement of the file writes to."""
        return frozenset(name for node in ast.walk(self.tree) if isinstance(node, ast.stmt) for name in bound(node))

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias | ast.arg | ast.excepthandler) -> Span:
        end_row, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        column, end_column = self._column(node.lineno, node.col_offset), self._column(end_row, end)
        return Span(self.path, node.lineno, column, end_row, end_column)

    def step(self, node: ast.expr | ast.stmt | ast.alias | ast.arg) -> Step:
        """What the code says at a node, on one line."""
        span = self.span(node)
        last = span.row if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else span.end_row
        lines = [self.rows[row - 1] for row in range(span.row, last + 1)]
        if last == span.end_row:
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


def summarize(name: str, path: str, tree: ast.Module, rows: tuple[str, ...]) -> Module:
    """Everything about one file that its text alone tells."""
    parents: dict[ast.AST, ast.AST] = {}
    imports: dict[str, str] = {}
    stars: list[str] = []
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        for child in ast.iter_child_nodes(node):
            parents[child] = node
            stack.append(child)
    package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    imports.setdefault(*_plain(alias))
            case ast.ImportFrom():
                base = absolute(package, node)
                stars += [base for alias in node.names if alias.name == "*"]
                for alias in node.names:
                    imports.setdefault(alias.asname or alias.name, f"{base}.{alias.name}")
    return Module(name, path, tree, rows, parents, imports, tuple(stars))


def absolute(package: str, node: ast.ImportFrom) -> str:
    """The full name of the module that a ``from`` import names, its dots resolved against the package."""
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    kept = parts[: len(parts) - (node.level - 1)]
    return ".".join([*kept, *([node.module] if node.module else [])])


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


def bound(node: ast.stmt) -> frozenset[str]:
    """The dotted names that one statement binds by itself, what stands inside it aside."""
    found: list[ast.AST] = []
    match node:
        case ast.Assign():
            found += node.targets
        case ast.AnnAssign(value=value) if value is not None:
            found.append(node.target)
        case ast.AugAssign():
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
    names = (dotted(target) for each in found for target in targets(each))
    return frozenset(name for name in names if name)
