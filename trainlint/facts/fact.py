"""What every fact is: something that holds where a call starts, and the questions that it leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from trainlint.record import field, record
from trainlint.span import Span
from trainlint.value import Step, Unknown

F = TypeVar("F", bound="Fact")


@record
class Unjudged:
    """One question at one site that stays open."""

    where: Span
    question: str
    why: Unknown


@record
class Option:
    """An argument of the call ``where`` that decides, and ``other``, what it would be instead, as Python spells it.

    ``position`` is the place at which it may stand without its name. ``is_written`` says that the call itself spells it
    out, or leaves it to the library: no setting decides.
    """

    where: Span
    name: str
    other: str
    position: int | None = None
    is_written: bool = True


@record
class Fact:
    """Something that holds where ``call`` starts.

    ``argument`` is the place of the deciding argument (where a default decides, the construction, or the call),
    ``built`` the construction of the object that is called. ``context`` names the caller through which this was seen,
    ``branch`` the arm of an ``if``; ``everywhere`` is False where another arm shows nothing of the kind.
    """

    call: Span
    argument: Span
    built: Span | None
    context: tuple[Step, ...]
    branch: tuple[Step, ...]
    everywhere: bool = field(default=True, kw_only=True)

    def given_up(self, why: Unknown) -> Fact | None:
        """The same site after a search that was broken off; None where a fact unfound leaves no question open."""
        return None

    def by_itself(self) -> Fact:
        """The same site where what it skips is seen to be no class that matters, on every path, whatever the layer."""
        return self

    def elsewhere(self, why: Unknown) -> Fact | None:
        """The same site on a path on which it is nothing that is known; None where that leaves no question open."""
        return None

    def unjudged(self) -> Iterator[Unjudged]:
        """The questions that this fact leaves open."""
        return iter(())

    def places(self) -> Iterator[Span]:
        """Where what is found about it may be reported."""
        yield from (self.call, self.argument)
        if self.built:
            yield self.built


class Facts:
    """Every fact of one observation, asked for by type, and the names of the given numbers that were asked for."""

    def __init__(self, facts: Iterable[Fact], asked_for: Iterable[str] = ()) -> None:
        self._facts = tuple(facts)
        self.asked_for = frozenset(asked_for)

    def of(self, kind: type[F]) -> Iterator[F]:
        """The facts of one kind, in the order in which they were seen."""
        return (fact for fact in self._facts if isinstance(fact, kind))

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)
