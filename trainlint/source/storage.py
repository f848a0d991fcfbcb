"""In which format the parameters of a model are stored when a line runs: a model and a line in, a format out.

From the line backwards: the last cast decides, or the place where the model was made.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress

from trainlint.facts import Dtype, Storage
from trainlint.knowledge import precision
from trainlint.knowledge.formats import WIDE
from trainlint.record import dataclass, field, record, replace
from trainlint.regex import regex
from trainlint.source import builtin, objects
from trainlint.source.castings import says
from trainlint.source.casts import by_engine, cast, from_argument, is_cast, may_cast, named_format, plain, trained_cast
from trainlint.source.history import Earlier, History
from trainlint.source.nodes import nodes_of, statements
from trainlint.source.plainly import is_module, makes_plainly
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import (
    Arguments,
    Built,
    Class,
    Constant,
    Entries,
    External,
    Frame,
    Items,
    Opaque,
    Repeated,
    Thing,
)  # fmt: skip
from trainlint.source.world import CIRCULAR, Impossible, Path, World, quietly
from trainlint.value import Integer, Step, Unknown

DEEPEST = 6
"""Modules inside modules whose formats are looked for."""

SETTING = tuple((word, regex(word.encode())) for word in (*precision.DEFAULT_SETTERS, *precision.INITIALISING))
"""What changes the format in which modules are made, and how it is found without reading every file."""

COPIED = Unknown("the model is copied, and which of the two is cast is not followed")
ELEMENTS = frozenset({"parameters", "named_parameters", "modules", "named_modules", "children", "named_children"})
"""Methods that hand out the parts of a module one by one."""


@record
class Weights:
    """The format of all parameters of a model, and of those that are trained."""

    every: Storage | Unknown
    trained: Storage | Unknown


def storage(world: World, model: Thing, node: ast.AST, frame: Frame) -> Storage | Unknown:
    """The format of a model's parameters when ``node`` runs in ``frame``."""
    return weights(world, model, node, frame).every


def weights(world: World, model: Thing, node: ast.AST, frame: Frame, holders: tuple[Thing, ...] = ()) -> Weights:
    """The formats of a model's parameters when ``node`` runs in ``frame``: of all, and of those that are trained.

    ``holders`` are the modules of which it is a part.
    """
    return _Search(world, model, holders=holders).at(node, frame)


