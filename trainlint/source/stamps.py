"""What the system says of a file without reading it, and what its bytes come down to: both tell whether it changed."""

from __future__ import annotations

import os
import time

from trainlint.source.text import MISSING, Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

Stamp = tuple[int, int, int, int]
"""Size, times of the last write to it and to what is known of it in nanoseconds, and number on the disk."""

GRAIN = 2_000_000_000
"""Nanoseconds within which two writes may get the same time: two seconds on the coarsest file systems."""

Seen = tuple["Stamp | None", bytes]
"""How a file was when it was read: its stamp, if that can be trusted, and the digest of its bytes."""


def stamp(path: str) -> Stamp | None:
    """The stamp of what a path leads to; None if that is nothing."""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return None
    return about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino


def digest(data: bytes | Fault) -> bytes:
    """What tells these bytes, or the reason why there are none, from all others."""
    if isinstance(data, Fault):
        return b"!" + data.reason.encode(errors="replace")
    # Whoever only looks at stamps does without.
    from hashlib import blake2b

    return blake2b(data, digest_size=16).digest()


def is_settled(stamp: Stamp, now: int) -> bool:
    """Whether a write that comes still, at this time in nanoseconds or later, must change the stamp."""
    return max(stamp[1], stamp[2]) < now - GRAIN


def was_absent(seen: Seen) -> bool:
    """Whether there was no such file."""
    return seen[1] == digest(Fault(MISSING))


class Ledger:
    """All that was read through it, as it was then."""

    def __init__(self, read: Callable[[str], bytes | Fault]) -> None:
        self._read = read
        self._start = time.time_ns()
        self.seen: dict[str, Seen] = {}

    def read(self, path: str) -> bytes | Fault:
        """The bytes of a file; its stamp is older than they are, so that no later write has the same one."""
        before = stamp(path)
        data = self._read(path)
        self.seen[path] = before if before and is_settled(before, self._start) else None, digest(data)
        return data
