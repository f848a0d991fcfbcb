"""Whether a model goes on learning in evaluation mode once a loop has evaluated it.

From each ``backward`` the outermost function is looked for, and what it does is followed in order: a model that was
told to evaluate, was looked at, and comes to a ``backward`` of the same loop without having been told to train.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from trainlint.facts import StuckEval
from trainlint.record import dataclass, field, record, replace
from trainlint.regex import regex
from trainlint.source.linkers.site import Site, call_of
from trainlint.source.modes import acting, is_trained_when_made
from trainlint.source.order import (
    Body,
    Deed,
    Event,
    Fork,
    Guarded,
    Leave,
    Order,
    Root,
    Turns,
    events,
    held,
    order,
    roots,
    stepping,
)
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Built, Thing
from trainlint.source.training import inside
from trainlint.source.world import World, quietly
from trainlint.span import Span
from trainlint.value import Unknown

VALIDATES = regex(
    r"valid|eval|test|infer|predict|sampl|generat|dev(?![a-z])|metric|accurac|score|demo|visual|plot|bench|estimate",
    re.IGNORECASE,
)
"""What functions call themselves that look at a model without training it."""

CHANGES = regex(r"train|fit|mode|eval|valid|test|callback|hook|^on_|epoch|fire|trigger", re.IGNORECASE)
"""Functions that are not seen may put a model into a mode if they say something of the kind."""

LASTLY = regex(r"\blast\b|\bfinal\b|is_last|last_epoch|done|stop|early|finish|patience", re.IGNORECASE)
LAST_TURN = regex(r"==\s*[\w.\[\]()]+\s*-\s*1|-\s*1\s*==|\+\s*1\s*\)?\s*==\s*[\w.]*(?:epoch|iter|step)s?\b")
NO_FORWARD = frozenset(
    {
        "parameters", "named_parameters", "state_dict", "load_state_dict", "modules", "named_modules", "children",
        "zero_grad", "to", "cuda", "cpu", "train", "eval", "buffers", "requires_grad_", "half", "float", "apply",
    }
)  # fmt: skip
FOREIGN = regex(r"@[^.\[]*")
"""What tells the names of an inner function from those of the outermost one."""

NOT_TOLD = Unknown("nothing shows that the model was in training mode before", "a call of train() that is seen")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of ``backward``."""
    for node in module.loads.get("backward", ()):
        call = module.parents.get(node)
        if isinstance(call, ast.Call) and call.func is node:
            yield Site(call, module)


class Arm(NamedTuple):
    """An arm of a test, and a name that the test reads."""

    fork: Fork
    number: int
    name: str


@record
class Pending:
    """A model that was told to evaluate: in which loops, under which tests, and what was done with it since.

    It was ``looked`` at without a gradient, it ``learned`` after that; or it learned at once, ``meant`` to be so.
    """

    event: Event
    loops: tuple[ast.AST, ...]
    tests: frozenset[Arm]
    looked: bool = False
    learned: bool = False
    meant: bool = False


State = frozenset[Pending] | None
"""What may be pending; None where control does not come."""

NOTHING: frozenset[Pending] = frozenset()


