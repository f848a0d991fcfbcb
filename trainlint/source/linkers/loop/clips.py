"""Gradients that are clipped between a scaled ``backward`` and the step of the scaler, which divides them again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from trainlint.facts import ScaledClip
from trainlint.regex import regex
from trainlint.source.binding import argument
from trainlint.source.linkers.site import Site, call_of
from trainlint.source.order import Deed, Fork, Held, Turns, held, roots
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Built, Constant, External, Thunk
from trainlint.source.training import inside
from trainlint.source.world import World, quietly

CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"})
CLAMPS = frozenset({"clamp_", "clip_"})
"""Methods that clip one gradient in place: ``p.grad.clamp_(-1, 1)``."""

PARAMETERS = ("device", "init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
PARAMETERS_OF_CUDA = PARAMETERS[1:]
LIMITS = frozenset({"max_norm", "clip_value"})
INFINITE = regex(r"(?<![a-z])inf(?:inity)?(?![a-z])", re.IGNORECASE)
ASKS = frozenset({"get_scale", "_scale", "cur_scale"})
"""What is asked of a scaler by code that divides by hand, or clips at a scaled threshold."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of PyTorch's functions that clip gradients, and of a gradient's own methods."""
    for word in CLAMPS & module.loads.keys() if "grad" in module.loads else ():
        for node in module.loads[word]:
            call = call_of(module, node)
            if call is not None and _clamped(call) is not None:
                yield Site(call, module)
    for word in CLIPS & module.loads.keys():
        for node in module.loads[word]:
            call = call_of(module, node)
            is_foreign = isinstance(node, ast.Attribute) and last(node.value) != "utils"
            if call is not None and not is_foreign and not _only_measures(call):
                yield Site(call, module)


def _clamped(call: ast.Call) -> str | None:
    """The first word of what owns a gradient that a call clips in place: ``p`` of ``p.grad.data.clamp_(-1, 1)``."""
    match call.func:
        case (
            ast.Attribute(value=ast.Attribute(value=owner, attr="grad"), attr=word)
            | ast.Attribute(value=ast.Attribute(value=ast.Attribute(value=owner, attr="grad"), attr="data"), attr=word)
        ) if word in CLAMPS and (call.args or call.keywords):
            return (dotted(owner) or "").partition(".")[0]
    return None


def _only_measures(call: ast.Call) -> bool:
    """Whether the limit is infinite: the norm is asked for, and nothing is clipped."""
    limits = [*call.args[1:2], *(each.value for each in call.keywords if each.arg in LIMITS)]
    return any(INFINITE.search(ast.unparse(each)) for each in limits)


def facts(world: World, site: Site) -> Iterator[ScaledClip]:
    """A clipping that meets gradients which a scaler has multiplied."""
    if ASKS & site.module.loads.keys():
        return
    for root in roots(world, site.module, site.call):
        every = held(world, root)
        for place, clip in enumerate(every):
            if clip.event.node is site.call:
                yield from _judged(world, site, every, place)


def _judged(world: World, site: Site, every: Sequence[Held], place: int) -> Iterator[ScaledClip]:
    clip = _for_all_parameters(every[place], site.call)
    before = [each for each in every[:place] if _may_meet(each, clip)]
    behind = [each for each in every[place + 1 :] if _may_meet(each, clip)]
    back = next((each for each in reversed(before) if each.event.deed is Deed.BACKWARD and _is_scaled(each)), None)
    step = next((each for each in behind if each.event.deed is Deed.STEP and _is_by_scaler(each)), None)
    if back is None or step is None or not _may_meet(back, step):
        return
    between = every[every.index(back) : place]
    if any(each.event.deed is Deed.UNSCALE or "unscale" in each.event.subject for each in between):
        return
    off = _switched_off(world, step)
    if off is not None and not off.assumed:
        return
    span = site.span
    yield ScaledClip(
        span, span, None, (), (), clips=last(site.call.func), scaled=back.event.module.step(back.event.node),
        stepped=step.event.module.step(step.event.node), assumed=off.assumed if off is not None else (),
    )  # fmt: skip


def _for_all_parameters(clip: Held, call: ast.Call) -> Held:
    """A clipping of one gradient where the loop stands that does it for each parameter."""
    owner = _clamped(call) or ""
    for place, holder in enumerate(clip.holders):
        if isinstance(holder, Turns) and isinstance(holder.node, ast.For):
            names = (each.id for each in ast.walk(holder.node.target) if isinstance(each, ast.Name))
            if owner in names:
                return Held(clip.event, clip.holders[:place])
    return clip


def _may_meet(one: Held, other: Held) -> bool:
    """Whether two events come in one turn: in the same loop, and not on arms that exclude each other."""
    if one.loops != other.loops:
        return False
    mine, others = (dict(_arms(each)) for each in (one, other))
    if any(others.get(fork, number) != number for fork, number in mine.items()):
        return False
    read = [{name for fork, _ in _arms(each) if fork not in shared for name in fork.read}
            for each, shared in ((one, others), (other, mine))]  # fmt: skip
    if not read[0] & read[1]:
        return True
    return not any((text, 1 - number) in _texts(other) for text, number in _texts(one)) and _texts(other) <= _texts(one)


def _arms(one: Held) -> Iterator[tuple[Fork, int]]:
    return (each for each in one.holders if isinstance(each, tuple))


def _texts(one: Held) -> frozenset[tuple[str, int]]:
    """The tests around an event as they are spelled, each with its arm."""
    return frozenset((fork.text, number) for fork, number in _arms(one) if fork.test is not None)


def _is_scaled(back: Held) -> bool:
    """``scaler.scale(loss).backward()``, or the same under a name."""
    node = back.event.node
    assert isinstance(node, ast.Call), "backward is a call"
    value = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(value, ast.Name):
        scope = back.event.module.scope(node)
        made = [each.value for each in inside(scope) if isinstance(each, ast.Assign)
                and any(dotted(target) == value.id for target in each.targets)]  # fmt: skip
        value = made[-1] if made else None
    match value:
        case ast.Call(func=ast.Attribute(value=scaler, attr="scale"), args=[_]):
            return "scal" in last(scaler).lower()
    return False


def _is_by_scaler(step: Held) -> bool:
    match step.event.node:
        case ast.Call(func=ast.Attribute(value=scaler), args=[_, *_]):
            return "scal" in last(scaler).lower()
    return False


def _switched_off(world: World, step: Held) -> Constant | None:
    """What tells a scaler not to scale; None where nothing does."""
    node = step.event.node
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute), "it was looked at above"
    scaler, module = node.func.value, step.event.module
    match quietly(world, lambda inner: inner.evaluate(scaler, inner.open_frame(module, node))):
        case Built(what=External(name=name), arguments=given) if given is not None:
            told = argument(given, PARAMETERS_OF_CUDA if ".cuda." in name else PARAMETERS, "enabled")
            enabled = quietly(world, lambda inner: inner.force(told)) if isinstance(told, Thunk) else None
            return enabled if isinstance(enabled, Constant) and not enabled.value else None
    return None
