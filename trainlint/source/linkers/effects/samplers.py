"""Samplers of distributed training that are never told the epoch, so that each one has the order of the first.

``DistributedSampler`` shuffles by ``seed + epoch``, and knows no other epoch than the one that ``set_epoch`` tells it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Repetition, SharedData
from trainlint.knowledge.scores import TRAINED, words
from trainlint.source import callers
from trainlint.source.linkers.effects.epochs import Epochs, epochs, programs
from trainlint.source.linkers.selection.measures import innermost_loop
from trainlint.source.linkers.site import Site, call_of, named, standing
from trainlint.source.sift.effects import SAMPLER
from trainlint.source.summary import Module, bound, last, targets
from trainlint.source.things import Constant, External, Frame
from trainlint.source.world import World

SAMPLERS = frozenset({"torch.utils.data.distributed.DistributedSampler", "torch.utils.data.DistributedSampler"})
SHUFFLE, SEED = 3, 4
"""Where these stand without their names."""

TELLS = "set_epoch"
LIBRARIES = ("accelerate", "lightning", "pytorch_lightning", "ignite", "catalyst", "fastai", "composer", "ray")
LEADERS = frozenset(
    {
        "Accelerator", "Engine", "Fabric", "Learner", "LightningDataModule", "LightningModule", "Runner",
        "TorchTrainer", "Trainer", "auto_dataloader", "create_supervised_trainer", "prepare_data_loader",
    }
)  # fmt: skip
"""Libraries whose loops tell the sampler of a loader that they are given, and what of them leads a loop."""

HELD_OUT = frozenset(
    {"eval", "evaluation", "val", "valid", "validation", "dev", "test", "testing", "infer", "inference"}
)
PREDICTED = frozenset({"predict", "pred", "prediction", "query", "gallery", "score", "generate"})
"""Words of data that is not trained on: its order does not matter."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that make a sampler of distributed training for data that may be trained on."""
    if SAMPLER not in module.data:
        return
    for node, _ in named(module, {SAMPLER.decode()}):
        call = call_of(module, node)
        if call is not None and not is_held_out(module, call) and not _is_anew(module, call):
            yield Site(call, module)


def _is_anew(module: Module, call: ast.Call) -> bool:
    """Whether a sampler is made in a loop whose turns make its data anew: each epoch has data of its own."""
    data = {each.id for given in call.args[:1] for each in ast.walk(given) if isinstance(each, ast.Name)}
    loop = innermost_loop(module, call)
    return loop is not None and any(
        not data.isdisjoint(bound(each)) for each in ast.walk(loop) if isinstance(each, ast.stmt)
    )


def is_held_out(module: Module, call: ast.Call) -> bool:
    """Whether names say that nothing is trained on what a call makes: those it goes to, its data, its function."""
    said = {word for name in _names(module, call) for word in words(name)}
    return not (HELD_OUT | PREDICTED).isdisjoint(said) and TRAINED.isdisjoint(said)


def _names(module: Module, call: ast.Call) -> Iterator[str]:
    for target in _taken_by(module.statement(call), call):
        yield from (last(each) for each in targets(target))
    for given in call.args:
        yield given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else last(given)
    for keyword in call.keywords:
        yield from (last(keyword.value), keyword.arg or "") if not _is_off(keyword.value) else ()
    scope = module.scope(call)
    if isinstance(scope, ast.FunctionDef):
        yield scope.name


def _taken_by(holder: ast.stmt, call: ast.Call) -> Iterator[ast.expr]:
    """What a statement assigns the result of a call to, alone or beside others."""
    match holder:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if call in values:
            yield names[values.index(call)]
        case ast.Assign(targets=found):
            yield from found


def _is_off(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _is_only_held_out(world: World, module: Module, call: ast.Call) -> bool:
    """Whether everyone who calls the function that makes a sampler asks for data that is not trained on."""
    scope = module.scope(call)
    found = callers.callers_of(world, module, scope) if isinstance(scope, ast.FunctionDef) else ()
    return bool(found) and all(is_held_out(each.module, each.node) for each in found)


def facts(world: World, site: Site) -> Iterator[SharedData]:
    """What one path shows of a sampler."""
    frame = standing(world, site)
    match world.evaluate(site.call.func, frame):
        case External(name=name) if name in SAMPLERS and _shuffles(world, site.call, frame):
            idle = _is_only_held_out(world, site.module, site.call)
            found = None if idle else _untold(world, site.module)
            if found is not None:
                yield SharedData(
                    site.span, site.span, None, (), (), ast.unparse(site.call.func), Repetition.ORDER, *found.steps
                )


def _shuffles(world: World, call: ast.Call, frame: Frame) -> bool:
    """Whether a sampler shuffles, by a seed that stays: what only may be off is on where something is trained."""
    shuffle = _argument(call, "shuffle", SHUFFLE)
    seed = _argument(call, "seed", SEED)
    if seed is not None and "epoch" in ast.unparse(seed):
        return False
    thing = world.evaluate(shuffle, frame) if shuffle is not None else None
    return not (isinstance(thing, Constant) and not thing.value)


def _argument(call: ast.Call, name: str, place: int) -> ast.expr | None:
    found = next((each.value for each in call.keywords if each.arg == name), None)
    return call.args[place] if found is None and len(call.args) > place else found


def _untold(world: World, module: Module) -> Epochs | None:
    """The loop over epochs of a program in which nothing tells any sampler the epoch."""
    key = ("untold", module.path)
    if key not in world.workspace.answers:
        world.workspace.answers[key] = next(_untold_programs(world, module), None)
    known = world.workspace.answers[key]
    return known if isinstance(known, Epochs) else None


def _untold_programs(world: World, module: Module) -> Iterator[Epochs]:
    for files in programs(world, module):
        told = any(world.workspace.holds(each.path, TELLS) for each in files)
        if not told and not any(is_led(each) for each in files):
            found = epochs(world, files)
            if found is not None:
                yield found


def is_led(module: Module) -> bool:
    """Whether a file leaves the loop over epochs, or the loaders in it, to a library."""
    imported = any(name.partition(".")[0] in LIBRARIES for name in module.imports.values())
    return imported and not LEADERS.isdisjoint(module.loads)
