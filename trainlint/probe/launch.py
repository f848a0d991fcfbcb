"""A command in, the same command watched from within, and its exit status out. Needs no torch itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

from trainlint.probe.record import SUFFIX, Record, Unreadable, read

VARIABLE = "TRAINLINT_PROBE"
"""Carries the settings to every process of a run."""

INJECTED = str(Path(__file__).parent / "inject")


def command(words: Sequence[str]) -> list[str]:
    """What to run: a script with its arguments, ``-m`` and a module, or after ``--`` any program."""
    return list(words[1:]) if words[0] == "--" else [sys.executable, *words]


def prepare(folder: Path) -> None:
    """Make the folder ready for the records of a new run.

    Raises:
        OSError: nothing can be written there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    trial = folder / f"trial-{os.getpid()}.tmp"
    trial.write_text("")
    trial.unlink()
    for old in folder.glob(f"*{SUFFIX}"):
        old.unlink()


def environment(base: Mapping[str, str], settings: Mapping[str, object], folder: Path) -> dict[str, str]:
    """The environment of a watched process.

    What one process compiles is kept apart: the cache of a graph knows nothing of who watches, so a watched run would
    be blind after one that was not, and the other way about.
    """
    path = os.pathsep.join(filter(None, (INJECTED, base.get("PYTHONPATH", ""))))
    said = json.dumps({**settings, "folder": str(folder.resolve())})
    apart = {"TORCHINDUCTOR_AUTOGRAD_CACHE": "0", "TORCHINDUCTOR_FX_GRAPH_CACHE": "0"}
    return {**base, **apart, "PYTHONPATH": path, VARIABLE: said}


def run(words: Sequence[str], environment: Mapping[str, str], output: IO[str] | None) -> int:
    """Run it, pass on what it is told from outside, and answer as it ends; a signal counts as a shell counts it."""
    process = subprocess.Popen(list(words), env=dict(environment), stdout=output)

    def pass_on(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    before = signal.signal(signal.SIGTERM, pass_on)
    try:
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:
                continue  # The process has been interrupted too, and is writing its record.
    finally:
        signal.signal(signal.SIGTERM, before)
    return status if status >= 0 else 128 - status


def records(folder: Path) -> tuple[list[Record], list[str]]:
    """What the processes of a run left, and what of it cannot be read."""
    found, faults = [], []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            found.append(read(path))
        except Unreadable as error:
            faults.append(str(error))
    return found, faults
