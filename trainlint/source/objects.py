"""Objects: attributes of classes and instances, base classes, enums, dataclasses, and the frames of ``__init__``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from trainlint.record import replace
from trainlint.source.arithmetic import assumed_by
from trainlint.source.binding import argument, arguments, least
from trainlint.source.names import final
from trainlint.source.nodes import nodes_of
from trainlint.source.pieces import ClassNode
from trainlint.source.summary import Module, bound, dotted
from trainlint.source.things import (
    Arguments,
    Binding,
    Built,
    Class,
    Constant,
    External,
    Frame,
    Function,
    Method,
    Opaque,
    Thing,
    Thunk,
    backed,
    identity,
)  # fmt: skip
from trainlint.source.world import CIRCULAR, Impossible, World
from trainlint.source.writes import from_outside, own_calls
from trainlint.value import Integer, Step, Unknown

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef
ENUMS = {"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"}
RECORDS = {"typing.NamedTuple", "pydantic.BaseModel", "msgspec.Struct"}
RECORD_MAKERS = {"dataclass", "define", "frozen", "attrs", "s", "mutable", "configclass"}
ORDERED = ("Output", "OutputWithPast", "OutputWithPooling", "OutputWithCrossAttentions")
"""How the names of the records end in which a library's models hand back what they computed."""

PLAIN = {"torch.nn.Module", "builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"}
"""Bases that add nothing to what a class itself says."""

WRITTEN_ELSEWHERE = "is also written in"
"""Says of an attribute why it is open."""

PROPERTIES = {"property", "cached_property", "lazy_property"}
MOST_BASES = 24


def lineage(world: World, cls: Class) -> list[Class | External]:
    """A class and its bases, depth first, as far as they can be resolved; cycles end."""
    key = ("lineage", cls.node)
    known = world.workspace.answers.get(key)
    if not isinstance(known, list):
        known = _lineage(world.apart(), cls)
        world.workspace.answers[key] = known
    return known


def _lineage(world: World, cls: Class) -> list[Class | External]:
    found: list[Class | External] = [cls]
    seen = {cls.node}
    queue = [cls]
    while queue and len(found) < MOST_BASES:
        each = queue.pop(0)
        for base in each.node.bases:
            thing = world.evaluate(base.value if isinstance(base, ast.Subscript) else base, each.outer)
            if isinstance(thing, Class) and thing.node not in seen:
                seen.add(thing.node)
                found.append(thing)
                queue.append(thing)
            elif isinstance(thing, External):
                found.append(thing)
    return found


def class_frame(world: World, cls: Class) -> Frame:
    """The frame of a class's body."""
    number = world.workspace.number("class", id(cls.node), cls.outer.number)
    return Frame(cls.module, cls.node, None, None, cls.outer, number)


