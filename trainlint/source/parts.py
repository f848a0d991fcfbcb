"""The parts of a tree: folders between which no import leads, so that each is judged as it would be alone.

In go the files of a project, where the imports of each folder start, and which files import which name; out comes the
part of each file and folder, called by the innermost folder that holds all of it.
"""

from __future__ import annotations

import os.path
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

SEARCH_PATH = b"sys.path"
"""What a file that changes where imports start is taken to import, beside what it does."""

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
        for folder, places in _imports(files, homes, starts, importing()):
            for place in places:
                for other in _reached(files, homes, joined.every, place):
                    joined.join(homes[folder], other)
        while _widened(joined):
            pass
    names = {home: name for group in joined.groups() for name in [os.path.commonpath(group)] for home in group}
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
    packages = _packages(files)
    homes: dict[str, str] = {}
    for folder in {os.path.dirname(path) for path in files}:
        around = [each for each in (folder, *_above(folder)) if each in packages]
        homes[folder] = around[-1] if around else folder
    return homes


def _packages(files: Iterable[str]) -> set[str]:
    return {os.path.dirname(path) for path in files if path.endswith(f"{os.sep}__init__.py")}


def _above(folder: str) -> Iterator[str]:
    """The folders around one, from the inside out."""
    outer = os.path.dirname(folder)
    while outer != folder:
        yield outer
        folder, outer = outer, os.path.dirname(outer)


def _imports(
    files: Collection[str],
    homes: Mapping[str, str],
    starts: Callable[[str], Sequence[str]],
    importing: Mapping[bytes, Sequence[str]],
) -> Iterator[tuple[str, list[str]]]:
    """Each folder with the places that its files may import: those where its imports start, else, where a file of its
    home changes the search path, the nearest that are called so.
    """
    called: dict[str, set[str]] = defaultdict(set)
    folders = {each for folder in homes for each in (folder, *_above(folder))}
    for place in (*folders, *(path.rpartition(".")[0] for path in files)):
        called[os.path.basename(place)].add(place)
    packages = _packages(files)
    searching = {homes[os.path.dirname(path)] for path in importing.get(SEARCH_PATH, ())}
    for name, paths in importing.items():
        text = name.decode(errors="replace")
        places = called.get(text, set())
        for folder in set(map(os.path.dirname, paths)) if places else ():
            found = [place for start in starts(folder) if (place := os.path.join(start, text)) in places]
            found = [place for place in found if f"{place}.py" in files or place in packages][:1] or found
            if found or homes[folder] not in searching:
                yield folder, found
            else:
                yield folder, _nearest(folder, (place for place in places if os.path.dirname(place) not in packages))


def _nearest(folder: str, places: Iterable[str]) -> list[str]:
    """Those of some places that have most of their path in common with a folder."""
    common = {place: len(os.path.commonpath((folder, place))) for place in places}
    most = max(common.values(), default=0)
    return [place for place, length in common.items() if length == most]


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
