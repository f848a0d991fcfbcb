"""What a stretch of notes rests on, in bundles, against the same worked out note by note."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainlint.source import journal as journals
from trainlint.source.journal import Bundle, Dependencies, File, Fleeting, Given, Journal, Leaves, Query
from trainlint.source.pieces import Kept, Reader
from trainlint.source.verdicts import Choice, Unit, Verdict, Verdicts
from trainlint.source.workspace import Workspace

ANSWERS = 6


@dataclass(frozen=True)
class Step:
    """One thing that a reading does: it reads a file, or works an answer out in other steps, or uses it again."""

    answer: int | None
    file: str = ""
    inside: tuple[Step, ...] = ()


def steps() -> st.SearchStrategy[tuple[Step, ...]]:
    read = st.builds(Step, st.none(), st.sampled_from([f"{name}.py" for name in "abcdefghijklmn"]))

    def deeper(inside: st.SearchStrategy[tuple[Step, ...]]) -> st.SearchStrategy[tuple[Step, ...]]:
        asked = st.builds(Step, st.integers(0, ANSWERS - 1), st.just(""), inside)
        return st.lists(st.one_of(read, asked), min_size=1, max_size=6).map(tuple)

    return st.recursive(st.lists(read, max_size=4).map(tuple), deeper, max_leaves=20)


@dataclass
class Reading:
    """The same steps for a journal, and for whoever follows each answer to all that it was worked out from."""

    journal: Journal = field(default_factory=Journal)
    known: set[int] = field(default_factory=set)
    uses: dict[int, set[int | str]] = field(default_factory=dict)

    def run(self, steps: tuple[Step, ...], within: tuple[int, ...] = ()) -> set[int | str]:
        """Take the steps; what they used."""
        used: set[int | str] = set()
        for step in steps:
            if step.answer is None:
                self.journal.note(File(step.file))
                used.add(step.file)
                continue
            used.add(step.answer)
            if step.answer in self.known or step.answer in within:
                self.journal.note(("answer", step.answer))
                continue
            self.journal.begin(("answer", step.answer))
            self.uses.setdefault(step.answer, set()).update(self.run(step.inside, (*within, step.answer)))
            self.journal.end(("answer", step.answer))
            self.known.add(step.answer)
        return used

    def files(self, used: set[int | str]) -> frozenset[str]:
        """The files behind all that was used."""
        found, waiting = set[int | str](), set(used)
        while waiting:
            found |= waiting
            waiting = {part for each in waiting if isinstance(each, int) for part in self.uses[each]} - found
        return frozenset(each for each in found if isinstance(each, str))


@pytest.fixture(params=[2, 8], ids=["small bundles", "as it is"], scope="module")
def bundled(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journals, "SMALLEST", request.param)
        yield


@pytest.mark.usefixtures("bundled")
@given(st.lists(steps(), min_size=1, max_size=4))
def test_bundles_hold_what_was_read_for_an_answer_however_answers_need_each_other(
    readings: list[tuple[Step, ...]],
) -> None:
    reading = Reading()
    stretches = []
    for each in readings:
        start = len(reading.journal)
        stretches.append((start, reading.run(each), len(reading.journal)))
    for start, used, end in stretches:
        assert reading.journal.between(start, end) == Dependencies(reading.files(used), frozenset())


def test_what_is_known_of_an_answer_is_put_down_once() -> None:
    journal = Journal()
    journal.begin(("width",))
    for number in range(20):
        journal.note(File(f"{number}.py"))
    journal.note(Given("cfg.classes"))
    journal.end(("width",))
    starts = [len(journal), len(journal) + 1, len(journal) + 2]
    for _ in starts:
        journal.note(("width",))
    first, *others = [journal.rests_on(start, start + 1) for start in starts]
    assert others == [first, first]
    every = journal.leaves.every
    assert [each for each in every if isinstance(each, Bundle)] == [Bundle.of(range(20))]
    assert {every[place] for place in first} == {Bundle.of(range(20)), Given("cfg.classes")}
    assert journal.between(starts[0], starts[0] + 1).given == {"cfg.classes"}


def test_a_change_takes_along_the_bundles_above_it_and_a_bundle_all_below() -> None:
    leaves = Leaves()
    first, second, third = (leaves.place(File(name)) for name in ("a.py", "b.py", "c.py"))
    inner = leaves.place(Bundle.of({first, second}))
    outer = leaves.place(Bundle.of({inner, third}))
    assert leaves.above({first}) == {first, inner, outer}
    assert leaves.above({third}) == {third, outer}
    assert leaves.below({outer}) == {outer, inner, first, second, third}
    assert leaves.place(Bundle.of({second, first})) == inner
    assert leaves.known([File("b.py"), Query(journals.Kind.FIND, ("codec", ""))]) == {second}


def test_a_choice_that_two_files_share_takes_its_new_places_once_for_each() -> None:
    alone = Verdict((), frozenset({0}), frozenset())
    shared = Choice((), Verdict((), frozenset({0, 1}), frozenset()))
    verdicts = Verdicts(Workspace("/project", (), (), {}, lambda _: b""))
    verdicts.join({path: Unit(alone, {"judging a loss": shared}, frozenset()) for path in ("a.py", "b.py")}, [4, 2])
    for unit in verdicts.units.values():
        assert [verdict.notes for verdict in unit.verdicts()] == [{4}, {4, 2}]
    assert shared.verdict.notes == {0, 1}


def test_what_is_kept_of_a_file_is_no_part_that_is_asked_for_again() -> None:
    journal = Journal()
    kept = Kept(Reader(journal), "a.py")
    for _ in range(2):
        start = len(journal)
        if "calls" not in kept:
            journal.note(File("a.py"))
            kept["calls"] = 3
        assert kept["calls"] == 3
        evaluated = len(journal)
        journal.note(File("b.py"))
        journal.used(journal.evaluated(evaluated))
        own = journal.own(start)
        assert own is not None
        start = len(journal)
        journal.used(own)
        assert journal.between(start, len(journal)) == Dependencies(frozenset({"a.py"}), frozenset())


def test_who_keeps_nothing_notes_given_numbers_and_nothing_else() -> None:
    journal = Fleeting()
    journal.note(File("/a.py"))
    journal.begin("answer")
    journal.note(Given("cfg.classes"))
    journal.end("answer")
    journal.used(journal.worked_out(0))
    journal.used(journal.evaluated(0))
    assert journal.own(0) is None
    assert journal.between(0, len(journal)) == Dependencies(frozenset(), frozenset(), frozenset({"cfg.classes"}))