class Methods(Mapping[str, FunctionDef]):
    """The methods in the body of a class; who asks for one by its name has looked at no other."""

    def __init__(self, module: Module, node: ast.ClassDef) -> None:
        self._module, self._node = module, node

    def get(self, name: str, default: Any = None) -> Any:
        """A method by its name, or something else if there is none."""
        found = self._found(name)
        return default if found is None else found

    def __getitem__(self, name: str) -> FunctionDef:
        found = self._found(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._found(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _found(self, name: str) -> FunctionDef | None:
        kept, key = self._module.kept, ("method", self._node, name)
        if key not in kept:
            named = [each for each in _functions(self._named(name)) if each.name == name and not _is_setter(each)]
            kept[key] = named[-1] if named else None
        return kept[key]  # type: ignore[return-value]

    def _named(self, name: str) -> list[ast.stmt]:
        """The statements of the class that bind a name."""
        node = self._node
        if not isinstance(node, ClassNode):
            return node.body
        return [node.inside[place] for place in self._module.places(node, (name,))]

    def _all(self) -> dict[str, FunctionDef]:
        kept, key = self._module.kept, ("methods", self._node)
        if key not in kept:
            kept[key] = {each.name: each for each in _functions(self._node.body) if not _is_setter(each)}
        return kept[key]  # type: ignore[return-value]


def methods(cls: Class) -> Methods:
    known = cls.module.by_node.get(("methods", cls.node))
    if not isinstance(known, Methods):
        known = cls.module.by_node["methods", cls.node] = Methods(cls.module, cls.node)
    return known


def _functions(body: list[ast.stmt]) -> Iterator[FunctionDef]:
    return (each for each in _flat(body) if isinstance(each, FunctionDef))


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _flat(node.body)


def _is_setter(node: FunctionDef) -> bool:
    return any(isinstance(mark, ast.Attribute) and mark.attr in ("setter", "deleter") for mark in node.decorator_list)


def marks(node: FunctionDef | ast.ClassDef) -> set[str]:
    """The last words of a definition's decorators."""
    calls = (mark.func if isinstance(mark, ast.Call) else mark for mark in node.decorator_list)
    return {(dotted(mark) or "").rpartition(".")[2] for mark in calls}


def class_methods(cls: Class) -> list[FunctionDef]:
    """The methods in the body of a class that are class methods."""
    module, found = cls.module, {}
    for node in module.loads.get("classmethod", ()):
        holder = module.parents.get(node)
        function = module.parents.get(holder) if isinstance(holder, ast.Call) else holder
        if isinstance(function, FunctionDef) and methods(cls).get(function.name) is function:
            found[function] = "classmethod" in marks(function)
    return sorted((each for each, is_one in found.items() if is_one), key=lambda each: each.lineno)


def is_made_over(world: World, cls: Class) -> bool:
    """Whether a decorator of the project writes another constructor or ``forward`` into a class, or into a base."""
    key = ("made over", cls.node)
    if key not in world.workspace.answers:
        world.workspace.answers[key] = False
        known = (each for each in lineage(world, cls) if isinstance(each, Class))
        makers = (
            world.apart().evaluate(mark.func if isinstance(mark, ast.Call) else mark, each.outer)
            for each in known
            for mark in each.node.decorator_list
        )
        world.workspace.answers[key] = any(
            isinstance(maker, Function) and any(map(_replaces_a_method, nodes_of(maker.node))) for maker in makers
        )
    return world.workspace.answers[key] is True


def _replaces_a_method(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in ("__init__", "forward")


def method(
    world: World, cls: Class, name: str, receiver: Thing | None, *, after: Class | None = None
) -> Function | None:
    """A method by name along the bases; ``after`` starts behind one class, as ``super()`` does."""
    classes = [each for each in lineage(world, cls) if isinstance(each, Class)]
    if after is not None:
        places = [place for place, each in enumerate(classes) if each.node is after.node]
        classes = classes[places[0] + 1 :] if places else []
    for each in classes:
        node = methods(each).get(name)
        if node is not None:
            bound = (
                None
                if "staticmethod" in marks(node)
                else _kind(receiver, cls)
                if "classmethod" in marks(node)
                else receiver
            )
            return Function(node, class_frame(world, each), bound, each)
    return None


def _kind(receiver: Thing | None, cls: Class) -> Thing:
    """The class that a class method is called on."""
    match receiver:
        case Built(what=Class() as kind):
            return kind
    return receiver if isinstance(receiver, Class) else cls


def class_attribute(world: World, cls: Class, name: str) -> Thing | None:
    """What the body of a class or of a base binds to a name."""
    for each in lineage(world, cls):
        if isinstance(each, External):
            continue
        frame = class_frame(world, each)
        found = final(world, name, each.node, frame)
        if found and isinstance(found.node, ast.FunctionDef | ast.AsyncFunctionDef):
            bound = cls if "classmethod" in marks(found.node) else None
            return Function(found.node, frame, bound, each)
        if found:
            value = world.bound_value(found, name, frame)
            return _member(world, cls, each, name, value) if is_enum(world, each) else value
    return None


def is_enum(world: World, cls: Class) -> bool:
    return any(isinstance(each, External) and each.name in ENUMS for each in lineage(world, cls))


def _member(world: World, asked: Class, cls: Class, name: str, value: Thing) -> Thing:
    """A member of an enum: ``auto()`` counts from 1."""
    if isinstance(value, Built | Opaque) and "auto" in getattr(value, "name", ""):
        value = Integer.exact(_counted(world, cls, name))
    if isinstance(value, Integer):
        return value.named(f"{asked.name}.{name}", f"{cls.module.key}.{cls.name}.{name}")
    return value


def _counted(world: World, cls: Class, name: str) -> int:
    """``auto()`` is one more than the largest number before it."""
    number = 0
    frame = class_frame(world, cls)
    for node in cls.module.plain(cls.node):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        value = world.integer(world.evaluate(node.value, frame))
        exact = value.number if isinstance(value, Integer) else None
        number = max(number, exact) if exact is not None else number + 1
        if node.targets[0].id == name:
            return number
    return number


def members(cls: Class) -> list[str]:
    """The names of an enum's members and of their aliases, in order."""
    names = (node.targets[0] for node in cls.module.plain(cls.node) if isinstance(node, ast.Assign))
    return [name.id for name in names if isinstance(name, ast.Name) and not name.id.startswith("_")]


def is_record(world: World, cls: Class) -> bool:
    """Whether annotated fields make the constructor: a dataclass, a NamedTuple, a pydantic or attrs class."""
    known = lineage(world, cls)
    return any(isinstance(each, External) and each.name in RECORDS for each in known) or any(
        isinstance(each, Class) and marks(each.node) & RECORD_MAKERS for each in known
    )


def fields(world: World, cls: Class) -> dict[str, tuple[ast.AnnAssign, Class]]:
    """The fields of a record in the order of its constructor, bases first."""
    key = ("fields", cls.node)
    known = world.workspace.answers.get(key)
    if not isinstance(known, dict):
        known = world.workspace.answers[key] = _fields(world, cls)
    return known


def _fields(world: World, cls: Class) -> dict[str, tuple[ast.AnnAssign, Class]]:
    found: dict[str, tuple[ast.AnnAssign, Class]] = {}
    for each in reversed([each for each in lineage(world, cls) if isinstance(each, Class)]):
        for node in each.module.plain(each.node):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not _is_class_variable(node):
                found[node.target.id] = (node, each)
    return found


def _is_class_variable(node: ast.AnnAssign) -> bool:
    annotation = node.annotation.value if isinstance(node.annotation, ast.Subscript) else node.annotation
    return (dotted(annotation) or "").rpartition(".")[2] in ("ClassVar", "KW_ONLY")


def _is_argument(node: ast.AnnAssign) -> bool:
    """Whether the constructor takes a field: not with ``field(init=False)``."""
    keywords = node.value.keywords if isinstance(node.value, ast.Call) else []
    return not any(
        each.arg == "init" and isinstance(each.value, ast.Constant) and not each.value.value for each in keywords
    )


def field_value(world: World, built: Built, name: str) -> Thing | None:
    """A field of a record: the argument, or its default; a default is assumed where the making was not seen."""
    assert isinstance(built.what, Class), "records are classes of the project"
    known = fields(world, built.what)
    if name not in known:
        return None
    node, owner = known[name]
    places = [each for each, (declaration, _) in known.items() if _is_argument(declaration)]
    given = argument(built.arguments, places, name) if name in places else None
    if isinstance(given, Thunk):
        return world.force(given)
    frame = class_frame(world, owner)
    step = frame.step(node)
    if node.value is None:
        return Opaque(
            name, origin(built, name), given or Unknown(f"{name} has no default", name), least(name), node, (name,)
        )
    default = _default(world, node.value, frame)
    origin_name = f"{owner.module.key}.{owner.name}.{name}"
    named = default.named(name, origin_name) if isinstance(default, Integer) else default
    return backed(named, step) if built.arguments is not None and given is None else assumed_by(named, step)


def is_ordered(world: World, built: Built) -> bool:
    """Whether the fields of a record have places too: a named tuple, an output of a library's model."""
    if not isinstance(built.what, Class):
        return False
    names = {each.name for each in lineage(world, built.what) if isinstance(each, External)}
    return "typing.NamedTuple" in names or any(name.endswith(ORDERED) for name in names)


def field_at(world: World, built: Built, place: int) -> Thing:
    """The field of an ordered record at a place; a model's output has no place for what is None."""
    assert isinstance(built.what, Class), "records are classes of the project"
    values = [field_value(world, built, name) for name in fields(world, built.what)]
    if not any(isinstance(each, External) and each.name == "typing.NamedTuple" for each in lineage(world, built.what)):
        if any(isinstance(value, Opaque | Unknown) for value in values[: place + 1 if place >= 0 else None]):
            return Unknown("whether a field before it is None is open")
        values = [value for value in values if not (isinstance(value, Constant) and value.value is None)]
    value = values[place] if -len(values) <= place < len(values) else None
    return value if value is not None else Unknown("the record has no such place")


def _default(world: World, node: ast.expr, frame: Frame) -> Thing:
    """``field(default=...)`` and ``field(default_factory=...)`` opened."""
    if isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] in (
        "field",
        "Field",
        "ib",
        "attrib",
    ):
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        if "default" in named:
            return world.evaluate(named["default"], frame)
        factory = named.get("default_factory") or named.get("factory")
        if factory is not None:
            return world.call(world.evaluate(factory, frame), Arguments(), factory, frame)
        if node.args:
            return world.evaluate(node.args[0], frame)
    return world.evaluate(node, frame)


def origin(built: Built, name: str) -> str:
    """What tells one attribute of one object from all others."""
    return f"{built.what.name}@{id(built.node)}#{built.frame.number}.{name}"


def initialisers(world: World, built: Built) -> Iterator[tuple[Class, Frame]]:
    """Each ``__init__`` that runs when an object is made, derived first, in its frame."""
    assert isinstance(built.what, Class), "only classes of the project have a readable __init__"
    given: Arguments | None = built.arguments
    node, caller = built.node, built.frame
    for each in lineage(world, built.what):
        init = methods(each).get("__init__") if isinstance(each, Class) else None
        if init is None or isinstance(each, External):
            continue
        frame = replace(entered(world, init, each, built, given, node), entry=(node, caller))
        yield each, frame
        upward = call_of_base(each.module, init)
        if upward is None:
            return
        given = _passed_on(world, upward, frame)
        node, caller = upward, frame


def library_base(world: World, built: Built) -> Built | None:
    """The library's part of an object: made with what the last ``super().__init__`` passes on."""
    assert isinstance(built.what, Class), "an object of the project"
    bases = [each for each in lineage(world, built.what) if isinstance(each, External) and each.name not in PLAIN]
    if len(bases) != 1:
        return None
    given, node, frame = built.arguments, built.node, built.frame
    for owner, inner in initialisers(world, built):
        upward = call_of_base(owner.module, function_of(inner))
        if upward is None:
            return None
        given, node, frame = _passed_on(world, upward, inner), upward, inner
    return Built(bases[0], given, node, frame, built.label or built.name)


def _passed_on(world: World, upward: ast.Call, frame: Frame) -> Arguments:
    """What a call of a base's ``__init__`` gives it, the object itself aside."""
    given = arguments(world, upward, frame)
    explicit = isinstance(upward.func, ast.Attribute) and isinstance(upward.func.value, ast.Name)
    return replace(given, positional=given.positional[1:]) if explicit else given


def entered(
    world: World, function: FunctionDef, owner: Class, receiver: Thing, given: Arguments | None, node: ast.AST
) -> Frame:
    """The frame of a method called on a receiver."""
    number = world.workspace.number("method", id(function), id(node) if given is not None else 0, *identity(receiver))
    return Frame(owner.module, function, given, receiver, class_frame(world, owner), number)


def call_of_base(module: Module, init: FunctionDef) -> ast.Call | None:
    """``super().__init__(...)`` or ``Base.__init__(self, ...)``."""
    key = ("call of base", init)
    if key not in module.kept:
        module.kept[key] = next(_calls_of_base(init), None)
    known = module.kept[key]
    return known if isinstance(known, ast.Call) else None


def _calls_of_base(init: FunctionDef) -> Iterator[ast.Call]:
    for node in nodes_of(init):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__")):
                yield node
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr="__init__"), args=[ast.Name(id="self"), *_]):
                yield node


