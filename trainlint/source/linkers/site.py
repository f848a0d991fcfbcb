"""What the linkers share: a place to look at, and a known callable with everything that it was given."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence, Set

from trainlint.facts import Layer, Option
from trainlint.knowledge import SIGNATURES, canonical
from trainlint.record import thing
from trainlint.source import callers
from trainlint.source.binding import argument, arguments, defaults
from trainlint.source.flow import applications
from trainlint.source.gradients import trains
from trainlint.source.objects import library_base
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import (
    Arguments,
    Built,
    Class,
    Constant,
    External,
    Frame,
    Opaque,
    Partial,
    Tensor,
    Thing,
    Thunk,
)
from trainlint.source.world import Impossible, World
from trainlint.span import Span
from trainlint.value import Integer, Real, Unknown

NARROW = Unknown("the layer is not asked for")
NEEDED = ("input", "target")
"""What a loss is given by name, and cannot do without."""


@thing
class Site:
    """A place that may show something, and the module it stands in."""

    node: ast.expr | ast.stmt
    module: Module

    @property
    def call(self) -> ast.Call:
        assert isinstance(self.node, ast.Call), "only a linker whose sites are calls asks for one"
        return self.node

    @property
    def span(self) -> Span:
        return self.module.span(self.node)


@thing
class Applied:
    """A known callable with everything it was given: at its construction and at its call."""

    name: str
    arguments: Arguments
    built: Arguments | None
    node: ast.AST | None
    frame: Frame | None

    @property
    def is_construction(self) -> bool:
        """Whether the call makes an object, and applies nothing."""
        return self.built is None and self.name.rpartition(".")[2][:1].isupper()


def standing(world: World, site: Site) -> Frame:
    """The frame of a site, entered through this world's caller."""
    frame = world.open_frame(site.module, site.node)
    callers.stand(world, site.node, frame)
    return frame


def standing_to_train(world: World, site: Site) -> Frame:
    """The frame of a loss: ``forward(self, images, labels=None)`` makes none for a caller that passes no labels."""
    function = site.module.scope(site.call)
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_class(site.call.func):
        optional = {name for name, each in defaults(function).items() if _is_nothing(each)}
        given = (*site.call.args[:2], *(each.value for each in site.call.keywords if each.arg in NEEDED))
        roots = {root.id for root in map(_root, given) if root is not None}
        if roots & optional:
            needed: dict[ast.AST, frozenset[str]] = {function: frozenset(roots & optional)}
            world.take(("needed", function), lambda each: each.needed.update(needed))
    is_training = trains(site.module, site.call)
    world.take("learns", lambda each: setattr(each, "learns", is_training))
    frame = standing(world, site)
    if _is_left_lying(world, site, frame):
        raise Impossible
    return frame


