"""Which files of a project hold a word, write an attribute or match a pattern, by their bytes alone.

What was asked once is kept, and put right for one file when its bytes change, without a look at the others.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Sequence

from trainlint.regex import regex
from trainlint.source.parts import SEARCH_PATH

FEW_WORDS = 24
"""Words that may be looked for by their bytes alone; from then on a list of all identifiers pays."""

SPACED = bytes(byte if byte >= 0x80 or chr(byte).isalnum() or byte == 0x5F else 0x20 for byte in range(256))
"""Turns what is no part of an identifier into spaces."""

# Patterns that begin with letters are looked for five times quicker than those that begin with an assertion.

WRITES = regex(rb"\.(?<!\bself\.)(\w+)[ \t]*(?:[-+*]|//)?=(?!=)")
"""A write to an attribute of something that is not called ``self``."""

SETTERS = (
    regex(rb"setattr\(\s*[\w.]+\s*,\s*[\"'](\w+)[\"']"),
    regex(rb"_module(?:(?<=\.add_module)|(?<=\.register_module))\(\s*[\"'](\w+)[\"']"),
    regex(rb"\._modules\[\s*[\"'](\w+)[\"']"),
)
"""The same through ``setattr``, and through the table of a module's own modules."""

IMPORTS = regex(
    rb"from[ \t]*([\w.\x80-\xff]+)[ \t]+import(?!\w)"
    rb"|import(?:_module|__)?[ \t(]+[\"']?([\w\x80-\xff][\w\x80-\xff., \t]*)"
)
"""What a line takes names from, or the modules that it takes, some with another name beside."""

FIRST = regex(rb"[\w\x80-\xff]*")
"""The part of a dotted name before its first dot, none of a relative one."""

IMPORTED = "import"
"""What is said to change where a file takes names from elsewhere."""

DEFINED = regex(rb"def (?=(\w+))")
DEFINITION = regex(rb"def \w+")
"""What is looked for in definitions alone."""

Table = dict[bytes, list[str]]
Tables = tuple[dict[str, list[str]], dict[str, list[str]], Table | None, Table | None]
"""The files that hold each word, in which each pattern is found, and, if that was asked, that write each attribute and
that import each name.
"""


class Search:
    """A table of what was looked for in these files, which are sorted.

    ``text`` gives the bytes of a file, none where it cannot be read.
    """

    def __init__(self, files: Sequence[str], text: Callable[[str], bytes]) -> None:
        self._files, self.text = sorted(files), text
        self._holding: dict[str, list[str]] = {}
        self._matching: dict[str, list[str]] = {}
        self._asking: dict[bytes, list[str]] = {}
        self._signed: list[str] = []
        self._words: Table | None = None
        self._written: Table | None = None
        self._imported: Table | None = None
        self._defined: dict[str, bytes] = {}

    def holding(self, word: str) -> Sequence[str]:
        """The files whose text holds a word; where it ends in letters, they end an identifier there too."""
        if word not in self._holding:
            wanted = word.encode()
            likely = self._likely(wanted)
            if _identifiers(wanted) == {wanted}:
                # One identifier alone is what was looked for already.
                self._keep(word, list(likely))
            else:
                text = self._definitions if DEFINITION.fullmatch(wanted) else self.text
                self._keep(word, [path for path in likely if wanted in text(path)])
        return self._holding[word]

    def _definitions(self, path: str) -> bytes:
        """Each ``def`` of a file with the letters behind it: a fiftieth of its text."""
        if path not in self._defined:
            self._defined[path] = b"".join(b"def %b\n" % name for name in DEFINED.findall(self.text(path)))
        return self._defined[path]

    def holds(self, word: str, path: str) -> bool:
        """Whether the text of one file holds a word, in the same sense."""
        return _has(self.holding(word), path)

    def writing(self, name: str) -> Sequence[str]:
        """The files that write an attribute of this name of something other than ``self``."""
        if self._written is None:
            # One pass, since every attribute is asked for.
            self._written = _table(self._files, lambda path: _written(self.text(path)))
        return self._written.get(name.encode(), ())

    def importing(self) -> Table:
        """The files that import from each name, or from below it, the package of the file aside."""
        if self._imported is None:
            self._imported = _table(self._files, lambda path: _imported(self.text(path)))
        return self._imported

    def matching(self, pattern: str, word: str = "") -> Sequence[str]:
        """The files in which a pattern of bytes, spelled as Latin-1, is found; where it is, a word is held too."""
        if pattern not in self._matching:
            found = re.compile(pattern.encode("latin-1"))
            files = self.holding(word) if word else self._files
            self._matching[pattern] = [path for path in files if found.search(self.text(path))]
        return self._matching[pattern]

    def change(self, path: str, before: bytes | None, now: bytes) -> frozenset[str]:
        """A file held these bytes, or nobody knows which, and holds those now: the words and patterns whose answers
        are others.
        """
        self._defined.pop(path, None)
        there = _identifiers(now)
        changed = None if before is None else _identifiers(before) ^ there
        if self._words is not None and changed is not None:
            _turn(self._words, changed, path)
        suspects = self._holding if before is None or changed is None else self._suspects(changed, before, now)
        found = {word for word in suspects if _put(self._holding[word], path, there=_holds(now, there, word))}
        found.update(name.decode(errors="replace") for name in _renewed(self._written, _written, path, before, now))
        if _renewed(self._imported, _imported, path, before, now):
            found.add(IMPORTED)
        for pattern, paths in self._matching.items():
            if _put(paths, path, there=re.search(pattern.encode("latin-1"), now) is not None):
                found.add(pattern)
        return frozenset(found)

    def _suspects(self, changed: Iterable[bytes], before: bytes, now: bytes) -> set[str]:
        """The words that were asked for and that other identifiers, or the signs between the same ones, may turn."""
        words = {word for each in changed for word in self._asking.get(each, ())}
        return words | {word for word in self._signed if (word.encode() in before) != (word.encode() in now)}

    def tables(self) -> Tables:
        """All that was asked and answered, to be adopted by another search in the same files."""
        return self._holding, self._matching, self._written, self._imported

    def adopt(self, tables: Tables) -> None:
        """Take over what another search has found."""
        holding, matching, written, imported = tables
        for word, paths in holding.items():
            if word not in self._holding:
                self._keep(word, paths)
        self._matching.update(matching)
        self._written = self._written if written is None else written
        self._imported = self._imported if imported is None else imported

    def trim(self, words: Collection[str]) -> None:
        """Forget all words and patterns but these."""
        holding, self._holding, self._asking, self._signed = self._holding, {}, {}, []
        for word in holding.keys() & words:
            self._keep(word, holding[word])
        self._matching = {pattern: paths for pattern, paths in self._matching.items() if pattern in words}

    def _keep(self, word: str, paths: list[str]) -> None:
        self._holding[word] = paths
        if not word.isidentifier():
            self._signed.append(word)
        for each in _identifiers(word.encode()):
            self._asking.setdefault(each, []).append(word)

    def add(self, path: str) -> None:
        """There is one more file, which holds nothing yet."""
        insort(self._files, path)

    def remove(self, path: str) -> None:
        """There is one file less, which held nothing any more."""
        self._files.remove(path)

    def _likely(self, wanted: bytes) -> Sequence[str]:
        """The files that hold each identifier of a text."""
        identifiers = _identifiers(wanted)
        if len(self._holding) < FEW_WORDS:
            # Most files do not hold the letters at all, and to look for those alone is a hundred times quicker.
            whole = [_whole(each) for each in identifiers]
            held = (path for path in self._files if wanted in self.text(path))
            return [path for path in held if all(each.search(self.text(path)) for each in whole)]
        if self._words is None:
            self._words = _table(self._files, lambda path: _identifiers(self.text(path)))
        places = sorted((self._words.get(each, []) for each in identifiers), key=len)
        if not places:
            return self._files
        rarest, *others = places
        return [path for path in rarest if all(_has(each, path) for each in others)]