def instance_attribute(world: World, built: Built, name: str) -> Thing | None:
    """An attribute of an object of the project: as its ``__init__`` leaves it, or as a later call of a method does."""
    assert isinstance(built.what, Class), "an object of the project"
    first, called = None, frozenset[str]()
    for owner, frame in initialisers(world, built):
        own = own_calls(owner.module, function_of(frame))
        called |= set(map(_called, own))
        value = left(world, built, name, owner, frame)
        first = value if value is not None else first
        if first is not None and not _base_is_last(owner, function_of(frame), name):
            break
    is_value = first is None or isinstance(first, Constant | Integer)
    later = [
        (step, value)
        for function, step, value in _written_elsewhere(world, built, name)
        if function not in called and (is_value or _is_called(world, built, function))
    ]
    later = [each for each in later if not _is_circular(each[1])] or later
    if not later and first is None and not world.renews and _set_on_another_arm(world, built, name):
        raise Impossible
    if not later:
        return first
    answers = [step for step, _ in later]
    if first is not None and not (isinstance(first, Constant) and first.value is None):
        answers.append(answers[0])
    taken = world.choose("branch", ("attribute", id(built.node), built.frame.number, name), answers)
    return later[taken][1] if taken < len(later) else first


def _is_circular(value: Thing) -> bool:
    """``self.model = dressed(self.model)``: what it dresses comes from elsewhere."""
    return isinstance(value, Unknown) and value.reason == CIRCULAR


