"""Optimizers: what they are made with, and in which format the weights are stored that they are given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Compensation, Dtype, Optimizer, Option, Storage
from trainlint.knowledge.optimizers import BASES, KAHAN, MASTER, OPTIMIZERS, STOCHASTIC, WORDS, Known, State, optimizer
from trainlint.knowledge.optimizers import Step as Reach
from trainlint.knowledge.signature import Signature
from trainlint.regex import regex
from trainlint.source import callers, objects
from trainlint.source.binding import argument, arguments, defaults, parameters
from trainlint.source.casts import cast
from trainlint.source.flow import applications
from trainlint.source.linkers.precision import engines
from trainlint.source.linkers.precision.surroundings import Surroundings, named_calls, surroundings
from trainlint.source.linkers.site import Site, call_of, named, option, real_of, standing
from trainlint.source.parameters import Group, Owner, Trained, trained
from trainlint.source.storage import Weights, weights
from trainlint.source.summary import Module
from trainlint.source.things import (
    Arguments,
    Built,
    Class,
    Constant,
    External,
    Frame,
    Items,
    Opaque,
    Partial,
    Thing,
    Thunk,
)  # fmt: skip
from trainlint.source.world import World, quietly
from trainlint.value import Real, Unknown

KINDS = {MASTER: Compensation.MASTER, STOCHASTIC: Compensation.STOCHASTIC, KAHAN: Compensation.KAHAN}
KEEPING = regex(r"kahan|compensat|stochastic|master", re.IGNORECASE)
"""What an optimizer of the project says that keeps what rounding loses."""

COPIES = regex(
    r"(?:param|group|weight|cop(?:y|ies))[a-z_]*_?(?:fp|float)32|(?:fp|float)32_?[a-z_]*(?:param|group|weight|cop)",
    re.IGNORECASE,
)
"""The names of what it keeps in 32 bits beside the weights."""

BOUNDED = regex(r"adam|lion|lamb|sign", re.IGNORECASE)
"""What the names of optimizers say whose step is about the learning rate."""

LARGE_EPS = "1e-4"
"""What is common for training in 16 bits."""

NO_NUMBER = Unknown("it has no default")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that make an optimizer."""
    for node, _ in named(module, WORDS):
        call = call_of(module, node)
        if call is not None:
            yield Site(call, module)
        elif not isinstance(module.parents.get(node), ast.ClassDef):
            yield from (Site(each, where) for each, where in applications(world, module, node).items())
    for found in module.definitions.values():
        for each in found:
            if isinstance(each, ast.ClassDef) and any(_last(base) in BASES for base in each.bases):
                yield from named_calls(world, module, each)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def facts(world: World, site: Site) -> Iterator[Optimizer]:
    """The optimizer of a call in one world; nothing where the call makes none."""
    frame = standing(world, site)
    # Which optimizer it is and what it is given matters only for short weights: until then, no test is a fork.
    first = quietly(world, lambda inner: _called(inner, site, frame))
    known, given, params = first or _called(world, site, frame)
    if known is None or params is None:
        return
    world.follow(True)
    found = trained(world, params)
    of_engine = _of_engine(world, frame)
    kept, found = (of_engine, found) if of_engine else stored(world, found, site.call, frame)
    if isinstance(kept, Storage) and kept.dtype.is_short:
        known, given, params = _called(world, site, frame)
        if known is not None and params is not None:
            yield described(world, site, known, given, found, kept, surroundings(world, site, frame))
        return
    maker, passed = known, given
    around = surroundings(world, site, frame)
    fact = quietly(world, lambda inner: described(inner, site, maker, passed, found, kept, around))
    yield fact or described(world, site, known, given, found, kept, around)


def _called(world: World, site: Site, frame: Frame) -> tuple[Known | None, Arguments, Thunk | None]:
    """The optimizer that a call makes, what it is given, and the weights among that."""
    called, given = world.evaluate(site.call.func, frame), arguments(world, site.call, frame)
    while isinstance(called, Partial):
        given, called = given.after(called.arguments), called.callable
    known = optimizer(called.name) if isinstance(called, External) else _own(world, called)
    params = argument(given, known.signature.parameters, known.signature.parameters[0]) if known else None
    return known, given, params if isinstance(params, Thunk) else None


