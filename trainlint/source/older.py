"""Which older Python a line was written for that this one cannot read."""

from __future__ import annotations

import re

TWO = "Python 2"
SPELLINGS = (
    (TWO, "a print statement", re.compile(r"\s*print\b\s*[^\s(=.,:\[]")),
    (TWO, "an exec statement", re.compile(r"\s*exec\b\s*[^\s(=.,:\[]")),
    (TWO, "`except ..., name`", re.compile(r"\s*except\b[^:#]*,\s*\w+\s*:")),
    (TWO, "`raise ..., text`", re.compile(r"\s*raise\s+[\w.]+\s*,")),
    (TWO, "backticks", re.compile(r"[^#\"']*`[^`]+`")),
    (TWO, "`<>`", re.compile(r"[^#\"']*\w\s*<>\s*\w")),
    ("a Python before 3.7", "`async` as a name", re.compile(r"[^#\"']*\basync\s*=")),
)
"""By version: what only it allows, and how its line begins."""


def suits(line: str) -> str | None:
    """The Python that a line which this one refuses looks like, and by what.

    >>> suits("print 'done'"), suits("except IOError, error:"), suits("x = (1,")
    ('Python 2 (a print statement)', 'Python 2 (`except ..., name`)', None)
    """
    return next((f"{version} ({what})" for version, what, spelled in SPELLINGS if spelled.match(line)), None)
