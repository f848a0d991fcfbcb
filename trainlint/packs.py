"""The rule packs that are installed: nothing in, the name and the place of each out, as its package declares them.

``importlib.metadata`` answers the same question, and takes longer for it than a short run for all the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module

GROUP = "trainlint.rules"
"""The entry-point group through which rule packs, our own included, are found."""

ABOUT = (".dist-info", ".egg-info")
"""How the folders end that say of an installed package what it declares."""


class Pack:
    """One entry point: how the pack calls itself, and where its rules are."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: str) -> None:
        self.name, self.value = name, value

    def load(self) -> object:
        """Import what it names."""
        module, _, attributes = self.value.partition("[")[0].partition(":")
        found: object = import_module(module.strip())
        for attribute in filter(None, attributes.strip().split(".")):
            found = getattr(found, attribute)
        return found


def packs() -> list[Pack]:
    """Every pack that is declared on the path, by name; of two installations of one package, the first counts."""
    found = [pack for folder in _first_ones(sys.path) for pack in _declared(os.path.join(folder, "entry_points.txt"))]
    return sorted(found or _looked_up(), key=lambda pack: (pack.name, pack.value))


def _first_ones(folders: Iterable[str]) -> Iterator[str]:
    """What says of each installed package what it declares."""
    known: set[str] = set()
    for folder in dict.fromkeys(folders):
        try:
            names = sorted(name for name in os.listdir(folder or os.curdir) if name.endswith(ABOUT))
        except OSError:
            continue
        for name in names:
            package = os.path.splitext(name)[0].partition("-")[0].replace(".", "_").lower()
            if package not in known:
                known.add(package)
                yield os.path.join(folder, name)


def _declared(path: str) -> Iterator[Pack]:
    """The packs of a file of entry points."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError):
        return
    if GROUP not in text:
        return
    section = ""
    for line in map(str.strip, text.splitlines()):
        name, equals, value = map(str.strip, line.partition("="))
        if line.startswith("["):
            section = line.strip("[]")
        elif section == GROUP and equals and not line.startswith("#"):
            yield Pack(name, value)


def _looked_up() -> Iterator[Pack]:
    """What the standard library finds where nothing lies in a folder, as in an archive."""
    from importlib.metadata import entry_points

    return (Pack(point.name, point.value) for point in entry_points(group=GROUP))
