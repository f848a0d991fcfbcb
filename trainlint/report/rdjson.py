"""The report for reviewdog: a report in, its Diagnostic Format (rdjson) out."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trainlint.finding import Finding, Severity
from trainlint.report import Report, filename, inside
from trainlint.report.text import explanation, plain
from trainlint.span import Span
from trainlint.value import Step

SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}


def as_rdjson(report: Report, folder: str) -> str:
    """The findings; where a line is known, columns count its bytes in UTF-8, as reviewdog does."""
    worst = min((finding.severity for finding in report.findings), key=lambda each: each.rank, default=None)
    document: dict[str, object] = {
        "source": {"name": "trainlint"},
        "diagnostics": [_diagnostic(finding, report, folder) for finding in report.findings],
    }
    return json.dumps({**document, "severity": SEVERITIES[worst]} if worst else document, indent=1)


def _diagnostic(finding: Finding, report: Report, folder: str) -> Mapping[str, object]:
    text = f"{inside(finding.where)}{finding.message}\n{''.join(plain(explanation(finding, folder)))}"
    return {
        "message": text.rstrip(),
        "location": _location(finding.where, report, folder),
        "severity": SEVERITIES[finding.severity],
        "code": {"value": finding.code},
        "related_locations": [_related(step, report, folder) for step in (*finding.because, *finding.assumed)],
    }


def _related(step: Step, report: Report, folder: str) -> Mapping[str, object]:
    return {"message": f"{inside(step.where)}{step.text}", "location": _location(step.where, report, folder)}


def _location(where: Span, report: Report, folder: str) -> Mapping[str, object]:
    """A row of a notebook's cell is no line of the file, so a notebook is named as a whole."""
    path = {"path": filename(where.path, folder)}
    if where.cell:
        return path
    start = _position(where, where.row, where.column, report)
    return {**path, "range": {"start": start, "end": _position(where, where.end_row, where.end_column, report)}}


def _position(where: Span, row: int, column: int, report: Report) -> Mapping[str, int]:
    lines = report.text(where)
    before = lines[row - 1][: column - 1] if row <= len(lines) else ""
    return {"line": row, "column": column + len(before.encode("utf-8", "surrogatepass")) - len(before)}
