"""What a project says about the versions of a package: its files in, a range of versions and the line out.

A lock file says which version is installed; where there is none, what the project asks for says which may be. The files
next to the asking module come first, then those of the folders above it, up to the root. Where nothing is declared,
the newest version is what a reader of today gets: that is an assumption, and whoever makes it says so.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator

from trainlint.record import record
from trainlint.regex import regex
from trainlint.source.workspace import Workspace
from trainlint.span import Span
from trainlint.value import Step

Version = tuple[int, ...]

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
"""Files in which a tool has written down what is installed."""

WISHES = (
    "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py", "environment.yml", "environment.yaml", "conda.yaml",
    "Pipfile", "requirements/base.txt", "requirements/train.txt", "requirements/main.txt",
    "requirements/requirements.txt", "requirements-train.txt", "requirements_train.txt", "requirements-gpu.txt",
)  # fmt: skip
"""Files in which people write down what a project needs."""

INCLUDES = regex(r"^\s*(?:-r|-c|--requirement|--constraint)[\s=]+(\S+)", re.MULTILINE)
MOST_FILES = 24
"""Files that may be looked at for one package."""

BOUND = regex(r"(===|==|~=|>=|<=|!=|\^|~|>|<|=)?\s*[\"']?v?(\d+(?:\.\d+)*)(\.\*)?")
SPECIFIER = r"\s*(?:\[[^\]]*\])?\s*(?:\(\s*)?(?P<versions>[^;#\n\"']*)"


@record
class Declared:
    """The versions that a project allows: ``lowest`` and from there up to, but without, ``below``; and the line."""

    package: str
    lowest: Version | None
    below: Version | None
    step: Step

    def may_be(self, version: Version) -> bool:
        """Whether the newest version that is allowed is at least this one."""
        return self.below is None or self.below > version

    def must_be(self, version: Version) -> bool:
        """Whether every version that is allowed is at least this one."""
        return self.lowest is not None and self.lowest >= version


def declared(workspace: Workspace, package: str, near: str) -> Declared | None:
    """What the project says about a package, as far as a module at this path is concerned; None if nothing."""
    key = ("declared", package, os.path.dirname(near))
    known = workspace.answers.get(key, ...)
    if known is ...:
        known = workspace.answers[key] = _found(workspace, package, near)
    return known if isinstance(known, Declared) else None


def _found(workspace: Workspace, package: str, near: str) -> Declared | None:
    folders = list(_folders(workspace.root, near))
    for names in (LOCKS, WISHES):
        for folder in folders:
            for path in (os.path.join(folder, name) for name in names):
                found = _in_file(workspace, package, path, MOST_FILES)
                if found is not None:
                    return found
    return None


def _folders(root: str, near: str) -> Iterator[str]:
    """The folder of a file and those above it, up to the root."""
    folder = os.path.dirname(near)
    while len(folder) > len(root) and folder.startswith(root):
        yield folder
        folder = os.path.dirname(folder)
    yield root


def _in_file(workspace: Workspace, package: str, path: str, left: int) -> Declared | None:
    if not workspace.exists(path):
        return None
    data = workspace.data(path)
    text = data.decode(errors="replace") if isinstance(data, bytes) else ""
    found = _in_text(package, path, text)
    if found is not None or not path.endswith(".txt"):
        return found
    others = (os.path.normpath(os.path.join(os.path.dirname(path), name)) for name in INCLUDES.findall(text))
    inside = (each for each in others if each.startswith(os.path.join(workspace.root, "")) and left > 0)
    return next(filter(None, (_in_file(workspace, package, each, left - 1) for each in inside)), None)


def _in_text(package: str, path: str, text: str) -> Declared | None:
    """The first line of a file that says something about a package."""
    wanted = re.sub(r"[-_.]+", "[-_.]+", re.escape(package).replace(r"\-", "-").replace(r"\.", "."))
    for form in _forms(os.path.basename(path), wanted):
        for found in form.finditer(text):
            lowest, below = bounds(found["versions"])
            row = text.count("\n", 0, found.start("package")) + 1
            line = text.splitlines()[row - 1]
            start = len(line) - len(line.lstrip()) + 1
            span = Span(path, row, start, row, len(line.rstrip()) + 1)
            said = found.group(0).strip() if "\n" in found.group(0) else line.strip()
            return Declared(package, lowest, below, Step(" ".join(said.split()).strip(" ,\"'"), span))
    return None


def _forms(name: str, wanted: str) -> Iterator[re.Pattern[str]]:
    """How files of one name write a package and its versions."""
    flags = re.IGNORECASE | re.MULTILINE
    package, quoted = rf"(?P<package>{wanted})", r"[\"'](?P<versions>[^\"']*)"
    if name == "Pipfile.lock":
        yield re.compile(rf"\"{package}\"\s*:\s*\{{[^}}]*?\"version\"\s*:\s*{quoted}", flags)
    elif name in LOCKS:
        yield re.compile(rf"^\s*name\s*=\s*\"{package}\"\s*\n\s*version\s*=\s*{quoted}", flags)
    elif name.endswith((".toml", ".py", "Pipfile")):
        yield re.compile(rf"^[^#\n]*[\"']{package}(?![-\w.]){SPECIFIER}[\"';]", flags)
        if not name.endswith(".py"):
            yield re.compile(rf"^\s*[\"']?{package}[\"']?\s*=\s*(?:\{{[^}}\n]*?version\s*=\s*)?{quoted}", flags)
    else:
        yield re.compile(rf"^\s*(?:-\s+)?[\"']?{package}(?![-\w.]){SPECIFIER}", flags)


def bounds(specifier: str) -> tuple[Version | None, Version | None]:
    """The lowest version and the first that is too high.

    >>> bounds(">=4.40,<5"), bounds("==4.57.1"), bounds("^4.2"), bounds("~=4.30.2"), bounds("4.*")
    (((4, 40), (5,)), ((4, 57, 1), (4, 57, 1, 0)), ((4, 2), (5,)), ((4, 30, 2), (4, 31)), ((4,), (5,)))
    >>> bounds(""), bounds(">=5.0")
    ((None, None), ((5, 0), None))
    """
    lowest: list[Version] = []
    below: list[Version] = []
    for sign, digits, star in BOUND.findall(specifier):
        version = tuple(int(each) for each in digits.split("."))
        if sign in ("==", "===", "=", ""):
            lowest.append(version)
            below.append(_next(version) if star else (*version, 0))
        elif sign in (">=", ">"):
            lowest.append(version)
        elif sign in ("<", "<="):
            below.append(version if sign == "<" else (*version, 0))
        elif sign in ("~=", "~", "^"):
            lowest.append(version)
            below.append(_compatible(sign, version))
    return max(lowest, default=None), min(below, default=None)


def _compatible(sign: str, version: Version) -> Version:
    """The first version that is not compatible any more."""
    if sign == "^":
        first = next((place for place, number in enumerate(version) if number), len(version) - 1)
        return _next(version[: first + 1])
    if sign == "~":
        return _next(version[:2])
    return _next(version[:-1]) if len(version) > 1 else _next(version)


def _next(version: Version) -> Version:
    return (*version[:-1], version[-1] + 1)
