"""Folders and files in, the Python files to read out, together with what was left out and why.

Opens nothing but ``.gitignore`` files. A run that has nothing to judge ends after this module and ``sift``, so neither
imports what the interpreter has not loaded already: ``re`` or ``dataclasses`` alone would double the time of that run.
"""

from __future__ import annotations

import os
import stat

from trainlint.source.ignored import Ignored
from trainlint.source.text import BOM, NOTEBOOK, Fault, kind, read, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

WALKED = (".py", ".pyi", NOTEBOOK)
"""What is read in a walked folder, stubs and notebooks included, as Ruff does."""

NAMED = ("", ".py", ".pyi", ".pyw", NOTEBOOK)
"""What is read when it is named: a script may have no suffix."""

EXCLUDED = frozenset(
    {
        ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox",
        ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode",
        "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
    }
)  # fmt: skip
"""Folders that hold no code of the project's own: Ruff's list, and the two that Python's own tools write."""

STRANGE = "its name is not UTF-8 or holds a control character"
NO_PYTHON = "it is no Python file"
LINKED = "a link to a folder is not followed; name it to read what is behind it"
NOWHERE = "a link to nothing"
TEMPLATE = "a template, as the braces in its path say"
SLOTS = ("{{", "{%")
"""What the path of a template holds, whose text is no Python before somebody fills it in."""

LARGEST_IGNORE = 256 * 1024
"""Each pattern is compared with each path: a larger ``.gitignore`` would only take time."""


class Skipped:
    """A path that was asked for, or met below one, and is not read; ``refused`` where the system gave no access."""

    __slots__ = ("path", "reason", "refused")

    def __init__(self, path: str, reason: str, *, refused: bool = False) -> None:
        self.path = path
        self.reason = reason
        self.refused = refused


class Found:
    """Absolute paths, sorted, each file once however many paths lead to it."""

    __slots__ = ("files", "skipped")

    def __init__(self, files: tuple[str, ...], skipped: tuple[Skipped, ...]) -> None:
        self.files = files
        self.skipped = skipped


def find(paths: Sequence[str], exclude: Sequence[str] = ()) -> Found:
    """The Python files below these folders, and these files themselves.

    ``exclude`` holds patterns in the language of ``.gitignore``, relative to each walked folder. They, the excluded
    folders and the ``.gitignore`` files (those between a folder and the top of its repository too) decide what is
    walked, never what is named. Links to files are read, links to folders are not walked. Of two paths to one file, the
    one below the more exact of ``paths`` counts, then the one without a link.
    """
    walk = _Walk([os.fsencode(each) for each in exclude])
    for path in paths:
        walk.take(path)
    files = sorted(min(ways)[-1] for ways in walk.files.values())
    return Found(tuple(files), tuple(walk.skipped[path] for path in sorted(walk.skipped)))


def excluded(path: str, root: str, exclude: Sequence[str] = ()) -> bool:
    """Whether a walk of the root would pass by this path for its own name, for a folder's on the way, or a pattern."""
    inside = os.path.relpath(path, root)
    if inside == os.curdir or inside.startswith(os.pardir):
        return False
    patterns = Ignored(root, [os.fsencode(each) for each in exclude])
    parts = inside.split(os.sep)
    folders = [os.path.join(root, *parts[:count], "") for count in range(1, len(parts))]
    entry = os.path.join(path, "") if os.path.isdir(path) else path
    return not EXCLUDED.isdisjoint(parts) or any(map(patterns.has, [*folders, entry]))


