"""``--add-ignore``: a request and its report in, comments that silence written, what is left said."""

from __future__ import annotations

import sys

from trainlint.check import Request, check
from trainlint.fix import NotWritten, write
from trainlint.record import replace
from trainlint.report import Report, filename, place
from trainlint.silence import silenced


def added(request: Request, report: Report, reason: str) -> Report:
    """Write the comments; the report on what the files hold then."""
    result = silenced(request, report, " ".join(reason.split()))
    unwritten, faults = [], []
    for draft in result.drafts:
        try:
            write(draft.path, draft.before, draft.after)
        except NotWritten as why:
            unwritten.append(draft.path)
            faults.append(f"{filename(draft.path, request.folder)}: no comment written: {why}")
    for finding, reason in result.left.items():
        print(f"{place(finding.where, request.folder)}: {finding.code} not silenced: {reason}", file=sys.stderr)
    silent = [finding for finding in result.findings if finding.where.path not in unwritten]
    files = len({finding.where.path for finding in silent})
    if silent:
        print(f"{_count(len(silent), 'finding')} silenced in {_count(files, 'file')}", file=sys.stderr)
    after = check(request) if unwritten else result.report
    return replace(after, faults=(*after.faults, *faults))


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"
