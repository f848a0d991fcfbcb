"""New bytes over a file: whole or not at all, its mode, its owner and the links that lead to it kept."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress

WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class NotWritten(Exception):
    """A file that is left as it is, and why."""


class Changed(NotWritten):
    """A file that another has written since it was read."""


def write(path: str, before: bytes, after: bytes) -> None:
    """Write over a file that still holds what it held.

    Raises:
        Changed: it holds something else by now.
        NotWritten: it may not be written.
    """
    target = os.path.realpath(path)
    try:
        about = os.stat(target)
        if not about.st_mode & WRITABLE or not os.access(target, os.W_OK):
            raise NotWritten("it is read-only")
        with open(target, "rb") as file:
            if file.read() != before:
                raise Changed("it has changed since it was read")
        _replace(target, after, about)
    except OSError as error:
        raise NotWritten(f"the system will not write it: {error.strerror}") from error


def _replace(target: str, data: bytes, about: os.stat_result) -> None:
    handle, beside = tempfile.mkstemp(prefix=f".{os.path.basename(target)}.", dir=os.path.dirname(target))
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError, AttributeError):
            os.chown(beside, about.st_uid, about.st_gid)
        os.chmod(beside, stat.S_IMODE(about.st_mode))
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