def _of_engine(world: World, frame: Frame) -> Storage | None:
    """What the precision of a trainer makes of the weights, where it is the trainer that asks for the optimizer."""
    if getattr(frame.function, "name", "") != "configure_optimizers":
        return None
    owner, _ = callers.owner(world, frame)
    return engines.of_lightning(world, owner) if owner is not None else None


def _own(world: World, called: Thing) -> Known | None:
    """An optimizer of the project: its parameters, and nothing of how it computes."""
    if not isinstance(called, Class):
        return None
    bases = [each for each in objects.lineage(world, called) if isinstance(each, External)]
    if not any(each.name.endswith(".Optimizer") or optimizer(each.name) for each in bases):
        return None
    init = objects.method(world, called, "__init__", None)
    if init is None or isinstance(init.node, ast.Lambda) or len(parameters(init.node)) < 2:
        return None
    names = tuple(place.arg for place in parameters(init.node))[1:]
    plain = {name: _literal(node) for name, node in defaults(init.node).items()}
    bounded = bool(BOUNDED.search(called.name))
    compensates = {name: _kept_by(name) for name in (*names, *plain) if KEEPING.search(name)}
    return Known(
        Signature(called.name, names, {name: value for name, value in plain.items() if value is not None}),
        Reach.LEARNING_RATE if bounded else Reach.GRADIENT,
        compensates=compensates or ({"": "?"} if _says_that_it_keeps(called) else {}),
    )


def _kept_by(name: str) -> str:
    word = name.lower()
    return MASTER if "master" in word else STOCHASTIC if "stochastic" in word else KAHAN


def _says_that_it_keeps(cls: Class) -> bool:
    text = "\n".join(cls.module.rows[cls.node.lineno - 1 : cls.node.end_lineno])
    return any(each.search(text) for each in (KEEPING, COPIES))


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def stored(world: World, found: Trained, call: ast.AST, frame: Frame) -> tuple[Storage | Unknown, Trained]:
    """The format of what is trained, and the models that have it: the short ones, if models differ."""
    known = [(_weights_of(world, owner, call, frame).trained, owner) for owner in found.owners]
    short = [(each, owner) for each, owner in known if isinstance(each, Storage) and each.dtype.is_short]
    if short:
        return short[0][0], Trained([owner for each, owner in short if each == short[0][0]])
    unknown = next((each for each, _ in known if isinstance(each, Unknown)), None)
    if unknown is not None or found.open or not known:
        return unknown or Unknown(f"what {(found.open or ['it'])[0]} holds is not followed"), found
    return known[0][0], found


def _weights_of(world: World, owner: Owner, call: ast.AST, frame: Frame) -> Weights:
    if owner.copied is not None:
        copied = cast(world, *owner.copied)
        if copied is not None:
            return Weights(copied, copied)
    holders: list[Thing] = []
    node, thing = owner.node, world.evaluate(owner.node, owner.frame)
    known: Thing | None = thing if isinstance(thing, Built) else None
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
        holder = world.evaluate(node, owner.frame)
        if not isinstance(holder, Built | Opaque):
            break
        if known is None:
            known = holder if isinstance(holder, Built) or holder.node is not None else None
        else:
            holders.append(holder)
    return weights(world, known or thing, call, frame, tuple(holders))


def described(
    world: World,
    site: Site,
    known: Known,
    given: Arguments,
    found: Trained,
    kept: Storage | Unknown,
    around: Surroundings,
) -> Optimizer:
    """The fact of one optimizer."""
    fused = argument(given, known.signature.parameters, "fused")
    is_plain = fused is None or _is(world, fused, value=False)
    compensation = around.compensation or _compensation(world, known, given)
    if isinstance(compensation, Unknown):
        # Long weights lose nothing, whatever keeps what they round away.
        kept = compensation if isinstance(kept, Storage) and kept.dtype.is_short else kept
        compensation = None
    place = kept.engine if isinstance(kept, Storage) and kept.engine is not None else site.span
    eps = _number(world, known, given, "eps") if known.eps else None
    return Optimizer(
        site.span,
        place,
        None,
        (),
        (),
        known.signature.last,
        kept,
        _largest(world, found, known, given, "lr"),
        _largest(world, found, known, given, "weight_decay"),
        eps if is_plain else Unknown("a fused step adds it in float32") if eps is not None else None,
        _second(world, known, given),
        _state(world, known, kept, given),
        scales=is_plain and _scales(world, known, given),
        bounded=known.step is Reach.LEARNING_RATE,
        compensation=compensation,
        doubt=around.doubt,
        raised=_raised(known, given, site) if eps is not None else None,
    )


