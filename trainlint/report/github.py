"""The report for a job of GitHub Actions: a report in, workflow commands out, each of which becomes an annotation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trainlint.finding import Finding, Severity
from trainlint.report import Report, filename, inside
from trainlint.report.text import explanation, plain, printable
from trainlint.span import Span

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}

MOST = 10
"""GitHub makes annotations of so many commands of each kind in one step."""

LONGEST = 4096
"""GitHub cuts a longer message; the numbers are those of the runner's ``ExecutionContext``."""


def as_github(report: Report, folder: str) -> Iterator[str]:
    """A command for each finding and each fault; what GitHub will leave out is said as a line of the log."""
    for finding in report.findings:
        yield _command(finding, folder)
    yield from (f"::error title=trainlint::{_data(fault)}" for fault in report.undone)
    counts = Counter(COMMANDS[finding.severity] for finding in report.findings)
    counts["error"] += len(report.undone)
    for command, count in counts.items():
        if count > MOST:
            yield f"{count - MOST} more of kind {command} stand in this log only: GitHub shows {MOST} of a step"


def _command(finding: Finding, folder: str) -> str:
    text = f"{inside(finding.where)}{printable(finding.message)}\n{''.join(plain(explanation(finding, folder)))}"
    title = f"{finding.code} {finding.name}"
    properties = {"file": filename(finding.where.path, folder), **_region(finding.where), "title": title}
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{COMMANDS[finding.severity]} {said}::{_data(_cut(text.rstrip()))}"


def _region(where: Span) -> dict[str, str]:
    """Columns only within one line, as GitHub takes them; a row of a cell is no line of the file."""
    if where.cell:
        return {}
    if where.row != where.end_row:
        return {"line": str(where.row), "endLine": str(where.end_row)}
    columns = {"col": str(where.column), "endColumn": str(where.end_column)}
    return {"line": str(where.row), "endLine": str(where.end_row), **columns}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