class _Walk:
    """What was met so far: for each real file the ways to it, best first, and what was left out."""

    def __init__(self, exclude: list[bytes]) -> None:
        self.exclude = exclude
        self.files: dict[str, set[tuple[int, bool, str]]] = {}
        self.skipped: dict[str, Skipped] = {}

    def take(self, path: str) -> None:
        """One path that was asked for."""
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError) as error:
            self._refuse(path, error)
            return
        path = os.path.abspath(path)
        if stat.S_ISDIR(mode):
            self._walk(path)
        elif not stat.S_ISREG(mode):
            self._skip(path, kind(mode))
        elif os.path.splitext(path)[1] in NAMED:
            self._keep(path, os.path.realpath(path), path)
        else:
            self._skip(path, NO_PYTHON)

    def _walk(self, top: str) -> None:
        excluded = Ignored(top, self.exclude) if self.exclude else None
        todo = [(top, os.path.realpath(top), self._outer(top))]
        while todo:
            folder, real, ignored = todo.pop()
            try:
                with os.scandir(folder) as entries:
                    met = {entry.name: entry for entry in entries}
            except OSError as error:
                self._refuse(folder, error)
                continue
            ignored = self._inner(folder, met, ignored)
            for name, entry in met.items():
                is_folder = entry.is_dir(follow_symlinks=False)
                if not _may_matter(entry, is_folder) or _is_left_out(entry.path, is_folder, excluded, ignored):
                    continue
                if is_folder:
                    todo.append((entry.path, os.path.join(real, name), ignored))
                else:
                    self._file(entry, os.path.join(real, name), top)

    def _file(self, entry: os.DirEntry[str], real: str, top: str) -> None:
        """A candidate in a walked folder: a file, or what has the name of one."""
        try:
            mode = entry.stat().st_mode if entry.is_symlink() else 0
            if mode and stat.S_ISDIR(mode):
                self._skip(entry.path, LINKED)
            elif not entry.is_file():
                self._skip(entry.path, kind(entry.stat().st_mode))
            else:
                self._keep(entry.path, os.path.realpath(entry.path) if mode else real, top)
        except OSError as error:
            self._skip(entry.path, NOWHERE if isinstance(error, FileNotFoundError) else refusal(error))

    def _keep(self, path: str, real: str, asked: str) -> None:
        if not path.isprintable() and not path.replace("\xa0", "").isprintable():
            self._skip(path, STRANGE)
            return
        if any(mark in path for mark in SLOTS):
            self._skip(path, TEMPLATE)
            return
        self.files.setdefault(real, set()).add((-len(asked), path != real, path))

    def _skip(self, path: str, reason: str) -> None:
        self.skipped[path] = Skipped(path, reason)

    def _refuse(self, path: str, error: OSError | ValueError) -> None:
        self.skipped[path] = Skipped(path, refusal(error), refused=True)

    def _outer(self, top: str) -> Ignored | None:
        """What the repository around a folder ignores in it."""
        above = []
        folder = top
        while not os.path.lexists(os.path.join(folder, ".git")):
            folder, below = os.path.dirname(folder), folder
            if folder == below:
                return None
            above.append(folder)
        ignored = None
        for folder in reversed(above):
            path = os.path.join(folder, ".gitignore")
            if os.path.isfile(path) and not os.path.islink(path):
                ignored = Ignored(folder, self._lines(path), ignored)
        return ignored

    def _inner(self, folder: str, met: dict[str, os.DirEntry[str]], above: Ignored | None) -> Ignored | None:
        """What is ignored from this folder down; a repository inside another one starts anew."""
        above = None if ".git" in met else above
        entry = met.get(".gitignore")
        if entry is None or not entry.is_file(follow_symlinks=False):
            return above
        return Ignored(folder, self._lines(entry.path), above)

    def _lines(self, path: str) -> list[bytes]:
        data = read(path)
        if isinstance(data, Fault) or len(data) > LARGEST_IGNORE:
            self._skip(path, data.reason if isinstance(data, Fault) else "it is larger than 256 kB")
            return []
        return data.removeprefix(BOM).split(b"\n")


def _may_matter(entry: os.DirEntry[str], is_folder: bool) -> bool:
    if is_folder:
        return entry.name not in EXCLUDED
    if entry.name.endswith(WALKED):
        return True
    return entry.is_symlink() and entry.name not in EXCLUDED and os.path.isdir(entry.path)


def _is_left_out(path: str, is_folder: bool, *rules: Ignored | None) -> bool:
    path = os.path.join(path, "") if is_folder else path
    return any(each is not None and each.has(path) for each in rules)
