"""What timing a command once gave, and what sift keeps: one line of JSON each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

BASE = "python -c pass"
ALONE = "flake8 without it"


@dataclass(frozen=True)
class Timed:
    """One run of a command: seconds, bytes at most, its status; ``limit`` are the seconds after which it was ended."""

    corpus: str
    case: str
    tool: str
    round: int
    shown: str
    processor: float
    wall: float
    memory: int
    status: int
    limit: float = 0.0


@dataclass(frozen=True)
class Kept:
    """The files and the bytes of a corpus that one family of rules makes sift keep, and those that no other would."""

    corpus: str
    family: str
    files: int
    size: int
    alone: int
    every_file: int
    every_size: int


def known(results: Path) -> list[Timed | Kept]:
    """What was written down, in its order."""
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return [Kept(**row) if "family" in row else Timed(**row) for row in rows]


def write(results: Path, row: Timed | Kept) -> None:
    with results.open("a") as file:
        file.write(json.dumps(asdict(row)) + "\n")
