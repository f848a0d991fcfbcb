"""Cross-entropies that are written out: a score minus ``logsumexp``, or a pick from ``log_softmax``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Dtype, LossArithmetic, Spelling, Storage
from trainlint.record import replace
from trainlint.source import computing, regions, widening
from trainlint.source.gradients import trains
from trainlint.source.linkers.site import Site, call_of, standing
from trainlint.source.linkers.targets.own_losses import CALLED, PICKS
from trainlint.source.linkers.upcasts.arithmetic import PLAIN, is_plain, logits_of, placed
from trainlint.source.summary import Module, last
from trainlint.source.things import Tensor
from trainlint.source.world import World

SUMS = ("logsumexp", "log_softmax")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The sums over classes in functions that are losses and pick scores by their targets."""
    for word in SUMS:
        for node in module.loads.get(word, ()):
            call, scope = call_of(module, node), module.scope(node)
            if call is None or not isinstance(scope, ast.FunctionDef) or _is_handed_on(module, call):
                continue
            if _is_loss(module, scope) and _picks(module, scope):
                yield Site(call, module)


def facts(world: World, site: Site) -> Iterator[LossArithmetic]:
    """In which numbers such a loss is computed."""
    frame, scope = standing(world, site), site.module.scope(site.node)
    assert isinstance(scope, ast.FunctionDef), "only these are sites"
    if not trains(site.module, site.call):
        return
    spelling = Spelling.BY_HAND if last(site.call.func) == "logsumexp" else Spelling.SEPARATE
    fact = LossArithmetic(site.span, site.span, None, (), (), scope.name, spelling, PLAIN)
    scores = _scores(site.call)
    if scores is None:
        return
    cast = widening.cast(site.module, scores)
    if cast is not None and isinstance(cast.dtype, Dtype):
        yield replace(fact, logits=Storage(cast.dtype, cast.steps))
        return
    if not computing.mentioned(world):
        yield fact
        return
    if not regions.trained(world, site.call, frame):
        return
    thing = world.evaluate(scores, frame)
    soft = world.evaluate(site.call, frame) if spelling is Spelling.SEPARATE else None
    format = soft.softened.format if isinstance(soft, Tensor) and soft.softened else getattr(thing, "format", None)
    logits = logits_of(world, site, format, thing)
    fact = replace(fact, logits=logits)
    yield fact if is_plain(logits) else placed(world, fact, site, (site.call, frame))


def _is_loss(module: Module, scope: ast.FunctionDef) -> bool:
    """Whether a function or its class calls itself a loss."""
    holder = module.parents.get(scope)
    names = f"{scope.name} {holder.name if isinstance(holder, ast.ClassDef) else ''}".lower()
    return any(word in names for word in CALLED)


def _picks(module: Module, scope: ast.FunctionDef) -> bool:
    """Whether a function picks scores by an index."""
    return any(last(call.func) in PICKS and module.scope(call) is scope for call in module.calls)


def _is_handed_on(module: Module, call: ast.Call) -> bool:
    """Whether the sum goes into a loss of PyTorch, which is judged itself, or is squared away beside one."""
    parent = module.parents.get(call)
    return isinstance(parent, ast.Call) and parent.func is not call and last(parent.func) in ("nll_loss", "kl_div")


def _scores(call: ast.Call) -> ast.expr | None:
    """What the sum is over: ``torch.logsumexp(scores, -1)``, ``scores.logsumexp(-1)``."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="torch" | "F" | "nn" | "functional")) | ast.Name():
            return call.args[0] if call.args else None
        case ast.Attribute(value=ast.Attribute(attr="functional" | "special" | "nn")):
            return call.args[0] if call.args else None
        case ast.Attribute(value=scores):
            return scores
    return None
