"""What libraries do to what matters: layers make logits, operations keep or move their classes, fills mark targets."""

from __future__ import annotations

import ast
import re

from trainlint.facts import Activation, Fill, Form, Layer
from trainlint.knowledge import SIGNATURES, canonical, torch
from trainlint.knowledge import activations as known_activations
from trainlint.knowledge.formats import CASTING, REGIONS
from trainlint.record import replace
from trainlint.source import (
    activations,
    builtin,
    choices,
    command_line,
    factories,
    files,
    formats,
    hydra,
    joins,
    layers,
    lookups,
    pretrained,
    registries,
    settings,
    tokenizers,
    weights,
)
from trainlint.source.binding import least, library_argument
from trainlint.source.nodes import statements
from trainlint.source.summary import dotted
from trainlint.source.things import (
    Arguments,
    Binding,
    Built,
    Class,
    Constant,
    Entries,
    External,
    Frame,
    Items,
    Made,
    Method,
    Opaque,
    Partial,
    Repeated,
    Tensor,
    Thing,
    Thunk,
)  # fmt: skip
from trainlint.source.world import World
from trainlint.value import Integer, Unknown

F = torch.F
CONSTANT = {
    f"{library}.{name}{like}": int(name == "ones")
    for library in ("torch", "numpy")
    for name in ("zeros", "ones")
    for like in ("", "_like")
}
HOW = {
    "pad_sequence": "padded by pad_sequence with",
    "pad": "padded by F.pad with",
    "where": "filled by torch.where with",
}
MASKING = ("masked_fill", "masked_fill_")
FULL = {"torch.full", "torch.full_like", "numpy.full", "numpy.full_like"}
CONSTRUCTORS = {
    "torch.tensor",
    "torch.as_tensor",
    "torch.from_numpy",
    "torch.LongTensor",
    "torch.Tensor",
    "numpy.array",
    "numpy.asarray",
}
COUNTED = ("argmin", "argmax")
SHAPED = frozenset(f"torch.{name}" for name in ("empty", "randn", "rand", "zeros", "ones", "Tensor", "FloatTensor"))
SPLITS = frozenset({"chunk", "split", "unbind", "tensor_split", "unsafe_chunk", "unsafe_split"})
PRODUCTS = {"torch.matmul": 1, "torch.mm": 1, "torch.bmm": 1, "torch.addmm": 2, "torch.baddbmm": 2}
"""Products of matrices, and the place of the right one."""

PARAMETERS = {"torch.nn.Parameter", "torch.nn.parameter.Parameter"}
SAME_SIZES = frozenset(
    {"float", "double", "half", "bfloat16", "to", "type", "cpu", "cuda", "detach", "clone", "contiguous"}
)
"""Methods after which a tensor has the sizes that it was made with."""

APPLICABLE = frozenset(torch.LAYERS) | torch.KEEPS_CLASSES | {"torch.nn.Sequential", "torch.nn.Embedding"}
"""Modules of the library whose call is followed, also where a class of the project extends one."""

RANKING = (*COUNTED, "max", "min")
MOVERS = ("transpose", "permute", "reshape", "flatten", "rearrange", "movedim", "swapaxes", "einops")
PADDERS = {"torch.nn.utils.rnn.pad_sequence"}
RECORDS = {"types.SimpleNamespace"}
ITERATORS = {"tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.trange", "tqdm.autonotebook.tqdm", "tqdm.notebook.tqdm"}
CALCULATED = Unknown("a number is calculated from the prediction")
MOST_WEIGHTS = 4096
MOST_CHOICES = 6
OF_TENSORS = frozenset(
    {
        "masked_fill", "masked_fill_", "fill_", "new_full", "new_zeros", "new_ones", "argmax", "argmin", "multinomial",
        "log_softmax", "softmax", "permute", "transpose", "contiguous", "flatten", "view", "reshape", "long", "detach",
        "clone", "unsqueeze", "squeeze", "cpu", "cuda", "to",
    }
)  # fmt: skip
"""Methods that only tensors have, or that give back what they are called on: its fills stay, whatever it is."""


# Objects of libraries


def library_attribute(world: World, built: Built, name: str) -> Thing:
    """An attribute of a library's object: an argument it was made with, an option, or a method."""
    assert isinstance(built.what, External)
    if built.what.name == command_line.NAMESPACE.name:
        return command_line.option(world, built, name)
    if built.what is weights.TENSOR and name == "shape":
        return weights.shape(built)
    saved = factories.setting(world, built, name)
    if saved is not None:
        return saved
    signature = SIGNATURES.get(built.what.name)
    if signature and name in signature.parameters:
        given = library_argument(built.arguments, built.what.name, name)
        if isinstance(given, Thunk):
            return world.force(given)
        default = signature.defaults.get(name)
        if given is None and isinstance(default, int):
            return Integer.exact(default)
        if given is None and isinstance(default, str):
            return Constant(default, name=name)
    if name in ("module", "_orig_mod", "data"):
        return built
    return Method(built, name)


