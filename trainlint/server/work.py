"""The judging behind the server: what is open in, reports out. Knows nothing of the protocol, and one thread uses it.

Each workspace folder has a session of its own; so has the project of a file that lies in none of them. Told is what has
a place in a file that is open.
"""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

from trainlint import config
from trainlint.cache import users_folder
from trainlint.check import Request, Session, text_of
from trainlint.facts import InvalidSuppression, UnusedSuppression
from trainlint.finding import Applicability, Finding, TextEdit
from trainlint.fix import Code, Unfixable, changed, text_edits
from trainlint.record import dataclass, replace
from trainlint.repair import file_of, repaired, stands
from trainlint.report import Report
from trainlint.report.resolution import Resolution
from trainlint.resolve import NoPlace, Place, resolve_here
from trainlint.rule import installed
from trainlint.selection import always_runs
from trainlint.server.documents import Opened
from trainlint.source import read
from trainlint.source.root import root_of
from trainlint.source.text import Fault
from trainlint.suppress import ignores, silences

WHY = "TODO: say why"
"""Stands where the reason of a comment goes: an editor cannot be made to ask for one."""

Files = Mapping[str, Opened]


@dataclass(frozen=True)
class Look:
    """What was open, and what is found in it, each finding once."""

    opened: Files
    findings: tuple[Finding, ...]

    def data(self, path: str) -> bytes | Fault:
        """The bytes of a file, open or not."""
        return self.opened[path].data if path in self.opened else read(path)


@dataclass(frozen=True)
class Change:
    """A change of one file that somebody may want, and the findings that it is for."""

    title: str
    edits: tuple[TextEdit, ...]
    findings: tuple[Finding, ...]
    is_safe: bool = False


class Interrupted(Exception):
    """Somebody else has to be served first."""


class Work:
    """The open sessions. ``folders`` are those of the workspace, ``table`` the settings that the editor gives."""

    def __init__(self, folders: Sequence[str], table: Mapping[str, object]) -> None:
        self._folders, self._table = tuple(folders), table
        self._sessions: dict[str, Session] = {}
        self._known: dict[str, dict[str, bytes]] = {}
        self._tops = cache(self._top)
        self._frozen: set[str] = set()
        self._give_way: Callable[[], bool] = lambda: False

    def look(
        self, opened: Files, touched: Collection[str], give_way: Callable[[], bool] = lambda: False
    ) -> Look | None:
        """Judge whatever has a place in an open file; ``touched`` are files that are told to have changed on the disk.

        None where it gave way, asked between two files; what is judged by then need not be judged again.

        Raises:
            ConfigError, UnknownSelector, BaselineError, PackError: see ``Session.report``.
        """
        sessions = self._told(opened, touched)
        self._give_way = give_way
        try:
            return self._settled(
                _found(opened, [sessions[top].report(paths) for top, paths in self._asked(opened).items()])
            )
        except Interrupted:
            return None
        finally:
            self._give_way = lambda: False

    def look_here(self, opened: Files) -> Look:
        """Judge what stands in the open files, which asks for few others."""
        sessions = self._told(opened, ())
        asked = self._asked(opened).items()
        return _found(opened, [sessions[top].report(paths, here=True) for top, paths in asked])

    def _settled(self, look: Look) -> Look:
        """A look; what was read for the first of a session stays, and the collector need not look through it again."""
        if not self._frozen.issuperset(self._sessions):
            self._frozen |= set(self._sessions)
            gc.freeze()
        return look

    def _told(self, opened: Files, touched: Collection[str]) -> Mapping[str, Session]:
        """The sessions by their folders, told of all changes; those that are of no more use are gone."""
        asked = self._asked(opened)
        for top in [top for top in self._sessions if top not in asked and top not in self._folders]:
            del self._sessions[top], self._known[top]
        return {top: self._session(top, opened, touched) for top in [*self._sessions, *asked]}

    def _tell(self, done: int, total: int) -> None:
        if self._give_way():
            raise Interrupted

    def resolve(self, path: str, cell: int | None, row: int, opened: Files) -> Resolution:
        """What is believed of a row; nothing where the file cannot be read."""
        session = self._session(self._tops(os.path.dirname(path)), opened, ())
        try:
            return resolve_here(Place(path, row, cell), session)
        except NoPlace:
            return Resolution()

    def repair(self, path: str, found: Look) -> Change | None:
        """All safe fixes of an open file that hold together, each checked; None where there are none."""
        opened = found.opened
        if not any(_is_safe(finding) and file_of(finding) == path for finding in found.findings):
            return None
        top = self._tops(os.path.dirname(path))
        session, request = self._session(top, opened, ()), self._request(top, (path,), opened)

        def look(request: Request) -> Report:
            tried = {path: data for path, data in request.texts.items() if data != opened[path].data}
            for path, data in tried.items():
                session.change(path, data)
            try:
                return session.report(request.paths)
            finally:
                for path in tried:
                    session.change(path, opened[path].data)

        repair = repaired(request, look(request), (Applicability.SAFE,), look)
        edits = dict.fromkeys(edit for draft in repair.drafts for each in draft.edits.values() for edit in each)
        return Change("Fix all that is safe", tuple(edits), repair.fixed, True) if edits else None

    def _asked(self, opened: Files) -> Mapping[str, list[str]]:
        """The open files to be judged, by the folder of their session."""
        asked: dict[str, list[str]] = defaultdict(list)
        for path, file in opened.items():
            if file.is_code:
                asked[self._tops(os.path.dirname(path))].append(path)
        return asked

    def _session(self, top: str, opened: Files, touched: Collection[str]) -> Session:
        """The session of a folder, told of all changes."""
        if top not in self._sessions:
            request = replace(self._request(top, (), {}), tell=self._tell, cache=users_folder())
            self._sessions[top], self._known[top] = Session(request), {}
        session, known = self._sessions[top], self._known[top]
        now = _texts(opened)
        for path in {*touched, *(path for path in known if path not in now)}:
            if path not in now:
                session.change(path, None)
        for path, data in now.items():
            if known.get(path) != data:
                session.change(path, data)
        self._known[top] = now
        return session

    def _request(self, top: str, paths: tuple[str, ...], opened: Files) -> Request:
        layer = config.Layer("the editor", top, {"force-exclude": True, **self._table})
        return Request(paths, top, (layer,), texts=_texts(opened))

    def _top(self, folder: str) -> str:
        """The innermost folder of the workspace that holds a folder, else the top of its project."""
        around = [each for each in self._folders if folder == each or folder.startswith(os.path.join(each, ""))]
        if around:
            return max(around, key=len)
        layer = config.nearest(folder)
        if layer:
            return layer.folder
        start = os.path.join(os.path.splitdrive(folder)[0], os.sep)
        marked = root_of(os.path.join(folder, "_.py"), start)
        return root_of(os.path.join(folder, "_.py"), os.path.join(folder, "_")) if marked == start else marked


