"""Whether a project computes on the CPU alone: the lines that prove it."""

from __future__ import annotations

import ast

from trainlint.source.summary import Module
from trainlint.source.things import Built
from trainlint.source.world import World
from trainlint.value import Step

ELSEWHERE = (
    "cuda", "mps", "xpu", "npu", "gpu", "xla", "hpu", "Accelerator", "Fabric", "deepspeed", "device_map", "--device",
    "lightning", "Trainer", "set_default_device",
)  # fmt: skip
"""Words without which nothing brings a tensor anywhere but to the CPU."""


def on_cpu(world: World, module: Module, model: ast.expr) -> tuple[Step, ...] | None:
    """The line that makes the model, where no file that uses torch can move it away; None where that is open."""
    if any(next(world.workspace.mentions_both(word, "torch"), None) is not None for word in ELSEWHERE):
        return None
    quiet = world.apart()
    thing = quiet.evaluate(model, quiet.open_frame(module, model))
    if not isinstance(thing, Built):
        return None
    if any(not _is_literal(world, other) for other in world.workspace.mentions_both("device", "torch")):
        return None
    made = thing.node
    return (thing.frame.module.step(made),) if isinstance(made, ast.expr | ast.stmt) else ()


def _is_literal(world: World, module: Module) -> bool:
    """Whether every device that a file names is the CPU."""
    devices = [call for call in module.calls if getattr(call.func, "attr", "") == "device"]
    named = all(len(call.args) == 1 and _is_cpu(call.args[0]) for call in devices)
    return named and not any("device" in word for word in module.imports)


def _is_cpu(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == "cpu"
