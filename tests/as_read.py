"""What reading says of a fixture that lies in the repository, worked out once for all tests that ask."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from trainlint.finding import Finding
from trainlint.testing import findings


@cache
def as_read(folder: Path) -> tuple[Finding, ...]:
    """The findings of a folder that no test changes."""
    return tuple(findings(folder))
