"""``trainlint probe run``: a command in, its own output and a report on its training out."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from trainlint.cli import UsageError
from trainlint.cli.options import Said
from trainlint.cli.output import PROGRAMS
from trainlint.cli.probe import NO_TORCH
from trainlint.cli.recorded import form, tell
from trainlint.probe import launch


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Run the command under watch and report; a command that fails keeps its own status."""
    if not arguments or arguments in {("--",), ("-m",)}:
        raise UsageError("which script? as in: trainlint probe run train.py")
    form(said)
    settings = {name: _number(said, name) for name in ("every", "steps") if name in said}
    _startable(arguments[0])
    _writable(said)
    if "report" in said:
        return _watched(arguments, settings, Path(said["report"][-1]), said)
    with tempfile.TemporaryDirectory(prefix="trainlint-probe-") as folder:
        return _watched(arguments, settings, Path(folder), said)


def _watched(arguments: tuple[str, ...], settings: dict[str, int], folder: Path, said: Said) -> int:
    try:
        launch.prepare(folder)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}: nothing was run") from error
    # What is meant for programs must be alone on the standard output.
    apart = "output" not in said and form(said) in PROGRAMS
    sys.stdout.flush()
    environment = launch.environment(os.environ, settings, folder)
    try:
        status = launch.run(launch.command(arguments), environment, sys.stderr if apart else None)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    found = tell(folder, said)
    return status or found


def _startable(word: str) -> None:
    """What stands behind ``--`` may bring a Python and a torch of its own; a script has those that run here."""
    if word == "--":
        return
    if find_spec("torch") is None:
        raise UsageError(NO_TORCH)
    if not word.startswith("-") and not Path(word).exists():
        raise UsageError(f"{word}: no such file")


def _writable(said: Said) -> None:
    """A report that cannot be written is better known before hours of training."""
    for name in said.get("output", ()):
        folder = Path(name).absolute().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise UsageError(f"{name}: its folder cannot be written to: nothing was run")


def _number(said: Said, name: str) -> int:
    value = said[name][-1]
    if not value.isdecimal() or not int(value):
        raise UsageError(f"--{name} must be a whole number from 1 on, not {value!r}")
    return int(value)
