"""Hydra: the settings that ``@hydra.main`` hands to a function, and the objects that ``instantiate`` makes of them.

A command line may replace each of these values, so they are defaults.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from trainlint.record import dataclass, replace
from trainlint.regex import regex
from trainlint.source import builtin, settings
from trainlint.source.binding import argument, arguments
from trainlint.source.summary import dotted
from trainlint.source.things import (
    Arguments,
    Constant,
    Entries,
    External,
    File,
    Frame,
    Items,
    Partial,
    Thing,
    Thunk,
)  # fmt: skip
from trainlint.source.world import World
from trainlint.value import Unknown

MAIN = "hydra.main"
PARAMETERS = ("config_path", "config_name", "version_base")
MAKERS = frozenset(
    {"hydra.utils.instantiate", "hydra.utils.call", "hydra._internal.instantiate._instantiate2.instantiate"}
)
LOOKUPS = frozenset({"hydra.utils.get_class", "hydra.utils.get_method", "hydra.utils.get_object"})
MOST_FILES = 64
PACKAGE = regex(rb"\A(?:\s*#[^\n]*\n)*?\s*#\s*@package\s+(\S+)")
REFERENCE = regex(r"\$\{([\w.]+)\}")
OWN = "_self_"
GLOBAL = "_global_"
FIRST_OF_ITSELF = (None, "1.0", "1.1")
"""Versions of Hydra's rules by which a file without ``_self_`` is laid under its own defaults."""


def parameter(world: World, name: str, frame: Frame) -> Thing | None:
    """The settings that Hydra passes to a decorated function; None for any other parameter."""
    function = frame.function
    if not isinstance(function, ast.FunctionDef) or not function.decorator_list or not function.args.args:
        return None
    if function.args.args[0].arg != name:
        return None
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and (dotted(mark.func) or "").endswith("main"):
            outside = frame.outer or world.module_frame(frame.module)
            thing = world.evaluate(mark.func, outside)
            if isinstance(thing, External) and thing.name == MAIN:
                return _configured(world, arguments(world, mark, outside), frame)
    return None


def _configured(world: World, given: Arguments, frame: Frame) -> Thing | None:
    """What is composed for the arguments of ``hydra.main``; None where they do not say."""
    path, name, version = (_text(world, given, each) for each in PARAMETERS)
    if path is None or name is None:
        return None
    folder = os.path.normpath(os.path.join(os.path.dirname(frame.module.path), path))
    composer = _Composer(world, folder, version in FIRST_OF_ITSELF)
    composed = composer.file("", name)
    return _resolved(world, composed, composed) if isinstance(composed, Entries) else None


def _text(world: World, given: Arguments, name: str) -> str | None:
    found = argument(given, PARAMETERS, name)
    thing = world.force(found) if isinstance(found, Thunk) else None
    if name == "version_base" and found is not None:
        return thing.value if isinstance(thing, Constant) and isinstance(thing.value, str) else ""
    return thing.value if isinstance(thing, Constant) and isinstance(thing.value, str) else None


@dataclass
class _Composer:
    """A folder of settings that lay each other over: its files by group and option."""

    world: World
    folder: str
    first: bool
    left: int = MOST_FILES

    def file(self, group: str, option: str) -> Entries | Unknown:
        """One file with its defaults list, as it stands in the whole."""
        name = option if option.endswith((".yaml", ".yml")) else f"{option}.yaml"
        path = os.path.normpath(os.path.join(self.folder, group, name))
        self.left -= 1
        read = self._read(path)
        if isinstance(read, Unknown):
            return read
        layers: list[Entries] = []
        listed = list(self._listed(read))
        own = _without_defaults(self.world, read)
        package = self._package(path, group)
        if OWN not in listed:
            listed = [OWN, *listed] if self.first else [*listed, OWN]
        for each in listed:
            found = _nested(own, package) if each == OWN else self._option(group, each)
            if isinstance(found, Unknown):
                return found
            layers += [found] if found is not None else []
        whole = layers[0]
        for layer in layers[1:]:
            whole = settings.over(self.world, whole, layer)
        return whole

    def _read(self, path: str) -> Entries | Unknown:
        inside = path.startswith(os.path.join(self.world.workspace.root, ""))
        if not inside or self.left < 0:
            return Unknown(f"{os.path.basename(path)} is not in the project")
        read = settings.overridable(self.world.workspace, path)
        return read if isinstance(read, Entries | Unknown) else Unknown("it is no table")

    def _package(self, path: str, group: str) -> tuple[str, ...]:
        """Where in the whole a file stands: under its group, unless its head says something else."""
        raw = self.world.workspace.data(path)
        head = PACKAGE.match(raw) if isinstance(raw, bytes) else None
        said = head[1].decode(errors="replace") if head else "_group_"
        if said == GLOBAL:
            return ()
        return tuple(group.split("/")) if said == "_group_" and group else tuple(said.split(".")) if head else ()

    def _listed(self, read: Entries) -> Iterator[str | tuple[str, str]]:
        """The entries of the defaults list: ``_self_``, a file beside this one, or a group and its option."""
        listed = settings.inside(self.world, read, "defaults")
        for each in listed.elements if isinstance(listed, Items) else ():
            thing = self.world.force(each)
            if isinstance(thing, Constant) and isinstance(thing.value, str):
                yield OWN if thing.value == OWN else ("", thing.value)
            for key, value in thing.pairs if isinstance(thing, Entries) else ():
                group, option = self.world.force(key), self.world.force(value)
                if isinstance(group, Constant) and isinstance(option, Constant) and isinstance(option.value, str):
                    yield str(group.value), option.value

    def _option(self, around: str, entry: str | tuple[str, str]) -> Entries | Unknown | None:
        assert not isinstance(entry, str), "only _self_ is a bare word"
        group, option = entry
        word, _, rest = group.rpartition(" ")
        if word == "override" or rest.partition("/")[0] == "hydra":
            return None if rest.partition("/")[0] == "hydra" else Unknown("a defaults list overrides another one")
        rest, _, package = rest.partition("@")
        if package:
            return Unknown("a defaults list moves a group to another place")
        inner = "/".join(part for part in (around, rest) if part)
        folder, _, name = option.rpartition("/")
        found = self.file("/".join(part for part in (inner, folder) if part), name)
        return None if word == "optional" and isinstance(found, Unknown) else found


