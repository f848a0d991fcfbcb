"""Calls of models that say the next token, against how far the data has moved the labels already."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from trainlint.facts import Fact, LabelShift
from trainlint.knowledge import canonical, transformers
from trainlint.source import objects, shifts
from trainlint.source.binding import arguments, parameters
from trainlint.source.linkers.site import Site, standing
from trainlint.source.shifts import Cut
from trainlint.source.summary import Module, last
from trainlint.source.things import Built, Class, External, Frame, Function, Opaque, Thing
from trainlint.source.world import World
from trainlint.value import Step

LOSSES = {"torch.nn.functional.cross_entropy", "torch.nn.CrossEntropyLoss"}
CALLED = ("cross_entropy", "loss", "criterion")
MODELS = ("model", "net", "lm", "gpt", "decoder", "transformer")
LABELS = ("labels", "targets", "target")
TRAINERS = {"transformers.Trainer", "transformers.trainer.Trainer"}
KEEPING = {"default_data_collator", "DefaultDataCollator", "DataCollatorForSeq2Seq"}
"""What puts the labels of rows together as they are."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of models with labels, trainers, and losses over logits, in files that train."""
    trains = "backward" in module.loads or "training_step" in module.definitions
    for call in module.calls:
        word = last(call.func)
        if word == "Trainer" or (trains and (_says(word, CALLED) or (_says(word, MODELS) and _takes_labels(call)))):
            yield Site(call, module)


@lru_cache(8192)
def _says(word: str, parts: tuple[str, ...]) -> bool:
    return any(part in word.lower() for part in parts)


def _takes_labels(call: ast.Call) -> bool:
    return len(call.args) > 1 or any(keyword.arg in (None, *LABELS) for keyword in call.keywords)


def facts(world: World, site: Site) -> Iterator[Fact]:
    """What one world shows of a call; nothing where labels and inputs are not seen to come of one sequence."""
    frame = standing(world, site)
    called = world.evaluate(site.call.func, frame)
    if _name(called) in LOSSES:
        yield from _by_hand(world, site, frame)
    elif _name(called) in TRAINERS:
        yield from _trained(world, site, frame)
    elif shifting(called):
        yield from _in_library(world, site, frame)
    elif isinstance(called, Built) and isinstance(called.what, Class):
        yield from _in_project(world, site, frame, called)


def _name(called: Thing) -> str:
    """The name of a library's function, or of the class of its object."""
    match called:
        case External(name=name) | Built(what=External(name=name)):
            return canonical(name)
    return ""


def shifting(model: Thing) -> bool:
    """Whether a thing is a model of the library that moves the labels itself."""
    match model:
        case Built(what=External(name=name)):
            return transformers.shifts_labels(name)
        case Opaque(origin=origin):
            made = re.match(r"([\w.]+)\.from_(?:pretrained|config)\(\)@\d+#\d+$", origin)
            return made is not None and transformers.shifts_labels(made[1])
    return False


def _fact(site: Site, model: str, labels: Cut, inputs: Cut, by_model: int, steps: tuple[Step, ...]) -> Iterator[Fact]:
    by_data = shifts.ahead(labels, inputs)
    far = by_data is not None and by_data.number == 2 and len(labels.steps) < 2
    if by_data is not None and by_data.number is not None and not far:
        evidence = (*inputs.steps, *labels.steps, *steps)
        yield LabelShift(site.span, site.span, None, (), (), model, by_data, by_model, evidence)


def _pair(world: World, site: Site, frame: Frame) -> tuple[Cut | None, Cut | None]:
    """What a call gives as ids and as labels, one by one or in a batch."""
    named = {keyword.arg: keyword.value for keyword in site.call.keywords}
    if None in named:
        batch = named[None]
        both = [shifts.entry(world, batch, key, frame) for key in ("labels", "input_ids")]
        labels, ids = (shifts.cut(world, *each) if each else None for each in both)
    else:
        given = named.get("input_ids") or (site.call.args[0] if site.call.args else None)
        ids = shifts.cut(world, given, frame) if given is not None else None
        labels = None
    if "labels" in named:
        labels = shifts.cut(world, named["labels"], frame)
    return labels, ids


