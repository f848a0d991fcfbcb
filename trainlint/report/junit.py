"""The report for programs that show tests: a report in, JUnit XML out."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from trainlint.facts import Unjudged
from trainlint.finding import Finding
from trainlint.report import Report, filename, inside, place, reason
from trainlint.report.text import excerpt, explanation, plain, printable

NAME = "trainlint"


def as_junit(report: Report, folder: str) -> str:
    """One suite: a finding at or above the gate fails, what was not judged is skipped, what was found safe passes."""
    cases = list(_cases(report, folder))
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
    }
    numbers = {"name": NAME, **{name: str(count) for name, count in counts.items()}}
    root = Element("testsuites", numbers)
    skipped = sum(case.find("skipped") is not None for case in cases)
    SubElement(root, "testsuite", {**numbers, "skipped": str(skipped)}).extend(cases)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}'


def _cases(report: Report, folder: str) -> Iterator[Element]:
    if report.files_checked:
        yield _case(NAME, f"files checked: {report.files_checked}")
    for kind, tally in report.judged.items():
        if tally.safe:
            yield _case(NAME, f"{kind}: {tally.safe} safe")
    failing = set(report.failing)
    for finding in report.findings:
        yield _finding(finding, "failure" if finding in failing else "system-out", report, folder)
    for each in report.unjudged:
        yield _unjudged(each, folder)
    for fault in report.undone:
        case = _case(NAME, printable(fault))
        SubElement(case, "error", type="fault", message=printable(fault))
        yield case


def _finding(finding: Finding, outcome: str, report: Report, folder: str) -> Element:
    where = finding.where
    row = inside(where).removesuffix(": ") or f"{where.row}:{where.column}"
    case = _case(filename(where.path, folder), f"{finding.code} {finding.name} at {row}")
    message = printable(finding.message)
    lines = [*plain(excerpt(finding, report.text(where))), *plain(explanation(finding, folder))]
    body = f"{place(where, folder)}: {finding.severity.value} {finding.code} {finding.name}\n  {message}\n"
    attributes = {"type": finding.severity.value, "message": message} if outcome == "failure" else {}
    SubElement(case, outcome, attributes).text = _text(body + "".join(lines))
    return case


def _unjudged(each: Unjudged, folder: str) -> Element:
    where = each.where
    row = inside(where).removesuffix(": ") or f"{where.row}:{where.column}"
    case = _case(filename(where.path, folder), f"not judged at {row}: {printable(each.question)}")
    SubElement(case, "skipped", message=printable(reason(each.why)))
    return case


def _case(group: str, name: str) -> Element:
    return Element("testcase", classname=_text(group), name=_text(name))


def _text(text: str) -> str:
    """Text without the characters that XML cannot hold, not even escaped."""
    return "\n".join(printable(line) for line in text.split("\n"))
