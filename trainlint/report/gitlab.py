"""The report for a merge request of GitLab: a report in, a Code Quality report (JSON) out."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trainlint.finding import Finding, Severity
from trainlint.report import Report, filename, inside
from trainlint.report.markdown import explanation
from trainlint.span import Span

SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}
"""Ours in GitLab's words, which are info, minor, major, critical and blocker."""


def as_gitlab(report: Report, folder: str) -> str:
    """The findings; GitLab shows the first of those with one fingerprint, so each has its own."""
    return json.dumps([_issue(finding, report, folder) for finding in report.findings], indent=1)


def _issue(finding: Finding, report: Report, folder: str) -> Mapping[str, object]:
    return {
        "type": "issue",
        "check_name": finding.code,
        "description": f"{finding.code} {finding.name}: {inside(finding.where)}{finding.message}",
        "content": {"body": "\n".join(explanation(finding, folder))},
        "categories": ["Bug Risk"],
        "severity": SEVERITIES[finding.severity],
        "fingerprint": report.identities[finding].fingerprint,
        "location": _location(finding.where, folder),
        "other_locations": [_location(step.where, folder) for step in (*finding.because, *finding.assumed)],
    }


def _location(where: Span, folder: str) -> Mapping[str, object]:
    """GitLab wants a line; a row of a notebook's cell is none, so a notebook is shown from its top."""
    if where.cell:
        return {"path": filename(where.path, folder), "positions": {"begin": {"line": 1, "column": 1}}}
    return {
        "path": filename(where.path, folder),
        "positions": {
            "begin": {"line": where.row, "column": where.column},
            "end": {"line": where.end_row, "column": where.end_column},
        },
    }
