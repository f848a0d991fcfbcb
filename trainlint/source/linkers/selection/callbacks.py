"""Models chosen by a library's callback: Lightning's, fastai's, ignite's. A metric by its name, and a direction."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Fact, Measured, NewestBest, Purpose, Selection
from trainlint.knowledge import checkpoints
from trainlint.knowledge.scores import score
from trainlint.knowledge.signature import Signature
from trainlint.record import replace
from trainlint.source.binding import argument, arguments
from trainlint.source.linkers.selection import beside, logs
from trainlint.source.linkers.selection.endings import around, endings
from trainlint.source.linkers.selection.measures import decided, measured, readings
from trainlint.source.linkers.site import Site, call_of, named, named_so, option, place_of, standing
from trainlint.source.names import following, reads
from trainlint.source.requirements import declared
from trainlint.source.summary import Module
from trainlint.source.things import Arguments, Constant, External, Function, Opaque, Thunk
from trainlint.source.world import World
from trainlint.value import Better, Integer, Step, Unknown

LIGHTNING = {known.last: known for known in checkpoints.LIGHTNING_CALLBACKS}
WORDS = {*LIGHTNING, checkpoints.TRACKERS.last, *(known.last for known in checkpoints.IGNITE.values())}
MODES = {"min": Better.LOWER, "max": Better.HIGHER}
MODE_OF = {better: f'"{mode}"' for mode, better in MODES.items()}


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that make a callback which chooses."""
    for node, _ in named(module, WORDS):
        call = call_of(module, node)
        if call is not None and not _is_replaced(module, call):
            yield Site(call, module)


def _is_replaced(module: Module, call: ast.Call) -> bool:
    """Whether the name that is given a callback gets another value before anything reads it."""
    made = module.parents.get(call)
    match made:
        case ast.Assign(targets=[ast.Name(id=name)]):
            for later in following(module.parents[made], made):
                if reads(later, name):
                    return False
                if isinstance(later, ast.Assign) and name in module.binds(later):
                    return True
    return False


def facts(world: World, site: Site) -> Iterator[Fact]:
    """What one world shows of a callback."""
    frame = standing(world, site)
    called = world.evaluate(site.call.func, frame)
    name = called.name if isinstance(called, External) else ""
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    given = arguments(world, site.call, frame)
    if root in checkpoints.LIGHTNING and last in LIGHTNING:
        yield from _lightning(world, site, LIGHTNING[last], given)
    elif root == "fastai" and last == checkpoints.TRACKERS.last:
        yield from _fastai(world, site, given)
    elif root == "ignite" and f"ignite.handlers.{last}" in checkpoints.IGNITE:
        yield from _ignite(world, site, checkpoints.IGNITE[f"ignite.handlers.{last}"], given)


def text_of(world: World, given: Thunk | Unknown | None) -> Constant | Unknown | None:
    """An argument as a string or another constant; None where it is not given."""
    if not isinstance(given, Thunk):
        return given
    thing = world.force(given)
    match thing:
        case Constant():
            return thing
        case Opaque():
            return Unknown(f"{thing.name}: {thing.why.reason}", thing.why.settle or thing.name)
        case Unknown():
            return thing
    return Unknown(f"{ast.unparse(given.node)} is not followed")


def metric_named(world: World, given: Thunk, name: Constant) -> Measured | Unknown:
    """What a string says that models are compared by."""
    said = score(name.value) if isinstance(name.value, str) else None
    if said is None:
        return Unknown(f"the name {name.value} does not say what it measures")
    return Measured(str(name.value), said, name.evidence, name.assumed)


