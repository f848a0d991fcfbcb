"""A bar on a terminal while a check takes long: how much is done in, nothing out where nobody waits."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trainlint.cli.options import Said

LONG = 1.5
"""Seconds after which somebody wants to know whether it goes on; a bar that only flashes up is in the way."""


@contextmanager
def patience(said: Said) -> Iterator[Callable[[int, int], None] | None]:
    """Who is to be told of the progress; nobody where the error stream is no terminal, or quiet was asked for."""
    if "quiet" in said or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty():
        yield None
        return
    waiting = Waiting()
    try:
        yield waiting.tell
    finally:
        waiting.end()


class Waiting:
    """How long somebody has waited, and the bar that is drawn once that is long."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._end: Callable[[], None] = lambda: None
        self._draw: Callable[[int, int], None] | None = None

    def tell(self, done: int, total: int) -> None:
        """So much is done."""
        if self._draw is None and time.monotonic() - self._since > LONG:
            from trainlint.report.colour import Bar

            bar = Bar()
            self._draw, self._end = bar.draw, bar.end
        if self._draw:
            self._draw(done, total)

    def end(self) -> None:
        """Take the bar away."""
        self._end()
