"""What the reader believes: a file, a line or a folder in; each site with its facts and verdict, and each name, out.

Prints nothing. The facts and the findings are those of ``check``: nothing is looked up a second time.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial

from trainlint.check import JUDGED, Request, Scope, Seen, Session, Text, judge, rules_for, scopes, seen, text_of
from trainlint.facts import Fact, Facts, Unreadable
from trainlint.finding import Finding, Severity
from trainlint.record import dataclass, fields, is_dataclass, replace
from trainlint.regex import regex
from trainlint.report import FORMATS, INPUTS, OPTIMIZERS
from trainlint.report.resolution import Resolution, Site
from trainlint.source import Observer
from trainlint.source.text import NOTEBOOK, Fault
from trainlint.span import Span
from trainlint.value import Settled

PLACE = regex(r"(?P<path>.+?)(?::cell (?P<cell>\d+))?:(?P<row>\d+)(?::\d+)?")

LONGEST_STATEMENT = 20
"""Rows that a line of evidence may span; what is longer is a whole function, and most of its lines show nothing."""


class NoPlace(ValueError):
    """Nothing can be said of a place that was asked for; the message says why."""


@dataclass(frozen=True)
class Place:
    """What was asked for: a file or a folder, and perhaps one row of it."""

    path: str
    row: int | None = None
    cell: int | None = None

    def holds(self, span: Span) -> bool:
        """Whether a place in the code lies here, or reaches in here."""
        if self.row is None:
            return span.path == self.path or span.path.startswith(os.path.join(self.path, ""))
        return (span.path, span.cell) == (self.path, self.cell) and span.row <= self.row <= span.end_row


def place(words: str, folder: str) -> Place:
    """``train.py``, ``train.py:12``, or ``train.ipynb:cell 5:12`` as findings write it.

    Raises:
        NoPlace: there is no such file or folder, or a row of a notebook without its cell.
    """
    found = None if os.path.exists(os.path.join(folder, words)) else PLACE.fullmatch(words)
    path = os.path.normpath(os.path.join(folder, found["path"] if found else words))
    if not os.path.exists(path):
        raise NoPlace(f"{words}: no such file or folder")
    if found is None:
        return Place(path)
    if path.endswith(NOTEBOOK) and not found["cell"]:
        raise NoPlace(f"{words}: name the cell too, as in {found['path']}:cell 5:{found['row']}")
    return Place(path, int(found["row"]), int(found["cell"]) if found["cell"] else None)


def resolve(asked: Place, request: Request) -> Resolution:
    """Everything that is known at a place, its whole project read.

    Raises:
        ConfigError, UnknownSelector: the settings cannot be followed.
        NoPlace: the row has no file that can be read.
    """
    (scope,) = scopes(request, (asked.path,))
    if os.path.isfile(asked.path) and not _is_python(asked.path):
        scope = replace(scope, asked=(scope.root,))
    return _resolved(asked, scope, seen(scope, request), cache(partial(text_of, texts=request.texts)))


def resolve_here(asked: Place, session: Session) -> Resolution:
    """What is known of a place in an open session, and of the sites that stand in its file.

    Raises:
        ConfigError, UnknownSelector: the settings cannot be followed.
        NoPlace: the row has no file that can be read.
    """
    return _resolved(asked, *session.seen(asked.path), session.text)


def _resolved(asked: Place, scope: Scope, known: Seen, text: Callable[[str], Text]) -> Resolution:
    whole = replace(scope, asked=(scope.root, *scope.asked))
    report = judge(known.facts, rules_for(known, scope.settings), whole, text)
    faults = (fact for fact in known.facts.of(Unreadable) if Place(asked.path).holds(fact.call))
    sites = sites_of(known.facts, (*report.findings, *report.suppressed))
    found = tuple(site for site in sites if any(asked.holds(span) for span in spans_of(site)))
    if asked.row is not None and not found and not _is_python(asked.path):
        raise NoPlace(
            f"{asked.path}:{asked.row}: this is no Python code, and nothing that is looked at rests on the line"
        )
    return Resolution(
        sites=found,
        names=() if asked.row is None or not _is_python(asked.path) else _names(asked, known.observer),
        faults=(*(f"{fact.call}: {fact.reason}" for fact in faults), *report.faults),
    )


def _is_python(path: str) -> bool:
    return path.endswith((".py", ".pyi", NOTEBOOK))


def _names(asked: Place, observer: Observer) -> tuple[Settled, ...]:
    assert asked.row is not None, "asked of a row alone"
    names = observer.settle(asked.path, asked.cell, asked.row)
    if isinstance(names, Fault):
        raise NoPlace(f"{asked.path}:{names.row}: {names.reason}")
    return names


def sites_of(facts: Facts, findings: Iterable[Finding]) -> Iterator[Site]:
    """The facts of each call together, in the order of the calls."""
    of_call: dict[Span, list[Fact]] = defaultdict(list)
    for fact in facts:
        if not isinstance(fact, Unreadable):
            of_call[fact.call].append(fact)
    reported: dict[Span | None, list[Finding]] = defaultdict(list)
    for finding in findings:
        reported[finding.call or finding.where].append(finding)
    for call in sorted(of_call):
        every = dict.fromkeys(each for fact in of_call[call] for each in fact.unjudged())
        found = tuple(reported[call])
        yield Site(call, _verdict(of_call[call], found), tuple(of_call[call]), found, tuple(every))


def _verdict(facts: Sequence[Fact], findings: Iterable[Finding]) -> str:
    """As ``check`` counts: flagged weighs more than open, and open more than safe; a loss more than its input."""
    there = {name: of for name, of in JUDGED.items() if any(isinstance(fact, of[0]) for fact in facts)}
    kinds = [of for name, of in there.items() if name not in (INPUTS, FORMATS, OPTIMIZERS) or len(there) == 1]
    rank = max((least.rank for _, least in kinds), default=Severity.WARNING.rank)
    if any(finding.severity.rank <= rank for finding in findings):
        return "flagged"
    counted = tuple(kind for each, _ in kinds for kind in each) or (Fact,)
    return "not judged" if any(any(fact.unjudged()) for fact in facts if isinstance(fact, counted)) else "safe"


def spans_of(site: Site) -> Iterator[Span]:
    """Every place of a site: its calls and arguments whole, of its evidence what is no whole function."""
    for fact in site.facts:
        yield from (fact.call, fact.argument)
        for span in _within(fact):
            is_long = span.end_row - span.row >= LONGEST_STATEMENT
            yield replace(span, end_row=span.row, end_column=span.column) if is_long else span
    for finding in site.findings:
        yield finding.where


def _within(value: object) -> Iterator[Span]:
    """The places inside a fact, whatever its kind."""
    if isinstance(value, Span):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _within(each)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _within(getattr(value, field.name))
