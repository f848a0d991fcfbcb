"""The bytes of a notebook in, its cells out, and all of them as one module whose rows know their cell.

Cells count from 1, those that hold no code included. Each cell of code is preceded by a row of its own, which belongs
to no cell: there stands what an indented cell hangs on. Outputs and pictures are passed over and never looked at.
"""

from __future__ import annotations

import ast
import gc
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from trainlint.record import record
from trainlint.regex import regex
from trainlint.source.magics import MAY_ESCAPE, as_python
from trainlint.source.syntax import is_readable
from trainlint.source.text import Fault, parse_text

HEAD = ("", "")
"""Rows above the first cell: a declaration of an encoding counts in the first two of a file, and in no notebook."""

INDENTED = "if 1:"
"""A cell whose first row is indented hangs on this."""

PYTHON = regex(rb'"name"\s*:\s*"i?python')
NEAR = 1000
"""Bytes of ``language_info`` that are searched for its name before the whole notebook is."""


@record
class Cell:
    """One cell of code: its number, and its rows as they are written."""

    number: int
    rows: tuple[str, ...]

    @cached_property
    def python(self) -> str:
        """Its text as Python, row for row; what only IPython reads may still be Python that looks like it."""
        text = "\n".join(self.rows)
        if not MAY_ESCAPE.search(text) or is_readable(text):
            return text
        return as_python(text)


@record
class Notebook:
    """The cells of code, in order."""

    cells: tuple[Cell, ...]

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The rows of all cells, those between them included."""
        return (*HEAD, *(row for cell in self.cells for row in ("", *cell.rows)))

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """For each cell the row, counted from 1 over all, that precedes its first one."""
        firsts, row = [], len(HEAD)
        for cell in self.cells:
            row += 1
            firsts.append(row)
            row += len(cell.rows)
        return tuple(firsts)

    @property
    def data(self) -> bytes:
        """What the words of the notebook are looked for in."""
        return "\n".join(self.rows).encode(errors="replace")

    def place(self, row: int) -> tuple[int | None, int]:
        """The cell that a row of the whole lies in, and its row there.

        >>> Notebook((Cell(2, ("a = 1",)), Cell(4, ("b = 2", "c = 3")))).place(7)
        (4, 2)
        """
        place = bisect_right(self.firsts, row) - 1
        return (self.cells[place].number, row - self.firsts[place]) if place >= 0 else (None, row)


def opened(data: bytes) -> Notebook | Fault:
    """The cells of a notebook of any format, or why there are none."""
    document = _document(data)
    if isinstance(document, Fault):
        return document
    listed = _listed(document)
    if listed is None:
        return Fault("it is no notebook: it is JSON and holds no list of cells")
    return Notebook(tuple(_code(listed)))


def foreign(data: bytes) -> str | None:
    """The language of a notebook that is not Python's; a notebook that names none is taken for one of Python's.

    >>> foreign(b'{"cells": [], "metadata": {"kernelspec": {"name": "ir", "language": "R"}}}')
    'R'
    """
    if b'"language' not in data:
        return None
    place = data.rfind(b'"language_info"')
    if place >= 0 and PYTHON.search(data, place, place + NEAR):
        return None
    metadata = _get(_document(data), "metadata")
    named = (_get(_get(metadata, "language_info"), "name"), _get(_get(metadata, "kernelspec"), "language"))
    language = next((name for name in named if isinstance(name, str) and name), "python")
    return None if _is_python(language) else language


def parsed(notebook: Notebook) -> tuple[ast.Module, tuple[Fault, ...]]:
    """One tree for all cells that can be read, and what is wrong with each of the others."""
    whole = _together(("", cell.python) for cell in notebook.cells)
    if not isinstance(whole, Fault) and _is_apart(whole, notebook):
        return whole, ()
    checked = [_checked(cell) for cell in notebook.cells]
    faults = tuple(each for _, _, each in checked if each)
    whole = _together((head, text) for head, text, _ in checked)
    return (ast.Module([], []), (*faults, whole)) if isinstance(whole, Fault) else (whole, faults)


def _together(cells: Iterable[tuple[str, str]]) -> ast.Module | Fault:
    """The tree of all cells, each a row to hang on and a text."""
    return parse_text("\n".join([*HEAD, *(row for cell in cells for row in cell)]))


def _is_apart(tree: ast.Module, notebook: Notebook) -> bool:
    """Whether no statement runs from one cell into the next, as an open string would."""
    return all(
        notebook.place(min(node.lineno, *_decorated(node)))[0] == notebook.place(node.end_lineno or node.lineno)[0]
        for node in tree.body
    )


def _decorated(node: ast.stmt) -> Iterator[int]:
    yield node.lineno
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from (each.lineno for each in node.decorator_list)


def _checked(cell: Cell) -> tuple[str, str, Fault | None]:
    """What a cell hangs on and its text, which is blank where the cell cannot be read by itself, and why.

    IPython lets the first row of a cell be indented.
    """
    text = cell.python
    read = parse_text(text)
    if not isinstance(read, Fault):
        return "", text, None
    if text.lstrip("\n")[:1] in (" ", "\t") and is_readable(f"{INDENTED}\n{text}"):
        return INDENTED, text, None
    return "", "\n" * text.count("\n"), Fault(read.reason, read.row, read.column, cell.number)


def _document(data: bytes) -> object:
    """The JSON of a notebook; a ``Fault`` where it is none."""
    import json

    collecting = gc.isenabled()
    gc.disable()  # A notebook's JSON holds no cycles, and reading it with the collector on takes twice as long.
    try:
        return json.loads(data) if data.strip() else {"cells": []}
    except json.JSONDecodeError as error:
        return Fault(f"it is no notebook: not valid JSON: {error.msg}", error.lineno, error.colno)
    except UnicodeDecodeError:
        return Fault("it is no notebook: not valid JSON: not UTF-8")
    except (ValueError, RecursionError, MemoryError):
        return Fault("it is no notebook: its JSON is too large or too deep to read")
    finally:
        if collecting:
            gc.enable()


def _listed(document: object) -> list[object] | None:
    """All cells; the formats before 4 kept them on worksheets."""
    found = _get(document, "cells")
    if isinstance(found, list):
        return found
    sheets = _get(document, "worksheets")
    if not isinstance(sheets, list):
        return None
    return [cell for sheet in sheets if isinstance(cells := _get(sheet, "cells"), list) for cell in cells]


def _code(cells: Sequence[object]) -> Iterator[Cell]:
    for number, cell in enumerate(cells, start=1):
        if _get(cell, "cell_type") == "code" and all(map(_is_python, _languages(cell))):
            yield Cell(number, tuple(_source(cell).split("\n")))


def _source(cell: object) -> str:
    """The text of a cell, whole or in pieces; a half of a surrogate pair, which JSON allows, is no text."""
    written = _get(cell, "source") or _get(cell, "input")
    pieces = written if isinstance(written, list) else [written]
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    text = text if text.isascii() else text.encode(errors="replace").decode()
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _languages(cell: object) -> Iterator[str]:
    """What a cell says of its own language: in format 3, and in editors that mix languages."""
    for language in (_get(cell, "language"), _get(_get(_get(cell, "metadata"), "vscode"), "languageId")):
        if isinstance(language, str):
            yield language


def _is_python(language: str) -> bool:
    return language.lower().startswith(("python", "ipython"))


def _get(table: object, key: str) -> object:
    return table.get(key) if isinstance(table, dict) else None