@dataclass
class Following:
    """One pass over an order; ``found`` are the models that come to a ``backward`` so.

    ``hiding`` are the calls that may enter a function which puts a model into training.
    """

    hiding: frozenset[ast.AST] = frozenset()
    found: dict[ast.AST, dict[Event, Pending]] = field(default_factory=dict)
    loops: list[ast.AST] = field(default_factory=list)
    tests: list[frozenset[Arm]] = field(default_factory=list)
    ends: list[list[State]] = field(default_factory=list)
    turns: list[list[State]] = field(default_factory=list)
    returns: list[list[State]] = field(default_factory=list)
    finals: list[Order] = field(default_factory=list)
    frames: list[int] = field(default_factory=lambda: [0])
    bounds: list[int] = field(default_factory=lambda: [0])

    def follow(self, parts: Order, state: State) -> State:
        for part in parts:
            if state is None:
                return None
            match part:
                case Event():
                    state = self._event(part, state)
                case Fork():
                    state = self._fork(part, state)
                case Turns():
                    state = self._turns(part, state)
                case Body():
                    state = self._body(part, state)
                case Guarded(body=body, final=final):
                    self.finals.append(final)
                    state = self.follow(body, state)
                    self.finals.pop()
                    state = self.follow(final, state)
                case Leave(node=node):
                    self._leave(node, state)
                    return None
        return state

    def _body(self, part: Body, state: State) -> State:
        self.returns.append([])
        self.frames.append(len(self.finals))
        end = self.follow(part.order, state)
        self.frames.pop()
        return _joined([end, *self.returns.pop()])

    def _leave(self, node: ast.stmt, state: State) -> None:
        """An early end, once what is done in any case has been done."""
        start = self.bounds[-1] if isinstance(node, ast.Break | ast.Continue) else self.frames[-1]
        waiting = self.finals[start:]
        del self.finals[start:]
        for final in reversed(waiting):
            state = self.follow(final, state)
        self.finals += waiting
        match node:
            case ast.Break() if self.ends:
                self.ends[-1].append(state)
            case ast.Continue() if self.turns:
                self.turns[-1].append(state)
            case ast.Return() if self.returns:
                self.returns[-1].append(state)

    def _turns(self, part: Turns, state: State) -> State:
        self.loops.append(part.node)
        self.bounds.append(len(self.finals))
        self.ends.append([])
        after: list[State] = [_left_out(part, state)]
        for _ in range(2):
            self.turns.append([])
            end = self.follow(part.body, state)
            state = _joined([end, *self.turns.pop()])
            after.append(state)
            if state is None:
                break
        self.loops.pop()
        self.bounds.pop()
        return _joined([*after, *self.ends.pop()])

    def _fork(self, part: Fork, state: frozenset[Pending]) -> State:
        ways: list[State] = []
        for number, arm in enumerate(part.arms):
            self.tests.append(frozenset(Arm(part, number, name) for name in part.read))
            ways.append(self.follow(arm, state))
            self.tests.pop()
        if part.test is not None and (LASTLY.search(part.text) or LAST_TURN.search(part.text)):
            ways[0] = _without_new(ways[0], state)
        return frozenset(each for each in _joined(ways) or () if self._stays(each, part, ways)) if any(
            way is not None for way in ways
        ) else None  # fmt: skip

    def _stays(self, pending: Pending, part: Fork, ways: list[State]) -> bool:
        """Whether no arm of a test puts the model back into training."""
        for arm, way in zip(part.arms, ways, strict=True):
            kept = way is None or any(each.event is pending.event for each in way)
            if not kept and any(_puts_back(each, pending) for each in events(arm)):
                return False
        return True

    def _event(self, event: Event, state: frozenset[Pending]) -> frozenset[Pending]:
        match event.deed:
            case Deed.EVALUATE if event.subject:
                others = {each for each in state if each.event.subject != event.subject}
                tests = frozenset().union(*self.tests)
                return frozenset({*others, Pending(event, tuple(self.loops), tests)})
            case Deed.MAKE:
                return frozenset(each for each in state if each.event.subject != event.subject)
            case Deed.TRAIN:
                return frozenset(each for each in state if not _puts_back(event, each))
            case Deed.BACKWARD:
                self._arrive(event, state)
            case Deed.CALL:
                if event.node in self.hiding:
                    return NOTHING
                return frozenset(_seen(event, each) for each in state if not _may_put_back(event, each))
        return state

    def _arrive(self, event: Event, state: frozenset[Pending]) -> None:
        tests = frozenset().union(*self.tests)
        for each in state:
            shared = bool(each.loops and self.loops and each.loops[0] is self.loops[0])
            excluded = {arm.name for arm in each.tests - tests} & {arm.name for arm in tests - each.tests}
            if shared and each.learned and not excluded:
                self.found.setdefault(event.node, {}).setdefault(each.event, each)


