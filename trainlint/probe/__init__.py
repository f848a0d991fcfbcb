"""What a run shows and source cannot; the only package that may load torch, and only once something is watched."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainlint.probe.watching import Watch

__all__ = ["watch"]


def watch(every: int = 10, report: str | os.PathLike[str] | None = None) -> Watch:
    """Watch what is trained inside of ``with``: every so many calls of a loss in depth, records to a folder if given.

    Raises:
        ModuleNotFoundError: there is no torch.
        OSError: nothing can be written to the folder.
    """
    from trainlint.probe.watching import Watch

    return Watch(every, report)
