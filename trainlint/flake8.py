"""The plug-in for flake8: the name and the lines of one file in, the findings in it out. Nothing escapes ``run``.

flake8 knows no levels, and whatever it prints fails: so it is given the findings at or above the gate, ``fail-on``.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing import Lock
from multiprocessing.util import Finalize
from typing import ClassVar

from trainlint import __version__
from trainlint.baseline import BaselineError
from trainlint.cache import users_folder
from trainlint.check import Request, Session
from trainlint.config import ConfigError, Layer
from trainlint.finding import Finding
from trainlint.regex import regex
from trainlint.report import inside
from trainlint.rule import PackError
from trainlint.selection import UnknownSelector
from trainlint.source import read
from trainlint.source.text import BOM, NOTEBOOK, encoding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

PYTHON = (".py", ".pyi", ".pyw")

COMMENT = regex("#.*")
"""Or what looks like one; the end of a string does no harm."""

AT_ONCE = Lock()
"""One process at a time; the workers of flake8 inherit it."""

MISTAKES = (ConfigError, UnknownSelector, BaselineError, PackError)
"""What the user can mend; anything else is a fault of ours."""

Told = tuple[int, int, str]
"""A row from 1, a column from 0, and a code with its message."""


class Plugin:
    """What flake8 makes of every file that Python can read, and asks once."""

    name = "trainlint"
    version = __version__
    complaints: ClassVar[set[str]] = set()
    """What kept us from looking, told once for all files of a process."""
    looks: ClassVar[dict[str, int]] = {}
    """What each file held when it was last looked at, as a number that tells texts apart."""

    def __init__(self, tree: object, filename: str, lines: Sequence[str], options: Namespace) -> None:
        self._filename = filename
        text = "".join(lines)
        self._text = COMMENT.sub(_deaf, text) if options.disable_noqa else text

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """The findings that stand in the file; where none can be looked for, why, in its first line."""
        try:
            found = self._found()
        except Exception as error:
            complaint = _complaint(error)
            found = [] if complaint in self.complaints else [(1, 0, complaint)]
            self.complaints.add(complaint)
        for row, column, text in found:
            yield row, column, text, Plugin

    def _found(self) -> list[Told]:
        folder = os.getcwd()
        path = _path(self._filename, self._text, folder)
        session, unsaved, look = _session(folder), _unsaved(path, self._text), hash(self._text)
        if unsaved is not None or self.looks.get(path, look) != look:
            session.change(path, unsaved)
        self.looks[path] = look
        report = session.report([path], here=True)
        # What was read stays, and holds no cycle: the collector need not look through it after each file.
        gc.freeze()
        return [_told(finding) for finding in report.failing if finding.where.path == path]


def _deaf(comment: re.Match[str]) -> str:
    """A comment that flake8 is told not to heed, in as many characters."""
    return re.sub("noqa", "____", comment[0], flags=re.IGNORECASE)


@cache
def _session(folder: str) -> Session:
    """One for all files of a process. flake8 names every file it walks: what the settings exclude is left out here."""
    layer = Layer("flake8", folder, {"force-exclude": True})
    session = Session(Request((), folder, (layer,), cache=users_folder()))
    # It holds itself, and what is frozen is not looked through: at the end nothing takes apart what was read.
    held: list[object] = [session]
    held.append(held)
    Finalize(None, _keep, (session,), exitpriority=0)
    return session


def _keep(session: Session) -> None:
    """At the end of a process of flake8, its workers too: leave what was judged, each beside the others."""
    with suppress(Exception), AT_ONCE:
        session.keep()


def _path(filename: str, text: str, folder: str) -> str:
    """Where the text of flake8 stands; a name that is none of Python's, as of standard input, gets a Python one."""
    path = os.path.normpath(os.path.join(folder, filename))
    if path.endswith(PYTHON) or _is_notebook(path, text):
        return path
    is_script = os.path.isfile(path) and not path.endswith(NOTEBOOK)
    return path if is_script else f"{path}.py"


def _is_notebook(path: str, text: str) -> bool:
    """Whether a name and a text are those of a notebook; tools also hand over its code, under its name."""
    return path.endswith(NOTEBOOK) and text.lstrip().startswith("{") and '"cells"' in text


def _unsaved(path: str, text: str) -> bytes | None:
    """The text in the encoding that it declares, or None where it is what the disk holds."""
    data = text.encode(errors="replace")
    declared = encoding(data)
    if isinstance(declared, str) and declared != "utf-8":
        data = text.encode(declared, errors="replace")
    saved = read(path)
    return None if isinstance(saved, bytes) and _plain(saved) == _plain(data) else data


def _plain(data: bytes) -> bytes:
    """The same without what flake8 takes off a file in reading it."""
    return data.removeprefix(BOM).replace(b"\r\n", b"\n")


def _told(finding: Finding) -> Told:
    """A finding for flake8, which adds 1 to the column; a place in a notebook is no line of its file."""
    where = finding.where
    row, column = (1, 1) if where.cell else (where.row, where.column)
    return row, column - 1, f"{finding.code} {inside(where)}{finding.message}"


def _complaint(error: Exception) -> str:
    """Why nothing was judged, as a finding of one line."""
    is_mistake = isinstance(error, MISTAKES)
    why = f"cannot judge: {error}" if is_mistake else f"failed: {error!r}; `trainlint check` shows where"
    return " ".join(f"TL999 trainlint {why}".split())
