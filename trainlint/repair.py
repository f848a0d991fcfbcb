"""A request and its report in; out, what fixing makes of the files, each change checked before it is written.

A fix is taken back where what it was for is still found afterwards, or where the file no longer compiles. Writes
nothing and prints nothing.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

from trainlint.check import Request, check, text_of
from trainlint.finding import Applicability, Finding, TextEdit
from trainlint.fix import Code, Unfixable, changed, moved, overlap, text_edits
from trainlint.record import dataclass, replace
from trainlint.report import Report, filename
from trainlint.source import cells_in, compiles, read
from trainlint.source.syntax import is_readable
from trainlint.source.text import NOTEBOOK, Fault
from trainlint.span import Span


@dataclass(frozen=True)
class Draft:
    """A file that fixes change: its bytes before and after, and the edits of each finding that is fixed in it."""

    path: str
    before: bytes
    after: bytes
    edits: Mapping[Finding, tuple[TextEdit, ...]]


@dataclass(frozen=True)
class Repair:
    """What fixing makes of a project: files, and the report on them as they would be.

    ``left`` says why for each fix that is not applied, ``unsafe`` are those that are only not asked for.
    """

    drafts: tuple[Draft, ...]
    left: Mapping[Finding, str]
    unsafe: tuple[Finding, ...]
    report: Report

    @property
    def fixed(self) -> tuple[Finding, ...]:
        """The findings that are fixed, in the order of the report."""
        found = (finding for draft in self.drafts for finding in draft.edits)
        return tuple(sorted(found, key=lambda finding: (finding.where, finding.code)))


def repaired(
    request: Request, report: Report, wanted: Iterable[Applicability], look: Callable[[Request], Report] = check
) -> Repair:
    """The files after all wanted fixes that hold, in memory; ``look`` is what checks a request."""
    kinds = set(wanted)
    fixable = [finding for finding in report.findings if finding.fix is not None]
    unsafe = tuple(each for each in fixable if each.fix is not None and each.fix.applicability not in kinds)
    left = dict(_outside(request, (each for each in fixable if each not in unsafe)))
    desk = Desk(report, request.texts)
    while True:
        drafts = []
        for path, findings in _by_file(each for each in fixable if each not in unsafe and each not in left).items():
            draft, refused = desk.draft(path, findings)
            left |= refused
            drafts += [draft] if draft is not None else []
        texts = {draft.path: draft.after for draft in drafts}
        after = look(replace(request, texts={**request.texts, **texts})) if drafts else report
        taken_back = {finding: why for draft in drafts for finding, why in desk.failures(draft, drafts, after)}
        if not taken_back:
            return Repair(tuple(drafts), left, unsafe, after)
        left |= taken_back


def proposed(report: Report) -> Report:
    """The report with its fixes as text, those that can be put in place."""
    desk = Desk(report)
    edits = {finding: edits for finding in report.findings if finding.fix and (edits := desk.edits(finding))}
    return replace(report, edits=edits)


def file_of(finding: Finding) -> str:
    """The file that the fix of a finding changes."""
    assert finding.fix is not None, "only findings with a fix are asked for"
    return finding.fix.edits[0].where.path


def _outside(request: Request, findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """The fixes that belong into files which were not asked for."""
    asked = [os.path.normpath(os.path.join(request.folder, path)) for path in request.paths]
    for finding in findings:
        path = file_of(finding)
        if not any(path == each or path.startswith(os.path.join(each, "")) for each in asked):
            yield finding, f"its fix belongs into {filename(path, request.folder)}, which was not named"


def _by_file(findings: Iterable[Finding]) -> Mapping[str, list[Finding]]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        found[file_of(finding)].append(finding)
    return found


class Desk:
    """The files that fixes are for, each read once, and what they say; ``texts`` are read in place of the disk."""

    def __init__(self, report: Report, texts: Mapping[str, bytes] | None = None) -> None:
        self._report, self._texts = report, texts or {}
        self._data = cache(self._read)
        self._code = cache(self._coded)

    def _read(self, path: str) -> bytes | Fault:
        return self._texts[path] if path in self._texts else read(path)

    def _coded(self, path: str) -> Code:
        data = self._data(path)
        return Code({} if isinstance(data, Fault) else text_of(path, {path: data}).code)

    def edits(self, finding: Finding) -> tuple[TextEdit, ...]:
        """The fix of a finding as text; nothing where it cannot be put in place."""
        try:
            return text_edits(finding, self._code(file_of(finding)))
        except Unfixable:
            return ()

    def draft(self, path: str, findings: Iterable[Finding]) -> tuple[Draft | None, dict[Finding, str]]:
        """The file after the fixes of these findings, the first of two that overlap, and why others are left."""
        data = self._data(path)
        known = {} if isinstance(data, Fault) else text_of(path, {path: data}).lines
        edits: dict[Finding, tuple[TextEdit, ...]] = {}
        left: dict[Finding, str] = {}
        for finding in findings:
            try:
                if isinstance(data, Fault) or known != self._report.lines.get(path):
                    raise Unfixable("the file has changed since it was read")
                edits[finding] = self._compatible(finding, edits)
                changed(data, _all(edits))
            except Unfixable as why:
                edits.pop(finding, None)
                left[finding] = str(why)
        if not edits or isinstance(data, Fault):
            return None, left
        return Draft(path, data, changed(data, _all(edits)), edits), left

    def _compatible(self, finding: Finding, others: Mapping[Finding, tuple[TextEdit, ...]]) -> tuple[TextEdit, ...]:
        """The edits of a finding, if they touch nothing that those of others touch; two may want the very same."""
        edits = text_edits(finding, self._code(file_of(finding)))
        for other, theirs in others.items():
            if edits != theirs and any(overlap(edit, each) for edit in edits for each in theirs):
                raise Unfixable(f"its fix overlaps with that of {other.code} in line {other.where.row}; run again")
        return edits

    def failures(self, draft: Draft, drafts: Sequence[Draft], after: Report) -> Iterator[tuple[Finding, str]]:
        """The fixes of a file that do not hold, and why."""
        broken, more = self._broken(draft), self._more(drafts, after)
        for finding in draft.edits:
            if finding in broken:
                yield finding, "its fix is taken back: the file would no longer compile"
            elif len(after.faults) > len(self._report.faults):
                yield finding, "its fix is taken back: trainlint fails on what it makes"
            elif any(_is_same(each, finding, self._moved(finding.where, drafts)) for each in after.findings):
                yield finding, "its fix is taken back: it would not remove what it is for"
            elif finding.code in more:
                yield finding, f"its fix is taken back: it would bring another {finding.code}"

    def _more(self, drafts: Iterable[Draft], after: Report) -> set[str]:
        """The rules that find more than what their fixes should have left."""
        fixed = Counter(finding.code for draft in drafts for finding in draft.edits)
        before, then = (Counter(finding.code for finding in report.findings) for report in (self._report, after))
        return {code for code, count in fixed.items() if then[code] > before[code] - count}

    def _broken(self, draft: Draft) -> Collection[Finding]:
        """The fixes that keep a file from compiling: each that does alone, else the last one."""
        if stands(draft.path, draft.before, draft.after):
            return ()
        alone = {
            finding
            for finding, edits in draft.edits.items()
            if not stands(draft.path, draft.before, changed(draft.before, edits))
        }
        return alone or {list(draft.edits)[-1]}

    def _moved(self, where: Span, drafts: Iterable[Draft]) -> Span:
        """Where a stretch of the code is after all fixes."""
        edits = [edit for draft in drafts if draft.path == where.path for edit in _all(draft.edits)]
        here = [edit for edit in edits if edit.where.cell == where.cell]
        return moved(self._code(where.path).texts[where.cell], here, where) if here else where


def _all(edits: Mapping[Finding, tuple[TextEdit, ...]]) -> tuple[TextEdit, ...]:
    return tuple(dict.fromkeys(edit for each in edits.values() for edit in each))


def stands(path: str, before: bytes, after: bytes) -> bool:
    """Whether a file is as good a program as it was."""
    if path.endswith(NOTEBOOK):
        return all(is_readable(cell.python) for cell in cells_in(after)) or not all(
            is_readable(cell.python) for cell in cells_in(before)
        )
    return compiles(after) or not compiles(before)


def _is_same(finding: Finding, other: Finding, where: Span) -> bool:
    """Whether a finding is another one that a fix was to remove, at the place where that has come to be."""
    here = finding.where
    if (finding.code, here.path, here.cell) != (other.code, where.path, where.cell):
        return False
    start, end = (here.row, here.column), (here.end_row, here.end_column)
    first, last = (where.row, where.column), (where.end_row, where.end_column)
    return start == first or (start < last and first < end)
