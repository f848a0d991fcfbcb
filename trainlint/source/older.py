"""Which older Python a line was written for that this one cannot read."""

from __future__ import annotations

from trainlint.regex import regex

TWO = "Python 2"
SPELLINGS = (
    (TWO, "a print statement", regex(r"\s*print\b\s*[^\s(=.,:\[]")),
    (TWO, "an exec statement", regex(r"\s*exec\b\s*[^\s(=.,:\[]")),
    (TWO, "`except ..., name`", regex(r"\s*except\b[^:#]*,\s*\w+\s*:")),
    (TWO, "`raise ..., text`", regex(r"\s*raise\s+[\w.]+\s*,")),
    (TWO, "backticks", regex(r"[^#\"']*`[^`]+`")),
    (TWO, "`<>`", regex(r"[^#\"']*\w\s*<>\s*\w")),
    ("a Python before 3.7", "`async` as a name", regex(r"[^#\"']*\basync\s*=")),
)
"""By version: what only it allows, and how its line begins."""


def suits(line: str) -> str | None:
    """The Python that a line which this one refuses looks like, and by what.

    >>> suits("print 'done'"), suits("except IOError, error:"), suits("x = (1,")
    ('Python 2 (a print statement)', 'Python 2 (`except ..., name`)', None)
    """
    return next((f"{version} ({what})" for version, what, spelled in SPELLINGS if spelled.match(line)), None)
