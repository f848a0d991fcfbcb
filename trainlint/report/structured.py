"""Reports for programs: a report in, JSON text out, in one versioned form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from trainlint import __version__
from trainlint.finding import Finding, Severity
from trainlint.identity import Entry
from trainlint.report import Report, filename, reason
from trainlint.span import Span

VERSION = 1
"""Grows when a key changes its meaning or goes; new keys may come at any time."""


def as_json(report: Report, folder: str) -> str:
    """The whole report; places are relative to this folder where they lie inside."""
    counts = Counter(finding.severity for finding in report.findings)
    document: dict[str, object] = {
        "version": VERSION,
        "tool": f"trainlint {__version__}",
        "files_checked": report.files_checked,
        "files_skipped": [
            {"filename": filename(path, folder), "reason": why} for path, why in sorted(report.skipped.items())
        ],
        "summary": {
            **{severity.value: counts[severity] for severity in Severity},
            "suppressed": len(report.suppressed),
            "baselined": len(report.baselined),
        },
        "judged": {
            kind: {"total": tally.total, "safe": tally.safe, "flagged": tally.flagged, "unjudged": tally.unjudged}
            for kind, tally in report.judged.items()
        },
        "unjudged": [
            {**located(each.where, folder), "what": each.question, "why": reason(each.why)} for each in report.unjudged
        ],
        "findings": [
            {**_finding(finding, folder), "fingerprint": mark, **_observed(finding, report)}
            for finding, mark in zip(report.findings, fingerprints(report), strict=True)
        ],
    }
    if report.stale:
        document["stale"] = [_stale(entry, folder) for entry in report.stale]
    if report.observer != "source":
        document["not_observed"] = list(report.unobserved)
        document["faults"] = list(report.faults)
    return json.dumps(document, indent=1)


def _observed(finding: Finding, report: Report) -> Mapping[str, object]:
    """Who saw it and what was measured there, if it was a run."""
    if report.observer == "source":
        return {}
    return {"observer": report.observer, "measured": report.measured.get(finding.call or finding.where, {})}


def fingerprints(report: Report) -> Iterator[str]:
    """One mark per finding that survives lines added and removed elsewhere: it holds no line number."""
    return (report.identities[finding].fingerprint for finding in report.findings)


def _stale(entry: Entry, folder: str) -> Mapping[str, object]:
    """An entry of a baseline that nothing is found for any more, and where it is written."""
    identity = entry.identity
    return {"code": identity.code, "message": entry.message, "of": identity.file, **located(entry.where, folder)}


def _finding(finding: Finding, folder: str) -> Mapping[str, object]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "consequence": finding.consequence,
        **located(finding.where, folder),
        "because": [{"message": step.text, **located(step.where, folder)} for step in finding.because],
        "assumed": [{"message": step.text, **located(step.where, folder)} for step in finding.assumed],
        "help": finding.help,
        "url": None,
        "fix": None,
    }


def located(span: Span, folder: str) -> dict[str, object]:
    return {
        "filename": filename(span.path, folder),
        "cell": span.cell,
        "location": {"row": span.row, "column": span.column},
        "end_location": {"row": span.end_row, "column": span.end_column},
    }
