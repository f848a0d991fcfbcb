"""Python's own functions and containers: ``len``, ``int``, ``range``, sequences, dictionaries, what changes them."""

from __future__ import annotations

import ast
import builtins
import os

from trainlint.facts import Fill
from trainlint.knowledge.roles import roles
from trainlint.record import replace
from trainlint.source import arithmetic, objects, second
from trainlint.source.activations import along
from trainlint.source.binding import argument
from trainlint.source.binding import written as written_under
from trainlint.source.summary import ANY_KEY
from trainlint.source.things import (
    Arguments,
    Built,
    Class,
    Constant,
    Entries,
    External,
    File,
    Frame,
    Function,
    Items,
    Opaque,
    Partial,
    Repeated,
    Tensor,
    Thing,
    Thunk,
    TupleClass,
    evidence,
)  # fmt: skip
from trainlint.source.world import World
from trainlint.value import Integer, Step, Symbol, Table, Unknown

NAMES = frozenset(dir(builtins))
SEVERAL = Unknown("a loop variable takes several numbers")
UNFOLLOWED = Unknown("the batches of the loader are not followed")
MOST_DIGITS = 1000
MOST_MEMBERS = 1024
"""An enum with more members than this is not read as a class table."""

MOST_RANGE = 256
"""A range is written out as a sequence up to this length."""

MOST_TEXT = 4096
"""A string is a sequence of at most this many symbols."""

MOST_TURNS = 4
MOST_POWERS, LARGEST_BASE = 64, 1000.0
"""What is raised to a power is a learning rate or an epsilon, ``2**-25``; anything else is not followed."""

TORCH = "torch.nn."
MODULE = "torch.nn.Module"
KINDS = {
    "torch.Tensor": "tensor",
    "builtins.tuple": "tuple",
    "builtins.list": "list",
    "builtins.dict": "dict",
    "builtins.str": "str",
    "builtins.float": "float",
}
PARALLEL = {
    "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.distributed.fsdp.FullyShardedDataParallel",
}
"""Wrappers that the evaluator looks through: what it sees is never one of them."""


def sequence(world: World, thing: Thing) -> tuple[Thunk, ...] | None:
    """The elements of a whole sequence; None where some may be missing."""
    match thing:
        case Items(whole=True, node=ast.Set() | ast.SetComp()):
            return _once(world, thing.elements)
        case Items(whole=True):
            return thing.elements
        case Entries(whole=True):
            return _once(world, tuple(key for key, _ in thing.pairs))
        case External():
            known = written(thing)
            return None if known is thing else sequence(world, known)
        case Constant(value=bytes(data)) if len(data) <= MOST_TEXT:
            return tuple(_known(Integer.exact(byte)) for byte in data)
        case Constant(value=str(text)) if len(text) <= MOST_TEXT:
            nowhere = ast.Constant(text)
            return tuple(Thunk(nowhere, _nowhere(), Constant(letter)) for letter in text)
        case Repeated(start=int(start), length=Integer(terms=(), constant=count)) if 0 <= count <= MOST_RANGE:
            return tuple(_known(Integer.exact(place)) for place in range(start, start + count))
        case Repeated(node=ast.BinOp(), length=Integer(terms=(), constant=count)) if 0 <= count <= MOST_RANGE:
            return (thing.element,) * count
        case Built(what=External(name="torch.nn.ModuleList" | "torch.nn.Sequential")):
            held = contents(world, thing)
            return sequence(world, held) if not isinstance(held, Built) else None
        case Class() if objects.is_enum(world, thing) and len(objects.members(thing)) <= MOST_MEMBERS:
            names = objects.members(thing)
            values = (objects.class_attribute(world, thing, name) or Unknown("no value") for name in names)
            return _once(world, tuple(_known(value) for value in values))
    return None


def written(thing: Thing) -> Thing:
    """A text of Python's own library, where a text is wanted; anything else is itself."""
    text = second.text(thing.name) if isinstance(thing, External) else None
    return thing if text is None else Constant(text)


def _once(world: World, elements: tuple[Thunk, ...]) -> tuple[Thunk, ...] | None:
    """Elements that a set or a dictionary keeps once each; None where two may be equal."""
    if len(elements) < 2:
        return elements
    keys = [_key(world.force(each)) for each in elements]
    if None in keys:
        return None
    return tuple(dict(zip(keys, elements, strict=True)).values())


def _nowhere() -> Frame:
    return Frame(None)  # type: ignore[arg-type]


def _known(thing: Thing) -> Thunk:
    return Thunk(ast.Constant(None), _nowhere(), thing)


def contents(world: World, built: Built) -> Thing:
    """What a container of modules holds: a sequence, or a dictionary."""
    given = built.arguments
    if given is not None and len(given.stars) == 1 and not given.positional:
        return world.force(given.stars[0])
    if given is None or given.stars:
        return Unknown(f"the members of {built.label or built.name} are not written out", built.label)
    only = world.force(given.positional[0]) if len(given.positional) == 1 else None
    if isinstance(only, Items | Entries | Repeated):
        return only
    if isinstance(only, Built) and only.what == built.what:
        return contents(world, only)
    return Items(given.positional, expression(built.node), built.frame)


