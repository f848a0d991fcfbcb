"""A file in, what keeps it from being read out: all that is said of one in which there is nothing to judge."""

from __future__ import annotations

from trainlint.facts import Fact, Unreadable
from trainlint.record import dataclass
from trainlint.source.summary import Module
from trainlint.source.text import Fault
from trainlint.source.workspace import Workspace
from trainlint.span import Span


@dataclass(frozen=True)
class Judged:
    """What was said of one place, and the stretch of the journal that it rests on.

    ``site`` is the place; None for the choice of a file's sites itself, which says nothing.
    """

    path: str
    site: Span | None
    facts: tuple[Fact, ...]
    stretch: tuple[int, int]


def judged_alone(workspace: Workspace, path: str) -> Judged:
    """What is said of a file before anything in it is looked at: what keeps it, or a part of it, from being read."""
    start, module = len(workspace.journal), workspace.module(path)
    if isinstance(module, Module):
        faults = () if module.is_test else tuple(_unreadable(path, fault) for fault in module.faults)
        return Judged(path, None, faults, (start, len(workspace.journal)))
    fault = _unreadable(path, module)
    return Judged(path, fault.call, (fault,), (start, len(workspace.journal)))


def _unreadable(path: str, fault: Fault) -> Unreadable:
    span = Span(path, fault.row, fault.column, cell=fault.cell)
    return Unreadable(span, span, None, (), (), fault.reason)