def library_call(world: World, callable: External, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """A call of something that a library defines."""
    name = canonical(callable.name)
    for known in (files.call, settings.call, hydra.call, choices.call, factories.call, weights.call, tokenizers.call):
        found = known(world, name, given, node, frame)
        if found is not None:
            return found
    if name.startswith("builtins."):
        found = builtin.call(world, name.removeprefix("builtins."), given, node, frame)
        return found if found is not None else opaque(callable.name, node, frame)
    first = world.force(given.positional[0]) if given.positional else Unknown("it is called without arguments")
    if name in torch.WRAPPERS or name in ITERATORS or name in PARAMETERS:
        return first
    if name in torch.CASTING:
        return first if len(given.positional) == 1 else _all(given, node, frame)
    if name in torch.INITIALISING and "model" in given.keywords:
        return Items((given.keywords["model"],), builtin.expression(node), frame, whole=False)
    if name == "functools.partial" and given.positional and isinstance(node, ast.Call):
        return Partial(first, replace(given, positional=given.positional[1:]), node, frame)
    if name == "collections.OrderedDict":
        return first if given.positional else _entries(given, node, frame)
    if name in RECORDS and not given.positional:
        return replace(_entries(given, node, frame), record=True)
    if name == "collections.namedtuple":
        return builtin.form(world, given, node, frame)
    return _tensor_call(world, name, first, given, node, frame) or _made(name, given, node, frame)


def _entries(given: Arguments, node: ast.AST, frame: Frame) -> Entries:
    pairs = tuple((Thunk(each.node, each.frame, Constant(key)), each) for key, each in given.keywords.items())
    return Entries(pairs, builtin.expression(node), frame, whole=not given.double_stars)


def _made(name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """A library's class makes an object; anything else of a library is itself wherever it goes."""
    last = name.rpartition(".")[2]
    known = name in SIGNATURES or name in REGIONS or (name.startswith("torch.nn.") and last[:1].isupper())
    if known or name in command_line.PARSERS or name == "torch.utils.data.DataLoader" or last[:1].isupper():
        return Built(External(name), given, node, frame)
    return opaque(name, node, frame)


def opaque(name: str, node: ast.AST, frame: Frame) -> Opaque:
    last = name.rpartition(".")[2]
    return Opaque(
        f"{last}()", f"{name}()@{id(node)}#{frame.number}", Unknown(f"what {name} returns is not known"), node=node
    )


def _tensor_call(world: World, name: str, first: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """Functions of tensors, as far as classes and targets go."""
    last = name.rpartition(".")[2]
    if name in known_activations.FUNCTIONS:
        soft = activations.by_function(world, name, given, node, frame)
        return formats.after(world, last, Arguments(), node, frame, first, soft)
    if name in torch.KEEPING_FUNCTIONS:
        rest = replace(given, positional=given.positional[1:])
        return formats.after(world, last, rest, node, frame, first, _kept_by(name, first))
    if name in SHAPED:
        made = _written_out(world, name, first, given, node, frame)
        return _shaped(made if isinstance(made, Tensor) else Tensor(), first, given)
    written = _written_out(world, name, first, given, node, frame)
    return written if written is not None else _computed(world, name, first, given, node, frame)


def _written_out(world: World, name: str, first: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Tensor | None:
    """A tensor made of numbers that the code writes down, or of rows that it pads."""
    if name in CONSTRUCTORS:
        return _of_values(world, first, node, frame)
    if name in FULL:
        fill = given.positional[1] if len(given.positional) > 1 else given.keywords.get("fill_value")
        value = world.integer(world.force(fill)) if fill else Unknown("it is filled with something open")
        made = (frame.step(builtin.expression(node)),)
        return Tensor(values=() if isinstance(value, Unknown) else (value,), constant=True, evidence=made)
    if name in CONSTANT:
        made = (frame.step(builtin.expression(node)),)
        return Tensor(values=(Integer.exact(CONSTANT[name]),), constant=True, evidence=made)
    if name in PADDERS:
        fill = given.keywords.get("padding_value") or (given.positional[2] if len(given.positional) > 2 else None)
        base = _of_values(world, first, node, frame)
        last = name.rpartition(".")[2]
        zero = Fill(Integer.exact(0), frame.step(builtin.expression(node)).where, HOW[last])
        return _filled(world, base, fill, node, frame, last) if fill else base.but(fills=(*base.fills, zero))
    if name in ("torch.randint", "torch.randint_like"):
        return _drawn(world, given)
    if name == "torch.arange":
        return _counted(world, given)
    return None


def _computed(world: World, name: str, first: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """A tensor made of other tensors."""
    last = name.rpartition(".")[2]
    if name == "torch.where" and len(given.positional) == 3:
        return _where(world, given, node, frame)
    if name in ("torch.argmax", "torch.multinomial", "torch.argmin", "torch.max", "torch.topk"):
        dim = given.keywords.get("dim") or (given.positional[1] if len(given.positional) > 1 else None)
        return _sample(world, first if isinstance(first, Tensor) else Tensor(), last, dim)
    if name in ("torch.cat", "torch.stack", "torch.concat", "numpy.concatenate", "numpy.stack"):
        return joins.joined(world, first, last, given)
    if name in (f"{F}.pad", "torch.nn.functional.pad"):
        return _padded(world, first, given, node, frame)
    if name == f"{F}.linear" and len(given.positional) > 1:
        made = _product(layers.linear(world, given.positional[1], 0), "F.linear", node, frame)
        return formats.product(made, node, frame, *map(world.force, given.positional[:2]))
    if name in PRODUCTS and len(given.positional) > PRODUCTS[name]:
        made = _product(layers.linear(world, given.positional[PRODUCTS[name]], -1), last, node, frame)
        return formats.product(made, node, frame, *map(world.force, given.positional[: PRODUCTS[name] + 1]))
    if name == "torch.einsum":
        return formats.product(layers.einsum(world, given), node, frame, *map(world.force, given.positional[1:]))
    if name in (f"{F}.one_hot", f"{F}.embedding"):
        return Tensor(Unknown(f"{last} makes the logits"))
    if last in SPLITS and isinstance(first, Tensor):
        return joins.split(world, first, last, replace(given, positional=given.positional[1:]), node, frame)
    if last in MOVERS and isinstance(first, Tensor):
        return _moved(world, first, last, replace(given, positional=given.positional[1:]))
    return None


def _product(layer: Layer | Unknown, name: str, node: ast.AST, frame: Frame) -> Tensor:
    raw = Activation(name, Form.LOGITS, frame.step(node)) if isinstance(node, ast.expr) else None
    return Tensor(layer, activation=raw)


def _sample(world: World, tensor: Tensor, how: str, dim: Thunk | None) -> Tensor:
    """A predicted class; a maximum along the first dimension finds a row."""
    layer = Unknown("some of the classes are shut out") if tensor.masked else tensor.layer
    place = world.force(dim) if dim is not None and how in RANKING else None
    if isinstance(place, Integer) and place.number == 0:
        layer = Unknown("the largest is looked for along the first dimension")
    return Tensor(sampled=True, layer=layer, lowest=Integer.exact(0) if how in COUNTED else None)


def _calculated(tensor: Tensor) -> Tensor:
    """A tensor whose numbers are changed: its ids are no longer those of a table, a prediction no longer a class."""
    return replace(tensor, ids=(), layer=CALCULATED if tensor.sampled else tensor.layer)


def _kept_by(name: str, thing: Thing) -> Thing:
    """What keeps the classes; only copies and moves keep what the numbers mean."""
    if isinstance(thing, Unknown):
        return thing
    tensor, last = activations.opened(thing), name.rpartition(".")[2]
    tensor = tensor if last in lookups.KEEPING else _calculated(tensor)
    if last in known_activations.BOUNDING:
        return unmarked(activations.bounded(tensor))
    same = name in known_activations.SAME_FUNCTIONS or name in known_activations.SAME_MODULES
    return _same(tensor, last) if same else tensor.but()


def _same(tensor: Tensor, last: str) -> Tensor:
    """A copy, a cast or a move that leaves each number what it was; a new dimension may push the second one on."""
    pushes = last in ("unsqueeze", "expand", "expand_as", "view_as", "reshape_as")
    return tensor.but(activation=activations.along(tensor, lambda axis: axis if axis == -1 or not pushes else None))


def _of_values(world: World, thing: Thing, node: ast.AST, frame: Frame) -> Tensor:
    """A tensor made of what a sequence holds."""
    if isinstance(thing, Tensor):
        return thing
    if isinstance(thing, Repeated):
        row = world.force(thing.element)
        return row if isinstance(row, Tensor) else Tensor()
    if isinstance(thing, Items) and thing.whole and len(thing.elements) <= MOST_WEIGHTS:
        numbers = [builtin.number(world.force(each)) for each in thing.elements]
        if None not in numbers:
            weights = tuple(number for number in numbers if number is not None)
            return Tensor(weights=weights, ids=lookups.of_comprehension(world, thing))
    return Tensor()


def _shaped(tensor: Tensor, first: Thing, given: Arguments) -> Tensor:
    """A tensor made with its sizes: ``torch.empty(classes, width)``, or in a tuple."""
    sizes = first.elements if isinstance(first, Items) and first.whole else given.positional
    return tensor.but(sizes=() if given.stars else sizes)


def _drawn(world: World, given: Arguments) -> Tensor:
    """``randint(high, size)`` and ``randint(low, high, size)``: every number from low to high - 1 is an answer."""
    placed = [end for end in map(world.force, given.positional) if not isinstance(end, Items)][:2]
    named = [world.force(given.keywords[name]) for name in ("low", "high") if name in given.keywords]
    numbers = [world.integer(end) for end in (*placed, *named)]
    low = numbers[0] if len(numbers) == 2 else Integer.exact(0)
    high = numbers[-1] if numbers else Unknown("nothing is given")
    if isinstance(low, Unknown) or isinstance(high, Unknown):
        return Tensor()
    return Tensor(lowest=low, highest=high - Integer.exact(1), drawn=True)


def _counted(world: World, given: Arguments) -> Tensor:
    """``arange(stop)`` and ``arange(start, stop)``: every number from the first on; as data, a stand-in for others."""
    ends = [world.integer(world.force(each)) for each in given.positional]
    start = ends[0] if len(ends) > 1 else Integer.exact(0)
    if len(ends) not in (1, 2) or isinstance(start, Unknown) or {"start", "end", "step"} & set(given.keywords):
        return Tensor()
    stop = ends[-1]
    highest = None if isinstance(stop, Unknown) else stop - Integer.exact(1)
    return Tensor(lowest=start, highest=highest, drawn=True, ascending=True)


def _filled(world: World, base: Tensor, fill: Thunk, node: ast.AST, frame: Frame, how: str) -> Tensor:
    value = world.integer(world.force(fill))
    if isinstance(value, Unknown):
        return base
    fills = () if how in MASKING and _marks(value) else base.fills if how not in MASKING else unmarked(base).fills
    base = base if how not in MASKING or _marks(value) else base.but(ids=())
    how = HOW.get(how, f"filled by {how} with")
    return base.but(fills=(*fills, Fill(value, fill.frame.module.span(fill.node), how)))


def _where(world: World, given: Arguments, node: ast.AST, frame: Frame) -> Tensor:
    """Both sides are values if both are numbers; a number beside a tensor fills it."""
    sides = [world.force(each) for each in given.positional[1:]]
    numbers = [side for side in sides if isinstance(side, Integer)]
    if len(numbers) == 2:
        return Tensor(values=tuple(numbers), evidence=(frame.step(builtin.expression(node)),))
    tensor = next((side for side in sides if isinstance(side, Tensor)), Tensor()).but()
    tensor = tensor if len(numbers) == 1 and not tensor.sampled else _calculated(tensor)
    for side, thunk in zip(sides, given.positional[1:], strict=True):
        if isinstance(side, Integer):
            fills = () if _marks(side) else unmarked(tensor).fills
            tensor = tensor.but(fills=(*fills, Fill(side, thunk.frame.module.span(thunk.node), HOW["where"])))
    return tensor


def _padded(world: World, first: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """``F.pad`` adds constant classes or rows: the layer stays what it is.

    A fixed count of rows is an answer, not padding.
    """
    first = first.but() if isinstance(first, Tensor) else Tensor()
    value = given.keywords.get("value") or (given.positional[3] if len(given.positional) > 3 else None)
    amounts = world.force(given.positional[1]) if len(given.positional) > 1 else None
    if value is None or not isinstance(amounts, Items):
        return first
    known = [world.force(each) for each in amounts.elements]
    fixed = [each.number for each in known if isinstance(each, Integer) and each.number is not None]
    if len(fixed) < len(known):
        return _filled(world, first, value, node, frame, "pad")
    number = world.integer(world.force(value))
    appended = any(amount > 0 for amount in fixed[1::2]) and isinstance(first.layer, Unknown)
    if not appended or isinstance(number, Unknown):
        return first
    step = frame.step(builtin.expression(node))
    return first.but(appended=(*first.appended, number), evidence=(*first.evidence, step))


# Calls of library objects


def apply(world: World, built: Built, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """A library's module is called: a layer makes logits, a container passes them through, an activation keeps them."""
    assert isinstance(built.what, External)
    name = built.what.name
    if name in torch.LAYERS:
        made, raw = layers.layer(world, built), factories.raw(built)
        return Tensor(made, torch.LAYERS[name][1], activation=raw, format=Made(built, node, frame))
    if name in torch.KEEPS_CLASSES or name in ("torch.nn.Flatten", "torch.nn.Unflatten"):
        before = world.force(given.positional[0]) if given.positional else Tensor()
        passed = _passed_on(world, built, before)
        if name in known_activations.MODULES and isinstance(passed, Tensor):
            passed = formats.softened(world, None, passed, node, frame)
        return formats.after(world, built.name, Arguments(), node, frame, before, passed)
    if name == "torch.nn.Sequential":
        return formats.inside(_through(world, built, given, node, frame), Made(built, node, frame))
    if name == "torch.nn.Embedding":
        return Tensor(Unknown("an embedding makes it"))
    found = factories.apply(world, built, given, node, frame)
    if found is not None:
        return found
    why = Unknown(f"what {built.label or built.name} returns is not known", built.label)
    origin, format = f"{id(built.node)}()@{id(node)}#{frame.number}", Made(built, node, frame)
    return Opaque(f"{built.label or built.name}()", origin, why, node=node, format=format)


def _passed_on(world: World, built: Built, thing: Thing) -> Thing:
    """Behind a module that keeps the classes, or moves them out of sight."""
    assert isinstance(built.what, External)
    if built.what.name in known_activations.MODULES:
        return _behind(world, built, activations.opened(thing))
    if built.what.name in torch.KEEPS_CLASSES:
        return _kept_by(built.what.name, thing)
    tensor = thing if isinstance(thing, Tensor) else Tensor()
    return tensor.but(dim=None, activation=activations.along(tensor, lambda _: None))


def _behind(world: World, built: Built, tensor: Tensor) -> Tensor:
    """``nn.Softmax(dim=1)(x)``; the line that makes the module says what it does."""
    assert isinstance(built.what, External)
    made = built.arguments or Arguments()
    dim = made.keywords.get("dim") or (made.positional[0] if made.positional else None)
    if built.what.name == "torch.nn.Softmax2d":
        dim = Thunk(ast.Constant(1), built.frame, Integer.exact(1))
    word = known_activations.MODULES[built.what.name]
    return activations.by_module(world, tensor, word, dim, built.node, built.frame)


def _through(world: World, built: Built, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """``Sequential`` from its end: the last member that makes classes decides."""
    members = _members(world, built)
    if members is None:
        return Tensor(Unknown(f"the members of {built.label or 'the Sequential'} are not written out", built.label))
    start = _last_layer(world, members)
    value: Thing = Tensor()
    if start is None and given.positional:
        value = world.force(given.positional[0])
    for place, member in enumerate(members):
        if start is not None and place < start:
            continue
        inner = world.force(member)
        if place < len(members) - 1 and not _keeps_after(world, members[place + 1 :]):
            value = Tensor()
            continue
        thunk = Thunk(builtin.expression(node), frame, value)
        value = world.call(
            inner,
            Arguments((thunk,)),
            node,
            replace(frame, number=world.workspace.number("member", place, id(built.node), frame.number)),
        )
    return value


def _last_layer(world: World, members: list[Thunk]) -> int | None:
    """The place of the last layer of a library: what it makes does not depend on what comes before it."""
    for place in reversed(range(len(members))):
        inner = world.force(members[place])
        if isinstance(inner, Built) and inner.what.name in torch.LAYERS:
            return place
    return None


def _keeps_after(world: World, members: list[Thunk]) -> bool:
    """Whether everything that follows passes classes through, so that this member's classes matter."""
    for member in members:
        inner = world.force(member)
        name = inner.what.name if isinstance(inner, Built) else ""
        if name not in torch.KEEPS_CLASSES and name not in ("torch.nn.Flatten", "torch.nn.Unflatten"):
            return False
    return True


def _members(world: World, built: Built) -> list[Thunk] | None:
    """The modules of a container in the order in which they run; what stands before a known rear is open."""
    held = builtin.contents(world, built)
    match held:
        case Entries(whole=True):
            return [value for _, value in held.pairs]
        case Items(whole=True):
            return list(held.elements)
        case Items(rear=(_, *_)):
            before = Unknown(f"the first members of {built.label or built.name} are open", built.label)
            return [Thunk(held.node, held.frame, before), *held.rear]
        case Repeated():
            return [held.element]
    return None


def method_call(world: World, method: Method, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """A method of a library's object, of a container, of a tensor."""
    thing, name = method.thing, method.name
    match thing:
        case Built(what=External(name=opened)) if opened == files.OPENED.name and name in files.READS:
            return thing
        case Built(what=External(name=reader)) if reader in settings.READERS and name == "load" and given.positional:
            return settings.loaded(world, world.force(given.positional[0]), "yaml", "load", node, frame)
        case Constant(value=str()) if (path := files.method(world, thing, name, given, node, frame)) is not None:
            return path
        case Built(what=what) if what is weights.TENSOR and name == "size":
            return weights.size(world, thing, given)
        case Built() if (found := registries.asked(world, thing, name, given, node, frame)) is not None:
            return found
        case Built(what=External(name="torch.nn.ModuleDict")) if name in ("items", "values", "keys"):
            held = builtin.contents(world, thing)
            found = builtin.method(world, held, name, given, node, frame) if isinstance(held, Entries) else None
            if found is not None:
                return found
        case Built(what=External() as what):
            if name in torch.SELF_METHODS:
                return thing
            if (what.name, name) in torch.PREPARING and given.positional:
                first = given.positional[0]
                return world.force(first) if len(given.positional) == 1 else _all(given, node, frame)
            if name == "forward":
                return world.call(thing, given, node, frame)
            if what.name in command_line.PARSERS and name in ("parse_args", "parse_known_args"):
                return command_line.namespace(thing, node, frame)
        case Class():
            return pretrained.made(world, thing, name, given, node, frame)
        case Built(what=Class()):
            if name in torch.SELF_METHODS:
                return thing
        case Tensor():
            return _tensor_method(world, thing, name, given, node, frame)
        case Method(name="weight") if name in ("t", "transpose"):
            return Method(thing, name)
        case Opaque() | Unknown() if name in activations.OPEN_METHODS and activations.is_method(world, name, given):
            why = thing if isinstance(thing, Unknown) else _open_logits(thing)
            open_one = Tensor(why, None, format=formats.known(thing))
            soft = activations.by_method(world, open_one, name, given, node, frame)
            return formats.after(world, name, Arguments(), node, frame, open_one, soft)
        case Unknown():
            return thing
        case Opaque() if name in OF_TENSORS or name in CASTING:
            found = _of_opaque(world, thing, name, given, node, frame)
            return formats.after(world, name, given, node, frame, thing, found) if thing.format is not None else found
        case Entries() if name == "get" and len(given.positional) == 1:
            return choices.entry(world, thing, world.force(given.positional[0]), node, frame)
        case Entries() | Items() | Constant():
            ids = lookups.by_method(world, thing, name, given, node, frame)
            found = ids if ids is not None else builtin.method(world, thing, name, given, node, frame)
            if found is not None:
                return found
    return _answer(world, thing, name, given, node, frame)


def _all(given: Arguments, node: ast.AST, frame: Frame) -> Items:
    """What is handed in comes back, in its order."""
    return Items(given.positional, builtin.expression(node), frame, whole=not given.stars)


def _answer(world: World, thing: Thing, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Opaque:
    """What an unknown method returns: the same thing each time only where the same strings ask the same object."""
    label = thing.label or thing.name if isinstance(thing, Built) else getattr(thing, "name", "it")
    who = f"{id(thing.node)}#{thing.frame.number}" if isinstance(thing, Built) else f"@{id(node)}"
    why = Unknown(f"what {label}.{name}() returns is not known")
    texts = tuple(
        each.value
        for thunk in given.positional
        if isinstance(each := world.force(thunk), Constant) and isinstance(each.value, str)
    )
    key = ",".join(texts) if texts and len(texts) == len(given.positional) else f"@{id(node)}#{frame.number}"
    return Opaque(
        f"{label}.{name}({key if texts else ''})",
        f"{who}.{name}({key})",
        why,
        least(name),
        node,
        (*texts, name) if texts else (),
    )


def _is_padding(world: World, mask: Thunk, value: Thunk) -> bool:
    """Whether a masked write marks padding: the mask or the value says so."""
    said = f"{mask.frame.step(mask.node).text} {value.frame.step(value.node).text}" if mask.frame.module else ""
    known = world.force(value)
    names = known.names if isinstance(known, Integer) else ()
    negative = isinstance(known, Integer) and known.maximum is not None and known.maximum < 0
    words = {word for text in (said, *names) for word in re.split(r"[^a-z]+", text.lower())}
    return negative or bool(words & {"pad", "padding", "padded", "ignore", "ignored", "void", "prompt", "valid"})


def _of_opaque(world: World, thing: Opaque, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """A tensor's method on something open: what it marks is known all the same."""
    if name in (
        "masked_fill",
        "masked_fill_",
        "fill_",
        "argmax",
        "argmin",
        "multinomial",
        "new_full",
        "new_zeros",
        "new_ones",
    ):
        opened = Tensor(_open_logits(thing), None, evidence=thing.evidence, format=thing.format)
        return _tensor_method(world, opened, name, given, node, frame)
    return thing


def _open_logits(thing: Opaque) -> Unknown:
    return Unknown(f"the logits come from {thing.name}: {thing.why.reason}", thing.why.settle)


def written(world: World, tensor: Tensor, binding: Binding, frame: Frame, use: ast.AST) -> Tensor:
    """A tensor after the writes ``name[...] = value`` and ``name.masked_fill_(...)`` between its definition and a use.

    A number written over a part of data marks that part. Data written over a part of a constant tensor leaves the
    constant as padding. Numbers written into a constant tensor are drawn, and are answers like the rest.
    """
    first, last = getattr(binding.node, "lineno", 0), getattr(use, "lineno", 0)
    for node, target, value, whole in _writes(frame):
        if first < node.lineno <= last and dotted(target) == binding.name:
            number = world.evaluate(value, frame)
            if isinstance(number, Tensor) and not isinstance(number.layer, Unknown):
                tensor = tensor.but(layer=_written_layer(tensor, number.layer, node), values=(), constant=False)
            masked = tensor.masked or (isinstance(node, ast.Assign) and _shuts_out(node.targets[0]))
            tensor = tensor.but(lowest=None, highest=None, masked=masked)
            marks = isinstance(number, Integer) and _marks(number)
            tensor = tensor.but(fills=()) if marks else tensor.but(ids=())
            tensor = unmarked(tensor) if isinstance(number, Integer) else tensor
            if not whole:
                continue
            where = frame.module.span(node if isinstance(node, ast.Assign) else value)
            if isinstance(number, Integer) and tensor.constant:
                tensor = tensor.but(values=(*tensor.values, number))
            elif isinstance(number, Integer):
                tensor = tensor.but(fills=(*tensor.fills, Fill(number, where, "overwritten with")))
            elif tensor.constant:
                start = frame.module.span(binding.node)  # type: ignore[arg-type]
                fills = tuple(Fill(value, start, "padded with") for value in tensor.values)
                tensor = tensor.but(values=(), constant=False, fills=(*tensor.fills, *fills))
    return tensor


def _written_layer(tensor: Tensor, new: Layer, node: ast.stmt) -> Layer | Unknown:
    """The layer of a tensor after the output of a layer is written into it: a write makes nothing wider."""
    if isinstance(node, ast.Assign) and _shuts_out(node.targets[0]):
        return Unknown(f"only a part of the classes comes from {new.name}")
    return tensor.layer if isinstance(tensor.layer, Layer) else new


def unmarked(tensor: Tensor) -> Tensor:
    """A tensor whose negative marks something may have replaced: clamped, written over, computed with."""
    if not any(_marks(fill.value) for fill in tensor.fills):
        return tensor
    return replace(tensor, fills=tuple(fill for fill in tensor.fills if not _marks(fill.value)))


def _marks(number: Integer) -> bool:
    """A negative number is written where nothing is to be learned: what else fills the targets is covered by it."""
    return number.maximum is not None and number.maximum < 0


def _writes(frame: Frame) -> tuple[tuple[ast.stmt, ast.expr, ast.expr, bool], ...]:
    """The statements of a scope that write into something: each, into what, what, and whether into a stretch of it."""
    scope = frame.function or frame.module.tree
    known = frame.module.kept.get(("writes", scope))
    if isinstance(known, tuple):
        return known
    found: list[tuple[ast.stmt, ast.expr, ast.expr, bool]] = []
    for node in statements(scope):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=target, slice=place)], value=value):
                found.append((node, target, value, _is_stretch(place)))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr="masked_fill_"), args=[_, value])):
                found.append((node, target, value, True))
    known = tuple(found)
    frame.module.kept["writes", scope] = known
    return known


def _shuts_out(target: ast.expr) -> bool:
    """``logits[..., N:] = -inf`` may leave out the last classes."""
    match target:
        case ast.Subscript(slice=ast.Tuple(elts=[*_, ast.Slice(lower=lower, upper=upper)])):
            return lower is not None or upper is not None
    return False


def _is_stretch(place: ast.expr) -> bool:
    """Whether a subscript takes a stretch or a mask, not one element."""
    match place:
        case ast.Slice() | ast.Compare() | ast.UnaryOp(op=ast.Invert()) | ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
            return True
        case ast.Tuple(elts=parts):
            return any(_is_stretch(part) for part in parts)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return "mask" in name.lower()
    return False


def _tensor_method(world: World, tensor: Tensor, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    made = _of_tensor(world, tensor, name, given, node, frame)
    return formats.after(world, name.removesuffix("_"), given, node, frame, tensor, made)


def _of_tensor(world: World, tensor: Tensor, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    if name in ("masked_fill", "masked_fill_") and len(given.positional) == 2:
        mask, value = given.positional
        tensor = tensor.but(lowest=None, highest=None, masked=isinstance(tensor.layer, Layer))
        padded = _is_padding(world, mask, value)
        return _filled(world, tensor, value, node, frame, name) if padded else unmarked(tensor.but(ids=()))
    if name == "argmin" or name in torch.SAMPLING:
        dim = given.keywords.get("dim") or (given.positional[0] if given.positional else None)
        return _sample(world, tensor, name, dim)
    if name.removesuffix("_") in known_activations.METHODS:
        return activations.by_method(world, tensor, name.removesuffix("_"), given, node, frame)
    if name in torch.KEEPING_METHODS:
        kept = _kept_by_method(name, tensor if name in lookups.KEEPING else _calculated(tensor))
        return kept if name in SAME_SIZES or not kept.sizes else replace(kept, sizes=())
    if name in SPLITS:
        return joins.split(world, tensor, name, given, node, frame)
    if name in ("matmul", "mm", "bmm") and given.positional:
        made = Tensor(layers.linear(world, given.positional[0], -1))
        return formats.product(made, node, frame, tensor, world.force(given.positional[0]))
    if name == "size" and len(given.positional) == 1:
        return size(tensor, world.integer(world.force(given.positional[0])), node, frame)
    if name in ("item", "tolist") and (tensor.sampled or tensor.ids):
        return tensor
    if name in ("size", "dim", "shape", "numel", "item", "tolist"):
        return Method(tensor, name) if name == "shape" else opaque(f"tensor.{name}", node, frame)
    if name in ("fill_", "zero_") and (given.positional or name == "zero_"):
        number = world.integer(world.force(given.positional[0])) if given.positional else Integer.exact(0)
        return Tensor(values=() if isinstance(number, Unknown) else (number,), constant=True)
    if name == "new_full" and len(given.positional) > 1:
        number = world.integer(world.force(given.positional[1]))
        return Tensor(values=() if isinstance(number, Unknown) else (number,), constant=True)
    if name in ("new_zeros", "new_ones"):
        return Tensor(values=(Integer.exact(int(name == "new_ones")),), constant=True)
    return _moved(world, tensor, name, given)


def _kept_by_method(name: str, tensor: Tensor) -> Tensor:
    if name.removesuffix("_") in known_activations.BOUNDING:
        return unmarked(activations.bounded(tensor))
    return _same(tensor, name) if name.removesuffix("_") in known_activations.SAME_METHODS else tensor.but()


def turned(tensor: Tensor) -> Tensor:
    """``tensor.T``: its classes are out of sight."""
    return tensor.but(dim=None, sizes=tensor.sizes[::-1], activation=activations.along(tensor, lambda _: None))


def size(tensor: Tensor, place: Integer | Unknown, node: ast.AST, frame: Frame) -> Thing:
    """One size of a tensor: that of its class dimension is its layer's width."""
    at = place.number if isinstance(place, Integer) else None
    if at is not None and at == tensor.dim and not isinstance(tensor.layer, Unknown):
        return tensor.layer.classes
    return opaque("tensor.size", node, frame)


def _moved(world: World, tensor: Tensor, name: str, given: Arguments) -> Tensor:
    """Operations that move dimensions around; a class dimension out of sight stays as wide as it was."""
    is_turned = name in ("t", "mT", "transpose") and len(tensor.sizes) == 2
    tensor = tensor.but(sizes=tensor.sizes[::-1] if is_turned else ()) if tensor.sizes else tensor
    places = [world.force(each) for each in given.positional]
    numbers = [place.constant if isinstance(place, Integer) and place.number is not None else None for place in places]
    match name:
        case "transpose" | "swapaxes" | "swapdims" | "permute" | "movedim":
            activation = activations.along(tensor, lambda axis: _where_to(axis, name, numbers))
            return tensor.but(dim=_where_to(tensor.dim, name, numbers), activation=activation)
        case "view" | "reshape" if _splits(tensor, numbers):
            return tensor.but(layer=Unknown("the classes are split over two dimensions"))
        case "view" | "reshape":
            rows = len(places) == 2
            as_rows = rows and numbers[1] != -1
            activation = activations.along(tensor, lambda axis: axis if axis == -1 and as_rows else None)
            return tensor.but(dim=-1 if rows else None, activation=activation)
        case "flatten":
            whole = not numbers or numbers in ([0], [1], [0, -1], [1, -1])
            activation = activations.along(tensor, lambda axis: axis if axis == -1 and not whole else None)
            return tensor.but(dim=None if whole else tensor.dim, activation=activation)
        case "t" | "mT" | "rearrange":
            return tensor.but(dim=None, activation=activations.along(tensor, lambda _: None))
    layer = tensor.layer if isinstance(tensor.layer, Unknown) else Unknown(f"{name}() is not followed")
    return unmarked(tensor.but(layer=layer))


def _splits(tensor: Tensor, sizes: list[int | None]) -> bool:
    """``view(-1, 3, 10)`` of 30 outputs: three heads of ten classes each."""
    width = tensor.layer.classes.number if isinstance(tensor.layer, Layer) else None
    last = sizes[-1] if sizes else None
    return tensor.dim == -1 and width is not None and last not in (None, -1, width)


def _where_to(dim: int | None, name: str, numbers: list[int | None]) -> int | None:
    if dim is None or None in numbers:
        return None
    if name == "permute":
        return (
            1
            if dim == -1 and len(numbers) > 2 and numbers[1] in (len(numbers) - 1, -1)
            else (-1 if dim == 1 and numbers and numbers[-1] == 1 else None)
        )
    known = [number for number in numbers if number is not None]
    return {-1: 1, 1: -1}.get(dim) if 1 in known and (-1 in known or 2 in known) else None


def mixed(world: World, node: ast.BinOp, left: Thing, right: Thing, frame: Frame) -> Thing:
    """Arithmetic with a tensor: its classes stay, unless two layers meet; a number added moves its range."""
    if isinstance(node.op, ast.MatMult):
        made = Tensor(layers.linear(world, Thunk(node.right, frame, right), -1))
        return formats.product(made, node, frame, left, right)
    return formats.combined(_mixed(node.op, left, right), left, right)


def _mixed(op: ast.operator, left: Thing, right: Thing) -> Thing:
    if isinstance(left, Tensor) and isinstance(right, Integer) and isinstance(op, ast.Add | ast.Sub):
        return _shifted(left, right if isinstance(op, ast.Add) else -right)
    if isinstance(left, Integer) and isinstance(right, Tensor) and right.ids and isinstance(op, ast.Add):
        return _shifted(right, left)
    tensors = [each for each in (left, right) if isinstance(each, Tensor)]
    traced = [each for each in tensors if not isinstance(each.layer, Unknown)]
    if len(traced) == 2 and traced[0].layer != traced[1].layer:
        return traced[0].but(layer=Unknown("two layers are added"))
    if traced:
        return _calculated(traced[0]).but()
    fills = tuple(fill for each in tensors for fill in unmarked(each).fills)
    sizes = tensors[0].sizes if len(tensors) == 1 else ()
    return tensors[0].but(
        ids=(), values=(), appended=(), lowest=None, highest=None, weights=(), fills=fills, sizes=sizes
    )


def _shifted(tensor: Tensor, by: Integer) -> Tensor:
    ends = [None if end is None else end + by for end in (tensor.lowest, tensor.highest)]
    moved = tuple(value + by for value in tensor.values), tuple(value + by for value in tensor.appended)
    fills = tuple(replace(fill, value=fill.value + by) for fill in tensor.fills)
    ids = lookups.moved(tensor.ids, by)
    return _calculated(tensor).but(
        values=moved[0], appended=moved[1], lowest=ends[0], highest=ends[1], fills=fills, weights=(), ids=ids
    )
