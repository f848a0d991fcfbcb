"""JSON as data, with the place of each value: the standard library's reader forgets where it read."""

from __future__ import annotations

import re

from trainlint.record import dataclass, field
from trainlint.regex import regex
from trainlint.source.data.datum import DEEPEST, Broken, Datum, Mapping, Place, Scalar, Sequence, placed, text_of

LARGEST = 2 * 1024 * 1024
TOKEN = regex(r'[ \t\r\n]*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<sign>[{}\[\]:,])|(?P<word>[-+\w.]+))', re.DOTALL)
WORDS = {"true": True, "false": False, "null": None}
MOST_DIGITS = 1000


def parse(data: bytes) -> Datum:
    """The value of a JSON file."""
    if len(data) > LARGEST:
        raise Broken("it is larger than 2 MB")
    reader = _Reader(text_of(data))
    found = reader.value()
    if reader.text[reader.at :].strip():
        raise Broken("something stands behind its end", reader.row)
    return found


@dataclass
class _Reader:
    """A text and how far it was read; ``starts`` are the offsets at which its lines begin."""

    text: str
    at: int = 0
    row: int = 1
    start: int = 0
    around: int = 0
    place: Place = field(default_factory=Place)

    def token(self) -> tuple[str, str]:
        """The kind and the text of the next token; its place is kept."""
        found = TOKEN.match(self.text, self.at)
        if found is None:
            raise Broken("it is no JSON", self.row)
        kind = found.lastgroup or "sign"
        lead = found.start(kind)
        breaks = self.text.count("\n", self.at, lead)
        if breaks:
            self.row, self.start = self.row + breaks, self.text.rfind("\n", self.at, lead) + 1
        self.at = found.end()
        self.place = Place(self.row, lead - self.start + 1, self.row, self.at - self.start + 1)
        return kind, found[kind]

    def value(self) -> Datum:
        """The value that begins here."""
        return self._value(*self.token())

    def _value(self, kind: str, text: str) -> Datum:
        place = self.place
        match kind, text:
            case "text", _:
                return Scalar(_unquoted(text, place.row), place)
            case "word", _:
                return Scalar(_word(text, place.row), place)
            case "sign", "{" | "[":
                self.around += 1
                if self.around > DEEPEST:
                    raise Broken("it is nested too deep", place.row)
                found = Mapping(tuple(self._pairs()), place) if text == "{" else Sequence(tuple(self._items()), place)
                self.around -= 1
                return found
        raise Broken(f"{text} stands where a value was expected", place.row)

    def _items(self) -> list[Datum]:
        found: list[Datum] = []
        kind, text = self.token()
        while (kind, text) != ("sign", "]"):
            found.append(self._value(kind, text))
            if self._goes_on("]"):
                kind, text = self.token()
            else:
                break
        return found

    def _pairs(self) -> list[tuple[Scalar, Datum]]:
        found: list[tuple[Scalar, Datum]] = []
        kind, text = self.token()
        while (kind, text) != ("sign", "}"):
            if kind != "text":
                raise Broken(f"{text} stands where a key was expected", self.row)
            place = self.place
            name = Scalar(_unquoted(text, place.row), place)
            if self.token() != ("sign", ":"):
                raise Broken("a key has no colon", self.row)
            found.append((name, placed(self.value(), place)))
            if self._goes_on("}"):
                kind, text = self.token()
            else:
                break
        return found

    def _goes_on(self, end: str) -> bool:
        """Whether a comma follows, and not the end."""
        kind, text = self.token()
        if kind == "sign" and text in (",", end):
            return text == ","
        raise Broken(f"{text} stands where a comma was expected", self.row)


def _unquoted(text: str, row: int) -> str:
    import json

    try:
        found: object = json.loads(text, strict=False)
    except ValueError:
        raise Broken("a text holds what JSON does not know", row) from None
    return str(found)


def _word(text: str, row: int) -> int | float | bool | None:
    if text in WORDS:
        return WORDS[text]
    try:
        return int(text) if re.fullmatch(rf"-?\d{{1,{MOST_DIGITS}}}", text) else float(text)
    except ValueError:
        raise Broken(f"{text} is no value", row) from None
