"""Columns of text: names and rows in, lines out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainlint.report.text import LABEL, Line, printable


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Line]:
    """The rows under their names; numbers stand to the right, words to the left.

    >>> for line in table(("loss", "rows"), [("train.py:3", "1,024"), ("eval.py:10", "7")]):
    ...     print("".join(text for _, text in line).rstrip())
    loss         rows
    train.py:3  1,024
    eval.py:10      7
    """
    if not rows:
        return
    numeric = [
        all(row[column][:1].isdigit() or row[column] in {"", "-"} for row in rows) for column in range(len(names))
    ]
    widths = [max(len(line[column]) for line in (names, *rows)) for column in range(len(names))]
    for style, cells in ((LABEL, names), *(("", row) for row in rows)):
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        ]
        yield ((style, printable("  ".join(padded).rstrip())),)