def _set_on_another_arm(world: World, built: Built, name: str) -> bool:
    """Whether an ``__init__`` sets an attribute on an arm that this path does not take, and nothing else gives it."""
    assert isinstance(built.what, Class)
    if class_attribute(world, built.what, name) is not None:
        return False
    for owner, frame in initialisers(world, built):
        body = frame.function.body if isinstance(frame.function, ast.FunctionDef) else []
        if any(f"self.{name}" in owner.module.binds(inner) for inner in body):
            return True
    return False


def _base_is_last(owner: Class, init: FunctionDef, name: str) -> bool:
    """Whether the ``__init__`` of the base runs after an attribute is written, and may write it again."""
    path = f"{_first(init)}.{name}"
    if path not in owner.module.stored:
        return False
    upward = call_of_base(owner.module, init)
    if upward is None:
        return False
    rows = [node.lineno for node in owner.module.binding.get(path, ()) if _method_around(owner, node) is init]
    return max(rows, default=upward.lineno) < upward.lineno


def _method_around(cls: Class, node: ast.AST) -> FunctionDef | None:
    """The method of a class that a node stands in."""
    own, parents = methods(cls), cls.module.parents
    each: ast.AST | None = node
    while each is not None:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and own.get(each.name) is each:
            return each
        each = parents.get(each)
    return None


