"""Paths in, the Python files below them out: names only, nothing is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Skipped:
    """A file that is not read, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Found:
    """The files to read, absolute and sorted, and what was left out."""

    files: tuple[str, ...]
    skipped: tuple[Skipped, ...]


def find(paths: Sequence[str], exclude: Sequence[str] = ()) -> Found:
    files, skipped = set(), set()
    for path in (each for given in paths for each in _below(os.path.abspath(given))):
        if path.endswith(".ipynb"):
            skipped.add(Skipped(path, "notebooks are not read yet"))
        elif path.endswith((".py", ".pyi")):
            files.add(path)
    return Found(tuple(sorted(files)), tuple(sorted(skipped, key=lambda each: each.path)))


def _below(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)
