"""A trainer of transformers whose ``compute_loss`` is told how many terms a step has, and does not use it.

The trainer divides by the number of batches only where the model takes no ``**kwargs``: else it trusts the loss to have
been divided by ``num_items_in_batch`` (transformers 5, ``Trainer.training_step``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Accumulation, Grouping
from trainlint.source import callers, objects
from trainlint.source.binding import argument
from trainlint.source.linkers.site import Site
from trainlint.source.summary import Module
from trainlint.source.things import Built, Class, External, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Integer, Unknown

COUNT = "num_items_in_batch"
STEPS = "gradient_accumulation_steps"
TOLD = ("model_accepts_loss_kwargs", "accepts_loss_kwargs", "loss_is_scaled_for_ga")
"""Attributes by which a model or a trainer says that its loss is not divided yet."""

PARAMETERS = ("model", "args")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The methods ``compute_loss`` that take the number of terms."""
    for node in module.definitions.get("compute_loss", ()):
        if isinstance(node, ast.FunctionDef) and isinstance(module.parents.get(node), ast.ClassDef) and _takes(node):
            yield Site(node, module)


def _takes(node: ast.FunctionDef) -> bool:
    names = {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
    return COUNT in names or node.args.kwarg is not None


def facts(world: World, site: Site) -> Iterator[Accumulation]:
    """What such a loss leaves to nobody."""
    node, holder = site.node, site.module.parents.get(site.node)
    assert isinstance(node, ast.FunctionDef) and isinstance(holder, ast.ClassDef), "sites looks for methods"
    cls = Class(holder, site.module, world.open_frame(site.module, holder))
    if not _is_trainer(world, cls) or _uses(node) or "training_step" in objects.methods(cls):
        return
    if any(world.workspace.mentions(word, site.module.path) for word in TOLD):
        return
    made = callers.constructions(world, cls)
    if made and all(_divides(world, each) for each in made):
        return
    span = site.module.span(node)
    yield Accumulation(
        span, span, None, (), (), grouping=Grouping.UNASKED, over=STEPS, number=Unknown("it is set when it runs"),
        mean=None, stepped=site.module.step(node), owner=holder.name,
    )  # fmt: skip


def _is_trainer(world: World, cls: Class) -> bool:
    names = (each.name for each in objects.lineage(world, cls) if isinstance(each, External))
    return any(
        name.startswith(("transformers.", "trl.")) and name.rpartition(".")[2].endswith("Trainer") for name in names
    )


def _uses(node: ast.FunctionDef) -> bool:
    """Whether a loss uses the number of terms, hands it on, or divides by the number of batches itself."""
    hidden = node.args.kwarg.arg if node.args.kwarg is not None else COUNT
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name, ctx=ast.Load()) if name in (COUNT, hidden):
                return True
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)) if STEPS in name or name == COUNT:
                return True
    return False


def _divides(world: World, made: callers.Caller) -> bool:
    """Whether the trainer itself divides, or has nothing to divide by."""
    quiet = world.apart()
    thing = quiet.evaluate(made.node, quiet.open_frame(made.module, made.node))
    given = thing.arguments if isinstance(thing, Built) else None
    if given is None:
        return False
    model, settings = (argument(given, PARAMETERS, name) for name in PARAMETERS)
    if isinstance(model, Thunk) and _has_closed_forward(world, quiet.force(model)):
        return True
    return isinstance(settings, Thunk) and _is_one(quiet, quiet.force(settings))


def _has_closed_forward(world: World, model: Thing) -> bool:
    """Whether a model of the project takes no ``**kwargs``."""
    if not isinstance(model, Built) or not isinstance(model.what, Class):
        return False
    forward = objects.method(world, model.what, "forward", None)
    return forward is not None and forward.node.args.kwarg is None


def _is_one(world: World, settings: Thing) -> bool:
    """Whether arguments spelled out in the code leave the number of batches at 1."""
    if not isinstance(settings, Built) or settings.arguments is None or settings.arguments.double_stars:
        return False
    what = settings.what
    bases = objects.lineage(world, what) if isinstance(what, Class) else [what]
    if not any(isinstance(each, External) and each.name.endswith("Arguments") for each in bases):
        return False
    given = settings.arguments.keywords.get(STEPS)
    if given is None:
        return isinstance(what, External) and bool(settings.arguments.keywords or settings.arguments.positional)
    number = world.force(given)
    return isinstance(number, Integer) and number.number == 1 and not number.assumed