def length(world: World, thing: Thing) -> Integer | Unknown:
    """``len()``: exact for what is written out, a symbol for an object that is itself wherever it goes."""
    match thing:
        case Repeated(length=Integer() as known):
            return known
        case Repeated():
            origin = f"len({id(thing.node)}#{thing.element.frame.number})"
            return Integer.symbol(Symbol("its length", origin, 0))
        case Opaque():
            return world.integer(
                Opaque(f"len({thing.name})", f"len({thing.origin})", thing.why, 1, thing.node, (), thing.evidence)
            )
        case Built():
            return _length_of_object(world, thing)
        case Unknown():
            return thing
    elements = sequence(world, thing)
    if elements is None and isinstance(thing, Items) and thing.frame.module is not None and _ends(thing):
        return _open_length(world, thing)
    if elements is None:
        return Unknown(f"the length of {getattr(thing, 'name', '') or 'it'} is not written out")
    number = Integer.exact(len(elements))
    table = table_of(world, thing)
    if isinstance(thing, Items | Entries) and thing.name and thing.frame.module is not None:
        number = replace(number, origins=(f"{thing.frame.module.key}.len({thing.name})",))
    return replace(number, table=table, evidence=_made(thing)) if table else number


def _ends(thing: Items) -> tuple[Thunk, ...]:
    """What is known of a sequence whose middle is open."""
    return (*thing.elements, *thing.rear)


def _open_length(world: World, thing: Items) -> Integer:
    """A sequence whose front is known: as long as the front at least, and its entries keep their places."""
    name = thing.name or "the sequence"
    origin = f"len({thing.frame.module.path}:{id(thing.node)}#{thing.frame.number})"
    number = Integer.symbol(Symbol(f"len({name})", origin, len(_ends(thing))))
    labels = [world.force(each) for each in thing.elements]
    entries = tuple((place, str(each.value)) for place, each in enumerate(labels) if isinstance(each, Constant))
    where = thing.frame.module.span(thing.node)
    return replace(number, table=Table(name, entries, len(entries), where, complete=False, explicit=False))


def _length_of_object(world: World, thing: Built) -> Integer | Unknown:
    if isinstance(thing.what, Class):
        function = objects.method(world, thing.what, "__len__", thing)
        if function is not None:
            found = world.integer(world.call(function, Arguments(), function.node, function.frame))
            if isinstance(found, Integer):
                return found
    name = thing.label or thing.name
    return Integer.symbol(Symbol(f"len({name})", f"len({thing.name}@{id(thing.node)}#{thing.frame.number})", 1))


def _made(thing: Thing) -> tuple[Step, ...]:
    if isinstance(thing, Items | Entries) and isinstance(thing.frame, Frame) and thing.frame.module is not None:
        node: ast.AST = thing.node
        parent = thing.frame.module.parents.get(node, node)
        return (thing.frame.step(parent if isinstance(parent, ast.Assign | ast.AnnAssign) else thing.node),)
    return ()


def table_of(world: World, thing: Thing) -> Table | None:
    """A container of labels as a class table: by place for a sequence, by value for a dictionary of ids."""
    match thing:
        case Items(whole=True):
            labels = [world.force(each) for each in thing.elements]
            known = [(place, _label(each)) for place, each in enumerate(labels)]
            entries = [(place, label) for place, label in known if label is not None]
            size = len(labels)
        case Entries(whole=True):
            pairs = [(world.force(key), world.force(value)) for key, value in thing.pairs]
            entries = [entry for key, value in pairs if (entry := _entry(world, key, value)) is not None]
            size = len(sequence(world, thing) or pairs)
        case Class() if objects.is_enum(world, thing) and len(objects.members(thing)) <= MOST_MEMBERS:
            named = [(name, objects.class_attribute(world, thing, name)) for name in objects.members(thing)]
            entries = [(number.constant, name) for name, value in named if isinstance(number := value, Integer)]
            return Table(thing.name, tuple(entries), len(named), thing.module.span(thing.node))
        case Constant(value=str(text), evidence=(step, *_)) if thing.name and len(text) <= MOST_TEXT:
            return Table(thing.name, tuple(enumerate(text)), len(text), step.where, explicit=False)
        case _:
            return None
    if not entries or thing.frame.module is None:
        return None
    where = thing.frame.module.span(thing.node)
    explicit = isinstance(thing, Entries)
    return Table(thing.name or "the table", tuple(entries), size, where, len(entries) == size, explicit)


def _label(thing: Thing) -> str | None:
    match thing:
        case Constant(value=str() | float() as value):
            return str(value)
        case Integer(terms=(), constant=number):
            return str(number)
    return None


