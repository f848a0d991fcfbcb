"""What ``.gitignore`` files leave out: the lines of a file and a path in, a verdict out.

Not pathspec: its 1.1.1 reads ``!b/`` as all that lies below b, so that the usual list of exceptions (``*``, ``!*/``,
``!*.py``) leaves nothing out, and a line of many stars keeps it busy for minutes.

It is git's own verdict but for ``a**/b``, where git departs from its manual. Patterns are matched without ``re``: a
hostile one cannot make it backtrack, and its import would double the time of a run that finds nothing to read.
Characters stand for bytes, as they do for git.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    Token = Container[str]
    Glob = list[list[Token]]

ANY = frozenset(map(chr, range(256))) - {"/"}
ANYTHING: Glob = [[], []]
NOTHING: Glob = []

POSIX: dict[str, Callable[[str], bool]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": " \t".__contains__,
    "cntrl": lambda char: not char.isprintable(),
    "digit": str.isdigit,
    "graph": lambda char: char.isprintable() and char != " ",
    "lower": str.islower,
    "print": str.isprintable,
    "punct": lambda char: char.isprintable() and not char.isalnum() and char != " ",
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": "0123456789abcdefABCDEF".__contains__,
}
"""What ``[[:alpha:]]`` and its like hold of the first 128 characters; they hold no other."""


class _Never(ValueError):
    """A pattern that git accepts and that matches nothing."""


class Ignored:
    """The patterns of one folder, and those of the folders above it, which only speak where these are silent."""

    __slots__ = ("above", "anchored", "base", "loose", "patterns")

    def __init__(self, folder: str, lines: Iterable[bytes], above: Ignored | None = None) -> None:
        self.base = len(os.path.join(folder, ""))
        self.patterns = [made for line in lines if (made := _pattern(line)) is not None][::-1]
        anchored = [each for each in self.patterns if each.anchored]
        self.anchored = {
            first: [each for each in anchored if each.first in {None, first}]
            for first in {each.first for each in anchored}
        }
        self.loose = _Loose(each.globs[0] for each in self.patterns if not each.anchored)
        self.above = above

    def has(self, path: str) -> bool:
        """Is this entry left out? A folder's path ends in a slash. The folders on the way are not asked again."""
        level: Ignored | None = self
        while level is not None:
            verdict = level._verdict(path[level.base :])
            if verdict is not None:
                return verdict
            level = level.above
        return False

    def _verdict(self, inside: str) -> bool | None:
        if not inside.isascii():
            inside = os.fsencode(inside).decode("latin-1")
        parts = inside.replace(os.sep, "/").removesuffix("/").split("/")
        is_folder = inside[-1:] in {"/", os.sep}
        if self.loose.may_match(parts[-1]):
            candidates = self.patterns
        else:
            candidates = self.anchored.get(parts[0]) or self.anchored.get(None, [])
        for each in candidates:
            if (is_folder or not each.folders_only) and each.matches(parts):
                return not each.negated
        return None


class _Pattern:
    """One line: a glob for each part of a path, None where ``**`` stands for any number of parts."""

    __slots__ = ("anchored", "first", "folders_only", "globs", "length", "negated")

    def __init__(self, text: str) -> None:
        self.negated = text.startswith("!")
        text = text[self.negated :]
        self.folders_only = text.endswith("/")
        text = text.removesuffix("/")
        self.anchored = "/" in text
        self.globs = _globs(text.removeprefix("/"))
        self.length = 0 if None in self.globs else len(self.globs)
        self.first = _word(self.globs[0][0]) if self.globs[0] and len(self.globs[0]) == 1 else None

    def matches(self, parts: list[str]) -> bool:
        if not self.anchored:
            return _fits(self.globs[0] or ANYTHING, parts[-1])
        if self.length not in {0, len(parts)} or self.first not in {None, parts[0]}:
            return False
        globs = self.globs
        at, part, resume, mark = 0, 0, -1, 0
        while part < len(parts):
            glob = globs[at] if at < len(globs) else NOTHING
            if glob is None:
                at, resume, mark = at + 1, at + 1, part
                if at == len(globs):
                    return True
            elif glob is not NOTHING and _fits(glob, parts[part]):
                at, part = at + 1, part + 1
            elif resume >= 0:
                at, part, mark = resume, mark + 1, mark + 1
            else:
                return False
        return at == len(globs)


