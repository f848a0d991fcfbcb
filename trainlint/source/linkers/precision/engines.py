"""Trainers of Lightning whose precision stores the weights in 16 bits, whichever optimizer they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Optimizer, Storage
from trainlint.source import objects
from trainlint.source.casts import by_engine
from trainlint.source.linkers.site import Site, call_of, named, standing
from trainlint.source.summary import Module
from trainlint.source.things import Built, Class, External, Thing
from trainlint.source.world import World
from trainlint.value import Unknown

ENGINES = frozenset({"Fabric", "Trainer"})
TRAINING = {"Fabric": frozenset({"backward", "setup_optimizers"}), "Trainer": frozenset({"fit"})}
"""What a file reads that trains with such an engine."""

OPEN = Unknown("the optimizer is chosen elsewhere")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that make a trainer of Lightning and name its precision, in files that train."""
    if "precision" not in module.text:
        return
    for node, word in named(module, ENGINES):
        call = call_of(module, node)
        named_one = call is not None and any(keyword.arg == "precision" for keyword in call.keywords)
        if call is not None and named_one and not TRAINING[word].isdisjoint(module.loads):
            yield Site(call, module)


def of_lightning(world: World, cls: Class) -> Storage | None:
    """The format in which a trainer of the project stores the weights of a Lightning module that it fits."""
    for module in world.workspace.mentions_both("precision", "Trainer"):
        for call in () if module.is_test else module.calls:
            if not (isinstance(call.func, ast.Attribute) and call.func.attr == "fit" and call.args):
                continue
            frame = world.open_frame(module, call)
            kept = by_engine(world, world.evaluate(call.func.value, frame))
            if isinstance(kept, Storage) and _is_of(world, world.evaluate(call.args[0], frame), cls):
                return kept
    return None


def _is_of(world: World, thing: Thing, cls: Class) -> bool:
    if not isinstance(thing, Built) or not isinstance(thing.what, Class):
        return False
    return any(isinstance(each, Class) and each.node is cls.node for each in objects.lineage(world, thing.what))


def facts(world: World, site: Site) -> Iterator[Optimizer]:
    """The weights that such a trainer stores, if it stores them in a format of its own."""
    frame = standing(world, site)
    engine = world.evaluate(site.call, frame)
    if not isinstance(world.evaluate(site.call.func, frame), External | Class):
        return
    kept = by_engine(world, engine)
    if kept is None or isinstance(kept, Unknown) or not kept.dtype.is_short:
        return
    name = site.module.step(site.call).text.partition("(")[0]
    yield Optimizer(
        site.span, site.span, None, (), (), name, kept, OPEN, OPEN, None, None, OPEN, scales=False, bounded=True
    )
