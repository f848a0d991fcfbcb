"""A thing in; out, what a reader would call it, and the lines that show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainlint.knowledge import torch
from trainlint.source import layers
from trainlint.source.things import (
    Built,
    Class,
    Constant,
    Entries,
    External,
    File,
    Function,
    Items,
    Method,
    Partial,
    Repeated,
    Tensor,
    Thing,
    Thunk,
    evidence,
)  # fmt: skip
from trainlint.source.world import World
from trainlint.value import Integer, Step, Unknown

A_TENSOR = "a tensor"
FEW = 6
"""Elements of a sequence that are shown."""


def in_words(world: World, thing: Thing) -> str:
    """What a reader would call a thing."""
    match thing:
        case Integer():
            return str(thing)
        case Constant(value=value):
            return repr(value)
        case Items(elements=elements, whole=whole):
            return _several(world, elements, "elements" if whole else "or more elements")
        case Entries(pairs=pairs, whole=whole):
            return _several(world, [key for key, _ in pairs], "entries" if whole else "or more entries")
        case Repeated(length=length):
            return "elements of one kind" if isinstance(length, Unknown) else f"{length} elements of one kind"
        case Tensor():
            return _tensor(thing)
        case Built(what=External(name=name)) if name in torch.LAYERS:
            layer = layers.layer(world, thing)
            return f"a layer, {name}" if isinstance(layer, Unknown) else f"a layer, {name}, {layer.classes} classes"
    return _named(world, thing)


def _named(world: World, thing: Thing) -> str:
    match thing:
        case File(module=module):
            return f"the module {module.name}"
        case External(name=name):
            return name.removeprefix("builtins.")
        case Class(name=name):
            return f"the class {name}"
        case Function(name=name):
            return f"the function {name}"
        case Partial(callable=inner):
            return f"{in_words(world, inner)} with some of its arguments"
        case Built(what=External(name=name)) if name.rpartition(".")[2].islower():
            return f"what {name} returns"
        case Built(what=what):
            return f"an object of {what.name}"
        case Method(thing=owner, name=name):
            return f"the method {name} of {in_words(world, owner)}"
    return getattr(thing, "name", "") or "not known"


def _several(world: World, thunks: Sequence[Thunk], what: str) -> str:
    shown = [in_words(world, world.force(each)) for each in thunks[:FEW]]
    listed = ", ".join([*shown, *(["..."] if len(thunks) > FEW else [])])
    what = {"elements": "element", "entries": "entry"}.get(what, what) if len(thunks) == 1 else what
    return f"{len(thunks)} {what}: {listed}" if listed else f"{len(thunks)} {what}"


def _tensor(tensor: Tensor) -> str:
    """What is known of a tensor as an output of a model, or as targets."""
    parts = []
    if not isinstance(tensor.layer, Unknown):
        parts.append(f"what {tensor.layer.name} emits, {tensor.layer.classes} classes")
    if tensor.activation and not tensor.activation.is_layer:
        parts.append(f"{tensor.activation.form.value} by {tensor.activation.name}")
    if tensor.lowest is not None and tensor.highest is not None:
        parts.append(f"from {tensor.lowest} to {tensor.highest}")
    if tensor.values:
        parts.append(f"of {', '.join(map(str, tensor.values))}")
    parts += [f"{fill.how} {fill.value}" for fill in tensor.fills]
    return f"{A_TENSOR}: {'; '.join(parts)}" if parts else A_TENSOR


def lines(thing: Thing) -> Iterator[Step]:
    """The lines that show a thing: what went into it, and where it is written or made."""
    yield from evidence(thing)
    match thing:
        case Tensor(layer=layer, activation=activation, fills=fills):
            yield from () if isinstance(layer, Unknown) else layer.evidence
            yield from [activation.step] if activation and not activation.is_layer else []
            yield from (Step(f"{fill.how} {fill.value}", fill.where) for fill in fills)
        case Class(node=node, module=module):
            yield module.step(node)
        case Function(node=node, frame=frame):
            yield frame.module.step(node)
        case Items(node=node, frame=frame) | Entries(node=node, frame=frame) | Built(node=node, frame=frame):
            if hasattr(node, "lineno"):
                yield frame.step(node)  # type: ignore[arg-type]
