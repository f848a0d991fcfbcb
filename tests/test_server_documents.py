"""The text of a document after any changes is what the protocol says it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from trainlint.server.documents import Document, split
from trainlint.server.places import UTF_8, UTF_16, UTF_32, characters, units

TEXT = st.text(st.sampled_from("ab \n\r\x0c\u2028é日😀"), max_size=12)
PLACE = st.tuples(st.integers(0, 9), st.integers(0, 9))
ENCODING = st.sampled_from([UTF_8, UTF_16, UTF_32])


def offset(text: str, line: int, character: int, encoding: str) -> int:
    """Where a place is in a text, found one character after the other."""
    at, row = 0, 0
    while row < line and at < len(text):
        at += 2 if text[at : at + 2] == "\r\n" else 1
        row += text[at - 1] in "\r\n"
    left = character if row == line else 99
    while at < len(text) and text[at] not in "\r\n" and units(text[at], encoding) <= left:
        left -= units(text[at], encoding)
        at += 1
    return at


@given(TEXT, st.lists(st.tuples(PLACE, PLACE, TEXT), max_size=4), ENCODING)
def test_changes_one_after_the_other(
    text: str, changes: list[tuple[tuple[int, int], tuple[int, int], str]], encoding: str
) -> None:
    document = Document("file:///a.py", "/a.py", "python", 1, split(text))
    for first, last, new in changes:
        start, end = sorted((first, last))
        places = types.Range(types.Position(*start), types.Position(*end))
        document.change(types.TextDocumentContentChangePartial(places, new), encoding)
        text = text[: offset(text, *start, encoding)] + new + text[offset(text, *end, encoding) :]
        assert "".join(document.lines) == text
        assert document.lines == split(text)


@given(st.text(st.sampled_from("aé日😀"), max_size=6), ENCODING)
def test_units_and_characters_are_each_other_s_inverse(text: str, encoding: str) -> None:
    for count in range(len(text) + 1):
        assert characters(text, units(text[:count], encoding), encoding) == count
