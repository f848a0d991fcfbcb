"""The text of a file or a cell in, its logical lines out, each with its comments."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from functools import cached_property
from tokenize import TokenInfo

from trainlint.record import record


@record
class Statement:
    """One logical line: its rows, the comments in it, and the comments that stand alone right above it.

    A comment between statements is one of its own.
    """

    first: int
    last: int
    inside: tuple[TokenInfo, ...]
    above: tuple[TokenInfo, ...]
    tokens: tuple[TokenInfo, ...] = ()

    @cached_property
    def is_comment(self) -> bool:
        return all(token.type in {tokenize.COMMENT, tokenize.NL} for token in self.tokens)

    @cached_property
    def sealed(self) -> frozenset[int]:
        """The rows that end inside a string: what is written behind them belongs to it."""
        rows: set[int] = set()
        opened: list[int] = []
        for token in self.tokens:
            kind = tokenize.tok_name[token.type]
            if kind in {"FSTRING_START", "TSTRING_START"}:
                opened.append(token.start[0])
            elif kind in {"FSTRING_END", "TSTRING_END"} and opened:
                rows |= set(range(opened.pop(), token.end[0]))
            elif kind == "STRING":
                rows |= set(range(token.start[0], token.end[0]))
        return frozenset(rows)


def statements(text: str) -> Iterator[Statement]:
    """The logical lines, comments between them counting as one each; stops where the text is no longer Python."""
    tokens: list[TokenInfo] = []
    above: list[TokenInfo] = []
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
            yield Statement(first, last, comments, joined, tuple(tokens))
            above = []
        else:
            yield Statement(first, last, comments, (), tuple(tokens))
            above = [*joined, *comments]
        tokens = []


def _tokens(text: str) -> Iterator[TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (tokenize.TokenError, SyntaxError):
        return
