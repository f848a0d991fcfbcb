"""What kept trainlint from judging: a file that it cannot read, a fault of its own."""

from __future__ import annotations

from dataclasses import dataclass

from trainlint.facts.fact import Fact


@dataclass(frozen=True)
class Unreadable(Fact):
    """A file that cannot be read as Python: a syntax error, bytes that its encoding does not allow."""

    reason: str


@dataclass(frozen=True)
class Crash(Fact):
    """A fault of trainlint itself at one site; everything else is still judged."""

    doing: str
    error: str
