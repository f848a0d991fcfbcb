"""What evaluations found, kept for the paths and sites that come after.

A note holds, beside what was found, all that was asked of the world on the way, in order. A world that gives the same
answers finds the same: the note is played back instead of evaluating again, and leaves the world as evaluating would
have left it, steps and forks included. So what is remembered changes no verdict, and may be forgotten at any time.

Where some answer is another one, what lies between it and the whole may come to the same all the same: then the parts
are evaluated one by one, and what is made of them is taken from the note.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from typing import Any, TypeVar

from trainlint.record import dataclass, fields, is_dataclass
from trainlint.source.summary import Module
from trainlint.source.things import Arguments, Frame, Thunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainlint.source.world import World

T = TypeVar("T")

MOST_NOTES = 120_000
"""Notes beyond which all are forgotten: what is kept must not grow with the project."""

MOST_QUESTIONS = 16
"""A note that rests on more answers than this is seldom found again: it is made again of its parts."""


class Event:
    """One thing that an evaluation asks of its world, or does to it; ``answer`` is what came back.

    ``ask`` gives the answer of another world and changes nothing; ``happen`` asks in earnest, ``again`` so that it is
    noted. What is only done has no ``ask``.
    """

    __slots__ = ("again", "answer", "ask", "happen", "what")

    def __init__(
        self,
        what: Hashable,
        answer: Hashable,
        ask: Callable[[World], Hashable] | None,
        happen: Callable[[World], Hashable],
        again: Callable[[World], Hashable],
    ) -> None:
        self.what, self.answer, self.ask, self.happen, self.again = what, answer, ask, happen, again


class Note:
    """What one evaluation found, and what it asked and did on the way; ``events`` is None where that is not known.

    It is of an expression in a frame, or of the answer to a question about one, for which there is ``work``. ``number``
    is its place in the journal, ``own`` that of what it rests on beside its parts. ``is_possible`` is False where it
    ended because the path cannot be. ``asked`` are all its questions, those of its parts included.
    """

    __slots__ = ("asked", "events", "frame", "is_possible", "key", "number", "of", "own", "steps", "value", "work")

    def __init__(
        self, of: ast.expr | str, frame: Frame, key: tuple[object, int], work: Callable[[World], object] | None = None
    ) -> None:
        self.of, self.frame, self.key, self.work = of, frame, key, work
        self.steps = int(work is None)
        self.value: object = None
        self.events: tuple[Note | Event, ...] | None = None
        self.asked: dict[Hashable, Event] = {}
        self.is_possible = True
        self.number = 0
        self.own: int | None = None

    def again(self, world: World) -> object:
        """The same in another world."""
        if self.work is not None:
            return world.ask(str(self.of), self.frame, self.work)
        return world.evaluate(self.of, self.frame)  # type: ignore[arg-type]

    def anew(self, world: World) -> object:
        """What comes of it there by work."""
        return self.work(world) if self.work is not None else world.expression(self.of, self.frame)  # type: ignore[arg-type]

    def rest_on(self, events: tuple[Note | Event, ...]) -> None:
        """Be known to have asked and done just this, unless it is too much to be asked as a whole."""
        asked: dict[Hashable, Event] = {}
        for each in events:
            if isinstance(each, Note):
                asked.update(each.asked)
            elif each.ask is not None:
                asked.setdefault(each.what, each)
        if len(asked) <= MOST_QUESTIONS:
            self.events, self.asked = events, asked


@dataclass
class Crossing:
    """Where notes of one place part: at the answer to a question, or at what a part is worth."""

    event: Event | Note
    ways: Ways


Ways = dict[Hashable, "Crossing | Note"]


class Recall:
    """The notes of a workspace, by what was evaluated and by what its frame holds."""

    def __init__(self) -> None:
        self._last = 0
        self.forget()

    def forget(self) -> None:
        """Know nothing any more."""
        self._notes: Ways = {}
        self._makings: Ways = {}
        self._count = 0
        self._numbers: dict[Hashable, tuple[int, Any]] = {}
        self._known: dict[int, int] = {}

    def _count_one(self) -> None:
        if self._count >= MOST_NOTES:
            self.forget()
        self._count += 1

    def find(self, place: Hashable, world: World) -> Note | None:
        """The note of a place whose questions this world would answer as they were answered then."""
        each = self._notes.get(place)
        while isinstance(each, Crossing):
            assert isinstance(each.event, Event) and each.event.ask is not None, "notes part at questions"
            each = each.ways.get(each.event.ask(world))
        return each

    def keep(self, place: Hashable, note: Note) -> None:
        """Keep a note beside those of the same place that were answered otherwise."""
        self._count_one()
        ways, way = self._notes, place
        for event in note.asked.values():
            ways, way = _beyond(ways, way, event, event.what), event.answer
        ways[way] = note

    def making(self, place: Hashable) -> Crossing | Note | None:
        """How what stands at a place was made: the first crossing, at what was asked or evaluated first."""
        return self._makings.get(place)

    def keep_making(self, place: Hashable, note: Note, events: Iterable[Event | Note]) -> None:
        """Keep how a note was made of its own questions and parts."""
        self._count_one()
        ways, way = self._makings, place
        for event in events:
            if isinstance(event, Event):
                ways, way = _beyond(ways, way, event, event.what), event.answer
            elif event.is_possible:
                ways, way = _beyond(ways, way, event, event.key), self.number(event.value)
            else:
                return
        ways[way] = note

    def version(self, frame: Frame) -> int:
        """A number for what a frame holds: frames of one activation may hold other things on other paths."""
        known = frame.__dict__.get("version")
        if known is None:
            known, _ = self._numbered(self._held(frame), frame)
            frame.__dict__["version"] = known
        return int(known)

    def number(self, thing: object) -> int:
        """A number for a thing, the same for all that are alike down to the last line of evidence."""
        known = self._known.get(id(thing))
        return known if known is not None else self._numbered(self._content(thing), thing)[0]

    def same(self, thing: T) -> T:
        """The first of all things that are alike."""
        return thing if id(thing) in self._known else self._numbered(self._content(thing), thing)[1]

    def _numbered(self, content: Hashable, thing: T) -> tuple[int, T]:
        known = self._numbers.get(content)
        if known is None:
            self._last += 1
            # As long as it is kept, nothing else can have the identity of what it holds.
            known = self._numbers[content] = self._last, thing
            self._known[id(thing)] = self._last
        return known

    def _held(self, frame: Frame) -> Hashable:
        turn, entry = frame.turn, frame.entry
        return (
            frame.number,
            id(frame.module),
            id(frame.function),
            self._passed(frame.arguments),
            self._part(frame.receiver),
            self.version(frame.outer) if frame.outer else 0,
            tuple((name, self._thunk(thunk)) for name, thunk in frame.local.items()) if frame.local else (),
            (id(turn.loop), turn.place, *map(self._thunk, turn.values), self.version(turn.around)) if turn else (),
            self.version(frame.home) if frame.home else 0,
            (id(entry[0]), self.version(entry[1])) if entry else (),
        )

    def _passed(self, given: Arguments | None) -> Hashable:
        if given is None:
            return None
        known = given.__dict__.get("content")
        if known is None:
            thunk = self._thunk
            known = given.__dict__["content"] = (
                tuple(map(thunk, given.positional)),
                tuple((name, thunk(each)) for name, each in given.keywords.items()),
                tuple(map(thunk, given.stars)),
                tuple(map(thunk, given.double_stars)),
            )
        return known

    def _thunk(self, thunk: Thunk) -> Hashable:
        via = self._thunk(thunk.via) if thunk.via else None
        return id(thunk.node), self.version(thunk.frame), self._part(thunk.known), via

    def _content(self, thing: object) -> Hashable:
        kind: type = type(thing)
        names = _fields(kind)
        return (kind, *[self._part(getattr(thing, name)) for name in names]) if names else self._part(thing)

    def _part(self, thing: object) -> Hashable:
        """What a thing is as a part of another."""
        kind: type = type(thing)
        if thing is None or kind is str:
            return thing
        if kind is tuple:
            return tuple(map(self._part, thing)) if thing else ()  # type: ignore[call-overload]
        if kind in (bool, int, float, bytes):
            return kind, thing
        match thing:
            case Thunk():
                return self._thunk(thing)
            case Frame():
                return self.version(thing)
            case Arguments():
                return self._passed(thing)
            case dict():
                return tuple((self._part(key), self._part(value)) for key, value in thing.items())
            case frozenset():
                return frozenset(map(self._part, thing))
        return self.number(thing) if _fields(kind) else id(thing)


def _beyond(ways: Ways, way: Hashable, event: Event | Note, what: Hashable) -> Ways:
    """The ways that go on from an event, which may be met here for the first time."""
    crossing = ways.get(way)
    if not isinstance(crossing, Crossing) or _what(crossing.event) != what:
        crossing = ways[way] = Crossing(event, {})
    return crossing.ways


def _what(event: Event | Note) -> Hashable:
    return event.what if isinstance(event, Event) else event.key


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """The names of what a thing of a kind consists of; none where it is only itself."""
    is_open = is_dataclass(kind) and kind not in (Module, Frame)
    return tuple(field.name for field in fields(kind)) if is_open else ()
