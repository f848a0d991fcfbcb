"""Weights that are put aside in the best round, and whether they are a copy.

``best = model.state_dict()`` in a loop that goes on training ``model``: what is kept goes on being trained as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import KeptWeights, Sharing
from trainlint.record import replace
from trainlint.regex import regex
from trainlint.source import callers
from trainlint.source.binding import parameters
from trainlint.source.linkers.copies import aliases, devices, resets, rounds, uses
from trainlint.source.linkers.copies.aliases import Shared, shared
from trainlint.source.linkers.site import Site
from trainlint.source.objects import lineage
from trainlint.source.sift.copies import RENAMED, keeps
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Built, Class, External
from trainlint.source.training import function_of
from trainlint.source.world import World
from trainlint.value import Step

HANDS_OUT = ("state_dict", *sorted(aliases.HANDED_OUT))
BEST = regex(r"best|optimal|snapshot|backup|champion|winner|kept|saved", re.IGNORECASE)
MODEL = regex(r"model|net(?:work)?s?$|^net|encoder|classifier|policy|module|learner", re.IGNORECASE)
OTHER = regex(r"name|path|type|cls|class$|config|params?$|dir|file|id$|index|idx|fn$|str$", re.IGNORECASE)
KEEPERS = regex(r"early|stop|callback|checkpoint|keep|best", re.IGNORECASE)
DEEPEST = 2


def sites(world: World, module: Module) -> Iterator[Site]:
    """The statements that may put weights aside: what hands them out is followed to where it is kept."""
    text = module.data
    if not keeps(text):
        return
    found: dict[ast.AST, Site] = {}
    for source in (each for word in HANDS_OUT for each in module.loads.get(word, ())):
        for site in _kept(world, module, module.parents[source], 0):
            found.setdefault(site.node, site)
    for node in module.of_kind(ast.Assign) if RENAMED.search(text.lower()) else ():
        if any(_is_itself(*pair) for pair in _pairs(node)):
            found.setdefault(node, Site(node, module))
    yield from found.values()


def _kept(world: World, module: Module, node: ast.AST, depth: int) -> Iterator[Site]:
    """Climb from an expression to the statement that keeps its value, through the project's own functions."""
    while not isinstance(node, ast.stmt):
        parent = module.parents[node]
        match parent:
            case ast.Call(func=func) if func is not node and last(func) == "append":
                yield Site(parent, module)
                return
            case ast.Call(func=func) if func is not node and not _is_container(func):
                yield from _entering(world, module, parent, node, depth)
                return
            case ast.Lambda():
                return
        node = parent
    if isinstance(node, ast.Assign | ast.AnnAssign):
        yield Site(node, module)
        yield from _under_its_name(world, module, node, depth)
    function = module.scope(node)
    if isinstance(node, ast.Return) and isinstance(function, aliases.FunctionDef) and depth < DEEPEST:
        for caller in callers.callers_of(world, module, function):
            yield from _kept(world, caller.module, caller.node, depth + 1)


def _under_its_name(world: World, module: Module, node: ast.Assign | ast.AnnAssign, depth: int) -> Iterator[Site]:
    """Where a variable hands on what it was given."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) if depth < DEEPEST:
            for read in module.loads.get(name, ()):
                if isinstance(read, ast.Name) and module.scope(read) is module.scope(node):
                    yield from _kept(world, module, read, depth + 1)


def _is_container(func: ast.expr) -> bool:
    return last(func) in ("dict", "OrderedDict", "copy", "list", "tuple", "items")


def _entering(world: World, module: Module, call: ast.Call, node: ast.AST, depth: int) -> Iterator[Site]:
    """Where a function of the project keeps an argument."""
    function = function_of(world, module, call) if depth < DEEPEST else None
    if function is None or isinstance(function.node, ast.Lambda):
        return
    home, caller = function.frame.module, callers.Caller(call, module)
    value = node.value if isinstance(node, ast.keyword) else node
    for name in [each.arg for each in parameters(function.node)]:
        if callers.given_to(home, function.node, name, caller) is value:
            for read in home.loads.get(name, ()):
                if isinstance(read, ast.Name) and home.scope(read) is function.node:
                    yield from _kept(world, home, read, depth + 1)


def _pairs(node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment writes, and what it writes there."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        match target, node.value:
            case ast.Tuple(elts=places), ast.Tuple(elts=values) if len(places) == len(values):
                yield from zip(places, values, strict=True)
            case _, ast.expr() as value:
                yield target, value


def _is_itself(target: ast.expr, value: ast.expr) -> bool:
    """``best_model = model``, as far as names say."""
    match value:
        case ast.Call(func=func, args=[inner]) if dotted(func) in ("copy.copy", "copy"):
            value = inner
    words = dotted(target) or last(target)
    said = last(value) if isinstance(value, ast.Name | ast.Attribute) else ""
    return bool(BEST.search(words) and MODEL.search(said)) and not (OTHER.search(said) or BEST.search(said))


def facts(world: World, site: Site) -> Iterator[KeptWeights]:
    """The weights that one statement puts aside, if they are the model's own and training goes on."""
    node, module = site.node, site.module
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Attribute), "it appends"
        pairs, gathers = [(node.func.value, node.args[0])] if node.args else [], True
    else:
        assert isinstance(node, ast.Assign | ast.AnnAssign), "no other statement keeps"
        pairs, gathers = list(_pairs(node)), False
    for target, value in pairs:
        found = shared(world, module, value) or _itself(world, module, target, value)
        holder = target.value if isinstance(target, ast.Subscript) and not _is_entry(target) else target
        if found is not None and isinstance(holder, ast.Name | ast.Attribute | ast.Subscript):
            spelling = ast.unparse(target)
            many = gathers or holder is not target
            aside = uses.Aside(holder, spelling, module.statement(node), module, many)
            for fact in _judged(world, site, aside, found):
                yield replace(fact, value=module.span(value))
            return


