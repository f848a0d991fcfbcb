"""The files of a project as modules: parsed when asked for, found by name or by the words in them."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from trainlint.source.summary import Module, summarize
from trainlint.source.text import MISSING, Fault, parse, rows

MOST_FILES = 48
"""Files that one reverse query may read."""


FEW_FILES = 6
"""Files that may write an attribute of one name before the name counts as common."""

WRITES = re.compile(rb"(?<!\bself)\.(\w+)[ \t]*(?:[-+*]|//)?=(?!=)")
"""A write to an attribute of something that is not called ``self``."""

SETTERS = re.compile(rb"setattr\(\s*[\w.]+\s*,\s*[\"'](\w+)[\"']")
"""The same through ``setattr``."""


class Workspace:
    """A table that fills itself: ``read`` gives a file's bytes, everything else follows from them."""

    def __init__(
        self,
        root: str,
        files: Sequence[str],
        search: Sequence[str],
        values: Mapping[str, int],
        read: Callable[[str], bytes | Fault],
    ) -> None:
        self.root, self.files, self.search, self.values, self._read = root, files, search, values, read
        self._known = frozenset(files)
        self._bytes: dict[str, bytes | Fault] = {}
        self._modules: dict[str, Module | Fault] = {}
        self._found: dict[tuple[str, str], Module | None] = {}
        self._mentions: dict[tuple[str, str], tuple[Module, ...]] = {}
        self._files: dict[str, list[str]] = {}
        self._written: dict[str, list[str]] | None = None
        self._names: dict[tuple[object, ...], int] = {}
        self.answers: dict[tuple[object, ...], object] = {}

    def bytes(self, path: str) -> bytes | Fault:
        if path not in self._bytes:
            self._bytes[path] = self._read(path)
        return self._bytes[path]

    def exists(self, path: str) -> bool:
        """Whether there is a file, readable or not."""
        data = self.bytes(path)
        return isinstance(data, bytes) or data.reason != MISSING

    def module(self, path: str) -> Module | Fault:
        if path not in self._modules:
            self._modules[path] = self._parsed(path)
        return self._modules[path]

    def _parsed(self, path: str) -> Module | Fault:
        data = self.bytes(path)
        if isinstance(data, Fault):
            return data
        tree = parse(data, path)
        return tree if isinstance(tree, Fault) else summarize(self._name(path), path, tree, rows(data))

    def mentions(self, word: str, near: str) -> tuple[Module, ...]:
        """The modules whose text holds a word, in the order of the files.

        A word that more than ``MOST_FILES`` files hold is looked for only in the folder of the file that asks: to read
        a large project for a common word costs more than it tells.
        """
        files = self._holding(word)
        folder = os.path.dirname(near) if len(files) > MOST_FILES else ""
        if (word, folder) not in self._mentions:
            kept = [path for path in files if os.path.dirname(path) == folder][:MOST_FILES] if folder else files
            modules = (self.module(path) for path in kept)
            self._mentions[word, folder] = tuple(module for module in modules if isinstance(module, Module))
        return self._mentions[word, folder]

    def mentions_both(self, word: str, other: str) -> Iterator[Module]:
        """The modules whose text holds both words, ``MOST_FILES`` at most."""
        second = set(self._holding(other))
        for path in [path for path in self._holding(word) if path in second][:MOST_FILES]:
            module = self.module(path)
            if isinstance(module, Module):
                yield module

    def writers(self, name: str, owner: str) -> Iterator[Module]:
        """The modules that may write an attribute of something other than ``self``, ``MOST_FILES`` at most.

        An attribute that many files write is looked for only in those that mention the class of its owner.
        """
        if self._written is None:
            self._written = self._survey()
        paths = self._written.get(name, [])
        if len(paths) > FEW_FILES:
            knowing = set(self._holding(owner))
            paths = [path for path in paths if path in knowing]
        for path in paths[:MOST_FILES]:
            module = self.module(path)
            if isinstance(module, Module):
                yield module

    def _survey(self) -> dict[str, list[str]]:
        """The files that write each attribute, by their bytes alone: one pass, since every attribute is asked for."""
        found: dict[str, list[str]] = {}
        for path in self.files:
            data = self.bytes(path)
            if isinstance(data, bytes):
                for name in sorted({*WRITES.findall(data), *SETTERS.findall(data)}):
                    found.setdefault(name.decode(errors="replace"), []).append(path)
        return found

    def _holding(self, word: str) -> list[str]:
        if word not in self._files:
            wanted = word.encode()
            held = (path for path in self.files if isinstance(data := self.bytes(path), bytes) and wanted in data)
            self._files[word] = list(held)
        return self._files[word]

    def find(self, name: str, importer: Module) -> Module | None:
        """The project's module of that name, as the importing file would find it."""
        folder = os.path.dirname(importer.path)
        key = (name, folder)
        if key not in self._found:
            self._found[key] = next(self._candidates(name, folder), None) if name else None
        return self._found[key]

    def _candidates(self, name: str, folder: str) -> Iterator[Module]:
        tail = name.replace(".", os.sep)
        for start in self._starts(folder):
            for path in (os.path.join(start, f"{tail}.py"), os.path.join(start, tail, "__init__.py")):
                if path in self._known and isinstance(module := self.module(path), Module):
                    yield module

    def _starts(self, folder: str) -> list[str]:
        """Where imports of a file in this folder start: its package's parent, itself, what is configured, the root."""
        top = self._top(folder)
        starts = [top, folder, *self.search, self.root, os.path.join(self.root, "src")]
        while len(folder) > len(self.root):
            folder = os.path.dirname(folder)
            starts.append(folder)
        return list(dict.fromkeys(starts))

    def _top(self, folder: str) -> str:
        while os.path.join(folder, "__init__.py") in self._known and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
        return folder

    def _name(self, path: str) -> str:
        folder, file = os.path.split(path)
        inside = os.path.relpath(folder, self._top(folder))
        parts = [] if inside == "." else inside.split(os.sep)
        if file != "__init__.py":
            parts.append(file.rpartition(".")[0] or file)
        return ".".join(parts)

    def number(self, *key: object) -> int:
        """A small number for a key, the same one each time: frames are told apart by it."""
        return self._names.setdefault(key, len(self._names) + 1)
