"""A function and its rows in, the rows out that read otherwise without comments.

A comment in the rows of one statement may be quoted with it. Between statements and behind them nobody meets one, who
does not look through all of the text: so one that is typed there leaves the code as it was, and so does an empty row.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence


def uncommented(rows: Sequence[str], block: Iterable[ast.stmt]) -> Mapping[int, str]:
    """What rows between the statements of a block say without comments, and rows in which one ends, by their number."""
    taken: set[int] = set()
    found: dict[int, str] = {}
    waiting = list(block)
    first, last = waiting[0].lineno, waiting[-1].end_lineno or 0
    for statement in waiting:
        start, end, inner = _taken(statement)
        taken.update(range(start, end + 1))
        waiting += inner
        if not inner and not hasattr(statement, "body") and not hasattr(statement, "cases"):
            row = rows[end - 1].encode(errors="replace")
            if row[statement.end_col_offset :].lstrip().startswith(b"#"):
                found[end] = row[: statement.end_col_offset].decode(errors="replace")
    for number in range(first, last + 1):
        if number not in taken and rows[number - 1].lstrip()[:1] in ("", "#"):
            found[number] = ""
    return found


def _taken(statement: ast.stmt) -> tuple[int, int, Sequence[ast.stmt]]:
    """The rows of a statement whose comments may be quoted, from the first to the last, and the statements beside."""
    start, end = statement.lineno, statement.end_lineno or statement.lineno
    match statement:
        case ast.If(test=head) | ast.While(test=head) | ast.For(iter=head):
            return start, head.end_lineno or start, [*statement.body, *statement.orelse]
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body):
            inner, _ = beginning(body[0])
            # Of a function or class its first row is quoted, with all that stands there.
            if inner > statement.lineno:
                return beginning(statement)[0], inner - 1, body
    return start, end, ()


def beginning(node: ast.stmt) -> tuple[int, int]:
    """Where a statement starts, its decorators included: that is where its first line starts."""
    first = min((each.lineno for each in getattr(node, "decorator_list", ())), default=node.lineno)
    return (first, 0) if first < node.lineno else (node.lineno, node.col_offset)
