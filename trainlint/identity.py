"""What makes a finding the same one tomorrow: findings and the text they stand in go in, one identity each comes out.

No part of an identity knows a line number, a cell number or the layout of the code, so it survives what is added
around it and what a formatter does to it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from trainlint.finding import Finding, Severity
from trainlint.record import record, replace
from trainlint.regex import regex
from trainlint.span import Span

LONGEST_STATEMENT = 20
"""Rows that a call may take; what is longer is a block, and most changes in it do not concern the finding."""

TOKEN = regex(
    r"""
    (?P<comment> \#[^\n]*)
    | (?P<space> (?:\s|\\\r?\n)+)
    | (?P<string> (?i:[a-z]{0,2}) (?:
        \"{3}(?:\\.|[^\\])*?\"{3} | '{3}(?:\\.|[^\\])*?'{3} | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'))
    | (?P<word> \w+)
    | (?P<sign> .)
    """,
    re.VERBOSE | re.DOTALL,
)
"""Python, near enough for comparing a text with itself; what ``tokenize`` makes of a string depends on the version."""

WORDS = frozenset({"word", "string"})
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
BEFORE_VALUE = frozenset({"", "=", ",", ":", "(", "[", "{", "return"})
AFTER_VALUE = frozenset(",:=)]}")
PLAIN = regex(r"'([^'\"\\]*)'")
ORIGIN = regex(r"@\S+")


@record
class Identity:
    """Two findings with the same identity are the same finding.

    ``file`` is relative, ``within`` the definitions around the place, ``text`` what stands there, ``distinct`` what
    tells it from another finding at the same words (Finding.distinct), ``nth`` counts where all these agree.
    """

    code: str
    file: str
    within: str
    text: str
    distinct: tuple[str, ...] = ()
    nth: int = 1

    @property
    def fingerprint(self) -> str:
        """The identity as one short word."""
        parts = (self.code, self.file, self.within, self.text, str(self.nth), *self.distinct)
        import hashlib

        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


@record
class Entry:
    """A finding as a baseline has it written down: which one, how bad it was, what it said, and where that stands."""

    identity: Identity
    severity: Severity
    message: str
    where: Span

    @property
    def title(self) -> str:
        """Which finding it is, for its reader."""
        within = f" in {self.identity.within}" if self.identity.within else ""
        nth = f" (no. {self.identity.nth})" if self.identity.nth > 1 else ""
        return f"{self.identity.code} of {self.identity.file}{within}: {self.identity.text}{nth}"


@record
class Surroundings:
    """What places are looked up in: how a path is named, the lines of the file or cell of a place, and the definitions
    around it.
    """

    file: Callable[[str], str]
    lines: Callable[[Span], Sequence[str]]
    within: Callable[[Span], str]

    def text(self, span: Span) -> str:
        """What stands at a place, a comment too; of a block, and of a place without a width, the first line."""
        stretch = _stretch(span, self.lines(span))
        return plain(stretch) or " ".join(stretch.split())


class Identities(Mapping[Finding, Identity]):
    """The identities of findings, worked out when somebody asks: for that their files are read once more."""

    def __init__(self, work: Callable[[], Mapping[Finding, Identity]]) -> None:
        self._work = cache(work)

    def __getitem__(self, finding: Finding) -> Identity:
        return self._work()[finding]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._work())

    def __len__(self) -> int:
        return len(self._work())


def identities(findings: Iterable[Finding], around: Surroundings) -> Mapping[Finding, Identity]:
    """The identity of each of these findings, which are all of their files; equal ones are counted by place."""
    found: dict[Finding, Identity] = {}
    seen: Counter[Identity] = Counter()
    for finding in sorted(findings, key=lambda each: (each.where, each.code)):
        distinct = tuple(sorted({ORIGIN.sub("", each) for each in finding.distinct}))
        file, within = around.file(finding.where.path), around.within(finding.where)
        first = Identity(finding.code, file, within, around.text(_told(finding)), distinct)
        seen[first] += 1
        found[finding] = replace(first, nth=seen[first])
    return found


def plain(code: str) -> str:
    """A piece of code without comments and layout, with one kind of quotes and without brackets for layout alone.

    >>> plain("F.cross_entropy(\\n    logits,  # (N, C)\\n    reduction = 'sum',\\n)")
    'F.cross_entropy(logits, reduction="sum")'
    >>> plain("a if b else -1") == plain("a  if b  else - 1")
    True
    >>> plain("best = (\\n    loss, model,\\n)"), plain("decay * (1 - rate)"), plain("f((a, b))")
    ('best=loss, model', 'decay*(1-rate)', 'f((a, b))')
    """
    tokens = [token for token in TOKEN.finditer(code) if token.lastgroup not in {"comment", "space"}]
    pieces: list[str] = []
    before = ""
    for kind, text in _without_layout([(token.lastgroup or "", token[0]) for token in tokens]):
        spaced = kind in WORDS and before in WORDS
        pieces.append(f"{' ' * spaced}{text}{' ' * (text == ',')}")
        before = kind
    return "".join(pieces).strip()


def _without_layout(tokens: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The tokens without what a formatter adds and removes."""
    spare = _spare(["" if kind == "string" else text for kind, text in tokens])
    for place, (kind, text) in enumerate(tokens):
        if place not in spare:
            quoted = PLAIN.fullmatch(text) if kind == "string" else None
            yield kind, f'"{quoted[1]}"' if quoted else text


def _spare(signs: Sequence[str]) -> set[int]:
    """The places of brackets around a whole value, and of commas in front of a closing bracket."""
    spare = {place for place, sign in enumerate(signs[1:]) if sign in CLOSING and signs[place] == ","}
    opened: list[int] = []
    split: set[int] = set()
    for place, sign in enumerate(signs):
        if sign in OPENING:
            opened.append(place)
        elif sign == "," and opened and place not in spare:
            split.add(opened[-1])
        elif sign in CLOSING and opened:
            start = opened.pop()
            before, after = signs[start - 1] if start else "", signs[place + 1] if place + 1 < len(signs) else ""
            alone = before in BEFORE_VALUE and (not after or after in AFTER_VALUE)
            if sign == ")" and alone and (start not in split or before == "="):
                spare |= {start, place}
    return spare


def _told(finding: Finding) -> Span:
    """The place that tells which finding it is: its call, if that is a statement around its own place."""
    where, call = finding.where, finding.call
    if call is None or (call.path, call.cell) != (where.path, where.cell):
        return where
    start, end = (where.row, where.column), (where.end_row, where.end_column)
    around = (call.row, call.column) <= start and end <= (call.end_row, call.end_column)
    return call if around and call.end_row - call.row < LONGEST_STATEMENT else where


def _stretch(span: Span, lines: Sequence[str]) -> str:
    rows = lines[span.row - 1 : span.end_row]
    if not rows:
        return ""
    if len(rows) > LONGEST_STATEMENT or (span.row, span.column) == (span.end_row, span.end_column):
        return rows[0]
    first, last = span.column - 1, span.end_column - 1
    if len(rows) == 1:
        return rows[0][first:last]
    return "".join((f"{rows[0][first:]}\n", *(f"{row}\n" for row in rows[1:-1]), rows[-1][:last]))