def _texts(opened: Files) -> dict[str, bytes]:
    """What is read in place of the disk: settings hold when they are saved, and a new file counts if it is code."""
    return {
        path: file.data
        for path, file in opened.items()
        if os.path.basename(path) not in config.FILES and (file.is_code or os.path.exists(path))
    }


def _found(opened: Files, reports: Iterable[Report]) -> Look:
    return Look(opened, tuple(dict.fromkeys(finding for report in reports for finding in report.findings)))


def changes(look: Look, findings: Iterable[Finding]) -> Iterator[Change]:
    """What can be done about each of these findings: its fix, and a comment that silences it."""
    for finding in findings:
        yield from _fix(look, finding)
        yield from _silence(look, finding)


def _fix(look: Look, finding: Finding) -> Iterator[Change]:
    """The fix of a finding, if it can be put in place and leaves a program."""
    if finding.fix is None:
        return
    path = file_of(finding)
    data = look.data(path)
    if isinstance(data, Fault):
        return
    try:
        edits = text_edits(finding, Code(text_of(path, {path: data}).code))
        if edits and stands(path, data, changed(data, edits)):
            yield Change(finding.fix.message, edits, (finding,), _is_safe(finding))
    except Unfixable:
        return


def _is_safe(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.applicability is Applicability.SAFE


def _silence(look: Look, finding: Finding) -> Iterator[Change]:
    """A comment that silences a finding, unless it is about comments or about what cannot be read."""
    path = finding.where.path
    data = look.data(path)
    if finding.code in _unsilenced() or isinstance(data, Fault):
        return
    text = text_of(path, {path: data})
    edits = tuple(ignores([finding], text.lines, text.code, silences(path, text.code), WHY))
    if edits:
        yield Change(f"Ignore {finding.code} here, with a reason", edits, (finding,))


@cache
def _unsilenced() -> frozenset[str]:
    """The rules whose findings no comment reaches, or should."""
    about = (UnusedSuppression, InvalidSuppression)
    return frozenset(rule.code for rule in installed().values() if always_runs(rule) or rule.wants in about)
