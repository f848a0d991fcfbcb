"""The dropout of fused attention, and whether anything switches it off outside of training.

``scaled_dot_product_attention`` is a function and knows no mode: what it is given as ``dropout_p`` it drops, always.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import AttentionDropout
from trainlint.knowledge.torch import F
from trainlint.source.linkers.effects.projects import trains
from trainlint.source.linkers.effects.rates import DEEPEST, Rate, applied, receiver_of, ungated
from trainlint.source.linkers.site import Site, standing, uses
from trainlint.source.sift.effects import drops
from trainlint.source.summary import Module
from trainlint.source.things import External
from trainlint.source.world import World

ATTENTION = "scaled_dot_product_attention"
PLACE = 4
"""Where ``dropout_p`` stands without its name."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of fused attention that are told to drop something, in a project that trains."""
    if not drops(module.data) or not trains(world):
        return
    yield from (site for site in uses(world, module, {ATTENTION}) if _told(site.call) is not None)


def _told(call: ast.Call) -> ast.expr | None:
    """The argument that says how much to drop, if it says more than a zero."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "dropout_p"), None)
    if given is None and len(call.args) > PLACE and not any(isinstance(each, ast.Starred) for each in call.args):
        given = call.args[PLACE]
    match given:
        case ast.Constant(value=value) if not value:
            return None
    return given


def facts(world: World, site: Site) -> Iterator[AttentionDropout]:
    """What one path shows of the rate of a call."""
    frame, given = standing(world, site), _told(site.call)
    assert given is not None, "a site is told a rate"
    match world.evaluate(site.call.func, frame):
        case External(name=name) if name == f"{F}.{ATTENTION}":
            rate = ungated(world, Rate(given, frame, given, site.module), site.call, DEEPEST)
            dropped = applied(world, rate) if rate is not None else None
            receiver = receiver_of(world, rate.frame) if rate is not None else None
            if rate is None or dropped is None or receiver is None:
                return
            span, text = rate.home.span(rate.argument), ast.unparse(rate.argument)
            yield AttentionDropout(site.span, span, None, (), (), text, dropped, receiver, site.module.step(site.call))
