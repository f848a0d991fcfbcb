"""Which line of the user's code is calling: frames in, places out."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType

from trainlint.probe.record import Place

LIBRARIES = frozenset(
    {"torch", "transformers", "accelerate", "lightning", "pytorch_lightning", "lightning_fabric", "trainlint"}
)
"""Whatever they call is called by whoever calls them."""

OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

CHECKPOINT = os.path.join("torch", "utils", "checkpoint.py")

NOWHERE = Place("<unknown>", 1)

Key = tuple[CodeType, int]


class Places:
    """The places of calls, each worked out once."""

    def __init__(self) -> None:
        self._is_library: dict[CodeType, bool] = {}
        self._known: dict[Key, Place] = {}

    def key(self) -> Key | None:
        """What tells the call that is being made from others: the first frame outside the libraries."""
        frame: FrameType | None = sys._getframe(1)
        known = self._is_library
        while frame is not None:
            code = frame.f_code
            is_library = known.get(code)
            if is_library is None:
                is_library = known[code] = of_library(code.co_filename)
            if not is_library:
                return code, frame.f_lasti
            frame = frame.f_back
        return None

    def maker(self, made: object) -> Place:
        """Where the object that is being made is made: outside of its own constructors."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            inside = code.co_name == "__init__" and frame.f_locals.get(code.co_varnames[0]) is made
            if not inside and not of_library(code.co_filename):
                return self.place((code, frame.f_lasti))
            frame = frame.f_back
        return NOWHERE

    def place(self, key: Key | None) -> Place:
        """Where that call stands."""
        if key is None:
            return NOWHERE
        if key not in self._known:
            self._known[key] = _place(*key)
        return self._known[key]

    def caller(self) -> Place:
        """Where the call that is being made stands."""
        return self.place(self.key())


def of_library(path: str) -> bool:
    """Whether a file belongs to a library, or is none."""
    if path.startswith("<"):
        return True
    if path.startswith(OWN + os.sep):
        return True
    _, found, inside = path.rpartition(f"{os.sep}site-packages{os.sep}")
    if not found:
        _, found, inside = path.rpartition(f"{os.sep}dist-packages{os.sep}")
    return bool(found) and inside.partition(os.sep)[0] in LIBRARIES


def _place(code: CodeType, instruction: int) -> Place:
    path = os.path.abspath(code.co_filename)
    row, end_row, column, end_column = _positions(code, instruction)
    if row is None:
        return Place(path, code.co_firstlineno, function=code.co_name)
    if end_row is None or column is None or end_column is None:
        return Place(path, row, function=code.co_name)
    start, end = _characters(path, row, column), _characters(path, end_row, end_column)
    return Place(path, row, start + 1, end_row, end + 1, code.co_name)


def _positions(code: CodeType, instruction: int) -> tuple[int | None, int | None, int | None, int | None]:
    """Python from 3.11 on knows where an expression ends; before, only the line is known."""
    if hasattr(code, "co_positions"):
        for number, found in enumerate(code.co_positions()):
            if number == instruction // 2:
                return found[0], found[1], found[2], found[3]
    lines = (line for start, end, line in code.co_lines() if start <= instruction < end)
    return next(lines, None), None, None, None


def _characters(path: str, row: int, column: int) -> int:
    """Python counts bytes, we count characters."""
    line = linecache.getline(path, row)
    return len(line.encode()[:column].decode(errors="ignore")) if line else column


def under(name: str) -> bool:
    """Whether a function of this name in torch's activation checkpointing is running now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name == name and code.co_filename.endswith(CHECKPOINT):
            return True
        frame = frame.f_back
    return False
