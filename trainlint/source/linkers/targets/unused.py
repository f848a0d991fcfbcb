"""Sentinels that an object keeps or a function accepts, and that its own loss is never given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import UnusedSentinel
from trainlint.knowledge import torch
from trainlint.knowledge.roles import words
from trainlint.regex import regex
from trainlint.source import callers, objects
from trainlint.source.binding import declared
from trainlint.source.linkers.site import Applied, Site, application, deciding, standing
from trainlint.source.sift.targets import keeps_sentinel
from trainlint.source.summary import Module, last
from trainlint.source.things import Class, Constant, External, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Integer

LOSSES = {known.name for known in (*torch.LOSS_FUNCTIONS, *torch.LOSS_CLASSES)}
DEFAULT = Integer.exact(-100)
PLAIN_BASES = frozenset(
    {
        "torch.nn.Module", "torch.nn._Loss", "torch.nn._WeightedLoss", "torch.nn.modules.loss._Loss", "abc.ABC",
        "torch.nn.modules.loss._WeightedLoss", "builtins.object", "typing.Generic", "pytorch_lightning.LightningModule",
        "lightning.LightningModule", "lightning.pytorch.LightningModule",
    }
)  # fmt: skip
"""Bases that read no sentinel of their own."""

SETTINGS = frozenset({"cfg", "config", "conf", "args", "opt", "opts", "options", "params", "hparams", "settings"})
"""An attribute of these is not the one that an object keeps."""

OPENING = frozenset({"vars", "locals", "asdict", "getattr", "__dict__"})
"""What may read an attribute without naming it."""

CHOOSING = frozenset({"ne", "eq", "gt", "ge", "lt", "le", "masked_fill", "masked_fill_", "masked_select", "where"})
"""Calls by which some targets are told from others."""

SENTINEL_NAME = regex(r"ignored?_(?:index|idx|label|id)|pad(?:ding)?_(?:index|idx|id|token_id)")
"""What a loss calls the class that it leaves out."""

HOLDER = regex("Loss|Criterion|CrossEntropy|Smoothing")
"""A class that is a loss says so."""

SMOOTH = frozenset({"log_softmax", "logsumexp", "nll", "gather"})
"""A loss that is written by hand takes the logarithm of a softmax, or picks the targets out of it."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The statements that keep a sentinel, and the functions that accept one without reading it."""
    if not keeps_sentinel(module.data):
        return
    keeps = any(SENTINEL_NAME.fullmatch(name) for name in module.attributes)
    for nodes in module.definitions.values():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                yield from (Site(store, module) for store in (_stores(node) if keeps else ()))
            elif any(SENTINEL_NAME.fullmatch(name) for name in declared(node)) and not _is_stub(module, node):
                yield Site(node, module)


def _stores(node: ast.ClassDef) -> Iterator[ast.Assign]:
    """``self.ignore_index = ...`` in ``__init__``."""
    init = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    for each in ast.walk(init) if init is not None else ():
        match each:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]) if _counts(name, node.name):
                yield each


def _counts(name: str, holder: str) -> bool:
    """Whether a name is that of a sentinel: a padding index is one only in a loss."""
    found = SENTINEL_NAME.fullmatch(name)
    return found is not None and (name.startswith("ignore") or HOLDER.search(holder) is not None)


