"""Classes taken away from logits: a slice that ends before them, or minus infinity written over them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import ClassCut, Job, Layer
from trainlint.regex import regex
from trainlint.source import jobs
from trainlint.source.linkers.site import Site, standing
from trainlint.source.sift.targets import PREDICTS, cuts
from trainlint.source.summary import Module, dotted
from trainlint.source.things import Constant, Frame, Tensor
from trainlint.source.world import World
from trainlint.value import Integer, Proof, Role, Unknown

MOST_CUT = 4
"""A layer wider by more than this was padded or is shared out among heads; nobody added these classes one by one."""

SCORES = regex(r"logit|score|pred|prob")
LOW = regex(r"-.*\binf\b|\binf\b.*-|-\s*1e\d|finfo|NEG_INF", re.IGNORECASE)
"""What a class is set to so that it is never chosen."""


OF_HIDDEN = regex(r"dim|rot|half|length|rank|hidden|embed", re.IGNORECASE)
"""What counts the numbers of a hidden state, not the classes of an output."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The subscripts that end before a class, in files that predict one."""
    words = (word.decode() for word in PREDICTS)
    if not any(word in module.loads for word in words):
        return
    found = [node for node in module.of_kind(ast.Subscript) if _end(module, node) is not None]
    if found and cuts(module.data):
        yield from (Site(node, module) for node in found)


def _end(module: Module, node: ast.Subscript) -> ast.expr | None:
    """Where the classes that are kept end: ``[..., :end]``, or ``[..., end:] = -inf`` that is written every time."""
    match node.ctx, node.slice:
        case ast.Load(), ast.Tuple(elts=[*before, ast.Slice(lower=None, upper=ast.expr() as end, step=None)]):
            is_score = _is_open(before) or SCORES.search((dotted(node.value) or "").rpartition(".")[2])
            return end if is_score and _is_whole(before) and _may_count(end) else None
        case ast.Store(), ast.Tuple(elts=[*before, ast.Slice(lower=ast.expr() as end, upper=None, step=None)]):
            return end if _is_whole(before) and _is_always_low(module, node) else None
    return None


def _may_count(end: ast.expr) -> bool:
    """Whether a number may be one of classes: not a share of a dimension, as rotary embeddings take."""
    parts = list(ast.walk(end))
    if any(isinstance(each, ast.Subscript | ast.FloorDiv) for each in parts):
        return False
    return not any(OF_HIDDEN.search(dotted(each) or "") for each in parts)


def _is_whole(before: list[ast.expr]) -> bool:
    """Whether nothing but the last dimension is cut."""
    if _is_open(before):
        return True
    return bool(before) and all(not isinstance(each, ast.Slice) or not (each.lower or each.upper) for each in before)


def _is_open(before: list[ast.expr]) -> bool:
    """``...`` stands for every other dimension."""
    return any(isinstance(each, ast.Constant) and each.value is Ellipsis for each in before)


def _is_always_low(module: Module, node: ast.Subscript) -> bool:
    """Whether a value that is never chosen is written here, whatever is decoded: not only until some length."""
    written = module.statement(node)
    if not isinstance(written, ast.Assign) or not LOW.search(ast.unparse(written.value)):
        return False
    holder = module.parents.get(written)
    while holder is not None and not isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
        if isinstance(holder, ast.If | ast.Try | ast.Match):
            return False
        holder = module.parents.get(holder)
    return True


def facts(world: World, site: Site) -> Iterator[ClassCut]:
    """What a cut takes away in one world: a class that the project needs."""
    node = site.node
    assert isinstance(node, ast.Subscript), "every site is a subscript"
    end = _end(site.module, node)
    if end is None or _is_read_elsewhere(site.module, node):
        return
    frame = standing(world, site)
    # Where it ends takes fewer steps to settle than what is cut, and is open more often.
    first = _first(world, end, frame)
    logits = world.evaluate(node.value, frame) if first is not None else None
    if first is None or not isinstance(logits, Tensor) or isinstance(logits.layer, Unknown) or logits.dim != -1:
        return
    if logits.activation is not None and not logits.activation.is_layer:
        return
    for each in _lost(logits.layer, first):
        job = jobs.job(world, each, logits.layer)
        if isinstance(job, Job) and _is_missed(job):
            is_written = isinstance(node.ctx, ast.Store)
            yield ClassCut(site.span, site.span, None, (), (), logits.layer, each, job, is_written=is_written)
            return


def _is_missed(job: Job) -> bool:
    """Whether the decoder needs the class; a blank or an empty place is taken away on purpose."""
    return job.role is Role.END or (job.role is Role.LABEL and job.proof is Proof.USE)


def _first(world: World, end: ast.expr, frame: Frame) -> Integer | None:
    """Where a cut begins, if that is a number."""
    value = world.evaluate(end, frame)
    first = world.integer(value)
    return None if isinstance(first, Unknown) or isinstance(value, Constant) else first


def _lost(layer: Layer, first: Integer) -> tuple[Integer, ...]:
    """The classes from where a cut begins to the last one."""
    if first.maximum is not None and first.maximum < 0:
        first = layer.classes + first
    count = (layer.classes - first).number
    if count is None or not 1 <= count <= MOST_CUT:
        return ()
    return (first, *(first + Integer.exact(more) for more in range(1, count)))


def _is_read_elsewhere(module: Module, node: ast.Subscript) -> bool:
    """Whether the function looks at the whole logits too: then it may find the class there."""
    name, scope = dotted(node.value), module.scope(node)
    others = (each for each in module.loads.get((name or "").rpartition(".")[2], ()) if dotted(each) == name)
    reads = [each for each in others if each is not node.value and module.scope(each) is scope]
    if isinstance(node.ctx, ast.Store):
        return any(each.lineno < node.lineno and not _is_stored_in(module, each) for each in reads)
    return bool(reads)


def _is_stored_in(module: Module, node: ast.expr) -> bool:
    holder = module.parents.get(node)
    return isinstance(holder, ast.Subscript) and isinstance(holder.ctx, ast.Store)
