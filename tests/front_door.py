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
    out, err = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
    finally:
        os.chdir(before)
    return Run(status, out.getvalue(), err.getvalue())
