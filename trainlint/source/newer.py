"""Which newer Python reads a text that this one cannot: newer words are written the old way, and it is read again."""

from __future__ import annotations

import re
import sys

from trainlint.regex import regex
from trainlint.source.syntax import is_readable

TYPE_PARAMETERS = (
    r"^([ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+|[ \t]*type[ \t]+\w+)[ \t]*\[(?:{inner}|\[[^\[\]]*\])+\]"
)

OLDER: tuple[tuple[tuple[int, int], tuple[tuple[str, str], ...]], ...] = (
    ((3, 11), ((r"^([ \t]*except)[ \t]*\*", r"\1 "), (r"\[[ \t]*\*", "["), (r"(\*\w+[ \t]*:[ \t]*)\*", r"\1"))),
    ((3, 12), ((TYPE_PARAMETERS.format(inner=r"[^\[\]=]"), r"\1"), (r"^([ \t]*)type[ \t]+(\w+[ \t]*=)", r"\1\2"))),
    ((3, 13), ((TYPE_PARAMETERS.format(inner=r"[^\[\]]"), r"\1"), (r"^([ \t]*)type[ \t]+(\w+[ \t]*=)", r"\1\2"))),
    ((3, 14), ((r"\b(?:[tT][rR]?|[rR][tT])(?=[\"'])", ""),)),
)
"""By version: what a newer word looks like, and how the same statement is written without it."""

STRING = r"(?:\b([rRbBuUfF]{1,2}))?(\"\"\"|\'\'\'|\"|\')"
OUTSIDE = regex(rf"#[^\n]*|{STRING}")
INSIDE = regex(rf"#[^\n]*|{STRING}|[{{}}]")
LITERAL = {quote: regex(rf"\\N\{{[^}}]*\}}|\\[^{{]|\{{\{{|\{{|{quote}") for quote in ('"""', "'''", '"', "'")}
PLAIN = {quote: regex(rf"(?:\\.|(?!{quote})[^\\])*{quote}", re.DOTALL) for quote in LITERAL}
LONGEST = 1_000_000
"""A longer text is not read again and again to find out."""

DEEPEST, MOST_ENDS = 10, 20
"""F-strings inside f-strings, and places where the expression between two braces may end."""

FORMATTED = (3, 12)
"""Since then the expressions of an f-string may hold its own quotes, backslashes, line breaks and comments."""


def needs(text: str) -> str | None:
    """The first version above this one that reads the text, as far as the words it is known to add tell."""
    for version, words in OLDER if len(text) <= LONGEST else ():
        if version <= sys.version_info[:2]:
            continue
        before = text
        for pattern, old in words:
            text = re.sub(pattern, old, text, flags=re.MULTILINE)
        if version == FORMATTED:
            text = _without_formatted(text)
        if text != before and is_readable(text):
            return ".".join(map(str, version))
    return None


def _without_formatted(text: str, depth: int = 0) -> str:
    """The text with an empty string in place of each f-string that only a newer Python reads."""
    kept, start = [], 0
    while found := OUTSIDE.search(text, start):
        end, expressions = _literal(text, found)
        literal = text[found.start() : end]
        is_new = bool(expressions) and depth < DEEPEST and not is_readable(literal)
        is_new = is_new and all(_is_expression(each, depth + 1) for each in expressions)
        kept += [text[start : found.start()], '""' if is_new else literal]
        start = end
    return "".join([*kept, text[start:]])


def _is_expression(text: str, depth: int) -> bool:
    """Does this stand between the braces of an f-string, conversion and format included?"""
    text = _without_formatted(text, depth)
    ends = [*(found.start() for found in re.finditer("[:!=]", text)), len(text)][:MOST_ENDS]
    return any(text[:end].strip() and is_readable(f"(\n{text[:end]}\n)") for end in ends)


def _literal(text: str, found: re.Match[str]) -> tuple[int, list[str]]:
    """Where the comment or string that starts here ends by the newer reading, and the expressions in an f-string."""
    quote = found[2]
    if quote is None:
        return found.end(), []
    if not _is_formatted(found):
        closing = PLAIN[quote].match(text, found.end())
        return closing.end() if closing else len(text), []
    opened, starts, expressions, place = [quote], [0], [], found.end()
    while opened:
        inside = opened[-1] == "{"
        piece = (INSIDE if inside else LITERAL[opened[-1]]).search(text, place)
        if piece is None:
            return len(text), []
        place = piece.end()
        if piece[0] == ("}" if inside else opened[-1]):
            opened.pop()
            start = starts.pop()
            expressions += [text[start : piece.start()]] if len(opened) == 1 else []
        elif piece[0] == "{" or (inside and _is_formatted(piece)):
            opened.append(piece[0] if piece[0] == "{" else piece[2])
            starts.append(place)
        elif inside:
            place, _ = _literal(text, piece)
    return place, expressions


def _is_formatted(found: re.Match[str]) -> bool:
    return "f" in (found[1] or "").lower()