def _without_defaults(world: World, read: Entries) -> Entries:
    pairs = [
        (key, value)
        for key, value in read.pairs
        if not (isinstance(name := world.force(key), Constant) and name.value == "defaults")
    ]
    return replace(read, pairs=tuple(pairs))


def _nested(entries: Entries, package: tuple[str, ...]) -> Entries:
    """Settings put under the names of their group."""
    for name in reversed(package):
        key, value = (Thunk(entries.node, entries.frame, each) for each in (Constant(name), entries))
        entries = replace(entries, pairs=((key, value),))
    return entries


def _resolved(world: World, entries: Entries, root: Entries) -> Entries:
    """``${model.width}`` replaced by what stands there; what is computed is not known."""

    def resolve(value: Thing) -> Thing:
        if not isinstance(value, Constant) or not isinstance(value.value, str) or "${" not in value.value:
            return value
        whole = REFERENCE.fullmatch(value.value)
        found = _at(world, root, whole[1]) if whole else None
        is_text = isinstance(found, Constant) and "${" in str(found.value)
        return found if found is not None and not is_text else Unknown(f"{value.value} is put together when it runs")

    return settings.changed_values(world, entries, resolve)


def _at(world: World, root: Entries, path: str) -> Thing | None:
    found: Thing | None = root
    for part in path.split("."):
        table = found if isinstance(found, Entries) and settings.has(world, found, part) else None
        found = builtin.entry(world, table, Constant(part)) if table is not None else None
    return found


def call(world: World, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """``instantiate`` and its kin; None for anything else."""
    if name not in MAKERS | LOOKUPS or not given.positional:
        return None
    first = world.force(given.positional[0])
    if name in LOOKUPS:
        return _object(world, first, frame)
    return _made(world, first, given, node, frame) if isinstance(first, Entries) else None


def _object(world: World, path: Thing, frame: Frame) -> Thing | None:
    """What a dotted name stands for."""
    if not isinstance(path, Constant) or not isinstance(path.value, str):
        return None
    home, _, last = path.value.rpartition(".")
    module = world.workspace.find(home, frame.module)
    return world.attribute(File(module), last) if module else External(path.value)


def _made(world: World, table: Entries, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """The object of ``_target_``, made of the other entries; those that the call itself passes count more."""
    entries = {str(name.value): value for key, value in table.pairs if isinstance(name := world.force(key), Constant)}
    target = _object(world, world.force(entries["_target_"]), frame) if "_target_" in entries else None
    if target is None or not table.whole:
        return None
    own = {name: _inner(world, value, node, frame) for name, value in entries.items() if not name.startswith("_")}
    passed = replace(given, positional=given.positional[1:], keywords={**own, **given.keywords})
    partial = world.force(entries["_partial_"]) if "_partial_" in entries else Constant(False)
    if isinstance(partial, Constant) and partial.value is True and isinstance(node, ast.Call):
        return Partial(target, passed, node, frame)
    number = world.workspace.number("instantiated", id(table.node), id(node), frame.number)
    return world.call(target, passed, node, replace(frame, number=number))


def _inner(world: World, value: Thunk, node: ast.AST, frame: Frame) -> Thunk:
    """An entry that describes an object is that object."""
    thing = world.force(value)
    made = _made(world, thing, Arguments((value,)), node, frame) if isinstance(thing, Entries) else None
    return replace(value, known=made) if made is not None else value
