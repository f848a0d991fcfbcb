"""For rule packs too: a fixture is a small project that says what it expects, on the line where it expects it.

A folder goes in, marks come out: those that its comments state, and those that linting it reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from trainlint.check import Request, check
from trainlint.config import Layer
from trainlint.finding import Finding, Severity
from trainlint.regex import regex
from trainlint.rule import installed
from trainlint.source import cells
from trainlint.source.text import NOTEBOOK

LEVELS = {"expect": Severity.ERROR, "warn": Severity.WARNING, "note": Severity.NOTE}

MARK = regex(rf"# (?P<level>{'|'.join(LEVELS)}): (?P<code>[A-Z]+\d+)\b")

QUIET = regex(r"# quiet: (?P<code>[A-Z]+\d+) (?P<reason>\S.*)")
"""A remark of a good twin: this line looks like the bug, and here is why it is none."""


class Mark(NamedTuple):
    """One finding as a fixture's comment states it, or as a finding reads in the same form."""

    file: str
    row: int
    code: str
    severity: Severity
    cell: int | None = None


def marks(file: str, text: str, cell: int | None = None) -> Iterator[Mark]:
    """The marks written in one file, or in one cell of a notebook.

    >>> [str(mark.severity.value) for mark in marks("train.py", "x = 1\\nloss(x)  # expect: TL101  # note: TL102")]
    ['error', 'note']
    """
    for row, line in enumerate(text.splitlines(), start=1):
        for mark in MARK.finditer(line):
            yield Mark(file, row, mark["code"], LEVELS[mark["level"]], cell)


def expected(folder: Path) -> set[Mark]:
    """Every mark in the Python files and notebooks of a fixture; paths are relative to the fixture."""
    return {mark for file, cell, text in texts(folder) for mark in marks(file, text, cell)}


def quiet(folder: Path, code: str) -> list[str]:
    """Why the fixture says that lines which look like this bug are none."""
    remarks = (remark for _, _, text in texts(folder) for remark in QUIET.finditer(text))
    return [remark["reason"] for remark in remarks if remark["code"] == code]


def reported(folder: Path, findings: Iterable[Finding]) -> set[Mark]:
    """Findings in the form of marks."""
    root = folder.resolve()
    return {
        Mark(Path(where.path).relative_to(root).as_posix(), where.row, finding.code, finding.severity, where.cell)
        for finding in findings
        for where in (finding.where,)
    }


def findings(folder: Path) -> list[Finding]:
    """What checking a folder as a project of its own reports; the rule it lies under runs, even one that is off."""
    root, rule = str(folder.resolve()), folder.resolve().parent.name.replace("_", "-")
    named = any(rule == each.name for each in installed().values())
    layers = (Layer("the fixture's folder", root, {"extend-select": [rule]}),) if named else ()
    return list(check(Request((root,), root, layers, isolated=True)).findings)


def sources(folder: Path) -> list[Path]:
    """The Python files of a fixture, sorted."""
    return sorted(folder.rglob("*.py"))


def texts(folder: Path) -> Iterator[tuple[str, int | None, str]]:
    """What the Python files of a fixture and the cells of its notebooks say: file, cell, and text."""
    for file in sources(folder):
        yield file.relative_to(folder).as_posix(), None, file.read_text()
    for file in sorted(folder.rglob(f"*{NOTEBOOK}")):
        for cell in cells(str(file)):
            yield file.relative_to(folder).as_posix(), cell.number, "\n".join(cell.rows)
