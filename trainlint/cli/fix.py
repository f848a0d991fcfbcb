"""``--fix`` and ``--diff``: a request and its report in, files written or a difference printed, what is left said."""

from __future__ import annotations

import difflib
import io
import json
import sys
import tokenize
from collections.abc import Iterator

from trainlint.check import Request, check
from trainlint.cli.options import Said
from trainlint.finding import Applicability, Finding
from trainlint.record import replace
from trainlint.regex import regex
from trainlint.report import Report, filename, place
from trainlint.source.text import NOTEBOOK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainlint.repair import Draft, Repair

LINE = regex(r"[^\n]*\n|[^\n]+")


def fixed(request: Request, report: Report, said: Said) -> Report:
    """Write the fixes, and say what is left; the report on what the files hold then."""
    repair = _repaired(request, report, said)
    if repair is None:
        return report
    unwritten, faults = _written(repair, request.folder)
    written = tuple(draft for draft in repair.drafts if draft.path not in unwritten)
    _remark(replace(repair, drafts=written), "applied", request.folder, said)
    after = check(request) if unwritten else repair.report
    return replace(after, faults=(*after.faults, *faults))


def difference(request: Request, report: Report, said: Said) -> int:
    """Print what would be written, and answer with the exit status: 1 if that is anything."""
    repair = _repaired(request, report, said)
    for fault in report.faults:
        _say(f"trainlint: {fault}")
    if repair is None:
        return 2 * bool(report.faults)
    for draft in repair.drafts:
        sys.stdout.writelines(_lines(draft, filename(draft.path, request.folder)))
    sys.stdout.flush()
    _remark(repair, "would be applied", request.folder, said)
    return 2 if report.faults else int(bool(repair.drafts))


def _repaired(request: Request, report: Report, said: Said) -> Repair | None:
    """What fixing makes of the files; None where no finding has a fix, and nothing that fixes code is loaded."""
    if all(finding.fix is None for finding in report.findings):
        return None
    from trainlint.repair import repaired

    return repaired(request, report, Applicability if "unsafe-fixes" in said else {Applicability.SAFE})


def _written(repair: Repair, folder: str) -> tuple[set[str], list[str]]:
    """Write the files: the paths of those that are left as they were, and the faults among the reasons."""
    from trainlint.fix import Changed, NotWritten, write

    unwritten: set[str] = set()
    faults: list[str] = []
    for draft in repair.drafts:
        try:
            write(draft.path, draft.before, draft.after)
        except NotWritten as why:
            unwritten.add(draft.path)
            shown = f"{filename(draft.path, folder)}: not fixed: {why}"
            if isinstance(why, Changed):
                _say(shown)
            else:
                faults.append(shown)
    return unwritten, faults


def _lines(draft: Draft, name: str) -> Iterator[str]:
    """A unified difference, as patch reads it."""
    before, after = (LINE.findall(_text(draft.path, data)) for data in (draft.before, draft.after))
    for line in difflib.unified_diff(before, after, name, name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _text(path: str, data: bytes) -> str:
    if path.endswith(NOTEBOOK):
        return data.decode(json.detect_encoding(data), "replace")
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding, "replace")


def _remark(repair: Repair, done: str, folder: str, said: Said) -> None:
    """What was done and what is left, on the error stream: the reports stay as they are."""
    if "show-fixes" in said:
        for finding in repair.fixed:
            _say(f"{_named(finding, folder)}: {finding.fix.message if finding.fix else ''}")
    for finding, why in repair.left.items():
        _say(f"{_named(finding, folder)}: not fixed: {why}")
    if "quiet" in said:
        return
    count, files = len(repair.fixed), len(repair.drafts)
    if count:
        _say(f"{_count(count, 'fix', 'fixes')} {done} in {_count(files, 'file', 'files')}")
    if repair.unsafe:
        _say(f"{_count(len(repair.unsafe), 'unsafe fix', 'unsafe fixes')} left (--unsafe-fixes)")


def _named(finding: Finding, folder: str) -> str:
    return f"{place(finding.where, folder)}: {finding.code} {finding.name}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _say(line: str) -> None:
    print(line, file=sys.stderr)
