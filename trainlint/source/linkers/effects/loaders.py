"""Loaders that hand the same data to every process of a training whose gradients are shared.

Each process of ``DistributedDataParallel`` runs the whole program. A loader without a sampler reads all of the data in
each of them: an epoch costs what it cost one process, and the processes learn from the same rows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Repetition, SharedData
from trainlint.regex import regex
from trainlint.source.linkers.effects.epochs import programs
from trainlint.source.linkers.effects.samplers import is_held_out, is_led
from trainlint.source.linkers.selection.measures import latest
from trainlint.source.linkers.site import Site, call_of, named, standing
from trainlint.source.sift.effects import PARALLEL, samples
from trainlint.source.summary import Module, dotted
from trainlint.source.things import External
from trainlint.source.training import inside, work
from trainlint.source.world import World
from trainlint.value import Step

LOADER = "torch.utils.data.DataLoader"
DDP = "torch.nn.parallel.DistributedDataParallel"
SHARES = (
    "Sampler", "IterableDataset", "webdataset", "Accelerator", "deepspeed", "horovod", "split_dataset", "shard", "dali",
    "ffcv", "prepare_data_loader", "get_worker_info",
)  # fmt: skip
"""Words of programs that may share their data out by other means."""

BY_RANK = regex(r"rank|world_size|num_replicas|shard|split|chunk|partition", re.IGNORECASE)
OWN_SEED = regex(r"seed.*rank|rank.*seed", re.IGNORECASE)
"""A line that seeds each process by itself: each draws its own batches then."""

BY_PROCESS = regex(r"rank|world_size", re.IGNORECASE)
DEEPEST = 4
"""How many assignments are followed from a loader to its data."""

PLACES = 3
"""How many arguments a loader takes by place before its sampler."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that make a loader without a sampler in a file that shares gradients."""
    text = module.text
    if not samples(module.data) or not any(word.decode() in module.loads for word in PARALLEL) or "Sampler" in text:
        return
    for node, _ in named(module, {"DataLoader"}):
        call = call_of(module, node)
        if call is not None and _has_no_sampler(call) and not is_held_out(module, call) and not _is_split(module, call):
            yield Site(call, module)


def _has_no_sampler(call: ast.Call) -> bool:
    names = {keyword.arg for keyword in call.keywords}
    return names.isdisjoint({"sampler", "batch_sampler", None}) and len(call.args) <= PLACES


def _is_split(module: Module, call: ast.Call) -> bool:
    """Whether the data of a loader may be a part that belongs to the process."""
    data = call.args[0] if call.args else next((each.value for each in call.keywords if each.arg == "dataset"), None)
    return data is not None and any(BY_RANK.search(text) for text in _texts(module, data, call, DEEPEST))


def _texts(module: Module, node: ast.expr | ast.stmt, use: ast.AST, depth: int) -> Iterator[str]:
    """How an expression is spelled, and what the names in it were given in the scope of their use."""
    yield ast.unparse(node)
    names = {dotted(each) for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    for name in names if depth else ():
        made = latest(module, name, use) if name is not None else None
        if made is not None:
            yield from _texts(module, made, made, depth - 1)


def facts(world: World, site: Site) -> Iterator[SharedData]:
    """What one path shows of a loader: the loop that trains on it, and the line that shares the gradients."""
    frame = standing(world, site)
    shared = _shared(world, site.module, site.call)
    looped = _looped(world, site) if shared is not None else None
    match world.evaluate(site.call.func, frame):
        case External(name=name) if name == LOADER and looped is not None and _is_plain(world, site.module):
            yield SharedData(
                site.span, site.span, None, (), (), ast.unparse(site.call.func), Repetition.DATA, *looped, shared
            )


def _shared(world: World, module: Module, call: ast.Call) -> Step | None:
    """The line of the same function that shares the gradients."""
    for node in (each for word in PARALLEL for each in module.loads.get(word.decode(), ())):
        made = call_of(module, node)
        if made is not None and module.scope(made) is module.scope(call):
            match world.evaluate(node, world.open_frame(module, made)):
                case External(name=name) if name == DDP:
                    return module.step(made)
    return None


def _looped(world: World, site: Site) -> tuple[Step, Step] | None:
    """The loop over a loader in its own function, and the line in it that trains."""
    module, holder = site.module, site.module.statement(site.node)
    name = dotted(holder.targets[0]) if isinstance(holder, ast.Assign) and holder.value is site.node else None
    for use in module.loads.get((name or "").rpartition(".")[2], ()):
        loop = module.statement(use)
        if not isinstance(loop, ast.For) or _takes_its_part(module, loop):
            continue
        if dotted(use) == name and module.scope(loop) is module.scope(site.node):
            for call in (each for each in inside(loop) if isinstance(each, ast.Call)):
                if "backward" in work(world, module, call):
                    return module.step(loop), module.step(call)
    return None


def _takes_its_part(module: Module, loop: ast.For) -> bool:
    """Whether a loop takes a part of each batch, or every n-th batch, by the rank of its process."""
    for each in inside(loop):
        match each:
            case ast.Subscript(slice=part) | ast.BinOp(op=ast.Mod(), right=part):
                if any(BY_PROCESS.search(text) for text in _texts(module, part, loop, DEEPEST)):
                    return True
    return False


def _is_plain(world: World, module: Module) -> bool:
    """Whether nothing in the programs of a file may share the data out."""
    files = [each for program in programs(world, module) for each in program]
    if any(OWN_SEED.search(row) for each in files for row in each.rows):
        return False
    return not any(is_led(each) or any(world.workspace.holds(each.path, word) for word in SHARES) for each in files)
