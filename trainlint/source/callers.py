"""Calls of the project's own functions: what they return, and, the other way round, who calls them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from trainlint.record import replace, thing
from trainlint.regex import regex
from trainlint.source import objects, pretrained
from trainlint.source.binding import argument, arguments, declared, defaults, parameters
from trainlint.source.flow import applications
from trainlint.source.gradients import trains
from trainlint.source.names import is_local, leaves, returns, spelled, truth
from trainlint.source.nodes import nodes_of
from trainlint.source.sift import spelling
from trainlint.source.summary import FunctionNode, Module, last
from trainlint.source.things import (
    Arguments,
    Built,
    Class,
    Constant,
    External,
    File,
    Frame,
    Function,
    Method,
    Opaque,
    Partial,
    Repeated,
    Thing,
    Thunk,
    identity,
)
from trainlint.source.world import MOST_BENEATH, MOST_CALLERS, MOST_CALLERS_OF_A_NUMBER, Impossible, Path, World, worlds
from trainlint.value import Step, Unknown

MAKERS = ("from_pretrained", "load_from_checkpoint")
MAKING = regex(rb"from_(?:pretrained|(?<=load_from_)checkpoint)")
"""The same in bytes: what begins with letters is found five times quicker."""

APPLIED = ("forward", "__call__")
MOST_YIELDS = 3
STEPS = ("compute_loss", "training_step", "prediction_step")
"""Methods that a library's trainer calls with its model."""

TRAINING = {"backward", "Trainer", "fit"}
"""What a file reads that trains."""

OPTIMIZING = {"zero_grad", "optim", "configure_optimizers"}
DECIDING = {"ignore", "pad", "padding", "blank", "eos", "criterion", "loss"}
FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef


@thing
class Caller:
    """A call of a function or class of the project, and the module it stands in.

    ``instead`` says that by default it is another entry of the same table that is called.
    """

    node: ast.Call
    module: Module
    instead: bool = False


