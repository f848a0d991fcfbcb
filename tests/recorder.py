"""Stands in for the module of a command: remembers what it was called with."""

from __future__ import annotations

from collections.abc import Mapping

Call = tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]
calls: list[Call] = []


def run(arguments: tuple[str, ...], said: Mapping[str, tuple[str, ...]]) -> int:
    calls.append((arguments, said))
    return 0
