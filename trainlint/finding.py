"""What a rule answers: a fact about the user's code, its proof, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from trainlint.record import field, record, replace
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


class Applicability(Enum):
    """Whether a fix may be applied unasked."""

    SAFE = "safe"
    """The program does what it did, but for the bug."""
    UNSAFE = "unsafe"
    """It changes more than the bug, or what only its author can judge: applied with ``--unsafe-fixes`` alone."""


@record
class SetKeyword:
    """Give the call at ``where`` the keyword argument ``name``, in place of what it has for it.

    ``position`` is the place, counted from 0, at which the call may have the argument without its name.
    """

    where: Span
    name: str
    value: str
    position: int | None = None


@record
class Wrap:
    """Put text around the expression at ``where``: ``copy.deepcopy(`` and ``)``, or nothing and ``.float()``.

    Parentheses that the expression then needs are added.
    """

    where: Span
    before: str = ""
    after: str = ""


@record
class Unwrap:
    """Leave of the expression at ``where`` only the one at ``inner``, which is a part of it.

    Parentheses that it then needs are added.
    """

    where: Span
    inner: Span


@record
class Replace:
    """Write ``text`` in place of the expression, word or sign that is exactly ``where``."""

    where: Span
    text: str


@record
class Delete:
    """Remove the statement, argument, element or comment that is exactly ``where``.

    A comma that goes with it goes too, an empty line where a statement or comment stood alone, and a block that would
    be empty is left with ``pass``.
    """

    where: Span


@record
class AddImport:
    """See that ``import module`` holds where the other edits of the fix are, whose texts say ``module.name``.

    ``where`` is any place of the file. Nothing is added where the module is imported already; under another name, the
    texts say that one.
    """

    where: Span
    module: str


Edit = SetKeyword | Wrap | Unwrap | Replace | Delete | AddImport


@record
class TextEdit:
    """What an edit comes down to in one file: this text in place of a stretch, which may be empty.

    Lines end in a newline, whatever ends them in the file.
    """

    where: Span
    text: str


@record
class Fix:
    """A change that removes the bug: all of its edits, which lie in one file, or none.

    ``message`` says what it does, as an imperative without a full stop: ``Copy the weights``.
    """

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]

    def unsafe(self) -> Fix:
        """The same change, for a finding that does not hold on every path."""
        return replace(self, applicability=Applicability.UNSAFE)


@record
class Finding:
    """One finding: ``message`` is one sentence with its numbers and without a full stop.

    ``consequence`` says what it does to the run, ``because`` the lines that prove it, ``help`` one imperative,
    ``assumed`` the defaults it rests on. ``call`` is where the loss, metric or trainer is called: marks in
    fixtures and what a run observed meet there. ``code`` and ``name`` are filled in by ``lint``. ``distinct`` tells
    it from another finding at the same words: by how much a width exceeds an index, not what either is. ``fix`` is a
    change that removes it.
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
    fix: Fix | None = field(default=None, kw_only=True)

    def places(self) -> Iterator[Span]:
        """Its own place first, then its call and its evidence."""
        yield self.where
        if self.call:
            yield self.call
        yield from (step.where for step in (*self.because, *self.assumed))
