"""The files of a project as modules: parsed when asked for, found by name or by the words in them."""

from __future__ import annotations

import hashlib
import os.path
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from trainlint.source.journal import Answers, Dependencies, File, Journal, Kind, Query
from trainlint.source.notebook import Notebook, opened, parsed
from trainlint.source.recall import Recall
from trainlint.source.summary import Module, absolute, summarize
from trainlint.source.text import MISSING, NOTEBOOK, Fault, parse, rows

MOST_FILES = 48
"""Files that one reverse query may read."""


FEW_WORDS = 24
"""Words that may be looked for by their bytes alone; from then on a list of all identifiers pays."""

FEW_FILES = 6
"""Files that may write an attribute of one name before the name counts as common."""

SPACED = bytes(byte if byte >= 0x80 or chr(byte).isalnum() or byte == 0x5F else 0x20 for byte in range(256))
"""Turns what is no part of an identifier into spaces."""

WRITES = re.compile(rb"(?<!\bself)\.(\w+)[ \t]*(?:[-+*]|//)?=(?!=)")
"""A write to an attribute of something that is not called ``self``."""

STARS = re.compile(rb"\bfrom[ \t]*(\.*)([\w.]*)[ \t]+import[ \t]*\*")
"""``from .shapes import *``: its dots, and the rest of the name."""

LISTED = re.compile(rb"^__all__[ \t]*=[ \t]*[\[(]([\s\w\"',]*)[\])][ \t]*$", re.MULTILINE)
"""An ``__all__`` that is written out."""

