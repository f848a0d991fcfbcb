"""What around an optimizer keeps a float32 copy of the weights that it is given: DeepSpeed, apex, a config."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Compensation
from trainlint.record import record
from trainlint.regex import regex
from trainlint.source import callers
from trainlint.source.linkers.site import Site, call_of
from trainlint.source.summary import Module, dotted
from trainlint.source.things import Frame
from trainlint.source.world import World
from trainlint.value import Unknown

WRAPPERS = regex(
    r"^(?:FP16_?Optimizer|BF16_?Optimizer|FP16_Module|MasterParams|master_params|main_params|prep_param_lists)"
)
"""Names of classes and lists that keep a float32 copy beside 16-bit weights."""

ACCELERATE = "unless a DeepSpeed or FSDP config that accelerate is started with keeps a float32 copy"
SPEAKS_OF_DEEPSPEED = regex("deepspeed", re.IGNORECASE)
DEEPSPEED = Unknown("a DeepSpeed config, which keeps a float32 copy, may be named when it runs", "deepspeed=")
DEEPEST = 6


@record
class Surroundings:
    """What keeps a copy for sure, and what may."""

    compensation: Compensation | Unknown | None = None
    doubt: str = ""


def named_calls(world: World, module: Module, node: ast.ClassDef) -> Iterator[Site]:
    """The calls of the project that name a class, in files that are no tests."""
    for other in world.workspace.mentions(node.name, module.path):
        for load in other.loads.get(node.name, ()):
            call = call_of(other, load)
            if call is not None and not other.is_test:
                yield Site(call, other)


def surroundings(world: World, site: Site, frame: Frame) -> Surroundings:
    """What the files say through which an optimizer is reached."""
    modules = list(dict.fromkeys(_modules(world, site, frame)))
    if any(_keeps_a_copy(module) for module in modules):
        return Surroundings(Compensation.MASTER)
    if not any("Accelerator" in module.loads for module in modules):
        return Surroundings()
    return Surroundings(DEEPSPEED) if any(map(_speaks_of_deepspeed, modules)) else Surroundings(doubt=ACCELERATE)


def _modules(world: World, site: Site, frame: Frame) -> Iterator[Module]:
    """The file of a site, and those of its callers."""
    yield site.module
    each: Frame | None = frame
    for _ in range(DEEPEST):
        if each is None:
            return
        yield each.module
        entered = each if each.entry is not None else callers.entered(world, each)
        each = entered.entry[1] if entered is not None and entered.entry is not None else each.outer


def _speaks_of_deepspeed(module: Module) -> bool:
    known = module.kept.get("speaks of DeepSpeed")
    if not isinstance(known, bool):
        known = module.kept["speaks of DeepSpeed"] = module.says(SPEAKS_OF_DEEPSPEED)
    return known


def _keeps_a_copy(module: Module) -> bool:
    known = module.kept.get("keeps a copy")
    if not isinstance(known, bool):
        starts = (call_of(module, node) for node in module.loads.get("initialize", ()))
        known = bool(module.like(f"(?:{WRAPPERS.pattern}).*")) or any(call and _initialises(call) for call in starts)
        module.kept["keeps a copy"] = known
    return known


def _initialises(call: ast.Call) -> bool:
    """``deepspeed.initialize(...)``, ``amp.initialize(...)``: engines that keep a copy of their own."""
    name = dotted(call.func) or ""
    return name in ("deepspeed.initialize", "amp.initialize", "apex.amp.initialize")
