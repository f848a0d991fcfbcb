"""The verdicts of a project, kept from one look to the next, each beside what it rests on.

What is told to have changed takes along the verdicts that rest on it, and no others: a query whose answer is the same
changes nothing. Whoever asks for the facts again gets those that a first look would find. What judges is imported when
there is something to judge: of a run that only looks up what was kept, it would be most of the time.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from trainlint.facts import Fact
from trainlint.record import dataclass, field, replace
from trainlint.source.journal import HEAD, Bundle, File, Given, Kind, Leaves, Query, file_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainlint.source.link import Chosen, Place
    from trainlint.source.moving import Move
    from trainlint.source.pieces import Layout
    from trainlint.source.reading import Judged
    from trainlint.source.workspace import Workspace

FEW_REMEMBERED = 4096
"""Queries, files and bundles that are never too many to be remembered."""

Notes = frozenset[int]
"""Files and queries, by their places among the leaves."""


@dataclass(frozen=True)
class Verdict:
    """What was said, the files and queries that it rests on, and the given numbers that it asked for."""

    facts: tuple[Fact, ...]
    notes: Notes
    given: frozenset[str]

    def renumbered(self, places: Mapping[int, int] | Sequence[int]) -> Verdict:
        """The same, with other places; a range leaves each where it is."""
        if isinstance(places, range):
            return self
        return replace(self, notes=frozenset(places[note] for note in self.notes))


@dataclass
class Choice:
    """The places of one file that one linker looks at, what that rests on, and what is said of each; nothing yet of
    those that another file chose first.
    """

    places: tuple[Place, ...]
    verdict: Verdict
    said: dict[Place, Verdict] = field(default_factory=dict)

    def renumbered(self, places: Mapping[int, int] | Sequence[int]) -> Choice:
        """The same, with other places in its notes."""
        said = {place: verdict.renumbered(places) for place, verdict in self.said.items()}
        return Choice(self.places, self.verdict.renumbered(places), said)

    def is_said(self, done: Collection[Place]) -> bool:
        """Whether every place is judged, here or by who did it first."""
        return all(place in self.said or place in done for place in self.places)


@dataclass
class Unit:
    """What is known of one file: what keeps it from being read, and the choices that are more than to read it.

    ``open`` names the linkers whose choice is not known; None are all of them.
    """

    alone: Verdict | None = None
    choices: dict[str, Choice] = field(default_factory=dict)
    open: frozenset[str] | None = None

    def forget(self, changed: Notes) -> None:
        """Let go of what rests on any of these; what is said of a place holds, whoever chose it."""
        for doing, choice in self.choices.items():
            if self.open is not None and not changed.isdisjoint(choice.verdict.notes):
                self.open |= {doing}
            gone = [place for place, verdict in choice.said.items() if not changed.isdisjoint(verdict.notes)]
            for place in gone:
                del choice.said[place]

    def move(self, move: Move, heads: Notes) -> None:
        """Let what is said speak of other rows; ``heads`` are the heads of the files in which something has moved."""
        self.alone = self.alone and _moved(self.alone, move, heads)
        for choice in self.choices.values():
            if not heads.isdisjoint(choice.verdict.notes):
                choice.places = move.of(choice.places)
            if any(not heads.isdisjoint(verdict.notes) for verdict in choice.said.values()):
                choice.said = {move.of(place): _moved(each, move, heads) for place, each in choice.said.items()}

    def renumbered(self, places: Mapping[int, int] | Sequence[int]) -> Unit:
        """The same, its notes standing for other places; what changes later is its own, whoever shares this one."""
        choices = {doing: choice.renumbered(places) for doing, choice in self.choices.items()}
        return Unit(self.alone and self.alone.renumbered(places), choices, self.open)

    def verdicts(self) -> Iterator[Verdict]:
        """All that is known."""
        yield from (self.alone,) if self.alone else ()
        for choice in self.choices.values():
            yield choice.verdict
            yield from choice.said.values()

    def wanting(self, done: Collection[Place]) -> frozenset[str]:
        """The linkers that have to look at the file again, but for places that are done elsewhere."""
        if self.open is None:
            return frozenset(_doings())
        short = (doing for doing, choice in self.choices.items() if not choice.is_said(done))
        return self.open.union(short)


class Verdicts:
    """The verdicts of one project; ``workspace`` is what it looks like now."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.units: dict[str, Unit] = {}
        self._answered: set[int] = set()
        self._most = FEW_REMEMBERED + self._remembered

    def change(self, files: Sequence[str], changed: Collection[str]) -> None:
        """The project has these files now, and the changed ones may hold something else."""
        before = set(self.workspace.files)
        self.workspace, change = self.workspace.after(files, changed)
        notes = self._leaves.above(self._leaves.known((*map(File, change.files), *change.queries)))
        # A package that comes or goes gives every module below it another name.
        if any(os.path.basename(path) == "__init__.py" for path in before ^ set(files)):
            self.units, self._answered = {}, set()
        for path, unit in list(self.units.items()):
            if path not in self.workspace.known:
                del self.units[path]
                continue
            unit.forget(notes)
            if path in change.files:
                unit.alone, unit.open = None, None
        if change.moved:
            self._move(change.moved)
        if self._remembered > self._most:
            self._trim()

    def _move(self, moved: Mapping[str, tuple[Layout, Layout]]) -> None:
        """Let the verdicts that are left speak of the rows in which their evidence stands now."""
        from trainlint.source.moving import Move

        move = Move(moved)
        heads = self._leaves.above(self._leaves.known(Query(Kind.PIECE, (HEAD, "", path)) for path in moved))
        for unit in self.units.values():
            unit.move(move, heads)

    @property
    def _leaves(self) -> Leaves:
        return self.workspace.journal.leaves

    @property
    def _remembered(self) -> int:
        return self.workspace.questions + len(self._leaves.every)

    def join(self, units: Mapping[str, Unit], places: Sequence[int]) -> None:
        """Add what is known of other files; ``places`` are those of its leaves here."""
        self._answered.update(places)
        for path, unit in units.items():
            if path not in self.units:
                self.units[path] = unit.renumbered(places)

    def _trim(self) -> None:
        """Forget the queries that no verdict rests on: every edit leaves some behind. Nothing may be noted as yet."""
        noted = {note for unit in self.units.values() for verdict in unit.verdicts() for note in verdict.notes}
        used = sorted(self._leaves.below(noted))
        leaves, places = Leaves(), dict[int, int]()
        for place in used:
            leaf = self._leaves.every[place]
            assert leaf is not None, "verdicts rest on what has a place"
            places[place] = leaves.place(leaf.renumbered(places) if isinstance(leaf, Bundle) else leaf)
        self.units = {path: unit.renumbered(places) for path, unit in self.units.items()}
        self.workspace.journal.leaves, self._answered = leaves, set()
        self.workspace.trim({leaf for leaf in leaves.every if isinstance(leaf, Query)})
        self._most = FEW_REMEMBERED + self._remembered

    def of(self, files: Iterable[str], alone: Collection[str] = ()) -> Iterator[Verdict]:
        """Every verdict of these files; of a place that several of them lead to, the first one's.

        Those ``alone`` hold nothing to judge: what is said of one is what keeps it from being read.
        """
        done: set[Place] = set()
        for path in files:
            if path in alone:
                yield self._read(self.units.setdefault(path, Unit()), path)
                continue
            unit = self._judged(path, done)
            assert unit.alone is not None, "it was completed"
            yield unit.alone
            for choice in unit.choices.values():
                yield choice.verdict
                yield from (choice.said[place] for place in choice.places if place not in done)
                done.update(choice.places)

    def unknown(self, files: Iterable[str]) -> list[str]:
        """Those of these files of which some linker has not chosen its places."""
        return [path for path in files if path not in self.units or self.units[path].open != frozenset()]

    def _judged(self, path: str, done: Collection[Place]) -> Unit:
        """All of a file that is not done, what is known of it left as it is."""
        unit = self.units.get(path)
        if unit is None or unit.wanting(done):
            unit = self.units[path] = self._completed(unit, path, done)
        return unit

    def _read(self, unit: Unit, path: str) -> Verdict:
        """What keeps a file from being read."""
        from trainlint.source.reading import judged_alone

        unit.alone = unit.alone or self._verdict(judged_alone(self.workspace, path))
        return unit.alone

    def _completed(self, unit: Unit | None, path: str, done: Collection[Place]) -> Unit:
        """What is known of a file, with what is wanting."""
        from trainlint.source.link import choices

        unit = unit or Unit()
        self.workspace = self.workspace.turned_to(path)
        self._read(unit, path)
        wanting = unit.wanting(done)
        known = {doing: choice for doing, choice in unit.choices.items() if doing not in wanting}
        for chosen in choices(self.workspace, path, wanting):
            choice = self._chosen(unit, path, chosen, done)
            if choice.places or choice.verdict.notes or choice.verdict.given:
                known[chosen.linker.doing] = choice
        unit.choices = {doing: known[doing] for doing in _doings() if doing in known}
        unit.open = frozenset()
        return unit

    def _chosen(self, unit: Unit, path: str, chosen: Chosen, done: Collection[Place]) -> Choice:
        """The places that one linker looks at, and what is said of each."""
        from trainlint.source.link import judged
        from trainlint.source.reading import Judged

        before = unit.choices.get(chosen.linker.doing)
        holds = unit.open is not None and chosen.linker.doing not in unit.open
        verdict = before.verdict if before and holds else self._choice(Judged(path, None, (), chosen.stretch))
        choice = Choice(tuple(chosen.sites), verdict)
        for place, site in chosen.sites.items():
            said = before.said.get(place) if before else None
            if said or place not in done:
                choice.said[place] = said or self._verdict(judged(self.workspace, chosen.linker, site))
        return choice

    def _choice(self, judged: Judged) -> Verdict:
        """What a choice of places rests on, the file itself aside: when that changes, all choose again."""
        every = self._leaves.every
        notes = self._leaves.below(self.workspace.journal.rests_on(*judged.stretch))
        others = (place for place in notes if type(every[place]) is not Bundle and file_of(every[place]) != judged.path)
        return self._resting(judged, others)

    def _verdict(self, judged: Judged) -> Verdict:
        """What was said, with all that it rests on."""
        return self._resting(judged, self.workspace.journal.rests_on(*judged.stretch))

    def _resting(self, judged: Judged, places: Iterable[int]) -> Verdict:
        leaves = {place: self._leaves.every[place] for place in places}
        given = frozenset(leaf.name for leaf in leaves.values() if isinstance(leaf, Given))
        notes = frozenset(place for place, leaf in leaves.items() if not isinstance(leaf, Given))
        self._answer(notes)
        return Verdict(judged.facts, notes, given)

    def _answer(self, notes: Notes) -> None:
        """Have all queries answered, in bundles too: what a piece holds is told while the file is as it was."""
        waiting = notes - self._answered
        while waiting:
            self._answered |= waiting
            leaves = [self._leaves.every[place] for place in waiting]
            for leaf in leaves:
                if isinstance(leaf, Query):
                    self.workspace.answer(leaf)
            waiting = frozenset().union(*(leaf.notes for leaf in leaves if isinstance(leaf, Bundle))) - self._answered


def _moved(verdict: Verdict, move: Move, heads: Notes) -> Verdict:
    return verdict if heads.isdisjoint(verdict.notes) else replace(verdict, facts=move.of(verdict.facts))


def _doings() -> tuple[str, ...]:
    from trainlint.source.link import doings

    return doings()