SETTERS = re.compile(rb"(?:setattr\(\s*[\w.]+\s*,|\.(?:add|register)_module\(|\._modules\[)\s*[\"'](\w+)[\"']")
"""The same through ``setattr``, and through the table of a module's own modules."""


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
        self._notebooks: dict[str, Notebook] = {}
        self._modules: dict[str, Module | Fault] = {}
        self._answered: dict[Query, tuple[str, ...]] = {}
        self._files: dict[str, list[str]] = {}
        self._held: dict[str, frozenset[str]] = {}
        self._words: dict[bytes, tuple[int, ...]] | None = None
        self._written: dict[str, list[str]] | None = None
        self._names: dict[tuple[object, ...], int] = {}
        self.asked_for: set[str] = set()
        self.journal = Journal()
        self.answers = Answers(self.journal)
        self.recall = Recall()

    def data(self, path: str) -> bytes | Fault:
        """What a file holds; of a notebook, its code."""
        self.journal.note(File(path))
        return self._data(path)

    def _data(self, path: str) -> bytes | Fault:
        if path not in self._bytes:
            data = self._read(path)
            self._bytes[path] = self._code(path, data) if path.endswith(NOTEBOOK) else data
        return self._bytes[path]

    def _text(self, path: str) -> bytes:
        """The bytes of a file to search in; none of a file that cannot be read."""
        data = self._data(path)
        return data if isinstance(data, bytes) else b""

    def exists(self, path: str) -> bool:
        """Whether there is a file, readable or not."""
        data = self.data(path)
        return isinstance(data, bytes) or data.reason != MISSING

    def _code(self, path: str, data: bytes | Fault) -> bytes | Fault:
        notebook = data if isinstance(data, Fault) else opened(data)
        if isinstance(notebook, Fault):
            return notebook
        self._notebooks[path] = notebook
        return notebook.data

    def module(self, path: str) -> Module | Fault:
        self.journal.note(File(path))
        return self._module(path)

    def _module(self, path: str) -> Module | Fault:
        if path not in self._modules:
            self._modules[path] = self._parsed(path)
        return self._modules[path]

    def _parsed(self, path: str) -> Module | Fault:
        data = self._data(path)
        if isinstance(data, Fault):
            return data
        if path in self._notebooks:
            notebook = self._notebooks[path]
            tree, faults = parsed(notebook)
            module = summarize(self._name(path), self._key(path), path, tree, notebook.rows)
            return replace(module, place=notebook.place, faults=faults)
        read = parse(data, path)
        return read if isinstance(read, Fault) else summarize(self._name(path), self._key(path), path, read, rows(data))

    def mentions(self, word: str, near: str) -> tuple[Module, ...]:
        """The modules whose text holds a word, in the order of the files.

        A word that more than ``MOST_FILES`` files hold is looked for only in the folder of the file that asks: to read
        a large project for a common word costs more than it tells.
        """
        query = Query(Kind.MENTIONS, (word, os.path.dirname(near)))
        return tuple(self._modules_of(self._asked(query)))

    def _asked(self, query: Query) -> tuple[str, ...]:
        """The answer to a query, noted."""
        self.journal.note(query)
        return self.answer(query)

    def answer(self, query: Query) -> tuple[str, ...]:
        """The files that a query asks for, in their order."""
        if query not in self._answered:
            self._answered[query] = tuple(self._found_for(query))
        return self._answered[query]

    def _found_for(self, query: Query) -> Iterable[str]:
        first, second = query.words
        match query.kind:
            case Kind.MENTIONS:
                return self._mentioning(first, second)
            case Kind.BOTH:
                return self._with_both(first, second)
            case Kind.CHANGING:
                return self._changing(first, second)
            case Kind.WRITERS:
                return self._writing(first, second)
            case Kind.HOLDS:
                return [second] if self._holds(second, first) else []
            case Kind.FIND:
                return self._places(first, second)
            case Kind.WEB:
                return self._web(first)

    def _modules_of(self, paths: Iterable[str]) -> Iterator[Module]:
        for path in paths:
            module = self.module(path)
            if isinstance(module, Module):
                yield module

    def state(self, dependencies: Dependencies) -> str:
        """A fingerprint of everything that a verdict rests on: as long as it stays, so does the verdict."""
        state = hashlib.sha256()
        for path in sorted(dependencies.files):
            data = self._data(path)
            state.update(repr((path, self._name(path), data if isinstance(data, bytes) else data.reason)).encode())
        for query in sorted(dependencies.queries, key=lambda query: (query.kind.value, query.words)):
            state.update(repr((query.kind.value, query.words, self.answer(query))).encode())
        return state.hexdigest()

    def _mentioning(self, word: str, folder: str) -> list[str]:
        files = self._holding(word)
        if len(files) <= MOST_FILES:
            return files
        return [path for path in files if os.path.dirname(path) == folder][:MOST_FILES]

    def mentions_both(self, word: str, other: str) -> Iterator[Module]:
        """The modules whose text holds both words, ``MOST_FILES`` at most."""
        return self._modules_of(self._asked(Query(Kind.BOTH, (word, other))))

    def _with_both(self, word: str, other: str) -> list[str]:
        second = set(self._holding(other))
        return [path for path in self._holding(word) if path in second][:MOST_FILES]

    def says(self, word: str) -> bool:
        """Whether any file holds a word, by its bytes alone."""
        return bool(self._asked(Query(Kind.BOTH, (word, word))))

    def changing(self, word: str, home: str) -> Iterator[Module]:
        """The modules that may write into a container which they know by this name, from a module called ``home``."""
        return self._modules_of(self._asked(Query(Kind.CHANGING, (word, home))))

    def _changing(self, word: str, home: str) -> list[str]:
        change = re.compile(rb"\b" + re.escape(word.encode()) + rb"(?:\s|\\|#.*)*[.\[+*|&^-]")
        second = set(self._holding(home))
        held = [path for path in self._holding(word) if path in second and change.search(self._text(path))]
        return held[:MOST_FILES]

    def writers(self, name: str, owner: str) -> Iterator[Module]:
        """The modules that may write an attribute of something other than ``self``, ``MOST_FILES`` at most.

        An attribute that many files write is looked for only in those that mention the class of its owner.
        """
        return self._modules_of(self._asked(Query(Kind.WRITERS, (name, owner))))

    def _writing(self, name: str, owner: str) -> list[str]:
        if self._written is None:
            self._written = self._survey()
        paths = self._written.get(name, [])
        if len(paths) > FEW_FILES:
            knowing = set(self._holding(owner))
            paths = [path for path in paths if path in knowing]
        return paths[:MOST_FILES]

    def _survey(self) -> dict[str, list[str]]:
        """The files that write each attribute, by their bytes alone: one pass, since every attribute is asked for."""
        found: dict[str, list[str]] = {}
        for path in self.files:
            data = self._text(path)
            for name in sorted({*WRITES.findall(data), *SETTERS.findall(data)}):
                found.setdefault(name.decode(errors="replace"), []).append(path)
        return found

    def holds(self, path: str, word: str) -> bool:
        """Whether the text of a file holds a word."""
        return bool(self._asked(Query(Kind.HOLDS, (word, path))))

    def _holds(self, path: str, word: str) -> bool:
        if word not in self._held:
            self._held[word] = frozenset(self._holding(word))
        return path in self._held[word]

    def _holding(self, word: str) -> list[str]:
        """The files whose text holds a word; where it ends in letters, they end an identifier there too."""
        if word not in self._files:
            wanted = word.encode()
            self._files[word] = [path for path in self._likely(wanted) if wanted in self._text(path)]
        return self._files[word]

    def _likely(self, wanted: bytes) -> Sequence[str]:
        """The files that hold each identifier of a text."""
        if len(self._files) < FEW_WORDS:
            # Most files do not hold the letters at all, and to look for those alone is a hundred times quicker.
            whole = [_whole(each) for each in wanted.translate(SPACED).split()]
            held = (path for path in self.files if wanted in self._text(path))
            return [path for path in held if all(each.search(self._text(path)) for each in whole)]
        if self._words is None:
            self._words = self._indexed()
        places = [self._words.get(each, ()) for each in wanted.translate(SPACED).split()]
        if not places:
            return self.files
        rarest = min(places, key=len)
        return [self.files[place] for place in rarest if all(place in each for each in places)]

    def _indexed(self) -> dict[bytes, tuple[int, ...]]:
        """For each identifier the places of the files that hold it."""
        found: dict[bytes, list[int]] = {}
        for place, path in enumerate(self.files):
            for each in set(self._text(path).translate(SPACED).split()):
                found.setdefault(each, []).append(place)
        return {each: tuple(places) for each, places in found.items()}

    def find(self, name: str, importer: Module) -> Module | None:
        """The project's module of that name, as the importing file would find it."""
        places = self._asked(Query(Kind.FIND, (name, os.path.dirname(importer.path)))) if name else ()
        return next(self._modules_of(places), None)

    def locate(self, name: str, importer: Module) -> str | None:
        """The path of a module, found without reading it."""
        return next(iter(self._asked(Query(Kind.FIND, (name, os.path.dirname(importer.path))))), None) if name else None

    def web(self, path: str) -> tuple[str, ...]:
        """The file and all that ``from ... import *`` may bring into it, found by their bytes alone."""
        return self._asked(Query(Kind.WEB, (path, "")))

    def _web(self, path: str) -> tuple[str, ...]:
        web = {path: None}
        waiting = [path]
        while waiting:
            new = [other for other in self._starred(waiting.pop()) if other not in web]
            web.update(dict.fromkeys(new))
            waiting += new
        return tuple(web)

    def exports(self, path: str, name: str) -> bool:
        """Whether ``import *`` may take a name from a file, by its bytes alone."""
        if not self.holds(path, name):
            return False
        self.journal.note(File(path))
        data = self._text(path)
        listed = LISTED.findall(data) if data.count(b"__all__") == 1 else []
        return not listed or re.search(rb"[\"']" + re.escape(name.encode()) + rb"[\"']", listed[0]) is not None

    def _starred(self, path: str) -> Iterator[str]:
        """The files that a file imports whole."""
        package = self._name(path) if path.endswith("__init__.py") else self._name(path).rpartition(".")[0]
        for dots, rest in STARS.findall(self._text(path)):
            name = absolute(package, len(dots), rest.decode(errors="replace"))
            yield from list(self._places(name, os.path.dirname(path)))[:1]

    def _places(self, name: str, folder: str) -> Iterator[str]:
        """Where a file of this folder would find a module, best first."""
        tail = name.replace(".", os.sep)
        for start in self._starts(folder):
            for path in (os.path.join(start, f"{tail}.py"), os.path.join(start, tail, "__init__.py")):
                if path in self._known:
                    yield path

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

    def _key(self, path: str) -> str:
        """The path below the root as one word."""
        return re.sub(r"\W", "_", os.path.relpath(path, self.root))

    def _name(self, path: str) -> str:
        folder, file = os.path.split(path)
        inside = os.path.relpath(folder, self._top(folder))
        parts = [] if inside == "." else inside.split(os.sep)
        if file != "__init__.py":
            parts.append(file.rpartition(".")[0] or file)
        return ".".join(parts)

    def called(self, name: str) -> Iterator[Module]:
        """Every file of a name, wherever it lies, ``MOST_FILES`` at most."""
        paths = [path for path in self.files if os.path.basename(path) == f"{name}.py"]
        for path in paths[:MOST_FILES]:
            if isinstance(module := self.module(path), Module):
                yield module

    def number(self, *key: object) -> int:
        """A small number for a key, the same one each time: frames are told apart by it."""
        return self._names.setdefault(key, len(self._names) + 1)


def _whole(identifier: bytes) -> re.Pattern[bytes]:
    """An identifier that is no part of another one."""
    return re.compile(rb"(?<![\w\x80-\xff])" + re.escape(identifier) + rb"(?![\w\x80-\xff])")
