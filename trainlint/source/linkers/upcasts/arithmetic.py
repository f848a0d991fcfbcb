"""In which numbers PyTorch computes a loss: the format of its logits, the regions around it, and how it is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Dtype, Form, Layer, LossArithmetic, Spelling, Storage
from trainlint.knowledge import SIGNATURES, torch
from trainlint.record import replace
from trainlint.source import callers, computing, regions, widening
from trainlint.source.gradients import trains
from trainlint.source.linkers.site import (
    Applied,
    Site,
    application,
    callable_of,
    deciding,
    passed,
    span_of,
    standing_to_train,
    uses,
)
from trainlint.source.summary import Module
from trainlint.source.text import Fault
from trainlint.source.things import Cast, Constant, External, Format, Frame, Tensor, Thing, Thunk
from trainlint.source.world import World
from trainlint.span import Span
from trainlint.value import Integer, Unknown

F = torch.F
NATIVE = (f"{F}.cross_entropy", "torch.nn.CrossEntropyLoss")
PICKING = (f"{F}.nll_loss", "torch.nn.NLLLoss", "torch.nn.NLLLoss2d", f"{F}.kl_div", "torch.nn.KLDivLoss")
BINARY = (f"{F}.binary_cross_entropy_with_logits", "torch.nn.BCEWithLogitsLoss")
KNOWN = frozenset((*NATIVE, *PICKING, *BINARY))
WORDS = frozenset(name.rpartition(".")[2] for name in KNOWN)
PLAIN = Storage(Dtype.FLOAT32)
"""Where nothing in reach mentions 16 bits, PyTorch's own default is what is computed in."""

MOVING = ("transpose", "permute", "movedim", "swapaxes", "rearrange", "mT")
ONLY_LOADED = Unknown("the model is made short where nothing is seen to be trained")
NOT_SOFTENED = Unknown("what made the log-probabilities is not followed")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of these losses, and of the objects that their classes make."""
    return uses(world, module, WORDS)


def facts(world: World, site: Site) -> Iterator[LossArithmetic]:
    """In which numbers one loss is computed in one world; nothing for a construction, nor for an evaluation."""
    frame = standing_to_train(world, site)
    known = application(world, world.evaluate(callable_of(site.call), frame), site.call, frame, KNOWN)
    if known is None or known.is_construction or not trains(site.module, site.call):
        return
    given = passed(known, 0, ("input",))
    if not may_be_spatial(site):
        cast = _in_sight(given, known)
        if cast is not None and isinstance(cast.dtype, Dtype):
            yield _fact(site, known, _spelling(known), Storage(cast.dtype, cast.steps))
            return
        if not computing.mentioned(world):
            yield _fact(site, known, _spelling(known), PLAIN)
            return
    if regions.trained(world, site.call, frame):
        thing = world.force(given) if isinstance(given, Thunk) else given or Unknown("the input is not passed")
        yield judged(world, site, frame, known, thing)


def judged(world: World, site: Site, frame: Frame, known: Applied, thing: Thing) -> LossArithmetic:
    """In which numbers a loss of this input is computed."""
    spelling, format, place = _computed(known, thing, site, frame)
    logits = logits_of(world, site, format, thing)
    fact = _fact(site, known, spelling, logits, smoothed=_is_smoothed(world, known), thing=thing)
    if spelling is Spelling.SEPARATE:
        fact = replace(fact, softened=_softening(world, place, site))
    return fact if is_plain(logits) and not fact.spatial else placed(world, fact, site, place)


def logits_of(world: World, site: Site, format: Format | Unknown | None, thing: Thing) -> Storage | Unknown:
    """The format of what a loss is given; PyTorch's own where nothing that leads here mentions 16 bits."""
    if isinstance(format, Unknown):
        found: Storage | Unknown = format
    else:
        found = computing.format_of(world, format)
    if isinstance(found, Unknown) and isinstance(thing, Unknown):
        found = Unknown(f"the logits: {thing.reason}", thing.settle)
    if isinstance(found, Unknown):
        return found if computing.mentions(world, modules(world, site)) else PLAIN
    return found if not found.dtype.is_short or _is_trained(world, site, found) else ONLY_LOADED


def _is_trained(world: World, site: Site, found: Storage) -> bool:
    """Whether files that lead to a loss train, where another makes its model short: that may be for an evaluation."""
    makers = [world.workspace.module(step.where.path) for step in found.evidence]
    every = (*modules(world, site), *(module for module in makers if not isinstance(module, Fault)))
    return all(module is site.module for module in makers) or any(callers.is_training(module) for module in every)


def is_plain(logits: Storage | Unknown) -> bool:
    """Whether what surrounds a loss changes nothing for it."""
    return isinstance(logits, Storage) and not logits.dtype.is_short


