"""What tells this engine, its rule packs and all that is installed from any other: folders in, stamps out."""

from __future__ import annotations

import os
import sys

from trainlint.source.stamps import stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trainlint.source.stamps import Stamp

INSTALLED = (".dist-info", ".egg-info")
"""How the names of folders end that say what is installed."""

Stamped = tuple[str, "Stamp | None"]


def engine(packs: Sequence[str]) -> tuple[object, ...]:
    """This version of everything that decides what is said of a project, with the rules of these folders."""
    folders = (os.path.dirname(__file__), *packs)
    files = [tuple(sorted(_modules(folder))) for folder in folders]
    installed = (tuple(sorted(_installed(folder))) for folder in sys.path)
    # Where nothing is installed, the doors differ: the folder of a script, or the one that Python was started in.
    return sys.version, tuple(files), tuple(filter(None, installed))


def _installed(folder: str) -> Iterator[Stamped]:
    """What says which packages are installed in a folder, each with its stamp."""
    return ((each.path, stamp(each.path)) for each in _entries(folder or os.curdir) if each.name.endswith(INSTALLED))


def _modules(folder: str) -> Iterator[Stamped]:
    """The modules below a folder, each with its stamp."""
    waiting = [folder]
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.name.endswith(".py"):
                yield entry.path, stamp(entry.path)
            elif entry.name != "__pycache__" and entry.is_dir():
                waiting.append(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder; nothing in what is none."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
