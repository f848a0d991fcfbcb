"""Dropout by a function that is not told the mode of the model, or by a layer that each call makes anew.

``F.dropout(x, p)`` drops as in training unless it is told otherwise, and a layer starts in training mode. What is told
the mode by place may take it for its rate: ``F.dropout(x, self.training)``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import FunctionalDropout, ModeAsRate
from trainlint.knowledge.torch import F
from trainlint.record import thing
from trainlint.regex import regex
from trainlint.source.linkers.effects.projects import trains
from trainlint.source.linkers.effects.rates import DEEPEST, Rate, applied, receiver_of, ungated
from trainlint.source.linkers.site import Site, call_of, named, standing
from trainlint.source.sift import effects
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import External, Frame
from trainlint.source.world import World

FUNCTIONS = frozenset(word.decode() for word in effects.FUNCTIONS)
LAYERS = frozenset(word.decode() for word in effects.LAYERS)
FULL = {f"{F}.{word}" for word in FUNCTIONS}, {f"torch.nn.{word}" for word in LAYERS}
MODE = 2
"""Where ``training`` stands without its name."""

MODE_NAME = regex(r"(?:^|\.)(?:is_)?train(?:ing)?$")
"""How the mode of a model is called."""

ON_PURPOSE = regex(
    r"pre_?net|(?<![a-z])mc(?![a-z])|monte|bayes|uncertain|stochastic|always|nois|augment|corrupt|perturb|random"
    r"|negative|discriminator|generator|critic|adversar|train|loss",
    re.IGNORECASE,
)
"""What classes and functions call themselves that drop on purpose, or that only training calls."""

MEANT = regex(
    r"(?<![a-z])mc(?![a-z])|monte|bayes|uncertain|always|purpose|intention|deliberate|inference|test|eval",
    re.IGNORECASE,
)
"""What a comment says where it is meant."""

NEAR = 2
"""Lines up to the call in which a comment may say so."""

HALF = ast.Constant(0.5, lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
"""How much is dropped where nothing says how much."""


@thing
class _Call:
    """One call: what says how much it drops, where that is said, and how what drops is called."""

    rate: ast.expr | None
    function: str
    last: ast.expr
    is_layer: bool


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that drop something and are not told the mode, in a project that trains."""
    if not effects.drops_always(module.data) or not trains(world):
        return
    for node, name in named(module, FUNCTIONS | LAYERS):
        call = call_of(module, node)
        if call is not None and name in LAYERS:
            call = call_of(module, call)
        read = _read(call) if call is not None else None
        if call is not None and read is not None and (_is_mode(read.rate) or not _says_so(module, call)):
            yield Site(call, module)


def _read(call: ast.Call) -> _Call | None:
    """A call that drops as in training, whatever the mode; None for any other."""
    is_layer = isinstance(call.func, ast.Call)
    told = call.func if isinstance(call.func, ast.Call) else call
    names = {each.arg: each.value for each in told.keywords}
    before = 0 if is_layer else 1
    if {None, "training"} & names.keys() or any(isinstance(each, ast.Starred) for each in told.args):
        return None
    if not before <= len(told.args) <= MODE or dotted(told.func) in (None, f"self.{last(told.func)}"):
        return None
    rate = told.args[before] if len(told.args) > before else names.get("p")
    parts = [told, *told.args, *(each.value for each in told.keywords)]
    return _Call(rate, ast.unparse(told.func), parts[-1], is_layer)


def _is_mode(rate: ast.expr | None) -> bool:
    return rate is not None and MODE_NAME.search(dotted(rate) or "") is not None


def _says_so(module: Module, call: ast.Call) -> bool:
    """Whether a comment at a call, or what the function and class around it are called, says that it is meant."""
    scope = module.standing(call)
    while not isinstance(scope, ast.Module):
        if ON_PURPOSE.search(getattr(scope, "name", "")):
            return True
        scope = module.standing(scope)
    comments = (row.partition("#")[2] for row in module.rows[max(0, call.lineno - NEAR) : call.end_lineno])
    return any(map(MEANT.search, comments))


def facts(world: World, site: Site) -> Iterator[FunctionalDropout | ModeAsRate]:
    """What one path shows of the rate of a call."""
    frame, call = standing(world, site), _read(site.call)
    assert call is not None, "a site was read already"
    if not _is_of_torch(world, site, frame, call):
        return
    if call.rate is not None and _is_mode(call.rate):
        if not call.is_layer:
            span = site.module.span(call.rate)
            is_named = call.rate not in site.call.args
            yield ModeAsRate(site.span, span, None, (), (), call.function, ast.unparse(call.rate), is_named)
        return
    rate = ungated(world, Rate(call.rate or HALF, frame, call.rate or HALF, site.module), site.call, DEEPEST)
    dropped = applied(world, rate) if rate is not None else None
    receiver = receiver_of(world, frame)
    if rate is None or dropped is None or receiver is None:
        return
    span = site.module.span(call.rate) if call.rate is not None else site.span
    given, end = ast.unparse(rate.argument), site.module.span(call.last)
    yield FunctionalDropout(site.span, span, None, (), (), call.function, call.is_layer, given, dropped, receiver, end)


def _is_of_torch(world: World, site: Site, frame: Frame, call: _Call) -> bool:
    functions, layers = FULL
    func = site.call.func
    match world.evaluate(func.func if isinstance(func, ast.Call) else func, frame):
        case External(name=name):
            return name in (layers if call.is_layer else functions)
    return False
