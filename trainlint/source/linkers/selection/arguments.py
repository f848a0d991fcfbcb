"""The model that transformers' trainer loads at the end: its arguments, and the trainer that they go to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from trainlint.facts import Fact, Measured, Purpose, Selection
from trainlint.knowledge import checkpoints
from trainlint.knowledge.scores import score
from trainlint.record import replace
from trainlint.source.binding import argument, arguments
from trainlint.source.linkers.selection.callbacks import UNSAID, metric_named, text_of
from trainlint.source.linkers.selection.endings import around, endings
from trainlint.source.linkers.site import Site, call_of, named, option, place_of, standing
from trainlint.source.objects import lineage
from trainlint.source.requirements import declared
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Arguments, Built, Class, Constant, External, Frame, Function, Thunk
from trainlint.source.world import Budget, Impossible, Path, World
from trainlint.source.writes import FEW_STEPS
from trainlint.value import Better, Measure, Score, Step, Unknown

LOAD, METRIC, GREATER, STRATEGY = (
    "load_best_model_at_end", "metric_for_best_model", "greater_is_better", "save_strategy",
)  # fmt: skip
LOSS = Score(Better.LOWER, Measure.LOSS)


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that make the arguments of a trainer."""
    own = {name for name, nodes in module.definitions.items() if any(_is_derived(node) for node in nodes)}
    for node, word in named(module, own | checkpoints.ARGUMENTS):
        call = call_of(module, node)
        if call is not None and (word in own or _may_choose(call)):
            yield Site(call, module)


