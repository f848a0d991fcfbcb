"""One way a program can run: which arm of each undecided branch, which caller of each open function.

An evaluation that meets a fork asks its world. The first answer is 0; ``worlds`` then runs the evaluation again for
each other answer, so that everything seen in one run belongs to one path: a width and a sentinel of the same arm stay
together.
"""

from __future__ import annotations

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, TypeVar

from trainlint.record import dataclass, field, replace
from trainlint.source.recall import Crossing, Event, Note
from trainlint.source.summary import Module
from trainlint.source.things import Arguments, Binding, Built, Entries, Frame, Thing, Thunk
from trainlint.source.workspace import Workspace
from trainlint.value import Integer, Step, Unknown

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)

MOST_WORLDS = 96
"""A site with more paths than this is not judged; most are short, and the steps that they take together are bounded."""

MOST_CALLERS = 3
MOST_CALLERS_OF_A_NUMBER = 12
"""Callers that are followed where only a number is asked for, not the layers in front of it."""

DEEPEST = 60
"""Evaluations inside evaluations, each about fifteen Python frames deep."""

MOST_STEPS = 12_000
"""Expressions that the paths to one site may look at together."""

STEPS_OF_A_QUESTION = 2_000
"""The same for one question of a reverse query: those that are settled at all take some hundred."""

MOST_BENEATH = 6
"""Paths beneath one path that are looked at for the targets."""

MOST_MISSES = 4
"""A place whose parts came to something else so much more often than to the same is worked out at once: to ask for the
parts first costs as much again, and where functions call each other in circles twice as much with each of them.
"""

RESTORED = ("torch.load()@", "pickle.load()@", "joblib.load()@", "dill.load()@")
"""What comes out of a file was put there by the code that wrote it: this code, on another path."""

CIRCULAR = "it is defined in terms of itself"


@dataclass
class Fork:
    """A question that a world was asked: the answers there are, and the one it gives."""

    kind: str
    answers: tuple[Step, ...]
    answer: int = 0


@dataclass
class Path:
    """The forks of one run, in the order of asking.

    ``followed`` says that what the site calls on this path is known: a loss of some kind, or code of the project, whose
    losses are sites of their own.
    """

    forks: dict[tuple[object, ...], Fork] = field(default_factory=dict)
    followed: bool = False

    @property
    def combinations(self) -> int:
        """In how many ways its forks could be answered together."""
        return math.prod(len(fork.answers) for fork in self.forks.values())

    def next(self) -> Path | None:
        """The path after this one: the last fork that has another answer takes it; None after the last path."""
        forks = list(self.forks.items())
        while forks and forks[-1][1].answer + 1 >= len(forks[-1][1].answers):
            forks.pop()
        if not forks:
            return None
        key, last = forks.pop()
        return Path({**dict(forks), key: replace(last, answer=last.answer + 1)})

    def turned(self, key: tuple[object, ...], answer: int) -> Path:
        """The path that answers one fork differently; what comes after it is asked anew."""
        forks: dict[tuple[object, ...], Fork] = {}
        for each, fork in self.forks.items():
            if each == key:
                return Path({**forks, each: replace(fork, answer=answer)})
            forks[each] = replace(fork)
        return self

    def steps(self, kind: str) -> tuple[Step, ...]:
        """What was answered to forks of one kind that had more than one answer."""
        taken = (fork for fork in self.forks.values() if fork.kind == kind and len(fork.answers) > 1)
        return tuple(fork.answers[fork.answer] for fork in taken)


@dataclass(frozen=True)
class Mark:
    """How much a world knew when it first asked a question: whatever answer follows, that much stays true."""

    memo: int
    context: int
    unfollowed: int
    given: int


class Impossible(Exception):
    """This path cannot be: it reads what only another arm has set."""