def _entry(world: World, key: Thing, value: Thing) -> tuple[int, str] | None:
    """``{"<eos>": 0}`` and ``{0: "<eos>"}`` both say that 0 is ``<eos>``."""
    label, number = (key, value) if isinstance(key, Constant) else (value, key)
    known = world.integer(number) if isinstance(label, Constant) and isinstance(label.value, str) else None
    if isinstance(known, Integer) and known.number is not None and isinstance(label, Constant):
        return known.number, str(label.value)
    return None


def element(world: World, thing: Thing, node: ast.AST) -> Thing:
    """One turn of a loop over a thing, whichever."""
    match thing:
        case Repeated():
            return world.force(thing.element)
        case Items(elements=(only,)):
            return world.force(only)
        case Items():
            return _turn(world, thing, node)
        case Tensor():
            return thing.but(activation=along(thing, lambda axis: axis if axis == -1 else None))
        case Unknown():
            return thing
        case Opaque():
            return replace(thing, name=f"{thing.name}[]", origin=f"{thing.origin}[]@{id(node)}")
        case Built(what=External(name="torch.utils.data.DataLoader")):
            return _batch(world, thing)
        case Built(what=External(name="torch.nn.ModuleList" | "torch.nn.Sequential")):
            return world.element(contents(world, thing), node)
    return Unknown("what the loop runs over is not followed")


def _turn(world: World, thing: Items, node: ast.AST) -> Thing:
    """A loop over a few objects runs once for each: this world says which turn it is."""
    if not thing.elements or not thing.whole or len(thing.elements) > MOST_TURNS:
        return Unknown("a loop variable takes several values")
    made = [world.force(each) for each in thing.elements]
    if all(isinstance(each, Integer | Constant) for each in made) or not world.looks_for_callers:
        return SEVERAL
    steps = [each.frame.step(each.node) for each in thing.elements if each.frame.module is not None]
    if len(steps) < len(made):
        steps = [thing.frame.step(thing.node)] * len(made)
    taken = world.choose("turn", ("turn", id(node), thing.frame.number), steps)
    step = steps[taken]
    world.take(("context", node), lambda each: each.context.update({node: step}))
    return made[taken]


def _batch(world: World, loader: Built) -> Thing:
    """A batch of a loader is what its ``collate_fn`` returns, or examples of its dataset on top of each other."""
    names = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn")
    given = argument(loader.arguments, names, "collate_fn")
    if given is None:
        dataset = argument(loader.arguments, names, "dataset")
        return _example(world, dataset) if isinstance(dataset, Thunk) else UNFOLLOWED
    if not isinstance(given, Thunk):
        return UNFOLLOWED
    collate = world.force(given)
    return world.call(
        collate, Arguments((_known(Unknown("the examples of a batch are open")),)), given.node, loader.frame
    )


def _example(world: World, given: Thunk) -> Thing:
    """One example of a dataset, whichever."""
    dataset = world.force(given)
    match dataset:
        case Built(what=External(name="torch.utils.data.TensorDataset"), arguments=Arguments(stars=()) as held):
            return Items(held.positional, expression(dataset.node), dataset.frame)
        case Built(what=Class() as cls):
            function = objects.method(world, cls, "__getitem__", dataset)
            if function is not None:
                place = Arguments((_known(Unknown("the place of an example is open")),))
                return world.call(function, place, given.node, given.frame)
    return UNFOLLOWED


