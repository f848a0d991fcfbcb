"""Settings that the project keeps in data files: what a call that reads one gives back.

Each value knows the line of the file that it stands in. A file under a fixed path is taken at its word; one whose name
is a default, and one over which the command line is laid, only gives defaults.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator

from trainlint.record import dataclass, replace
from trainlint.source import builtin, files, objects
from trainlint.source.arithmetic import MOST_BITS, assumed_by
from trainlint.source.binding import arguments
from trainlint.source.data.datum import Broken, Datum, Foreign, Mapping, Scalar, Sequence
from trainlint.source.data.formats import SUFFIXES, parse
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import ANY_KEY, Module, dotted, summarize
from trainlint.source.text import Fault
from trainlint.source.things import (
    Arguments,
    Built,
    Class,
    Constant,
    Entries,
    External,
    File,
    Frame,
    Items,
    Method,
    Opaque,
    Thing,
    Thunk,
)  # fmt: skip
from trainlint.source.workspace import Workspace
from trainlint.source.world import World
from trainlint.source.writes import attribute_writes, is_receiver
from trainlint.value import Integer, Step, Unknown

LOADERS = {
    **dict.fromkeys((f"yaml.{name}" for name in ("load", "safe_load", "full_load", "unsafe_load")), "yaml"),
    **dict.fromkeys((f"{name}.load" for name in ("json", "ujson", "simplejson", "commentjson", "json5")), "json"),
    **dict.fromkeys((f"{name}.loads" for name in ("json", "ujson", "simplejson", "orjson")), "json"),
    **dict.fromkeys((f"{name}.load" for name in ("toml", "tomli", "tomllib", "pytoml")), "toml"),
    **dict.fromkeys((f"{name}.loads" for name in ("toml", "tomli", "tomllib", "pytoml")), "toml"),
    "omegaconf.OmegaConf.load": "yaml",
    "yacs.config.CfgNode.load_cfg": "yaml",
}
"""Functions that read a data file, and the format that they read."""

SETTINGS = frozenset(
    {
        "easydict.EasyDict", "addict.Dict", "box.Box", "munch.Munch", "munch.munchify", "munch.Munch.fromDict",
        "munch.DefaultMunch.fromDict", "dotmap.DotMap", "attrdict.AttrDict", "ml_collections.ConfigDict",
        "omegaconf.OmegaConf.create", "omegaconf.OmegaConf.to_container", "omegaconf.OmegaConf.to_object",
        "omegaconf.DictConfig", "yacs.config.CfgNode", "mmcv.ConfigDict", "mmengine.ConfigDict",
    }
)  # fmt: skip
"""Callables that make of a dictionary an object with the same entries as attributes."""

METHODS = frozenset(dir(dict))
READERS = frozenset({"ruamel.yaml.YAML"})
TABLES = frozenset({"builtins.dict", "collections.OrderedDict", "collections.UserDict", *SETTINGS})
NAMESPACES = frozenset({"argparse.Namespace", "types.SimpleNamespace"})
RECORDED = frozenset({"dataclasses.asdict", "attr.asdict", "attrs.asdict", "builtins.vars"})
"""Functions that make a dictionary of the fields of a record."""

MERGES = frozenset({"omegaconf.OmegaConf.merge", "omegaconf.OmegaConf.unsafe_merge"})


def _offset(row: str, column: int) -> int:
    """The bytes in front of a column; a file may be one long row, which is not gone through for each of its values."""
    return min(column - 1, len(row)) if row.isascii() else len(row[: column - 1].encode())


@dataclass(frozen=True, eq=False)
class Reading:
    """A data file as a module that defines nothing, so that its lines can be shown, and what its values rest on."""

    frame: Frame
    assumed: tuple[Step, ...] = ()
    overridable: bool = False

    def node(self, datum: Datum) -> ast.expr:
        """A stand-in with the place of a value; line breaks that only YAML knows put it on the last line."""
        place, rows = datum.place, self.frame.module.rows
        row, end_row = min(place.row, len(rows)), min(place.end_row, len(rows))
        start, end = _offset(rows[row - 1], place.column), _offset(rows[end_row - 1], place.end_column)
        return ast.Constant(None, lineno=row, col_offset=start, end_lineno=end_row, end_col_offset=end)

    def backed(self, value: Integer | Constant, node: ast.expr) -> Thing:
        """A value with its line behind it, and the defaults that it rests on."""
        step = self.frame.step(node)
        assumed = (*self.assumed, step) if self.overridable else self.assumed
        value = value.because(step) if isinstance(value, Integer) else replace(value, evidence=(step,))
        for each in assumed:
            value = assumed_by(value, each)  # type: ignore[assignment]
        return value


def call(world: World, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """A call that reads a data file, or dresses what was read; None where it is neither."""
    if name in LOADERS and given.positional:
        return loaded(world, world.force(given.positional[0]), LOADERS[name], name, node, frame)
    if name in NAMESPACES and given.keywords:
        pairs = tuple((Thunk(each.node, each.frame, Constant(key)), each) for key, each in given.keywords.items())
        return Entries(pairs, _expression(node), frame, whole=not given.double_stars)
    if name in SETTINGS and given.positional:
        first = world.table(world.force(given.positional[0]))
        return first if isinstance(first, Entries | Items) else None
    if name in RECORDED and len(given.positional) == 1:
        return recorded(world, world.force(given.positional[0]), node, frame)
    if name in MERGES and given.positional:
        return _laid_over(world, [world.force(each) for each in given.positional], node, frame)
    return None


def recorded(world: World, record: Thing, node: ast.AST, frame: Frame) -> Entries | None:
    """The fields of a record as a table, records inside of it too."""
    if not isinstance(record, Built) or not isinstance(record.what, Class) or not objects.is_record(world, record.what):
        return None
    hole = _expression(node)
    pairs = []
    for name in objects.fields(world, record.what):
        value = world.attribute(record, name)
        inner = recorded(world, value, node, frame)
        pairs.append((Thunk(hole, frame, Constant(name)), Thunk(hole, frame, inner if inner is not None else value)))
    return Entries(tuple(pairs), hole, frame)


def _expression(node: ast.AST) -> ast.expr:
    return node if isinstance(node, ast.expr) else ast.Constant(None)


def loaded(world: World, source: Thing, format: str, name: str, node: ast.AST, frame: Frame) -> Thing:
    """What reading a file gives: its values, or something that is itself wherever it goes."""
    file = files.found(world, source, frame.module)
    if not isinstance(file, Unknown):
        value = read(world.workspace, file, format)
        if not isinstance(value, Unknown):
            return value
        file = value
    called = f"{name.rpartition('.')[2]}({file.settle})"
    return Opaque(called, f"{name}()@{id(node)}#{frame.number}", file, node=node)


def read(workspace: Workspace, file: files.Found, format: str) -> Thing:
    """A data file as things; Unknown where it cannot be read."""
    key = ("settings", file.path, format, file.assumed)
    known = workspace.answers.get(key)
    if known is None:
        datum = data(workspace, file.path, format)
        if isinstance(datum, Unknown):
            known = datum
        else:
            known = thing(datum, Reading(frame_of(workspace, file.path), file.assumed), os.path.basename(file.path))
        workspace.answers[key] = known
    return known  # type: ignore[return-value]


def overridable(workspace: Workspace, path: str) -> Thing:
    """A YAML file each of whose values is a default, over which a command line may be laid."""
    key = ("overridable", path)
    if key not in workspace.answers:
        datum = data(workspace, path, "yaml")
        reading = Reading(frame_of(workspace, path), overridable=True)
        value = datum if isinstance(datum, Unknown) else thing(datum, reading, os.path.basename(path))
        workspace.answers[key] = value
    return workspace.answers[key]  # type: ignore[return-value]


def data(workspace: Workspace, path: str, format: str = "") -> Datum | Unknown:
    """What a data file holds; its suffix says how it is written, else the function that reads it."""
    key = ("data", path, format)
    known = workspace.answers.get(key)
    if known is None:
        known = workspace.answers[key] = _parsed(workspace, path, format)
    return known  # type: ignore[return-value]


def _parsed(workspace: Workspace, path: str, format: str) -> Datum | Unknown:
    raw = workspace.data(path)
    name = os.path.relpath(path, workspace.root)
    if isinstance(raw, Fault):
        return Unknown(f"{name} is not read: {raw.reason}", name)
    try:
        return parse(raw, SUFFIXES.get(os.path.splitext(path)[1].lower(), format))
    except Broken as broken:
        return Unknown(f"{name}:{broken.row} is not read: {broken.reason}", name)


def frame_of(workspace: Workspace, path: str) -> Frame:
    """The frame of a data file: no name is defined there, but its lines can be shown."""
    raw = workspace.data(path)
    text = raw.decode(errors="replace") if isinstance(raw, bytes) else ""
    rows = tuple(text.splitlines()) or ("",)
    name = os.path.relpath(path, workspace.root).replace(os.sep, "/")
    module = summarize(name, os.path.basename(path), path, ast.Module([], []), rows)
    return Frame(module, number=workspace.number("data", path))


def thing(datum: Datum, reading: Reading, name: str) -> Thing:
    """One value of a data file as what code sees; containers are called by the file and their path in it."""
    node = reading.node(datum)
    match datum:
        case Scalar(value=bool() | None | str() | float() as value):
            return reading.backed(Constant(value), node)
        case Scalar(value=int(number)) if number.bit_length() > MOST_BITS:
            return Unknown("the number is too large to follow")
        case Scalar(value=int(number)):
            return reading.backed(Integer.exact(number), node)
        case Mapping(pairs=pairs):
            keys = [Thunk(node, reading.frame, _key(key)) for key, _ in pairs]
            values = [_thunk(value, reading, f"{name}.{key.value}") for key, value in pairs]
            return Entries(tuple(zip(keys, values, strict=True)), node, reading.frame, name)
        case Sequence(items=items):
            elements = tuple(_thunk(each, reading, f"{name}.{place}") for place, each in enumerate(items))
            return Items(elements, node, reading.frame, name, mutable=True)
        case Foreign(kind=kind):
            return Unknown(f"{kind} in {reading.frame.module.name}:{datum.place.row} is made when it is read")
    raise AssertionError("a datum is one of these")


def attribute(world: World, entries: Entries, name: str) -> Thing:
    """``config.width`` of settings that were made from a table; what the project may write into is not known."""
    if entries.whole and not has(world, entries, name):
        return Method(entries, name)
    writer = _writer(world, name)
    if writer is not None:
        return Unknown(f"{name} of the settings is also written in {writer}", name)
    value = builtin.entry(world, entries, Constant(name))
    for step in _any_writers(world):
        value = assumed_by(value, step)
    return value


def of_object(world: World, built: Built, name: str, found: Thing) -> Thing:
    """An attribute of an object of the project that no class sets: it may come from the table it was made of."""
    unset = isinstance(found, Method) or (isinstance(found, Opaque) and found.why.settle == f"{built.name}.{name}")
    table = held(world, built) if unset else None
    return attribute(world, table, name) if table is not None and has(world, table, name) else found


def has(world: World, entries: Entries, name: str) -> bool:
    """Whether a table has an entry under a text."""
    keys = (world.force(each) for each, _ in entries.pairs)
    return any(isinstance(key, Constant) and key.value == name for key in keys)


def inside(world: World, entries: Entries, name: str) -> Thing | None:
    """What stands under a text, just as it was read; the last entry counts."""
    for key, value in reversed(entries.pairs):
        if isinstance(known := world.force(key), Constant) and known.value == name:
            return world.force(value)
    return None


def _writer(world: World, name: str) -> str | None:
    """A file that writes an attribute of this name on what may be a settings object."""
    key = ("settings written", name)
    if key not in world.workspace.answers:
        world.workspace.answers[key] = None
        world.workspace.answers[key] = next(_writers(world, name), None)
    return world.workspace.answers[key]  # type: ignore[return-value]


def _writers(world: World, name: str) -> Iterator[str]:
    for module in world.workspace.writers(name, ""):
        for target, statement in attribute_writes(module).get(name, ()):
            if not is_receiver(module, target, statement) and _may_be_settings(world, module, target):
                yield module.located(statement, world.workspace.root)


def _may_be_settings(world: World, module: Module, target: ast.expr) -> bool:
    match world.apart().evaluate(target, world.open_frame(module, target)):
        case Class() | File() | Built(what=Class()):
            return False
        case Built(what=External(name=made)):
            return not made.startswith("torch.")
    return True


def _any_writers(world: World) -> tuple[Step, ...]:
    """The statements that write attributes of settings under open names: ``setattr(config, key, value)``."""
    key = ("settings written by any name",)
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        world.workspace.answers[key] = ()
        known = tuple(
            module.step(statement)
            for module in world.workspace.mentions_both("setattr(", "in ")
            for target, statement in attribute_writes(module).get(ANY_KEY, ())
            if isinstance(world.apart().evaluate(target, world.open_frame(module, target)), Entries)
        )
        world.workspace.answers[key] = known
    return known


def _thunk(datum: Datum, reading: Reading, name: str) -> Thunk:
    return Thunk(reading.node(datum), reading.frame, thing(datum, reading, name))


def _key(name: Scalar) -> Thing:
    whole = isinstance(name.value, int) and not isinstance(name.value, bool)
    return Integer.exact(int(name.value)) if whole else Constant(name.value)  # type: ignore[arg-type]


def _laid_over(world: World, layers: list[Thing], node: ast.AST, frame: Frame) -> Thing | None:
    """Settings with others laid over them; what only a run knows may replace any of them."""
    known: Entries | None = None
    doubts: list[Step] = []
    for layer in layers:
        if isinstance(layer, Entries):
            known = over(world, known, layer) if known is not None else layer
        elif known is not None:
            doubts.append(frame.step(_expression(node)))
    if known is None:
        return None
    return doubted(world, known, doubts[0]) if doubts else known


def over(world: World, first: Entries, second: Entries) -> Entries:
    """One table laid over another, tables inside of tables too."""
    below = {each.value: value for name, value in first.pairs if isinstance(each := world.force(name), Constant)}
    pairs = list(first.pairs)
    for name, value in second.pairs:
        key = world.force(name)
        old = below.get(key.value) if isinstance(key, Constant) else None
        inner, under = world.force(value), world.force(old) if old is not None else None
        if isinstance(inner, Entries) and isinstance(under, Entries):
            value = replace(value, known=over(world, under, inner))
        pairs.append((name, value))
    changed = first.changed | second.changed
    return replace(second, pairs=tuple(pairs), whole=first.whole and second.whole, changed=changed)


def doubted(world: World, entries: Entries, step: Step) -> Entries:
    """The same settings as defaults: something may be laid over them."""
    return changed_values(world, entries, lambda value: assumed_by(value, step))


def changed_values(world: World, entries: Entries, change: Callable[[Thing], Thing]) -> Entries:
    """The same table with each value changed, tables inside of it too."""
    pairs = []
    for name, value in entries.pairs:
        inner = world.force(value)
        new = changed_values(world, inner, change) if isinstance(inner, Entries) else change(inner)
        pairs.append((name, replace(value, known=new)))
    return replace(entries, pairs=tuple(pairs))


def held(world: World, built: Built) -> Entries | None:
    """The table that an object of the project takes its attributes and entries from, if it is made from one.

    ``self.__dict__.update(table)``, ``for key, value in table.items(): setattr(self, key, value)``, a class derived
    from ``dict``.
    """
    assert isinstance(built.what, Class), "an object of the project"
    bases = {each.name for each in objects.lineage(world, built.what) if isinstance(each, External)}
    is_table = bool(bases & TABLES)
    init, frame, known = None, None, None
    for owner, frame in objects.initialisers(world, built):
        init = objects.function_of(frame)
        known = known or next(filter(None, _spread(world, owner.module, init, frame)), None)
    if known is not None or not is_table:
        return known
    given = built.arguments
    if init is not None and frame is not None:
        upward = objects.call_of_base(frame.module, init)
        given = arguments(world, upward, frame) if upward is not None else None
    made = builtin.call(world, "dict", given, built.node, built.frame) if given is not None else None
    return made if isinstance(made, Entries) else None


def _spread(world: World, module: Module, init: objects.FunctionDef, frame: Frame) -> Iterator[Entries | None]:
    """The tables that a method writes into the attributes of its object."""
    for node in _spreading(module, init):
        table = world.table(world.evaluate(node, frame))
        yield table if isinstance(table, Entries) else None


def _spreading(module: Module, init: objects.FunctionDef) -> tuple[ast.expr, ...]:
    known = module.kept.get(("spreading", init))
    if not isinstance(known, tuple):
        receiver = init.args.args[0].arg if init.args.args else ""
        known = tuple(table for node in nodes_of(init) if (table := _spread_by(node, receiver)) is not None)
        module.kept["spreading", init] = known
    return known


def _spread_by(node: ast.AST, receiver: str) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Attribute(value=own, attr="update"), args=[table]) if _is_own_dict(own, receiver):
            return table
        case ast.Assign(targets=[own], value=table) if _is_own_dict(own, receiver):
            return None if dotted(table) == receiver else table
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=key), ast.Name()]),
            iter=ast.Call(func=ast.Attribute(value=table, attr="items")),
            body=body,
        ):
            writes = (inner for each in body for inner in nodes_of(each) if isinstance(inner, ast.Call))
            return table if any(_sets(call, receiver, key) for call in writes) else None
    return None


def _is_own_dict(node: ast.expr, receiver: str) -> bool:
    match node:
        case (
            ast.Attribute(value=ast.Name(id=name), attr="__dict__")
            | ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id=name)])
        ):
            return name == receiver
    return False


def _sets(call: ast.Call, receiver: str, key: str) -> bool:
    match call:
        case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=own), ast.Name(id=name), _]):
            return own == receiver and name == key
    return False
