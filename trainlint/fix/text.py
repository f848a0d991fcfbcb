"""Edits put into the bytes of a file, or into a text: everything beside them stays as it is, the ends of lines too."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Callable, Iterable

from trainlint.finding import TextEdit
from trainlint.fix.tree import Unfixable
from trainlint.span import Span

END = re.compile(r"\r\n|\r|\n")


def changed(data: bytes, edits: Iterable[TextEdit]) -> bytes:
    """The bytes of a Python file after these edits, none of which overlap.

    Raises:
        Unfixable: the file cannot be written in the encoding that it declares.
    """
    encoding = _encoding(data)
    head = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        text = data[len(head) :].decode(encoding)
        result = head + edited(text, edits).encode(encoding)
    except UnicodeError as error:
        raise Unfixable(f"the text cannot be written in {encoding}") from error
    if head + text.encode(encoding) != data:
        raise Unfixable(f"in {encoding} the file cannot be written back as it is")
    return result


def _encoding(data: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise Unfixable("its encoding is not known") from error
    return "utf-8" if encoding == "utf-8-sig" else encoding


def edited(text: str, edits: Iterable[TextEdit]) -> str:
    """A text after these edits; what they add ends its lines as the text does.

    >>> edited("a\\r\\nb\\r\\n", [TextEdit(Span("", 2, 1, 2, 2), "c\\nd")])
    'a\\r\\nc\\r\\nd\\r\\n'
    """
    found = END.search(text)
    newline = found[0] if found else "\n"
    offset = offsets(text)
    pieces, place = [], 0
    for edit in sorted(edits, key=lambda edit: edit.where):
        start, end = (offset(*each) for each in ends(edit))
        pieces += [text[place:start], edit.text.replace("\n", newline)]
        place = end
    return "".join([*pieces, text[place:]])


def ends(edit: TextEdit) -> tuple[tuple[int, int], tuple[int, int]]:
    where = edit.where
    return (where.row, where.column), (where.end_row, where.end_column)


def offsets(text: str) -> Callable[[int, int], int]:
    """The offset of a row and a column in a text."""
    starts = [0, *(found.end() for found in END.finditer(text))]

    def offset(row: int, column: int) -> int:
        return starts[row - 1] + column - 1 if row <= len(starts) else len(text)

    return offset


def overlap(first: TextEdit, second: TextEdit) -> bool:
    """Whether two edits of one text touch the same stretch, or both put something at one place.

    Lines that are added touch nothing.
    """
    if first.where.cell != second.where.cell or (_is_line(first) and _is_line(second)):
        return False
    (start, end), (other, other_end) = ends(first), ends(second)
    return start == other or (start < other_end and other < end)


def _is_line(edit: TextEdit) -> bool:
    return edit.where.column == 1 and ends(edit)[0] == ends(edit)[1] and edit.text.endswith("\n")


def moved(text: str, edits: Iterable[TextEdit], where: Span) -> Span:
    """Where a stretch of a text is after these edits, with all that is put at its ends.

    >>> moved("f(x)", [TextEdit(Span("", 1, 3, 1, 3), "g(")], Span("", 1, 3, 1, 4)).end_column
    6
    """
    changes = list(edits)
    offset = offsets(text)
    start, end = offset(where.row, where.column), offset(where.end_row, where.end_column)
    first, last = start, end
    for edit in changes:
        begins, stops = (offset(*each) for each in ends(edit))
        grown = len(edit.text) - (stops - begins)
        if begins < start:
            first += grown if stops <= start else begins - start
        if begins <= end:
            last += grown if stops <= end else len(edit.text) - (end - begins)
    place = _places(edited(text, changes))
    return Span(where.path, *place(first), *place(max(first, last)), where.cell)


def _places(text: str) -> Callable[[int], tuple[int, int]]:
    """The row and the column of an offset in a text."""
    starts = [0, *(found.end() for found in END.finditer(text))]

    def place(offset: int) -> tuple[int, int]:
        row = bisect_right(starts, offset)
        return row, offset - starts[row - 1] + 1

    return place
