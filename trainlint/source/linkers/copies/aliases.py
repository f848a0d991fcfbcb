"""An expression in; out, whether its value holds the tensors of a model, and what of it only looks like a copy.

``state_dict()`` hands out the tensors themselves. ``dict``, ``.copy()`` and ``copy.copy`` make a new dictionary of the
same tensors, ``.detach()`` a new view of the same memory, ``.cpu()`` a copy only of what lies elsewhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Sharing
from trainlint.record import replace, thing
from trainlint.regex import regex
from trainlint.source import callers
from trainlint.source.binding import parameters
from trainlint.source.names import holds, reaching
from trainlint.source.order import UNWRAPS
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Function
from trainlint.source.world import World

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef
DEEPEST = 5
"""Names, helpers and containers between what is kept and the model."""

SHALLOW = frozenset({"dict", "OrderedDict", "copy.copy", "list", "tuple"})
SAME_TENSOR = frozenset({"detach", "contiguous", "view_as", "requires_grad_"})
"""Methods of a tensor that hand back a tensor of the same memory."""

ON_CPU = frozenset({"cpu", "numpy"})
"""Methods of a tensor that copy only what lies on another device."""

HANDED_OUT = frozenset({"named_parameters", "named_buffers", "parameters", "buffers"})
NO_MODEL = regex(
    r"opt|sched|scaler|(?<![a-z])(?:e|s)ma|swa|averag|loader|sampler|teacher|target|shadow|metric|tokenizer|vocab|cfg",
    re.IGNORECASE,
)
"""What has a ``state_dict`` and is no model that is trained: optimizers, averages, loaders."""


@thing
class Shared:
    """The model whose tensors a value holds, as its module spells it, and what only looks like a copy.

    ``through`` are the calls by which the value came here from where the model is known, the last one first.
    """

    model: ast.expr
    module: Module
    sharing: Sharing
    by: str = ""
    through: tuple[callers.Caller, ...] = ()

    def dressed(self, by: str, sharing: Sharing | None = None) -> Shared:
        """The same tensors behind something that looks like a copy."""
        worse = self.sharing if self.sharing is Sharing.ON_CPU else sharing or Sharing.TENSORS
        return replace(self, by=self.by or by, sharing=worse)


def shared(world: World, module: Module, node: ast.expr, depth: int = 0) -> Shared | None:
    """The model whose tensors an expression holds; None where it holds none, or copies them."""
    if depth > DEEPEST:
        return None
    match node:
        case ast.Call():
            return _called(world, module, node, depth + 1)
        case ast.DictComp(value=value, generators=[ast.comprehension() as over]):
            return _comprehended(world, module, value, over, depth + 1)
        case ast.ListComp(elt=value, generators=[ast.comprehension() as over]):
            return _comprehended(world, module, value, over, depth + 1)
        case ast.Dict(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            return _first(world, module, parts, depth + 1)
        case ast.IfExp(body=body, orelse=orelse):
            return _first(world, module, [body, orelse], depth + 1)
        case ast.Name():
            return _named(world, module, node, depth + 1)
    return None


def _first(world: World, module: Module, parts: list[ast.expr], depth: int) -> Shared | None:
    return next(filter(None, (shared(world, module, part, depth) for part in parts)), None)


def _called(world: World, module: Module, node: ast.Call, depth: int) -> Shared | None:
    match node:
        case ast.Call(func=ast.Attribute(value=model, attr="state_dict")):
            return _of_model(world, module, model)
        case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[], keywords=[]):
            found = shared(world, module, inner, depth)
            return found.dressed(".copy()") if found else None
        case ast.Call(func=func, args=[inner]) if _is_shallow(module, func):
            found = shared(world, module, inner, depth) or _handed_out(world, module, inner)
            return found.dressed(dotted(func) or "") if found else None
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            return _first(world, module, [each.value for each in keywords], depth)
    return _returned(world, module, node, depth)


def _is_shallow(module: Module, func: ast.expr) -> bool:
    name = dotted(func) or ""
    head, _, rest = name.partition(".")
    full = ".".join(filter(None, (module.imports.get(head, head), rest)))
    return full in SHALLOW or full.rpartition(".")[2] == "OrderedDict"


def _of_model(world: World, module: Module, node: ast.expr) -> Shared | None:
    model = unwrapped(world, module, node)
    return Shared(model, module, Sharing.TENSORS) if model is not None and is_model_name(model) else None


def is_model_name(model: ast.expr) -> bool:
    """Whether a name may be that of a model that is trained, for all that it says."""
    return not NO_MODEL.search(last(model))


def unwrapped(world: World, module: Module, node: ast.expr, depth: int = 0) -> ast.expr | None:
    """The name of a model behind ``.module``, ``unwrap_model(model)`` and other names; None for what is made anew."""
    match node:
        case _ if depth > DEEPEST:
            return None
        case ast.Attribute(value=value, attr="module" | "_orig_mod"):
            return unwrapped(world, module, value, depth + 1)
        case ast.Call(func=ast.Name(id="getattr"), args=[model, ast.Constant(value="module"), *_]):
            return unwrapped(world, module, model, depth + 1)
        case ast.Call(func=func, args=[model, *_]) if UNWRAPS.search(last(func)):
            return unwrapped(world, module, model, depth + 1)
        case ast.IfExp(body=body):
            return unwrapped(world, module, body, depth + 1)
        case ast.Name():
            behind = assigned(world, module, node)
            is_other = isinstance(behind, ast.Name | ast.Attribute | ast.IfExp) or _unwraps(behind)
            return unwrapped(world, module, behind, depth + 1) if behind is not None and is_other else node
        case ast.Attribute():
            return node if dotted(node) else None
        case ast.Subscript(value=value, slice=ast.Constant() | ast.Name()):
            return node if dotted(value) else None
    return None


def _unwraps(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and bool(node.args) and UNWRAPS.search(last(node.func)) is not None


def assigned(world: World, module: Module, node: ast.Name) -> ast.expr | None:
    """The expression that a name stands for where it is read, if one assignment to it alone reaches that place."""
    quiet = world.apart()
    found = reaching(quiet, node.id, node, quiet.open_frame(module, node))
    if found is None or found.earlier is not None:
        return None
    match found.node:
        case ast.Assign(targets=[ast.Name(id=node.id)], value=value) | ast.AnnAssign(value=ast.expr() as value):
            return value
    return None


def _named(world: World, module: Module, node: ast.Name, depth: int) -> Shared | None:
    value = assigned(world, module, node)
    if value is not None:
        found = shared(world, module, value, depth)
        return _rewritten(module, node, found) if found else None
    function = module.scope(node)
    places = [each.arg for each in parameters(function)] if isinstance(function, FunctionDef) else []
    if node.id not in places or _is_bound(module, function, node.id):
        return None
    assert isinstance(function, FunctionDef), "it has parameters"
    for caller in callers.callers_of(world, module, function)[:3]:
        given = callers.given_to(module, function, node.id, caller)
        found = shared(world, caller.module, given, depth) if given is not None else None
        if found:
            return replace(found, through=(*found.through, caller))
    return None


def _rewritten(module: Module, node: ast.Name, found: Shared) -> Shared | None:
    """The tensors that a dictionary holds once its entries were written over one by one before it is read."""
    for each in ast.walk(module.scope(node)):
        match each:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=node.id))], value=value):
                names = [name.id for name in ast.walk(value) if isinstance(name, ast.Name)]
                sharing = _same_tensor(value, names[0]) if len(names) == 1 else None
                if sharing is None:
                    return None
                found = found.dressed(_chain(value), sharing)
    return found


def _is_bound(module: Module, function: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)
               for each in ast.walk(function))  # fmt: skip


def _comprehended(world: World, module: Module, value: ast.expr, over: ast.comprehension, depth: int) -> Shared | None:
    """A comprehension over the entries of a state, whose values are those tensors."""
    match over.iter:
        case ast.Call(func=ast.Attribute(value=inner, attr="items" | "values"), args=[]):
            found = shared(world, module, inner, depth)
        case _:
            found = _handed_out(world, module, over.iter)
    names = [each.id for each in ast.walk(over.target) if isinstance(each, ast.Name)]
    sharing = _same_tensor(value, names[-1]) if names else None
    if found is None or sharing is None:
        return None
    return found.dressed(_chain(value) or "a new container", sharing)


def _chain(value: ast.expr) -> str:
    """The methods of a tensor that look as if they copied."""
    return "".join(f".{each}()" for each in _methods(value) if each in ON_CPU | {"to", "detach"})


def _handed_out(world: World, module: Module, node: ast.expr) -> Shared | None:
    """``model.named_parameters()``."""
    match node:
        case ast.Call(func=ast.Attribute(value=model, attr=attr)) if attr in HANDED_OUT:
            return _of_model(world, module, model)
    return None


def _same_tensor(node: ast.expr, name: str) -> Sharing | None:
    """How a value made of one tensor shares its memory; None where it is a copy, or not known to be none."""
    match node:
        case ast.Name(id=found):
            return Sharing.TENSORS if found == name else None
        case ast.Attribute(value=inner, attr="data"):
            return _same_tensor(inner, name)
        case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=[], keywords=[]) if attr in SAME_TENSOR:
            return _same_tensor(inner, name)
        case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=[], keywords=[]) if attr in ON_CPU:
            return Sharing.ON_CPU if _same_tensor(inner, name) else None
        case ast.Call(func=ast.Attribute(value=inner, attr="to"), args=[ast.Constant(value="cpu")], keywords=[]):
            return Sharing.ON_CPU if _same_tensor(inner, name) else None
        case ast.Tuple(elts=elements):
            return next(filter(None, (_same_tensor(each, name) for each in elements)), None)
    return None


def _methods(node: ast.expr) -> Iterator[str]:
    """The methods of a chain, the first one first."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)):
            yield from _methods(inner)
            yield attr


