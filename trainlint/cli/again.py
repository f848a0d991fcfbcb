"""A run like the last one, where nothing changed: what was said then is said again, and nothing else is loaded.

What it said rests on the words, on the settings beside and above what was named, on the walk that finds the files of
the projects, on every file that was read, and on the version of all that is installed. Everything is compared; whatever
differs, the run is done anew.
"""

from __future__ import annotations

import os
import sys
import time
from zlib import crc32

from trainlint import cache
from trainlint.cli.early import SETTINGS, is_path
from trainlint.engine import engine
from trainlint.source.find import find
from trainlint.source.root import MARKERS
from trainlint.source.stamps import is_settled, stamp, was_absent
from trainlint.source.text import NOTEBOOK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from trainlint.source.stamps import Seen, Stamp

FLAGS = {"-q": "quiet", "--quiet": "quiet", "--hook": "hook", "--isolated": "isolated"}
FOLDER = "cache-dir"
KNOWN = frozenset((*FLAGS.values(), FOLDER))
"""Options of which the words alone say what they change."""

START = time.time_ns()
"""What is written from two seconds before now on may be written again without another time."""

THERE = (*MARKERS, "__init__.py")
"""What tells the top of a project by being there at all."""

Asked = tuple[tuple[str, ...], tuple[str, ...], str]
"""The paths as they were named, the options, and the working directory."""

Around = dict[str, "Stamp | bool | None"]
"""Settings by their stamps, and what tells the top of a project: all that lies beside and above what was named."""


Walk = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""The root of a project, what was named in it, the patterns that are left out, and the files that were found."""


class Rests:
    """What the words of a run rest on: files of settings, all that was read as it was, and the folders of rules."""

    def __init__(
        self, walks: tuple[Walk, ...], settings: tuple[str, ...], seen: Mapping[str, Seen], packs: tuple[str, ...]
    ) -> None:
        self.walks, self.settings, self.seen, self.packs = walks, settings, seen, packs


class Wish:
    """What a run is asked for, and what lay around that when it began."""

    def __init__(self, asked: Asked) -> None:
        self.asked, self.around = asked, _around(asked)


def run(words: Sequence[str]) -> int | None:
    """Say what the last run like this said, and answer as it did; None where something differs or nothing is known."""
    parsed = None if _is_for_a_reader() else _parsed(words)
    if parsed is None:
        return None
    paths, options = parsed
    asked = _plainly(paths, options, os.getcwd())
    found = cache.read(options.get(FOLDER, "") or cache.users_folder(), _name(asked))
    match found:
        case (known, around, installed, tuple(packs), tuple(walks), dict(stamps), (int(status), str(out), str(err))):
            if known == asked and around == _around(asked) and _is_same(walks, stamps) and installed == engine(packs):
                sys.stdout.write(out)
                sys.stdout.flush()
                sys.stderr.write(err)
                return status
    return None


def wish(paths: tuple[str, ...], said: Mapping[str, tuple[str, ...]], folder: str) -> Wish | None:
    """What a run is asked for, if another one may be asked for the same and would say it in the same way."""
    if not paths or not said.keys() <= KNOWN or _is_for_a_reader():
        return None
    return Wish(_plainly(paths, {name: values[-1] for name, values in said.items()}, folder))


def keep(wish: Wish, rests: Rests, folder: str, tell: Callable[[], int]) -> int:
    """Let a run say what it has to say, and keep that for the next one that is asked for the same."""
    import io
    from contextlib import redirect_stderr, redirect_stdout

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = tell()
    sys.stdout.write(out.getvalue())
    sys.stdout.flush()
    sys.stderr.write(err.getvalue())
    settings = {path for path in wish.around if path.endswith(SETTINGS)}
    if _can_be_told(rests.seen) and settings.issuperset(rests.settings) and all(map(_is_settled, wish.around.values())):
        stamps = {path: before for path, (before, _) in rests.seen.items()}
        what = (status, out.getvalue(), err.getvalue())
        kept = (wish.asked, wish.around, engine(rests.packs), rests.packs, rests.walks, stamps, what)
        cache.write(folder, _name(wish.asked), kept)
    return status


def _parsed(words: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]] | None:
    """The paths and the options; None where there is more to it."""
    has_command = "check" in words[:1]
    waiting, paths, options = list(reversed(words[has_command:])), [], {}
    while waiting:
        word = waiting.pop()
        name, equals, value = word.removeprefix("--").partition("=")
        if word in FLAGS:
            options[FLAGS[word]] = ""
        elif word.startswith(f"--{FOLDER}") and name == FOLDER and (equals or waiting):
            options[FOLDER] = value if equals else waiting.pop()
        elif word.startswith("-"):
            return None
        else:
            paths.append(word)
    if not paths or not (has_command or is_path(paths[0])):
        return None
    return tuple(paths), options


def _plainly(paths: tuple[str, ...], options: Mapping[str, str], folder: str) -> Asked:
    return paths, tuple(f"{name}={options[name]}" for name in sorted(options)), folder


def _is_for_a_reader() -> bool:
    """Whether what is said may be coloured."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def _name(asked: Asked) -> str:
    """The name under which it is kept; what is kept says itself what it is an answer to."""
    return f"again-{crc32(repr(asked).encode(errors='surrogatepass')):08x}"


def _around(asked: Asked) -> Around:
    paths, _, folder = asked
    found: Around = {}
    done: set[str] = set()
    for path in (folder, *(os.path.normpath(os.path.join(folder, each)) for each in paths)):
        while path not in done:
            done.add(path)
            found |= {os.path.join(path, name): stamp(os.path.join(path, name)) for name in SETTINGS}
            found |= {os.path.join(path, name): os.path.exists(os.path.join(path, name)) for name in THERE}
            path = os.path.dirname(path)
    return found


def _is_same(walks: Iterable[Walk], stamps: Mapping[str, Stamp]) -> bool:
    """Whether the projects have the same files, and all that was read is as it was."""
    for root, named, exclude, files in walks:
        found = find([root, *(path for path in named if path != root)], exclude)
        below = tuple(os.path.join(path, "") for path in named)
        is_short = any(os.path.join(each.path, "").startswith(below) for each in found.skipped)
        if found.files != files or is_short:
            return False
    return all(stamp(path) == before for path, before in stamps.items())


def _can_be_told(seen: Mapping[str, Seen]) -> bool:
    """Whether each stamp tells whether what was read is the same; of a notebook, its language decides before."""
    is_told = (before is not None or was_absent((before, digest)) for before, digest in seen.values())
    return all(is_told) and not any(path.endswith(NOTEBOOK) for path in seen)


def _is_settled(stamp: Stamp | bool | None) -> bool:
    return isinstance(stamp, bool) or stamp is None or is_settled(stamp, START)
