"""Findings and the lines they stand in go in, what a comment silences comes out. Opens no file.

``# trainlint: ignore[...]`` covers its statement, or the next one when it stands alone; ``ignore-file[...]`` covers the
file, or the whole notebook. ``# noqa`` and ``# flake8: noqa`` mean here what they mean to flake8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from tokenize import TokenInfo

from trainlint.finding import Finding
from trainlint.record import record
from trainlint.regex import regex
from trainlint.selection import EVERYTHING, matches
from trainlint.span import Span
from trainlint.suppress.statements import Statement, statements

OWN = regex(r"#\s*trainlint:\s*(?P<words>ignore(?P<whole>-file)?\[(?P<selectors>[^\]]*)\])(?P<reason>[^#]*)")
CODES = r"(?P<selectors>(?:[A-Z]+[0-9]+(?:[,\s]+)?)+)"
NOQA = regex(rf"# (?P<words>noqa(?::\s?{CODES})?)(?P<reason>[^#]*)", re.IGNORECASE)
NOQA_FILE = regex(rf"# (?P<words>flake8[:=]\s*noqa(?::\s?{CODES})?)(?P<reason>[^#]*)", re.IGNORECASE)
WORD = regex(r"[^,\s](?:[^,]*[^,\s])?")
CODE = regex(r"[^,\s]+")


class Form(Enum):
    """Whose comment it is."""

    OWN = "trainlint"
    NOQA = "flake8"
    BLANKET = "flake8, for all rules"


@record
class Selector:
    """One rule, or some rules, as a comment names them."""

    text: str
    where: Span


@record
class Silence:
    """What one comment silences: the selectors, and the rows of one cell it covers; no rows are the whole file.

    ``where`` reaches from its # to the end of its reason, ``names`` holds the selectors.
    """

    where: Span
    form: Form
    words: str
    selectors: tuple[Selector, ...]
    names: Span
    reason: str
    rows: tuple[int, int] | None = None

    def holds(self, where: Span) -> bool:
        """Whether it covers what is found at a place of its file."""
        if self.rows is None:
            return where.path == self.where.path
        here = (where.path, where.cell) == (self.where.path, self.where.cell)
        return here and self.rows[0] <= where.row <= self.rows[1]

    def covers(self, finding: Finding) -> bool:
        """Whether it silences a finding; one about the comment itself only by a code or a name."""
        about_itself = finding.call is not None and _start(finding.call) == _start(self.where)
        selectors = (each.text for each in self.selectors if not (about_itself and each.text == EVERYTHING))
        return self.holds(finding.where) and any(matches(each, finding.code, finding.name) for each in selectors)


def _start(where: Span) -> tuple[str, int | None, int, int]:
    return where.path, where.cell, where.row, where.column


def silenced(findings: Iterable[Finding], silences: Callable[[str], Iterable[Silence]]) -> dict[Finding, str]:
    """The findings that a comment of their file silences, each with the reason that it gives."""
    covering = ((each, silence) for each in findings for silence in silences(each.where.path) if silence.covers(each))
    reasons: dict[Finding, str] = {}
    for finding, silence in covering:
        reasons[finding] = reasons.get(finding) or silence.reason
    return reasons


def silences(path: str, texts: Mapping[int | None, str]) -> tuple[Silence, ...]:
    """Every comment of a file that silences, once for each stretch of rows it covers; ``texts`` are by cell."""
    return tuple(each for cell, text in texts.items() if may_speak(text) for each in _of_text(path, text, cell))


def may_speak(text: str) -> bool:
    """Whether a text may hold a comment that is there to silence."""
    return "trainlint" in text or "noqa" in text.lower()


def stretch(path: str, cell: int | None, token: TokenInfo, start: int, end: int) -> Span:
    """Of a comment, the characters from one to another."""
    row, column = token.start
    return Span(path, row, column + start + 1, row, column + end + 1, cell)


def _of_text(path: str, text: str, cell: int | None) -> Iterator[Silence]:
    for statement in statements(text):
        for comment in statement.above:
            yield from _own(path, comment, (comment.start[0], statement.last), cell)
        for comment in statement.inside:
            yield from _own(path, comment, (statement.first, statement.last), cell)
            yield from _noqa(path, comment, statement, cell)


def _own(path: str, comment: TokenInfo, rows: tuple[int, int], cell: int | None) -> Iterator[Silence]:
    for match in OWN.finditer(comment.string):
        yield _silence(path, comment, match, Form.OWN, cell, None if match["whole"] else rows)


def _noqa(path: str, comment: TokenInfo, statement: Statement, cell: int | None) -> Iterator[Silence]:
    """No codes after "noqa" means all of them, as does anything that does not look like a code."""
    alone = not comment.line[: comment.start[1]].strip()
    whole_file = NOQA_FILE.match(comment.string) if alone else None
    match = whole_file or NOQA.search(comment.string)
    if match:
        form = Form.NOQA if match["selectors"] else Form.BLANKET
        yield _silence(path, comment, match, form, cell, None if whole_file else (statement.first, statement.last))


def _silence(
    path: str, comment: TokenInfo, match: re.Match[str], form: Form, cell: int | None, rows: tuple[int, int] | None
) -> Silence:
    start, end = match.span("selectors") if match["selectors"] is not None else (match.end("words"), match.end("words"))
    end = start + len(comment.string[start:end].rstrip(", ")) if form is Form.NOQA else end
    words = (WORD if form is Form.OWN else CODE).finditer(comment.string, start, end)
    selectors = tuple(Selector(each[0], stretch(path, cell, comment, *each.span())) for each in words)
    where = stretch(path, cell, comment, match.start(), match.start() + len(match[0].rstrip()))
    names = stretch(path, cell, comment, start, end)
    everything = (Selector(EVERYTHING, where),)
    said = selectors if form is not Form.BLANKET else everything
    return Silence(where, form, match["words"].rstrip(", "), said, names, match["reason"].strip(), rows)