def result(world: World, function: Function, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """What a call of a project's function returns."""
    dressed = decorated(world, function)
    if dressed is not None:
        receiver = () if function.receiver is None else (Thunk(ast.Constant(None), frame, function.receiver),)
        return world.call(dressed, replace(given, positional=(*receiver, *given.positional)), node, frame)
    inner = activation(world, function, given, node, frame)
    if isinstance(function.node, ast.Lambda):
        return world.evaluate(function.node.body, inner)
    if isinstance(function.node, ast.AsyncFunctionDef):
        return Unknown(f"{function.name} is a coroutine")
    yields = _yields(inner.module, function.node)
    if yields:
        return _generated(world, function.name, yields, inner)
    found = next(returns(world, function.node.body, inner), None)
    return world.evaluate(found.value, inner) if found and found.value else Constant(None)


def decorated(world: World, function: Function) -> Thing | None:
    """What the project's own decorators make of a function; None where they hand it back, or there are none."""
    marks = [] if function.bare or isinstance(function.node, ast.Lambda) else function.node.decorator_list
    dressed: Thing = replace(function, receiver=None, bare=True)
    for mark in reversed(marks):
        decorator = world.evaluate(mark, function.frame)
        if isinstance(decorator, Function):
            given = Arguments((Thunk(mark, function.frame, dressed),))
            dressed = world.call(decorator, given, mark, function.frame)
    return None if isinstance(dressed, Function) and dressed.node is function.node else dressed


def activation(world: World, function: Function, given: Arguments, node: ast.AST, frame: Frame) -> Frame:
    """The frame of one call of a function."""
    receiver = function.receiver
    number = world.workspace.number("call", id(function.node), id(node), frame.number, *identity(receiver))
    outer = function.frame
    return Frame(outer.module, function.node, given, receiver, outer, number, entry=(node, frame))


def _yields(module: Module, node: FunctionDef) -> tuple[ast.Yield | ast.YieldFrom, ...]:
    """The places at which a generator hands something out."""
    known = module.kept.get(("yields", node))
    if not isinstance(known, tuple):
        every = (each for each in nodes_of(node) if isinstance(each, ast.Yield | ast.YieldFrom))
        known = module.kept["yields", node] = tuple(each for each in every if module.scope(each) is node)
    return known


def _generated(world: World, name: str, yields: tuple[ast.Yield | ast.YieldFrom, ...], frame: Frame) -> Thing:
    """What a generator yields: all of it is made by one expression, or this world says by which."""
    if len(yields) > MOST_YIELDS or any(each.value is None for each in yields):
        return Unknown(f"{name} yields in too many places")
    each = yields[
        world.choose("branch", ("yield", id(frame.function), frame.number), [frame.step(each) for each in yields])
    ]
    assert each.value is not None, "looked at above"
    value = Thunk(each.value, frame)
    if isinstance(each, ast.YieldFrom):
        value = Thunk(each.value, frame, world.element(world.force(value), each))
    return Repeated(value, Unknown("how often a generator yields is open"), each)


def owner(world: World, frame: Frame) -> tuple[Class | None, Thing | None]:
    """The class whose method a frame runs, and its receiver."""
    each: Frame | None = frame
    while each is not None:
        inner, each = each, each.outer
        if each is None or not isinstance(each.function, ast.ClassDef):
            continue
        if isinstance(inner.function, ast.FunctionDef | ast.AsyncFunctionDef):
            cls = Class(each.function, each.module, each.outer or world.module_frame(each.module))
            first = parameters(inner.function)[0].arg if parameters(inner.function) else "self"
            return cls, inner.receiver or receiver(world, first, inner)
    return None, None


def receiver(world: World, name: str, frame: Frame) -> Thing | None:
    """``self`` or ``cls`` of a method that nobody is known to call."""
    function, outside = frame.function, frame.outer
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or outside is None:
        return None
    if not isinstance(outside.function, ast.ClassDef) or "staticmethod" in objects.marks(function):
        return None
    if not parameters(function) or parameters(function)[0].arg != name:
        return None
    if frame.receiver is not None:
        return frame.receiver
    called = entered(world, frame)
    if called is not None and isinstance(called.receiver, Built) and called.receiver.arguments is not None:
        return called.receiver
    cls = Class(outside.function, outside.module, outside.outer or world.module_frame(outside.module))
    return cls if "classmethod" in objects.marks(function) else instance(world, cls)


def handed_by_trainer(world: World, name: str, frame: Frame) -> Thing | None:
    """``compute_loss(self, model, inputs)``: a library's trainer passes the model that it was made with."""
    if name != "model" or getattr(frame.function, "name", "") not in STEPS:
        return None
    cls, made = owner(world, frame)
    bases = [each.name for each in objects.lineage(world, cls) if isinstance(each, External)] if cls else []
    if not any(base.rpartition(".")[2].endswith("Trainer") for base in bases) or not isinstance(made, Built):
        return None
    given = argument(made.arguments, ("model", "args"), "model") if made.arguments is not None else None
    return world.force(given) if isinstance(given, Thunk) else None


def instance(world: World, cls: Class) -> Built:
    """An object of a class as this world makes it: by one of the calls that the project makes it with."""
    number = world.workspace.number("instance", id(cls.node))
    frame = Frame(cls.module, None, None, None, None, number)
    if not world.looks_for_callers:
        return Built(cls, None, cls.node, frame)
    made = constructions(world, cls)
    if not made:
        return Built(cls, None, cls.node, frame)
    chosen = _chosen(world, ("made", id(cls.node)), made, cls.node)
    if chosen is None:
        return Built(cls, None, cls.node, frame)
    where = standing(world, chosen)
    thing = world.evaluate(chosen.node.func, where)
    if chosen.instead or (isinstance(thing, Class) and not _is_of(world, thing, cls) and _is_default(world, chosen)):
        return _made_instead(world, cls, thing, chosen, where)
    if isinstance(thing, Class) and cls.node not in _nodes(world, thing):
        raise Impossible
    if not isinstance(thing, Class):
        whole = world.evaluate(chosen.node, where)
        if isinstance(whole, Built) and isinstance(whole.what, Class) and cls.node in _nodes(world, whole.what):
            return whole
    kind = thing if isinstance(thing, Class) and cls.node in _nodes(world, thing) else cls
    return Built(kind, arguments(world, chosen.node, where), chosen.node, where)


def _is_of(world: World, made: Class, cls: Class) -> bool:
    return cls.node in _nodes(world, made)


def _is_default(world: World, caller: Caller) -> bool:
    """Whether it is a default that decides which entry of a table or a module a call makes an object of."""
    match caller.node.func:
        case ast.Subscript(slice=key) | ast.Call(func=ast.Name(id="getattr"), args=[_, key, *_]):
            found = world.evaluate(key, standing(world, caller))
            return isinstance(found, Constant) and bool(found.assumed)
    return False


def _made_instead(world: World, cls: Class, default: Thing, chosen: Caller, where: Frame) -> Built:
    """An object of a class by a call that makes one of another entry of the same table by default."""
    given = arguments(world, chosen.node, where)
    if isinstance(default, Method) and default.name in MAKERS:
        whole = pretrained.made(world, cls, default.name, given, chosen.node, where)
        if isinstance(whole, Built):
            return whole
    return Built(cls, given, chosen.node, where)


def _nodes(world: World, cls: Class) -> set[ast.ClassDef]:
    return {each.node for each in objects.lineage(world, cls) if isinstance(each, Class)}


def constructions(world: World, cls: Class) -> tuple[Caller, ...]:
    """The calls that make objects of a class or of the classes derived from it."""
    key = ("made", id(cls.node))
    known = world.workspace.answers.get(key)
    if isinstance(known, tuple):
        return known
    world.workspace.answers[key] = ()
    found = [*calls_of(world, cls.name, cls.node, cls.module), *_by_class_methods(cls)]
    found += [*_by_library(world, cls), *_by_choice(world, cls)]
    for derived in subclasses(world, cls):
        found += constructions(world, derived)
    answer = _ranked({id(caller.node): caller for caller in found}.values())
    world.workspace.answers[key] = answer
    return answer


def _ranked(callers: Iterable[Caller]) -> tuple[Caller, ...]:
    """Callers in files that train first, then those that say what is skipped; a demo counts only where it is alone.

    A demo is the ``if __name__ == "__main__":`` of a file in which nothing is trained.
    """
    every = sorted(callers, key=lambda caller: (not _trains(caller.module), not _decides(caller.node)))
    others = tuple(caller for caller in every if _trains(caller.module) or not _is_main(caller))
    return others or tuple(every)


def _trains(module: Module) -> bool:
    return any(word in module.loads for word in TRAINING)


def is_training(module: Module) -> bool:
    """Whether a file shows that what it makes is trained, there or by a library's trainer."""
    shows = any(word in module.loads for word in OPTIMIZING) or any(word in module.definitions for word in STEPS)
    return _trains(module) or shows


def _decides(call: ast.Call) -> bool:
    """Whether a call names a sentinel, a padding or a loss."""
    return any(not DECIDING.isdisjoint((keyword.arg or "").split("_")) for keyword in call.keywords)


def _is_main(caller: Caller) -> bool:
    node: ast.AST | None = caller.node
    while node is not None:
        match node:
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                return True
        node = caller.module.parents.get(node)
    return False


def _chosen(world: World, key: tuple[object, ...], callers: Sequence[Caller], called: ast.AST) -> Caller | None:
    """The caller of this world; None stands for all those beyond the first ones, which are not followed."""
    is_narrow = world.told("narrow", lambda each: each.narrow)
    most = MOST_CALLERS_OF_A_NUMBER if is_narrow else MOST_CALLERS
    # One caller more is one path, as would be that of the callers that are not followed.
    most += len(callers) == most + 1
    first, rest = callers[:most], callers[most:]
    steps = [caller.module.step(caller.node) for caller in first]
    if rest:
        steps.append(Step(f"called from {len(rest)} more places, here first", rest[0].module.span(rest[0].node)))
    taken = world.choose("caller", key, steps)
    step = steps[taken]
    world.take(("context", called), lambda each: each.context.update({called: step}))
    if taken == len(first):
        why = Unknown(f"{len(callers)} places call it, and {len(first)} are followed")
        world.take(("unfollowed", called), lambda each: each.unfollowed.update({called: why}))
        return None
    return first[taken]


def unfollowed(world: World, frame: Frame) -> Unknown | None:
    """Why a parameter is open on the path of the callers that are not followed."""
    function = frame.function
    holder = frame.module.parents.get(function) if function is not None else None
    return _unfollowed(world, function) or _unfollowed(world, holder)


def _unfollowed(world: World, node: ast.AST | None) -> Unknown | None:
    return world.told(("unfollowed", node), lambda each: each.unfollowed.get(node))


def _by_class_methods(cls: Class) -> Iterator[Caller]:
    """``cls(...)`` in a class method."""
    for node in objects.class_methods(cls):
        if node.args.args:
            name = node.args.args[0].arg
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == name:
                    yield Caller(call, cls.module)


def _by_choice(world: World, cls: Class) -> Iterator[Caller]:
    """The calls of what a table or a module gives under a name, where that may be this class."""
    for module, node in _offers(world, cls):
        for call, where in applications(world, module, node).items():
            if where.is_test:
                continue
            thing = world.apart().evaluate(call.func, world.open_frame(where, call))
            made = thing.thing if isinstance(thing, Method) and thing.name in MAKERS else thing
            if _is(made, cls.node) or is_open_choice(world, call.func, where):
                yield Caller(call, where)
            elif isinstance(made, Class) and _is_beside(module, node, cls, made):
                yield Caller(call, where, instead=True)


def _is_beside(module: Module, offer: ast.expr, cls: Class, other: Class) -> bool:
    """Whether what offers a class under a name offers another one too: its table, or its module."""
    if isinstance(offer, ast.Call):
        return other.module is cls.module
    table: ast.AST = offer
    while isinstance(parent := module.parents.get(table), ast.Dict | ast.Tuple | ast.List | ast.keyword | ast.Call):
        table = parent
    names = (last(each) for each in ast.walk(table) if isinstance(each, ast.Name | ast.Attribute))
    return table is not offer and other.name in names


def _by_library(world: World, cls: Class) -> Iterator[Caller]:
    """``Tagger.from_pretrained(...)`` and its kin, under any name that the class is given."""
    for module in world.workspace.mentioning(cls.name, cls.module.path, MAKING):
        for word in () if module.is_test else MAKERS:
            for node in module.loads.get(word, ()):
                call = module.parents.get(node)
                if isinstance(call, ast.Call) and call.func is node and isinstance(node, ast.Attribute):
                    thing = world.apart().evaluate(node, world.open_frame(module, call))
                    if isinstance(thing, Method) and _is(thing.thing, cls.node):
                        yield Caller(call, module)


def _offers(world: World, cls: Class) -> Iterator[tuple[Module, ast.expr]]:
    """Where a class is put into a table, and where names are looked up in its module."""
    for module in world.workspace.mentioning(cls.name, cls.module.path, spelling.handed_on(cls.name)):
        for node in () if module.is_test else references(module, cls.name):
            held = isinstance(module.parents.get(node), ast.Dict | ast.keyword | ast.Tuple | ast.List | ast.Return)
            if held and _is(world.apart().evaluate(node, world.open_frame(module, node)), cls.node):
                yield module, node
    last_word = cls.module.name.rpartition(".")[2]
    for module in world.workspace.mentioning_both("getattr", last_word, spelling.imported(last_word)):
        for call, home in () if module.is_test else _lookups(module):
            if module.imports.get(home.id, "").rpartition(".")[2] == last_word:
                found = world.apart().evaluate(home, world.open_frame(module, call))
                if isinstance(found, File) and found.module is cls.module:
                    yield module, call


def _lookups(module: Module) -> tuple[tuple[ast.Call, ast.Name], ...]:
    """The calls ``getattr(name, key)`` of a file."""
    known = module.kept.get("lookups")
    if not isinstance(known, tuple):
        found = []
        for node in module.loads.get("getattr", ()):
            match module.parents.get(node):
                case ast.Call(func=func, args=[ast.Name() as home, ast.expr(), *_]) as call if func is node:
                    found.append((call, home))
        found.sort(key=lambda each: (each[0].lineno, each[0].col_offset))
        known = module.kept["lookups"] = tuple(found)
    return known


def is_open_choice(world: World, node: ast.expr, module: Module) -> bool:
    """Whether what is taken from a table or a module depends on a name that nobody settles."""
    match node:
        case ast.Subscript(slice=key) | ast.Call(func=ast.Name(id="getattr"), args=[_, key, *_]):
            found = world.apart().evaluate(key, world.open_frame(module, node))
            return isinstance(found, Opaque | Unknown)
    return False


def subclasses(world: World, cls: Class) -> Iterator[Class]:
    """The classes of the project that name this one as a base."""
    for module in world.workspace.mentions(cls.name, cls.module.path):
        for node in module.derived.get(cls.name, ()):
            frame = world.open_frame(module, node)
            quiet = world.apart()
            if any(_is(quiet.evaluate(base, frame), cls.node) for base in node.bases):
                yield Class(node, module, frame)


def calls_of(world: World, name: str, node: ast.AST, near: Module) -> Iterator[Caller]:
    """Every call in the project whose callable is this function or class."""
    for module in world.workspace.mentioning(name, near.path, spelling.called(name)):
        for callable in () if module.is_test else module.loads.get(name, ()):
            call = module.parents.get(callable)
            if not isinstance(call, ast.Call) or call.func is not callable:
                continue
            thing = world.apart().evaluate(callable, world.open_frame(module, call))
            if _is(thing, node) or _is_overridden(world, thing, node, near):
                yield Caller(call, module)


def _is_overridden(world: World, thing: Thing, node: ast.AST, near: Module) -> bool:
    """``self.step()`` in a base class calls what a derived class makes of ``step``."""
    holder = near.parents.get(node)
    if not isinstance(thing, Function) or thing.owner is None or not isinstance(holder, ast.ClassDef):
        return False
    own = Class(holder, near, world.open_frame(near, holder))
    return own.node is not thing.owner.node and any(
        isinstance(each, Class) and each.node is thing.owner.node for each in objects.lineage(world, own)
    )


def _is(thing: Thing, node: ast.AST) -> bool:
    return isinstance(thing, Class | Function) and thing.node is node


def entered(world: World, frame: Frame) -> Frame | None:
    """An open function's frame as the caller that this world chose enters it; None where nobody calls it."""
    function = frame.function
    if not world.looks_for_callers or function is None or isinstance(function, ast.ClassDef):
        return None
    with world.once(("entered", frame.number)) as is_free:
        return world.ask("entered", frame, lambda each: _entered(each, function, frame)) if is_free else None


def is_called(world: World, frame: Frame) -> bool:
    """Whether anybody calls an open function, though the call was not settled: then no default is known to hold."""
    function = frame.function
    if not world.looks_for_callers or function is None or isinstance(function, ast.ClassDef):
        return False
    return bool(callers_of(world, frame.module, function)) or _has_twin(frame.module, function)


def _has_twin(module: Module, function: FunctionNode) -> bool:
    """Whether a scope defines a function twice, on two arms: a call of one is a call of the other."""
    if isinstance(function, ast.Lambda):
        return False
    scope = module.scope(function)
    return sum(module.scope(node) is scope for node in module.definitions.get(function.name, ())) > 1


def is_handed_over(world: World, name: str, near: Module) -> bool:
    """Whether some call passes an argument of this name to an object that nobody settled: it may be this parameter."""
    key = ("handed over", name, near.path)
    known = world.workspace.answers.get(key)
    if not isinstance(known, bool):
        known = any(_takes(world, module, name) for module in world.workspace.mentions(f"{name}=", near.path))
        world.workspace.answers[key] = known
    return known


def _takes(world: World, module: Module, name: str) -> bool:
    for call in () if module.is_test else module.passing.get(name, ()):
        thing = world.apart().evaluate(call.func, world.open_frame(module, call))
        if isinstance(thing, Opaque):
            return True
    return False


def _entered(world: World, function: FunctionNode, frame: Frame) -> Frame | None:
    found = callers_of(world, frame.module, function)
    if not found:
        return None
    found = _on_the_way(world, found, frame.module, function) or found
    chosen = _chosen(world, ("calls", id(function)), found, function)
    if chosen is None:
        return None
    where = standing(world, chosen)
    called = world.evaluate(chosen.node.func, where)
    given = arguments(world, chosen.node, where)
    while isinstance(called, Partial):
        given, called = given.after(called.arguments), called.callable
    if chosen.instead or _is_another_choice(world, called, function, frame):
        return _entered_instead(world, function, frame, given, chosen, where)
    if not _may_enter(world, called, function, frame):
        if isinstance(called, Function | Built):
            raise Impossible
        return None
    receiver = called.receiver if isinstance(called, Function) else called if isinstance(called, Built) else None
    if isinstance(called, Class):
        init = objects.method(world, called, "__init__", None)
        if init is None or init.node is not function:
            return None
        receiver = Built(called, given, chosen.node, where)
    outer = called.frame if isinstance(called, Function) else frame.outer
    number = world.workspace.number("call", id(function), id(chosen.node), where.number)
    return Frame(frame.module, function, given, receiver, outer, number, entry=(chosen.node, where))


def _on_the_way(world: World, callers: Sequence[Caller], module: Module, function: FunctionNode) -> tuple[Caller, ...]:
    """The callers that may lead to the site: they pass what it needs, and train where it does."""
    needed = world.told(("needed", function), lambda each: each.needed.get(function, ()))
    learns = world.told("learns", lambda each: each.learns)
    passing = (each for each in callers if not _leaves_out(each, module, function, needed))
    return tuple(each for each in passing if not learns or trains(each.module, each.node))


def _leaves_out(caller: Caller, module: Module, function: FunctionNode, names: Collection[str]) -> bool:
    """Whether a call is seen not to pass a parameter of one of these names."""
    call = caller.node
    if not names or any(isinstance(each, ast.Starred) for each in call.args):
        return False
    is_method = isinstance(module.parents.get(function), ast.ClassDef)
    bound = is_method and not isinstance(function, ast.Lambda) and "staticmethod" not in objects.marks(function)
    given = {each.arg for each in call.keywords}
    passed = given.union(each.arg for each in parameters(function)[int(bound) :][: len(call.args)])
    return None not in given and not passed.issuperset(names)


def _is_another_choice(world: World, called: Thing, function: FunctionNode, frame: Frame) -> bool:
    """Whether what is called is made where an object of the function's own class may be made instead."""
    holder = frame.module.parents.get(function)
    if (
        not isinstance(called, Built)
        or not isinstance(holder, ast.ClassDef)
        or _may_enter(world, called, function, frame)
    ):
        return False
    made = constructions(world, Class(holder, frame.module, world.open_frame(frame.module, holder)))
    return any(each.node is called.node and (each.instead or _is_default(world, each)) for each in made)


def _entered_instead(
    world: World, function: FunctionNode, frame: Frame, given: Arguments, chosen: Caller, where: Frame
) -> Frame | None:
    """A ``forward`` as a call enters it whose object is one of another class by default."""
    holder = frame.module.parents.get(function)
    if not isinstance(holder, ast.ClassDef):
        return None
    receiver = instance(world, Class(holder, frame.module, world.open_frame(frame.module, holder)))
    number = world.workspace.number("call", id(function), id(chosen.node), where.number)
    return Frame(frame.module, function, given, receiver, frame.outer, number)


def _may_enter(world: World, called: Thing, function: FunctionNode, frame: Frame) -> bool:
    """Whether to call a thing may be to enter a function; a ``forward`` is entered through an object of its class."""
    if isinstance(called, Function):
        return called.node is function
    if isinstance(function, ast.Lambda) or function.name not in APPLIED:
        return True
    if not isinstance(called, Built) or not isinstance(called.what, Class):
        return False
    holder = frame.module.parents.get(function)
    return any(isinstance(each, Class) and each.node is holder for each in objects.lineage(world, called.what))


def _applications(world: World, module: Module, function: FunctionDef) -> Iterator[Caller]:
    """Who calls a module: the applications of what the project constructs of its class."""
    cls = module.parents.get(function)
    if not isinstance(cls, ast.ClassDef):
        return
    for made in constructions(world, Class(cls, module, world.open_frame(module, cls))):
        for call, where in applications(world, made.module, made.node).items():
            if where.is_test:
                continue
            func = call.func
            callable = func.value if isinstance(func, ast.Attribute) and func.attr == function.name else func
            thing = world.apart().evaluate(callable, world.open_frame(where, call))
            is_one = isinstance(thing, Built) and isinstance(thing.what, Class) and thing.what.node is cls
            if is_one or isinstance(thing, Opaque | Unknown) or is_open_choice(world, made.node.func, made.module):
                yield Caller(call, where)
            elif made.instead and isinstance(thing, Built):
                yield Caller(call, where, instead=True)


def _every_caller(world: World, module: Module, function: FunctionNode) -> Iterator[Caller]:
    if isinstance(function, ast.Lambda):
        yield from _confirmed(world, module, function, function)
        return
    holder = module.parents.get(function)
    if function.name == "__init__" and isinstance(holder, ast.ClassDef):
        yield from constructions(world, Class(holder, module, world.open_frame(module, holder)))
        return
    if function.name in APPLIED:
        yield from _applications(world, module, function)
        return
    yield from calls_of(world, function.name, function, module)
    for other in world.workspace.mentioning(function.name, module.path, spelling.handed_on(function.name)):
        for node in references(other, function.name):
            if _may_name(other, node, module, function):
                yield from _confirmed(world, other, node, function)


def _may_name(module: Module, node: ast.expr, home: Module, function: FunctionDef) -> bool:
    """Whether a name may be that of a function where it stands: not where a variable hides it, nor outside of the
    class whose method it is.
    """
    if not isinstance(node, ast.Name):
        return True
    holder, first = home.scope(function), module.scope(node)
    scope = first
    while not isinstance(scope, ast.Module):
        if scope is holder:
            return scope is first or not isinstance(scope, ast.ClassDef)
        if not isinstance(scope, ast.ClassDef) and _is_variable(module, scope, node.id):
            return False
        scope = module.scope(scope)
    return isinstance(holder, ast.Module)


def _is_variable(module: Module, scope: FunctionNode, name: str) -> bool:
    """Whether a function has a variable of a name that no import binds."""
    return name in declared(scope) or (name not in module.imports and is_local(module, scope, name))


def references(module: Module, word: str) -> Iterator[ast.expr]:
    """Where a file hands a function on by its name instead of calling it."""
    for node in module.loads.get(word, ()):
        parent = module.parents.get(node)
        if not (isinstance(parent, ast.Call) and parent.func is node):
            yield node


def _confirmed(
    world: World, module: Module, source: ast.AST, function: FunctionNode | ast.ClassDef
) -> Iterator[Caller]:
    """The calls that an object reaches and that, evaluated, enter this function or may make this class's objects."""
    for call, where in applications(world, module, source).items():
        if not where.is_test:
            thing = world.apart().evaluate(call.func, world.open_frame(where, call))
            while isinstance(thing, Partial):
                thing = thing.callable
            may_be = isinstance(thing, Opaque) or (isinstance(function, ast.ClassDef) and isinstance(thing, Unknown))
            if _is(thing, function) or may_be or _is_other_choice(world, thing, call, where, function):
                yield Caller(call, where)


def _is_other_choice(
    world: World, thing: Thing, call: ast.Call, where: Module, function: FunctionNode | ast.ClassDef
) -> bool:
    """Whether what is called is one function on one branch, and this one on another."""
    if not isinstance(thing, Function) or isinstance(function, ast.ClassDef):
        return False
    make = lambda path: type(world)(world.workspace, path, None)  # noqa: E731
    others = worlds(make, lambda each: each.evaluate(call.func, each.open_frame(where, call)), MOST_BENEATH)
    return any(_is(other, function) for other, _ in others)


def callers_of(world: World, module: Module, function: FunctionNode) -> tuple[Caller, ...]:
    """Who calls a function, those first that matter most."""
    key = ("callers", id(function))
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        known = _ranked(caller for caller in _every_caller(world, module, function) if not _inside(caller, function))
        world.workspace.answers[key] = known
    return known


def _inside(caller: Caller, function: FunctionNode) -> bool:
    node: ast.AST | None = caller.node
    while node is not None:
        if node is function:
            return True
        node = caller.module.parents.get(node)
    return False


def standing(world: World, caller: Caller) -> Frame:
    """The frame in which a caller stands, the branches around it taken."""
    frame = world.open_frame(caller.module, caller.node)
    stand(world, caller.node, frame)
    return frame


def stand(world: World, node: ast.AST, frame: Frame) -> None:
    """Take the branches that lead to a node: what stands in an arm runs only where that arm is taken.

    A caller for which one of them is closed does not lead to a loss.
    """
    asks = world.told("asks callers", lambda each: each.learns and not each.narrow)
    for test, which in tuple(_arms(node, frame)):
        key = ("branch", "if", spelled(frame.module, test), frame.number)
        world.answer(key, which)
        if asks and _told_by_caller(world, test, frame) is (which == 1):
            raise Impossible


def _arms(node: ast.AST, frame: Frame) -> Iterator[tuple[ast.expr, int]]:
    """The tests that decide whether a node is reached, with the answers that lead to it: 0 says that it holds."""
    module = frame.module
    child: ast.AST = module.statement(node)
    parent = module.parents.get(child)
    while parent is not None:
        if isinstance(parent, ast.If) and (child in parent.body or child in parent.orelse):
            yield _arm(parent, 0 if child in parent.body else 1)
        block = next((block for block in _blocks(parent) if child in block), [])
        for before in block[: block.index(child)] if block else []:
            if isinstance(before, ast.If) and leaves(before.body) and not before.orelse:
                yield _arm(before, 1)
        child, parent = parent, module.parents.get(parent) if parent is not frame.function else None


def _blocks(node: ast.AST) -> Iterator[list[ast.AST]]:
    for field in ("body", "orelse", "finalbody", "handlers"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block


def _arm(node: ast.If, which: int) -> tuple[ast.expr, int]:
    test, flipped = node.test, 0
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, flipped = test.operand, 1 - flipped
    return test, which ^ flipped


def _told_by_caller(world: World, test: ast.expr, frame: Frame) -> bool | None:
    """What a call alone says of a test: whether a parameter is left out, of what kind it is, or how the object that is
    called was made.
    """
    function = frame.function
    match test:
        case ast.Attribute() | ast.Compare(left=ast.Attribute(), comparators=[ast.Constant()]):
            return truth(world, test, frame, asks=False) if _is_kept_argument(test, frame) else None
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), _]):
            return _kind_told(world, test, frame) if _is_given(frame, name) else None
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=None)]):
            called = entered(world, frame) if isinstance(op, ast.Is | ast.IsNot) and _is_given(frame, name) else None
        case _:
            return None
    if called is None or called.arguments is None or not isinstance(function, FunctionDef):
        return None
    names = [each.arg for each in parameters(function)][int(called.receiver is not None) :]
    left_out = argument(called.arguments, names, name) is None and _is_nothing(defaults(function).get(name))
    return isinstance(op, ast.Is) if left_out else None


