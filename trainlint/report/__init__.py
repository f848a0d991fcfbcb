"""What a run found out, and the forms it can be told in. Prints nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence

from trainlint.facts import Unjudged
from trainlint.finding import Finding, TextEdit
from trainlint.identity import Entry, Identity
from trainlint.record import field, record
from trainlint.span import Span
from trainlint.value import Unknown

INPUTS, FORMATS, OPTIMIZERS = "loss inputs", "loss formats", "optimizers"
QUIET = (INPUTS, FORMATS)
"""The kinds of which nothing is said where all are safe: nearly every loss has an input, and a format."""


@record
class Tally:
    """How many places of one kind were found safe, were flagged, and stay open."""

    safe: int = 0
    flagged: int = 0
    unjudged: int = 0

    @property
    def total(self) -> int:
        return self.safe + self.flagged + self.unjudged

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.safe + other.safe, self.flagged + other.flagged, self.unjudged + other.unjudged)


@record
class Report:
    """Everything one run has to say.

    ``suppressed`` are findings that somebody silenced; ``commented`` are those of them that a comment does, with its
    reason, the others the settings do. ``judged`` counts by kind ("losses"), ``skipped`` says why for each file that
    was not read, ``failing`` are the findings at or above the gate, ``faults`` are the things that could not be done.
    ``roots`` are the projects' folders, ``lines`` the text of the files that findings stand in, by cell where it is a
    notebook. ``edits`` are the fixes as text, where somebody asked for them, ``asked_for`` the given numbers that were
    of use. ``observer`` says who looked: ``source`` or ``probe``; a probe also leaves what it ``measured`` at each
    call, and says what went on ``unobserved``. ``identities`` tell which finding is which in another run; ``baselined``
    are those that a baseline knows, ``stale`` are its entries that nothing is found for.
    """

    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Finding, ...] = ()
    commented: Mapping[Finding, str] = field(default_factory=dict)
    unjudged: tuple[Unjudged, ...] = ()
    judged: Mapping[str, Tally] = field(default_factory=dict)
    files_checked: int = 0
    skipped: Mapping[str, str] = field(default_factory=dict)
    failing: tuple[Finding, ...] = ()
    faults: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    lines: Mapping[str, Mapping[int | None, Sequence[str]]] = field(default_factory=dict)
    edits: Mapping[Finding, tuple[TextEdit, ...]] = field(default_factory=dict)
    asked_for: frozenset[str] = frozenset()
    observer: str = "source"
    measured: Mapping[Span, Mapping[str, object]] = field(default_factory=dict)
    unobserved: tuple[str, ...] = ()
    identities: Mapping[Finding, Identity] = field(default_factory=dict)
    baselined: tuple[Finding, ...] = ()
    stale: tuple[Entry, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 nothing at or above the gate, 1 findings, 2 not all that was asked could be done or be seen."""
        if self.faults:
            return 2
        return 1 if self.failing else 2 * bool(self.unobserved)

    @property
    def undone(self) -> tuple[str, ...]:
        """All that makes the report less than was asked for."""
        return (*self.faults, *(f"not observed: {each}" for each in self.unobserved))

    def text(self, where: Span) -> Sequence[str]:
        """The lines of the file, or of the cell, that a place lies in."""
        return self.lines.get(where.path, {}).get(where.cell, ())


@record
class Statistic:
    """How many findings a rule has."""

    code: str
    name: str
    count: int


def statistics(report: Report) -> list[Statistic]:
    """The rules that found something, those with most findings first."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return [Statistic(code, name, count) for (code, name), count in ordered]


def filename(path: str, folder: str) -> str:
    """A path as it is shown: relative to this folder where it lies inside, with forward slashes, else absolute."""
    inside = path.startswith(os.path.join(folder, ""))
    return (os.path.relpath(path, folder) if inside else path).replace(os.sep, "/")


def inside(span: Span) -> str:
    """Where in a notebook a place lies, which has no line of the file: ``cell 5:3:12: `` in front of a message."""
    return f"cell {span.cell}:{span.row}:{span.column}: " if span.cell else ""


def place(span: Span, folder: str) -> str:
    """``file:row:column``, with the cell in a notebook."""
    cell = f":cell {span.cell}" if span.cell else ""
    return f"{filename(span.path, folder)}{cell}:{span.row}:{span.column}"


def reason(why: Unknown) -> str:
    """Why something stays open, and what would settle it."""
    return f"{why.reason} ({why.settle} would settle it)" if why.settle else why.reason
