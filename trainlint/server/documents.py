"""What the editor holds: its messages about documents in, files with the bytes that they would be saved as out.

A notebook's cells are documents of their own, and together one file. Documents that no file can be made of, such as
the old side of a comparison, are passed over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from lsprotocol import types

from trainlint.record import dataclass, field
from trainlint.regex import regex
from trainlint.server.places import characters, path_of
from trainlint.source.text import NOTEBOOK, Fault, encoding

LINE = regex(r"[^\r\n]*(?:\r\n|\r|\n)")
NOT_IN_NAMES = regex(r"[^-. \w]")
UNSAVED = "untitled"
PYTHON = "python"
CODE = (".py", ".pyi", NOTEBOOK)


@dataclass(frozen=True)
class Buffer:
    """The text of one document: its lines with their ends, the last one without."""

    uri: str
    version: int
    lines: tuple[str, ...]

    def row(self, number: int) -> str:
        """A line without its end; nothing for a line that is not there."""
        return self.lines[number - 1].rstrip("\r\n") if number <= len(self.lines) else ""

    @property
    def newline(self) -> str:
        """What ends the first line."""
        return self.lines[0][len(self.row(1)) :] or "\n"


@dataclass(frozen=True)
class Opened:
    """A file as the editor holds it: the bytes it would be saved as, and its documents, by cell in a notebook.

    ``is_code`` says whether it is to be judged; other files only tell what numbers are.
    """

    path: str
    data: bytes
    buffers: Mapping[int | None, Buffer]
    is_code: bool = True


@dataclass
class Document:
    """One open document."""

    uri: str
    path: str
    language: str
    version: int
    lines: list[str]

    def change(self, change: types.TextDocumentContentChangeEvent, encoding: str) -> None:
        """Take one change."""
        if not isinstance(change, types.TextDocumentContentChangePartial):
            self.lines = split(change.text)
            return
        (first, before), (last, after) = (
            self._place(place, encoding) for place in (change.range.start, change.range.end)
        )
        text = self.lines[first][:before] + change.text + self.lines[last][after:]
        if first and self.lines[first - 1].endswith("\r"):
            first, text = first - 1, self.lines[first - 1] + text
        new = split(text)
        if last + 1 < len(self.lines) and not new[-1]:
            new.pop()
        self.lines[first : last + 1] = new

    def _place(self, place: types.Position, encoding: str) -> tuple[int, int]:
        """The line and the character of a place, the nearest there are."""
        if place.line >= len(self.lines):
            return len(self.lines) - 1, len(self.lines[-1])
        return place.line, characters(self.lines[place.line].rstrip("\r\n"), place.character, encoding)

    def buffer(self) -> Buffer:
        """The text as it is now."""
        return Buffer(self.uri, self.version, tuple(self.lines))


@dataclass
class Notebook:
    """One open notebook: its cells in their order, which may hold no code."""

    path: str
    cells: list[types.NotebookCell] = field(default_factory=list)


def split(text: str) -> list[str]:
    """The lines of a text with their ends, and what follows the last end.

    >>> split("a\\r\\nb\\x0cc\\r"), split("")
    (['a\\r\\n', 'b\\x0cc\\r', ''], [''])
    """
    lines = LINE.findall(text)
    return [*lines, text[sum(map(len, lines)) :]]


def encoded(text: str) -> bytes:
    """The bytes that a text of Python is saved as, in the encoding that it declares."""
    data = text.encode(errors="replace")
    declared = encoding(data)
    return data if isinstance(declared, Fault) or declared == "utf-8" else text.encode(declared, "replace")


class Documents:
    """Everything that is open. ``home`` is the folder that documents without a file are taken to lie in."""

    def __init__(self, home: str, encoding: str) -> None:
        self._home, self._encoding = home, encoding
        self._documents: dict[str, Document] = {}
        self._notebooks: dict[str, Notebook] = {}
        self._cells: dict[str, str] = {}
        self._opened: dict[str, Opened] = {}

    @property
    def opened(self) -> Mapping[str, Opened]:
        """The open files by their paths, as they are now."""
        for path in self._paths():
            if path not in self._opened:
                self._opened[path] = self._file(path)
        return dict(self._opened)

    def at(self, uri: str) -> tuple[str, int | None] | None:
        """The file that a document belongs to, and its cell; None where it belongs to none."""
        if uri in self._cells:
            notebook = self._notebooks[self._cells[uri]]
            numbers = (number for number, cell in enumerate(notebook.cells, start=1) if cell.document == uri)
            return next(((notebook.path, number) for number in numbers), None)
        return (self._documents[uri].path, None) if uri in self._documents else None

    def open(self, item: types.TextDocumentItem) -> str | None:
        """A document is opened; the path of its file."""
        path = self._path(item.uri, item.language_id)
        if path is not None:
            self._put(item, path)
        return path

    def change(self, uri: str, version: int, changes: Iterable[types.TextDocumentContentChangeEvent]) -> str | None:
        """A document changed; the path of its file."""
        if uri not in self._documents:
            return None
        document = self._documents[uri]
        for change in changes:
            document.change(change, self._encoding)
        document.version = version
        return self._stale(document.path)

    def close(self, uri: str) -> str | None:
        """A document is closed; the path of its file."""
        document = self._documents.pop(uri, None)
        return self._stale(document.path) if document else None

    def open_notebook(self, notebook: types.NotebookDocument, items: Iterable[types.TextDocumentItem]) -> str | None:
        """A notebook is opened; the path of its file."""
        path = self._path(notebook.uri, PYTHON, NOTEBOOK)
        if path is not None:
            self._notebooks[notebook.uri] = Notebook(path, list(notebook.cells))
            for item in items:
                self._put(item, path)
                self._cells[item.uri] = notebook.uri
        return path

    def change_notebook(self, uri: str, change: types.NotebookDocumentChangeEvent) -> str | None:
        """The cells of a notebook, or what stands in them, changed; the path of its file."""
        if uri not in self._notebooks:
            return None
        notebook, cells = self._notebooks[uri], change.cells or types.NotebookDocumentCellChanges()
        for item in (cells.structure.did_open or ()) if cells.structure else ():
            self._put(item, notebook.path)
            self._cells[item.uri] = uri
        if cells.structure:
            array = cells.structure.array
            notebook.cells[array.start : array.start + array.delete_count] = array.cells or ()
            for closed in cells.structure.did_close or ():
                self._close_cell(closed.uri)
        known = {cell.document: cell for cell in cells.data or ()}
        notebook.cells = [known.get(cell.document, cell) for cell in notebook.cells]
        for text in cells.text_content or ():
            self.change(text.document.uri, text.document.version, text.changes)
        return self._stale(notebook.path)

    def close_notebook(self, uri: str) -> str | None:
        """A notebook is closed; the path of its file."""
        notebook = self._notebooks.pop(uri, None)
        for cell in [cell for cell, of in self._cells.items() if of == uri]:
            self._close_cell(cell)
        return self._stale(notebook.path) if notebook else None

    def _close_cell(self, uri: str) -> None:
        self._cells.pop(uri, None)
        self._documents.pop(uri, None)

    def _put(self, item: types.TextDocumentItem, path: str) -> None:
        self._documents[item.uri] = Document(item.uri, path, item.language_id, item.version, split(item.text))
        self._stale(path)

    def _path(self, uri: str, language: str, suffix: str = ".py") -> str | None:
        """The path of a document's file; one is made up for a document of Python that was never saved."""
        scheme, _, name = uri.partition(":")
        if scheme == UNSAVED and language == PYTHON:
            known = path_of(f"file://{name}") if name.startswith("/") else None
            return known or os.path.join(self._home, NOT_IN_NAMES.sub("_", unquote(name)) + suffix)
        return path_of(uri)

    def _stale(self, path: str) -> str:
        self._opened.pop(path, None)
        return path

    def _paths(self) -> Iterator[str]:
        yield from (document.path for uri, document in self._documents.items() if uri not in self._cells)
        yield from (notebook.path for notebook in self._notebooks.values())

    def _file(self, path: str) -> Opened:
        for notebook in self._notebooks.values():
            if notebook.path == path:
                return self._notebook(notebook)
        document = next(each for each in reversed(self._documents.values()) if each.path == path)
        is_code = document.language == PYTHON or path.endswith(CODE)
        return Opened(path, encoded("".join(document.lines)), {None: document.buffer()}, is_code)

    def _notebook(self, notebook: Notebook) -> Opened:
        documents = [self._documents.get(cell.document) for cell in notebook.cells]
        cells = [_cell(cell, document) for cell, document in zip(notebook.cells, documents, strict=True)]
        numbered = enumerate(documents, start=1)
        buffers: dict[int | None, Buffer] = {number: document.buffer() for number, document in numbered if document}
        return Opened(notebook.path, json.dumps({"cells": cells, "metadata": {}}).encode(), buffers)


def _cell(cell: types.NotebookCell, document: Document | None) -> Mapping[str, object]:
    """A cell as a notebook's file has it."""
    is_code = cell.kind is types.NotebookCellKind.Code and document is not None
    language = document.language if document else ""
    return {
        "cell_type": "code" if is_code else "markdown",
        "metadata": {"vscode": {"languageId": language}},
        "source": "".join(document.lines) if document else "",
    }
