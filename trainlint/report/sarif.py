"""The report for code scanning: a report and the rules that may speak in, SARIF 2.1.0 out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from trainlint import __version__
from trainlint.facts import Unjudged
from trainlint.finding import Finding, Fix, TextEdit
from trainlint.report import Report, filename, inside, place, reason
from trainlint.report.markdown import explanation, prose
from trainlint.rule import Rule
from trainlint.span import Span
from trainlint.value import Step

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"
LONGEST = 1024
"""GitHub takes no longer description of a rule."""

STATUS = {0: "nothing at or above the gate", 1: "findings at or above the gate", 2: "not all that was asked was done"}


def as_sarif(report: Report, folder: str, rules: Sequence[Rule]) -> str:
    """The whole report; places inside this folder are relative to it."""
    told = (*report.findings, *report.baselined, *report.suppressed)
    speaking = sorted({finding.code for finding in told})
    known = {rule.code: rule for rule in rules}
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
        "invocations": [_invocation(report, folder)],
        "results": [_result(finding, speaking.index(finding.code), report, folder) for finding in told],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(code: str, rule: Rule | None) -> Mapping[str, object]:
    if rule is None:
        return {"id": code}
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": (rule.page.partition("\n\n")[2].partition("\n\n")[0] or rule.summary)[:LONGEST]},
        "help": {"text": rule.page, "markdown": rule.page},
        "properties": {"tags": ["training", "pytorch"]},
    }


def _invocation(report: Report, folder: str) -> Mapping[str, object]:
    notes = [
        *(_notification("error", fault) for fault in report.faults),
        *(_notification("warning", f"not observed: {each}") for each in report.unobserved),
        *(_notification("note", f"{filename(path, folder)}: {why}") for path, why in sorted(report.skipped.items())),
        *(_not_judged(each, folder) for each in report.unjudged),
    ]
    return {
        "executionSuccessful": report.exit_code != 2,
        "exitCode": report.exit_code,
        "exitCodeDescription": STATUS[report.exit_code],
        "toolExecutionNotifications": notes,
    }


def _notification(level: str, text: str) -> Mapping[str, object]:
    return {"level": level, "message": {"text": _plain(text)}}


def _not_judged(each: Unjudged, folder: str) -> Mapping[str, object]:
    text = f"{inside(each.where)}not judged: {each.question}: {reason(each.why)}"
    return {**_notification("note", text), "locations": [_location(each.where, folder)]}


def _result(finding: Finding, index: int, report: Report, folder: str) -> Mapping[str, object]:
    proof = (*finding.because, *finding.assumed)
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": _message(finding, folder),
        "locations": [_location(finding.where, folder)],
        "partialFingerprints": {"trainlint/v1": report.identities[finding].fingerprint},
        "properties": {"observer": report.observer, "help": finding.help},
    }
    if proof:
        result["relatedLocations"] = [_related(number, step, folder) for number, step in enumerate(proof, 1)]
        result["codeFlows"] = [{"threadFlows": [{"locations": list(_flow(finding, proof, folder))}]}]
    edits = report.edits.get(finding)
    # A cell of a notebook is no stretch of its file, so its fix has no place here.
    if finding.fix and edits and not any(edit.where.cell for edit in edits):
        result["fixes"] = [_fix(finding.fix, edits, folder)]
    if report.baselined or report.stale:
        result["baselineState"] = "unchanged" if finding in report.baselined else "new"
    suppression = _suppression(finding, report)
    if suppression:
        result["suppressions"] = [suppression]
    return result


def _suppression(finding: Finding, report: Report) -> Mapping[str, str] | None:
    """Who keeps a finding from being reported, and why."""
    if finding in report.commented:
        reason = report.commented[finding]
        return {"kind": "inSource", **({"justification": reason} if reason else {})}
    if finding in report.suppressed:
        return {"kind": "external", "justification": "per-file-ignores of the settings"}
    return {"kind": "external", "justification": "the baseline"} if finding in report.baselined else None


def _message(finding: Finding, folder: str) -> Mapping[str, str]:
    consequence = f": {finding.consequence}" if finding.consequence else ""
    help = f"; {finding.help}" if finding.help else ""
    text = f"{inside(finding.where)}{finding.message}{consequence}{help}"
    return {"text": _plain(text), "markdown": "\n".join([prose(finding.message), "", *explanation(finding, folder)])}


def _flow(finding: Finding, proof: Sequence[Step], folder: str) -> Iterator[Mapping[str, object]]:
    """From the lines that prove it to the place of the finding."""
    for step in proof:
        yield {"location": _said(step.text, step.where, folder)}
    yield {"location": _said(finding.message, finding.where, folder), "importance": "essential"}


def _fix(fix: Fix, edits: Sequence[TextEdit], folder: str) -> Mapping[str, object]:
    """All edits of a fix lie in one file."""
    file = _file(edits[0].where, folder)
    replacements = [{"deletedRegion": _region(each.where), "insertedContent": {"text": each.text}} for each in edits]
    return {
        "description": {"text": f"{fix.message} ({fix.applicability.value})"},
        "artifactChanges": [{"artifactLocation": file, "replacements": replacements}],
    }


def _related(number: int, step: Step, folder: str) -> Mapping[str, object]:
    return {"id": number, **_said(step.text, step.where, folder)}


def _said(text: str, where: Span, folder: str) -> Mapping[str, object]:
    return {**_location(where, folder), "message": {"text": _plain(f"{inside(where)}{text}")}}


def _plain(text: str) -> str:
    r"""Text in which SARIF sees no link: ``table[key](x)`` would be one.

    >>> print(_plain("table[key](x)"))
    table\[key\](x)
    """
    return re.sub(r"\[([^\[\]]*)\](?=\()", r"\\[\1\\]", text)


def _location(span: Span, folder: str) -> dict[str, object]:
    """In a notebook, whose cells' rows are no lines of the file, the cell is named and the file shown from its top."""
    file = _file(span, folder)
    if span.cell:
        cell = {"name": f"cell {span.cell}", "fullyQualifiedName": place(span, folder), "kind": "module"}
        top = {"artifactLocation": file, "region": {"startLine": 1}}
        return {"physicalLocation": top, "logicalLocations": [cell]}
    return {"physicalLocation": {"artifactLocation": file, "region": _region(span)}}


def _file(span: Span, folder: str) -> Mapping[str, str]:
    shown = filename(span.path, folder)
    if Path(shown).is_absolute():
        return {"uri": Path(span.path).as_uri()}
    return {"uri": quote(shown), "uriBaseId": ROOT}


def _region(span: Span) -> Mapping[str, int]:
    return {
        "startLine": span.row,
        "startColumn": span.column,
        "endLine": span.end_row,
        "endColumn": span.end_column,
    }
