"""Reports for people: a report in, lines of styled pieces out.

A line is a sequence of (style, text); where there is no colour, the texts alone are the line.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from trainlint.facts import Unjudged
from trainlint.finding import Applicability, Finding, Severity
from trainlint.report import QUIET, Report, place, reason, statistics
from trainlint.span import Span
from trainlint.value import Step

Line = tuple[tuple[str, str], ...]

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
GUTTER = "blue"
LABEL = "bold"

WIDEST_STEP = 72
"""Places of evidence stand in one column, but one very long line of code does not push it off the screen."""

LONGEST_LINE = 200
"""Longer source lines are cut: they were written by a program."""


def plain(lines: Iterable[Line]) -> Iterator[str]:
    """The lines without their styles, each with its end."""
    return (f"{''.join(piece for _, piece in line)}\n" for line in lines)


def full(report: Report, folder: str) -> Iterator[Line]:
    """Each finding with its code, its consequence, its proof and its cure."""
    for finding in report.findings:
        yield from _finding(finding, report, folder)
        yield ()


def concise(report: Report, folder: str) -> Iterator[Line]:
    """Each finding on one line."""
    for finding in report.findings:
        yield (
            *place_of(finding.where, folder),
            (STYLES[finding.severity], f"{finding.severity.value} {finding.code}"),
            ("", f" {finding.name}: {printable(finding.message)}"),
        )


def unjudged(report: Report, folder: str) -> Iterator[Line]:
    """Each open question on one line, with the reason."""
    for each in report.unjudged:
        yield (
            *place_of(each.where, folder),
            (LABEL, "not judged"),
            ("", f" {each.question}: {printable(reason(each.why))}"),
        )


def counted(report: Report) -> Iterator[Line]:
    """How many findings each rule has, most first."""
    found = statistics(report)
    width = max((len(str(each.count)) for each in found), default=0)
    for each in found:
        yield (LABEL, f"{each.count:>{width}}  {each.code}"), ("", f"  {each.name}")


def by_reason(report: Report, folder: str) -> Iterator[Line]:
    """The open questions by their reason, the commonest first: what would settle them, and where they are."""
    groups: dict[tuple[str, str], list[Unjudged]] = defaultdict(list)
    for each in report.unjudged:
        groups[each.why.reason, each.why.settle].append(each)
    for (why, settle), alike in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        yield (LABEL, f"{len(alike)} not judged"), ("", f": {printable(why)}")
        yield from _labelled("settle", [settle])
        yield from _labelled("in", (f"{place(each.where, folder)}  {each.question}" for each in alike))
        yield ()


def summary(report: Report) -> str:
    """The last line, which never calls clean what was not judged."""
    counts = Counter(finding.severity for finding in report.findings)
    levels = ", ".join(_count(counts[severity], severity.value) for severity in Severity if counts[severity])
    found = f"{_count(len(report.findings), 'finding')} ({levels})" if levels else "no findings"
    parts = [f"{found} in {_count(report.files_checked, 'file')}"]
    parts += [_tally(kind, report) for kind in report.judged if _is_told(kind, report)]
    if not any(tally.total for tally in report.judged.values()):
        parts.append("no loss to judge")
    if report.suppressed:
        parts.append(f"{len(report.suppressed)} suppressed")
    if report.baselined:
        parts.append(f"{len(report.baselined)} baselined")
    if report.stale:
        parts.append(f"{len(report.stale)} stale in the baseline")
    if report.skipped:
        parts.append(f"{_count(len(report.skipped), 'file')} skipped (-v says why)")
    return "; ".join(parts)


def _is_told(kind: str, report: Report) -> bool:
    """Nearly every loss has an input and a format: where all are as they should be, nothing is said of them."""
    tally = report.judged[kind]
    return bool(tally.flagged or tally.unjudged if kind in QUIET else tally.total)


def _tally(kind: str, report: Report) -> str:
    tally = report.judged[kind]
    counts = (("safe", tally.safe), ("flagged", tally.flagged), ("not judged", tally.unjudged))
    hint = " (--show-unjudged says why)" if tally.unjudged else ""
    return f"{kind}: {', '.join(f'{count} {word}' for word, count in counts if count)}{hint}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def place_of(span: Span, folder: str) -> Line:
    return (LABEL, place(span, folder)), ("", ": ")


def _finding(finding: Finding, report: Report, folder: str) -> Iterator[Line]:
    style = STYLES[finding.severity]
    head = f"{finding.severity.value} {finding.code}"
    yield (*place_of(finding.where, folder), (style, head), ("", f" {finding.name}"))
    yield (("", f"  {printable(finding.message)}"),)
    yield from excerpt(finding, report.text(finding.where), style)
    yield from explanation(finding, folder)


def explanation(finding: Finding, folder: str) -> Iterator[Line]:
    """What a finding does to the run, what proves it, its cure, and the defaults it rests on."""
    yield from _labelled("so", [finding.consequence])
    yield from _labelled("because", lined_up(finding.because, folder))
    yield from _labelled("help", [finding.help])
    yield from _labelled("fix", [fixing(finding)])
    yield from _labelled("assumed", lined_up(finding.assumed, folder))


def fixing(finding: Finding) -> str:
    """What the fix of a finding does, and what applies it."""
    if finding.fix is None:
        return ""
    flag = "--fix" if finding.fix.applicability is Applicability.SAFE else "--fix --unsafe-fixes"
    return f"{finding.fix.message} ({flag})"


def _labelled(label: str, texts: Iterable[str]) -> Iterator[Line]:
    for text in filter(None, texts):
        yield (LABEL, f"  {label:<7}  "), ("", printable(text))
        label = ""


def lined_up(steps: Sequence[Step], folder: str) -> Iterator[str]:
    """Lines of evidence, their places in one column."""
    texts = [cut(step.text) for step in steps]
    width = min(max(map(len, texts), default=0), WIDEST_STEP)
    for step, text in zip(steps, texts, strict=True):
        cell = f":cell {step.where.cell}" if step.where.cell else ""
        where = place(step.where, folder).rpartition(f"{cell}:{step.where.row}:")[0]
        yield f"{text:<{width}}  {where}{cell}:{step.where.row}"


def excerpt(finding: Finding, lines: Sequence[str], style: str = "") -> Iterator[Line]:
    """The lines of a finding as they stand in its file, the place underlined."""
    where, call = finding.where, finding.call
    rows = {where.row}
    if call and (call.path, call.cell) == (where.path, where.cell) and call.row < where.row:
        rows.add(call.row)
    width = max(5, len(str(where.row)) + 2)
    for row in sorted(row for row in rows if row <= len(lines)):
        yield (GUTTER, f"{row:>{width}} |"), ("", f" {printable(cut(lines[row - 1].rstrip()))}".rstrip())
    if where.row <= len(lines):
        caret = _caret(where, lines[where.row - 1].rstrip())
        yield from [((GUTTER, f"{'':>{width}} |"), (style, f" {caret}"))] if caret else []


def _caret(where: Span, line: str) -> str:
    first = where.column - 1
    last = where.end_column - 1 if where.end_row == where.row else len(line)
    if first >= min(len(line), LONGEST_LINE):
        return ""
    indent = "".join(character if character == "\t" else " " * _cells(character) for character in line[:first])
    return indent + "^" * max(sum(map(_cells, line[first : min(last, LONGEST_LINE)])), 1)


def _cells(character: str) -> int:
    """How many columns of a terminal one character takes."""
    if character.isascii():
        return 1
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def printable(text: str) -> str:
    """Source text must not move the cursor of the terminal that shows it, nor start a line of its own."""
    return "".join(each if each.isprintable() or each == "\t" else f"\\x{ord(each):02x}" for each in text)


def cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..."
