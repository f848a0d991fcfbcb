"""The parts of a tree: folders between which no import leads, so that each is judged as it would be alone.

In go the files of a project, where the imports of each folder start, and which files import which name; out comes the
part of each file and folder, called by the innermost folder that holds all of it.
"""

from __future__ import annotations

import os.path
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

AFTER = chr(ord(os.sep) + 1)
"""The letter behind the one that parts a path: what lies in a folder stands between the two in a sorted list."""


def below(paths: Sequence[str], folder: str) -> Sequence[str]:
    """Those of sorted paths that lie in a folder, however deep.

    >>> below(["/a.py", "/a/b.py", "/a/c/d.py", "/ab/e.py"], "/a")
    ['/a/b.py', '/a/c/d.py']
    """
    name = folder.rstrip(os.sep)
    start = bisect_left(paths, name + os.sep)
    return paths[start : bisect_left(paths, name + AFTER, start)]


def parts(
    files: Collection[str],
    starts: Callable[[str], Sequence[str]],
    importing: Callable[[], Mapping[bytes, Sequence[str]]],
) -> dict[str, str]:
    """The part of each file and of its folder; who imports what is asked only where there may be several parts."""
    homes = _homes(files)
    joined = Joined(homes.values())
    if len(joined.every) > 1:
        for folder, name in _imports(files, homes, importing()):
            for start in starts(folder):
                for other in _reached(files, homes, joined.every, os.path.join(start, name)):
                    joined.join(homes[folder], other)
        while _widened(joined):
            pass
    names = {home: os.path.commonpath(group) for group in joined.groups() for home in group}
    of_folders = {folder: names[home] for folder, home in homes.items()}
    return {**of_folders, **{path: of_folders[os.path.dirname(path)] for path in files}}


class Joined:
    """Homes, each in a group of those that belong together."""

    def __init__(self, homes: Iterable[str]) -> None:
        self.every = sorted(set(homes))
        self._group = {home: {home} for home in self.every}

    def join(self, home: str, other: str) -> bool:
        """Two homes belong together, with all that belong to either; whether that was not known."""
        small, large = sorted((self._group[home], self._group[other]), key=len)
        if small is large:
            return False
        large |= small
        self._group.update(dict.fromkeys(small, large))
        return True

    def groups(self) -> Collection[set[str]]:
        """The groups, each once."""
        return {id(group): group for group in self._group.values()}.values()


def _homes(files: Iterable[str]) -> dict[str, str]:
    """What the files of each folder are a piece of: the outermost package around it, or the folder alone."""
    packages = {os.path.dirname(path) for path in files if path.endswith(f"{os.sep}__init__.py")}
    homes: dict[str, str] = {}
    for folder in {os.path.dirname(path) for path in files}:
        around = [each for each in (folder, *_above(folder)) if each in packages]
        homes[folder] = around[-1] if around else folder
    return homes


def _above(folder: str) -> Iterator[str]:
    """The folders around one, from the inside out."""
    outer = os.path.dirname(folder)
    while outer != folder:
        yield outer
        folder, outer = outer, os.path.dirname(outer)


def _imports(
    files: Collection[str], homes: Mapping[str, str], importing: Mapping[bytes, Sequence[str]]
) -> set[tuple[str, str]]:
    """Each folder with the names that its files import, as far as a file or a folder of the tree is called so."""
    folders = {each for folder in homes for each in (folder, *_above(folder))}
    called = {os.path.basename(path).rpartition(".")[0] for path in files} | set(map(os.path.basename, folders))
    names = ((name, name.decode(errors="replace")) for name in importing)
    return {(os.path.dirname(path), text) for name, text in names if text in called for path in importing[name]}


def _reached(files: Collection[str], homes: Mapping[str, str], every: Sequence[str], place: str) -> Iterator[str]:
    """The homes to which an import may lead that starts with this file or this folder: all of those in a folder."""
    if f"{place}.py" in files:
        yield homes[os.path.dirname(place)]
    if place in homes:
        yield homes[place]
    yield from below(every, place)


def _widened(joined: Joined) -> bool:
    """Let what lies in the innermost folder around a group belong to it; whether anything did not."""
    around = {os.path.commonpath(group): next(iter(group)) for group in joined.groups() if len(group) > 1}
    inside = [(home, around[each]) for home in joined.every for each in (home, *_above(home)) if each in around]
    turned = [joined.join(home, other) for home, other in inside]
    return any(turned)
