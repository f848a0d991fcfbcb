"""A model in; out, which of its layers compute something else in training than in evaluation."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from trainlint.knowledge.effects import is_zoo
from trainlint.source import objects
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import last
from trainlint.source.things import Built, Class, External, Thing, Thunk
from trainlint.source.world import World

ALWAYS = ("Dropout", "BatchNorm", "AlphaDropout", "FeatureAlphaDropout", "RReLU", "SyncBatchNorm", "DropPath")
"""How the names of layers begin that do, or hold what does."""

BY_DEFAULT = ("Transformer",)
"""Layers of PyTorch with dropout, unless they are told otherwise."""

IF_ASKED = ("LSTM", "GRU", "RNN", "MultiheadAttention", "InstanceNorm")
"""Layers that do if ``dropout`` or ``track_running_stats`` is given."""

WITHOUT_LAYERS = frozenset(
    {*sys.stdlib_module_names, "builtins", "torch", "numpy", "scipy", "pandas", "sklearn", "matplotlib", "PIL", "tqdm"}
)
"""Packages whose classes hold no layers, the layers of ``torch.nn`` apart."""

DEEPEST = 4


def acting(world: World, model: Thing) -> tuple[str, ...] | None:
    """The classes of the layers that act otherwise in training; None where a part of the model is not known."""
    found = set(_layers(world, model, 0))
    return None if None in found else tuple(sorted(filter(None, found)))


def _layers(world: World, thing: Thing, depth: int) -> Iterator[str | None]:
    match thing:
        case _ if depth > DEEPEST:
            yield None
        case Built(what=External(name=name)) if name.startswith("torch.nn."):
            yield from _of_torch(world, thing, name.rpartition(".")[2], depth)
        case Built(what=Class() as cls):
            yield from _of_class(world, cls, depth)
        case _:
            yield None


def _of_torch(world: World, built: Built, word: str, depth: int) -> Iterator[str | None]:
    if word.startswith((*ALWAYS, *BY_DEFAULT)):
        yield word
        return
    given = built.arguments
    if given is None:
        yield None
        return
    if word.startswith(IF_ASKED):
        if {"dropout", "track_running_stats"} & set(given.keywords):
            yield word
        return
    if given.stars or given.double_stars:
        yield None
    if word in ("Sequential", "ModuleList", "DataParallel"):
        for each in given.positional:
            yield from _part(world, each, depth)


def _part(world: World, given: Thunk, depth: int) -> Iterator[str | None]:
    yield from _layers(world, world.force(given), depth + 1)


def _of_class(world: World, cls: Class, depth: int) -> Iterator[str | None]:
    """The layers that a class of the project names: what it calls that may be a layer."""
    for each in objects.lineage(world, cls):
        if isinstance(each, External):
            if not each.name.startswith(("torch.nn.Module", "torch.nn.modules.module", "builtins.")):
                yield None
            continue
        for node in nodes_of(each.node):
            if isinstance(node, ast.Attribute) and node.attr == "training":
                yield each.name
            if isinstance(node, ast.Call):
                yield from _called(world, each, node, depth)


def _called(world: World, cls: Class, node: ast.Call, depth: int) -> Iterator[str | None]:
    word = last(node.func)
    if word.startswith("dropout"):
        yield word
    if not word[:1].isupper():
        yield from (None,) if _is_ready_made(world, cls, node) else ()
        return
    quiet = world.apart()
    frame = quiet.open_frame(cls.module, node)
    thing = quiet.evaluate(node.func, frame)
    match thing:
        case External(name=name) if name.startswith("torch.nn."):
            if word.startswith((*ALWAYS, *BY_DEFAULT)) or (
                word.startswith(IF_ASKED)
                and any(each.arg in ("dropout", "track_running_stats") for each in node.keywords)
            ):
                yield word
        case External(name=name) if name.partition(".")[0] in WITHOUT_LAYERS:
            return
        case Class() if thing.node is not cls.node:
            yield from _of_class(world, thing, depth + 1) if depth < DEEPEST else (None,)
        case _:
            yield None


def _is_ready_made(world: World, cls: Class, node: ast.Call) -> bool:
    """Whether a class takes a whole model out of a library: ``self.encoder = BertModel.from_pretrained(name)``."""
    if not isinstance(cls.module.parents.get(node), ast.Assign):
        return False
    quiet = world.apart()
    thing = quiet.evaluate(node.func, quiet.open_frame(cls.module, node))
    return isinstance(thing, External) and is_zoo(thing.name)


def is_trained_when_made(world: World, model: Thing) -> bool:
    """Whether a model is in training mode when it is made: what a library loads may not be."""
    match model:
        case Built(what=External(name=name)):
            return name.startswith("torch.nn.")
        case Built(what=Class() as cls):
            bases = [each.name for each in objects.lineage(world, cls) if isinstance(each, External)]
            return any(name.endswith("nn.Module") for name in bases) and all(
                "transformers" not in name for name in bases
            )
    return False
