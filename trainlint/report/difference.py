"""What changed between two states, for people, for a review and for programs: a difference in, lines or text out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from trainlint import __version__
from trainlint.facts import Unjudged
from trainlint.finding import Finding, Severity
from trainlint.record import dataclass
from trainlint.report import filename, place, reason
from trainlint.report.resolution import VERDICTS, WIDTH
from trainlint.report.structured import VERSION, located
from trainlint.report.text import LABEL, STYLES, lined_up, place_of, printable
from trainlint.report.text import Line as Printed
from trainlint.span import Span
from trainlint.value import Step

NUMBERS = frozenset({"head", "skips", "blank"})
"""What is told beside a change though it stayed as it was: two numbers make a collision."""

WIDEST = 76
"""Characters of two values that stand on one line."""

LOST, GAINED = "bold red", "bold green"


@dataclass(frozen=True)
class Line:
    """One thing that is known of a site: its values then and now, and the lines of evidence on one side alone."""

    label: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    is_changed: bool
    lost: tuple[Step, ...] = ()
    gained: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Change:
    """A site that changed: its verdicts then and now, None where there was none or is none any more.

    ``new`` and ``gone`` are the findings on one side alone, ``unjudged`` why it stays open now and did not then.
    """

    where: Span
    title: str
    within: str
    before: str | None
    after: str | None
    lines: tuple[Line, ...]
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    unjudged: tuple[Unjudged, ...]

    @property
    def verdicts(self) -> str:
        if self.before == self.after:
            return f"{self.after}, as before"
        return f"{self.before or 'new'} -> {self.after or 'gone'}"

    @property
    def told(self) -> tuple[Line, ...]:
        """The lines that are worth reading."""
        return tuple(line for line in self.lines if line.is_changed or (line.label in NUMBERS and line.before))


@dataclass(frozen=True)
class Difference:
    """What changed since a revision: the sites, how many stayed, files that cannot be read now, and what fails."""

    revision: str
    changes: tuple[Change, ...] = ()
    same: int = 0
    unread: tuple[str, ...] = ()
    failing: int = 0

    @property
    def summary(self) -> str:
        counts = Counter(finding.severity for change in self.changes for finding in change.new)
        gone = sum(len(change.gone) for change in self.changes)
        levels = ", ".join(f"{counts[level]} {level.value}" for level in Severity if counts[level])
        parts = [f"{_count(len(self.changes), 'site')} changed since {self.revision}, {self.same} as before"]
        parts.append(f"{_count(counts.total(), 'new finding')}{f' ({levels})' if levels else ''}")
        parts += [f"{_count(gone, 'finding')} gone"] if gone else []
        parts += [f"{_count(len(self.unread), 'file')} that cannot be read any more"] if self.unread else []
        return "; ".join(parts)


def as_text(difference: Difference, folder: str) -> Iterator[Printed]:
    """Each site that changed: its verdicts, its findings, its values, and the lines behind what is different."""
    for change in difference.changes:
        yield from _told(change, folder)
        yield ()
    for why in difference.unread:
        yield (("", printable(why)),)
    yield ((LABEL, difference.summary),)


def as_markdown(difference: Difference, folder: str) -> str:
    """The same for a comment in a review."""
    lines = [f"**trainlint**: {difference.summary}", ""]
    for change in difference.changes:
        within = f" in `{change.within}`" if change.within else ""
        shown = place(change.where, folder).rpartition(":")[0]
        lines.append(f"- `{shown}` {change.title}{within}: **{change.verdicts}**")
        lines += [f"  - {_code(finding)} {_escaped(finding.message)}" for finding in change.new]
        lines += [f"  - gone: {_code(finding)} {_escaped(finding.message)}" for finding in change.gone]
        lines += [f"  - {line.label}: {_escaped(_values(line))}" for line in change.told]
        lines += [f"  - not judged: {_escaped(reason(each.why))}" for each in change.unjudged]
    lines += [f"- {_escaped(why)}" for why in difference.unread]
    return "\n".join(lines)


def as_json(difference: Difference, folder: str) -> str:
    """The same as one object; a place is what it is in the JSON of ``check``."""
    document = {
        "version": VERSION,
        "tool": f"trainlint {__version__}",
        "revision": difference.revision,
        "same": difference.same,
        "failing": difference.failing,
        "unread": list(difference.unread),
        "changes": [_object(change, folder) for change in difference.changes],
    }
    return json.dumps(document, indent=1)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _told(change: Change, folder: str) -> Iterator[Printed]:
    within = f" in {change.within}" if change.within else ""
    style = VERDICTS.get(change.after or "", LABEL)
    yield (*place_of(change.where, folder), ("", f"{change.title}{within}: "), (style, change.verdicts))
    for sign, findings in (("+", change.new), ("-", change.gone)):
        for finding in findings:
            head = f"{finding.severity.value} {finding.code}"
            yield ("", f"  {sign} "), (STYLES[finding.severity], head), ("", f" {printable(finding.message)}")
    for each in change.unjudged:
        why = printable(reason(each.why))
        yield ("", "  "), (VERDICTS["not judged"], "not judged"), ("", f" {each.question}: {why}")
    for line in change.told:
        yield from _line(line, folder)


def _line(line: Line, folder: str) -> Iterator[Printed]:
    values = _values(line)
    label = f"  {line.label:<{WIDTH}}"
    if len(values) <= WIDEST or not line.is_changed:
        yield (LABEL, label), ("", printable(values))
    else:
        yield (LABEL, label), ("", printable("; ".join(line.before)))
        yield (LABEL, f"  {'->':>{WIDTH - 2}}  "), ("", printable("; ".join(line.after)))
    if line.is_changed:
        signs = (*(("-", LOST) for _ in line.lost), *(("+", GAINED) for _ in line.gained))
        for (sign, style), text in zip(signs, lined_up((*line.lost, *line.gained), folder), strict=True):
            yield (LABEL, " " * (WIDTH + 4)), (style, sign), ("", f" {printable(text)}")


def _values(line: Line) -> str:
    before, after = "; ".join(line.before), "; ".join(line.after)
    if not line.is_changed:
        return f"{after or before}, as before"
    return f"{before or 'nothing'} -> {after or 'nothing'}"


def _code(finding: Finding) -> str:
    return f"{finding.severity.value} `{finding.code}`"


def _escaped(text: str) -> str:
    """Text of the code in a comment: no markup of its own, no line of its own, nobody called by name."""
    safe = printable(text)
    for sign in "\\`*_<>[]|#@":
        safe = safe.replace(sign, f"\\{sign}" if sign != "@" else "@\u200b")
    return safe


def _object(change: Change, folder: str) -> dict[str, object]:
    return {
        **located(change.where, folder),
        "what": change.title,
        "in": change.within,
        "before": change.before,
        "after": change.after,
        "new": [_finding(each) for each in change.new],
        "gone": [_finding(each) for each in change.gone],
        "unjudged": [{"what": each.question, "why": reason(each.why)} for each in change.unjudged],
        "values": {
            line.label: {
                "before": list(line.before),
                "after": list(line.after),
                "changed": line.is_changed,
                "lost": list(_chain(line.lost, folder)),
                "gained": list(_chain(line.gained, folder)),
            }
            for line in change.told
        },
    }


def _finding(finding: Finding) -> dict[str, str]:
    return {"code": finding.code, "severity": finding.severity.value, "message": finding.message}


def _chain(steps: Iterable[Step], folder: str) -> Iterator[dict[str, object]]:
    for step in steps:
        yield {"message": step.text, "filename": filename(step.where.path, folder), "row": step.where.row}