def function_of(frame: Frame) -> FunctionDef:
    """The function whose activation a frame is."""
    assert isinstance(frame.function, ast.FunctionDef | ast.AsyncFunctionDef), "a method has a frame of its own"
    return frame.function


def left(world: World, built: Built, name: str, owner: Class, frame: Frame) -> Thing | None:
    """What a method leaves in an attribute: by its own last write, or by a method that it calls after it."""
    function = function_of(frame)
    path = f"{function.args.args[0].arg if function.args.args else 'self'}.{name}"
    found = final(world, path, function, frame)
    found = found if found and found.name == path else None
    row = getattr(found.node, "lineno", 0) if found else 0
    writing = _writing(world, built.what, name) if isinstance(built.what, Class) else frozenset[str]()
    for call in reversed(own_calls(owner.module, function)) if writing else ():
        if call.lineno > row and _called(call) in writing:
            value = _left_by_call(world, built, name, call, frame)
            if value is not None:
                return value
    return labelled(world.bound_value(found, path, frame), owner, name) if found else None


def _left_by_call(world: World, built: Built, name: str, call: ast.Call, frame: Frame) -> Thing | None:
    assert isinstance(built.what, Class) and isinstance(call.func, ast.Attribute), "a call of the object's own method"
    inner = method(world, built.what, call.func.attr, built)
    key = ("left by", call, name)
    if inner is None or inner.owner is None or inner.receiver is not built:
        return None
    if isinstance(inner.node, ast.Lambda):
        return None
    with world.once(key) as is_free:
        if not is_free:
            return None
        entry = entered(world, inner.node, inner.owner, built, arguments(world, call, frame), call)
        return left(world, built, name, inner.owner, entry)


