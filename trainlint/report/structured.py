"""Reports for programs: a report in, JSON text out, in one versioned form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trainlint import __version__
from trainlint.finding import Applicability, Finding, Severity
from trainlint.record import dataclass, replace
from trainlint.report import Report, filename, reason, statistics
from trainlint.span import Span
from trainlint.value import Step

Schema = Mapping[str, object]
"""A piece of JSON Schema."""

VERSION = 1
"""Grows when a key changes its meaning or goes; new keys may come at any time."""


@dataclass(frozen=True)
class Key:
    """One key of an object: its name, what it means, its type in JSON Schema, and how its value is told.

    ``value`` is given what the object is about. ``only`` names the observer whose reports alone have the key.
    """

    name: str
    meaning: str
    type: Schema
    value: Callable[..., object]
    only: str = ""


@dataclass(frozen=True)
class Told:
    """A finding, and the report that it is told in, with the folder that names are relative to."""

    finding: Finding
    report: Report
    folder: str


def as_json(report: Report, folder: str) -> str:
    """The whole report; places are relative to this folder where they lie inside."""
    return json.dumps(_object(REPORT, report.observer, report, folder), indent=1)


def as_json_lines(report: Report, folder: str) -> Iterator[str]:
    """The same, one object a line: ``type`` says which list of the report it is of, and the last line is the rest."""
    lists = {"finding": "findings", "unjudged": "unjudged", "skipped": "files_skipped"}
    document = _object(REPORT, report.observer, report, folder)
    for name, key in lists.items():
        records: Any = document.pop(key)
        yield from (json.dumps({"type": name, **record}) for record in records)
    yield json.dumps({"type": "summary", **document})


def schema() -> Schema:
    """What ``as_json`` writes, as JSON Schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trainlint's report",
        "description": "What trainlint --output-format json writes. Keys may be added; a change raises version.",
        **of_object(REPORT),
    }


def of_object(keys: Iterable[Key]) -> Schema:
    """The type of an object with these keys."""
    keys = tuple(keys)
    return {
        "type": "object",
        "required": [key.name for key in keys if not key.only],
        "properties": {key.name: {"description": key.meaning, **key.type} for key in keys},
    }


def _object(keys: Iterable[Key], observer: str, *about: object) -> dict[str, object]:
    return {key.name: key.value(*about) for key in keys if key.only in {"", observer}}


def located(span: Span, folder: str) -> dict[str, object]:
    """A place as an object."""
    return _object(PLACE, "", span, folder)


def _steps(steps: Iterable[Step], folder: str) -> list[dict[str, object]]:
    return [_object(STEP, "", step, folder) for step in steps]


def _fix(finding: Finding, report: Report, folder: str) -> dict[str, object] | None:
    edits = report.edits.get(finding)
    return _object(FIX, "", finding.fix, edits, folder) if edits else None


def _findings(report: Report, folder: str) -> list[dict[str, object]]:
    return [_object(FINDING, report.observer, Told(finding, report, folder)) for finding in report.findings]


def _summary(report: Report) -> dict[str, object]:
    return _object(SUMMARY, "", report, Counter(finding.severity for finding in report.findings))


def _skipped(report: Report, folder: str) -> list[dict[str, object]]:
    return [_object(SKIPPED, "", filename(path, folder), why) for path, why in sorted(report.skipped.items())]


def _judged(report: Report) -> dict[str, dict[str, object]]:
    return {kind: _object(TALLY, "", tally) for kind, tally in report.judged.items()}


TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FROM_ONE: Schema = {"type": "integer", "minimum": 1}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