def _is_kept_argument(test: ast.expr, frame: Frame) -> bool:
    """Whether a test reads what the object was made with: ``__init__`` keeps a parameter, and nothing else is said."""
    read = test.left if isinstance(test, ast.Compare) else test
    function, module = frame.function, frame.module
    holder = module.parents.get(function) if isinstance(function, FunctionDef) else None
    match read:
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if isinstance(holder, ast.ClassDef):
            assert isinstance(function, FunctionDef), "it has a holder"
            is_own = parameters(function)[:1] and parameters(function)[0].arg == name
        case _:
            return False
    inits = [each for each in holder.body if isinstance(each, FunctionDef) and each.name == "__init__"]
    return bool(is_own) and any(_keeps(init, attr) for init in inits)


def _keeps(init: FunctionDef, attr: str) -> bool:
    """Whether ``__init__`` keeps a parameter as it is under a name."""
    for node in init.body:
        match node:
            case ast.Assign(targets=[ast.Attribute(attr=target)], value=ast.Name(id=name)) if target == attr:
                return name in declared(init)
    return False


def _is_given(frame: Frame, name: str) -> bool:
    """Whether a name is what the caller passes under it: a parameter that nothing else is written into."""
    function = frame.function
    is_parameter = isinstance(function, FunctionDef) and name in declared(function)
    return is_parameter and function is not None and not is_local(frame.module, function, name)