def _lightning(world: World, site: Site, known: Signature, given: Arguments) -> Iterator[Fact]:
    monitor = argument(given, known.parameters, "monitor")
    name = text_of(world, monitor)
    stops = known is checkpoints.STOPPING
    if name is None or (isinstance(name, Constant) and name.value is None):
        if not stops:
            yield from _unscored(world, site, given)
        return
    purpose = Purpose.STOP if stops else Purpose.KEEP
    chosen = Selection(site.span, place_of(monitor, None, site), site.span, (), (), known.last, purpose, UNSAID, UNSAID)
    if isinstance(name, Unknown):
        yield replace(chosen, measured=name)
        return
    assert isinstance(monitor, Thunk), "a name was passed"
    what = metric_named(world, monitor, name)
    wins, because, cure = _mode(world, site, known, given, str(name.value))
    if _keeps_nothing(world, given):
        return
    chosen = replace(chosen, measured=what, wins=wins, because=because, cure=cure)
    if isinstance(wins, Better):
        position = known.parameters.index("mode") if "mode" in known.parameters else None
        decided = option(site.call, site.span, "mode", _mode_given(known, given), MODE_OF[wins.other], position)
        chosen = replace(chosen, decided=decided)
    if purpose is Purpose.KEEP and isinstance(what, Measured):
        chosen = _in_company(world, site, chosen, what, given)
    yield chosen


UNSAID = Unknown("nothing says what is compared")


def _keeps_nothing(world: World, given: Arguments) -> bool:
    return _number(world, given, "save_top_k") == 0


def _number(world: World, given: Arguments, name: str) -> int | None:
    thunk = argument(given, checkpoints.CHECKPOINT.parameters, name)
    thing = world.force(thunk) if isinstance(thunk, Thunk) else None
    if isinstance(thing, Constant) and isinstance(thing.value, bool):
        return int(thing.value)
    return thing.number if isinstance(thing, Integer) else None


def _mode_given(known: Signature, given: Arguments) -> Thunk | Unknown | None:
    return given.keywords.get("mode") or argument(given, known.parameters, "mode")


def _mode(
    world: World, site: Site, known: Signature, given: Arguments, name: str
) -> tuple[Better | Unknown, tuple[Step, ...], str]:
    """Which value wins, how that is known, and what turns it round."""
    thunk = _mode_given(known, given)
    mode = text_of(world, thunk)
    if isinstance(mode, Unknown):
        return mode, (), ""
    if mode is not None:
        wins = MODES.get(str(mode.value), Unknown(f"mode is {mode.value}"))
        if mode.value == "auto":
            wins = checkpoints.by_name(name)
        step = (thunk.frame.step(thunk.node),) if isinstance(thunk, Thunk) else ()
        return wins, tuple(Step(f"mode={each.text}", each.where) for each in step), _cure(wins)
    lightning = declared(world.workspace, "pytorch-lightning", site.module.path)
    old = lightning is not None and not lightning.may_be(checkpoints.AUTO_BEFORE)
    if old or any(each in given.keywords for each in checkpoints.AUTO_ONLY):
        wins = checkpoints.by_name(name)
        return wins, (Step('mode is "auto" before Lightning 1.3: the name decides', site.span),), _cure(wins)
    return Better.LOWER, (Step('mode is "min" where it is not given', site.span),), _cure(Better.LOWER)


def _cure(wins: Better | Unknown) -> str:
    return f"pass mode={MODE_OF[wins.other]}" if isinstance(wins, Better) else ""


def _in_company(world: World, site: Site, chosen: Selection, what: Measured, given: Arguments) -> Selection:
    """The same choice beside what else is saved, logged and learned from."""
    kept = list(_kept(world, site, given))
    if not what.is_loss or chosen.wins is not Better.LOWER:
        return replace(chosen, kept=tuple(kept))
    return replace(
        chosen,
        kept=tuple(kept),
        metrics=logs.metrics(world, site.module, what.name),
        learned=logs.learned(world, site.module, what.name),
        endings=endings(world, around(world, [site.module])),
    )


def _kept(world: World, site: Site, given: Arguments) -> Iterator[Step]:
    last = _number(world, given, "save_last")
    thunk = argument(given, checkpoints.CHECKPOINT.parameters, "save_last")
    if isinstance(thunk, Thunk) and last != 0 and not _is_none(world, thunk):
        yield thunk.frame.step(thunk.node)
    if _number(world, given, "save_top_k") == -1 or isinstance(thunk, Unknown):
        yield site.module.step(site.call)
    for node, _ in named_so(site.module, lambda word: word.endswith("Checkpoint")):
        other = call_of(site.module, node)
        if other is not None and other is not site.call:
            yield site.module.step(other)
    if _is_one_of_several(site):
        yield site.module.step(site.call)
    yield from beside.kept(site.module, None, ())


