"""Which version of a library a project asks for, where it names one. Reads the lists of requirements as text."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable

from trainlint.source.workspace import Workspace

LISTS = (
    "requirements.txt",
    "setup.py",
    "pyproject.toml",
    "environment.yml",
    "environment.yaml",
    "setup.cfg",
    "requirements/base.txt",
    "requirements/requirements.txt",
    "conda.yaml",
)
"""Where a project says what it needs, best first."""


def asked_for(workspace: Workspace, packages: Iterable[str]) -> tuple[int, ...] | None:
    """The newest version that the project allows of a package; None where it allows any, or says nothing."""
    names = "|".join(re.escape(name) for name in packages)
    wanted = re.compile(rf"(?<![\w-])(?:{names})(?:\[[^\]]*\])?\s*[=~>\d.,\s]*(==|~=|<=?|=)\s*[\"']?(\d+(?:\.\d+)*)")
    for name in LISTS:
        data = workspace.data(os.path.join(workspace.root, name))
        found = wanted.search(data.decode(errors="replace")) if isinstance(data, bytes) else None
        if found is not None:
            return _newest(found[1], tuple(int(part) for part in found[2].split(".")))
    return None


def _newest(sign: str, version: tuple[int, ...]) -> tuple[int, ...]:
    """The newest version that a sign and a version allow."""
    if sign == "<" and len(version) > 1 and version[1]:
        return (version[0], version[1] - 1, 999)
    if sign == "~=":
        return (*version[: max(1, len(version) - 1)], 999)
    return version
