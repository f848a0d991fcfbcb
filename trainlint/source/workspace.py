"""The files of a project as modules: parsed when asked for, found by name or by the words in them."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from copy import copy

from trainlint.record import dataclass, replace
from trainlint.regex import regex, spelled, unspelled
from trainlint.source import search
from trainlint.source.journal import (
    HEAD,
    Answers,
    AskedFor,
    Bundle,
    Dependencies,
    File,
    Fleeting,
    Journal,
    Kind,
    Leaf,
    Leaves,
    Query,
)  # fmt: skip
from trainlint.source.notebook import Notebook, opened, parsed
from trainlint.source.parts import below, parts
from trainlint.source.pieces import Layout, Pieces, Reader
from trainlint.source.recall import Recall
from trainlint.source.search import IMPORTED, Search
from trainlint.source.sift import spelling
from trainlint.source.summary import Module, absolute, summarize
from trainlint.source.text import MISSING, NOTEBOOK, Fault, is_text, parse, rows

MOST_FILES = 48
"""Files that one reverse query may read."""


FEW_FILES = 6
"""Files that may write an attribute of one name before the name counts as common."""

FEW_READ = 64
"""Files whose trees are never too many to be held."""

LARGEST = (1 << 63) - 1

WORDS_OF = {Kind.MENTIONS: 1, Kind.BOTH: 2, Kind.CHANGING: 2, Kind.WRITERS: 2, Kind.HOLDS: 1, Kind.MATCHES: 1}
"""How many words of a query are looked for in files."""

OF_A_PART = frozenset((Kind.BOTH, Kind.CHANGING, Kind.WRITERS, Kind.CALLED, Kind.MATCHES, Kind.MATCHING_BOTH))
"""Queries whose third word is the part of the tree that is asked, nothing for all of it."""

SIEVES = {Kind.MATCHING: Kind.MENTIONS, Kind.MATCHING_BOTH: Kind.BOTH, Kind.EXPORTING: Kind.WEB}
"""Queries for those files out of the answer to another query whose bytes tell something."""

WIDE = frozenset({Kind.FIND, Kind.CALLED, Kind.WEB, Kind.IMPORTED, Kind.REACHED, Kind.CHANGING})
"""Queries that rest on more than the words of a file or what one of its pieces says."""

STARS = regex(rb"from(?<!\wfrom)[ \t]*(\.*)([\w.]*)[ \t]+import[ \t]*\*")
"""``from .shapes import *``: its dots, and the rest of the name."""

LISTED = regex(rb"^__all__[ \t]*=[ \t]*[\[(]([\s\w\"',]*)[\])][ \t]*$", re.MULTILINE)
"""An ``__all__`` that is written out."""

QUOTED = regex(rb"(?<=[\"'])\w+(?=[\"'])")
"""A name in quotes."""

KINDS = {kind.value: kind for kind in Kind}

Stars = tuple[tuple[bytes, bytes], ...]
"""The dots and the name of each module that a file takes whole."""

Plain = int | str | bytes | None
Tables = tuple[
    list[tuple[str, tuple[str, ...], tuple[str, ...]]],
    search.Tables,
    dict[str, Stars],
    dict[str, Layout],
    list[Plain],
]
"""Queries with their answers, what is known of their words, which modules files take whole, where the pieces of files
stand, and the leaves, as plain data: a query by its place among those, a file by its path, a bundle by the places in
it, nothing for what no verdict rests on.
"""


@dataclass(frozen=True)
class Change:
    """What became another since a look: files, by their paths, and queries; ``moved`` are the layouts of files whose
    pieces stand in other rows now, before and after.
    """

    files: frozenset[str]
    queries: frozenset[Query]
    moved: Mapping[str, tuple[Layout, Layout]]


class Workspace:
    """A table that fills itself: ``read`` gives a file's bytes, everything else follows from them.

    What is looked up is noted in the ``journal``; with a fleeting one, no edit can be followed. ``misses`` says of a
    place how much more often the parts of what is remembered came to something else than to the same.
    """

    def __init__(
        self,
        root: str,
        files: Sequence[str],
        search: Sequence[str],
        values: Mapping[str, int],
        read: Callable[[str], bytes | Fault],
        journal: Journal | None = None,
    ) -> None:
        self.root, self.files, self.search, self.values, self._read = root, files, search, values, read
        self.known = frozenset(files)
        self._bytes: dict[str, bytes | Fault] = {}
        self._notebooks: dict[str, Notebook] = {}
        self._modules: dict[str, Module | Fault] = {}
        self._former: dict[str, Module] = {}
        self._stars: dict[str, Stars] = {}
        self._taken: dict[str, tuple[str, ...]] = {}
        self._starting: dict[str, list[str]] = {}
        self._listed: dict[str, tuple[bytes, frozenset[bytes] | None]] = {}
        self._answered: dict[Query, tuple[str, ...]] = {}
        self._asking: dict[str, list[Query]] = {}
        self._sieves: dict[Query, list[Query]] = {}
        self._wide: list[Query] = []
        self._about: dict[str, list[Query]] = {}
        self._layouts: dict[str, Layout] = {}
        self._search = Search(files, self._text)
        self.journal = Journal() if journal is None else journal
        self._reader = None if isinstance(self.journal, Fleeting) else Reader(self.journal)
        self.asked_for = AskedFor(self.journal)
        self.answers = self._answers_of("")
        self.recall = Recall()
        self.misses: dict[Hashable, int] = {}
        self.part = ""
        self._parts: dict[str, str] | None = None
        self._seen_from: dict[str, Workspace] = {}
        self._turned = ""
        self._before = 0

    def seen_from(self, path: str) -> Workspace:
        """The project as a file of it sees it: the part of the tree to which the file belongs, alone.

        What is read is read once for all parts; what is remembered of the project as a whole is remembered of a part.
        """
        part = self._part_of(path)
        if part not in self._seen_from:
            view = self._seen_from[part] = copy(self)
            view.part, view.answers, view._seen_from = part, self._answers_of(part), {}
        return self._seen_from[part]

    def _answers_of(self, part: str) -> dict[tuple[object, ...], object]:
        """Where answers of a part are remembered, each with what it rests on where that is noted."""
        return {} if self._reader is None else Answers(self.journal, part)

    def turned_to(self, path: str) -> Workspace:
        """The same project, for a file of it to be judged: what was read of other parts is let go of, if it is much."""
        part, before = self._part_of(path), self._turned
        self._turned = part
        if len(self._modules) < FEW_READ or part == before or part in self._seen_from:
            return self
        for read in self._modules:
            self.layout(read)
        later = self._onward(self.files)
        later._modules, later._parts, later._before = {}, self._parts, self.notes
        later._taken, later._starting = self._taken, self._starting
        self._let_go()
        return later

    def _onward(self, files: Sequence[str]) -> Workspace:
        """The same with these files, which knows what was read and asked here, and nothing of what was evaluated."""
        journal = type(self.journal)(self.journal.leaves)
        later = Workspace(self.root, files, self.search, self.values, self._read, journal)
        later._bytes, later._notebooks, later._modules = self._bytes, self._notebooks, self._modules
        later._answered, later._asking, later._search = self._answered, self._asking, self._search
        later._about, later._layouts, later._reader = self._about, self._layouts, self._reader
        later._sieves, later._wide, later._stars = self._sieves, self._wide, self._stars
        later._turned = self._turned
        later._search.text = later._text
        if later._reader is not None:
            later._reader.journal = journal
        return later

    def _let_go(self) -> None:
        """Forget what was read, and what was found in it: some of it holds itself, and nobody collects that."""
        for module in self._modules.values():
            if isinstance(module, Module):
                module.forget()
        self._modules.clear()
        self._forget()
        self.journal.forget()

    def _forget(self) -> None:
        """Forget what was evaluated: some of it holds itself."""
        for view in self._seen_from.values():
            view.answers.clear()
        self.recall.forget()
        self.misses.clear()

    def _part_of(self, path: str) -> str:
        """The part of a file or a folder; of what the project does not have, itself alone."""
        return self._all_parts().get(path, path)

    def _all_parts(self) -> dict[str, str]:
        if self._parts is None:
            self._parts = parts(self.known, self._starts, self._search.importing)
        return self._parts

    def after(self, files: Sequence[str], changed: Iterable[str]) -> tuple[Workspace, Change]:
        """The same project with these files, of which the changed ones may hold something else, to go on with.

        Beside it stands what is another now. What was evaluated is not taken over.
        """
        # Nobody asked for a part of the tree where nothing was asked at all.
        parts_before = self._all_parts() if self._answered else {}
        later = self._onward(files)
        moved = later.known ^ self.known
        if any(os.path.basename(path) == "__init__.py" for path in moved):
            later._rename()
        suspected = sorted({*changed, *moved})
        before = {path: self.layout(path) for path in suspected}
        renewed = ((path, self._renewed(path, later)) for path in suspected)
        texts = {path: each for path, each in renewed if each is not None}
        asked = {each for path, (was, now) in texts.items() for each in later._search.change(path, was, now)}
        for path in moved - later.known:
            later._search.remove(path)
        is_parted = bool(moved) or IMPORTED in asked
        later._parts = None if is_parted else parts_before or None
        suspects = {query for word in asked for query in later._asking.get(word, ())}
        suspects.update(query for path in texts for query in later._about.get(path, ()))
        starred = {path for path in texts if later._takes_others(path)}
        if not moved and not starred:
            later._taken, later._starting = self._taken, self._starting
        suspects.update(later._suspects(texts, starred, is_moved=bool(moved)))
        queries = set(filter(later._is_answered_anew, suspects))
        queries.update(later._parted_anew(parts_before) if is_parted else ())
        queries.update(later._sieved_anew(queries, texts))
        layouts = {path: (was, later.layout(path)) for path in texts if (was := before[path])}
        moves = {path: both for path, both in layouts.items() if both[1] and both[0] != both[1]}
        self._forget()
        return later, Change(frozenset(texts), frozenset(queries), moves)

    def _rename(self) -> None:
        """Forget what the name of a module decides: each below a package that comes or goes has another one."""
        self._modules, self._layouts = {}, {}
        for query in [query for queries in self._about.values() for query in queries]:
            del self._answered[query]
        self._about = {}

    def layout(self, path: str) -> Layout:
        """Where the pieces of a file stand; none of a file that was not read or has no pieces."""
        module = self._modules.get(path)
        if isinstance(module, Module):
            self._layouts[path] = module.pieces.layout
        return self._layouts.get(path, ())

    def _renewed(self, path: str, later: Workspace) -> tuple[bytes | None, bytes] | None:
        """What there was to search in a file, if that is known, and what there is, all else about it forgotten.

        None where a file is the same.
        """
        held, notebook = self._bytes.pop(path, None), self._notebooks.pop(path, None)
        now = later._data(path)
        moves = (path in self.known) != (path in later.known)
        if not moves and notebook is None and isinstance(held, bytes) and held == now:
            return None
        if moves and path in later.known:
            later._search.add(path)
        module = self._modules.pop(path, None)
        if isinstance(module, Module) and path in later.known:
            later._former[path] = module
        self._layouts.pop(path, None)
        searched = held if path in self.known else b""
        before = b"" if isinstance(searched, Fault) else searched
        return before, later._text(path) if path in later.known else b""

    def _takes_others(self, path: str) -> bool:
        """Whether a file takes other modules whole than it did, as far as anybody has asked."""
        before = self._stars.pop(path, ())
        return self._stars_of(path) != before

    def _suspects(
        self, texts: Mapping[str, tuple[bytes | None, bytes]], starred: set[str], *, is_moved: bool
    ) -> Iterator[Query]:
        """The queries that rest on more than the words of a file, and may have another answer."""
        either = [(before or b"") + b"\n" + now for before, now in texts.values()]
        for query in self._wide:
            answer = self._answered[query]
            match query.kind:
                case Kind.FIND | Kind.CALLED if is_moved:
                    yield query
                case Kind.WEB if is_moved or not starred.isdisjoint(answer):
                    yield query
                case Kind.IMPORTED | Kind.REACHED if is_moved or query.words[0] in texts:
                    yield query
                case Kind.CHANGING:
                    touches = not texts.keys().isdisjoint(answer) or len(answer) >= MOST_FILES
                    if touches or any(_holds_all(text, query.words[:2]) for text in either):
                        yield query

    def _parted_anew(self, before: Mapping[str, str]) -> Iterator[Query]:
        """The queries that are put to other parts of the tree, now that files went from one to another: all to those
        parts, whatever the answer, and those to the part of a file that have another one.
        """
        now = self._all_parts() if before else {}
        # What comes or goes alone is told by its words; who asks from a folder that does asks another part.
        gone = {path for path in {*before, *now} if before.get(path, path) != now.get(path, path)}
        turned = {part for path in gone if path in before and path in now for part in (before[path], now[path])}
        for query in list(self._answered) if gone else ():
            if query.kind in OF_A_PART and query.words[2] in turned:
                self._answered[query] = tuple(self._found_for(query))
                yield query
            elif query.kind is Kind.MENTIONS and (turned or query.words[1] in gone) and self._is_answered_anew(query):
                yield query

    @property
    def notes(self) -> int:
        """How much was looked up since the last change."""
        return self._before + len(self.journal)

    @property
    def questions(self) -> int:
        """How many queries are remembered with their answers."""
        return len(self._answered)

    def trim(self, queries: Collection[Query]) -> None:
        """Forget all queries but these."""
        answered, self._answered, self._asking, self._about, self._sieves = self._answered, {}, {}, {}, {}
        self._wide, self._seen_from = [], {}
        for query in answered.keys() & {*queries, *map(_base, queries)}:
            self._keep(query, answered[query])
        exported = (query.words[2] for query in self._answered if query.kind is Kind.EXPORTING)
        self._search.trim({*self._asking, *exported})

    def tables(self) -> Tables:
        """All queries and their answers, to be adopted by another workspace of the same files."""
        answered = [(query.kind.value, query.words, answer) for query, answer in self._answered.items()]
        layouts = {path: layout for path in {*self._modules, *self._layouts} if (layout := self.layout(path))}
        places = {query: place for place, query in enumerate(self._answered)}
        leaves: list[Plain] = []
        unused: set[int] = set()
        for leaf in self.journal.leaves.every:
            plain = _plain(leaf, places, unused)
            if plain is None:
                unused.add(len(leaves))
            leaves.append(plain)
        return (
            answered,
            self._search.tables(),
            {path: stars for path, stars in self._stars.items() if stars},
            layouts,
            leaves,
        )

    def adopt(self, tables: Tables) -> Sequence[int]:
        """Take over the answers of another workspace: the places here of its leaves, a range if they stay."""
        answered, searched, stars, layouts, leaves = tables
        self._search.adopt(searched)
        self._stars.update(stars)
        self._layouts.update(layouts)
        queries = [Query(KINDS[kind], words) for kind, words, _ in answered]
        for query, (_, _, answer) in zip(queries, answered, strict=True):
            self._keep(query, answer)
        found = [_leaf(each, queries) for each in leaves]
        if not self.journal.leaves.every:
            self.journal.leaves = Leaves(found)
            return range(len(found))
        here: list[int] = []
        for leaf in found:
            known = leaf.renumbered(here) if isinstance(leaf, Bundle) else leaf
            here.append(-1 if known is None else self.journal.leaves.place(known))
        return here

    def _keep(self, query: Query, answer: tuple[str, ...]) -> tuple[str, ...]:
        if query not in self._answered:
            for word in query.words[: WORDS_OF.get(query.kind, 0)]:
                self._asking.setdefault(word, []).append(query)
            if query.kind is Kind.PIECE:
                self._about.setdefault(query.words[-1], []).append(query)
            if query.kind in WIDE:
                self._wide.append(query)
            if query.kind in SIEVES:
                self._sieves.setdefault(_base(query), []).append(query)
        self._answered[query] = answer
        return answer

    def _is_answered_anew(self, query: Query) -> bool:
        """Whether a query has another answer than it had."""
        before = self._answered[query]
        self._answered[query] = tuple(self._found_for(query))
        return self._answered[query] != before

    def _sieved_anew(self, anew: Collection[Query], changed: Collection[str]) -> Iterator[Query]:
        """The sieves that let others pass now; ``anew`` are the queries with another answer than they had."""
        for base, sieves in self._sieves.items():
            every = self._answered.get(base)
            if every is None or base in anew:
                yield from filter(self._is_answered_anew, sieves)
                continue
            touched = [path for path in changed if path in every]
            for query in sieves if touched else ():
                passed, passes = set(self._answered[query]), self._passing(query)
                now = {path for path in touched if passes(path)}
                if now != passed.intersection(touched):
                    passed = (passed - set(touched)) | now
                    self._answered[query] = tuple(path for path in every if path in passed)
                    yield query

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
        """A file as a module, its head read; of one without pieces all is read."""
        module = self._module(path)
        if isinstance(module, Module) and path not in self._notebooks:
            module.pieces.note(HEAD)
        else:
            self.journal.note(File(path))
        return module

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
            # It is read as a whole, without pieces, but what is worked out from it rests on other files too.
            return replace(
                module, place=notebook.place, faults=faults, pieces=Pieces(path, notebook.rows, [], self._reader)
            )
        before = self._former.pop(path, None)
        edited = self._edited(before, data) if before is not None else None
        if edited is not None:
            return edited
        read = parse(data, path)
        if isinstance(read, Fault):
            return read
        return summarize(self._name(path), self._key(path), path, read, rows(data), self._reader)

    def _edited(self, before: Module, data: bytes) -> Module | None:
        """What a file is now that was another module; None where it has to be read as a whole."""
        from trainlint.source.edited import edited

        is_same = (before.name, before.key) == (self._name(before.path), self._key(before.path))
        return edited(before, rows(data)) if is_same and is_text(data) else None

    def mentions(self, word: str, near: str) -> tuple[Module, ...]:
        """The modules whose text holds a word, in the order of the files.

        A word that more than ``MOST_FILES`` files hold is looked for only in the folder of the file that asks: to read
        a large project for a common word costs more than it tells.
        """
        query = Query(Kind.MENTIONS, (word, os.path.dirname(near)))
        return tuple(self._modules_of(self._asked(query)))

    def mentioning(self, word: str, near: str, pattern: re.Pattern[bytes]) -> Iterator[Module]:
        """The same one by one, but for those whose bytes are without a pattern: they need not be read."""
        return self._modules_of(self.saying_near(word, near, pattern))

    def saying_near(self, word: str, near: str, pattern: re.Pattern[bytes]) -> tuple[str, ...]:
        """The same files by their paths, not read."""
        return self._asked(Query(Kind.MATCHING, (word, os.path.dirname(near), spelled(pattern))))

    def mentioning_both(self, word: str, other: str, pattern: re.Pattern[bytes]) -> Iterator[Module]:
        """The modules whose text holds both words and a pattern, ``MOST_FILES`` of those with the words at most."""
        return self._modules_of(self.saying_all(word, other, pattern))

    def saying_all(self, word: str, other: str, pattern: re.Pattern[bytes]) -> tuple[str, ...]:
        """The same files by their paths, not read."""
        return self._asked(Query(Kind.MATCHING_BOTH, (word, other, self.part, spelled(pattern))))

    def _asked(self, query: Query) -> tuple[str, ...]:
        """The answer to a query, noted."""
        self.journal.note(query)
        return self.answer(query)

    def answer(self, query: Query) -> tuple[str, ...]:
        """The files that a query asks for, in their order."""
        known = self._answered.get(query)
        return self._keep(query, tuple(self._found_for(query))) if known is None else known

    def _found_for(self, query: Query) -> Iterable[str]:
        if query.kind is Kind.PIECE:
            return self._piece(*query.words)
        first, second, *rest = query.words
        match query.kind:
            case Kind.MENTIONS:
                return self._mentioning(first, second)
            case Kind.BOTH:
                return self._with_both(first, second, rest[0])
            case Kind.CHANGING:
                return self._changing(first, second, rest[0])
            case Kind.WRITERS:
                return self._writing(first, second, rest[0])
            case Kind.HOLDS:
                return [second] if self._search.holds(first, second) else []
            case Kind.FIND:
                return self._places(first, second)
            case Kind.WEB:
                return self._web(first)
            case Kind.CALLED:
                return self._called(first, rest[0])
            case Kind.IMPORTED:
                return self._leading(first)
            case Kind.REACHED:
                return self._reaching(first)
            case Kind.MATCHES:
                return self._inside(self._search.matching(first, second), rest[0])
            case Kind.MATCHING | Kind.MATCHING_BOTH | Kind.EXPORTING:
                return filter(self._passing(query), self.answer(_base(query)))

    def _piece(self, what: str, word: str, path: str) -> tuple[str, ...]:
        module = self._module(path)
        return module.answer(what, word) if isinstance(module, Module) else ("", module.reason)

    def _modules_of(self, paths: Iterable[str]) -> Iterator[Module]:
        for path in paths:
            module = self.module(path)
            if isinstance(module, Module):
                yield module

    def state(self, dependencies: Dependencies) -> str:
        """A fingerprint of everything that a verdict rests on: as long as it stays, so does the verdict."""
        import hashlib

        state = hashlib.sha256()
        for path in sorted(dependencies.files):
            data = self._data(path)
            state.update(repr((path, self._name(path), data if isinstance(data, bytes) else data.reason)).encode())
        parts_now = {"", *self._all_parts().values()}
        for query in sorted(dependencies.queries, key=lambda query: (query.kind.value, query.words)):
            is_gone = query.kind in OF_A_PART and query.words[2] not in parts_now
            state.update(repr((query.kind.value, query.words, None if is_gone else self.answer(query))).encode())
        return state.hexdigest()

    def _inside(self, files: Sequence[str], part: str) -> Sequence[str]:
        """Those of sorted files that lie in a part of the tree."""
        if not part:
            return files
        every = self._all_parts()
        return [path for path in below(files, part) if every.get(path) == part]

    def _mentioning(self, word: str, folder: str) -> Sequence[str]:
        files = self._inside(self._search.holding(word), self._part_of(folder))
        if len(files) <= MOST_FILES:
            return files
        return [path for path in files if os.path.dirname(path) == folder][:MOST_FILES]

    def mentions_both(self, word: str, other: str) -> Iterator[Module]:
        """The modules whose text holds both words, ``MOST_FILES`` at most."""
        return self._modules_of(self.saying(word, other))

    def saying(self, word: str, other: str) -> tuple[str, ...]:
        """The files whose text holds both words, by their paths, not read."""
        return self._asked(Query(Kind.BOTH, (word, other, self.part)))

    def _with_both(self, word: str, other: str, part: str) -> Sequence[str]:
        first, second = (self._inside(self._search.holding(each), part) for each in (word, other))
        held = set(second)
        return [path for path in first if path in held][:MOST_FILES]

    def says(self, word: str) -> bool:
        """Whether any file holds a word, by its bytes alone."""
        return bool(self._asked(Query(Kind.BOTH, (word, word, self.part))))

    def changing(self, word: str, home: str) -> Iterator[Module]:
        """The modules that may write into a container which they know by this name, from a module called ``home``."""
        return self._modules_of(self._asked(Query(Kind.CHANGING, (word, home, self.part))))

    def _changing(self, word: str, home: str, part: str) -> Sequence[str]:
        change = re.compile(rb"\b" + re.escape(word.encode()) + rb"(?:\s|\\|#.*)*[.\[+*|&^-]")
        second = set(self._search.holding(home))
        files = self._inside(self._search.holding(word), part)
        return [path for path in files if path in second and change.search(self._text(path))][:MOST_FILES]

    def writers(self, name: str, owner: str) -> Iterator[Module]:
        """The modules that may write an attribute of something other than ``self``, ``MOST_FILES`` at most.

        An attribute that many files write is looked for only in those that mention the class of its owner.
        """
        return self._modules_of(self._asked(Query(Kind.WRITERS, (name, owner, self.part))))

    def _writing(self, name: str, owner: str, part: str) -> Sequence[str]:
        paths = self._inside(self._search.writing(name), part)
        if len(paths) > FEW_FILES:
            knowing = set(self._search.holding(owner))
            paths = [path for path in paths if path in knowing]
        return paths[:MOST_FILES]

    def holds(self, path: str, word: str) -> bool:
        """Whether the text of a file holds a word."""
        return bool(self._asked(Query(Kind.HOLDS, (word, path))))

    def find(self, name: str, importer: Module) -> Module | None:
        """The project's module of that name, as the importing file would find it."""
        places = self._asked(Query(Kind.FIND, (name, os.path.dirname(importer.path)))) if name else ()
        return next(self._modules_of(places), None)

    def locate(self, name: str, importer: Module) -> str | None:
        """The path of a module, found without reading it."""
        return next(iter(self._asked(Query(Kind.FIND, (name, os.path.dirname(importer.path))))), None) if name else None

    def imported(self, module: Module) -> Iterator[Module]:
        """The modules of the project that a file imports by name, or parts of them, in the order of its imports."""
        return self._modules_of(self._asked(Query(Kind.IMPORTED, (module.path, ""))))

    def _leading(self, path: str) -> list[str]:
        module = self._module(path)
        imports = module.survey.imports.values() if isinstance(module, Module) else ()
        names = dict.fromkeys(name for full in imports for name in (full, full.rpartition(".")[0]) if name)
        return self._firsts(names, path)

    def reached(self, module: Module) -> tuple[str, ...]:
        """The files that a file imports, those that it imports whole too, in the order of their names."""
        return self._asked(Query(Kind.REACHED, (module.path, "")))

    def _reaching(self, path: str) -> list[str]:
        module = self._module(path)
        if not isinstance(module, Module):
            return []
        names = {*module.survey.imports.values(), *(star for star, _ in module.survey.stars)}
        return self._firsts(sorted({each for full in names for each in (full, full.rpartition(".")[0]) if each}), path)

    def _firsts(self, names: Iterable[str], path: str) -> list[str]:
        """Where a file finds modules, each file once."""
        places = (next(iter(self._places(name, os.path.dirname(path))), None) for name in names)
        return list(dict.fromkeys(place for place in places if place is not None))

    def _web(self, path: str) -> tuple[str, ...]:
        """The file and all that ``from ... import *`` may bring into it, found by their bytes alone."""
        web = {path: None}
        waiting = [path]
        while waiting:
            file = waiting.pop()
            if file not in self._taken:
                self._taken[file] = tuple(self._starred(file))
            new = [other for other in self._taken[file] if other not in web]
            web.update(dict.fromkeys(new))
            waiting += new
        return tuple(web)

    def exporting(self, home: str, name: str) -> Iterator[Module]:
        """The modules in the web of a file from which ``import *`` may take a name, and which may bind it, by their
        bytes alone.
        """
        return self._modules_of(self._asked(Query(Kind.EXPORTING, (home, "", name))))

    def _passing(self, query: Query) -> Callable[[str], bool]:
        """What the bytes of a file must tell to pass a sieve."""
        *_, wanted = query.words
        if query.kind is not Kind.EXPORTING:
            found = unspelled(wanted)
            return lambda path: found.search(self._text(path)) is not None
        bound = spelling.bound(wanted)
        return lambda path: self._offers(path, wanted) and bound.search(self._text(path)) is not None

    def _offers(self, path: str, name: str) -> bool:
        """Whether a file holds a name, and its ``__all__``, if it is written out, does."""
        if not self._search.holds(name, path):
            return False
        listed = self._listed_in(path)
        return listed is None or name.encode() in listed

    def _listed_in(self, path: str) -> frozenset[bytes] | None:
        """The names of an ``__all__`` that is written out; None where a file has no such one."""
        data = self._text(path)
        known = self._listed.get(path)
        if known is None or known[0] is not data:
            found = LISTED.match(data, data.find(b"__all__")) if data.count(b"__all__") == 1 else None
            known = self._listed[path] = data, frozenset(QUOTED.findall(found[1])) if found else None
        return known[1]

    def _stars_of(self, path: str) -> Stars:
        """The dots and the name of each module that a file takes whole, by its bytes alone."""
        known = self._stars.get(path)
        if known is None:
            known = self._stars[path] = tuple(STARS.findall(self._text(path)))
        return known

    def _starred(self, path: str) -> Iterator[str]:
        """The files that a file imports whole."""
        package = self._name(path) if path.endswith("__init__.py") else self._name(path).rpartition(".")[0]
        for dots, rest in self._stars_of(path):
            name = absolute(package, len(dots), rest.decode(errors="replace"))
            yield from list(self._places(name, os.path.dirname(path)))[:1]

    def _places(self, name: str, folder: str) -> Iterator[str]:
        """Where a file of this folder would find a module, best first."""
        tail = name.replace(".", os.sep)
        for start in self._starts(folder):
            for path in (os.path.join(start, f"{tail}.py"), os.path.join(start, tail, "__init__.py")):
                if path in self.known:
                    yield path

    def _starts(self, folder: str) -> Sequence[str]:
        """Where imports of a file in this folder start: its package's parent, itself, what is configured, the root."""
        if folder not in self._starting:
            self._starting[folder] = self._starts_anew(folder)
        return self._starting[folder]

    def _starts_anew(self, folder: str) -> list[str]:
        top = self._top(folder)
        starts = [top, folder, *self.search, self.root, os.path.join(self.root, "src")]
        while len(folder) > len(self.root):
            folder = os.path.dirname(folder)
            starts.append(folder)
        return list(dict.fromkeys(starts))

    def _top(self, folder: str) -> str:
        while os.path.join(folder, "__init__.py") in self.known and os.path.dirname(folder) != folder:
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
        return self._modules_of(self._asked(Query(Kind.CALLED, (name, "", self.part))))

    def _called(self, name: str, part: str) -> list[str]:
        files = self._inside(self.files, part)
        return [path for path in files if os.path.basename(path) == f"{name}.py"][:MOST_FILES]

    def matching(self, pattern: bytes, word: str = "") -> Iterator[bytes]:
        """The text of each file in which a pattern is found; a word that is found wherever it is saves a long look."""
        for path in self._asked(Query(Kind.MATCHES, (pattern.decode("latin-1"), word, self.part))):
            self.journal.note(File(path))
            yield self._text(path)

    def number(self, *key: object) -> int:
        """A number for a key, the same one each time: frames are told apart by it."""
        return hash(key) & LARGEST


def _plain(leaf: Leaf | Bundle | None, places: Mapping[Query, int], unused: Set[int]) -> Plain:
    """A leaf as plain data; none of a query that was not answered, or of a bundle with one: no verdict rests on it."""
    match leaf:
        case File(path):
            return path
        case Query():
            return places.get(leaf)
        case Bundle() if unused.isdisjoint(leaf.notes):
            return bytes(leaf)
    return None


def _leaf(plain: Plain, queries: Sequence[Query]) -> Leaf | Bundle | None:
    match plain:
        case str(path):
            return File(path)
        case int(place):
            return queries[place]
        case bytes(notes):
            return Bundle(notes)
    return None


def _base(query: Query) -> Query:
    """What a sieve is put to; a query that is none, as it is."""
    kind = SIEVES.get(query.kind)
    return query if kind is None else Query(kind, query.words[:-1])


def _holds_all(text: bytes, words: Iterable[str]) -> bool:
    return all(word.encode() in text for word in words)
