"""The report for reviewdog: a report in, its Diagnostic Format (rdjson) out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from trainlint.finding import Finding, Severity, TextEdit
from trainlint.record import replace
from trainlint.report import Report, filename, inside
from trainlint.report.text import explanation, plain
from trainlint.span import Span
from trainlint.value import Step

FARTHEST = 20
"""Lines that a suggestion may write again around what it changes."""

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
        "suggestions": list(_suggestions(finding, report)),
        "related_locations": [_related(step, report, folder) for step in (*finding.because, *finding.assumed)],
    }


def _suggestions(finding: Finding, report: Report) -> Iterator[Mapping[str, object]]:
    """A suggestion is accepted alone, so all edits of a fix are one, unless they lie too far apart to be shown."""
    edits = report.edits.get(finding, ())
    if not edits or finding.where.cell or edits[-1].where.end_row - edits[0].where.row > FARTHEST:
        return
    whole = _whole(edits, report.text(edits[0].where))
    yield {"range": _range(whole.where, report), "text": whole.text}


def _whole(edits: Sequence[TextEdit], lines: Sequence[str]) -> TextEdit:
    """Edits of one file, in their order, as one that writes what lies between them again."""
    first, *others = edits
    where, text = first.where, first.text
    for each in others:
        start, end = (where.end_row, where.end_column), (each.where.row, each.where.column)
        text += _between(lines, start, end) + each.text
        where = replace(where, end_row=each.where.end_row, end_column=each.where.end_column)
    return TextEdit(where, text)


def _between(lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    (row, column), (last, stop) = start, end
    rows = [*lines[row - 1 : last - 1], lines[last - 1][: stop - 1] if last <= len(lines) else ""]
    return "".join([rows[0][column - 1 :], *rows[1:]])


def _related(step: Step, report: Report, folder: str) -> Mapping[str, object]:
    return {"message": f"{inside(step.where)}{step.text}", "location": _location(step.where, report, folder)}


def _location(where: Span, report: Report, folder: str) -> Mapping[str, object]:
    """A row of a notebook's cell is no line of the file, so a notebook is named as a whole."""
    path = {"path": filename(where.path, folder)}
    return path if where.cell else {**path, "range": _range(where, report)}


def _range(where: Span, report: Report) -> Mapping[str, object]:
    return {
        "start": _position(where, where.row, where.column, report),
        "end": _position(where, where.end_row, where.end_column, report),
    }


def _position(where: Span, row: int, column: int, report: Report) -> Mapping[str, int]:
    lines = report.text(where)
    before = lines[row - 1][: column - 1] if row <= len(lines) else ""
    return {"line": row, "column": column + len(before.encode("utf-8", "surrogatepass")) - len(before)}
