"""Comments that silence: findings and the lines they stand in go in, what is still reported and what is not comes out.

Opens no file. ``# trainlint: ignore[...]`` covers its statement, or the next one when it stands alone;
``ignore-file[...]`` covers the file, or the whole notebook. ``# noqa`` and ``# flake8: noqa`` mean here what they mean
to flake8.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from trainlint.finding import Finding
from trainlint.selection import EVERYTHING, matches

OWN = re.compile(r"#\s*trainlint:\s*ignore(?P<whole>-file)?\[(?P<selectors>[^\]]*)\]")
CODES = r"(?P<codes>(?:[A-Z]+[0-9]+(?:[,\s]+)?)+)"
NOQA = re.compile(rf"# noqa(?::\s?{CODES})?", re.IGNORECASE)
NOQA_FILE = re.compile(rf"\s*# flake8[:=]\s*noqa(?::\s?{CODES})?", re.IGNORECASE)


@dataclass(frozen=True)
class Silence:
    """What one comment silences: the selectors, and the rows of one cell it covers; no rows are the whole file."""

    selectors: tuple[str, ...]
    rows: tuple[int, int] | None = None
    cell: int | None = None

    def covers(self, finding: Finding) -> bool:
        where = finding.where
        if self.rows and not (where.cell == self.cell and self.rows[0] <= where.row <= self.rows[1]):
            return False
        return any(matches(selector, finding.code, finding.name) for selector in self.selectors)


@dataclass(frozen=True)
class Statement:
    """One logical line: its rows, the comments in it, and the comments that stand alone right above it."""

    first: int
    last: int
    inside: tuple[tokenize.TokenInfo, ...]
    above: tuple[tokenize.TokenInfo, ...]


def silenced(findings: Iterable[Finding], texts: Callable[[str], Mapping[int | None, str]]) -> set[Finding]:
    """The findings that a comment of their file silences; ``texts`` gives a file's text, by cell in a notebook."""
    silences = cache(lambda path: tuple(each for cell, text in texts(path).items() for each in _silences(text, cell)))
    return {finding for finding in findings if any(silence.covers(finding) for silence in silences(finding.where.path))}


def _silences(text: str, cell: int | None) -> Iterator[Silence]:
    if "trainlint:" not in text and "noqa" not in text.lower():
        return
    for statement in _statements(text):
        rows = statement.first, statement.last
        for comment in statement.above:
            yield from _own(comment.string, rows, cell)
        for comment in statement.inside:
            yield from _own(comment.string, rows, cell)
            yield from _noqa(comment, rows, cell)


def _own(comment: str, rows: tuple[int, int], cell: int | None) -> Iterator[Silence]:
    for match in OWN.finditer(comment):
        selectors = tuple(each.strip() for each in match["selectors"].split(",") if each.strip())
        yield Silence(selectors) if match["whole"] else Silence(selectors, rows, cell)


def _noqa(comment: tokenize.TokenInfo, rows: tuple[int, int], cell: int | None) -> Iterator[Silence]:
    whole_file = NOQA_FILE.match(comment.line)
    if whole_file:
        yield Silence(_codes(whole_file))
    elif match := NOQA.search(comment.string):
        yield Silence(_codes(match), rows, cell)


def _codes(match: re.Match[str]) -> tuple[str, ...]:
    """No codes after "noqa" means all of them, as does anything that does not look like a code."""
    return tuple(re.findall(r"[^,\s]+", match["codes"])) if match["codes"] else (EVERYTHING,)


def _statements(text: str) -> Iterator[Statement]:
    """The logical lines, comments between them counting as one each; stops where the text is no longer Python."""
    tokens: list[tokenize.TokenInfo] = []
    above: list[tokenize.TokenInfo] = []
    for token in _tokens(text):
        if token.type in {tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}:
            continue
        tokens.append(token)
        if token.type not in {tokenize.NEWLINE, tokenize.NL}:
            continue
        if token.type == tokenize.NL and any(each.type not in {tokenize.COMMENT, tokenize.NL} for each in tokens):
            continue
        comments = tuple(each for each in tokens if each.type == tokenize.COMMENT)
        first, last = tokens[0].start[0], tokens[-1].start[0]
        joined = tuple(above) if above and above[-1].start[0] == first - 1 else ()
        if token.type == tokenize.NEWLINE:
            yield Statement(first, last, comments, joined)
            above = []
        else:
            yield Statement(first, last, comments, ())
            above = [*joined, *comments]
        tokens = []


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (tokenize.TokenError, SyntaxError):
        return
