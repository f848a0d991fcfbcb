"""Paths as training code writes them, and the files of the project that they name.

A path is the text that it is written as. A file that is open, and the text read from it, are the call of ``open``.
"""

from __future__ import annotations

import ast
import os

from trainlint.record import thing
from trainlint.source.arithmetic import LONGEST_TEXT
from trainlint.source.summary import Module
from trainlint.source.text import Fault
from trainlint.source.things import (
    Arguments,
    Built,
    Constant,
    External,
    Frame,
    Items,
    Opaque,
    Thing,
    Thunk,
)  # fmt: skip
from trainlint.source.workspace import Workspace
from trainlint.source.world import World
from trainlint.value import Integer, Step, Unknown

OPENED = External("builtins.open")
OPENERS = frozenset({"builtins.open", "io.open", "codecs.open", "smart_open.open", "fsspec.open"})
PATHS = frozenset(f"pathlib.{name}" for name in ("Path", "PurePath", "PosixPath", "PurePosixPath"))
JOINS = PATHS | {"os.path.join", "posixpath.join"}
SAME = frozenset(f"os.path.{name}" for name in ("abspath", "realpath", "normpath", "expanduser", "expandvars"))
SAME |= {"os.fspath", "hydra.utils.to_absolute_path"}
HERE = frozenset({"os.getcwd", "pathlib.Path.cwd", "hydra.utils.get_original_cwd"})
SAME_METHODS = frozenset({"resolve", "absolute", "expanduser", "as_posix", "strip", "__str__", "__fspath__"})
CUTS = frozenset({"os.path.dirname", "os.path.basename"})
READS = frozenset({"read", "readlines", "read_text", "read_bytes", "__enter__"})
PARTS = frozenset({"parent", "parents", "stem"})
MOST_PARENTS = 16


