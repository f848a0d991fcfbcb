"""What a rule answers: a fact about the user's code, its proof, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from trainlint.span import Span
from trainlint.value import Step


class Severity(Enum):
    """How strong the proof is; there is no confidence beside it."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 is the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True)
class Finding:
    """One finding: ``message`` is one sentence with its numbers and without a full stop.

    ``consequence`` says what it does to the run, ``because`` the lines that prove it, ``help`` one imperative,
    ``assumed`` the defaults it rests on. ``call`` is where the loss, metric or trainer is called: marks in
    fixtures and what a run observed meet there. ``code`` and ``name`` are filled in by ``lint``. ``distinct`` tells
    it from another finding at the same words: by how much a width exceeds an index, not what either is.
    """

    where: Span
    message: str
    consequence: str = ""
    because: tuple[Step, ...] = ()
    help: str = ""
    assumed: tuple[Step, ...] = ()
    severity: Severity = Severity.ERROR
    call: Span | None = None
    code: str = ""
    name: str = ""
    distinct: tuple[str, ...] = field(default=(), kw_only=True)

    def places(self) -> Iterator[Span]:
        """Its own place first, then its call and its evidence."""
        yield self.where
        if self.call:
            yield self.call
        yield from (step.where for step in (*self.because, *self.assumed))
