"""Embeddings with a padding index, and the layers that are as wide as their vocabulary."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Embedding, Fact, Job, LabelledLayer, Layer, Service
from trainlint.knowledge import SIGNATURES, torch
from trainlint.source import jobs, lookups
from trainlint.source.binding import argument, arguments
from trainlint.source.linkers.site import Site, call_of, lines, named, number_of, place_of, standing
from trainlint.source.linkers.targets.labels import is_vocabulary, served
from trainlint.source.sift.targets import PADDED
from trainlint.source.summary import Module
from trainlint.source.things import Built, Frame, Tensor, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Integer, Position, Proof, Table, Unknown

EMBEDDING = "torch.nn.Embedding"
HEADS = {name.rpartition(".")[2] for name in torch.LAYERS}
NONE = Unknown("no padding index is given")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The embeddings of a file that are given a padding index by its name."""
    for node, _ in named(module, {"Embedding"}):
        call = call_of(module, node)
        if call is not None and PADDED.search(lines(module, call)):
            yield Site(call, module)


def facts(world: World, site: Site) -> Iterator[Fact]:
    """What one embedding shows."""
    frame = standing(world, site)
    made = _made(world, site.module, site.call, frame)
    if not isinstance(made, Built) or made.what.name != EMBEDDING:
        return
    given = arguments(world, site.call, frame)
    padding, rows = (_number(world, argument(given, SIGNATURES[EMBEDDING].parameters, name)) for name in WANTED)
    yield _padded(world, site, made, rows, padding, argument(given, SIGNATURES[EMBEDDING].parameters, "padding_idx"))
    if isinstance(padding, Integer) and isinstance(rows, Integer):
        table = lookups.table_behind(world, padding, site.module.path)
        if table is not None and is_vocabulary(table):
            yield from _as_wide(world, site, frame, rows, padding, table)


WANTED = ("padding_idx", "num_embeddings")


def _padded(
    world: World,
    site: Site,
    made: Built,
    rows: Integer | Unknown,
    padding: Integer | Unknown,
    given: Thunk | Unknown | None,
) -> Embedding:
    """The embedding itself: what its padding index is for, as far as the project shows."""
    layer = rows if isinstance(rows, Unknown) else Layer(made.label or made.name, rows, site.span)
    job = None
    if isinstance(layer, Layer) and isinstance(padding, Integer):
        padding = padding + layer.classes if padding.number is not None and padding.number < 0 else padding
        job = jobs.job(world, padding, layer) if padding.position(layer.classes) is Position.INSIDE else None
        job = job if not isinstance(job, Job) or _holds(world, layer, job) else None
    place = place_of(given, None, site)
    return Embedding(site.span, place, None, (), (), layer, padding, job)


def _holds(world: World, layer: Layer, job: Job) -> bool:
    """An entry of a table is the id that its place says where no row is left for moving them, or nothing moves them."""
    table = layer.classes.table
    if job.proof is not Proof.TABLE or table is None or layer.classes.number == table.size:
        return True
    return lookups.unmoved(world, table) is not None


def _number(world: World, given: Thunk | Unknown | None) -> Integer | Unknown:
    return number_of(world, given, NONE)


def _as_wide(
    world: World, site: Site, frame: Frame, rows: Integer, padding: Integer, table: Table
) -> Iterator[LabelledLayer]:
    """The layers made beside an embedding whose width is the same symbol: they predict its vocabulary."""
    module, scope = site.module, site.module.scope(site.call)
    for node, _ in named(module, HEADS):
        call = call_of(module, node)
        made = _made(world, module, call, frame) if call is not None and module.scope(call) is scope else None
        if call is None or not isinstance(made, Built):
            continue
        applied = world.call(made, arguments(world, call, frame), call, frame)
        layer = applied.layer if isinstance(applied, Tensor) else None
        if isinstance(layer, Layer) and set(layer.classes.origins) & set(rows.origins):
            yield served(world, site.span, layer, table, Service.SENTINEL, padding.evidence)


def _made(world: World, module: Module, call: ast.Call, frame: Frame) -> Thing:
    """What a call makes, under the name that the object it belongs to gives it."""
    match module.parents.get(call):
        case ast.Assign(targets=[ast.Attribute(value=ast.Name() as owner, attr=name)]):
            return world.attribute(world.evaluate(owner, frame), name)
    return world.evaluate(call, frame)
