"""Learning rates that are lowered when a number no longer gets better: which number, and which way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Fact, Measured, Purpose, Selection
from trainlint.knowledge import checkpoints
from trainlint.knowledge.scores import score
from trainlint.record import replace
from trainlint.regex import regex
from trainlint.source.binding import argument
from trainlint.source.linkers.selection.callbacks import MODE_OF, MODES, UNSAID, metric_named, text_of
from trainlint.source.linkers.selection.measures import decided, measured, readings, spelled
from trainlint.source.linkers.site import Site, option, standing
from trainlint.source.sift.kind import words_of
from trainlint.source.summary import Module
from trainlint.source.things import Built, Constant, External, Thing, Thunk
from trainlint.source.world import World
from trainlint.span import Span
from trainlint.value import Better, Step, Unknown

SCHEDULER = regex(r"sched|plateau|lr_")
"""In lower case: what a scheduler is called."""

HOLDERS = ("scheduler", "lr_scheduler")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that give a scheduler a number with a telling name, and dictionaries that name one for Lightning."""
    words = words_of(module.data)
    if not words.says((b"sched", b"plateau", b"lr_")):
        return
    for node in module.loads.get("step", ()):
        call = module.parents.get(node)
        if isinstance(call, ast.Call) and call.func is node and _tells(call):
            yield Site(call, module)
    if words.says((b"reducelronplateau",)) and words.says((b"monitor",)):
        yield from (Site(each, module) for each in module.of_kind(ast.Dict) if "monitor" in _entries(each))


def _tells(call: ast.Call) -> bool:
    """Whether the one argument of a call says what it measures."""
    given = [*call.args, *(each.value for each in call.keywords)]
    if len(given) != 1 or isinstance(given[0], ast.Constant):
        return False
    named = isinstance(call.func, ast.Attribute) and SCHEDULER.search(ast.unparse(call.func.value).lower()) is not None
    return named and any(score(name) is not None for name in spelled(given[0]))


def _entries(node: ast.Dict) -> dict[object, ast.expr]:
    pairs = zip(node.keys, node.values, strict=True)
    return {key.value: value for key, value in pairs if isinstance(key, ast.Constant)}


def facts(world: World, site: Site) -> Iterator[Fact]:
    """What one world shows of a scheduler that waits for a number to get better."""
    frame = standing(world, site)
    if isinstance(site.node, ast.Dict):
        yield from _monitored(world, site, site.node)
        return
    func, given = site.call.func, [*site.call.args, *(each.value for each in site.call.keywords)]
    assert isinstance(func, ast.Attribute), "a site is a method's call"
    made = _plateau(world.evaluate(func.value, frame))
    if made is None:
        return
    said = decided(readings(world, given[0], frame))
    falls = not isinstance(said, Unknown) and said[0].falls
    what = said if isinstance(said, Unknown) else measured(*said)
    yield _selection(world, site, made, what, -1 if falls else 1)


def _plateau(thing: Thing) -> Built | None:
    match thing:
        case Built(what=External(name=name)) if _last(name) == checkpoints.PLATEAU.last and name.startswith("torch"):
            return thing
    return None


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _monitored(world: World, site: Site, node: ast.Dict) -> Iterator[Fact]:
    """``{"scheduler": ..., "monitor": "val_loss"}``, the scheduler in a dictionary of its own too."""
    frame, entries = world.open_frame(site.module, node), _entries(node)
    holder = next((entries[name] for name in HOLDERS if name in entries), None)
    made = _plateau(world.evaluate(holder, frame)) if holder is not None else None
    monitor = Thunk(entries["monitor"], frame)
    name = text_of(world, monitor)
    if made is not None:
        what = metric_named(world, monitor, name) if isinstance(name, Constant) else name or UNSAID
        yield _selection(world, site, made, what, 1)


def _selection(world: World, site: Site, made: Built, what: Measured | Unknown, sign: int) -> Selection:
    place = _place(made) or site.span
    thunk = argument(made.arguments, checkpoints.PLATEAU.parameters, "mode")
    mode = text_of(world, thunk)
    because: tuple[Step, ...] = (site.module.step(site.node),)
    wins: Better | Unknown
    if mode is None:
        wins, step = Better.LOWER, Step('mode is "min" where it is not given', place)
        because = (*because, step)
    elif isinstance(mode, Unknown):
        wins = mode
    else:
        wins = MODES.get(str(mode.value), Unknown(f"mode is {mode.value}"))
    known = wins.other if sign < 0 and isinstance(wins, Better) else wins
    cure = f"pass mode={MODE_OF[wins.other]}" if isinstance(wins, Better) else ""
    who = checkpoints.PLATEAU.last
    chosen = Selection(place, place, place, (), (), who, Purpose.SLOW, what, known, because, cure)
    if not isinstance(wins, Better) or not isinstance(made.node, ast.Call):
        return chosen
    position = checkpoints.PLATEAU.parameters.index("mode")
    return replace(chosen, decided=option(made.node, place, "mode", thunk, MODE_OF[wins.other], position))


def _place(made: Built) -> Span | None:
    return made.frame.module.span(made.node) if isinstance(made.node, ast.expr) else None