class _Loose:
    """A quick answer for the many patterns that name an entry wherever it stands, most of which match nothing."""

    __slots__ = ("ends", "names", "others", "starts")

    def __init__(self, globs: Iterable[Glob | None]) -> None:
        self.names: set[str] = set()
        self.others: list[tuple[Token, Glob]] = []
        starts, ends = [], []
        for glob in globs:
            match [_word(chunk) for chunk in glob or ANYTHING]:
                case [str(name)]:
                    self.names.add(name)
                case ["", str(end)]:
                    ends.append(end)
                case [str(start), ""]:
                    starts.append(start)
                case _:
                    last = glob[-1] if glob else []
                    self.others.append((last[-1] if last else ANY, glob or ANYTHING))
        self.starts, self.ends = tuple(starts), tuple(ends)

    def may_match(self, name: str) -> bool:
        known = name in self.names or name.endswith(self.ends) or name.startswith(self.starts)
        return known or any(name[-1] in last and _fits(glob, name) for last, glob in self.others)


def _word(chunk: list[Token]) -> str | None:
    """A chunk as plain text, None if it holds a wildcard."""
    return "".join(chunk) if all(isinstance(token, str) for token in chunk) else None  # type: ignore[arg-type]


def _fits(glob: Glob, name: str) -> bool:
    """Does a whole name match? Between two stars the leftmost fit is as good as any, so nothing is tried twice."""
    first, *rest = glob
    if not rest:
        return len(name) == len(first) and _stands(first, name, 0)
    *middle, last = rest
    end = len(name) - len(last)
    if not _stands(first, name, 0) or end < len(first) or not _stands(last, name, end):
        return False
    place = len(first)
    for chunk in middle:
        while not _stands(chunk, name, place):
            place += 1
            if place + len(chunk) > end:
                return False
        place += len(chunk)
    return place <= end


def _stands(chunk: list[Token], name: str, place: int) -> bool:
    return len(name) - place >= len(chunk) and all(name[at] in token for at, token in enumerate(chunk, place))


def _pattern(line: bytes) -> _Pattern | None:
    text = _trimmed(line.decode("latin-1").removesuffix("\r"))
    try:
        return None if text.startswith("#") or not text else _Pattern(text)
    except _Never:
        return None


def _trimmed(text: str) -> str:
    """Without the spaces at its end, unless a backslash keeps them."""
    end, at = 0, 0
    while at < len(text):
        step = 2 if text[at] == "\\" else 1
        end = end if text[at] == " " else at + step
        at += step
    return text[:end]


def _globs(text: str) -> list[Glob | None]:
    globs: list[Glob | None] = []
    glob: Glob = [[]]
    stars = at = 0
    while at <= len(text):
        char = text[at : at + 1]
        if char in {"", "/"}:
            globs.append(None if stars > 1 and glob == [[], []] else glob)
            glob, stars = [[]], 0
        elif char == "*":
            stars += 1
            if glob[-1] or len(glob) == 1:
                glob.append([])
        else:
            at, token = _token(text, at)
            glob[-1].append(token)
        at += 1
    return globs


def _token(text: str, at: int) -> tuple[int, Token]:
    """What one position of a name may be, and where the text that says so ends."""
    match text[at]:
        case "?":
            return at, ANY
        case "[":
            return _set(text, at + 1)
        case "\\":
            return at + 1, _char(text, at + 1)
    return at, text[at]


def _char(text: str, at: int) -> str:
    if at >= len(text):
        raise _Never(text)
    return text[at]


def _set(text: str, at: int) -> tuple[int, frozenset[str]]:
    """A set such as ``[!a-z_]``; it may hold a bracket in its first place, and never matches a slash."""
    negated = _char(text, at) in "!^"
    start = at = at + negated
    chosen: set[str] = set()
    before = ""
    while (char := _char(text, at)) != "]" or at == start:
        if char == "-" and before and text[at + 1 : at + 2] not in {"", "]"}:
            at += 1 + (text[at + 1] == "\\")
            chosen.update(map(chr, range(ord(before), ord(_char(text, at)) + 1)))
            before = ""
        elif text.startswith("[:", at) and (name := _class(text, at + 2)) is not None:
            chosen.update(filter(POSIX.get(name, _unknown), map(chr, range(128))))
            at, before = at + len(name) + 3, ""
        else:
            at += char == "\\"
            before = _char(text, at)
            chosen.add(before)
        at += 1
    return at, frozenset(ANY - chosen if negated else chosen - {"/"})


def _class(text: str, at: int) -> str | None:
    """The name in ``[:name:]``, None if no such name stands here."""
    close = text.find("]", at)
    if close < 0:
        raise _Never(text)
    return text[at : close - 1] if close > at and text[close - 1] == ":" else None


def _unknown(char: str) -> bool:
    raise _Never(char)
