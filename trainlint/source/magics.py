"""A cell as IPython reads it in, Python with the same rows and columns out.

Commands of IPython and of the shell become ``pass``, what they hand back an unknown, and code that is only timed by one
of them stays. Only for a cell that is no Python as it stands: in one that is, ``%`` and ``?`` mean what they always do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainlint.regex import regex
from trainlint.source.syntax import is_readable

BARE = r"\s*(?:pip|conda|mamba|uv|cd|ls|ll|cat|cp|mv|rm|mkdir|rmdir|man|more|less)[ \t]"
AUTOMATIC = regex(BARE + r"[^\n]*\s*")
"""A command without its sign, which IPython takes where it is all that a cell holds."""

MAY_ESCAPE = regex(rf"\A{BARE}|^[ \t]*(?:[%!?,;/]|>>>)|=[ \t]*[%!]|\?[ \t;]*$", re.MULTILINE)
"""In a cell that does not match, nothing is addressed to IPython."""

CODE_CELLS = frozenset({"capture", "debug", "ipytest", "memit", "mprun", "prun", "scalene", "time", "timeit", "wandb"})
"""Cell magics that run the cell as Python in the notebook itself; the body of any other is none of its code."""

CELL_MAGIC = regex(r"(?:[ \t]*(?:#[^\n]*)?\n)*%%(?P<name>\w*)[^\n]*")
COMMAND = regex(r"(?P<indent>[ \t]*)(?:[%!?,;/])")
PROMPT = regex(r"^[ \t]*(?:>>>|\.\.\.)(?= |$)", re.MULTILINE)
HELP = regex(r"(?P<indent>[ \t]*)[^\n#'\"]*[\w*)\]]\?\??[ \t]*;?[ \t]*(?=\n|\Z)")
ASSIGNED = regex(r"(?P<target>(?:[^\n=!%#'\"()]|\[(['\"])\w*\2\])+=[ \t]*)(?:%[A-Za-z_]|!)")
TIMED = regex(
    r"(?P<magic>%(?:time|timeit|prun|memit)[ \t]+(?:-[nrptlsTD][ \t]*[^\s-]\S*[ \t]+|-\w+[ \t]+)*)"
    r"(?P<code>[^\s%!-][^\n]*)"
)
LINE = regex(r"(?:[^\n\\]|\\.|\\\n)*", re.DOTALL)
"""The rest of a line, and of those that a backslash joins to it."""

PIECE = regex(
    r"""[^\\\n#'"()\[\]{}]+ | \#[^\n]* | \\. | \n | [(\[{] | [)\]}]
    | \"{3}(?:[^\\"]|\\.|"(?!""))*\"{3} | '{3}(?:[^\\']|\\.|'(?!''))*'{3}
    | "(?:[^\\"\n]|\\.)*" | '(?:[^\\'\n]|\\.)*' | .""",
    re.DOTALL | re.VERBOSE,
)
HANDED_BACK = "get_ipython()"


def as_python(text: str) -> str:
    """A cell as Python.

    >>> as_python("%matplotlib inline\\nfiles = !ls\\nif files:\\n    !pip install x\\n%time fit()")
    'pass\\nfiles = get_ipython()\\nif files:\\n    pass\\nif 1: fit()'
    >>> as_python("%%bash\\nls")
    '\\n'
    """
    if text.lstrip().startswith(">>>"):
        return PROMPT.sub(lambda found: " " * len(found[0]), text)
    if AUTOMATIC.fullmatch(text):
        return _blank(text)
    start = 0
    while found := CELL_MAGIC.match(text, start):
        if found["name"] not in CODE_CELLS:
            return _blank(text)
        start = found.end()
    return _blank(text[:start]) + "".join(_pieces(text, start))


def _pieces(text: str, place: int) -> Iterator[str]:
    """The text from here on, each command replaced where it starts a line of its own."""
    depth, starts = 0, True
    while place < len(text):
        if starts and not depth and (found := _escaped(text, place)):
            piece, place = found
            yield piece
        match = PIECE.match(text, place)
        if match is None:
            return
        piece, place = match[0], match.end()
        yield piece
        starts = piece == "\n"
        depth += (piece in "([{") - (piece in ")]}" and depth > 0)


def _escaped(text: str, place: int) -> tuple[str, int] | None:
    """What stands for the command that a line starts with, and where that ends; None if it is no command."""
    line = LINE.match(text, place)
    assert line is not None, "an empty line matches too"
    below = _blank(line[0])
    if found := COMMAND.match(text, place):
        kept = _timed(text, found.end("indent"), "if 1:")
        return (found["indent"] + kept if kept else f"{found['indent']}pass{below}"), line.end()
    if found := ASSIGNED.match(text, place):
        kept = _timed(text, found.end("target"), "")
        return found["target"] + (kept or f"{HANDED_BACK}{below}"), line.end()
    if found := HELP.match(text, place):
        return f"{found['indent']}pass", found.end()
    return None


def _timed(text: str, place: int, instead: str) -> str | None:
    """The code that a magic only measures, at its own columns."""
    found = TIMED.match(text, place)
    line = LINE.match(text, place)
    if found is None or line is None or "\n" in line[0] or not is_readable(found["code"]):
        return None
    return instead.ljust(len(found["magic"])) + found["code"]


def _blank(text: str) -> str:
    return "\n" * text.count("\n")
