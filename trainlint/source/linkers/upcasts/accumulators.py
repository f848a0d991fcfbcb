"""Losses that compute the gradient of the head's weight in pieces: in which format they add the pieces up."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Accumulator, Dtype, Option, Storage
from trainlint.knowledge.accumulators import ACCUMULATORS, KNOWN
from trainlint.knowledge.accumulators import Accumulator as Contract
from trainlint.source import computing, formats
from trainlint.source.binding import argument
from trainlint.source.gradients import trains
from trainlint.source.linkers.site import (
    Applied,
    Site,
    application,
    callable_of,
    option,
    passed,
    place_of,
    span_of,
    standing,
    uses,
)
from trainlint.source.linkers.upcasts.arithmetic import modules
from trainlint.source.summary import Module
from trainlint.source.things import Arguments, Constant, Made, Method, Tensor, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Unknown

WORDS = frozenset(known.word for known in ACCUMULATORS)
NAMES = frozenset(KNOWN)


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of these losses, and of the objects that their classes make."""
    return uses(world, module, WORDS)


def facts(world: World, site: Site) -> Iterator[Accumulator]:
    """In which format one of them adds up its gradients."""
    frame = standing(world, site)
    known = application(world, world.evaluate(callable_of(site.call), frame), site.call, frame, NAMES)
    if known is None or not trains(site.module, site.call):
        return
    contract = KNOWN[known.name]
    if contract.is_class and known.built is None:
        return
    given = known.built if known.built is not None else known.arguments
    adds, place = _told(world, contract, given)
    if adds is ELSEWHERE:
        return
    weights = _weights(world, known, contract, site, adds)
    yield Accumulator(
        call=site.span,
        argument=place_of(place, known, site),
        built=span_of(known),
        context=(),
        branch=(),
        function=known.name.rpartition(".")[2],
        parameter=contract.parameter,
        adds=adds,
        weights=weights,
        told=_in_32_bits(contract, known, site, place),
    )


def _in_32_bits(contract: Contract, known: Applied, site: Site, given: Thunk | None) -> Option | None:
    """The argument by which the sum is kept in float32, of the call that makes the loss, or applies it."""
    call, where = (site.call, site.span) if known.built is None else (known.node, span_of(known))
    if not isinstance(call, ast.Call) or where is None:
        return None
    other = "True" if contract.is_switch else "torch.float32"
    return option(call, where, contract.parameter, given, other, contract.parameters.index(contract.parameter))


ELSEWHERE = Unknown("another implementation is chosen, which adds nothing up in pieces")


def _told(world: World, contract: Contract, given: Arguments) -> tuple[Dtype | Unknown | None, Thunk | None]:
    """The format that a loss is told, None if it takes that of the weights; and the argument that says so."""
    for name in contract.exempting:
        other = argument(given, contract.parameters, name)
        if isinstance(other, Thunk) and not _is_default(world.force(other), contract):
            return ELSEWHERE, other
    found = argument(given, contract.parameters, contract.parameter)
    if not isinstance(found, Thunk):
        return found, None
    return _format(world, found, contract), found


def _format(world: World, given: Thunk, contract: Contract) -> Dtype | Unknown | None:
    thing = world.force(given)
    match thing:
        case Constant(value=None | False):
            return None
        case Constant(value=True) if contract.is_switch:
            return Dtype.FLOAT32
    found = formats.named(world, given)
    return found if found is not None else Unknown(f"{contract.parameter} is open", contract.parameter)


def _is_default(thing: Thing, contract: Contract) -> bool:
    return isinstance(thing, Constant) and thing.value in contract.defaults


def _weights(
    world: World, known: Applied, contract: Contract, site: Site, adds: Dtype | Unknown | None
) -> Storage | Unknown:
    """The format of the weight that a loss is given, when it is called."""
    if adds is not None:
        return Unknown("the weights do not decide")
    given = passed(known, contract.weight[0], (contract.weight[1],))
    if not isinstance(given, Thunk):
        return given or Unknown("no weight is passed")
    thing = world.force(given)
    format = thing.format if isinstance(thing, Tensor) else None
    if isinstance(thing, Method) and thing.name == "weight":
        format = Made(thing.thing, site.call, standing(world, site))
    found = computing.format_of(world, format) if format is not None else Unknown("the weight is not followed")
    if isinstance(found, Unknown) and not computing.mentions(world, modules(world, site)):
        return Storage(Dtype.FLOAT32)
    return found