def _returned(world: World, module: Module, node: ast.Call, depth: int) -> Shared | None:
    """What a function of the project returns that hands out the tensors of a model it is given."""
    if not last(node.func):
        return None
    thing = world.apart().evaluate(node.func, world.apart().open_frame(module, node))
    if not isinstance(thing, Function) or not isinstance(thing.node, ast.FunctionDef):
        return None
    home, function = thing.frame.module, thing.node
    answers = [each for each in ast.walk(function) if isinstance(each, ast.Return) and each.value is not None]
    if len(answers) != 1 or answers[0].value is None:
        return None
    found = shared(world, home, answers[0].value, depth)
    if found is None or found.through or found.module is not home:
        return found
    model = _from_outside(module, node, home, function, found.model)
    return replace(found, model=model, module=module) if model is not None else None


def _from_outside(
    module: Module, call: ast.Call, home: Module, function: ast.FunctionDef, model: ast.expr
) -> ast.expr | None:
    """The model of a function as its caller spells it."""
    name = dotted(model) or ""
    root, _, rest = name.partition(".")
    places = [each.arg for each in parameters(function)]
    is_method = isinstance(home.parents.get(function), ast.ClassDef)
    if is_method and places[:1] == [root] and isinstance(call.func, ast.Attribute):
        head = dotted(call.func.value)
        return spelled(f"{head}.{rest}" if rest else head, call) if head else None
    if root not in places:
        return model if module is home and not holds(home, function, call) else None
    given = callers.given_to(home, function, root, callers.Caller(call, module))
    head = dotted(given) if given is not None else None
    return spelled(f"{head}.{rest}" if rest else head, call) if head else None


def spelled(name: str, place: ast.AST) -> ast.expr:
    """A dotted name as an expression that stands at a place."""
    first, *others = name.split(".")
    node: ast.expr = ast.Name(first, ast.Load())
    for each in others:
        node = ast.Attribute(node, each, ast.Load())
    for part in ast.walk(node):
        ast.copy_location(part, place)
    return node