def constructed(world: World, cls: Class, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """An object of a class of the project; ``Tokens(3)`` of an enum is not one."""
    if objects.is_enum(world, cls):
        return Unknown(f"a member of {cls.name} looked up by value")
    return Built(cls, given, node, frame)


def joined(world: World, node: ast.BinOp, left: Thing, right: Thing) -> Thing | None:
    """Sequences and strings under ``+`` and ``*``; None where it is arithmetic."""
    padded = _padded(world, node, left, right) if isinstance(node.op, ast.Add) else None
    if padded is not None:
        return padded
    left, right = written(left), written(right)
    match node.op, left, right:
        case ast.Add(), Constant(value=str(first)), Constant(value=str(last)):
            return _text(first + last, left, right)
        case ast.Div(), Constant(value=str(first)), Constant(value=str(last)):
            return _text(os.path.join(first, last), left, right)
        case ast.Mult(), Constant(value=str(text)), Integer(terms=(), constant=times, assumed=()):
            return _times(text, times, left)
        case ast.Mult(), Integer(terms=(), constant=times, assumed=()), Constant(value=str(text)):
            return _times(text, times, right)
        case (ast.Add(), Items(), _) | (ast.Add(), _, Items()):
            return _concatenated(world, node, left, right)
        case ast.Mult(), Items(), _:
            return _repeated(world, left, right, node)
        case ast.BitOr(), Entries(), Entries():
            assert isinstance(left, Entries) and isinstance(right, Entries)
            return replace(left, pairs=(*left.pairs, *right.pairs), whole=left.whole and right.whole, name="")
    if isinstance(left, Integer) and isinstance(right, Integer) and _leaves_the_integers(node.op, left, right):
        return _floats(node.op, left, right)
    if isinstance(left, Constant) and isinstance(left.value, float | str):
        return _floats(node.op, left, right)
    if isinstance(right, Constant) and isinstance(right.value, float | str):
        return _floats(node.op, left, right)
    return None


def _leaves_the_integers(op: ast.operator, left: Integer, right: Integer) -> bool:
    """``1 / 320``, ``10**-3`` and ``6 / 2``, which is 3.0 and no length: exact numbers that make a float."""
    first, second = left.number, right.number
    if first is None or second is None:
        return False
    if isinstance(op, ast.Pow):
        return bool(first) and -MOST_POWERS <= second < 0
    return isinstance(op, ast.Div)


def _times(text: str, times: int, thing: Thing) -> Thing:
    """A text, several times; how long it becomes is asked before it is made."""
    is_long = len(text) * times > arithmetic.LONGEST_TEXT
    return Unknown("a long string") if is_long else _text(text * times, thing, thing)


def _text(text: str, left: Thing, right: Thing) -> Thing:
    if len(text) > arithmetic.LONGEST_TEXT:
        return Unknown("a long string")
    assert isinstance(left, Constant) and isinstance(right, Constant), "two strings"
    return Constant(text, (*left.evidence, *right.evidence), (*left.assumed, *right.assumed))


def _padded(world: World, node: ast.BinOp, left: Thing, right: Thing) -> Tensor | None:
    """``ids + [PAD] * (longest - len(ids))``: data and a run of one number that fills it up."""
    runs = [side for side in (left, right) if isinstance(side, Repeated) and side.start is None]
    rest = left if right in runs else right
    written_out = isinstance(rest, Items) and rest.whole
    if len(runs) != 1 or written_out or isinstance(rest, Integer | Constant):
        return None
    value = world.force(runs[0].element)
    if not isinstance(value, Integer) or runs[0].element.frame.module is None:
        return None
    where = runs[0].element.frame.module.span(runs[0].node)
    fills = rest.fills if isinstance(rest, Tensor) else ()
    return Tensor(fills=(*fills, Fill(value, where, "filled up with", first=left in runs)))


def _concatenated(world: World, node: ast.BinOp, left: Thing, right: Thing) -> Thing:
    """A sequence behind another; what is known of both ends keeps its place where the middle is open."""
    first, second = sequence(world, left), sequence(world, right)
    whole = left if isinstance(left, Items) else right
    assert isinstance(whole, Items), "one side is a literal sequence"
    if first is not None and second is not None:
        return Items((*first, *second), node, whole.frame)
    front = first if first is not None else left.elements if isinstance(left, Items) else ()
    if second is None:
        return Items(front, node, whole.frame, whole=False, rear=right.rear if isinstance(right, Items) else ())
    before = left.rear if isinstance(left, Items) else ()
    return Items(front, node, whole.frame, whole=False, rear=(*before, *second))


def _repeated(world: World, left: Items, right: Thing, node: ast.BinOp) -> Thing:
    if isinstance(right, Constant) and isinstance(right.value, bool):
        return left if right.value else replace(left, elements=())
    if any(_is_test(side) for side in (node.left, node.right)):
        return Unknown("whether the list is there at all is open")
    times = _none_or_more(world.integer(right))
    if len(left.elements) != 1:
        return Unknown("a repeated list is not followed")
    return Repeated(left.elements[0], times, node)


def _is_test(node: ast.expr) -> bool:
    """A list times a test is there once or not at all."""
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _floats(op: ast.operator, left: Thing, right: Thing) -> Thing:
    first, second = number(left), number(right)
    if first is None or second is None:
        return Unknown("the operation is not followed")
    steps, assumed = (*evidence(left), *evidence(right)), (*_assumed(left), *_assumed(right))
    match op:
        case ast.Add():
            return Constant(first + second, steps, assumed)
        case ast.Sub():
            return Constant(first - second, steps, assumed)
        case ast.Mult():
            return Constant(first * second, steps, assumed)
        case ast.Div() if second:
            return Constant(first / second, steps, assumed)
        case ast.Pow() if first and abs(second) <= MOST_POWERS and abs(first) <= LARGEST_BASE:
            return Constant(float(first) ** second, steps, assumed)
    return Unknown("the operation is not followed")


def _assumed(thing: Thing) -> tuple[Step, ...]:
    return thing.assumed if isinstance(thing, Integer | Constant) else ()


def number(thing: Thing) -> float | None:
    """An exact number, whole or not."""
    match thing:
        case Constant(value=float(value)):
            return value
        case Integer(terms=(), constant=whole) if whole.bit_length() < 512:
            return whole
    return None


def compared(world: World, op: ast.cmpop, left: Thing, right: Thing) -> bool | None:
    """What a comparison says for sure: ``is None`` of what is not None, equal strings, numbers."""
    if isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and isinstance(right, Constant) and right.value is None:
        same = _is_none(left)
        return same if same is None or isinstance(op, ast.Is | ast.Eq) else not same
    match left, right:
        case Constant(value=str(first), assumed=()), Constant(value=str(second), assumed=()):
            return first == second if isinstance(op, ast.Eq) else first != second if isinstance(op, ast.NotEq) else None
        case Constant(value=str(first), assumed=()), Items(whole=True) if isinstance(op, ast.In | ast.NotIn):
            return _among(world, first, right) if isinstance(op, ast.In) else None
        case (Integer(assumed=()), Integer(assumed=())):
            assert isinstance(left, Integer) and isinstance(right, Integer)
            return arithmetic.compared(op, left, right)
    return None if _assumed(left) or _assumed(right) else _compared_numbers(op, number(left), number(right))


def _compared_numbers(op: ast.cmpop, first: float | None, second: float | None) -> bool | None:
    if first is None or second is None or type(op) not in arithmetic.COMPARE:
        return None
    return arithmetic.COMPARE[type(op)](first, second)


def _is_none(thing: Thing) -> bool | None:
    match thing:
        case Constant(assumed=()):
            return thing.value is None
        case (
            Integer()
            | Items()
            | Entries()
            | Built()
            | Tensor()
            | Class()
            | Function()
            | Partial()
            | Repeated()
            | File()
        ):
            return None if isinstance(thing, Integer) and thing.terms else False
    return None


def _among(world: World, text: str, items: Items) -> bool | None:
    values = [world.force(each) for each in items.elements]
    if not all(isinstance(each, Constant) for each in values):
        return None
    return text in [each.value for each in values if isinstance(each, Constant)]


def call(world: World, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """A call of a builtin; None where it is not known."""
    values = [world.force(each) for each in given.positional]
    match name, values:
        case "len", [thing]:
            return length(world, thing)
        case "int", [Tensor() as tensor] if tensor.sampled or tensor.ids:
            return tensor
        case "int" | "abs" | "round" | "float", [thing]:
            return _number(world, name, thing)
        case "max" | "min", [_, _, *_] if not given.keywords:
            return _extreme(world, name, values)
        case "sum", [thing]:
            return _sum(world, thing)
        case "range", [stop]:
            return Repeated(_known(SEVERAL), _none_or_more(world.integer(stop)), expression(node), 0)
        case "range", [start, stop]:
            return _range(world, start, stop, node)
        case "tuple" | "list" | "sorted" | "set" | "frozenset" | "reversed", [thing]:
            return _remade(world, name, thing, given, node, frame)
        case "dict", []:
            pairs = tuple((Thunk(each.node, each.frame, Constant(key)), each) for key, each in given.keywords.items())
            return Entries(pairs, expression(node), frame, whole=not given.double_stars)
        case "dict", [Entries() | Built(what=Class()) as made] if isinstance(entries := world.table(made), Entries):
            extra = tuple((Thunk(each.node, each.frame, Constant(key)), each) for key, each in given.keywords.items())
            return replace(entries, pairs=(*entries.pairs, *extra), whole=entries.whole and not given.double_stars)
        case "enumerate", [thing]:
            return _enumerated(world, thing, node, frame)
        case "zip", [first, second]:
            return _zipped(world, first, second, node, frame)
        case "getattr", [thing, Constant(value=str(attribute)), *_]:
            return world.attribute(thing, attribute)
        case "isinstance", [thing, kind]:
            known = _is_instance(world, thing, kind)
            return Constant(known) if known is not None else None
        case "hasattr", [Built() as thing, Constant(value=str(attribute))]:
            return _has(world, thing, attribute)
        case "bool", [thing]:
            return thing if isinstance(thing, Constant) and isinstance(thing.value, bool) else None
        case "str", [Constant(value=str())]:
            return values[0]
    return None


def _is_instance(world: World, thing: Thing, kind: Thing) -> bool | None:
    """What ``isinstance`` says for sure."""
    if isinstance(kind, Items):
        answers = [_is_instance(world, thing, world.force(each)) for each in kind.elements]
        return True if True in answers else None if None in answers or not kind.whole else False
    match thing, kind:
        case Built(what=Class() as cls), Class():
            return any(isinstance(each, Class) and each.node is kind.node for each in objects.lineage(world, cls))
        case Built(what=External(name=name)), Class() if name.startswith(TORCH):
            return False
        case Built(what=External(name=name)), External():
            apart = kind.name in PARALLEL or (_is_loss(name) and _is_loss(kind.name))
            return True if name == kind.name else False if apart else None
        case Built(what=Class() as cls), External():
            bases = {each.name for each in objects.lineage(world, cls) if isinstance(each, External)}
            apart = kind.name in PARALLEL or kind.name in KINDS
            if kind.name in bases or apart:
                return kind.name in bases
            return False if kind.name.startswith(TORCH) and bases == {MODULE} and _is_settled(world, cls) else None
        case _, External(name=name) if name in KINDS:
            return is_of_kind(thing, KINDS[name])
    return None


def _is_settled(world: World, cls: Class) -> bool:
    """Whether every base of a class is known."""
    known = (each for each in objects.lineage(world, cls) if isinstance(each, Class))
    bases = (
        world.apart().evaluate(base.value if isinstance(base, ast.Subscript) else base, each.outer)
        for each in known
        for base in each.node.bases
    )
    return all(isinstance(base, Class | External) for base in bases)


def _is_loss(name: str) -> bool:
    """Whether a name is that of a loss of PyTorch's; none of them extends another but for ``NLLLoss2d``."""
    return name.startswith(TORCH) and name.endswith("Loss")


def is_of_kind(thing: Thing, kind: str) -> bool | None:
    """Whether something is one of these kinds."""
    match thing:
        case Tensor():
            return kind == "tensor"
        case Entries():
            return kind == "dict" if not thing.record else False if kind != "tuple" else None
        case Items():
            return kind == ("list" if thing.mutable else "tuple")
        case Constant():
            return kind == type(thing.value).__name__ if not thing.assumed else None
        case Integer(terms=(), assumed=()):
            return False
    return None


def _has(world: World, thing: Built, name: str) -> Constant | None:
    """Whether an object has an attribute; one that no class of it says anything of is open, but for a wrapper's own."""
    if isinstance(thing.what, External):
        return Constant(False) if name == "module" and thing.what.name not in PARALLEL else None
    own = [each for each in objects.lineage(world, thing.what) if isinstance(each, Class)]
    if objects.method(world, thing.what, name, thing) is not None:
        return Constant(True)
    return Constant(False) if name == "module" and not any(name in each.module.attributes for each in own) else None


def expression(node: ast.AST) -> ast.expr:
    return node if isinstance(node, ast.expr) else ast.Constant(None)


def _range(world: World, start: Thing, stop: Thing, node: ast.AST) -> Thing:
    first, last = world.integer(start), world.integer(stop)
    if isinstance(first, Unknown) or isinstance(last, Unknown):
        return Repeated(_known(SEVERAL), Unknown("the range is open"), expression(node))
    return Repeated(_known(SEVERAL), _none_or_more(last - first), expression(node), first.number)


def _none_or_more(length: Integer | Unknown) -> Integer | Unknown:
    """A length: a negative one counts as nothing."""
    return (
        Integer.exact(0) if isinstance(length, Integer) and length.number is not None and length.number < 0 else length
    )


def _is_number(text: str) -> bool:
    """Whether ``int`` reads a text; more digits than it takes at once are no class count."""
    return len(text) <= MOST_DIGITS and text.strip().removeprefix("-").isdecimal()


def _number(world: World, name: str, thing: Thing) -> Thing:
    if isinstance(thing, Constant) and isinstance(thing.value, float) and name in ("int", "round"):
        whole = thing.value.is_integer() and abs(thing.value) < 2**53
        return (
            Integer(int(thing.value), evidence=thing.evidence, assumed=thing.assumed)
            if whole
            else Unknown("a fraction")
        )
    if isinstance(thing, Constant) and isinstance(thing.value, str) and _is_number(thing.value):
        return Integer(int(thing.value), evidence=thing.evidence, assumed=thing.assumed)
    if name == "float":
        return thing if isinstance(thing, Constant | Tensor) else Unknown("a float")
    if name == "abs" and isinstance(thing, Integer):
        return thing if thing.minimum is not None and thing.minimum >= 0 else Unknown("its sign is open")
    return world.integer(thing)


def _extreme(world: World, name: str, values: list[Thing]) -> Thing:
    numbers = [world.integer(value) for value in values]
    exact = [number for number in numbers if isinstance(number, Integer) and number.number is not None]
    if len(exact) < len(numbers):
        return Unknown(f"{name} of something open")
    return (max if name == "max" else min)(exact, key=lambda number: number.constant)


def _sum(world: World, thing: Thing) -> Thing:
    parts = sequence(world, thing)
    if parts is None:
        return Unknown("the sum of something open")
    total = Integer.exact(0)
    for part in parts:
        number = world.integer(world.force(part))
        if isinstance(number, Unknown):
            return number
        total = total + number
    return total


def _remade(world: World, name: str, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    if isinstance(thing, Repeated) and name in ("list", "tuple"):
        return thing
    parts = sequence(world, thing)
    if parts is None or given.keywords:
        return _open(name, node, frame)
    if name in ("set", "frozenset", "sorted"):
        return _distinct(world, name, parts, node, frame)
    parts = parts[::-1] if name == "reversed" else parts
    return Items(parts, expression(node), frame, mutable=name == "list")


def _open(name: str, node: ast.AST, frame: Frame) -> Opaque:
    """A container whose elements only a run knows: it has a length all the same."""
    origin = f"{name}()@{id(node)}#{frame.number}"
    return Opaque(f"{name}()", origin, Unknown(f"what {name}() holds is decided when it runs"), node=node)


def _distinct(world: World, name: str, parts: tuple[Thunk, ...], node: ast.AST, frame: Frame) -> Thing:
    """``set`` and ``sorted`` of strings; the order of a set is nobody's business."""
    values = [
        each.value for part in parts if isinstance(each := world.force(part), Constant) and isinstance(each.value, str)
    ]
    if len(values) < len(parts):
        return _open(name, node, frame)
    kept = sorted(values) if name == "sorted" else list(dict.fromkeys(values))
    return Items(tuple(_known(Constant(value)) for value in kept), expression(node), frame, mutable=True)


def _enumerated(world: World, thing: Thing, node: ast.AST, frame: Frame) -> Thing:
    whole = not isinstance(thing, Items) or thing.whole
    grows = isinstance(thing, Items) and thing.mutable and bool(thing.rear)
    parts = sequence(world, thing) if whole else thing.elements if isinstance(thing, Items) and not grows else None
    start = 0
    if isinstance(node, ast.Call):
        extra = [keyword.value for keyword in node.keywords if keyword.arg == "start"] + node.args[1:]
        number = world.integer(world.evaluate(extra[0], frame)) if extra else Integer.exact(0)
        if isinstance(number, Unknown) or number.number is None:
            return Unknown("enumerate starts somewhere open")
        start = number.number
    if parts is None:
        inner = world.element(thing, node)
        pair = Items((_known(Unknown("a loop variable takes several numbers")), _known(inner)), expression(node), frame)
        return Repeated(_known(pair), length(world, thing), expression(node))
    pairs = (
        Items((_known(Integer.exact(place)), part), expression(node), frame) for place, part in enumerate(parts, start)
    )
    rear = _from_behind(world, thing, start, node, frame) if isinstance(thing, Items) and not whole else ()
    return Items(tuple(_known(pair) for pair in pairs), expression(node), frame, whole=whole, rear=rear)


def _from_behind(world: World, thing: Items, start: int, node: ast.AST, frame: Frame) -> tuple[Thunk, ...]:
    """The last places of an open sequence, counted from its length: ``len(letters) - 1`` is the last."""
    total = length(world, thing) if thing.rear and thing.frame.module is not None else Unknown("no end is known")
    if isinstance(total, Unknown):
        return ()
    total = replace(total, table=None)
    places = (total + Integer.exact(start - len(thing.rear) + each) for each in range(len(thing.rear)))
    pairs = (
        Items((_known(place), part), expression(node), frame) for place, part in zip(places, thing.rear, strict=True)
    )
    return tuple(_known(pair) for pair in pairs)


def _zipped(world: World, first: Thing, second: Thing, node: ast.AST, frame: Frame) -> Thing:
    left, right = sequence(world, first), sequence(world, second)
    if left is None and isinstance(first, Repeated) and right is not None:
        left = _counted(first, right)
    if right is None and isinstance(second, Repeated) and left is not None:
        right = _counted(second, left)
    if left is None or right is None:
        pair = Items((_known(world.element(first, node)), _known(world.element(second, node))), expression(node), frame)
        return Repeated(_known(pair), Unknown("a zip over something open"), expression(node))
    pairs = (Items(pair, expression(node), frame) for pair in zip(left, right, strict=False))
    return Items(tuple(_known(pair) for pair in pairs), expression(node), frame)


def _counted(thing: Repeated, other: tuple[Thunk, ...]) -> tuple[Thunk, ...] | None:
    """``range(len(x))`` next to x."""
    number = thing.length.number if isinstance(thing.length, Integer) else None
    if number != len(other):
        return None
    return tuple(_known(Integer.exact(place)) for place in range(number))


def method(world: World, thing: Thing, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """A method of a dictionary, sequence or string; None where it is not known."""
    values = [world.force(each) for each in given.positional]
    match thing, name, values:
        case Entries(), "get", [key, *rest]:
            found = entry(world, thing, key)
            return found if not isinstance(found, Unknown) else (rest[0] if rest and thing.whole else found)
        case Entries(), "keys", []:
            return Items(tuple(key for key, _ in thing.pairs), expression(node), frame, thing.name, whole=thing.whole)
        case Entries(), "values", []:
            return Items(
                tuple(value for _, value in thing.pairs), expression(node), frame, thing.name, whole=thing.whole
            )
        case Entries(), "items", []:
            pairs = (Items((key, value), expression(node), frame) for key, value in thing.pairs)
            return Items(tuple(_known(pair) for pair in pairs), expression(node), frame, thing.name, whole=thing.whole)
        case Entries(), "pop", [key, *_]:
            return entry(world, thing, key)
        case Entries() | Items(), "copy", []:
            return thing
        case ((Items() | Constant()), "index", [Constant(value=str(wanted))]):
            return _place(world, thing, wanted)
        case Constant(value=str(text)), "split", []:
            return Items(tuple(_known(Constant(part)) for part in text.split()), expression(node), frame, mutable=True)
        case Constant(value=str(text)), "split", [Constant(value=str(by))] if by:
            return Items(
                tuple(_known(Constant(part)) for part in text.split(by)), expression(node), frame, mutable=True
            )
        case Constant(value=str(text)), "lower" | "upper" | "strip", []:
            return Constant(getattr(text, name)())
    return None


def _place(world: World, thing: Thing, wanted: str) -> Thing:
    parts = sequence(world, thing) or ()
    for place, part in enumerate(parts):
        value = world.force(part)
        if not isinstance(value, Constant):
            break
        if value.value == wanted:
            name = thing.name if isinstance(thing, Items) else ""
            return Integer.exact(place).named(wanted, f"{name}[{wanted!r}]" if name else "")
    return Unknown(f"{wanted!r} is not among what is written out")


def entry(world: World, entries: Entries, key: Thing) -> Thing:
    """The last entry under a key."""
    wanted = _key(key)
    if wanted is None:
        return Unknown("the key is open")
    if wanted in entries.changed or ANY_KEY in entries.changed:
        return _unsettled(entries, wanted, f"the entry {wanted!r} may be written over")
    written = _written(world, entries, wanted)
    if written is not None:
        return written
    for name, value in reversed(entries.pairs):
        known = _key(world.force(name))
        if known is None:
            return _unsettled(entries, wanted, "the table has open keys")
        if known == wanted:
            found = world.force(value)
            if not isinstance(found, Integer):
                return found
            named = found.named(wanted, f"{_called(entries)}[{wanted!r}]") if isinstance(wanted, str) else found
            return named if value.frame.module is None else named.because(value.frame.step(value.node))
    missing = f"the table has no {wanted!r}"
    return Unknown(missing) if entries.whole else _unsettled(entries, wanted, missing)


def _called(entries: Entries) -> str:
    return entries.name or f"{getattr(entries.node, 'lineno', 0)}:{getattr(entries.node, 'col_offset', 0)}"


def _unsettled(entries: Entries, wanted: object, why: str) -> Opaque | Unknown:
    """An entry that is not settled: under the name of a special token it is a number of its own all the same."""
    if not isinstance(wanted, str) or not roles(wanted):
        return Unknown(why)
    name, least = f"{entries.name or 'the table'}[{wanted!r}]", None if wanted.isidentifier() else 0
    return Opaque(name, f"{_called(entries)}[{wanted!r}]", Unknown(why, name), least, entries.node, (wanted,))


def placed(world: World, entries: Entries, place: int | None) -> Thing:
    """The field of a record at a place."""
    if place is None or not -len(entries.pairs) <= place < len(entries.pairs) or not entries.whole:
        return Unknown("the place in the record is open")
    return world.force(entries.pairs[place][1])


def middle(world: World, value: Thing, before: int, after: int, node: ast.expr) -> Thing:
    """What a starred name takes of an unpacking."""
    parts = sequence(world, value)
    if isinstance(value, Repeated) and value.start is None:
        return replace(value, length=Unknown("a part of a sequence"))
    if parts is None or len(parts) < before + after or not isinstance(value, Items):
        return Unknown("a starred unpacking of something open")
    return Items(parts[before : len(parts) - after], node, value.frame, mutable=True)


def form(world: World, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """``namedtuple("Output", "logits hidden")``: the class that it makes."""
    names = (*given.positional, *(given.keywords[name] for name in ("field_names",) if name in given.keywords))
    fields = world.force(names[1]) if len(names) > 1 else None
    if isinstance(fields, Constant) and isinstance(fields.value, str):
        words = tuple(fields.value.replace(",", " ").split())
    else:
        parts = [world.force(each) for each in (sequence(world, fields) or ())] if fields is not None else []
        words = tuple(each.value for each in parts if isinstance(each, Constant) and isinstance(each.value, str))
        if not parts or len(words) < len(parts):
            return Unknown("the fields of the named tuple are not written out")
    defaults = world.force(given.keywords["defaults"]) if "defaults" in given.keywords else None
    last = sequence(world, defaults) if defaults is not None else ()
    return TupleClass(words, last or (), node, frame) if last is not None else Unknown("its defaults are open")


def formed(form: TupleClass, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """A named tuple: its fields by place and by name."""
    if given.stars or given.double_stars:
        return Unknown("the fields of the named tuple are hidden behind * or **")
    passed = dict(zip(form.fields[len(form.fields) - len(form.defaults) :], form.defaults, strict=True))
    passed |= dict(zip(form.fields, given.positional, strict=False)) | dict(given.keywords)
    pairs = tuple((_known(Constant(name)), passed[name]) for name in form.fields if name in passed)
    return Entries(pairs, expression(node), frame, whole=len(pairs) == len(form.fields), record=True)


def _written(world: World, entries: Entries, wanted: object) -> Thing | None:
    """What the last write that reaches the reading put under a key."""
    found = written_under(world, entries, wanted)
    if found is None:
        return None
    binding, later = found
    return world.bound_value(binding, binding.name, later.frame, later.use)


def _key(thing: Thing) -> object:
    match thing:
        case Constant(value=str() | float() | bytes() as value):
            return value
        case Integer(terms=(), constant=number):
            return number
        case External(name=name):
            return name
    return None