def placed(world: World, fact: LossArithmetic, site: Site, place: tuple[ast.AST, Frame]) -> LossArithmetic:
    """A loss of short logits, with what surrounds the place where it is computed."""
    region = regions.around(world, *place)
    autocast = region if region is None or isinstance(region, Unknown) else region.device
    files = modules(world, site)
    if autocast is None and isinstance(fact.logits, Storage):
        autocast = computing.by_framework(world, files)
    device, hints = computing.device(world, files)
    compiled = regions.compiled(world, *place)
    return replace(fact, autocast=autocast, device=device, hints=hints, compiled=compiled)


def modules(world: World, site: Site) -> list[Module]:
    """The files that lead to a site in this world: its own, and those of its callers."""
    paths = dict.fromkeys((site.module.path, *(step.where.path for step in world.way())))
    found = [world.workspace.module(path) for path in paths]
    return [module for module in found if not isinstance(module, Fault)]


def may_be_spatial(site: Site) -> bool:
    """Whether the function of a loss moves dimensions about, so that classes may come to stand in the second one."""
    words = [word for word in MOVING if word in site.module.loads]
    scope = site.module.scope(site.node)
    return any(site.module.scope(node) is scope for word in words for node in site.module.loads[word])


def _computed(
    known: Applied, thing: Thing, site: Site, frame: Frame
) -> tuple[Spelling, Format | Unknown | None, tuple[ast.AST, Frame]]:
    """How a loss is written, the format in which its sum over the classes is computed, and where that happens."""
    place: tuple[ast.AST, Frame] = (site.call, frame)
    spelling = _spelling(known)
    if spelling is not Spelling.SEPARATE:
        return spelling, getattr(thing, "format", None), place
    soft = thing.softened if isinstance(thing, Tensor) else None
    if soft is None or not isinstance(thing, Tensor) or thing.activation is None:
        return spelling, NOT_SOFTENED, place
    if thing.activation.form is not Form.LOG_PROBABILITIES:
        return spelling, NOT_SOFTENED, place
    is_log = thing.activation.name.startswith("the log of ")
    return Spelling.LOGARITHM if is_log else spelling, soft.format, (soft.node, soft.frame)


def _in_sight(given: Thunk | Unknown | None, known: Applied) -> Cast | None:
    """The cast by which the sum of a loss is computed in 32 bits, where it stands in plain sight."""
    if not isinstance(given, Thunk) or given.known is not None:
        return None
    find = widening.softened if known.name in PICKING else widening.cast
    return find(given.frame.module, given.node)


def _spelling(known: Applied) -> Spelling:
    if known.name in NATIVE:
        return Spelling.NATIVE
    return Spelling.BINARY if known.name in BINARY else Spelling.SEPARATE


def _fact(
    site: Site, known: Applied, spelling: Spelling, logits: Storage | Unknown, *, smoothed: bool = False,
    thing: Thing | None = None,
) -> LossArithmetic:  # fmt: skip
    classes = thing.layer.classes.number if isinstance(thing, Tensor) and isinstance(thing.layer, Layer) else None
    return LossArithmetic(
        call=site.span,
        argument=site.span,
        built=span_of(known),
        context=(),
        branch=(),
        function=known.name.rpartition(".")[2],
        spelling=spelling,
        logits=logits,
        smoothed=smoothed,
        spatial=isinstance(thing, Tensor) and thing.dim == 1 and spelling is Spelling.NATIVE,
        classes=classes,
        shown=_spelled(passed(known, 0, ("input",)), site),
        weighted=_is_weighted(known),
    )


def _is_weighted(known: Applied) -> bool:
    signature = SIGNATURES.get(known.name)
    return signature is not None and "weight" in signature.parameters and deciding(known, "weight") is not None


def _spelled(given: Thunk | Unknown | None, site: Site) -> Span | None:
    """The expression that the call of a loss itself is given."""
    if not isinstance(given, Thunk) or given.frame.module is not site.module:
        return None
    is_there = given.node in (*site.call.args, *(each.value for each in site.call.keywords))
    return site.module.span(given.node) if is_there and isinstance(given.node, ast.expr) else None


def _softening(world: World, place: tuple[ast.AST, Frame], site: Site) -> Span | None:
    """The call of PyTorch's ``log_softmax``, beside the loss that it is for."""
    node, frame = place
    if not isinstance(node, ast.Call) or site.module.scope(node) is not site.module.scope(site.call):
        return None
    called = world.evaluate(node.func, frame)
    is_known = isinstance(called, External) and called.name.rpartition(".")[2] == "log_softmax"
    return site.module.span(node) if is_known and frame.module is site.module else None


def _is_smoothed(world: World, known: Applied) -> bool:
    """Whether the targets are smoothed, or may be: the best answer is then at a finite margin."""
    given = deciding(known, "label_smoothing") if known.name in NATIVE else None
    if given is None:
        return False
    thing = world.force(given) if isinstance(given, Thunk) else given
    match thing:
        case Constant(value=float() as number):
            return number > 0
        case Integer():
            return thing.number != 0
    return True
