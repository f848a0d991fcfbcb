"""What the trainer of Lightning does around the steps of its modules: how it stores them, the region it opens.

A line out of which ``training_step`` is reached in; out, what the trainers that may run it are told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Device, Dtype, Storage
from trainlint.knowledge.precision import TRUE_PRECISIONS
from trainlint.record import record
from trainlint.source import callers, objects
from trainlint.source.reach import leads
from trainlint.source.things import Class, Constant, External, Frame, Opaque, Thing
from trainlint.source.world import World
from trainlint.value import Integer, Step, Unknown

MODULES = ("LightningModule",)
TRAINERS = ("lightning.", "pytorch_lightning.")
MIXED = {"16-mixed": "float16", "bf16-mixed": "bfloat16", "16": "float16", "bf16": "bfloat16"}
"""Precisions by which a region is opened around each step."""

PLAIN = ("32", "32-true", "64", "64-true")
SEVERAL = Unknown("several trainers may run this module, in different precisions", "precision")


@record
class Precision:
    """What a trainer is told: a format to store the module in, or one to compute in."""

    stored: Dtype | None
    mixed: Dtype | None
    device: Device
    step: Step
    node: ast.AST

    @property
    def storage(self) -> Storage | None:
        """The format in which the module is stored."""
        return Storage(self.stored, (self.step,)) if self.stored is not None else None


def precision(world: World, frame: Frame) -> Precision | Unknown | None:
    """The precision of the trainer that runs a method; None where it is no method of such a module."""
    cls, _ = callers.owner(world, frame)
    if cls is None or not _is_module(world, cls):
        return None
    found = [_told(world, *each) for each in _trainers(world, frame.module.path)]
    told = {(each.stored, each.mixed) if isinstance(each, Precision) else None for each in found}
    if not found:
        return None
    return found[0] if len(told) == 1 else SEVERAL


def _is_module(world: World, cls: Class) -> bool:
    lineage = objects.lineage(world, cls)
    return any(isinstance(each, External) and each.name.endswith(MODULES) for each in lineage)


def _trainers(world: World, near: str) -> Iterator[tuple[ast.Call, Frame]]:
    """The calls that make a trainer of Lightning."""
    for module in world.workspace.mentions("Trainer", near):
        makes = not module.is_test and "Trainer" in module.loads and leads(world, module, near)
        for node in module.loads["Trainer"] if makes else ():
            call = module.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node:
                frame = world.open_frame(module, call)
                thing = world.apart().evaluate(node, frame)
                if isinstance(thing, External) and thing.name.startswith(TRAINERS):
                    yield call, frame


def _told(world: World, call: ast.Call, frame: Frame) -> Precision | Unknown:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    step = frame.step(call)
    if "precision" not in named:
        is_hidden = None in named
        return Unknown("the precision of the trainer is open", "precision") if is_hidden else _plain(step, call)
    value = world.evaluate(named["precision"], frame)
    text = str(value.value) if isinstance(value, Constant) else str(value) if isinstance(value, Integer) else ""
    on_cpu = "accelerator" in named and _is_cpu(world.evaluate(named["accelerator"], frame))
    device = Device.CPU if on_cpu else Device.CUDA
    if "strategy" in named and not _is_light(world.evaluate(named["strategy"], frame)):
        return Unknown("what the strategy of the trainer casts is not followed", "strategy")
    if text in MIXED:
        return Precision(None, Dtype(MIXED[text]), device, step, call)
    if text in TRUE_PRECISIONS or text in PLAIN:
        return Precision(Dtype(TRUE_PRECISIONS.get(text, "float32")), None, device, step, call)
    why = value.why.reason if isinstance(value, Opaque) else "it is not known"
    return Unknown(f"the precision of the trainer: {why}", "precision")


def _is_light(strategy: Thing) -> bool:
    """Whether a strategy leaves formats alone: those of DeepSpeed and FSDP cast by rules of their own."""
    return isinstance(strategy, Constant) and not any(word in str(strategy.value) for word in ("deepspeed", "fsdp"))


def _plain(step: Step, call: ast.Call) -> Precision:
    return Precision(None, None, Device.CUDA, step, call)


def _is_cpu(thing: Thing) -> bool:
    return isinstance(thing, Constant) and thing.value == "cpu"