@dataclass
class _Search:
    """One model whose casts are looked for."""

    world: World
    model: Thing
    depth: int = 0
    trained: Storage | Unknown | None = None
    parts: list[tuple[Step, Dtype | None]] = field(default_factory=list)
    holders: tuple[Thing, ...] = ()
    receivers: Sequence[Thing] = ()

    def _walk(self) -> History:
        """A walk that asks first, on a path of its own, whether a call is of concern; a part is looked at as it is."""
        # What a walk asks is a search of its own: with this one, which holds the walk, it would go round in a circle,
        # and with the collector off neither would be let go of.
        asked = replace(self)
        walk = History(asked.world, says, lambda call, frame: asked._concerns(asked.world, call, frame))
        self.receivers = asked.receivers = walk.receivers
        if self.depth:
            return walk
        quiet = self.world.beneath(Path())
        return walk.asking(History(quiet, says, lambda call, frame: asked._concerns(quiet, call, frame)))

    def inside(self) -> Storage | Unknown | None:
        """What the ``__init__`` of a module of the project casts the whole of it to, if it does."""
        assert isinstance(self.model, Built), "a module of the project"
        for earlier in self._walk().constructed(self.model):
            found = self._effect(earlier)
            if isinstance(found, Storage | Unknown):
                return found
        return None

    def in_parts(self, frame: Frame) -> Storage | Unknown:
        """The format of a part of its owner, when the ``__init__`` in which it was made has run."""
        assert isinstance(self.model, Built | Opaque), "a module"
        home = self.model.frame if isinstance(self.model, Built) else frame
        if not isinstance(self.model.node, ast.Call) or home.module is None:
            return Unknown(f"in which format {getattr(self.model, 'name', 'a part')} keeps its weights is not followed")
        walk = self._walk()
        if isinstance(home.function, ast.FunctionDef) and home.function.name == "__init__":
            for earlier in walk.ran(home):
                found = self._effect(earlier)
                if found is not None:
                    return self._whole(found).every
        holder = self.holders[-1] if self.holders else None
        if isinstance(holder, Built) and isinstance(holder.node, ast.Call) and holder.frame.module is not None:
            # A part that was handed in may have been cast between its making and that of what holds it.
            return self.at(holder.node, holder.frame).every
        return self.at(self.model.node, home).every

    def at(self, node: ast.AST, frame: Frame) -> Weights:
        if not isinstance(self.model, Built | Opaque):
            return _both(self.model if isinstance(self.model, Unknown) else Unknown("what is trained is not followed"))
        if not may_be_short(self.world) and not _is_loaded(self.model):
            return _both(Storage(Dtype.FLOAT32))
        walk = self._walk()
        if node is self.model.node and isinstance(node, ast.Call):
            return self._whole(self._made(node, frame))
        for earlier in walk.before(node, frame):
            found = self._effect(earlier)
            if found is not None:
                return self._whole(found)
        if self.world.budget.left < 0 or walk.left <= 0:
            return _both(Unknown("too many lines run before this one"))
        if isinstance(self.model, Built) and isinstance(self.model.node, ast.Call):
            return self._whole(self._made(self.model.node, self.model.frame))
        if isinstance(self.model, Built) and isinstance(self.model.what, Class):
            return self._whole(_built(self.world, self.model, frame, self.depth))
        return self._whole(_unseen(self.model))

    def _whole(self, found: Storage | Unknown | Weights) -> Weights:
        """What the last cast or the making says, with the parts that were cast after it."""
        known = found if isinstance(found, Weights) else _both(found)
        every, trained = known.every, self.trained or known.trained
        other = next((step for step, dtype in self.parts if isinstance(every, Unknown) or dtype != every.dtype), None)
        if other is not None:
            mixed = Unknown(f"only a part of the model is cast by {other.text}")
            return Weights(mixed, self.trained or mixed)
        return Weights(every, trained)

    def _concerns(self, world: World, call: ast.Call, frame: Frame) -> bool:
        if call is getattr(self.model, "node", None):
            return True
        word = last(call.func)
        if isinstance(call.func, ast.Attribute) and (word in precision.CASTS or word in precision.OPEN_CASTS):
            return may_cast(call) and self._role(world, call.func.value, frame) != ""
        if isinstance(call.func, ast.Attribute) and word in precision.ADAPTERS:
            return self._role(world, call.func.value, frame) != ""
        if word in precision.TRAINED_CASTS or word in precision.PREPARERS:
            return any(self._is_in(world, each, frame) for each in _given(call))
        replaced = _replaced_part(frame.module, call)
        if replaced is not None:
            return self._is_model(world.evaluate(replaced, frame)) and _is_layer(world.evaluate(call, frame))
        return False

    def _is_in(self, world: World, node: ast.expr, frame: Frame) -> bool:
        """Whether an argument is the model, or a list that holds it."""
        parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        return any(self._is_model(world.evaluate(each, frame)) for each in parts)

    def _is_model(self, thing: Thing) -> bool:
        return same(thing, self.model)

    def _role(self, world: World, node: ast.expr, frame: Frame) -> str:
        """What an expression stands for: the whole model, one of its parts, or neither."""
        if any(last(each.func) == "deepcopy" for each in nodes_of(node) if isinstance(each, ast.Call)):
            return ""
        thing = world.evaluate(node, frame)
        if self._is_model(thing) or any(same(thing, each) for each in (*self.holders, *self.receivers)):
            return "whole"
        each = node
        while isinstance(each, ast.Attribute | ast.Subscript | ast.Call):
            called = isinstance(each, ast.Call)
            each = each.func if isinstance(each, ast.Call) else each.value
            inner = world.evaluate(each, frame)
            if called and (isinstance(inner, Built) or self._is_model(inner)):
                return ""  # What a module puts out is no part of it.
            if self._is_model(inner):
                return "part"
        return ""

    def _effect(self, earlier: Earlier) -> Storage | Unknown | Weights | None:
        """What a call or a loop says of the format; None where the search goes on."""
        node, frame = earlier.node, earlier.frame
        if isinstance(node, ast.For):
            return self._loop(node, frame)
        if isinstance(node, ast.With):
            return None
        if node is self.model.node and _is_same_turn(self.model, frame):  # type: ignore[union-attr]
            return self._made(node, frame)
        word = last(node.func)
        if word in precision.TRAINED_CASTS:
            self.trained = self.trained or trained_cast(self.world, node, frame)
            return None
        if word in precision.PREPARERS:
            return self._prepared(node, frame)
        if word in precision.ADAPTERS:
            self.trained = self.trained or Unknown("in which format PEFT makes adapters depends on its version")
            return None
        if _replaced_part(frame.module, node) is not None and not is_cast(node):
            self.parts.append((frame.step(node), Dtype.FLOAT32))
            return None
        return self._cast(node, frame)

    def _cast(self, call: ast.Call, frame: Frame) -> Storage | Unknown | None:
        """``model.half()``, ``model.to(dtype=...)``."""
        if not isinstance(call.func, ast.Attribute):
            return None
        found = cast(self.world, call, frame)
        if found is None:
            return None
        if self._role(self.world, call.func.value, frame) == "whole":
            return COPIED if self._is_copied(call, frame) else found
        self.parts.append((frame.step(call), found.dtype if isinstance(found, Storage) else None))
        return None

    def _is_copied(self, cast: ast.Call, frame: Frame) -> bool:
        """Whether the file that casts has copied the model before: both go by one identity here."""
        module = frame.module
        if any(node is getattr(self.model, "node", None) for node in nodes_of(cast.func)):
            return False  # cast where it is made: nothing can have copied it before
        for node in module.loads.get("deepcopy", ()):
            call = module.parents.get(node)
            if not (isinstance(call, ast.Call) and call.func is node and call.args):
                continue
            own = module.scope(call) is module.scope(cast)
            if own and call.lineno > cast.lineno:
                continue
            home = frame if own else self.world.open_frame(module, call)
            if self._is_model(self.world.evaluate(call.args[0], home)):
                return True
        return False

    def _loop(self, loop: ast.For, frame: Frame) -> Storage | Unknown | None:
        """``for p in model.parameters(): p.data = p.data.half()``."""
        over = loop.iter
        if not (isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in ELEMENTS):
            return None
        casts = [call for each in loop.body for call in nodes_of(each) if isinstance(call, ast.Call) and is_cast(call)]
        role = self._role(self.world, over.func.value, frame) if casts else ""
        if not role:
            return None
        step = frame.step(statement_of(frame.module, casts[0]))
        tests = [ast.unparse(each.test) for node in loop.body for each in nodes_of(node) if isinstance(each, ast.If)]
        found = cast(self.world, casts[0], frame)
        if found is None:
            return None
        if tests and all("requires_grad" in test for test in tests) and not any("not " in test for test in tests):
            self.trained = self.trained or found
            self.parts.append((step, None))
        elif tests or role == "part" or len(casts) > 1:
            self.parts.append((step, None))
        else:
            return found
        return None

    def _prepared(self, call: ast.Call, frame: Frame) -> Storage | Unknown | None:
        """``fabric.setup(model)``: what the precision of the engine makes of the weights."""
        if not isinstance(call.func, ast.Attribute):
            return None
        engine = self.world.evaluate(call.func.value, frame)
        return by_engine(self.world, engine)

    def _made(self, call: ast.Call, frame: Frame) -> Storage | Unknown | Weights:
        """What the making of the model says, and the default format at that time."""
        return made(self.world, self.model, call, frame, self.depth)


