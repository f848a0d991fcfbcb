"""Results that nobody takes: a call that makes a new tensor, alone on its line.

``x.clamp(0, 1)`` changes nothing: what it is applied to stays as it was, and what it makes is lost. A line that only
takes time (a benchmark), that may fail (a check of sizes), or whose value is shown (the end of a cell) is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from trainlint.facts import DiscardedResult
from trainlint.knowledge import effects
from trainlint.regex import regex
from trainlint.source.binding import declared
from trainlint.source.linkers.effects import proofs
from trainlint.source.linkers.effects.projects import trains
from trainlint.source.linkers.site import Site, call_of, standing
from trainlint.source.names import holds, is_local
from trainlint.source.sift.effects import ALONE, discards
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import External, Frame, Opaque, Tensor
from trainlint.source.world import World
from trainlint.value import Step, Unknown

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef
PLACES = ast.Name | ast.Attribute | ast.Subscript
"""Where a value outlives the statement that reads it; what a call makes anew is lost whatever is done with it."""

CONTEXTS = frozenset({"no_grad", "enable_grad", "inference_mode", "autocast", "set_grad_enabled", "device"})
"""Contexts in which a line means what it means elsewhere; others may measure it, or expect it to fail."""

TIMED = frozenset({"perf_counter", "synchronize", "elapsed_time", "time_ns", "Timer", "record_function"})
CELL = regex(r"^# (?:In ?\[|%%)|^#{20,}", re.MULTILINE)
"""A script that was or becomes a notebook: the value that ends a part of it is shown."""

WORDS = effects.METHODS | {name.rpartition(".")[2] for name in effects.FUNCTIONS}
NAMES = frozenset(name.rpartition(".")[2] for name in effects.FUNCTIONS)
SHOWS_ALL = "ast_node_interactivity"
ELSEWHERE = frozenset(
    {
        "abs", "add", "bool", "clip", "copysign", "cuda", "detach", "div", "double", "exp", "expand", "fix", "flatten",
        "flip", "float", "floor", "half", "int", "log", "long", "mul", "neg", "permute", "pow", "put", "relu", "renorm",
        "repeat", "reshape", "roll", "round", "scatter", "sigmoid", "sign", "softmax", "sqrt", "square", "squeeze",
        "sub", "tile", "to", "transpose", "view",
    }
)  # fmt: skip
"""Words that arrays, modules and other things have too: of something open, they leave no question."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of such operations that stand alone on a line, in a project that trains."""
    found = [each for word, nodes in module.loads.items() if word in WORDS for each in _thrown_away(module, nodes)]
    if found and discards(module.data) and trains(world):
        yield from (Site(call, module) for call, alone in found if _is_order(module, alone, module.text))


def _thrown_away(module: Module, nodes: Iterable[ast.expr]) -> Iterator[tuple[ast.Call, ast.Expr]]:
    """The calls of these names that are statements of their own, each with its statement."""
    for node in nodes:
        call = call_of(module, node)
        alone = module.parents.get(call) if call is not None else None
        if call is not None and isinstance(alone, ast.Expr):
            yield call, alone


def _is_order(module: Module, alone: ast.Expr, text: str) -> bool:
    """Whether a line is there for what it does, and for nothing else."""
    if not ALONE.match(module.rows[alone.lineno - 1].encode()) or _is_shown(module, alone, text):
        return False
    return not (_may_fail(module, alone) or _is_timed(module, alone))


def _is_shown(module: Module, alone: ast.Expr, text: str) -> bool:
    """Whether the value of a line ends a cell, or a part of a script that is read like one."""
    if module.parents.get(alone) is not module.tree:
        return False
    cell, _ = module.place(alone.lineno)
    if cell is None:
        return CELL.search(text) is not None
    later = (module.place(each.lineno)[0] for each in module.tree.body if each.lineno > alone.lineno)
    return SHOWS_ALL in text or cell not in later


def _may_fail(module: Module, alone: ast.Expr) -> bool:
    """Whether a line stands where an error is caught, or in a context that may catch or measure it."""
    for child, holder in _around(module, alone):
        match holder:
            case ast.Try(body=body, handlers=[_, *_]) if child in body:
                return True
            case ast.With(items=items) if any(_context(item.context_expr) not in CONTEXTS for item in items):
                return True
    return False