POINT = (
    Key("row", "The line of the file, or of the cell, from 1.", FROM_ONE, lambda row, column: row),
    Key("column", "The character in the line, from 1.", FROM_ONE, lambda row, column: column),
)
PLACE = (
    Key(
        "filename",
        "The file, with forward slashes; relative to the working directory where it lies inside, else absolute.",
        TEXT,
        lambda span, folder: filename(span.path, folder),
    ),
    Key(
        "cell",
        "The cell of a notebook, all cells counted from 1; null in any other file.",
        {"type": ["integer", "null"], "minimum": 1},
        lambda span, folder: span.cell,
    ),
    Key(
        "location",
        "Where it begins.",
        of_object(POINT),
        lambda span, folder: _object(POINT, "", span.row, span.column),
    ),
    Key(
        "end_location",
        "Where it ends: the first place outside.",
        of_object(POINT),
        lambda span, folder: _object(POINT, "", span.end_row, span.end_column),
    ),
)
"""Keys that are about a place and the folder that names are relative to."""


def _at(where: Callable[..., Span], folder: Callable[..., str]) -> Iterator[Key]:
    """The keys of a place in an object that is about more."""
    for key in PLACE:
        yield replace(key, value=lambda *about, value=key.value: value(where(*about), folder(*about)))


STEP = (
    Key("message", "A line of code, or what it says.", TEXT, lambda step, folder: step.text),
    *_at(lambda step, folder: step.where, lambda step, folder: folder),
)
EDIT = (
    *_at(lambda edit, folder: edit.where, lambda edit, folder: folder),
    Key("content", "What to write in place of the stretch; empty to delete it.", TEXT, lambda edit, folder: edit.text),
)
FIX = (
    Key(
        "applicability",
        "Whether it may be applied unasked.",
        {"enum": [each.value for each in Applicability]},
        lambda fix, edits, folder: fix.applicability.value,
    ),
    Key("message", "What it does, as an imperative.", TEXT, lambda fix, edits, folder: fix.message),
    Key(
        "edits",
        "All of them belong together, and none overlaps with another.",
        _list(of_object(EDIT)),
        lambda fix, edits, folder: [_object(EDIT, "", edit, folder) for edit in edits],
    ),
)
FINDING = (
    Key("code", "The rule's code.", TEXT, lambda told: told.finding.code),
    Key("name", "The rule's name.", TEXT, lambda told: told.finding.name),
    Key(
        "severity",
        "How strong the proof is: an error is proved, a warning very likely, a note one step from a bug.",
        {"enum": [severity.value for severity in Severity]},
        lambda told: told.finding.severity.value,
    ),
    Key("message", "What is wrong, in one sentence.", TEXT, lambda told: told.finding.message),
    Key("consequence", "What it does to the run.", TEXT, lambda told: told.finding.consequence),
    *_at(lambda told: told.finding.where, lambda told: told.folder),
    Key(
        "because",
        "The lines that prove it.",
        _list(of_object(STEP)),
        lambda told: _steps(told.finding.because, told.folder),
    ),
    Key(
        "assumed",
        "The defaults it rests on.",
        _list(of_object(STEP)),
        lambda told: _steps(told.finding.assumed, told.folder),
    ),
    Key("help", "What to do.", TEXT, lambda told: told.finding.help),
    Key("url", "Where the rule's page stands.", {"type": ["string", "null"]}, lambda told: None),
    Key(
        "fix",
        "A change that removes it; null where there is none.",
        {"oneOf": [{"type": "null"}, of_object(FIX)]},
        lambda told: _fix(told.finding, told.report, told.folder),
    ),
    Key(
        "fingerprint",
        "Names the finding without a number of a line: it survives changes elsewhere in the file.",
        TEXT,
        lambda told: told.report.identities[told.finding].fingerprint,
    ),
    Key("observer", "Who saw it: a run.", {"enum": ["probe"]}, lambda told: told.report.observer, "probe"),
    Key(
        "measured",
        "What the run measured at the call.",
        {"type": "object"},
        lambda told: told.report.measured.get(told.finding.call or told.finding.where, {}),
        "probe",
    ),
)
"""Keys that are about a finding as it is told in a report."""

