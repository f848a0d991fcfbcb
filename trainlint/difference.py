"""What changed in value between two states of a project: each is read whole, its sites are paired, and compared.

Prints nothing. Pairs are found without line numbers: by file, definition and text, then by less.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

from trainlint import config
from trainlint.check import Request, judge, rules_for, scopes, seen, surroundings, text_of
from trainlint.config import ConfigError
from trainlint.facts import Unreadable
from trainlint.finding import Finding, Severity
from trainlint.identity import Surroundings
from trainlint.record import dataclass, replace
from trainlint.regex import regex
from trainlint.report import filename, place
from trainlint.report.difference import Change, Difference, Line
from trainlint.report.resolution import Row, Site, rows
from trainlint.resolve import sites_of, spans_of
from trainlint.revision import NoRevision, Repository, commit, repository, write
from trainlint.selection import UnknownSelector
from trainlint.span import Span
from trainlint.value import Step

PLACED = regex(r"\b(?:line|lines|cell) \d+|\b(?:row|column|end_row|end_column|cell)=\d+|:\d+(?::\d+)?")
"""Line numbers in words; what moved did not change."""


UNREAD = "not read"
"""The verdict on a site of a file that cannot be read: nobody knows what became of it."""


@dataclass(frozen=True)
class Placed:
    """A site, and what it is paired by: its file from the top, the definitions around it, its text."""

    site: Site
    file: str
    within: str
    text: str
    silenced: frozenset[Finding]

    @property
    def title(self) -> str:
        return self.site.title


@dataclass(frozen=True)
class State:
    """One state of the files: its top folder, its sites, and what could not be read in it."""

    top: str
    sites: tuple[Placed, ...]
    unread: Mapping[str, str]


KEYS: Sequence[Callable[[Placed], Hashable]] = (
    lambda each: (each.title, each.file, each.within, each.text),
    lambda each: (each.title, each.file, each.within),
    lambda each: (each.title, each.file, each.text),
    lambda each: (each.title, each.text),
)
"""What two sites must share to be the same one, the surest first."""


def difference(revision: str, request: Request) -> Difference:
    """What changed since a revision in what these paths hold, their projects read whole both times.

    Raises:
        NoRevision: no git, no repository, no such revision, or none whose settings can be followed.
        ConfigError, UnknownSelector: the settings cannot be followed.
    """
    asked = [os.path.normpath(os.path.join(request.folder, path)) for path in request.paths]
    home = _home(asked)
    since = commit(home, revision)
    with tempfile.TemporaryDirectory(prefix="trainlint-") as folder:
        then = os.path.join(os.path.realpath(folder), os.path.basename(home.top) or "project")
        os.makedirs(os.path.join(then, ".git"))
        write(home, since, then)
        moved = partial(_moved, top=home.top, then=then)
        for path in asked:
            if not (os.path.exists(path) or os.path.exists(moved(path))):
                raise NoRevision(f"{path}: no such file or folder, neither now nor in {revision}")
        try:
            before = _state(_then(request, home, moved), map(moved, asked), then)
        except (ConfigError, UnknownSelector) as error:
            raise NoRevision(f"in {revision}: {str(error).replace(os.path.join(then, ''), '')}") from error
        after = _state(request, asked, home.top)
        return _compared(before, after, revision, _gate(request))


def _then(request: Request, home: Repository, moved: Callable[[str], str]) -> Request:
    """The request as it would have been made in the other state, by settings above it too."""
    above = config.nearest(os.path.dirname(home.top)) if not request.isolated else None
    own = [replace(layer, folder=moved(layer.folder)) for layer in request.layers]
    return replace(request, folder=moved(request.folder), layers=tuple(filter(None, (above, *own))))


def _gate(request: Request) -> str:
    here = None if request.isolated else config.nearest(request.folder)
    return config.settings((*((here,) if here else ()), *request.layers)).fail_on


def _home(asked: Iterable[str]) -> Repository:
    homes = {repository(path) for path in asked}
    if len(homes) > 1:
        raise NoRevision(f"one repository at a time: {', '.join(sorted(home.top for home in homes))}")
    return homes.pop()


def _moved(path: str, top: str, then: str) -> str:
    """A path of the working tree as it is in the other one; what lies above both stays."""
    real = os.path.realpath(path)
    inside = real == top or real.startswith(os.path.join(top, ""))
    return os.path.normpath(os.path.join(then, os.path.relpath(real, top))) if inside else os.path.dirname(then)


def _state(request: Request, asked: Iterable[str], top: str) -> State:
    """What is known of the sites that these paths take part in."""
    sites: list[Placed] = []
    unread: dict[str, str] = {}
    for scope in scopes(request, [path for path in asked if os.path.exists(path)]):
        known = seen(scope, request)
        text = cache(text_of)
        whole = replace(scope, asked=(scope.root, *scope.asked))
        report = judge(known.facts, rules_for(known, scope.settings), whole, text)
        around = surroundings(scope, text)
        for site in sites_of(known.facts, (*report.findings, *report.suppressed)):
            if any(scope.holds(span.path) for span in spans_of(site)):
                sites.append(_placed(site, around, top, frozenset(report.suppressed)))
        for fact in known.facts.of(Unreadable):
            unread[filename(fact.call.path, top)] = f"{place(fact.call, top)}: cannot be read: {fact.reason}"
    return State(top, tuple(sites), unread)


def _placed(site: Site, around: Surroundings, top: str, silenced: frozenset[Finding]) -> Placed:
    call = site.call
    return Placed(site, filename(call.path, top), around.within(call), around.text(call), silenced)


def _compared(before: State, after: State, revision: str, gate: str) -> Difference:
    changes, same = [], 0
    for old, new in _pairs(before.sites, after.sites):
        change = _change(old, new, before.top, after.top)
        if change is None:
            same += 1
        elif new is None and old and old.file in after.unread:
            changes.append(replace(change, after=UNREAD, lines=(), gone=()))
        else:
            changes.append(replace(change, before=UNREAD) if new and not old and new.file in before.unread else change)
    unread = tuple(why for path, why in sorted(after.unread.items()) if path not in before.unread)
    rank = -1 if gate == "never" else Severity(gate).rank
    failing = sum(finding.severity.rank <= rank for change in changes for finding in change.new)
    ordered = sorted(changes, key=lambda change: (change.where, change.title))
    return Difference(revision, tuple(ordered), same, unread, failing + len(unread))


def _pairs(before: Iterable[Placed], after: Iterable[Placed]) -> Iterator[tuple[Placed | None, Placed | None]]:
    """Each site of then beside the same one of now, and those that are on one side alone."""
    old, new = list(before), list(after)
    for key in KEYS:
        waiting: dict[Hashable, list[Placed]] = defaultdict(list)
        for each in old:
            waiting[key(each)].append(each)
        rest = []
        for each in new:
            if waiting[key(each)]:
                yield waiting[key(each)].pop(0), each
            else:
                rest.append(each)
        old, new = [each for left in waiting.values() for each in left], rest
    yield from ((each, None) for each in old)
    yield from ((None, each) for each in new)


def _change(old: Placed | None, new: Placed | None, then: str, now: str) -> Change | None:
    """What is different between two sites, if anything is."""
    shown = new or old
    assert shown is not None, "a pair has a side"
    known = partial(_as_of_now, then=then, now=now)
    lines = tuple(_lines(_values(old, known), _values(new, known)))
    fresh = tuple(each for each in _reported(new) if not any(_is_known(each, other) for other in _reported(old)))
    gone = tuple(each for each in _reported(old) if not any(_is_known(each, other) for other in _reported(new)))
    before, after = old.site.verdict if old else None, new.site.verdict if new else None
    if before == after and not (fresh or gone or any(line.is_changed for line in lines)):
        return None
    reasons = new.site.unjudged if new and before != after else ()
    where = _there(shown.site.call, known)
    return Change(where, shown.title, shown.within, before, after, lines, fresh, gone, reasons)


def _as_of_now(text: str, then: str, now: str) -> str:
    return text.replace(then, now)


def _reported(each: Placed | None) -> list[Finding]:
    return [finding for finding in each.site.findings if finding not in each.silenced] if each else []


def _is_known(finding: Finding, other: Finding) -> bool:
    """Whether one finding says no more than another did."""
    same = (finding.code, finding.distinct) == (other.code, other.distinct)
    return same and finding.severity.rank >= other.severity.rank


def _values(each: Placed | None, known: Callable[[str], str]) -> dict[str, list[Row]]:
    """What is known of a site by what it is known of, in the paths of now; callers and branches are no values."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows(each.site) if each else ():
        if row.text or row.why:
            chain = tuple(Step(known(step.text), _there(step.where, known)) for step in row.chain)
            found[row.label].append(replace(row, text=known(row.told), chain=chain))
    return found


def _there(where: Span, known: Callable[[str], str]) -> Span:
    return replace(where, path=known(where.path))


def _lines(old: Mapping[str, Sequence[Row]], new: Mapping[str, Sequence[Row]]) -> Iterator[Line]:
    for label in dict.fromkeys((*new, *old)):
        before, after = old.get(label, ()), new.get(label, ())
        lost, gained = _steps(before), _steps(after)
        yield Line(
            label,
            tuple(dict.fromkeys(row.text for row in before)),
            tuple(dict.fromkeys(row.text for row in after)),
            {_settled(row.text) for row in before} != {_settled(row.text) for row in after},
            tuple(step for key, step in lost.items() if key not in gained),
            tuple(step for key, step in gained.items() if key not in lost),
        )


def _settled(text: str) -> str:
    return PLACED.sub("", text)


def _steps(found: Iterable[Row]) -> dict[tuple[str, str], Step]:
    """The lines of evidence by what they say and in which file, wherever in it."""
    return {(_settled(step.text), step.where.path): step for row in found for step in row.chain}
