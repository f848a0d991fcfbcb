"""The end of a run that has nothing to show, found without anything that others need: most runs of a hook.

Where no file of a small project may hold a site or a comment of ours, where no settings lie beside or above it, and
where what was named can be read, the report is known. Everything else is left to ``cli.check``.
"""

from __future__ import annotations

import os

from trainlint.source.find import find
from trainlint.source.root import root_of
from trainlint.source.sift import relevant
from trainlint.source.silencing import may_silence
from trainlint.source.text import NOTEBOOK, Fault, parse, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FLAGS = frozenset({"-q", "--quiet", "--hook", "--isolated", "--no-cache"})
"""Options that change nothing where there is nothing to show, but that the first two say nothing of it."""

SETTINGS = ("trainlint.toml", "pyproject.toml")
SUFFIXES = (".py", ".pyi")
MOST_FILES = 64
"""In a larger project something is to be judged, and to look for it twice would take longer."""


def run(words: Sequence[str]) -> int | None:
    """The status of a run that shows nothing; None where that is not known."""
    words = words[1:] if words[:1] == ["check"] else words
    flags = {word for word in words if word.startswith("-")}
    named = [word for word in words if word not in flags]
    if not flags <= FLAGS or not all(map(is_path, named)) or not named:
        return None
    folder = os.getcwd()
    paths = [os.path.normpath(os.path.join(folder, word)) for word in named]
    if not all(map(os.path.exists, paths)) or ("--isolated" not in flags and _has_settings([folder, *paths])):
        return None
    roots = {root_of(path, folder) for path in paths}
    found = find([*roots, *(path for path in paths if path not in roots)])
    if len(roots) > 1 or found.skipped or len(found.files) > MOST_FILES or not _is_idle(found.files, paths):
        return None
    asked = sum(any(file == path or file.startswith(os.path.join(path, "")) for path in paths) for file in found.files)
    if asked and flags.isdisjoint(("-q", "--quiet")):
        print(f"no findings in {asked} file{'s' * (asked > 1)}; no loss to judge")
    return 0 if asked else None


def is_path(word: str) -> bool:
    """Whether a word can be no command."""
    return word == os.curdir or os.sep in word or word.endswith(SUFFIXES)


def _has_settings(paths: Iterable[str]) -> bool:
    """Whether there may be settings for any of these: a file that speaks of us, beside or above it."""
    done: set[str] = set()
    for path in paths:
        while path not in done:
            done.add(path)
            for name in SETTINGS:
                file = os.path.join(path, name)
                if os.path.lexists(file):
                    data = read(file)
                    if name == SETTINGS[0] or isinstance(data, Fault) or b"trainlint" in data:
                        return True
            path = os.path.dirname(path)
    return False


def _is_idle(files: Sequence[str], named: Sequence[str]) -> bool:
    """Whether no file holds anything to judge or to silence, and each that was named can be read."""
    for file in files:
        data = read(file)
        if isinstance(data, Fault) or file.endswith(NOTEBOOK) or relevant(data) or may_silence(data):
            return False
        if file in named and isinstance(parse(data, file), Fault):
            return False
    return True