def call(world: World, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """A function that makes a path or opens a file; None where it is none."""
    if name in OPENERS:
        return Built(OPENED, given, node, frame)
    if name in HERE:
        return Constant(".")
    if name in JOINS and given.positional and not given.stars:
        return joined(*map(world.force, given.positional))
    first = world.force(given.positional[0]) if given.positional and name in SAME | CUTS else None
    if not isinstance(first, Constant) or not isinstance(first.value, str):
        return None
    if name in SAME:
        return first
    if name == "os.path.dirname":
        return _changed(first, os.path.dirname(first.value))
    return _changed(first, os.path.basename(first.value)) if name == "os.path.basename" else None


def joined(*parts: Thing) -> Thing | None:
    """Parts of a path as one; None where one of them is not known."""
    texts = [part.value for part in parts if isinstance(part, Constant) and isinstance(part.value, str)]
    if len(texts) < len(parts) or sum(map(len, texts)) > LONGEST_TEXT:
        return None
    known = [part for part in parts if isinstance(part, Constant)]
    return Constant(os.path.join(*texts), _steps(known, "evidence"), _steps(known, "assumed"))


def _steps(parts: list[Constant], kind: str) -> tuple[Step, ...]:
    return tuple(dict.fromkeys(step for part in parts for step in getattr(part, kind)))


def _changed(path: Constant, text: str) -> Constant:
    return Constant(text, path.evidence, path.assumed)


def part(path: Constant, name: str) -> Thing:
    """``path.parent`` and its kin."""
    assert isinstance(path.value, str), "a path is a text"
    if name == "stem":
        return _changed(path, os.path.splitext(os.path.basename(path.value))[0])
    above = [os.path.dirname(path.value)]
    while len(above) < MOST_PARENTS and os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    if name == "parent":
        return _changed(path, above[0])
    nowhere, hole = Frame(None), ast.Constant(None)  # type: ignore[arg-type]
    return Items(tuple(Thunk(hole, nowhere, _changed(path, each)) for each in above), hole, nowhere)


def method(world: World, path: Constant, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """A method of a path; None where it is none, or makes what is not followed."""
    assert isinstance(path.value, str), "a path is a text"
    if name in SAME_METHODS and not given.positional:
        return path
    if name == "open" or name in READS:
        return Built(OPENED, Arguments((Thunk(ast.Constant(None), frame, path),)), node, frame)
    others = [world.force(each) for each in given.positional]
    if name == "joinpath" and others:
        return joined(path, *others)
    match name, others:
        case "with_suffix", [Constant(value=str(suffix))]:
            return _changed(path, os.path.splitext(path.value)[0] + suffix)
        case "with_name", [Constant(value=str(last))]:
            return _changed(path, os.path.join(os.path.dirname(path.value), last))
    return None


def formatted(world: World, node: ast.JoinedStr, frame: Frame) -> Thing:
    """An f-string whose parts are all known."""
    parts: list[Constant] = []
    for each in node.values:
        thing = world.evaluate(each.value if isinstance(each, ast.FormattedValue) else each, frame)
        plain = not isinstance(each, ast.FormattedValue) or (each.format_spec is None and each.conversion == -1)
        if isinstance(thing, Integer) and thing.number is not None and thing.number.bit_length() < 512:
            thing = Constant(str(thing.number), thing.evidence, thing.assumed)
        if not (plain and isinstance(thing, Constant) and isinstance(thing.value, str)):
            return Unknown("the text is put together when it runs")
        parts.append(thing)
    text = "".join(str(part.value) for part in parts)
    if len(text) > LONGEST_TEXT:
        return Unknown("a long string")
    return Constant(text, _steps(parts, "evidence"), _steps(parts, "assumed"))


@thing
class Found:
    """A file or folder of the project: its absolute path, and the defaults that its name rests on."""

    path: str
    assumed: tuple[Step, ...] = ()


def path_of(world: World, thing: Thing) -> Thing:
    """The path of what may be an open file, or a path itself."""
    while isinstance(thing, Built) and thing.what is OPENED:
        given = thing.arguments
        first = given.positional[0] if given and given.positional else given.keywords.get("file") if given else None
        if first is None:
            return Unknown("which file is opened is not known")
        thing = world.force(first)
    return thing


def found(world: World, thing: Thing, module: Module) -> Found | Unknown:
    """The file of the project that a path names, as a script of the asking module would find it."""
    path = path_of(world, thing)
    if not isinstance(path, Constant) or not isinstance(path.value, str):
        return _undecided(path)
    places = [each for each in _places(world.workspace, path.value, module) if world.workspace.exists(each)]
    if not places:
        return Unknown(f"{path.value} is not in the project", path.value)
    if len(places) > 1 and len({_bytes(world.workspace, each) for each in places}) > 1:
        return Unknown(f"which {path.value} is read depends on the working folder", path.value)
    return Found(places[0], path.assumed)


def _bytes(workspace: Workspace, path: str) -> bytes | str:
    data = workspace.data(path)
    return path if isinstance(data, Fault) else data


def _undecided(path: Thing) -> Unknown:
    if isinstance(path, Opaque) and path.name.startswith("args."):
        option = f"--{path.name.removeprefix('args.')}"
        return Unknown(f"{option} decides which file is read", option)
    if isinstance(path, Opaque):
        return Unknown(f"{path.name} decides which file is read", path.name)
    return Unknown("which file is read is decided when it runs")


def _places(workspace: Workspace, path: str, module: Module) -> list[str]:
    """Where a path may lead: from the root of the project, from the folder of the script, from those between."""
    root = workspace.root
    starts = [root]
    folder = os.path.dirname(module.path)
    while len(folder) > len(root) and folder.startswith(root):
        starts.append(folder)
        folder = os.path.dirname(folder)
    every = (os.path.normpath(os.path.join(start, path)) for start in starts)
    return [each for each in dict.fromkeys(every) if each.startswith(os.path.join(root, ""))]