def _writing(world: World, cls: Class, name: str) -> frozenset[str]:
    """The methods of a class that write an attribute of the object, or call one of its methods that does."""
    key = ("writing", cls.node, name)
    known = world.workspace.answers.get(key)
    if not isinstance(known, frozenset):
        owners = [each for each in lineage(world, cls) if isinstance(each, Class)]
        writing = {node.name for owner in owners for node in _writers(owner, name)}
        more = writing
        while more:
            more = {each for owner in owners for called in more for each in _calling(owner, called)} - writing
            writing |= more
        known = world.workspace.answers[key] = frozenset(writing)
    return known


def _writers(cls: Class, name: str) -> tuple[FunctionDef, ...]:
    """The methods in the body of a class that write an attribute of the object."""
    known = cls.module.kept.get(("writers", cls.node, name))
    if not isinstance(known, tuple):
        found = {
            around: None
            for node in cls.module.setting.get(name, ())
            if (around := _method_around(cls, node)) and f"{_first(around)}.{name}" in bound(node)
        }
        known = tuple(sorted(found, key=lambda each: each.lineno))
        cls.module.kept["writers", cls.node, name] = known
    return known


def _calling(cls: Class, name: str) -> Iterator[str]:
    """The methods in the body of a class that call a method of the object by its name."""
    for call in cls.module.invoking.get(name, ()):
        around = _method_around(cls, call)
        if around is not None and dotted(call.func) == f"{_first(around)}.{name}":
            yield around.name