def _context(node: ast.expr) -> str:
    return last(node.func if isinstance(node, ast.Call) else node)


def _around(module: Module, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What a line stands in, inside its function, from the inside out, each with the part that holds the line."""
    scope, child, holder = module.scope(node), node, module.parents.get(node)
    while holder is not None and child is not scope:
        yield child, holder
        child, holder = holder, module.parents.get(holder)


def _is_timed(module: Module, alone: ast.Expr) -> bool:
    """Whether a line is there to take time: a loop of nothing but calls, or a function that measures."""
    for _, holder in _around(module, alone):
        match holder:
            case ast.For(target=ast.Name(id="_"), body=body) | ast.While(body=body) if all(map(_is_call, body)):
                return True
    scope = module.scope(alone)
    return any(module.scope(node) is scope for word in TIMED for node in module.loads.get(word, ()))


def _is_call(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr)


def _alone(world: World) -> None:
    world.looks_for_callers = False


def facts(world: World, site: Site) -> Iterator[DiscardedResult]:
    """What one path shows of a result that is thrown away."""
    # Who calls tells nothing of what a line is applied to that its own file does not.
    world.take("alone", _alone)
    frame, call = standing(world, site), site.call
    if any(keyword.arg in effects.SWITCHES for keyword in call.keywords):
        return
    name = _function(world, call, frame)
    place = call.args[0] if name and call.args else call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(place, PLACES) or (last(call.func) == "type" and not call.args) or _is_dead(site, place):
        return
    proof = None if name else proofs.tensor(world, place, frame)
    if proof is not None and _is_so_already(call, proof):
        return
    if name or proof is not None:
        yield _discarded(site, place, proof, _in_place(name, last(call.func)))
    elif last(call.func) not in ELSEWHERE and _is_open(world, place, frame):
        yield _discarded(site, place, Unknown(f"what {ast.unparse(place)} is, is not known", ast.unparse(place)), "")


def _is_so_already(call: ast.Call, proof: Step) -> bool:
    """``x.to(dtype)`` of a tensor that was made with this format, or on this device: it changes nothing anyway."""
    return last(call.func) == "to" and all(
        any(f"{name}={ast.unparse(given)}" in proof.text for name in ("dtype", "device")) for given in call.args
    )


def _function(world: World, call: ast.Call, frame: Frame) -> str:
    """The name of a function of torch that a call applies; nothing for a method."""
    root = (dotted(call.func) or "").partition(".")[0]
    module = frame.module
    if last(call.func) not in NAMES or not (root in module.imports or module.stars):
        return ""
    match world.evaluate(call.func, frame):
        case External(name=name) if name in effects.FUNCTIONS:
            return name
    return ""


def _is_dead(site: Site, place: ast.expr) -> bool:
    """Whether nothing but the line itself reads a variable of its function: whatever is done with it is lost."""
    while isinstance(place, ast.Attribute | ast.Subscript):
        place = place.value
    module = site.module
    scope = module.scope(site.node)
    if not isinstance(place, ast.Name) or (isinstance(scope, FunctionDef) and place.id in declared(scope)):
        return False
    if not (isinstance(scope, FunctionDef) and is_local(module, scope, place.id)):
        return False
    loops = [holder for _, holder in _around(module, site.node) if isinstance(holder, ast.For | ast.While)]
    return not any(
        use is not place and (use.lineno > site.node.lineno or any(holds(module, loop, use) for loop in loops))
        for use in module.loads.get(place.id, ())
    )


def _is_open(world: World, place: ast.expr, frame: Frame) -> bool:
    """Whether a thing may be a tensor for all that is known."""
    return isinstance(world.evaluate(place, frame), Opaque | Unknown | Tensor)


def _in_place(function: str, word: str) -> str:
    if function:
        return f"{word}_" if function in effects.IN_PLACE_FUNCTIONS else ""
    return f"{word}_" if word in effects.IN_PLACE_TWINS else ""


def _discarded(site: Site, place: ast.expr, proof: Step | Unknown | None, in_place: str) -> DiscardedResult:
    name = ast.unparse(site.call.func)
    return DiscardedResult(site.span, site.span, None, (), (), name, ast.unparse(place), proof, in_place)