@dataclass
class Budget:
    """What is left of the steps that a site may take, and of those for what is only looked at beside it."""

    left: int = MOST_STEPS
    _beside: Budget | None = None

    @property
    def beside(self) -> Budget:
        """The steps that the targets of a loss may take: however long they are followed, its layer is judged."""
        if self._beside is None:
            self._beside = Budget(self.left // 2)
        return self._beside


class World(ABC):
    """The state of one run of the evaluator, and what its parts ask of each other.

    Without a ``budget`` to share, each question has its own, and no callers are looked for. ``narrow`` says that
    nothing is asked but what the site itself is given as a number, ``learns`` that the site is a loss of training, for
    which those who only evaluate it do not count. ``needed`` are the parameters of a function that no caller on the way
    to a site leaves out.

    ``memo`` is what is known already. ``running`` are the evaluations that go on, each with its depth; ``open`` has a
    bit for the depth of each that was met again inside of itself, ``passing`` what holds as long as those are open, and
    ``until`` which of it ends with the evaluation of a depth. ``is_cut`` says that the budget or the depth ran out.
    ``events`` is what the evaluation that goes on has asked and done itself; ``is_noted`` that this is all, ``sure``
    that it is all of its parts, too. ``handed`` is what a part that was cut is worth, to be taken once.
    """

    def __init__(self, workspace: Workspace, path: Path, budget: Budget | None) -> None:
        self.workspace, self._path, self.looks_for_callers = workspace, path, budget is not None
        self.budget, self.renews = budget or Budget(), budget is None
        self.memo: dict[tuple[object, int], Note] = {}
        self.running: dict[tuple[object, int], int] = {}
        self.open = 0
        self.is_cut = False
        self.passing: dict[tuple[object, int], tuple[Note, int]] = {}
        self.until: dict[int, list[tuple[object, int]]] = {}
        self.narrow = False
        self.learns = False
        self.needed: dict[ast.AST, frozenset[str]] = {}
        self.asking: dict[tuple[object, ...], None] = {}
        self.given: dict[tuple[object, ...], int] = {}
        self.context: dict[object, Step] = {}
        self.unfollowed: dict[object, Unknown] = {}
        self.marks: dict[tuple[object, ...], Mark] = {}
        self.events: dict[Hashable, Event | Note] | None = None
        self.sure = True
        self.is_noted = True
        self.handed: tuple[tuple[object, int], object] | None = None

    def resume(self, other: World, fork: tuple[object, ...]) -> None:
        """Take over what another world knew when it first asked about a fork, up to which both go the same way."""
        mark = other.marks[fork]
        self.memo = dict(islice(other.memo.items(), mark.memo))
        self.context = dict(islice(other.context.items(), mark.context))
        self.unfollowed = dict(islice(other.unfollowed.items(), mark.unfollowed))
        self.given = dict(islice(other.given.items(), mark.given))
        self.marks = {key: other.marks[key] for key in self._path.forks}

    # What an evaluation asks of its world beside the worth of expressions is noted, so that a note can be played back.

    @property
    def path(self) -> Path:
        """The path of this world. What somebody reads there is not noted."""
        self.sure = self.is_noted = False
        return self._path

    def follow(self, is_followed: bool) -> None:
        """Say whether what the site calls on this path is known."""
        self.take("followed", lambda world: setattr(world._path, "followed", is_followed))

    def way(self) -> tuple[Step, ...]:
        """The callers that this path came through."""
        return self.told("way", lambda world: tuple(world.context.values()))

    def choose(self, kind: str, key: tuple[object, ...], answers: Sequence[Step]) -> int:
        """The answer of this world to a fork."""
        fork = (kind, *key)
        answer = self._chosen(fork, answers)
        if self.events is not None and fork not in self.events:
            self.events[fork] = Event(
                fork,
                answer,
                lambda world: world.answered(fork) or 0,
                lambda world: world._chosen(fork, answers),
                lambda world: world.choose(kind, key, answers),
            )
        return answer

    def _chosen(self, fork: tuple[object, ...], answers: Sequence[Step]) -> int:
        if fork in self.given:
            return self.given[fork]
        if len(answers) < 2:
            return 0
        if fork not in self._path.forks:
            self._path.forks[fork] = Fork(str(fork[0]), tuple(answers))
            known = (self.memo, self.context, self.unfollowed, self.given)
            self.marks[fork] = Mark(*(len(each) for each in known))
        return self._path.forks[fork].answer

    def answered(self, fork: tuple[object, ...]) -> int | None:
        """What this world has said at a fork; None where it was not asked."""
        met = self._path.forks.get(fork)
        return self.given.get(fork, met.answer if met is not None else None)

    def answer(self, fork: tuple[object, ...], answer: int) -> None:
        """Answer a fork before it is met, unless that is done."""
        self.take(("given", fork), lambda world: world.given.update({fork: world.given.get(fork, answer)}))

    def told(self, what: Hashable, tell: Callable[[World], H]) -> H:
        """What this world says of itself; ``what`` names the question."""
        answer = tell(self)
        if self.events is not None:
            again = lambda world: world.told(what, tell)  # noqa: E731
            self.events.setdefault(("told", what), Event(("told", what), answer, tell, tell, again))
        return answer

    def take(self, what: Hashable, change: Callable[[World], None]) -> None:
        """Let this world take something down, by its name, that it says again later."""
        change(self)
        if self.events is not None:
            again = lambda world: world.take(what, change)  # noqa: E731
            self.events.setdefault(("taken", what), Event(what, None, None, change, again))

    @contextmanager
    def once(self, question: tuple[object, ...]) -> Iterator[bool]:
        """Whether a question is free to be asked: inside of itself it is not."""
        is_free = self.enter(question)
        try:
            yield is_free
        finally:
            if is_free:
                self.leave(question)

    def enter(self, question: tuple[object, ...]) -> bool:
        """Begin to ask a question, if that is not done already."""
        is_free = question not in self.asking
        if is_free:
            self.asking[question] = None
        self.sure = self.sure and is_free
        if self.events is not None:
            ask: Callable[[World], bool] = lambda world: question not in world.asking  # noqa: E731
            entering = Event(question, is_free, ask, ask, lambda world: world.enter(question))
            self.events["entered", len(self.events)] = entering
        return is_free

    def leave(self, question: tuple[object, ...]) -> None:
        """Be done with a question that was entered."""
        self.asking.pop(question, None)
        if self.events is not None:
            nothing: Callable[[World], None] = lambda world: None  # noqa: E731
            leaving = Event(("left", question), None, None, nothing, lambda world: world.leave(question))
            self.events["left", len(self.events)] = leaving

    def evaluate(self, node: ast.expr, frame: Frame) -> Thing:
        """What an expression is worth; budgeted, memoised, and safe against definitions that need themselves.

        A value that was found while something beneath it was still open is kept only as long as that is open: who
        asks first must not matter.
        """
        key = (id(node), frame.number)
        known = self.memo.get(key)
        if known is not None:
            return self._again(known)  # type: ignore[no-any-return]
        if key in self.passing:
            return self._in_passing(key)  # type: ignore[no-any-return]
        depth = len(self.running)
        if self.handed is not None and self.handed[0] == key:
            return self._taken()  # type: ignore[no-any-return]
        if self.renews and not depth:
            self.budget.left = STEPS_OF_A_QUESTION
        self.budget.left -= 1
        note = Note(node, frame, key)
        if key in self.running:
            return self._circular(note)
        if depth >= DEEPEST or self.budget.left < 0:
            self.is_cut, self.sure = True, False
            return Unknown("it takes too many steps to settle")
        return self._settled(note)  # type: ignore[no-any-return]

    def _circular(self, note: Note) -> Unknown:
        """What is evaluated already, further up."""
        self.sure = False
        if self._is_carried():
            raise Impossible
        self.open |= 1 << self.running[note.key]
        note.value = Unknown(CIRCULAR)
        if self.events is not None:
            self.events["circular", len(self.events)] = note
        return note.value

    def ask(self, question: str, frame: Frame, work: Callable[[World], T]) -> T:
        """The answer to a question about a frame; it is remembered as the worth of an expression is, and is free."""
        key = (question, frame.number)
        known = self.memo.get(key)
        if known is not None:
            return self._again(known)  # type: ignore[no-any-return]
        return self._settled(Note(question, frame, key, work))  # type: ignore[no-any-return]

    def _settled(self, note: Note) -> Any:
        """What a note of an earlier world says that can be played back here, else what comes of the work."""
        if self.renews:
            return self._worked_out(note, None)
        place = (note.key[0], self.workspace.recall.version(note.frame), self.looks_for_callers)
        old = self.workspace.recall.find(place, self)
        if old is not None and self._plays(old, len(self.running)):
            if old.is_possible:
                self.memo[old.key] = old
            return self._again(old)
        return self._worked_out(note, place)

    def _plays(self, note: Note, depth: int) -> bool:
        """Whether this world asks and does what the note says, with the same answers; it is left as after the work."""
        inner = depth + note.steps
        for event in note.events or ():
            if isinstance(event, Event):
                if event.happen(self) != event.answer:
                    return False
                continue
            known = self.memo.get(event.key)
            if known is None:
                self.budget.left -= event.steps
                is_open = event.key in self.running or event.key in self.passing
                is_open = is_open or inner >= DEEPEST or self.budget.left < 0
                if (event.steps and is_open) or not self._plays(event, inner):
                    self.budget.left += event.steps
                    return False
                if not event.is_possible:
                    return True
                self.memo[event.key] = event
            elif known.value is not event.value:
                return False
        return True

    def _again(self, note: Note) -> Any:
        """What is known already."""
        self.workspace.journal.used(note.number)
        if self.events is not None:
            self.events[note] = note
            self.sure = self.sure and note.events is not None
        if not note.is_possible:
            raise Impossible
        return note.value

    def _in_passing(self, key: tuple[object, int]) -> Any:
        """What was found a moment ago, and holds as long as what it met is open."""
        note, met = self.passing[key]
        self.workspace.journal.used(note.number)
        if self.events is not None:
            self.events[note] = note
        self.open |= met
        self.sure = False
        return note.value

    def _remade(self, place: Hashable) -> Note | None:
        """The note of a place whose questions and parts, asked here in earnest, come to the same; None without one.

        Then it is as if only the parts had been asked for: the work that follows asks for them again, at no cost.
        """
        recall, asked, circles = self.workspace.recall, len(self.asking), 0
        misses = self.workspace.misses
        each = recall.making(place) if misses.get(place, 0) < MOST_MISSES else None
        if each is None:
            return None
        try:
            while isinstance(each, Crossing):
                event = each.event
                answer = event.again(self)
                if isinstance(event, Note):
                    circles += event.key in self.running
                    if event.key not in self.memo and not self._holds(event.key):
                        self.handed, each = (event.key, answer), None
                        break
                    answer = recall.number(answer)
                each = each.ways.get(answer)
        finally:
            while len(self.asking) > asked:
                self.asking.popitem()
        if each is None or self.budget.left < 0:
            self.budget.left += circles
            misses[place] = misses.get(place, 0) + 1
            return None
        assert isinstance(each, Note), "the last crossing is behind"
        if place in misses:
            misses[place] -= 1
        return each

    def _holds(self, key: tuple[object, int]) -> bool:
        """Whether what is not known for good is there when it is asked for again; not so where it was cut."""
        return key in self.passing or key in self.running

    def _taken(self) -> Any:
        """What a part was worth that has just been cut."""
        assert self.handed is not None, "somebody hands it over"
        (_, value), self.handed, self.sure = self.handed, None, False
        return value

    def _worked_out(self, note: Note, place: Hashable | None) -> Any:
        outside = self.events, self.sure, self.is_noted, self.open
        depth, start = len(self.running), len(self.workspace.journal)
        self.events, self.sure, self.is_noted, self.open = {}, True, True, 0
        old, is_done = None, False
        if note.steps:
            self.running[note.key] = depth
        try:
            old = self._remade(place) if place is not None and not self.is_cut else None
            note.value = note.anew(self) if old is None else self._said_by(old)
            is_done = True
        except Impossible:
            note.is_possible = False
            raise
        except RecursionError:
            if not note.steps:
                raise
            note.value, self.is_cut, self.sure = Unknown("it takes too many steps to settle"), True, False
            is_done = True
        finally:
            met = self.open & ((1 << depth) - 1)
            is_whole = not note.steps or not (met or self.is_cut)
            if is_done or not note.is_possible:
                self._keep(note, place, start, is_whole=is_whole, is_new=old is None)
            note.number = self.workspace.journal.evaluated(start)
            if note.steps:
                self._close(note, met if is_done and not self.is_cut else 0)
            self.events, sure, self.is_noted, others = outside
            self.sure, self.open = sure and note.events is not None, others | met
            if self.events is not None:
                self.events[note] = note
            if is_whole and is_done:
                self.memo[note.key] = note
        return note.value

    def _said_by(self, old: Note) -> Any:
        """What a note says, for its parts are the same; what it rests on beside them is used again."""
        if old.own is not None:
            self.workspace.journal.used(old.own)
        if not old.is_possible:
            raise Impossible
        return old.value

    def _keep(self, note: Note, place: Hashable | None, start: int, *, is_whole: bool, is_new: bool) -> None:
        """Keep what was found, with what was asked and done for it."""
        assert self.events is not None, "an evaluation goes on"
        recall, events = self.workspace.recall, tuple(self.events.values())
        if self.sure and is_whole:
            note.rest_on(events)
        if place is None:
            return
        if note.events is not None:
            recall.keep(place, note)
        if is_new:
            note.value = recall.same(note.value)
            if self.is_noted and not self.is_cut and self.budget.left >= 0:
                note.own = self.workspace.journal.own(start)
                recall.keep_making(place, note, events)

    def _close(self, note: Note, met: int) -> None:
        """End an evaluation: what held as long as it was open is gone, and it holds as long as what it met is open."""
        depth = self.running.pop(note.key)
        for key in self.until.pop(depth, ()):
            del self.passing[key]
        if met:
            self.passing[note.key] = note, met
            self.until.setdefault(met.bit_length() - 1, []).append(note.key)
        self.is_cut = self.is_cut and depth > 0

    def _is_carried(self) -> bool:
        """Whether this path takes what an earlier turn of a loop left: the first turn, on another path, tells it."""
        turns = (fork.answer for key, fork in self._path.forks.items() if key[:2] == ("branch", "loop"))
        return not self.renews and any(turns)

    def by_itself(self, ask: Callable[[], T]) -> tuple[T, bool]:
        """The answer to a question, and whether it would be the same if nothing went on around it."""
        is_idle, sure, met = not self.running and not self.asking, self.sure, self.open
        is_cut = self.is_cut
        self.sure, self.open = True, 0
        try:
            answer = ask()
            return answer, is_idle or (self.sure and not self.open and not self.is_cut)
        finally:
            self.sure, self.open = self.sure and sure, self.open | met
            self.is_cut = self.is_cut or is_cut

    def force(self, thunk: Thunk) -> Thing:
        return thunk.known if thunk.known is not None else self.evaluate(thunk.node, thunk.frame)

    @abstractmethod
    def apart(self) -> World:
        """A world that looks for no callers and takes every first answer: what it finds is the same whoever asks."""

    @abstractmethod
    def beneath(self, path: Path) -> World:
        """A world that answers as this one where this one was asked, and by its own path elsewhere."""

    @abstractmethod
    def beside(self, path: Path) -> World:
        """The same with steps of its own, for what may stay open without leaving the site open."""

    @abstractmethod
    def lookup(self, name: str, node: ast.AST, frame: Frame) -> Thing: ...

    @abstractmethod
    def expression(self, node: ast.expr, frame: Frame) -> Thing: ...

    @abstractmethod
    def attribute(self, thing: Thing, name: str, node: ast.expr | None = None) -> Thing: ...

    @abstractmethod
    def call(self, thing: Thing, arguments: Arguments, node: ast.AST, frame: Frame) -> Thing: ...

    @abstractmethod
    def bound_value(self, binding: Binding, name: str, frame: Frame, use: ast.AST | None = None) -> Thing: ...

    @abstractmethod
    def entry(self, thing: Entries, key: Thing) -> Thing: ...

    @abstractmethod
    def turn(self, target: ast.expr, value: Thing, frame: Frame, place: int) -> Frame: ...

    @abstractmethod
    def element(self, thing: Thing, node: ast.AST) -> Thing: ...

    @abstractmethod
    def doubted(self, built: Built, name: str, value: Thing) -> Thing:
        """An attribute of an object, with what statements leave of it that write under open names."""

    @abstractmethod
    def table(self, thing: Thing) -> Thing:
        """The dictionary that an object of the project is made from and stands for; else the thing itself."""

    @abstractmethod
    def integer(self, thing: Thing) -> Integer | Unknown: ...

    def module_frame(self, module: Module) -> Frame:
        return Frame(module, number=self.workspace.number("module", module.path))

    def open_frame(self, module: Module, node: ast.AST) -> Frame:
        """The frame in which a node of a module stands, nobody known to have called it."""
        scope = module.standing(node)
        if isinstance(scope, ast.Module):
            return self.module_frame(module)
        outer = self.open_frame(module, scope)
        return Frame(module, scope, None, None, outer, self.workspace.number("open", id(scope)))


def quietly(world: World, ask: Callable[[World], T]) -> T | None:
    """The first answer to a question on a path of its own, whose tests are no forks of this one.

    None where that path cannot be.
    """
    with suppress(Impossible):
        return ask(world.beneath(Path()))
    return None


def worlds(
    make: Callable[[Path], World], run: Callable[[World], T], most: int = MOST_WORLDS
) -> Iterator[tuple[T, Path]]:
    """Run an evaluation once for each path through its forks, ``most`` times at most."""
    path: Path | None = Path()
    before: World | None = None
    for _ in range(most):
        if path is None:
            return
        world = make(path)
        if before is not None:
            world.resume(before, next(reversed(path.forks)))
        with suppress(Impossible):
            yield run(world), path
        before, path = world, path.next()