def _table(files: Iterable[str], words: Callable[[str], Iterable[bytes]]) -> Table:
    """For each word the files that have it."""
    found: Table = {}
    for path in files:
        for each in words(path):
            found.setdefault(each, []).append(path)
    return found


def _renewed(
    table: Table | None, names: Callable[[bytes], frozenset[bytes]], path: str, before: bytes | None, now: bytes
) -> frozenset[bytes]:
    """Put a table right for a file that held these bytes, or nobody knows which: the names that it has and had not, or
    the other way round.
    """
    if table is None:
        return frozenset()
    had = names(before) if before is not None else {name for name, paths in table.items() if _has(paths, path)}
    turned = names(now) ^ had
    _turn(table, turned, path)
    return turned


def _turn(table: Table, words: Iterable[bytes], path: str) -> None:
    """A file no longer has the words that it had, and has those that it had not."""
    for word in words:
        paths = table.setdefault(word, [])
        _put(paths, path, there=not _has(paths, path))
        if not paths:
            del table[word]


def _put(paths: list[str], path: str, *, there: bool) -> bool:
    """See that a file is in a sorted list, or is not; whether that changes anything."""
    if _has(paths, path) == there:
        return False
    if there:
        insort(paths, path)
    else:
        paths.remove(path)
    return True


def _has(paths: Sequence[str], path: str) -> bool:
    place = bisect_left(paths, path)
    return place < len(paths) and paths[place] == path


def _holds(text: bytes, identifiers: frozenset[bytes], word: str) -> bool:
    wanted = word.encode()
    return wanted in identifiers or (wanted in text and _identifiers(wanted) <= identifiers)


def _identifiers(text: bytes) -> frozenset[bytes]:
    return frozenset(text.translate(SPACED).split())


def _written(text: bytes) -> frozenset[bytes]:
    """The attributes that a text writes."""
    return frozenset(name for pattern in (WRITES, *SETTERS) for name in pattern.findall(text))


def _imported(text: bytes) -> frozenset[bytes]:
    """The first part of each name that a text imports, those in its own package aside; whether it says from where."""
    whole = text.replace(b"\\\n", b" ").replace(b"\\\r\n", b" ")
    lines = b"\n".join(line for line in whole.split(b"\n") if b"import" in line)
    taken = (each for origin, several in IMPORTS.findall(lines) for each in (origin, *several.split(b",")))
    found = {first[0] for each in taken if (first := FIRST.match(each.strip()))} - {b""}
    return frozenset(found | {SEARCH_PATH} if SEARCH_PATH in text else found)


def _whole(identifier: bytes) -> re.Pattern[bytes]:
    """An identifier that is no part of another one."""
    return re.compile(rb"%b(?![\w\x80-\xff])(?<![\w\x80-\xff]%b)" % (identifier, identifier))