def _joined(states: Iterable[State]) -> State:
    reached = [each for each in states if each is not None]
    return frozenset().union(*reached) if reached else None


def _left_out(part: Turns, state: State) -> State:
    """What comes past a loop without a turn, which one that puts models back is not taken to be."""
    told = [each for each in events(part.body) if each.deed is Deed.TRAIN]
    return state and frozenset(each for each in state if not any(_puts_back(event, each) for event in told))


def _without_new(way: State, before: frozenset[Pending]) -> State:
    """What is left of an arm that is taken last: nothing comes after what it begins."""
    known = {each.event for each in before}
    return None if way is None else frozenset(each for each in way if each.event in known)


def _puts_back(event: Event, pending: Pending) -> bool:
    """Whether an event puts a model back into training, for all that is known of its name."""
    if event.deed is not Deed.TRAIN:
        return False
    name, model = event.subject, pending.event.subject
    if not name or "@" in name or name == model or name.startswith(f"{model}.") or model.startswith(f"{name}."):
        return True
    if _is_made_of(event.module, name, model) or _is_made_of(event.module, model, name):
        return True
    return name.partition(".")[0] != model.partition(".")[0] and "." in f"{name}{model}"


def _is_made_of(module: Module, name: str, model: str) -> bool:
    """Whether one is the other, or wraps it: ``net = DataParallel(model)``."""
    made = (module.statement(node) for node in module.loads.get(model.rpartition(".")[2], ()) if dotted(node) == model)
    return any(isinstance(each, ast.Assign) and name in map(dotted, each.targets) for each in made)


def _may_put_back(event: Event, pending: Pending) -> bool:
    """Whether a call that is not seen may put the model back into training: it has it, and says something of a mode."""
    if event.is_seen or not isinstance(event.node, ast.Call):
        return False
    word, model = last(event.node.func), pending.event.subject
    has = any(model == each or model.startswith(f"{each}.") for each in event.given)
    owner = event.subject.rpartition(".")[0]
    holds = bool(owner) and (model == owner or model.startswith(f"{owner}.")) and event.subject != model
    return (has or holds) and CHANGES.search(word) is not None


def _seen(event: Event, pending: Pending) -> Pending:
    """What a call does with a pending model: it looks at it, or learns with it."""
    model, name = pending.event.subject, event.subject
    is_method = name.startswith(f"{model}.") and name.rpartition(".")[2] not in NO_FORWARD
    if not (name == model or is_method or model in event.given):
        return pending
    validates = any(VALIDATES.search(_called(each.node)) for each in event.entered)
    if not event.has_gradient or validates:
        return replace(pending, looked=True)
    word = last(event.node.func) if isinstance(event.node, ast.Call) else ""
    if VALIDATES.search(word) and name != model and not name.startswith(f"{model}."):
        return pending
    if pending.looked and not pending.meant:
        return replace(pending, learned=True)
    return replace(pending, meant=True)


def _called(node: ast.Call) -> str:
    return last(node.func)


def facts(world: World, site: Site) -> Iterator[StuckEval]:
    """The models that come to a ``backward`` in evaluation mode."""
    for root in roots(world, site.module, site.call):
        whole = order(world, root)
        for event, pending in _stuck(world, root, whole).get(site.call, {}).items():
            yield from _fact(world, site, root, whole, pending, event)


def _stuck(world: World, root: Root, whole: Order) -> Mapping[ast.AST, Mapping[Event, Pending]]:
    """For each ``backward`` that a root reaches, the models that come to it in evaluation mode."""
    key = ("stuck", root.scope)
    known = world.workspace.answers.get(key)
    if not isinstance(known, dict):
        following = Following()
        if any(each.deed is Deed.EVALUATE for each in events(whole)):
            following.hiding = frozenset(each.node for each in events(whole) if _hides_train(world, each))
            following.follow(whole, NOTHING)
        known = world.workspace.answers[key] = following.found
    return known