def _raised(known: Known, given: Arguments, site: Site) -> Option | None:
    """The argument by which epsilon is large enough for any format."""
    places = known.signature.parameters
    position = places.index("eps") if "eps" in places else None
    return option(site.call, site.span, "eps", argument(given, places, "eps"), LARGE_EPS, position)


def _is(world: World, given: Thunk | Unknown, *, value: object) -> bool:
    thing = world.force(given) if isinstance(given, Thunk) else given
    return isinstance(thing, Constant) and thing.value == value and not thing.assumed


def _number(world: World, known: Known, given: Arguments, name: str) -> Real | Unknown:
    default = known.signature.defaults.get(name)
    plain = Real(float(default)) if isinstance(default, int | float) else NO_NUMBER
    return real_of(world, argument(given, known.signature.parameters, name), plain)


def _largest(world: World, found: Trained, known: Known, given: Arguments, name: str) -> Real | Unknown:
    """An option, the largest of the groups' own, so that what is too small for all is too small for each."""
    groups = [owner.group for owner in found.owners]
    own = [_entry(world, group, name) if group is not None else None for group in groups]
    stated = [each for each in own if each is not None]
    everywhere = bool(own) and len(stated) == len(own)
    numbers = [*stated, *([] if everywhere else [_number(world, known, given, name)])]
    unknown = next((each for each in numbers if isinstance(each, Unknown)), None)
    return unknown or max((each for each in numbers if isinstance(each, Real)), key=lambda each: each.number)


def _entry(world: World, group: Group, name: str) -> Real | Unknown | None:
    entries, frame = group
    return real_of(world, Thunk(entries[name], frame), NO_NUMBER) if name in entries else None


def _second(world: World, known: Known, given: Arguments) -> Real | Unknown | None:
    """The rate at which the second moment forgets; with ``amsgrad`` it is meant not to fall."""
    amsgrad = (
        argument(given, known.signature.parameters, "amsgrad") if "amsgrad" in known.signature.parameters else None
    )
    if not known.second or (amsgrad is not None and not _is(world, amsgrad, value=False)):
        return None
    if known.second != "betas":
        return _number(world, known, given, known.second)
    passed = argument(given, known.signature.parameters, "betas")
    if passed is None:
        default = known.signature.defaults["betas"]
        assert isinstance(default, tuple), "betas are two numbers"
        return Real(default[1])
    if isinstance(passed, Unknown):
        return passed
    pair = world.force(passed)
    if isinstance(pair, Items) and len(pair.elements) == 2:
        return real_of(world, pair.elements[1], NO_NUMBER)
    return pair if isinstance(pair, Unknown) else Unknown("the betas are not written out", "betas")


def _scales(world: World, known: Known, given: Arguments) -> bool:
    switch = argument(given, known.signature.parameters, known.switch) if known.switch else None
    return known.decoupled or (switch is not None and _is(world, switch, value=True))


def _compensation(world: World, known: Known, given: Arguments) -> Compensation | Unknown | None:
    """What keeps the part of an update that rounding would lose."""
    for name, what in known.compensates.items():
        if not name:
            return Unknown(f"{known.signature.last} may keep what rounding loses")
        passed = given.keywords.get(name) or argument(given, known.signature.parameters, name)
        default = known.signature.defaults.get(name)
        if passed is None and not default:
            continue
        if passed is None or _is(world, passed, value=True):
            return KINDS[what]
        if not (_is(world, passed, value=False) or _is(world, passed, value=None)):
            return Unknown(f"whether {name} keeps what rounding loses is open", name)
    return None


def _state(world: World, known: Known, kept: Storage | Unknown, given: Arguments) -> Dtype | Unknown:
    """The format of what the optimizer remembers of each weight."""
    if known.name not in OPTIMIZERS:
        return Unknown(f"in which format {known.signature.last} keeps its state is not known")
    match known.state:
        case State.FLOAT32:
            return Dtype.FLOAT32
        case State.QUANTISED:
            return Unknown("its state is quantised")
    return kept if isinstance(kept, Unknown) else kept.dtype
