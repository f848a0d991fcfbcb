"""What linting public repositories gave, and how it is written down: one line of JSON for each repository."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DONE = "done"

Place = tuple[str, str, str, "int | None", int, str]
"""What a finding is known by: repository, commit, path, cell, row and code. Messages may change their words."""


@dataclass(frozen=True)
class Found:
    """One finding, without its evidence."""

    path: str
    cell: int | None
    row: int
    code: str
    severity: str
    message: str


@dataclass(frozen=True)
class Result:
    """What linting one repository gave. ``absent`` counts Python files and notebooks that the checkout lacks;
    ``rules`` are the codes that ran."""

    repository: str
    commit: str
    set: str
    folder: str
    status: str
    lines: int = 0
    absent: int = 0
    processor: float = 0.0
    wall: float = 0.0
    memory: int = 0
    rules: Sequence[str] = ()
    judged: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    unjudged: Mapping[str, int] = field(default_factory=dict)
    findings: Sequence[Found] = ()

    @property
    def places(self) -> dict[Place, Found]:
        """The findings by what they are known by; those that share a place are one."""
        return {
            (self.repository, self.commit, each.path, each.cell, each.row, each.code): each for each in self.findings
        }

    @property
    def open(self) -> int:
        return sum(tally["unjudged"] for tally in self.judged.values())


def read(file: Path) -> list[Result]:
    return [
        Result(**{**row, "findings": [Found(**each) for each in row["findings"]]})
        for row in map(json.loads, file.read_text().splitlines())
    ]


def line(repository: str, found: Found) -> str:
    cell = f":cell {found.cell}" if found.cell is not None else ""
    return f"{repository}/{found.path}{cell}:{found.row}: {found.severity} {found.code} {found.message}"
