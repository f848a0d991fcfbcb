"""Casts to 16 bits of a model that is being trained, inside of what runs for each batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Optimizer, Storage
from trainlint.knowledge.precision import CASTS
from trainlint.source import objects
from trainlint.source.callers import STEPS
from trainlint.source.casts import cast, is_cast
from trainlint.source.linkers.site import Site, standing
from trainlint.source.summary import Module, dotted
from trainlint.source.things import Built, Class, External, Opaque, Thing
from trainlint.source.world import World
from trainlint.value import Unknown

STEP_NAMES = frozenset(STEPS) - {"prediction_step"}
OPEN = Unknown("the optimizer is made elsewhere")


def sites(world: World, module: Module) -> Iterator[Site]:
    """Casts of a model in a function that a trainer calls for each batch, or in a loop around ``backward``."""
    if not any(word in module.loads for word in (*CASTS, "to")):
        return
    for word in (*CASTS, "to"):
        for node in module.loads.get(word, ()):
            call = module.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node and is_cast(call) and _is_stepwise(module, call):
                yield Site(call, module)


def _is_stepwise(module: Module, call: ast.Call) -> bool:
    """Whether a cast runs for each batch: ``model.half()`` in a training step."""
    scope = module.scope(call)
    in_step = isinstance(scope, ast.FunctionDef) and scope.name in STEP_NAMES
    assert isinstance(call.func, ast.Attribute), "a cast is a method"
    root = (dotted(call.func.value) or "").rpartition(".")[2]
    return in_step and root in ("model", "self", "net", "module", "network")


def facts(world: World, site: Site) -> Iterator[Optimizer]:
    """The weights that such a cast leaves to the optimizer."""
    frame = standing(world, site)
    assert isinstance(site.call.func, ast.Attribute), "a cast is a method"
    model = world.evaluate(site.call.func.value, frame)
    kept = cast(world, site.call, frame)
    if not isinstance(kept, Storage) or not kept.dtype.is_short or not _is_module(world, model):
        return
    inside = getattr(site.module.scope(site.call), "name", "")
    name = "the optimizer"
    yield Optimizer(
        site.span, site.span, None, (), (), name, kept, OPEN, OPEN, None, None, OPEN, scales=False, bounded=True,
        inside=inside,
    )  # fmt: skip


def _is_module(world: World, model: Thing) -> bool:
    match model:
        case Built(what=External(name=name)):
            return name.startswith(("torch.nn.", "transformers."))
        case Built(what=Class() as cls):
            return any(
                isinstance(each, External) and each.name.endswith("Module") for each in objects.lineage(world, cls)
            )
    return isinstance(model, Opaque)
