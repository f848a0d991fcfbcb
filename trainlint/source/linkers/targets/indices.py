"""Targets with a negative sentinel that are used as indices: gathered by, one-hot encoded, looked up with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Fill, SentinelIndex
from trainlint.regex import regex
from trainlint.source.linkers.site import Site, call_of, named, standing
from trainlint.source.sift.targets import indexed
from trainlint.source.summary import Module, dotted
from trainlint.source.things import External, Frame, Tensor, Thing
from trainlint.source.world import MOST_BENEATH, World, worlds

FUNCTIONS = {
    "torch.nn.functional.one_hot": (0, "tensor"),
    "torch.gather": (2, "index"),
    "torch.index_select": (2, "index"),
    "torch.scatter": (2, "index"),
    "torch.scatter_add": (2, "index"),
}
METHODS = {"gather": 1, "scatter": 1, "scatter_": 1, "scatter_add": 1, "scatter_add_": 1, "index_select": 1}
"""Where the index stands, behind the dimension."""

REFUSES = frozenset({"one_hot", *METHODS})
ANSWERS = regex(r"label|target|tgt|tag|answer|truth|gold|cls|class|\by\b", re.IGNORECASE)
"""What targets are called."""

TARGETS = regex("label|target|tgt")


def sites(world: World, module: Module) -> Iterator[Site]:
    """Calls that are given targets as an index, and subscripts whose last part is named like targets."""
    for node, word in named(module, REFUSES):
        call = call_of(module, node)
        if call is not None and (word == "one_hot" or isinstance(node, ast.Attribute)) and _is_by_answers(call):
            yield Site(call, module)
    found = [each for each in module.of_kind(ast.Subscript) if _index(module, each) is not None]
    if found and indexed(module.data):
        yield from (Site(each, module) for each in found)


def _is_by_answers(call: ast.Call) -> bool:
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    names = (
        dotted(each) or "" for one in given for each in ast.walk(one) if isinstance(each, ast.Name | ast.Attribute)
    )
    return any(ANSWERS.search(name.rpartition(".")[2]) for name in names)


def _index(module: Module, node: ast.Subscript) -> ast.expr | None:
    """What a subscript looks up with, if it is named like a target."""
    index = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    is_name = isinstance(node.ctx, ast.Load) and isinstance(index, ast.Name | ast.Attribute)
    return index if is_name and TARGETS.search(dotted(index) or "") else None


def facts(world: World, site: Site) -> Iterator[SentinelIndex]:
    """A negative fill that reaches an index in one world."""
    if not _may_be_marked(world.apart(), site):
        return
    frame = standing(world, site)
    if isinstance(site.node, ast.Call):
        name, index = _by_call(world, site.node, frame)
    else:
        assert isinstance(site.node, ast.Subscript), "a site is a call or a subscript"
        name, index = "", _index(site.module, site.node)
    if index is None or _is_guarded(site.module, site.node, index, wraps=not name):
        return
    fill = _sentinel(world, index, frame)
    if fill is not None:
        yield SentinelIndex(site.span, site.module.span(index), None, (), (), name, fill)


def _may_be_marked(world: World, site: Site) -> bool:
    """Whether a fill is known, or an open parameter may bring one; asked first, since to look for callers is dear."""
    frame = world.open_frame(site.module, site.node)
    if isinstance(site.node, ast.Call):
        _, index = _by_call(world, site.node, frame)
    else:
        assert isinstance(site.node, ast.Subscript), "a site is a call or a subscript"
        index = _index(site.module, site.node)
    thing = world.evaluate(index, frame) if index is not None else None
    return thing is not None and (not isinstance(thing, Tensor) or _negative(thing) is not None)


def _by_call(world: World, call: ast.Call, frame: Frame) -> tuple[str, ast.expr | None]:
    """The name of what is called, and its index."""
    called = world.evaluate(call.func, frame)
    if isinstance(called, External):
        place, keyword = FUNCTIONS.get(called.name, (0, ""))
    elif isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
        place, keyword = METHODS[call.func.attr], "index"
    else:
        return "", None
    given = next((each.value for each in call.keywords if each.arg == keyword), None) if keyword else None
    if given is None and keyword and place < len(call.args):
        given = call.args[place]
    return (call.func.attr if isinstance(call.func, ast.Attribute) else _called_name(called)), given


def _called_name(called: Thing) -> str:
    return called.name.rpartition(".")[2] if isinstance(called, External) else ""


def _sentinel(world: World, index: ast.expr, frame: Frame) -> Fill | None:
    """A negative number that fills the index on every path beneath this one."""
    found: Fill | None = None
    for thing, _ in worlds(world.beneath, lambda inner: inner.evaluate(index, frame), MOST_BENEATH):
        found = _negative(thing)
        if found is None:
            break
    return found


def _negative(thing: Thing) -> Fill | None:
    if not isinstance(thing, Tensor):
        return None
    marked = (fill for fill in thing.fills if fill.value.maximum is not None and fill.value.maximum < 0)
    return next(marked, None)


def _is_guarded(module: Module, node: ast.AST, index: ast.expr, *, wraps: bool) -> bool:
    """Whether a condition stands around the place, or, where PyTorch takes the number, the function masks somewhere."""
    holder: ast.AST | None = node
    while holder is not None and not isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
        if isinstance(holder, ast.If | ast.IfExp | ast.While | ast.Match):
            return True
        if isinstance(holder, ast.ListComp | ast.GeneratorExp) and any(each.ifs for each in holder.generators):
            return True
        holder = module.parents.get(holder)
    return wraps and any(_masks(each, index) for each in ast.walk(holder or module.tree))


def _masks(node: ast.AST, index: ast.expr) -> bool:
    match node:
        case ast.Compare(left=left, comparators=[right]):
            return dotted(index) in (dotted(left), dotted(right))
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return "mask" in name.lower() or "valid" in name.lower()
    return False
