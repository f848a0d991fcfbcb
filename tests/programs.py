"""Small programs out of one text file, for tests that compare what the reader says with what a run shows.

A program begins with ``### its name``, which may end in a remark in brackets; ``## name.py`` begins another file of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from trainlint.value import Integer, Unknown


class Program(NamedTuple):
    """A small project by the names of its files; ``remark`` is what its name says of it, empty if nothing."""

    name: str
    remark: str
    files: dict[str, str]


class Said(NamedTuple):
    """What is stated of one loss call: a number, or None where it is left open."""

    file: str
    row: int
    classes: int | None
    ignored: int | None


def programs(path: Path, mark: str, head: str) -> dict[str, Program]:
    """The programs of a file by name: a remark stands behind ``(mark: ``, and ``head`` begins each entry."""
    found = {}
    for section in path.read_text().split("\n### ")[1:]:
        heading, _, body = section.partition("\n")
        name, _, remark = heading.rstrip(")").partition(f" ({mark}: ")
        entry, *others = f"{body}\n".split("\n## ")
        files = {"train.py": head + entry}
        files |= {file: text for file, _, text in (other.partition("\n") for other in others)}
        found[name.strip()] = Program(name.strip(), remark, files)
    return found


def written(folder: Path, files: Mapping[str, str]) -> str:
    """The folder, with these files in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


def settled(value: Integer | Unknown | None) -> int | None:
    """A value that is settled."""
    return value.number if isinstance(value, Integer) else None
