"""How many classes a layer emits, or a product with a weight: an embedding's, a layer's, a parameter's."""

from __future__ import annotations

import re

from trainlint.facts import Layer
from trainlint.knowledge import torch
from trainlint.record import replace
from trainlint.source import factories
from trainlint.source.binding import library_argument
from trainlint.source.things import Arguments, Built, Constant, External, Method, Tensor, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Unknown

TURNS = ("T", "t", "mT", "transpose")
NO_WEIGHT = Unknown("a product of matrices makes the logits")


def layer(world: World, built: Built) -> Layer | Unknown:
    """The layer that an object of the library is; an embedding counts its entries."""
    assert isinstance(built.what, External), "an object of the library"
    is_embedding = built.what.name == "torch.nn.Embedding"
    owner = factories.tied_to(world, built)
    if owner is not None and owner is not built and isinstance(owner.what, External):
        tied = layer(world, owner)
        return tied if isinstance(tied, Unknown) else replace(tied, name=built.label or built.name)
    return counted(world, built, "num_embeddings" if is_embedding else torch.LAYERS.get(built.what.name, ("",))[0])


def counted(world: World, built: Built, parameter: str) -> Layer | Unknown:
    """An object of the library as a layer of as many classes as one of its parameters says."""
    given = library_argument(built.arguments, built.what.name, parameter)
    if not isinstance(given, Thunk):
        return given or Unknown(f"{built.name} is made without {parameter}")
    classes = world.integer(world.force(given))
    if isinstance(classes, Unknown):
        text = given.frame.step(given.node).text if given.known is None else parameter
        return Unknown(f"the width {text} of {built.label or built.name}: {classes.reason}", classes.settle or text)
    step = built.frame.module.step(built.node)  # type: ignore[arg-type]
    return Layer(built.label or built.name, classes.at_least(1).because(step), step.where)


def linear(world: World, weight: Thunk, axis: int) -> Layer | Unknown:
    """The classes that stand along one axis of a weight."""
    thing = world.force(weight)
    turned = False
    while isinstance(thing, Method) and thing.name in TURNS:
        thing, turned = thing.thing, not turned
    if isinstance(thing, Tensor) and len(thing.sizes) > 1:
        return _parameter(world, weight, thing.sizes[axis])
    is_first = (axis == 0) is not turned
    owner = thing.thing if isinstance(thing, Method) and thing.name == "weight" else None
    if is_first and isinstance(owner, Built) and isinstance(owner.what, External) and _has_classes_first(owner.what):
        return layer(world, owner)
    return NO_WEIGHT


def _has_classes_first(what: External) -> bool:
    """Whether a layer's weight counts its classes in its rows; that of a transposed convolution does not."""
    return what.name == "torch.nn.Embedding" or (what.name in torch.LAYERS and "Transpose" not in what.name)


def _parameter(world: World, weight: Thunk, size: Thunk) -> Layer | Unknown:
    classes = world.integer(world.force(size))
    if isinstance(classes, Unknown) or size.frame.module is None:
        return NO_WEIGHT
    name = weight.frame.step(weight.node).text if weight.frame.module is not None else "the weight"
    return Layer(name, classes.because(size.frame.step(size.node)), size.frame.module.span(size.node))


def einsum(world: World, given: Arguments) -> Tensor:
    """``einsum("btd,vd->btv", hidden, weight)``: the letter that only the weight and the output have."""
    equation = world.force(given.positional[0]) if given.positional else None
    text = str(equation.value) if isinstance(equation, Constant) else ""
    ins, _, out = re.sub(r"\s", "", text).partition("->")
    words, operands = ins.split(","), given.positional[1:]
    if not out or len(words) != len(operands):
        return Tensor(Unknown("einsum makes the logits"))
    for place, (word, operand) in enumerate(zip(words, operands, strict=True)):
        others = "".join(words[:place] + words[place + 1 :])
        own = [letter for letter in word if letter in out and letter not in others]
        if len(own) == 1 and len(set(word)) == len(word) and _is_weight(world.force(operand)):
            turned = word.index(own[0])
            axis = turned if turned < len(word) - 1 else -1
            return Tensor(linear(world, operand, axis), _dim(out, own[0]))
    return Tensor(Unknown("einsum makes the logits"))


def _is_weight(thing: Thing) -> bool:
    while isinstance(thing, Method) and thing.name in TURNS:
        thing = thing.thing
    return (isinstance(thing, Method) and thing.name == "weight") or (
        isinstance(thing, Tensor) and len(thing.sizes) > 1
    )


def _dim(out: str, letter: str) -> int | None:
    if out.endswith(letter):
        return -1
    return 1 if len(out) > 1 and out[1] == letter and "." not in out else None