def _is_entry(target: ast.Subscript) -> bool:
    return isinstance(target.slice, ast.Constant)


def _itself(world: World, module: Module, target: ast.expr, value: ast.expr) -> Shared | None:
    """A model under another name, or ``copy.copy`` of it: a new object around the same tensors."""
    if not _is_itself(target, value):
        return None
    model = value.args[0] if isinstance(value, ast.Call) else value
    name = aliases.unwrapped(world, module, model)
    if name is None or not aliases.is_model_name(name) or not _may_be_module(world, module, name):
        return None
    by = "copy.copy" if isinstance(value, ast.Call) else ""
    return Shared(name, module, Sharing.TENSORS if by else Sharing.ITSELF, by)


def _may_be_module(world: World, module: Module, model: ast.expr) -> bool:
    """Whether a model may be a module of PyTorch: not where it is made of another library's class."""
    quiet = world.apart()
    thing = quiet.evaluate(model, quiet.open_frame(module, model))
    match thing:
        case Built(what=External(name=name)):
            return name.startswith(("torch", "transformers", "timm", "segmentation_models"))
        case Built(what=Class() as cls):
            bases = [each.name for each in lineage(quiet, cls) if isinstance(each, External)]
            return not bases or any("torch" in name or "Module" in name or "lightning" in name for name in bases)
    return True


def _judged(world: World, site: Site, aside: uses.Aside, found: Shared) -> Iterator[KeptWeights]:
    model = ast.unparse(found.model)
    place = rounds.Place(aside.module, aside.statement, model)
    going = rounds.going_on(world, place, found.through)
    if going is None or not _is_choice(aside, going, found):
        yield from _restarted(world, aside, found)
        return
    around = going.around if going.home is aside.module else None
    step = uses.used(world, aside, around)
    if step is None or (found.sharing is Sharing.ITSELF and uses.is_restored(aside, around, model)):
        return
    yield _fact(world, aside, found, going, step)


def _restarted(world: World, aside: uses.Aside, found: Shared) -> Iterator[KeptWeights]:
    """The weights of the start, loaded again into the model whose tensors they are."""
    if found.sharing is Sharing.ITSELF or found.through:
        return
    answer = resets.again(world, aside, ast.unparse(found.model))
    if answer is not None:
        work, step = answer
        going = rounds.Going(work.steps, work.certain, (), aside.module, None)
        yield replace(_fact(world, aside, found, going, step), restarts=True)


def _fact(world: World, aside: uses.Aside, found: Shared, going: rounds.Going, step: Step) -> KeptWeights:
    cpu = devices.on_cpu(world, found.module, found.model) if found.sharing is Sharing.ON_CPU else None
    span = aside.module.span(aside.statement)
    return KeptWeights(
        span, span, None, (), (), kept=aside.spelling, model=ast.unparse(found.model), shares=found.sharing,
        by=found.by, condition=going.tests, trained=going.steps, used=step, certain=going.certain, on_cpu=cpu,
    )  # fmt: skip


def _is_choice(aside: uses.Aside, going: rounds.Going, found: Shared) -> bool:
    """Whether some rounds are kept and others not, or all of them side by side."""
    if aside.gathers:
        return going.certain
    if not going.tests:
        return False
    if going.around is None or not going.certain:
        if found.sharing is Sharing.ITSELF:
            return BEST.search(aside.spelling) is not None and _is_keeper(aside)
        return BEST.search(aside.spelling) is not None or _is_keeper(aside)
    return True


def _is_keeper(aside: uses.Aside) -> bool:
    """Whether a class or function is there to keep the best."""
    scope: ast.AST | None = aside.module.scope(aside.statement)
    names = []
    while scope is not None:
        names.append(getattr(scope, "name", ""))
        scope = aside.module.parents.get(scope)
    return any(KEEPERS.search(name) for name in names if name)
