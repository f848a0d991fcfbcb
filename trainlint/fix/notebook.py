"""The bytes of a notebook and edits of its cells in, bytes out: no character changes but those of the edited cells.

The JSON is not written anew. A source that is a list of lines stays one, a string stays a string, and what is not
edited keeps its spelling, escapes included.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from json.decoder import JSONDecoder

from trainlint.finding import TextEdit
from trainlint.fix.text import ends
from trainlint.fix.tree import Unfixable

SPACE = re.compile(r"[ \t\n\r]*")
PIECE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\r\\n|\\.|[^\\\"]")
"""What one character of a text is spelled as in JSON; an end of a line is one character."""

ENDS = {"\\r\\n", "\\r", "\\n", "\\u000a", "\\u000A", "\\u000d", "\\u000D"}

DECODER = JSONDecoder()
Stretch = tuple[int, int]


@dataclass(frozen=True)
class Source:
    """Where the source of a cell stands in the JSON, and the pieces that spell each of its characters.

    ``between`` are the texts before the first string of a list, between two and after the last; None for a string.
    """

    stretch: Stretch
    pieces: tuple[str, ...]
    between: tuple[str, str, str] | None


def changed(data: bytes, edits: Iterable[TextEdit]) -> bytes:
    """The bytes of a notebook after these edits, none of which overlap.

    Raises:
        Unfixable: a cell is not found, or the file cannot be written back as it is.
    """
    encoding = json.detect_encoding(data)
    text = data.decode(encoding, "surrogatepass")
    if text.encode(encoding, "surrogatepass") != data:
        raise Unfixable("the file cannot be written back as it is")
    by_cell: dict[int | None, list[TextEdit]] = defaultdict(list)
    for edit in edits:
        by_cell[edit.where.cell].append(edit)
    found = dict(enumerate(_cells(text, 0), start=1))
    for cell in sorted((cell for cell in by_cell if cell is not None), reverse=True):
        if cell not in found:
            raise Unfixable("its cell is not there")
        source = _source(text, found[cell])
        start, end = source.stretch
        text = text[:start] + _written(source, by_cell[cell]) + text[end:]
    return text.encode(encoding, "surrogatepass")


def _entries(text: str, place: int) -> Iterator[tuple[str, Stretch]]:
    """The values of an object by their keys; nothing where there is no object."""
    place = _skip(text, place)
    if text[place : place + 1] != "{":
        return
    place = _skip(text, place + 1)
    while text[place] == '"':
        key, place = DECODER.raw_decode(text, place)
        start = _skip(text, _skip(text, place) + 1)
        end = _end(text, start)
        yield key, (start, end)
        place = _skip(text, end)
        place = _skip(text, place + 1) if text[place] == "," else place


def _items(text: str, place: int) -> Iterator[Stretch]:
    """The values of a list; nothing where there is no list."""
    if text[place : place + 1] != "[":
        return
    place = _skip(text, place + 1)
    while text[place] != "]":
        end = _end(text, place)
        yield place, end
        place = _skip(text, end)
        place = _skip(text, place + 1) if text[place] == "," else place


def _skip(text: str, place: int) -> int:
    found = SPACE.match(text, place)
    assert found is not None, "no space matches too"
    return found.end()


def _end(text: str, start: int) -> int:
    return DECODER.raw_decode(text, start)[1]


def _cells(text: str, place: int) -> Iterator[Stretch]:
    """All cells; the formats before 4 kept them on worksheets."""
    entries = dict(_entries(text, place))
    if "cells" in entries:
        yield from _items(text, entries["cells"][0])
        return
    for sheet in _items(text, entries["worksheets"][0]) if "worksheets" in entries else ():
        yield from _cells(text, sheet[0])


def _source(text: str, cell: Stretch) -> Source:
    entries = dict(_entries(text, cell[0]))
    start, end = entries.get("source") or entries.get("input") or (cell[0], cell[0])
    if text[start : start + 1] == '"':
        return Source((start, end), tuple(_pieces(text, start, end)), None)
    strings = list(_items(text, start))
    if not strings or any(text[each] != '"' for each, _ in strings):
        raise Unfixable("its cell is not there")
    first, last = strings[0], strings[-1]
    comma = text[first[1] : strings[1][0]] if len(strings) > 1 else "," + text[start + 1 : first[0]]
    pieces = tuple(piece for string in strings for piece in _pieces(text, *string))
    return Source((start, end), pieces, (text[start : first[0]], comma, text[last[1] : end]))


def _pieces(text: str, start: int, end: int) -> Iterator[str]:
    return (found[0] for found in PIECE.finditer(text, start + 1, end - 1))


def _written(source: Source, edits: Sequence[TextEdit]) -> str:
    """The source of a cell after these edits, in the form it had."""
    pieces = list(_edited(source.pieces, edits))
    if source.between is None:
        return f'"{"".join(pieces)}"'
    before, comma, after = source.between
    return before + comma.join(f'"{line}"' for line in _lines(pieces)) + after


def _edited(pieces: Sequence[str], edits: Sequence[TextEdit]) -> Iterator[str]:
    starts = [0, *(place for place, piece in enumerate(pieces, start=1) if piece in ENDS)]
    place = 0
    for edit in sorted(edits, key=lambda edit: edit.where):
        start, end = (starts[row - 1] + column - 1 if row <= len(starts) else len(pieces) for row, column in ends(edit))
        yield from pieces[place:start]
        spelled = json.dumps(edit.text)
        yield from _pieces(spelled, 0, len(spelled))
        place = end
    yield from pieces[place:]


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    line = ""
    for piece in pieces:
        line += piece
        if piece in ENDS:
            yield line
            line = ""
    if line:
        yield line
