"""The folder in which results are kept from one run to the next: the user's own, never one that came with the code.

A file that is broken, or that another version wrote, is as good as none; a folder that cannot be written to is none.
"""

from __future__ import annotations

import marshal
import os
import sys
from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST_BYTES = 512 * 2**20
"""What all projects together may take; the files that were not used for the longest time go first."""

TAG = "CACHEDIR.TAG"
SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55\n"
"""What tells backup programs that the folder need not be saved (https://bford.info/cachedir/)."""

SUFFIX = ".kept"
MAGIC = f"trainlint 1 {sys.implementation.cache_tag}\n".encode()
"""What this Python writes begins so: another one's ``marshal`` may differ."""


def users_folder() -> str:
    """Where a user's caches lie on this system; nothing where nobody knows."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(folder) and sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA", "")
    if not os.path.isabs(folder):
        home = os.path.expanduser("~")
        folder = os.path.join(home, *(("Library", "Caches") if sys.platform == "darwin" else (".cache",)))
    return os.path.join(folder, "trainlint") if os.path.isabs(folder) else ""


def read(folder: str, name: str) -> object:
    """What was written under a name; None if there is nothing that can be used."""
    path = os.path.join(folder, name + SUFFIX)
    try:
        with open(path, "rb") as file:
            if not _is_ours(os.fstat(file.fileno())):
                return None
            data = file.read()
        payload = data[len(MAGIC) + 4 :]
        if not data.startswith(MAGIC) or data[len(MAGIC) : len(MAGIC) + 4] != _sum(payload):
            return None
        value: object = marshal.loads(payload)
        os.utime(path)
    except (OSError, EOFError, ValueError, TypeError, MemoryError):
        return None
    return value


def write(folder: str, name: str, value: Any) -> None:
    """Keep plain data under a name, whole or not at all, whoever else writes at the same time."""
    payload = marshal.dumps(value)
    path = os.path.join(folder, name + SUFFIX)
    half = f"{path}.{os.getpid()}"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _tag(folder)
        with open(half, "wb") as file:
            file.write(MAGIC + _sum(payload) + payload)
        os.replace(half, path)
        _evict(folder)
    except OSError:
        _remove(half)


def clean(folder: str) -> tuple[int, int]:
    """Remove everything that was kept: how many files that were, and their bytes."""
    from contextlib import suppress

    sizes = [size for _, size, path in _files(folder) if _remove(path)]
    if sizes:
        _remove(os.path.join(folder, TAG))
    with suppress(OSError):
        os.rmdir(folder)
    return len(sizes), sum(sizes)


def _sum(payload: bytes) -> bytes:
    return crc32(payload).to_bytes(4, "big")


def _is_ours(about: os.stat_result) -> bool:
    """Whether nobody else can have written it."""
    return not hasattr(os, "geteuid") or about.st_uid == os.geteuid()


def _tag(folder: str) -> None:
    path = os.path.join(folder, TAG)
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write(SIGNATURE)


def _evict(folder: str) -> None:
    """Remove what was not used for the longest time until the rest is small enough."""
    left = MOST_BYTES
    for _, size, path in sorted(_files(folder), reverse=True):
        left -= size
        if left < 0:
            _remove(path)


def _files(folder: str) -> Iterator[tuple[float, int, str]]:
    """What is kept, halves of broken off writes too: when each was used last, its size and its path."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if SUFFIX in entry.name and entry.is_file(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    yield about.st_mtime, about.st_size, entry.path
    except OSError:
        return


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
