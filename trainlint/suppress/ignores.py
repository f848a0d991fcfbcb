"""Findings and the text they stand in go in; edits that write a comment for each come out. Opens no file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trainlint.finding import Finding, TextEdit
from trainlint.record import record
from trainlint.regex import regex
from trainlint.span import Span
from trainlint.suppress.silences import Form, Silence
from trainlint.suppress.statements import Statement, statements

WIDEST = 120
"""Columns beyond which a comment goes to a line of its own, if it may."""

ALONE = regex(r"#\s*(?:fmt|yapf|isort)\s*:")
"""A comment for a formatter, which must stand alone."""


@record
class Cell:
    """The rows of a file or of a cell as they are written, and as Python reads them."""

    path: str
    number: int | None
    rows: Sequence[str]
    code: Sequence[str]

    def span(self, row: int, column: int, end: int | None = None) -> Span:
        return Span(self.path, row, column, row, end or column, self.number)

    def is_plain(self, row: int) -> bool:
        """Whether Python reads a row as it is written: a command of IPython takes a comment for one of its words."""
        return row <= len(self.code) and self.rows[row - 1].rstrip() == self.code[row - 1].rstrip()


def ignores(
    findings: Iterable[Finding],
    lines: Mapping[int | None, Sequence[str]],
    code: Mapping[int | None, str],
    silences: Sequence[Silence],
    reason: str,
) -> Iterator[TextEdit]:
    """The edits of one file after which comments silence these findings: one comment for each statement."""
    by_cell: dict[int | None, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_cell[finding.where.cell].append(finding)
    for number, each in by_cell.items():
        rows = [row.rstrip("\r\n") for row in lines.get(number, ())]
        cell = Cell(each[0].where.path, number, rows, code.get(number, "").split("\n"))
        found = [(finding, statement) for finding in each if (statement := _around(finding, code.get(number, "")))]
        by_statement: dict[tuple[int, int], list[Finding]] = defaultdict(list)
        of = {(statement.first, statement.last): statement for _, statement in found}
        for finding, statement in found:
            by_statement[statement.first, statement.last].append(finding)
        for place, together in by_statement.items():
            yield _ignore(together, of[place], cell, silences, reason)


def _around(finding: Finding, text: str) -> Statement | None:
    row = finding.where.row
    return next((each for each in statements(text) if not each.is_comment and each.first <= row <= each.last), None)


def _ignore(
    findings: Sequence[Finding], statement: Statement, cell: Cell, silences: Sequence[Silence], reason: str
) -> TextEdit:
    codes = list(dict.fromkeys(sorted(finding.code for finding in findings)))
    known = next((each for each in silences if _is_of(each, statement, cell)), None)
    if known:
        names = [selector.text for selector in known.selectors]
        return TextEdit(known.names, ", ".join([*names, *(code for code in codes if code not in names)]))
    comment = f"# trainlint: ignore[{', '.join(codes)}] {reason}".rstrip()
    row = findings[0].where.row
    place = next((each for each in (row, statement.last) if _may_take(each, comment, statement, cell)), None)
    if place is not None:
        return _behind(place, comment, cell)
    first = cell.rows[statement.first - 1]
    indent = first[: len(first) - len(first.lstrip())]
    return TextEdit(cell.span(statement.first, 1), f"{indent}{comment}\n")


def _is_of(silence: Silence, statement: Statement, cell: Cell) -> bool:
    """Whether a comment silences this very statement by names of ours."""
    if silence.form is not Form.OWN or silence.rows is None or silence.where.cell != cell.number:
        return False
    return silence.rows[1] == statement.last and silence.rows[0] <= statement.first


def _may_take(row: int, comment: str, statement: Statement, cell: Cell) -> bool:
    """Whether a comment may stand behind a row and is then read as one."""
    text = cell.rows[row - 1]
    beside = [each.string for each in statement.inside if each.start[0] == row]
    continued = text.rstrip().endswith("\\") and not beside
    if row in statement.sealed or continued or not cell.is_plain(row) or any(map(ALONE.match, beside)):
        return False
    return len(text.rstrip()) + 2 + len(comment) <= WIDEST


def _behind(row: int, comment: str, cell: Cell) -> TextEdit:
    text = cell.rows[row - 1]
    end = len(text.rstrip())
    return TextEdit(cell.span(row, end + 1, len(text) + 1), f"  {comment}")