def _is_one_of_several(site: Site) -> bool:
    """Whether a loop makes one callback for each metric."""
    repeats = (ast.For, ast.ListComp, ast.GeneratorExp, ast.DictComp)
    node: ast.AST = site.call
    while not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
        if isinstance(node, repeats):
            return True
        node = site.module.parents.get(node, site.module.tree)
    return False


def _is_none(world: World, thunk: Thunk) -> bool:
    thing = world.force(thunk)
    return isinstance(thing, Constant) and thing.value is None


def _unscored(world: World, site: Site, given: Arguments) -> Iterator[Fact]:
    """A checkpoint that is called best and monitors nothing: Lightning keeps the newest."""
    thunk = argument(given, checkpoints.CHECKPOINT.parameters, "filename")
    if thunk is None or _number(world, given, "save_top_k") not in (None, 1):
        return
    name = text_of(world, thunk)
    text = name.value if isinstance(name, Constant) else ast.unparse(thunk.node) if isinstance(thunk, Thunk) else ""
    if isinstance(text, str) and "best" in text.lower() and not given.double_stars:
        step = Step("without monitor, Lightning keeps the newest checkpoint", site.span)
        yield NewestBest(site.span, place_of(thunk, None, site), None, (), (), text, (step,))


def _fastai(world: World, site: Site, given: Arguments) -> Iterator[Fact]:
    known = checkpoints.TRACKERS
    monitor = argument(given, known.parameters, "monitor")
    comp = argument(given, known.parameters, "comp")
    name = text_of(world, monitor)
    if not isinstance(name, Constant) or not isinstance(name.value, str) or not isinstance(monitor, Thunk):
        return
    if comp is not None and not (isinstance(comp, Thunk) and _is_none(world, comp)):
        return
    wins = checkpoints.by_fastai(name.value)
    because = (Step("fastai decides by the name where comp is not given", site.span),)
    cure = f"pass comp=np.{'less' if wins is Better.HIGHER else 'greater'}"
    what = metric_named(world, monitor, name)
    place = place_of(monitor, None, site)
    yield Selection(site.span, place, site.span, (), (), known.last, Purpose.KEEP, what, wins, because, cure)


def _ignite(world: World, site: Site, known: Signature, given: Arguments) -> Iterator[Fact]:
    """The handler keeps the highest value of its function."""
    thunk = argument(given, known.parameters, "score_function")
    if not isinstance(thunk, Thunk) or "mode" in given.keywords:
        return
    purpose = Purpose.STOP if known.last == "EarlyStopping" else Purpose.KEEP
    wins, what = _of_function(world, thunk)
    if wins is None:
        return
    because = (Step("ignite takes the highest score for the best", site.span),)
    place = place_of(thunk, None, site)
    cure = "turn the sign of what score_function returns"
    yield Selection(site.span, place, site.span, (), (), known.last, purpose, what, wins, because, cure)


def _of_function(world: World, thunk: Thunk) -> tuple[Better | None, Measured | Unknown]:
    """What a score function returns, and which value of that is the highest score."""
    made = world.force(thunk)
    if not isinstance(made, Function):
        return None, UNSAID
    result = _result(made)
    if result is None:
        return Better.HIGHER, UNSAID
    said = decided(readings(world, result, world.open_frame(made.frame.module, result)))
    if isinstance(said, Unknown):
        return Better.HIGHER, said
    return (Better.LOWER if said[0].falls else Better.HIGHER), measured(*said)


def _result(function: Function) -> ast.expr | None:
    """The one expression that a function returns."""
    if isinstance(function.node, ast.Lambda):
        return function.node.body
    found = [node.value for node in ast.walk(function.node) if isinstance(node, ast.Return) and node.value is not None]
    return found[0] if len(found) == 1 else None
