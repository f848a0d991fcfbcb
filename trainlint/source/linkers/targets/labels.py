"""Layers beside the tables of labels that they serve: by their targets, by what is ignored, by what is predicted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import LabelledLayer, Layer, Loss, Service, Targets
from trainlint.knowledge.roles import entry_role
from trainlint.record import replace
from trainlint.source import builtin
from trainlint.source.linkers.site import Site, lines, standing
from trainlint.source.names import top
from trainlint.source.sift.targets import looks_up, predicts
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Constant, Entries, Frame, Items, Tensor
from trainlint.source.world import World
from trainlint.span import Span
from trainlint.value import Integer, Role, Step, Table, Unknown

FEW = 2
"""So many classes beyond a table are looked for by their number: a blank, a padding, a stop."""

BOUNDING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)


def of_loss(world: World, loss: Loss, layer: Layer | Unknown, ignored: Table | None) -> Iterator[LabelledLayer]:
    """The tables that a loss shows its layer to serve: those of its targets, and that of the index it skips."""
    targets, index = loss.targets, loss.ignore_index
    if isinstance(targets, Targets) and len(targets.ids) == 1 and targets.ids[0].is_counted:
        beside = (*targets.values, *targets.appended, *(fill.value for fill in targets.fills))
        beside = (*beside, index) if isinstance(index, Integer) else beside
        fact = served(world, loss.call, layer, targets.ids[0].table, Service.TARGETS, targets.evidence)
        yield replace(fact, beside=beside)
    elif ignored is not None and is_vocabulary(ignored) and isinstance(index, Integer):
        yield served(world, loss.call, layer, ignored, Service.SENTINEL, index.evidence)


def served(
    world: World, site: Span, layer: Layer | Unknown, table: Table, service: Service, shown: tuple[Step, ...]
) -> LabelledLayer:
    """A layer and a table that something at a site shows it to serve."""
    place = site if isinstance(layer, Unknown) else layer.where
    spare = _spare(world, layer, table) if isinstance(layer, Layer) else ()
    shown = tuple(step for step in shown if not _is_within(step.where, table.where))
    return LabelledLayer(place, place, None, (), (), layer, table, service, shown, (), spare)


def _is_within(inner: Span, outer: Span) -> bool:
    return inner.path == outer.path and outer.row <= inner.row and inner.end_row <= outer.end_row


def _spare(world: World, layer: Layer, table: Table) -> tuple[Step, ...]:
    """Where the project names a class beyond the table: by its number, or by the length of the table."""
    width, word = layer.classes.number, table.name.rpartition(".")[2]
    if width is None or not 0 < width - table.size <= FEW or not word.isidentifier():
        return ()
    modules = {*world.workspace.mentions(word, table.where.path), world.workspace.module(layer.where.path)}
    found = (
        module.step(node)
        for module in modules
        if isinstance(module, Module)
        for node in _numbers(module, word, layer.classes.names)
        if not isinstance(node, ast.Constant) or table.size <= node.value < width  # type: ignore[operator]
    )
    return tuple(sorted(found, key=lambda step: (step.where.path, step.where.row)))[:1]


def _numbers(module: Module, table: str, widths: tuple[str, ...]) -> Iterator[ast.expr]:
    """The whole numbers of a file, the lengths of a table, and what is counted back from a width."""
    for node in module.nodes:
        match node:
            case ast.Constant(value=int()) if not isinstance(node.value, bool):
                yield node
            case ast.Call(func=ast.Name(id="len"), args=[only]) if last(only) == table:
                yield node
            case ast.BinOp(left=left, op=ast.Sub()) if last(left) in widths:
                yield node


def is_vocabulary(table: Table) -> bool:
    """Whether a table names most of the classes: two entries for padding and end may be a part of a larger one."""
    if not table.is_counted:
        return False
    labels = [label for _, label in table.entries]
    ordinary = [label for label in labels if entry_role(label, labels) is Role.LABEL]
    return len(ordinary) >= 2 and 2 * len(ordinary) > table.size


def sites(world: World, module: Module) -> Iterator[Site]:
    """Where a file that predicts looks something up, by a number that it computes, in what the file itself names."""
    if not predicts(module.data):
        return
    for node in module.of_kind(ast.Subscript):
        if isinstance(node.ctx, ast.Load) and _is_lookup(module, node):
            yield Site(node, module)


def _is_lookup(module: Module, node: ast.Subscript) -> bool:
    """``NAMES[place]``, where a statement of the module or an import gives the container its name."""
    root = (dotted(node.value) or "").partition(".")[0]
    if not isinstance(node.slice, ast.Name | ast.Call | ast.Subscript) or root not in top(module):
        return False
    return looks_up(lines(module, node))


def facts(world: World, site: Site) -> Iterator[LabelledLayer]:
    """The layer whose prediction is looked up here."""
    node = site.node
    assert isinstance(node, ast.Subscript), "every site is a lookup"
    if _table(world.apart(), node, world.open_frame(site.module, node)) is None or _is_guarded(site.module, node):
        return
    frame = standing(world, site)
    index, table = world.evaluate(node.slice, frame), _table(world, node, frame)
    if table is not None and isinstance(index, Tensor) and index.sampled and isinstance(index.layer, Layer):
        yield served(world, site.span, index.layer, table, Service.PREDICTIONS, (site.module.step(node),))


def _table(world: World, node: ast.Subscript, frame: Frame) -> Table | None:
    """A table of labels: by place, or by number."""
    thing = world.evaluate(node.value, frame)
    if isinstance(thing, Entries) and not all(isinstance(world.force(key), Integer) for key, _ in thing.pairs):
        return None
    known = builtin.table_of(world, thing) if isinstance(thing, Items | Entries | Constant) else None
    return known if known is not None and known.is_counted and known.size > 1 else None


def _is_guarded(module: Module, node: ast.Subscript) -> bool:
    """Whether a test bounds what is looked up, or an exception catches what is not found."""
    names = {each.id for each in ast.walk(node.slice) if isinstance(each, ast.Name)}
    scope = module.scope(node)
    holder: ast.AST | None = node
    while holder is not None and holder is not scope:
        if isinstance(holder, ast.Try):
            return True
        holder = module.parents.get(holder)
    bounds = (each for each in ast.walk(scope) if isinstance(each, ast.Compare))
    return any(
        isinstance(op, BOUNDING) and names & {each.id for each in ast.walk(test) if isinstance(each, ast.Name)}
        for test in bounds
        for op in test.ops
    )