def _is_left_lying(world: World, site: Site, frame: Frame) -> bool:
    """Whether a loss is only kept, ``self.last_loss = ...``, and the file that trains never reads it there."""
    match site.module.parents.get(site.call):
        case ast.Assign(targets=[ast.Attribute(attr=word)]) if word not in site.module.loads:
            called = callers.entered(world, frame)
            caller = called.entry[1].module if called is not None and called.entry is not None else None
            return caller is not None and "backward" in caller.loads and word not in caller.loads
    return False


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _root(node: ast.expr) -> ast.Name | None:
    """The name whose attributes, methods and parts an expression reads: none of them is there if it is None."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Call(func=ast.Attribute(value=value)):
                node = value
            case _:
                return None
    return node


def named(module: Module, words: Set[str]) -> Iterator[tuple[ast.expr, str]]:
    """Where a file reads one of these names, under the name that an import gave it too, with the name itself."""
    loads = module.loads
    there = [*module.among(words), *module.known_as(words)]
    for word in sorted(set(there), key=lambda word: _start(loads[word][0])) if len(there) > 1 else there:
        full = module.imports.get(word, word).rpartition(".")[2]
        for node in loads[word]:
            name = full if isinstance(node, ast.Name) else word
            if name in words:
                yield node, name


def named_so(module: Module, is_wanted: Callable[[str], bool]) -> Iterator[tuple[ast.expr, str]]:
    """The same for names that are told by how they are spelled."""
    yield from named(module, {word for word in _spelled(module) if is_wanted(word)})


def _spelled(module: Module) -> Set[str]:
    """Every name that a file reads, and those of what its imports gave another one."""
    known = module.kept.get("spelled names")
    if not isinstance(known, frozenset):
        read = frozenset(module.loads)
        full = (name.rpartition(".")[2] for word, name in module.imports.items() if word in read)
        known = module.kept["spelled names"] = read.union(full)
    return known


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def call_of(module: Module, node: ast.expr) -> ast.Call | None:
    """The call whose callable a node is."""
    parent = module.parents.get(node)
    return parent if isinstance(parent, ast.Call) and parent.func is node else None


def applying(world: World, module: Module, node: ast.expr) -> Iterator[Site]:
    """The calls that may apply what a name stands for, or the object that its call makes; the call itself too."""
    construction = call_of(module, node)
    for call, where in applications(world, module, construction or node).items():
        yield Site(call, where)
        if construction is None and _is_class(node):
            for use, place in applications(world, where, call).items():
                yield Site(use, place)
    if construction is not None:
        yield Site(construction, module)


def uses(world: World, module: Module, words: Set[str]) -> Iterator[Site]:
    """The calls of functions with these names, and of the objects that classes with these names make."""
    for node, word in named(module, words):
        call = call_of(module, node)
        parent = module.parents.get(node)
        if call and word.islower():
            yield Site(call, module)
        elif isinstance(parent, ast.ClassDef):
            yield from handed_on(module, parent)
        else:
            yield from applying(world, module, node)


def handed_on(module: Module, node: ast.ClassDef) -> Iterator[Site]:
    """Where a class hands on to what it extends."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and is_handed_on(call):
            yield Site(call, module)


def is_handed_on(call: ast.Call) -> bool:
    """``super().forward(...)``, or calling it."""
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="forward" | "__call__"):
            return True
    return False


def inherited(world: World, site: Site, frame: Frame, known: Collection[str]) -> Applied | None:
    """What a class of the project hands on to, where it extends one of these names."""
    _, receiver = callers.owner(world, frame)
    base = library_base(world, receiver) if isinstance(receiver, Built) and isinstance(receiver.what, Class) else None
    if base is None or not isinstance(base.what, External) or canonical(base.what.name) not in known:
        return None
    given = arguments(world, site.call, frame)
    return Applied(canonical(base.what.name), given, base.arguments, base.node, base.frame)


def _is_class(node: ast.expr) -> bool:
    """Whether a name is spelled as a class: what is called under another name then makes an object."""
    return last(node)[:1].isupper()


def lines(module: Module, node: ast.expr) -> bytes:
    """The lines of a node, to sift it as files are sifted."""
    return "\n".join(module.rows[node.lineno - 1 : node.end_lineno]).encode()


def callable_of(call: ast.Call) -> ast.expr:
    """``metric.update(...)`` applies the metric."""
    match call.func:
        case ast.Attribute(value=value, attr="update" | "forward"):
            return value
    return call.func


def is_excluded(world: World, site: Site, frame: Frame) -> bool:
    """Whether a test around a call of an object, ``isinstance(criterion, Smoothed)``, leaves this object out."""
    if world.renews:
        return False
    child: ast.AST = site.node
    while not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
        parent = site.module.parents.get(child)
        match parent:
            case ast.If(test=ast.Call(func=ast.Name(id="isinstance"), args=[ast.expr() as thing, _])):
                if child is not parent.test and dotted(thing) == dotted(site.call.func) is not None:
                    answer = world.evaluate(parent.test, frame)
                    holds = answer.value if isinstance(answer, Constant) and not answer.assumed else None
                    if holds is not None and holds != (child in parent.body):
                        return True
            case None:
                return False
        child = parent
    return False