def _replaced_part(module: Module, call: ast.Call) -> ast.expr | None:
    """``model.head = nn.Linear(...)``: the model whose part a call replaces."""
    holder = module.parents.get(call)
    while isinstance(holder, ast.Attribute | ast.Call):
        holder = module.parents.get(holder)
    match holder:
        case ast.Assign(targets=[ast.Attribute(value=owner)]):
            return owner
    return None


def _is_layer(thing: Thing) -> bool:
    return isinstance(thing, Built) and isinstance(thing.what, External) and thing.what.name.startswith("torch.nn.")


def may_be_short(world: World) -> bool:
    """Whether any line of the project could name another format than PyTorch's own."""
    return any(world.workspace.says(word) for word in (*precision.SHORT_WORDS, *WIDE))


def _is_loaded(model: Built | Opaque) -> bool:
    """Whether a library loads it, in a format that the checkpoint may decide."""
    return isinstance(model.node, ast.Call) and last(model.node.func) in precision.LOADS


def same(one: Thing, other: Thing) -> bool:
    """Whether two things are one object."""
    match one, other:
        case Built(), Built():
            return one.node is other.node and _is_same_turn(one, other.frame)
        case Opaque(), Opaque():
            return one.origin == other.origin
    return False


def _is_same_turn(thing: Thing, frame: Frame) -> bool:
    """Whether an object was made in this activation; a method has one frame for each way to reach it."""
    own = thing.frame if isinstance(thing, Built) else None
    return own is None or own.number == frame.number or (own.receiver is not None and own.function is frame.function)