def _is_derived(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any(last(base) in checkpoints.ARGUMENTS for base in node.bases)


def _may_choose(call: ast.Call) -> bool:
    return any(keyword.arg in (LOAD, METRIC, None) for keyword in call.keywords)


def facts(world: World, site: Site) -> Iterator[Fact]:
    """What one world shows of a trainer's arguments."""
    frame = standing(world, site)
    called = world.evaluate(site.call.func, frame)
    if not _is_known(world, called):
        return
    given = arguments(world, site.call, frame)
    options = {name: _option(world, called, given, name) for name in (LOAD, METRIC, GREATER, STRATEGY)}
    loads, name = (text_of(world, options[each]) for each in (LOAD, METRIC))
    if _is_off(loads) and (name is None or _is_none(name)):
        return
    if _is_off(loads) and not _marks(world, options[STRATEGY], site.module):
        return
    if _is_written_later(site):
        name = Unknown("the arguments are changed after they were made")
    yield from _selection(world, site, options, name, frame)


def _is_known(world: World, called: object) -> bool:
    match called:
        case External(name=name):
            return name.partition(".")[0] in checkpoints.ARGUMENT_ROOTS
        case Class():
            bases = (each.name for each in lineage(world, called) if isinstance(each, External))
            return any(base.rpartition(".")[2] in checkpoints.ARGUMENTS for base in bases)
    return False


def _option(world: World, called: object, given: Arguments, name: str) -> Thunk | Unknown | None:
    """An argument, or the default of the project's own class."""
    found = argument(given, (), name)
    if found is None and isinstance(called, Class):
        for each in lineage(world, called):
            if isinstance(each, Class):
                for node in each.node.body:
                    match node:
                        case ast.AnnAssign(target=ast.Name(id=field), value=ast.expr() as value) if field == name:
                            return Thunk(_default(value), world.open_frame(each.module, node))
                        case ast.Assign(targets=[ast.Name(id=field)], value=value) if field == name:
                            return Thunk(_default(value), world.open_frame(each.module, node))
    return found


def _default(value: ast.expr) -> ast.expr:
    """What ``field(default=...)`` makes the default."""
    if isinstance(value, ast.Call) and last(value.func) == "field":
        return next((each.value for each in value.keywords if each.arg == "default"), value)
    return value


def _is_off(loads: Constant | Unknown | None) -> bool:
    return loads is None or (isinstance(loads, Constant) and not loads.value)


def _is_none(name: Constant | Unknown | None) -> bool:
    return isinstance(name, Constant) and name.value is None


def _marks(world: World, strategy: Thunk | Unknown | None, module: Module) -> bool:
    """Whether the best checkpoint matters though it is not loaded: saved alone, or it ends the training."""
    chosen = text_of(world, strategy)
    return (isinstance(chosen, Constant) and chosen.value == "best") or "EarlyStoppingCallback" in module.loads


def _is_written_later(site: Site) -> bool:
    """Whether a line of the file writes one of these options into some arguments."""
    return any(name in site.module.attributes for name in (LOAD, METRIC, GREATER))


def _selection(
    world: World, site: Site, options: dict[str, Thunk | Unknown | None], name: Constant | Unknown | None, frame: Frame
) -> Iterator[Fact]:
    thunk = options[METRIC]
    place = place_of(thunk, None, site)
    who = last(site.call.func)
    saved = text_of(world, options[STRATEGY])
    purpose = Purpose.KEEP if isinstance(saved, Constant) and saved.value == "best" else Purpose.LOAD
    chosen = Selection(site.span, place, site.span, (), (), who, purpose, UNSAID, UNSAID)
    loads = text_of(world, options[LOAD])
    if isinstance(name, Unknown) or isinstance(loads, Unknown):
        yield replace(chosen, measured=name if isinstance(name, Unknown) else loads)  # type: ignore[arg-type]
        return
    if name is None or name.value is None:
        what: Measured | Unknown = Measured("eval_loss", LOSS, (), loads.assumed if loads else ())
        wins: Better | Unknown = Better.LOWER
        because: tuple[Step, ...] = (
            Step("the metric is the loss where metric_for_best_model is not given", site.span),
        )
    else:
        assert isinstance(thunk, Thunk), "a name was passed"
        what = metric_named(world, thunk, name)
        wins, because = _direction(world, site, options[GREATER], str(name.value))
    other = str(wins is not Better.HIGHER)
    decided = option(site.call, site.span, GREATER, options[GREATER], other)
    cure, is_named = f"pass {GREATER}={other}", place != site.span
    chosen = replace(chosen, measured=what, wins=wins, because=because, cure=cure, is_named=is_named, decided=decided)
    if isinstance(what, Measured) and what.is_loss and wins is Better.LOWER:
        chosen = replace(chosen, metrics=_metrics(world, site), endings=endings(world, around(world, [site.module])))
    yield chosen


def _direction(
    world: World, site: Site, given: Thunk | Unknown | None, name: str
) -> tuple[Better | Unknown, tuple[Step, ...]]:
    """Which value is taken for the best, and how that is known."""
    greater = text_of(world, given)
    if isinstance(greater, Unknown):
        return greater, ()
    if greater is not None and greater.value is not None:
        wins = Better.HIGHER if greater.value else Better.LOWER
        return wins, (Step(f"greater_is_better={greater.value}", place_of(given, None, site)),)
    transformers = declared(world.workspace, "transformers", site.module.path)
    is_old = transformers is not None and not transformers.may_be(checkpoints.SUFFIX_SINCE)
    wins = checkpoints.by_old_transformers(name) if is_old else checkpoints.by_transformers(name)
    text = f'greater_is_better is {wins is Better.HIGHER} where it is not given, since "{name}" does '
    return wins, (Step(f'{text}{"not " if wins is Better.HIGHER else ""}end in "loss"', site.span),)


def _metrics(world: World, site: Site) -> tuple[Measured, ...]:
    """What the trainer that gets these arguments is told to compute."""
    near = world.workspace.mentions("compute_metrics", site.module.path)
    for module in dict.fromkeys((site.module, *near)):
        for call in () if module.is_test else module.calls:
            computed = next((each.value for each in call.keywords if each.arg == "compute_metrics"), None)
            if computed is not None and _is_given(world, site, module, call):
                return tuple(_computed(world, module, computed))
    return ()


def _is_given(world: World, site: Site, module: Module, call: ast.Call) -> bool:
    """Whether a trainer is made with these arguments."""
    args = next((each.value for each in call.keywords if each.arg == "args"), None)
    args = args or (call.args[1] if len(call.args) > 1 else None)
    if args is None:
        return False
    if module is site.module and isinstance(args, ast.Name):
        found = _latest(module, args.id, call)
        return found is not None and any(node is site.node for node in ast.walk(found))
    # A world of its own: the callers around another trainer are no paths to these arguments.
    apart = type(world)(world.workspace, Path(), Budget(FEW_STEPS))
    with suppress(Impossible):
        thing = apart.evaluate(args, apart.open_frame(module, call))
        return isinstance(thing, Built) and thing.node is site.node
    return False


def _latest(module: Module, name: str, use: ast.AST) -> ast.stmt | None:
    """The nearest line above that binds a name, in this scope or around it."""
    from trainlint.source.linkers.selection.measures import latest

    node: ast.AST = use
    while True:
        found = latest(module, name, node)
        scope = module.scope(node)
        if found is not None or isinstance(scope, ast.Module):
            return found
        node = scope


def _computed(world: World, module: Module, node: ast.expr) -> Iterator[Measured]:
    """The metrics that a function returns; the function itself, where their names are not written down."""
    frame = world.open_frame(module, node)
    made = world.apart().evaluate(node, frame)
    if isinstance(made, Constant) and made.value is None:
        return
    names = list(_names(made.node)) if isinstance(made, Function) else []
    said = [(name, found) for name in names if (found := score(name)) is not None]
    tasks = [(name, found) for name, found in said if found.measure is Measure.TASK]
    if said and not tasks:
        return
    step = module.step(module.statement(node)) if not isinstance(made, Function) else _head(made)
    if tasks:
        yield from (Measured(name, found, (step,)) for name, found in dict(tasks).items())
    else:
        yield Measured(f"what {dotted(node) or 'compute_metrics'} returns", Score(Better.HIGHER, Measure.TASK), (step,))


def _head(function: Function) -> Step:
    node = function.node
    return function.frame.module.step(node)


def _names(function: ast.AST) -> Iterator[str]:
    """What a function calls its numbers: keys, strings and the functions that it calls."""
    for node in ast.walk(function):
        match node:
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield text
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