def _is_nothing(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _kind_told(world: World, test: ast.Call, frame: Frame) -> bool | None:
    """What a test of a kind says on every path, without a fork of this one."""
    path = Path()
    with suppress(Impossible):
        decided = truth(world.beneath(path), test, frame)
        return decided if all(len(fork.answers) < 2 for fork in path.forks.values()) else None
    return None


def annotated(world: World, name: str, frame: Frame) -> Thing | None:
    """A parameter whose annotation names a class of the project."""
    function = frame.function
    if function is None or isinstance(function, ast.ClassDef | ast.Lambda):
        return None
    places = [*parameters(function), *function.args.kwonlyargs]
    annotation = next((place.annotation for place in places if place.arg == name), None)
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        thing = (
            world.lookup(annotation.value, function, frame.outer or frame) if annotation.value.isidentifier() else None
        )
    else:
        thing = world.evaluate(annotation, frame.outer or frame) if annotation is not None else None
    return instance(world, thing) if isinstance(thing, Class) else None


def given_to(module: Module, function: FunctionDef, name: str, caller: Caller) -> ast.expr | None:
    """The argument that a call gives to a parameter, if the call spells it out."""
    call = caller.node
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    named = next((each.value for each in call.keywords if each.arg == name), None)
    places = [each.arg for each in parameters(function)]
    if named is not None or name not in places:
        return named
    is_method = isinstance(module.parents.get(function), ast.ClassDef) and "staticmethod" not in objects.marks(function)
    place = places.index(name) - int(is_method)
    return call.args[place] if 0 <= place < len(call.args) else None