def application(world: World, called: Thing, call: ast.Call, frame: Frame, known: Collection[str]) -> Applied | None:
    """A call of one of these names, or of an object that one of them made."""
    given = arguments(world, call, frame)
    while isinstance(called, Partial):
        given, called = given.after(called.arguments), called.callable
    match called:
        case External(name=name) if canonical(name) in known:
            return Applied(canonical(name), given, None, None, None)
        case Built(what=External(name=name)) if canonical(name) in known:
            return Applied(canonical(name), given, called.arguments, called.node, called.frame)
    return None


def deciding(applied: Applied, name: str) -> Thunk | Unknown | None:
    """The argument that decides, from the construction if there was one."""
    given = applied.built if applied.built is not None else applied.arguments
    signature = SIGNATURES[applied.name]
    return argument(given, signature.parameters, name)


def passed(applied: Applied, place: int, names: Sequence[str]) -> Thunk | Unknown | None:
    """What the call itself is given, by place or by one of these names."""
    given = applied.arguments
    for name in names:
        if name in given.keywords:
            return given.keywords[name]
    return argument(given, (*("_" * (each + 1) for each in range(place)), names[0]), names[0])


def number_of(world: World, given: Thunk | Unknown | None, default: Integer | Unknown) -> Integer | Unknown:
    """An argument as a number; its default where it is not given."""
    if isinstance(given, Unknown):
        return given
    return default if given is None else world.integer(world.force(given))


def real_of(world: World, given: Thunk | Unknown | None, default: Real | Unknown) -> Real | Unknown:
    """An argument as a number that need not be whole; its default where it is not given."""
    if not isinstance(given, Thunk):
        return given or default
    thing = world.force(given)
    match thing:
        case Constant(value=float() as number):
            return Real(number, thing.evidence, thing.assumed)
        case Integer() if thing.number is not None:
            return _whole(thing)
        case Opaque():
            return Unknown(f"{thing.name}: {thing.why.reason}", thing.why.settle or thing.name)
        case Unknown():
            return thing
    return Unknown(f"{ast.unparse(given.node)} is not a number that is known")


def _whole(thing: Integer) -> Real | Unknown:
    """A whole number as a real one; some are too large for that."""
    assert thing.number is not None, "the caller asked"
    try:
        return Real(float(thing.number), thing.evidence, thing.assumed)
    except OverflowError:
        return Unknown("a number that no float can hold")


def option(
    call: ast.Call, where: Span, name: str, given: Thunk | Unknown | None, other: str, position: int | None = None
) -> Option | None:
    """An argument of a call that decides, and what it would be instead; None where ``**`` may hide it."""
    named = {each.arg for each in call.keywords}
    if isinstance(given, Unknown) or (None in named and name not in named):
        return None
    return Option(where, name, other, position, given is None or _is_spelled_out(call, given))


def _is_spelled_out(call: ast.Call, given: Thunk) -> bool:
    """Whether a call itself says what it is given."""
    spelled = (*call.args, *(each.value for each in call.keywords))
    return isinstance(given.node, ast.Constant) and given.node in spelled


def place_of(given: Thunk | Unknown | None, applied: Applied | None, site: Site) -> Span:
    """The place of a deciding argument; the construction or the call, where a default decides."""
    if isinstance(given, Thunk):
        source = given.via or given
        return source.frame.module.span(source.node)
    return (span_of(applied) if applied else None) or site.span


def span_of(applied: Applied) -> Span | None:
    """Where the object that is called was made."""
    if applied.node is None or applied.frame is None:
        return None
    return applied.frame.module.span(applied.node)  # type: ignore[arg-type]


def layer_of(world: World, given: Thunk | Unknown | None) -> Layer | Unknown:
    """The layer that makes the logits; not asked for where the number that a site skips is to tell alone."""
    if world.narrow:
        return NARROW
    if not isinstance(given, Thunk):
        return given or Unknown("the logits are not passed")
    thing = world.force(given)
    match thing:
        case Tensor():
            return thing.layer
        case Opaque():
            return Unknown(f"the logits are {thing.name}: {thing.why.reason}", thing.why.settle or thing.name)
        case Unknown():
            return Unknown(f"the logits: {thing.reason}", thing.settle)
    return Unknown("the logits are not traced to a layer")
