"""What each verdict rests on: the files that were read and the questions that were asked of the project.

The reader notes every file and every query as it goes, and where each remembered answer was worked out, so that an
answer that is used again brings along what it rests on. ``between`` turns a stretch of notes into data that a cache can
keep: nothing outside of it can change the verdict, an empty answer that is no longer empty can. Verdicts of a large
project share most of what they rest on: what one answer rests on is a bundle, and is kept once.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from trainlint.record import dataclass


class Kind(Enum):
    """How a project is asked for files."""

    MENTIONS = "mentions"
    BOTH = "mentions both"
    CHANGING = "changing"
    WRITERS = "writers"
    HOLDS = "holds"
    FIND = "find"
    WEB = "web"
    CALLED = "called"
    MATCHES = "matches"
    MATCHING = "mentions and matches"
    MATCHING_BOTH = "mentions both and matches"
    EXPORTING = "exporting"
    IMPORTED = "imported"
    REACHED = "reached"
    PIECE = "piece"

    # Queries are looked up by the million, and an enumeration would work its hash out in Python.
    __hash__ = object.__hash__


HEAD, BODY, ALL, TEXT, SAYS, ROWS = "head", "body", "all", "text", "says", "rows"
MEMBERS, PLAIN, LAST, BINDS, BEFORE = "members", "plain", "last", "binds", "before"
"""What a file is asked for: anything at all, one piece, all of them, its text with all comments, whether a pattern is
found there, and the rows in which the pieces stand. Of the file or a class: which statements it has, those of them that
define nothing, the last, those that bind a name, and those that do so before another one. Other questions name the
table of words that they are put to.
"""


class Query(NamedTuple):
    """One question to the project, whose answer is a list of paths, often an empty one, or about a piece of a file."""

    kind: Kind
    words: tuple[str, ...]


@dataclass(frozen=True)
class File:
    """One file that was read, or was looked for and is not there."""

    path: str


@dataclass(frozen=True)
class Given:
    """One number that only a run knows, which was asked for by its name."""

    name: str


@dataclass(frozen=True)
class Dependencies:
    """Everything that one verdict rests on, and the given numbers that it asked for."""

    files: frozenset[str]
    queries: frozenset[Query]
    given: frozenset[str] = frozenset()

    @property
    def read(self) -> frozenset[str]:
        """The files of which anything was read."""
        return self.files | {query.words[-1] for query in self.queries if query.kind is Kind.PIECE}


Leaf = File | Query | Given
"""What a verdict can rest on."""


class Bundle(bytes):
    """What a remembered answer rests on: leaves and other bundles, by their places, which all come before its own.

    There are so many that sets of numbers would be most of what a large project takes.
    """

    __slots__ = ()

    @classmethod
    def of(cls, places: Iterable[int]) -> Bundle:
        """A bundle of these places."""
        return cls(array("I", sorted(places)).tobytes())

    @property
    def notes(self) -> array[int]:
        """The places, sorted."""
        return array("I", self)

    def renumbered(self, places: Mapping[int, int] | Sequence[int]) -> Bundle:
        """The same, with other places."""
        return Bundle.of(places[note] for note in self.notes)


PART = "part"
"""Stands for an evaluation among the notes."""

SMALLEST = 8
"""Notes of which a bundle is made; fewer are put down by each who rests on them."""


def file_of(leaf: Leaf | Bundle | None) -> str:
    """The file that a leaf is about; none of a question to the project."""
    match leaf:
        case File(path):
            return path
        case Query(Kind.PIECE, (*_, path)):
            return path
    return ""


class Leaves:
    """All that was read or asked, each at a place of its own, which stays the same from one reading to the next.

    Bundles of leaves have places among them.
    """

    def __init__(self, every: Iterable[Leaf | Bundle | None] = ()) -> None:
        self.every = list(every)
        self._places = {leaf: place for place, leaf in enumerate(self.every) if leaf is not None}

    def place(self, leaf: Leaf | Bundle) -> int:
        """The place of a leaf, a new one where it has none."""
        place = self._places.setdefault(leaf, len(self.every))
        if place == len(self.every):
            self.every.append(leaf)
        return place

    def known(self, leaves: Iterable[Leaf]) -> frozenset[int]:
        """The places of those among these that have one."""
        return frozenset(self._places[leaf] for leaf in leaves if leaf in self._places)

    def are_of(self, places: Iterable[int], path: str) -> bool:
        """Whether these places, and all that bundles among them hold, are about one file."""
        leaves = (self.every[place] for place in self.below(places))
        return all(type(leaf) is Bundle or file_of(leaf) == path for leaf in leaves)

    def above(self, places: Collection[int]) -> frozenset[int]:
        """These places, and those of all bundles that hold one of them."""
        found = set(places)
        for place, leaf in enumerate(self.every):
            if type(leaf) is Bundle and not found.isdisjoint(leaf.notes):
                found.add(place)
        return frozenset(found)

    def below(self, places: Iterable[int]) -> set[int]:
        """These places, and those of all that bundles among them hold."""
        found: set[int] = set()
        waiting = set(places)
        while waiting:
            found |= waiting
            bundles = (each for place in waiting if type(each := self.every[place]) is Bundle)
            waiting = set[int]().union(*(bundle.notes for bundle in bundles)) - found
        return found


class Journal:
    """The notes of one reading, in their order, each as a small number."""

    def __init__(self, leaves: Leaves | None = None) -> None:
        self.leaves = Leaves() if leaves is None else leaves
        self._notes: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}
        self._log = array("I")
        self.used: Callable[[int], None] = self._log.append
        """What was worked out before, under a number, is used again."""
        self._begun: dict[int, int] = {}
        self._spans: dict[int, tuple[int, int]] = {}
        self._places: dict[int, int] = {}
        self._rests: dict[int, frozenset[int]] = {}
        self._open: dict[int, int] = {}
        self._lowest = 0

    def forget(self) -> None:
        """Let go of all notes, and of what they are about; leaves keep their places."""
        self._notes, self._numbers, self._spans, self._rests = [], {}, {}, {}

    def __len__(self) -> int:
        return len(self._log)

    def number(self, note: Hashable) -> int:
        """The number of a note, the same one each time."""
        number = self._numbers.setdefault(note, len(self._notes))
        if number == len(self._notes):
            self._notes.append(note)
            if isinstance(note, File | Query | Given):
                self._places[number] = self.leaves.place(note)
        return number

    def note(self, note: Hashable) -> None:
        """A file is read, a query is asked, a remembered answer is used."""
        self._log.append(self.number(note))

    def begin(self, answer: Hashable) -> None:
        """An answer is asked for that nobody remembers: what follows goes into it."""
        self._begun.setdefault(self.number(answer), len(self._log))

    def end(self, answer: Hashable) -> None:
        """An answer is there, for now or for good: it is put down once before, against circles, and once after."""
        number = self.number(answer)
        known = self._spans.get(number, (len(self._log), 0))
        self.remember(answer, self._begun.pop(number, known[0]))

    def remember(self, answer: Hashable, start: int) -> None:
        """An answer was worked out since a place of the notes."""
        number = self.number(answer)
        self._spans[number] = (start, len(self._log))
        self._rests.pop(number, None)
        self._log.append(number)

    def worked_out(self, start: int) -> int:
        """A new number for what was worked out since a place of the notes, to be ``used`` by."""
        number = len(self._notes)
        self._notes.append(None)
        self._spans[number] = (start, len(self._log))
        self._log.append(number)
        return number

    def evaluated(self, start: int) -> int:
        """The same for an evaluation, which is a part of others: whoever makes them again asks for it himself."""
        number = self.worked_out(start)
        self._notes[number] = PART
        return number

    def known(self, places: frozenset[int]) -> int:
        """A new number, to be ``used`` by, for what is known to rest on these places."""
        number = len(self._notes)
        self._notes.append(None)
        self._spans[number], self._rests[number] = (len(self._log), len(self._log)), places
        return number

    def rests(self, number: int) -> frozenset[int]:
        """The places of all that what was worked out under a number rests on, in bundles where that is much."""
        return self._opened(number)

    def own(self, start: int) -> int | None:
        """A number, to be ``used`` by, for what was noted since a place beside the parts; None if nothing."""
        log, place = self._log, len(self._log)
        own: set[int] = set()
        while place > start:
            place -= 1
            number = log[place]
            begun, ended = self._spans.get(number, (0, 0))
            note = self._notes[number]
            if note is not PART:
                own.add(number)
            if (note is PART or note is None) and ended == place:
                place = max(begun, start)
        if not own:
            return None
        first = len(log)
        log.extend(own)
        return self.worked_out(first)

    def between(self, start: int, end: int) -> Dependencies:
        """What a stretch of the notes rests on, remembered answers opened."""
        notes = [self.leaves.every[place] for place in self.leaves.below(self.rests_on(start, end))]
        return Dependencies(
            frozenset(note.path for note in notes if isinstance(note, File)),
            frozenset(note for note in notes if isinstance(note, Query)),
            frozenset(note.name for note in notes if isinstance(note, Given)),
        )

    def rests_on(self, start: int, end: int) -> frozenset[int]:
        """The places of all that a stretch of the notes rests on, in bundles where answers rest on much."""
        log, spans, found, place = self._log, self._spans, set[int](), end
        while place > start:
            place -= 1
            number = log[place]
            span = spans.get(number)
            if span is not None:
                found |= self._rests.get(number) or self._opened(number)
                if span[1] == place:
                    # What it was worked out from stands before it, and is its own.
                    place = max(span[0], start)
            elif number in self._places:
                found.add(self._places[number])
        return frozenset(found)

    def _opened(self, number: int) -> frozenset[int]:
        """What an answer rests on, once for all; answers that need each other rest on the same (R. Tarjan, 1972)."""
        known = self._rests.get(number)
        if known is not None:
            return known
        if number in self._open:
            self._lowest = min(self._lowest, self._open[number])
            return frozenset()
        depth = self._open[number] = len(self._open)
        before, self._lowest = self._lowest, depth
        found = self.rests_on(*self._spans[number])
        if self._lowest < depth:
            self._open[number] = self._lowest
            self._lowest = min(before, self._lowest)
            return found
        found = self._bundled(found)
        while number in self._open:
            self._rests[self._open.popitem()[0]] = found
        self._lowest = before
        return found

    def _bundled(self, found: frozenset[int]) -> frozenset[int]:
        """Many notes as one, given numbers aside: they are told by whoever rests on them."""
        if len(found) < SMALLEST:
            return found
        given = {place for place in found if type(self.leaves.every[place]) is Given}
        return frozenset((self.leaves.place(Bundle.of(found - given)), *given))


class Fleeting(Journal):
    """The journal of who keeps nothing: given numbers are taken down, and nothing else."""

    def __init__(self, leaves: Leaves | None = None) -> None:
        super().__init__(leaves)
        self.used = _unused

    def note(self, note: Hashable) -> None:
        """A given number is asked for."""
        if isinstance(note, Given):
            super().note(note)

    def begin(self, answer: Hashable) -> None:
        """Not taken down."""

    def end(self, answer: Hashable) -> None:
        """Not taken down."""

    def remember(self, answer: Hashable, start: int) -> None:
        """Not taken down."""

    def worked_out(self, start: int) -> int:
        """The same number for all that is worked out."""
        return 0

    def evaluated(self, start: int) -> int:
        """The same number for all evaluations."""
        return 0

    def own(self, start: int) -> int | None:
        """No number."""
        return None


def _unused(number: int) -> None:
    """Not taken down."""


class AskedFor:
    """The given numbers that are asked for, noted one by one."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def add(self, name: str) -> None:
        """A given number was of use."""
        self._journal.note(Given(name))


class Answers(dict[tuple[object, ...], object]):
    """Answers that are remembered for a part of the project; the journal knows what each rests on."""

    def __init__(self, journal: Journal, part: str = "") -> None:
        super().__init__()
        self._journal, self._part = journal, part

    def get(self, key: tuple[object, ...], default: object = None) -> object:
        """A remembered answer, or the start of working it out."""
        known = key in self
        return self[key] if known else default

    def __contains__(self, key: object) -> bool:
        known = super().__contains__(key)
        if not known and isinstance(key, tuple):
            self._journal.begin((self._part, key))
        return known

    def __getitem__(self, key: tuple[object, ...]) -> object:
        self._journal.note((self._part, key))
        return super().__getitem__(key)

    def __setitem__(self, key: tuple[object, ...], value: object) -> None:
        super().__setitem__(key, value)
        self._journal.end((self._part, key))
