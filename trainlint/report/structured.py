"""Reports for programs: a report in, JSON text out, in one versioned form."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from trainlint import __version__
from trainlint.finding import Finding, Severity
from trainlint.report import Report, filename, reason
from trainlint.span import Span

VERSION = 1
"""Grows when a key changes its meaning or goes; new keys may come at any time."""

CONTINUES = frozenset(")]}#")
"""Lines that start so say nothing about the depth of what follows them."""

DEFINITION = re.compile(r"\s*(?:async\s+def|def|class)\s+(\w+)")


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
            "baselined": 0,
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
    """One mark per finding that survives lines added and removed elsewhere: it holds no line number.

    It is made of the code, the file, the enclosing definition, the text of the line, and a count where all these agree.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in report.findings:
        lines = report.text(finding.where)
        parts = (
            finding.code,
            _in_project(finding.where.path, report.roots),
            _enclosing(lines, finding.where.row),
            " ".join(_line(lines, finding.where.row).split()),
        )
        seen[parts] += 1
        yield hashlib.sha256("\0".join((*parts, str(seen[parts]))).encode("utf-8", "surrogateescape")).hexdigest()[:32]


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


def _in_project(path: str, roots: Sequence[str]) -> str:
    inside = [root for root in roots if path.startswith(os.path.join(root, ""))]
    return filename(path, max(inside, key=len)) if inside else path


def _line(lines: Sequence[str], row: int) -> str:
    return lines[row - 1] if row <= len(lines) else ""


def _enclosing(lines: Sequence[str], row: int) -> str:
    """The names of the definitions around a line, told by indentation alone: ``Model.training_step``."""
    names: list[str] = []
    depth = _depth(_line(lines, row))
    for line in reversed(lines[: row - 1]):
        if not line.strip() or line.lstrip()[0] in CONTINUES or _depth(line) >= depth:
            continue
        depth = _depth(line)
        match = DEFINITION.match(line)
        if match:
            names.insert(0, match[1])
    return ".".join(names)


def _depth(line: str) -> int:
    expanded = line.expandtabs()
    return len(expanded) - len(expanded.lstrip())