UNJUDGED = (
    *_at(lambda each, folder: each.where, lambda each, folder: folder),
    Key("what", "The question that stays open.", TEXT, lambda each, folder: each.question),
    Key("why", "Why it does, and what would settle it.", TEXT, lambda each, folder: reason(each.why)),
)
SKIPPED = (
    Key("filename", "The file.", TEXT, lambda name, why: name),
    Key("reason", "Why it was not read.", TEXT, lambda name, why: why),
)
STALE = (
    Key("code", "The rule's code.", TEXT, lambda entry, folder: entry.identity.code),
    Key("message", "What was wrong.", TEXT, lambda entry, folder: entry.message),
    Key(
        "of",
        "The file that it was found in, relative to the baseline.",
        TEXT,
        lambda entry, folder: entry.identity.file,
    ),
    *_at(lambda entry, folder: entry.where, lambda entry, folder: folder),
)
STATISTIC = (
    Key("code", "A rule's code.", TEXT, lambda each: each.code),
    Key("name", "Its name.", TEXT, lambda each: each.name),
    Key("count", "How many findings it has.", FROM_ONE, lambda each: each.count),
)
SUMMARY = (
    *(
        Key(
            level.value,
            f"How many findings are {level.value}s.",
            COUNT,
            lambda report, counts, level=level: counts[level],
        )
        for level in Severity
    ),
    Key(
        "suppressed",
        "How many a comment or the settings silence.",
        COUNT,
        lambda report, counts: len(report.suppressed),
    ),
    Key("baselined", "How many the baseline holds.", COUNT, lambda report, counts: len(report.baselined)),
)
TALLY = (
    Key("total", "All of this kind.", COUNT, lambda tally: tally.total),
    Key("safe", "Those found to be as they should be.", COUNT, lambda tally: tally.safe),
    Key("flagged", "Those that something is found about.", COUNT, lambda tally: tally.flagged),
    Key("unjudged", "Those that stay open.", COUNT, lambda tally: tally.unjudged),
)
REPORT = (
    Key(
        "version",
        "Grows when a key changes its meaning or goes.",
        {"const": VERSION},
        lambda report, folder: VERSION,
    ),
    Key("tool", "The name and version of the tool.", TEXT, lambda report, folder: f"trainlint {__version__}"),
    Key(
        "files_checked",
        "How many files were asked for and read.",
        COUNT,
        lambda report, folder: report.files_checked,
    ),
    Key("files_skipped", "The files that were not read, and why.", _list(of_object(SKIPPED)), _skipped),
    Key(
        "summary",
        "How many findings there are of each level, and how many are not reported.",
        of_object(SUMMARY),
        lambda report, folder: _summary(report),
    ),
    Key(
        "statistics",
        "How many findings each rule has, most first.",
        _list(of_object(STATISTIC)),
        lambda report, folder: [_object(STATISTIC, "", each) for each in statistics(report)],
    ),
    Key(
        "judged",
        "By kind: how many places were judged, and how.",
        {"type": "object", "additionalProperties": of_object(TALLY)},
        lambda report, folder: _judged(report),
    ),
    Key(
        "unjudged",
        "What could not be judged.",
        _list(of_object(UNJUDGED)),
        lambda report, folder: [_object(UNJUDGED, "", each, folder) for each in report.unjudged],
    ),
    Key("findings", "What was found, ordered by file and place.", _list(of_object(FINDING)), _findings),
    Key(
        "stale",
        "The entries of the baseline that nothing is found for any more.",
        _list(of_object(STALE)),
        lambda report, folder: [_object(STALE, "", entry, folder) for entry in report.stale],
    ),
    Key("faults", "What could not be done.", _list(TEXT), lambda report, folder: list(report.faults)),
    Key(
        "not_observed",
        "What went on unobserved in a run.",
        _list(TEXT),
        lambda report, folder: list(report.unobserved),
        "probe",
    ),
)
"""Keys that are about a report and the folder that names are relative to: the one declaration of the format."""
