"""The report for a comment on a pull request: a report in, GitHub-flavoured Markdown out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from trainlint.finding import Finding
from trainlint.report import Report, place, reason
from trainlint.report.text import excerpt, fixing, plain, printable, summary
from trainlint.value import Step

LONGEST = 65_000
"""A comment of GitHub holds 65,536 characters; the rest is for the last lines."""


def as_markdown(report: Report, folder: str) -> Iterator[str]:
    """The findings and, folded, what was not judged; what one comment cannot hold is left out, finding by finding."""
    head = [f"**trainlint:** {prose(summary(report))}", ""]
    faults = [*_listed(f"could not be done: {prose(fault)}" for fault in report.undone)]
    blocks = ["\n".join(_finding(finding, report, folder)) for finding in report.findings]
    folded = ["\n".join(_unjudged(report, folder))] if report.unjudged else []
    room = LONGEST - sum(map(len, (*head, *faults)))
    shown = _fitting((*blocks, *folded), room)
    yield from (*head, *faults, *shown)
    if len(shown) < len(blocks):
        yield f"{len(blocks) - len(shown)} more findings are left out: a comment holds 65,536 characters."
    elif len(shown) < len(blocks) + len(folded):
        yield f"{len(report.unjudged)} not judged: the list is left out, a comment holds 65,536 characters."


def explanation(finding: Finding, folder: str) -> Iterator[str]:
    """What a finding does to the run, what proves it, its cure, and the defaults it rests on."""
    yield from _listed(f"**so** {prose(each)}" for each in _said(finding.consequence))
    yield from _listed(f"**because** {_step(step, folder)}" for step in finding.because)
    yield from _listed(f"**help** {prose(each)}" for each in _said(finding.help))
    yield from _listed(f"**fix** {prose(each)}" for each in _said(fixing(finding)))
    yield from _listed(f"**assumed** {_step(step, folder)}" for step in finding.assumed)


def _finding(finding: Finding, report: Report, folder: str) -> Iterator[str]:
    where = code(place(finding.where, folder))
    yield f"#### {finding.severity.value} {finding.code} {prose(finding.name)} in {where}"
    yield ""
    yield prose(finding.message)
    yield ""
    lines = [line.rstrip("\n") for line in plain(excerpt(finding, report.text(finding.where)))]
    if lines:
        fence = _fence("\n".join(lines), 3)
        yield from (f"{fence}text", *lines, fence, "")
    yield from explanation(finding, folder)
    yield ""


def _unjudged(report: Report, folder: str) -> Iterator[str]:
    yield f"<details><summary>{len(report.unjudged)} not judged</summary>"
    yield ""
    for each in report.unjudged:
        yield from _listed([f"{code(place(each.where, folder))} {prose(each.question)}: {prose(reason(each.why))}"])
    yield ""
    yield "</details>"


def _fitting(blocks: Sequence[str], room: int) -> list[str]:
    """As many of the blocks, from the first on, as there is room for."""
    shown: list[str] = []
    for block in blocks:
        room -= len(block) + 1
        if room < 0:
            break
        shown.append(block)
    return shown


def _said(text: str) -> list[str]:
    return [text] if text else []


def _listed(items: Iterable[str]) -> Iterator[str]:
    return (f"- {item}" for item in items)


def _step(step: Step, folder: str) -> str:
    return f"{code(step.text)} in {code(place(step.where, folder))}"


def code(text: str) -> str:
    """Text as code, whatever it holds.

    >>> print(code("a`b"))
    `` a`b ``
    """
    text = printable(text)
    fence = _fence(text, 1)
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1 if longest else 1)


def prose(text: str) -> str:
    r"""Text as it stands: no letter of it is markup, mentions somebody or refers to another issue.

    >>> print(prose("cfg.vocab_size of @me, see #4"))
    cfg.vocab\_size of @<!-- -->me, see \#<!-- -->4
    """
    escaped = re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", printable(text))
    return re.sub(r"([@#])", r"\1<!-- -->", escaped)
