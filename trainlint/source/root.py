"""A path in, the top folder of its project out, where no settings tell it."""

from __future__ import annotations

import os

MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What tells the top folder of a project that has no settings of its own."""


def root_of(path: str, folder: str) -> str:
    """The top folder of the project that a path without settings belongs to.

    The nearest folder between the path and the working directory that looks like the top of a project, else the working
    directory if it holds the path, else what the path's top package lies in.
    """
    start = path if os.path.isdir(path) else os.path.dirname(path)
    inside = start == folder or start.startswith(os.path.join(folder, ""))
    if not inside:
        return _outside_packages(start)
    while start != folder and not _is_top(start):
        start = os.path.dirname(start)
    return start


def _outside_packages(folder: str) -> str:
    while os.path.exists(os.path.join(folder, "__init__.py")) and not _is_top(folder):
        folder = os.path.dirname(folder)
    return folder


def _is_top(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, marker)) for marker in MARKERS)