def statement_of(module: Module, node: ast.AST) -> ast.stmt:
    while not isinstance(node, ast.stmt):
        node = module.parents[node]
    return node


def _both(found: Storage | Unknown) -> Weights:
    return Weights(found, found)


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def made(world: World, model: Thing, call: ast.Call, frame: Frame, depth: int = 0) -> Storage | Unknown | Weights:
    """The format in which a call makes a model."""
    word = last(call.func)
    if isinstance(call.func, ast.Attribute) and (word in precision.CASTS or word in precision.OPEN_CASTS):
        found = cast(world, call, frame) if may_cast(call) else None
        return found or weights(world, world.evaluate(call.func.value, frame), call, frame)
    if word in precision.ADAPTING and call.args:
        return _adapted(world, call, frame)
    if word in precision.LOADS and isinstance(call.func, ast.Attribute):
        adapts = last(call.func.value).startswith("Peft") and bool(call.args)
        return _adapted(world, call, frame) if adapts else _loaded(world, call, frame)
    if word in precision.KBIT:
        return Unknown("the weights are quantised")
    if isinstance(model, Built):
        return _built(world, model, frame, depth)
    return Unknown(f"in which format {getattr(model, 'name', 'it')} keeps its weights is not known")


def _adapted(world: World, call: ast.Call, frame: Frame) -> Weights:
    """PEFT: adapters are float32, unless that is switched off; what they adapt stays as it was, frozen."""
    base = _before(world, call, frame)
    keeps = next((k.value for k in call.keywords if k.arg == "autocast_adapter_dtype"), None)
    is_off = keeps is not None and isinstance(known := world.evaluate(keeps, frame), Constant) and known.value is False
    return Weights(base, base if is_off else plain(Dtype.FLOAT32, frame, call))


def _before(world: World, call: ast.Call, frame: Frame) -> Storage | Unknown:
    """The format of what is adapted; ``model = get_peft_model(model)`` without a model before it needs itself."""
    with world.once(("adapted", call, frame.number)) as is_free:
        if not is_free:
            return Unknown(CIRCULAR)
        return weights(world, world.evaluate(call.args[0], frame), call, frame).every


def _loaded(world: World, call: ast.Call, frame: Frame) -> Storage | Unknown:
    """``from_pretrained(name, dtype=...)``."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    quantised = next(
        (word for word in precision.QUANTISING if word in named and not _is_off(world, named[word], frame)), ""
    )
    if quantised:
        return Unknown(f"the weights are quantised by {quantised}")
    given = next((named[word] for word in precision.DTYPE_KEYWORDS if word in named), None)
    if given is None:
        return Unknown(
            f"{ast.unparse(call.func)} takes the format of the checkpoint or float32, as its version does", "dtype="
        )
    return named_format(world, given, call, frame)


def _is_off(world: World, node: ast.expr, frame: Frame) -> bool:
    known = world.evaluate(node, frame)
    return isinstance(known, Constant) and not known.value


def _built(world: World, model: Built, frame: Frame, depth: int) -> Storage | Unknown:
    """A module that is made here: of its own ``dtype``, of what its parts have, else of PyTorch's default."""
    if depth > DEEPEST:
        return Unknown("its modules lie too deep inside each other")
    if isinstance(model.what, External):
        return _of_library(world, model, depth)
    if makes_plainly(world, model.what) and _is_given_no_module(world, model):
        return _default(world, model)
    return _of_project(world, model, depth)


def _is_given_no_module(world: World, model: Built) -> bool:
    """Whether nothing that a module is made with can be a part of it that was made elsewhere."""
    given = model.arguments or Arguments()
    every = (*given.positional, *given.keywords.values())
    return not (given.stars or given.double_stars) and all(_is_no_part(world, world.force(each)) for each in every)


def _is_no_part(world: World, thing: Thing) -> bool:
    match thing:
        case Constant() | Integer() | Unknown():
            return True
        case Built(what=Class()) | Opaque():
            return not _may_be_module(world, thing)
    return False


def _default(world: World, model: Built) -> Storage | Unknown:
    """PyTorch's default format where a module is made: float32, unless it was set before."""
    near = model.frame.module.path
    if any(world.workspace.saying_near(word, near, letters) for word, letters in SETTING):
        history = History(world, says, lambda call, _: last(call.func) in precision.DEFAULT_SETTERS)
        for earlier in history.before(model.node, model.frame):
            found = _set_default(world, earlier)
            if found is not None:
                return found
    return Storage(Dtype.FLOAT32, (model.frame.step(model.node),))  # type: ignore[arg-type]


