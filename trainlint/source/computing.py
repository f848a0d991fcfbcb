"""In which numbers a tensor reaches a line: its casts, the regions around what made it, the models it went through.

A format in, or a line; out, the format in which it is there, and whether anything in reach mentions 16 bits at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from trainlint.facts import Device, Dtype, Storage
from trainlint.knowledge.formats import FRAMEWORKS, WIDE, WORDS
from trainlint.source import callers, regions, sharding, trainers
from trainlint.source.reach import leads, reach
from trainlint.source.storage import storage
from trainlint.source.summary import Module
from trainlint.source.things import Built, Cast, External, Format, Frame, Made, Opaque, Thing
from trainlint.source.world import World
from trainlint.value import Step, Unknown

NOT_FOLLOWED = Unknown("the format of the logits is not followed")
PROMOTED = Unknown("an operation that mixed precision computes in 32 bits comes behind the layer")

PLAINLY = "Accelerator"
"""Opens no region where it is told so; what Fabric wraps hands out float32, whatever it is told."""

SAYING = {
    Device.CUDA: (
        ".cuda(", "cuda:", '"cuda"', "'cuda'", "torch.cuda.", "nccl", "flash_attn", "bitsandbytes", "xformers",
        "triton",
    ),
    Device.OTHER: ('"mps"', "'mps'", "torch.mps", "torch.xpu", '"xpu"', "torch_xla", "torch.hpu", "torch_npu"),
    Device.CPU: ('"cpu"', "'cpu'"),
}  # fmt: skip
"""What a line says that names a device; where several are named, the first of these kinds counts."""


def format_of(world: World, format: Format | None) -> Storage | Unknown:
    """The format in which a tensor comes out of what made it."""
    match format:
        case Cast(dtype=Dtype() as dtype):
            return Storage(dtype, format.steps)
        case Cast(dtype=Unknown() as why):
            return why
        case Made():
            return _of_made(world, format)
    return NOT_FOLLOWED


def _of_made(world: World, made: Made) -> Storage | Unknown:
    region = regions.around(world, made.node, made.frame)
    if isinstance(region, Unknown):
        return region
    if region is not None:
        if made.promoted:
            return PROMOTED
        return Storage(region.dtype, (region.step,)) if isinstance(region.dtype, Dtype) else region.dtype
    if isinstance(made.like, Cast):
        return format_of(world, made.like)
    return _of_models(world, made)


def _of_models(world: World, made: Made) -> Storage | Unknown:
    """The format of the models that a tensor came out of: the outer one's; where that is open, an inner one's cast."""
    stored = _by_trainer(world, made)
    if stored is not None:
        return stored
    if isinstance(made.module, Opaque):
        return _computed(world, made.module, made.node, made.frame)
    open_one: Unknown = NOT_FOLLOWED
    for model, node, frame in reversed([*_models(world, made)]):
        found = _computed(world, model, node, frame)
        if isinstance(found, Storage) and (open_one is NOT_FOLLOWED or found.dtype.is_short):
            return found
        open_one = found if isinstance(found, Unknown) and open_one is NOT_FOLLOWED else open_one
    return open_one


def _by_trainer(world: World, made: Made) -> Storage | Unknown | None:
    """The format in which a trainer of a library stores the module whose method made a tensor."""
    *_, (_, frame) = regions.levels(world, made.node, made.frame)
    told = trainers.precision(world, frame)
    return told if told is None or isinstance(told, Unknown) else told.storage


def _computed(world: World, model: Thing, node: ast.AST, frame: Frame) -> Storage | Unknown:
    sharded = sharding.computes(world, model, frame.module.path)
    return sharded if sharded is not None else storage(world, model, node, frame)


def _models(world: World, made: Made) -> Iterator[tuple[Thing, ast.AST, Frame]]:
    """The modules that a tensor came out of, the innermost first, each with the line that calls it."""
    if made.module is not None:
        yield made.module, made.node, made.frame
    frame: Frame | None = None
    for node, where in regions.levels(world, made.node, made.frame):
        receiver = callers.owner(world, frame)[1] if frame is not None else None
        if isinstance(receiver, Built | Opaque) and receiver is not made.module:
            yield receiver, node, where
        frame = where
    outermost = callers.owner(world, frame)[1] if frame is not None else None
    if frame is not None and frame.function is not None and isinstance(outermost, Built | Opaque):
        yield outermost, frame.function, frame


def mentioned(world: World) -> bool:
    """Whether any file of the project mentions another format than PyTorch's own: only there the question is put."""
    return any(world.workspace.says(word) for word in (*WORDS, *WIDE))


def mentions(world: World, modules: Iterable[Module]) -> bool:
    """Whether these files, or files of the project that they import, mention 16 bits."""
    known = tuple(modules)
    key = ("16 bits", *(module.path for module in known))
    answer = world.workspace.answers.get(key)
    if not isinstance(answer, bool):
        answer = any(world.workspace.holds(module.path, word) for module in reach(world, known) for word in WORDS)
        world.workspace.answers[key] = answer
    return answer


def by_framework(world: World, modules: Sequence[Module]) -> Unknown | None:
    """Why a library may cast, or open a region, around lines of these files: its trainer, its accelerator."""
    paths = {module.path for module in modules}
    for word in FRAMEWORKS:
        for module in world.workspace.mentions(word, modules[0].path):
            found = _opening(world, module, word) if not module.is_test else None
            if found is not None and any(leads(world, module, path) for path in paths):
                return found
    return None


def _opening(world: World, module: Module, word: str) -> Unknown | None:
    """Why a file may open a region, by a call of what ends in a word."""
    key = ("may open a region", module.path, word)
    if key not in world.workspace.answers:
        world.workspace.answers[key] = _opened(world, module, word)
    known = world.workspace.answers[key]
    return known if isinstance(known, Unknown) else None


def _opened(world: World, module: Module, word: str) -> Unknown | None:
    for name in module.like(f".*{word}"):
        for node in module.loads.get(name, ()):
            call = module.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node:
                thing = world.apart().evaluate(node, world.open_frame(module, call))
                if isinstance(thing, External) and not (word == PLAINLY and _is_plain(call)):
                    return Unknown(f"{name} may open a region of mixed precision around the loss", name)
    return None


def _is_plain(call: ast.Call) -> bool:
    """Whether an accelerator is told by a constant to compute in the format of the weights."""
    told = [each.value for each in call.keywords if each.arg == "mixed_precision"]
    return any(isinstance(each, ast.Constant) and each.value == "no" for each in told)


def device(world: World, modules: Iterable[Module]) -> tuple[Device | None, tuple[Step, ...]]:
    """Where a program says that it runs, by the words of its files: CUDA if any says so, else another, else nothing."""
    every = list({module.path: module for module in modules}.values())
    for kind in SAYING:
        for module in every:
            row = module.row_saying(SAYING[kind])
            if row:
                return kind, (_line(module, row, module.pieces.rows[row - 1]),)
    return None, ()


def _line(module: Module, row: int, line: str) -> Step:
    marker = ast.Constant(None, lineno=row, col_offset=len(line) - len(line.lstrip()), end_lineno=row)
    marker.end_col_offset = len(line.rstrip())
    return module.step(marker)
