"""What evaluations found, kept for the paths and sites that come after.

A note holds, beside what was found, all that was asked of the world on the way, in order. A world that gives the same
answers finds the same: the note is played back instead of evaluating again, and leaves the world as evaluating would
have left it, steps and forks included. So what is remembered changes no verdict, and may be forgotten at any time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from trainlint.source.things import Arguments, Built, Class, External, Frame, Thing, Thunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainlint.source.world import World

MOST_NOTES = 120_000
"""Notes beyond which all are forgotten: what is kept must not grow with the project."""


class Event:
    """One thing that an evaluation asks of its world, or does to it; ``answer`` is what came back.

    ``ask`` gives the answer of another world and changes nothing; ``happen`` asks in earnest. What is only done has no
    ``ask``.
    """

    __slots__ = ("answer", "ask", "happen", "what")

    def __init__(
        self,
        what: Hashable,
        answer: Hashable,
        ask: Callable[[World], Hashable] | None,
        happen: Callable[[World], Hashable],
    ) -> None:
        self.what, self.answer, self.ask, self.happen = what, answer, ask, happen


class Note:
    """What one evaluation found, and what it asked and did on the way; ``events`` is None where that is not known.

    ``steps`` is what it costs beside its parts, ``number`` its place in the journal. ``is_possible`` is False where it
    ended because the path cannot be. ``asked`` are all its questions, those of its parts included.
    """

    __slots__ = ("asked", "events", "is_possible", "key", "node", "number", "steps", "value")

    def __init__(self, key: tuple[object, int], node: ast.AST | None, steps: int) -> None:
        self.key, self.node, self.steps = key, node, steps
        self.value: object = None
        self.events: tuple[Note | Event, ...] | None = None
        self.asked: dict[Hashable, Event] = {}
        self.is_possible = True
        self.number = 0

    def rest_on(self, events: tuple[Note | Event, ...]) -> None:
        """Be known to have asked and done just this."""
        self.events, asked = events, self.asked
        for each in events:
            if isinstance(each, Event):
                if each.ask is not None:
                    asked.setdefault(each.what, each)
            elif each.asked:
                asked.update({what: event for what, event in each.asked.items() if what not in asked})


@dataclass
class Crossing:
    """Where notes of one place part: at the answer to a question."""

    event: Event
    ways: dict[Hashable, Crossing | Note]


class Recall:
    """The notes of a workspace, by what was evaluated and by what its frame holds."""

    def __init__(self) -> None:
        self._notes: dict[Hashable, Crossing | Note] = {}
        self._count = 0
        self._versions: dict[Hashable, int] = {}
        self._frames: list[Frame] = []
        self._last = 0

    def find(self, place: Hashable, world: World) -> Note | None:
        """The note of a place whose questions this world would answer as they were answered then."""
        each = self._notes.get(place)
        while isinstance(each, Crossing):
            assert each.event.ask is not None, "notes part at questions"
            each = each.ways.get(each.event.ask(world))
        return each

    def keep(self, place: Hashable, note: Note) -> None:
        """Keep a note beside those of the same place that were answered otherwise."""
        if self._count >= MOST_NOTES:
            self._notes, self._count = {}, 0
            self._versions, self._frames = {}, []
        self._count += 1
        ways, way = self._notes, place
        for event in note.asked.values():
            crossing = ways.get(way)
            if not isinstance(crossing, Crossing) or crossing.event.what != event.what:
                crossing = ways[way] = Crossing(event, {})
            ways, way = crossing.ways, event.answer
        ways[way] = note

    def version(self, frame: Frame) -> int:
        """A number for what a frame holds: frames of one activation may hold other things on other paths."""
        known = frame.__dict__.get("version")
        if known is None:
            content = self._content(frame)
            known = self._versions.get(content)
            if known is None:
                self._last += 1
                known = self._versions[content] = self._last
                # As long as it is kept, nothing else can have the identity of what it holds.
                self._frames.append(frame)
            frame.__dict__["version"] = known
        return int(known)

    def _content(self, frame: Frame) -> Hashable:
        turn, entry = frame.turn, frame.entry
        return (
            frame.number,
            id(frame.module),
            id(frame.function),
            self._passed(frame.arguments),
            self._thing(frame.receiver),
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
        return known  # type: ignore[no-any-return]

    def _thunk(self, thunk: Thunk) -> Hashable:
        via = self._thunk(thunk.via) if thunk.via else None
        return id(thunk.node), self.version(thunk.frame), self._thing(thunk.known), via

    def _thing(self, thing: Thing | None) -> Hashable:
        match thing:
            case None:
                return None
            case Built():
                return (
                    "object",
                    self._thing(thing.what),
                    self._passed(thing.arguments),
                    id(thing.node),
                    self.version(thing.frame),
                    thing.label,
                )
            case Class():
                return "class", id(thing.node), self.version(thing.outer)
            case External():
                return thing.name
        return id(thing)