def _called(call: ast.Call) -> str:
    """The method that a call of an object's own names."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def left_between(world: World, found: Binding, node: ast.Attribute, frame: Frame) -> Thing | None:
    """What a method of the object leaves in an attribute, if it is called between a definition and a use."""
    function, receiver = frame.function, frame.receiver
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or dotted(node.value) != _first(function):
        return None
    if not isinstance(receiver, Built) or not isinstance(receiver.what, Class):
        return None
    calls = own_calls(frame.module, function)
    writing = _writing(world, receiver.what, node.attr)
    between = (
        call
        for call in calls
        if getattr(found.node, "lineno", 0) < call.lineno < node.lineno
        if _called(call) in writing
    )
    values = (_left_by_call(world, receiver, node.attr, call, frame) for call in reversed(tuple(between)))
    return next((value for value in values if value is not None), None)


def _first(function: FunctionDef) -> str:
    return function.args.args[0].arg if function.args.args else ""


def _is_called(world: World, built: Built, name: str) -> bool:
    """Whether any file of the project calls a method by its name."""
    return any(name in module.loads for module in world.workspace.mentions(f".{name}(", built.frame.module.path))


def _written_elsewhere(world: World, built: Built, name: str) -> Iterator[tuple[str, Step, Thing]]:
    """What methods other than ``__init__`` assign to an attribute."""
    assert isinstance(built.what, Class)
    for owner in (each for each in lineage(world, built.what) if isinstance(each, Class)):
        for node in _writers(owner, name):
            if node.name == "__init__":
                continue
            path = f"{_first(node)}.{name}"
            frame = entered(world, node, owner, built, None, node)
            found = final(world, path, node, frame)
            if found and found.name == path and isinstance(found.node, ast.stmt):
                step = frame.step(found.node)
                yield node.name, step, labelled(world.bound_value(found, path, frame), owner, name)


def labelled(thing: Thing, owner: Class, name: str) -> Thing:
    """An object under the name by which its owner knows it."""
    match thing:
        case Built(label=""):
            return replace(thing, label=f"{owner.name}.{name}")
        case Integer():
            return thing.named(name, f"{owner.module.key}.{owner.name}.{name}")
    return thing


def _written_after(world: World, built: Built, name: str) -> Thing | None:
    """``config.classes = 5`` in the scope that made the object, after it was made."""
    variable = _variable(built)
    module = built.frame.module
    path = f"{variable}.{name}"
    if variable is None or path not in module.stored:
        return None
    scope = module.scope(built.node)
    found = final(world, path, scope, built.frame)
    return world.bound_value(found, path, built.frame) if found and found.name == path else None


def replaced(world: World, built: Built, name: str) -> bool:
    """Whether a method of an object may be another function by the time it is called."""
    if isinstance(built.what, Class) and is_made_over(world, built.what):
        return True
    return _written_after(world, built, name) is not None or written_outside(world, built, name) is not None


def _is_used_before(world: World, built: Built, name: str) -> bool:
    """Whether the object is called or passed on before the attribute is written: then both values may be seen."""
    module, variable = built.frame.module, _variable(built) or ""
    scope = module.scope(built.node)
    if isinstance(scope, ast.Lambda):
        return False
    found = final(world, f"{variable}.{name}", scope, built.frame)
    first, last = getattr(built.node, "lineno", 0), getattr(found.node, "lineno", 0) if found else 0
    uses = (
        node for node in module.loads.get(variable, ()) if first < node.lineno < last and module.scope(node) is scope
    )
    return any(isinstance(module.parents.get(node), ast.Call | ast.keyword) for node in uses)


def _variable(built: Built) -> str | None:
    """The name that an object got where it was made."""
    match built.frame.module.parents.get(built.node):
        case ast.Assign(targets=[ast.Name(id=name), *_]):
            return name
    return None


def written_outside(world: World, built: Built, name: str) -> str | None:
    """Where the attribute is written without its order being followed: in another function, in a loop."""
    assert isinstance(built.what, Class), "an object of the project"
    classes = tuple(each for each in lineage(world, built.what) if isinstance(each, Class))
    own = f"{_variable(built)}.{name}"
    for module, statement in from_outside(world, classes, name):
        same = module is built.frame.module and module.scope(statement) is module.scope(built.node)
        if not (same and own in bound(statement)) or _is_used_before(world, built, name):
            return module.located(statement, world.workspace.root)
    return None


def attribute_of(world: World, built: Built, name: str) -> Thing:
    """Any attribute of an object of the project."""
    assert isinstance(built.what, Class), "an object of the project"
    function = method(world, built.what, name, built)
    if function is not None and not isinstance(function.node, ast.Lambda) and "property" in marks(function.node):
        return _computed(world, built, name, function)
    if function is None and is_made_over(world, built.what):
        return Unknown(f"a decorator replaces methods of {built.name}", f"{built.name}.{name}")
    found = _written_after(world, built, name)
    if found is not None and not _is_used_before(world, built, name):
        return found
    outside = written_outside(world, built, name)
    if outside is not None:
        return Unknown(f"{built.name}.{name} {WRITTEN_ELSEWHERE} {outside}", f"{built.name}.{name}")
    found = instance_attribute(world, built, name)
    if found is None and is_record(world, built.what):
        found = field_value(world, built, name)
    if found is None and function is None:
        found = class_attribute(world, built.what, name)
    if found is not None:
        return world.doubted(built, name, found)
    if function is not None:
        is_property = not isinstance(function.node, ast.Lambda) and marks(function.node) & PROPERTIES
        return _computed(world, built, name, function) if is_property else function
    decides = method(world, built.what, "__getattr__", built) is not None and name not in dir(dict)
    if not decides and any(isinstance(each, External) for each in lineage(world, built.what)):
        return Method(built, name)
    why = Unknown(f"{built.name} is not seen to set {name}", f"{built.name}.{name}")
    return Opaque(f"{built.name}.{name}", origin(built, name), why, least(name), None, (name,))


def _computed(world: World, built: Built, name: str, function: Function) -> Thing:
    """What a property returns."""
    assert isinstance(built.what, Class), "an object of the project"
    value = world.call(function, Arguments(), function.node, function.frame)
    return labelled(value, function.owner or built.what, name)