def _is_stub(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a definition only names its parameters, or is made into something else."""
    first = [each for each in node.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    return not first or isinstance(first[0], ast.Pass | ast.Raise) or bool(node.decorator_list)


def facts(world: World, site: Site) -> Iterator[UnusedSentinel]:
    """A sentinel that is kept or accepted here, at each loss that lacks it."""
    match site.node:
        case ast.Assign() as store:
            yield from _kept(world, site, store)
        case ast.FunctionDef() | ast.AsyncFunctionDef() as function:
            yield from _accepted(world, site, function)


def _kept(world: World, site: Site, store: ast.Assign) -> Iterator[UnusedSentinel]:
    module, target = site.module, store.targets[0]
    init = module.scope(store)
    node = module.parents.get(init)
    assert isinstance(target, ast.Attribute), "a store into an attribute"
    if not isinstance(node, ast.ClassDef):
        return
    cls = Class(node, module, world.open_frame(module, node))
    if not _is_plain(world, cls) or _is_read(world, cls, target.attr) or _goes_on(init, store):
        return
    value = world.evaluate(store.value, standing(world, site))
    yield from _lacking(world, site, node, target.attr, store, value)


def _accepted(world: World, site: Site, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[UnusedSentinel]:
    module = site.module
    holder = module.parents.get(function)
    cls = Class(holder, module, world.open_frame(module, holder)) if isinstance(holder, ast.ClassDef) else None
    if cls is not None and (not _is_plain(world, cls) or _overrides(world, cls, function)):
        return
    for name, place in declared(function).items():
        if SENTINEL_NAME.fullmatch(name) and name.startswith("ignore") and not _reads(function, name):
            body = Site(function.body[0], module)
            value = world.lookup(name, body.node, standing(world, body))
            within = cls.node if cls is not None and function.name == "__init__" else function
            yield from _lacking(world, site, within, name, place, value)


def _is_plain(world: World, cls: Class) -> bool:
    """Whether no library's base class may read what an object keeps."""
    return all(_is_plain_base(world, each, base) for each in _classes(world, cls) for base in each.node.bases)


def _is_plain_base(world: World, cls: Class, base: ast.expr) -> bool:
    thing = world.apart().evaluate(base.value if isinstance(base, ast.Subscript) else base, cls.outer)
    return isinstance(thing, Class) or (isinstance(thing, External) and thing.name in PLAIN_BASES)


def _classes(world: World, cls: Class) -> list[Class]:
    """A class and its bases in the project."""
    return [each for each in objects.lineage(world, cls) if isinstance(each, Class)]


def _overrides(world: World, cls: Class, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether another class of the family has the method too: then the parameter may be there for the others."""
    if function.name == "__init__":
        return False
    family = [*_classes(world, cls)[1:], *callers.subclasses(world, cls)]
    return any(function.name in objects.methods(each) for each in family)


def _is_read(world: World, cls: Class, name: str) -> bool:
    """Whether anything of the project reads an attribute of these objects, by its name or with all others."""
    family = [*_classes(world, cls), *callers.subclasses(world, cls)]
    return any(_opens(each.node, name) for each in family) or _is_read_outside(world, name)


def _opens(node: ast.ClassDef, name: str) -> bool:
    for each in ast.walk(node):
        match each:
            case ast.Attribute(value=value, attr=attr, ctx=ast.Load()) if attr == name and last(value) not in SETTINGS:
                return True
            case ast.Attribute(attr=word) | ast.Name(id=word) if word in OPENING:
                return True
    return False


def _is_read_outside(world: World, name: str) -> bool:
    key = ("read outside", name)
    known = world.workspace.answers.get(key)
    if not isinstance(known, bool):
        pattern = (
            rb"(\w+)(?:\([^()]*\)|\[[^][]*\])?\.%(name)b(?![\w\x80-\xff])(?!\s*=[^=])|getattr\(\s*(?:[\w.]*\.)?(\w+)\s*,\s*[\"']%(name)b[\"']"
            % {b"name": name.encode()}
        )
        found = (match for data in world.workspace.matching(pattern, name) for match in re.finditer(pattern, data))
        roots = (match[1] or match[2] for match in found)
        known = any(root.decode(errors="replace") not in SETTINGS | {"self", "cls"} for root in roots)
        world.workspace.answers[key] = known
    return known


def _goes_on(init: ast.AST, store: ast.Assign) -> bool:
    """Whether what is kept is also given to something else in ``__init__``."""
    inside = set(ast.walk(store))
    said = {each.id for each in inside if isinstance(each, ast.Name) and each.id != "self"} - SETTINGS
    return any(isinstance(each, ast.Name) and each.id in said and each not in inside for each in ast.walk(init))


def _reads(function: ast.AST, name: str) -> bool:
    words = {name, *OPENING - {"getattr"}}
    return any(isinstance(each, ast.Name) and each.id in words for each in ast.walk(function))


def _lacking(
    world: World, site: Site, holder: ast.AST, name: str, kept: ast.stmt | ast.arg, value: Thing
) -> Iterator[UnusedSentinel]:
    """The losses of a class or function that are given no sentinel, if all of its losses are known."""
    if isinstance(value, Constant) and value.value is None:
        return
    losses = _losses(world, site.module, holder)
    if losses is None:
        return
    owner = getattr(holder, "name", "")
    places = [(site.module.span(call), applied.name.rpartition(".")[2]) for call, applied in losses]
    if not places and isinstance(holder, ast.ClassDef):
        places = [(site.module.span(node), "") for node in _by_hand(holder)]
    step = site.module.step(kept)
    for place, function in places:
        yield UnusedSentinel(place, place, None, (), (), owner, name, step, world.integer(value), function)


def _losses(world: World, module: Module, holder: ast.AST) -> list[tuple[ast.Call, Applied]] | None:
    """The losses of PyTorch that a class or function makes or calls; None if one is open, masked, or has its own."""
    found: list[tuple[ast.Call, Applied]] = []
    for call in ast.walk(holder):
        if not isinstance(call, ast.Call) or not _sounds_like_a_loss(last(call.func)):
            continue
        quiet, frame = world.apart(), world.open_frame(module, call)
        called = quiet.evaluate(call.func, frame)
        applied = application(quiet, called, call, frame, LOSSES)
        if applied is None:
            if isinstance(called, External) and called.name.startswith("torch."):
                continue
            return None
        if deciding(applied, "ignore_index") is not None or _is_masked(quiet, applied):
            return None
        if applied.built is None:
            found.append((call, applied))
    return found


def _sounds_like_a_loss(name: str) -> bool:
    return bool({"loss", "losses", "criterion", "criteria", "crit", "entropy", "ce", "nll"} & set(words(name)))


def _is_masked(world: World, applied: Applied) -> bool:
    """Whether the loss of each place is kept apart, or classes are weighted: what counts may be decided there."""
    if deciding(applied, "weight") is not None:
        return True
    given = [deciding(applied, name) for name in ("reduction", "reduce")]
    things = [world.force(each) if isinstance(each, Thunk) else each for each in given if each is not None]
    return any(not (isinstance(each, Constant) and each.value in ("mean", "sum", True)) for each in things)


def _by_hand(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """What a loss returns that is written out, and that leaves no target out."""
    forward = next((each for each in node.body if getattr(each, "name", "") in ("forward", "__call__")), None)
    if not isinstance(forward, ast.FunctionDef) or len(forward.args.args) < 3 or not HOLDER.search(node.name):
        return
    said = {last(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
    if said & SMOOTH and not said & CHOOSING and not any(_chooses(each) for each in ast.walk(forward)):
        yield from (each for each in ast.walk(forward) if isinstance(each, ast.Return) and each.value is not None)


def _chooses(node: ast.AST) -> bool:
    """Whether some targets may be told from others: by a comparison with a number, by a mask, by a weight."""
    match node:
        case ast.Compare(comparators=[ast.Constant(value=str() | None)]):
            return False
        case ast.Compare():
            return True
        case ast.arg(arg=name) | ast.Name(id=name) | ast.Attribute(attr=name):
            return bool({"mask", "masks", "weight", "weights", "valid", "lengths", "keep"} & set(words(name)))
    return False
