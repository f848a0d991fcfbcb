"""``trainlint init``: a working directory in; its first settings and hook out, as a difference, then into the files."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable, Iterator

from trainlint import config
from trainlint.cli import UsageError
from trainlint.cli.options import Said
from trainlint.config import ConfigError
from trainlint.record import dataclass
from trainlint.regex import regex

PYPROJECT, OWN, HOOKS = "pyproject.toml", "trainlint.toml", ".pre-commit-config.yaml"

SETTINGS = """\
# fail-on = "error"                     # warnings do not fail a run; "warning" is the default
# exclude = ["third_party"]             # patterns as in a .gitignore
# values = { "cfg.vocab_size" = 1025 }  # numbers that only a run knows
# `trainlint config` names every setting.
"""

HOOK = {
    "id": "trainlint",
    "name": "trainlint",
    "entry": "trainlint check --hook",
    "language": "system",
    "types_or": "[python, pyi, jupyter]",
    "require_serial": "true",
}
"""The hook of the manifest, run by the trainlint that is installed beside the project."""

REPOS = regex(r"^repos:[ \t]*(?:#.*)?\n(?P<entries>(?:[ \t#-].*\n|\n)*)", re.MULTILINE)
ENTRY = regex(r"^(?P<indent> *)-(?P<gap> +)repo:", re.MULTILINE)
AFTER = regex(r"(?:^(?:#.*|[ \t]*)\n)*\Z", re.MULTILINE)
"""Blank lines and comments of the first column behind the last entry, which may speak of what comes next."""


@dataclass(frozen=True)
class Change:
    """A file, what it holds and what it is to hold; a new one holds nothing."""

    name: str
    before: str
    after: str

    def lines(self) -> Iterator[str]:
        """A unified difference, as patch reads it."""
        old = self.name if self.before else os.devnull
        pair = (self.before.splitlines(keepends=True), self.after.splitlines(keepends=True))
        for line in difflib.unified_diff(*pair, old, self.name):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Show what would be written; write it where somebody says so."""
    if arguments:
        raise UsageError(f"init works in the working directory and takes no path: cd {arguments[0]}")
    try:
        changes = [*_settings(), *_hook()]
    except ConfigError as error:
        raise UsageError(str(error)) from error
    if not changes:
        _say("nothing to add: the settings are there, and so is the hook where there is a pre-commit")
        return 0
    for change in changes:
        sys.stdout.writelines(change.lines())
    sys.stdout.flush()
    names = " and ".join(change.name for change in changes)
    if "write" in said or _agreed(f"Write {names}? [y/N] "):
        _write(changes)
        _say(f"{names} written; next: trainlint, or trainlint baseline write to hear of new findings only")
    else:
        _say("nothing written; trainlint init --write writes it")
    return 0


def _settings() -> Iterator[Change]:
    """The table of settings, where this folder has none."""
    folder = os.getcwd()
    there = config.nearest(folder)
    if there and there.folder == folder:
        return
    before = _text(PYPROJECT)
    if before is None:
        yield Change(OWN, "", SETTINGS)
        return
    config.from_file(os.path.join(folder, PYPROJECT))
    after = _ended(before, "\n[tool.trainlint]\n" + SETTINGS)
    try:
        config.from_text(after, folder)
    except ConfigError as error:
        raise UsageError(f"{PYPROJECT}: no [tool.trainlint] can be added behind what stands there") from error
    yield Change(PYPROJECT, before, after)


def _hook() -> Iterator[Change]:
    """The hook, where pre-commit is in use and knows nothing of trainlint."""
    before = _text(HOOKS)
    if before is None or "trainlint" in before:
        return
    whole = _ended(before, "")
    repos = REPOS.search(whole.replace("\r\n", "\n"))
    first = ENTRY.search(repos["entries"]) if repos else None
    if repos is None or first is None:
        _say(f"{HOOKS}: no list of repos as pre-commit writes it, so nothing is added; the hook is\n{_entry('', ' ')}")
        return
    text = repos.string
    behind = AFTER.search(text, repos.start("entries"), repos.end())
    place = behind.start() if behind else repos.end()
    after = f"{text[:place]}{_entry(first['indent'], first['gap'])}{text[place:]}"
    yield Change(HOOKS, before, after.replace("\n", "\r\n") if "\r\n" in before else after)


def _entry(indent: str, gap: str) -> str:
    """The entry of the hook, laid out as the other entries are."""
    inner = f"{indent} {' ' * len(gap)}"
    first, *others = (f"{key}: {value}" for key, value in HOOK.items())
    keys = [f"{inner}-{gap}{first}", *(f"{inner} {' ' * len(gap)}{each}" for each in others)]
    return "".join(f"{line}\n" for line in (f"{indent}-{gap}repo: local", f"{inner}hooks:", *keys))


def _ended(text: str, more: str) -> str:
    """The text with more behind it, in the ends of lines that it has."""
    end = "\r\n" if "\r\n" in text else "\n"
    closed = text if not text or text.endswith("\n") else text + end
    return closed + more.replace("\n", end)


def _text(name: str) -> str | None:
    """What a file of the working directory says; None where there is none."""
    try:
        with open(name, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: {error.strerror if isinstance(error, OSError) else 'not UTF-8'}") from error


def _agreed(question: str) -> bool:
    """Whether somebody at a terminal says yes; nobody else is asked."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input(question).strip().lower() in {"y", "yes"}
    except EOFError:
        return False


def _write(changes: Iterable[Change]) -> None:
    from trainlint.fix import NotWritten, write

    for change in changes:
        try:
            if change.before:
                write(change.name, change.before.encode(), change.after.encode())
            else:
                with open(change.name, "x", encoding="utf-8", newline="") as file:
                    file.write(change.after)
        except (NotWritten, OSError) as error:
            raise UsageError(f"{change.name}: not written: {error}") from error


def _say(line: str) -> None:
    print(line, file=sys.stderr)