def _in_library(world: World, site: Site, frame: Frame) -> Iterator[Fact]:
    labels, ids = _pair(world, site, frame)
    if labels and ids:
        yield from _fact(site, "the library's model", labels, ids, 1, ())


def _trained(world: World, site: Site, frame: Frame) -> Iterator[Fact]:
    """A trainer of the library hands each row to the model as it is, unless its collator makes the labels anew."""
    given = arguments(world, site.call, frame)
    model, dataset = given.keywords.get("model"), given.keywords.get("train_dataset")
    model = model or next(iter(given.positional), None)
    collator = given.keywords.get("data_collator")
    if collator is not None and _name(world.force(collator)).rpartition(".")[2] not in KEEPING:
        return
    if model is None or dataset is None or not shifting(world.force(model)):
        return
    for row, own in shifts.rows(world, world.force(dataset)):
        both = [shifts.entry(world, row, key, own) for key in ("labels", "input_ids")]
        labels, ids = (shifts.cut(world, *each) if each else None for each in both)
        if labels and ids:
            yield from _fact(site, "the library's model", labels, ids, 1, ())


def _in_project(world: World, site: Site, frame: Frame, built: Built) -> Iterator[Fact]:
    """A model of the project whose forward moves the labels before its loss."""
    assert isinstance(built.what, Class), "a model of the project"
    forward = objects.method(world, built.what, "forward", built)
    if forward is None or not isinstance(forward.node, ast.FunctionDef):
        return
    names = [place.arg for place in parameters(forward.node)][1:]
    given = dict(zip(names, site.call.args, strict=False))
    given.update({word.arg: word.value for word in site.call.keywords if word.arg})
    inside = _moved_inside(world, forward)
    if inside is None or not names:
        return
    name, steps = inside
    labels, ids = given.get(name), given.get(names[0])
    if labels is not None and ids is not None:
        ahead, behind = shifts.cut(world, labels, frame), shifts.cut(world, ids, frame)
        if ahead and behind:
            yield from _fact(site, built.name, ahead, behind, 1, steps)


def _moved_inside(world: World, forward: Function) -> tuple[str, tuple[Step, ...]] | None:
    """The parameter that a forward cuts by one step for its loss, and the lines that do."""
    module, function = forward.frame.module, forward.node
    frame = Frame(
        module, function, None, forward.receiver, forward.frame, world.workspace.number("row", id(function), 0)
    )
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and len(call.args) > 1 and _name(world.evaluate(call.func, frame)) in LOSSES:
            logits, labels = (shifts.cut(world, each, frame) for each in call.args[:2])
            moved = logits and labels and logits.steps and (labels.dropped - logits.dropped).number == 1
            if moved and labels and isinstance(labels.base, ast.Name):
                return labels.base.id, labels.steps
    return None


def _by_hand(world: World, site: Site, frame: Frame) -> Iterator[Fact]:
    """A loss over the logits of the library's model: the model is given no labels, so that the project moves them."""
    if len(site.call.args) < 2:
        return
    logits, labels = (shifts.cut(world, each, frame) for each in site.call.args[:2])
    if logits is None or labels is None or not isinstance(logits.base, ast.Attribute) or logits.base.attr != "logits":
        return
    made = shifts.cut(world, logits.base.value, logits.frame)
    call = made.base if made else None
    if made is None or not isinstance(call, ast.Call) or not shifting(world.evaluate(call.func, made.frame)):
        return
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    given = named.get("input_ids") or (call.args[0] if call.args else None)
    ids = shifts.cut(world, given, made.frame) if given is not None else None
    if ids is not None:
        behind = Cut(ids.base, ids.frame, ids.dropped + logits.dropped, (*ids.steps, *logits.steps))
        yield from _fact(site, "cross_entropy", labels, behind, 0, (site.module.step(site.call),))
