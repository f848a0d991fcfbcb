"""The front door without a process of its own: words in; status, output and errors out."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import NamedTuple

from trainlint.cli import main


class Run(NamedTuple):
    """What a command line came to."""

    status: int
    out: str
    err: str


def run(folder: Path, *words: str) -> Run:
    """Output and errors apart."""
    out, err = io.StringIO(), io.StringIO()
    status = _written(folder, words, out, err)
    return Run(status, out.getvalue(), err.getvalue())


def shown(folder: Path, *words: str) -> str:
    """Output and errors as a terminal shows them."""
    both = io.StringIO()
    _written(folder, words, both, both)
    return both.getvalue()


def _written(folder: Path, words: tuple[str, ...], out: io.StringIO, err: io.StringIO) -> int:
    before = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            return main(words)
    finally:
        os.chdir(before)
