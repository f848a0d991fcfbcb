"""The report for code scanning: a report and the rules that may speak in, SARIF 2.1.0 out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from trainlint import __version__
from trainlint.finding import Finding, Severity
from trainlint.report import Report, filename
from trainlint.report.structured import fingerprints
from trainlint.rule import Rule
from trainlint.span import Span
from trainlint.value import Step

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"


def as_sarif(report: Report, folder: str, rules: Sequence[Rule]) -> str:
    """The whole report; places inside this folder are relative to it."""
    speaking = sorted({finding.code for finding in report.findings})
    known = {rule.code: rule for rule in rules}
    marks = zip(report.findings, fingerprints(report), strict=True)
    run = {
        "tool": {
            "driver": {
                "name": "trainlint",
                "version": __version__,
                "rules": [_rule(code, known.get(code)) for code in speaking],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": f"{Path(folder).as_uri()}/"}},
        "invocations": [_invocation(report)],
        "results": [_result(finding, mark, speaking.index(finding.code), report, folder) for finding, mark in marks],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(code: str, rule: Rule | None) -> Mapping[str, object]:
    if rule is None:
        return {"id": code}
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.page, "markdown": rule.page},
    }


def _invocation(report: Report) -> Mapping[str, object]:
    notes = [("error", fault) for fault in report.faults] + [
        ("warning", f"not observed: {each}") for each in report.unobserved
    ]
    return {
        "executionSuccessful": report.exit_code != 2,
        "toolExecutionNotifications": [{"level": level, "message": {"text": text}} for level, text in notes],
    }


def _result(finding: Finding, mark: str, index: int, report: Report, folder: str) -> Mapping[str, object]:
    consequence = f": {finding.consequence}" if finding.consequence else ""
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity.value if finding.severity is not Severity.NOTE else "note",
        "message": {"text": f"{finding.message}{consequence}"},
        "locations": [_location(finding.where, folder)],
        "partialFingerprints": {"trainlint/v1": mark},
        "properties": {"observer": report.observer},
    }
    because = [_related(step, folder) for step in (*finding.because, *finding.assumed)]
    return {**result, "relatedLocations": because} if because else result


def _related(step: Step, folder: str) -> Mapping[str, object]:
    return {**_location(step.where, folder), "message": {"text": step.text}}


def _location(span: Span, folder: str) -> dict[str, object]:
    shown = filename(span.path, folder)
    inside = {"uri": quote(shown), "uriBaseId": ROOT}
    where = inside if not Path(shown).is_absolute() else {"uri": Path(span.path).as_uri()}
    region = {
        "startLine": span.row,
        "startColumn": span.column,
        "endLine": span.end_row,
        "endColumn": span.end_column,
    }
    return {"physicalLocation": {"artifactLocation": where, "region": region}}
