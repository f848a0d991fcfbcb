"""A request and its report in; out, the files with a comment for each finding, and what would be reported then.

Writes nothing and prints nothing.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping

from trainlint.check import Request, check, text_of
from trainlint.facts import InvalidSuppression, UnusedSuppression
from trainlint.finding import Finding
from trainlint.fix import Unfixable, changed
from trainlint.record import dataclass, replace
from trainlint.report import Report, filename
from trainlint.rule import installed
from trainlint.selection import always_runs
from trainlint.source import read
from trainlint.source.text import Fault
from trainlint.suppress import ignores, silences


@dataclass(frozen=True)
class Draft:
    """A file before and after its comments."""

    path: str
    before: bytes
    after: bytes


@dataclass(frozen=True)
class Silenced:
    """The files, the findings that their comments are for, the findings that stay with the reason, and the report."""

    drafts: tuple[Draft, ...]
    findings: tuple[Finding, ...]
    left: Mapping[Finding, str]
    report: Report


def silenced(request: Request, report: Report, reason: str) -> Silenced:
    """The files of a report with a comment for each finding, in memory; those about comments themselves stay."""
    about = (UnusedSuppression, InvalidSuppression)
    others = {rule.code for rule in installed().values() if always_runs(rule) or rule.wants in about}
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        if finding.code not in others:
            by_file[finding.where.path].append(finding)
    drafts: list[Draft] = []
    left: dict[Finding, str] = {}
    for path, findings in by_file.items():
        try:
            _require_named(path, request)
            drafts.append(_draft(path, findings, report, reason))
        except Unfixable as why:
            left |= dict.fromkeys(findings, str(why))
    after = check(replace(request, texts={draft.path: draft.after for draft in drafts})) if drafts else report
    still = {(each.where.path, each.code, each.message) for each in after.findings}
    wanted = [finding for draft in drafts for finding in by_file[draft.path]]
    left |= {each: "no comment reaches it" for each in wanted if (each.where.path, each.code, each.message) in still}
    return Silenced(tuple(drafts), tuple(each for each in wanted if each not in left), left, after)


def _require_named(path: str, request: Request) -> None:
    asked = [os.path.normpath(os.path.join(request.folder, each)) for each in request.paths]
    if not any(path == each or path.startswith(os.path.join(each, "")) for each in asked):
        raise Unfixable(f"it is in {filename(path, request.folder)}, which was not named")


def _draft(path: str, findings: Iterable[Finding], report: Report, reason: str) -> Draft:
    data = read(path)
    text = None if isinstance(data, Fault) else text_of(path, {path: data})
    if isinstance(data, Fault) or text is None or text.lines != report.lines.get(path):
        raise Unfixable("the file has changed since it was read")
    edits = ignores(findings, text.lines, text.code, silences(path, text.code), reason)
    return Draft(path, data, changed(data, edits))