def _set_default(world: World, earlier: Earlier) -> Storage | Unknown | None:
    """The default format that a call, or a context that is still open, has set."""
    node, frame = earlier.node, earlier.frame
    items = [each.context_expr for each in node.items] if isinstance(node, ast.With) else [node]
    for call in items:
        if not isinstance(call, ast.Call):
            continue
        if last(call.func) in precision.DEFAULT_SETTERS and call.args:
            return named_format(world, call.args[0], call, frame)
        if last(call.func) in precision.INITIALISING and isinstance(call.func, ast.Attribute):
            return by_engine(world, world.evaluate(call.func.value, frame))
    return None


def _of_library(world: World, model: Built, depth: int) -> Storage | Unknown:
    given = model.arguments or Arguments()
    for word in precision.DTYPE_KEYWORDS:
        if word in given.keywords and not _is_none(world.force(given.keywords[word])):
            return from_argument(world, given.keywords[word], model.frame.step(model.node))  # type: ignore[arg-type]
    if model.what.name in ("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict"):
        return _together(world, model, _held(world, model), depth)
    if model.what.name.startswith("torch.nn."):
        return _default(world, model)
    return Unknown(f"in which format {model.label or model.name} keeps its weights is not known")


def _is_none(thing: Thing) -> bool:
    return isinstance(thing, Constant) and thing.value is None


def _held(world: World, model: Built) -> list[tuple[Thing, Frame]]:
    held = builtin.contents(world, model)
    match held:
        case Entries():
            return [(world.force(value), value.frame) for _, value in held.pairs]
        case Items():
            return [(world.force(each), each.frame) for each in held.elements]
        case Repeated():
            return [(world.force(held.element), held.element.frame)]
    return []


def _of_project(world: World, model: Built, depth: int) -> Storage | Unknown:
    """A module of the project: what its ``__init__`` puts into its attributes.

    On a path of its own first: where nothing is short there, its tests are no forks.
    """
    if depth:
        return _composed(world, model, depth)
    quiet = quietly(world, lambda inner: _composed(inner, model, depth))
    is_short = isinstance(quiet, Storage) and quiet.dtype.is_short
    return quiet if quiet is not None and not is_short else _composed(world, model, depth)


def _composed(world: World, model: Built, depth: int) -> Storage | Unknown:
    assert isinstance(model.what, Class), "a class of the project"
    whole = _Search(world, model, depth + 1).inside()
    if whole is not None:
        return whole
    parts: list[tuple[Thing, Frame]] = []
    for _, frame in objects.initialisers(world, model):
        function = objects.function_of(frame)
        receiver = function.args.args[0].arg if function.args.args else "self"
        for node in statements(function):
            for target in node.targets if isinstance(node, ast.Assign) else ():
                if isinstance(target, ast.Attribute) and dotted(target.value) == receiver:
                    with suppress(Impossible):  # Another arm makes it.
                        parts.append((world.attribute(model, target.attr), frame))
    return _together(world, model, parts, depth)


def _together(world: World, model: Built, parts: list[tuple[Thing, Frame]], depth: int) -> Storage | Unknown:
    """The one format that all parts have; a part of which nothing is known leaves it open."""
    found: Storage | None = None
    for part, frame in parts:
        if not _may_be_module(world, part):
            continue
        each = _Search(world, part, depth + 1, holders=(model,)).in_parts(frame)
        if isinstance(each, Unknown):
            return each
        if found is not None and each.dtype is not found.dtype:
            return Unknown(f"parts of {model.label or model.name} differ: {found.dtype.value} and {each.dtype.value}")
        found = found or each
    return found or _default(world, model)


def _may_be_module(world: World, part: Thing) -> bool:
    match part:
        case Built(what=External(name=name)):
            return name.startswith("torch.nn.") or (
                isinstance(part.node, ast.Call) and last(part.node.func) in precision.LOADS
            )
        case Built(what=Class() as cls):
            return is_module(world, cls)
        case Opaque(node=ast.Call(func=func)):
            return last(func) in precision.LOADS or last(func) in precision.CASTS
    return False


def _unseen(model: Thing) -> Storage | Unknown:
    """No cast was seen, nor the making."""
    match model:
        case Opaque():
            return Unknown(
                f"how {model.name} is loaded is not seen: {model.why.reason}", model.why.settle or model.name
            )
    return Unknown(f"where {getattr(model, 'label', '') or getattr(model, 'name', 'the model')} is made is not seen")
