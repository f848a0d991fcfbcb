"""Heads that keep a class for what is no object, beside the labels that the project gives to objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Layer, Loss, ReservedClass, Targets
from trainlint.knowledge import torchvision
from trainlint.record import record
from trainlint.regex import regex
from trainlint.source import lookups
from trainlint.source.binding import argument, arguments
from trainlint.source.linkers.site import Site, call_of, named, number_of, standing
from trainlint.source.summary import Module
from trainlint.source.things import External, Tensor, Thunk
from trainlint.source.world import World
from trainlint.span import Span
from trainlint.value import Integer, Step, Table, Unknown

HEADS = {known.name: known for known in torchvision.WITH_BACKGROUND}
BACKGROUND = ("background", "bg", "__background__", "_background_", "<background>", "no object", "nothing", "none")
OTHERS = regex(("(?i)" + "|".join(torchvision.OTHERS)).encode())
MOVED = regex(rb"""labels["'\])]*\s*[-+]=?\s*1\b|\b1\s*\+\s*[\w.]*(?:\[["'])?labels""")
"""Labels are moved by one after they were written."""

NOT_GIVEN = Unknown("the detector keeps the classes it was published with")
NO_LABELS = Unknown("what the project writes as labels is not traced", "labels")


@record
class Written:
    """Labels that the project gives to objects: the lowest and the highest, and where they are written."""

    lowest: int
    highest: int
    where: Span
    shown: tuple[Step, ...]
    table: Table | None = None
    offset: int = 0

    def name_of(self, number: int) -> str:
        """What the project calls an id."""
        label = self.table.label(number - self.offset) if self.table else None
        return repr(label) if label is not None else "an object"


def sites(world: World, module: Module) -> Iterator[Site]:
    """The detectors, and the parts of detectors, that a file makes."""
    for node, _ in named(module, HEADS.keys()):
        call = call_of(module, node)
        if call is not None:
            yield Site(call, module)


def facts(world: World, site: Site) -> Iterator[ReservedClass]:
    """The labels that clash with the background of one detector."""
    frame = standing(world, site)
    made = world.evaluate(site.call.func, frame)
    if not isinstance(made, External) or not made.name.startswith(torchvision.HOME):
        return
    head = made.name.rpartition(".")[2]
    given = argument(arguments(world, site.call, frame), HEADS[head].parameters, "num_classes")
    classes = number_of(world, given, NOT_GIVEN)
    if not isinstance(given, Thunk) or isinstance(classes, Unknown):
        return
    place = given.frame.module.span(given.node)
    known = [written for written in _every_label(world) if _belongs(world, written, classes, site)]
    for written in known:
        yield from _against_background(written, head, classes, place, site)
    if not known:
        yield ReservedClass(site.span, place, site.span, (), (), head, "background", NO_LABELS, classes)


def _against_background(
    written: Written, head: str, classes: Integer, place: Span, site: Site
) -> Iterator[ReservedClass]:
    label, width = written.name_of(written.lowest), classes.number
    shown = (*written.shown, site.module.step(site.call))
    if written.lowest == 0 and label.strip("'").lower() not in BACKGROUND:
        yield ReservedClass(
            written.where, written.where, site.span, (), (), head, "background", label, classes, shown=shown
        )
    elif width is not None and written.lowest > 0 and written.highest >= width:
        label = written.name_of(written.highest)
        yield ReservedClass(
            site.span, place, site.span, (), (), head, "background", label, classes, written.highest, shown
        )


def _belongs(world: World, written: Written, classes: Integer, site: Site) -> bool:
    """Whether labels are those of a detector: all of the project are, unless it has detectors of another kind."""
    sized = (*classes.parts, *classes.origins)
    if written.table is not None:
        word = written.table.name.rpartition(".")[2]
        if classes.table == written.table or any(part.endswith(f"len({word})") for part in sized):
            return True
    return not _says(world, OTHERS)


def _says(world: World, pattern: re.Pattern[bytes]) -> bool:
    """Whether any file of the project holds what a pattern matches."""
    return any(True for _ in world.workspace.matching(pattern.pattern))


def _every_label(world: World) -> tuple[Written, ...]:
    """What the project writes under ``labels`` beside ``boxes``; nothing where it moves them afterwards."""
    key = ("labels of boxes",)
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        modules = [each for each in world.workspace.mentions_both("labels", "boxes") if not each.is_test]
        moved = _says(world, MOVED)
        known = () if moved else tuple(each for module in modules for each in _labels_of(world, module))
        world.workspace.answers[key] = known
    return known


def _key(node: ast.AST) -> object:
    match node:
        case ast.Subscript(slice=ast.Constant(value=key)):
            return key
    return None


def _labels_of(world: World, module: Module) -> Iterator[Written]:
    for node in module.nodes:
        match node:
            case ast.Dict(keys=keys, values=values):
                named = {
                    key.value: value for key, value in zip(keys, values, strict=True) if isinstance(key, ast.Constant)
                }
                written = named.get("labels") if "boxes" in named and "scores" not in named else None
            case ast.Assign(targets=[target], value=value) if _key(target) == "labels" and _has_boxes(module, target):
                written = value
            case _:
                continue
        found = _written(world, module, written) if written is not None else None
        if found is not None:
            yield found


def _has_boxes(module: Module, target: ast.expr) -> bool:
    """Whether this is a target: ``boxes`` are named where its ``labels`` are written, and no ``scores``."""
    named = {_key(node) for node in ast.walk(module.scope(target))}
    return "boxes" in named and "scores" not in named


def _written(world: World, module: Module, node: ast.expr) -> Written | None:
    thing = world.apart().evaluate(node, world.open_frame(module, node))
    if not isinstance(thing, Tensor):
        return None
    if len(thing.ids) == 1 and thing.ids[0].table.entries:
        ids = thing.ids[0]
        numbers = [number + ids.offset for number, _ in ids.table.entries]
        shown = (*thing.evidence, *ids.table.evidence)
        return Written(min(numbers), max(numbers), ids.where, shown, ids.table, ids.offset)
    exact = [value.number for value in thing.values]
    if thing.constant and exact == [0] and not _may_be_empty(module, node, thing):
        return Written(0, 0, thing.evidence[0].where if thing.evidence else module.span(node), thing.evidence)
    return None


def _may_be_empty(module: Module, node: ast.expr, thing: Tensor) -> bool:
    """``torch.zeros(0)`` for a picture without objects holds no label."""
    places = [step.where for step in thing.evidence]
    made = [each for each in module.calls if module.span(each) in places]
    empty = any(isinstance(each, ast.Constant) and each.value == 0 for call in made for each in ast.walk(call))
    return not made or empty or any(_is_on_an_arm(module, each) for each in (*made, node))


def _is_on_an_arm(module: Module, node: ast.AST) -> bool:
    holder: ast.AST | None = node
    while holder is not None and holder is not module.scope(node):
        if isinstance(holder, ast.If | ast.IfExp):
            return True
        holder = module.parents.get(holder)
    return False


# The class of no object


def no_object(world: World, loss: Loss, layer: Layer | Unknown, targets: Targets) -> Iterator[ReservedClass]:
    """A target that is the last class wherever nothing was matched, while a label has that id too."""
    fill = targets.values[0] if targets.constant and len(targets.values) == 1 else None
    classes = _classes(layer, fill) if fill is not None else None
    if fill is None or fill.number is None or classes is None or not targets.evidence:
        return
    head = layer.name if isinstance(layer, Layer) else "this filling"
    for written in _objects(world, classes, fill):
        label = written.name_of(written.highest)
        if written.highest == fill.number and not _is_meant(label, fill):
            place, shown = targets.evidence[-1].where, (*fill.evidence, *written.shown)
            yield ReservedClass(place, place, loss.built, (), (), head, "no object", label, classes, fill.number, shown)
            return


def _classes(layer: Layer | Unknown, fill: Integer) -> Integer | None:
    """How many classes there are, the filling the last: by the layer, or by the table whose length the filling is."""
    if isinstance(layer, Layer):
        return layer.classes if (layer.classes - fill).number == 1 else None
    return fill + Integer.exact(1) if fill.table is not None and fill.number == fill.table.size else None


def _is_meant(label: str, fill: Integer) -> bool:
    """Whether the label is that of nothing, or the filling is looked up by it."""
    return label.strip("'").lower() in BACKGROUND or any(label in origin for origin in fill.origins)


def _objects(world: World, classes: Integer, fill: Integer) -> Iterator[Written]:
    """The labels of objects: those beside boxes, and those looked up in the table whose length is the filling."""
    yield from _every_label(world)
    table = fill.table or classes.table
    if table is None or not table.explicit or table.size != fill.number:
        return
    step = lookups.unmoved(world, table)
    if step is not None:
        numbers = [number for number, _ in table.entries]
        yield Written(min(numbers), max(numbers), step.where, (*table.evidence, step), table)