def _hides_train(world: World, event: Event) -> bool:
    """Whether a call that is not followed has the name of a function of the project that puts a model into training."""
    if event.is_seen or event.deed is not Deed.CALL or not isinstance(event.node, ast.Call):
        return False
    word = last(event.node.func)
    if not CHANGES.search(word):
        return False
    modules = (event.module, *world.workspace.mentions(f"def {word}", event.module.path))
    bodies = (each for module in modules for each in module.definitions.get(word, ()))
    return any(_says_train(node) for body in bodies for node in inside(body))


def _says_train(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "train"


def _hands_over_train(event: Event) -> bool:
    """Whether the function that tells a model to evaluate hands its ``train`` to something that calls it later."""
    module, scope = event.module, event.module.scope(event.node)
    nodes = (each for each in module.loads.get("train", ()) if isinstance(each, ast.Attribute))
    return any(call_of(module, each) is None and module.scope(each) is scope for each in nodes)


def _fact(world: World, site: Site, root: Root, whole: Order, pending: Pending, event: Event) -> Iterator[StuckEval]:
    model = event.subject
    thing = _thing(world, event)
    layers = acting(world, thing) if thing is not None else None
    if layers == () or _is_frozen(world, root, pending) or _hands_over_train(event):
        return
    told = [each for each in events(whole) if each.deed is Deed.TRAIN and each.subject == model]
    made = (
        thing is not None and is_trained_when_made(world, thing) and _is_optimized(event.module, FOREIGN.sub("", model))
    )
    where = event.module.span(event.node)
    loop, back = pending.loops[-1], Event(Deed.BACKWARD, site.call, site.module, "")
    yield StuckEval(
        where, _place(event, loop), None, (), (), module=FOREIGN.sub("", model), layers=layers or (),
        proof=tuple(each.module.step(each.node) for each in (*told[:1], event, back)),
        told=None if told or made else NOT_TOLD,
    )  # fmt: skip


def _told(event: Event) -> str:
    """What is told to evaluate, as it is written there."""
    node = event.node
    written = dotted(node.func.value) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return written or event.subject.partition("@")[0]


def _place(event: Event, loop: ast.AST) -> Span:
    """Where a loop tells a model to evaluate: there, or in the helper that it calls."""
    for each in event.entered:
        if any(inner is each.node for inner in ast.walk(loop)):
            return each.module.span(each.node)
    return event.module.span(event.node)


def _thing(world: World, event: Event) -> Thing | None:
    """What a model is, as far as it is known where it is told to evaluate, or where it is called."""
    node = event.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        model = node.func.value
        return quietly(world, lambda inner: inner.evaluate(model, inner.open_frame(event.module, node)))
    return None


def _is_frozen(world: World, root: Root, pending: Pending) -> bool:
    """Whether the optimizers of the loop are seen, and none of them has the parameters of the model."""
    steps = (each for each in held(world, root) if each.event.deed is Deed.STEP)
    shared = [each.event for each in steps if each.loops and each.loops[0].node is pending.loops[0]]
    owners = [_owners(world, each) for each in shared]
    word = FOREIGN.sub("", pending.event.subject).rpartition(".")[2]
    return bool(owners) and all(each and word not in each for each in owners)


def _owners(world: World, step: Event) -> frozenset[str]:
    """The last words of the models whose parameters an optimizer is given, where it is made in a file that is seen."""
    node = step.node
    if not isinstance(node, ast.Call):
        return frozenset()
    optimizer = stepping(node)
    made = quietly(world, lambda inner: inner.evaluate(optimizer, inner.open_frame(step.module, node)))
    if not isinstance(made, Built) or not isinstance(made.node, ast.Call):
        return frozenset()
    handed = (each for given in (*made.node.args[:1], *made.node.keywords) for each in ast.walk(given))
    return frozenset(
        last(each.value) for each in handed if isinstance(each, ast.Attribute) and each.attr == "parameters"
    )


def _is_optimized(module: Module, model: str) -> bool:
    """Whether an optimizer of the file is given the parameters of a model."""
    return any(
        isinstance(node, ast.Attribute) and dotted(node.value) == model for node in module.loads.get("parameters", ())
    )
