"""What an expression can be worth: numbers (``value.Integer``), and the things that training code passes around."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from trainlint.facts import Activation, Dtype, Fill, Ids, Layer
from trainlint.record import field, replace, thing
from trainlint.source.summary import FunctionNode, Module
from trainlint.value import Integer, Step, Unknown

UNTRACED = Unknown("the logits are not traced to a layer")


@thing
class Frame:
    """One activation of a function, or a module's or a class's body: where names are looked up.

    ``arguments`` is None where nobody is known to call: then a parameter is open. ``receiver`` is what the first
    parameter of a method is bound to. ``local`` are the variables of one turn of a comprehension, ``home`` the frame
    without them, or those of one ``turn`` of a loop. ``entry`` is the call that opened it and where that stands, if one
    is known. Equal numbers mean the same activation.
    """

    module: Module
    function: FunctionNode | ast.ClassDef | None = None
    arguments: Arguments | None = None
    receiver: Thing | None = None
    outer: Frame | None = None
    number: int = 0
    local: Mapping[str, Thunk] = field(default_factory=dict)
    turn: Turn | None = None
    home: Frame | None = None
    entry: tuple[ast.AST, Frame] | None = None

    def step(self, node: ast.expr | ast.stmt) -> Step:
        return self.module.step(node)


@thing
class Turn:
    """One turn of a loop whose turns are all known: which, of what values, and the frame around the loop."""

    loop: ast.For
    place: int
    values: tuple[Thunk, ...]
    around: Frame


@thing
class Thunk:
    """An expression that nobody has asked for yet, and where to look up its names; or a thing that is already known.

    ``via`` is the ``**settings`` of a call that handed it on.
    """

    node: ast.expr
    frame: Frame
    known: Thing | None = None
    via: Thunk | None = None


@thing
class Arguments:
    """What a call passes: thunks by position and by name; ``open`` when a star hides some of it."""

    positional: tuple[Thunk, ...] = ()
    keywords: dict[str, Thunk] = field(default_factory=dict)
    stars: tuple[Thunk, ...] = ()
    double_stars: tuple[Thunk, ...] = ()

    def after(self, first: Arguments) -> Arguments:
        """These arguments behind those of a ``partial``."""
        return Arguments(
            (*first.positional, *self.positional),
            {**first.keywords, **self.keywords},
            (*first.stars, *self.stars),
            (*first.double_stars, *self.double_stars),
        )


@thing
class Constant:
    """A string, float, boolean, bytes or None."""

    value: object
    evidence: tuple[Step, ...] = ()
    assumed: tuple[Step, ...] = ()
    name: str = ""


@thing
class Items:
    """A tuple, list or set whose elements are written out; ``whole`` is False where more may come, of which
    ``rear`` are the last.
    """

    elements: tuple[Thunk, ...]
    node: ast.expr
    frame: Frame
    name: str = ""
    whole: bool = True
    mutable: bool = False
    rear: tuple[Thunk, ...] = ()


@thing
class Repeated:
    """A sequence whose elements are all made by one expression: a comprehension, ``[x] * n``, a loader's batches.

    ``start`` is the first number of a ``range``.
    """

    element: Thunk
    length: Integer | Unknown
    node: ast.expr
    start: int | None = None


@thing
class Later:
    """The keys of a dictionary that its own scope writes under one name, and where it was read (None: at the end).

    What stands under such a key is the write that reaches the reading.
    """

    name: str
    keys: tuple[str, ...]
    frame: Frame
    use: ast.AST | None


@thing
class Entries:
    """A dictionary whose keys are written out; ``whole`` is False where more may come.

    ``changed`` are the keys that something may have written over, ``later`` those whose writes can be followed.
    ``record`` says that its keys are attributes, and that its entries have places: a named tuple, a namespace.
    """

    pairs: tuple[tuple[Thunk, Thunk], ...]
    node: ast.expr
    frame: Frame
    name: str = ""
    whole: bool = True
    changed: frozenset[object] = frozenset()
    later: tuple[Later, ...] = ()
    record: bool = False


@thing
class TupleClass:
    """A class of named tuples, made by a call: the names of its fields, and the defaults of the last ones."""

    fields: tuple[str, ...]
    defaults: tuple[Thunk, ...]
    node: ast.AST
    frame: Frame


@thing
class File:
    """A module of the project."""

    module: Module


@thing
class External:
    """Something of a library, by its qualified name."""

    name: str


@thing
class Class:
    """A class of the project."""

    node: ast.ClassDef
    module: Module
    outer: Frame

    @property
    def name(self) -> str:
        return self.node.name


@thing
class Function:
    """A function of the project, bound to its receiver if it is a method; ``bare`` is what its decorators are given."""

    node: FunctionNode
    frame: Frame
    receiver: Thing | None = None
    owner: Class | None = None
    bare: bool = False

    @property
    def name(self) -> str:
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name


@thing
class Partial:
    """``functools.partial``: a callable with some arguments bound."""

    callable: Thing
    arguments: Arguments
    node: ast.Call
    frame: Frame


@thing
class Built:
    """An object: what was called to make it, and with what. ``arguments`` is None where the making was not seen."""

    what: Class | External
    arguments: Arguments | None
    node: ast.AST
    frame: Frame
    label: str = ""

    @property
    def name(self) -> str:
        return self.what.name.rpartition(".")[2]


@thing
class Method:
    """A method of a thing that the project did not write."""

    thing: Thing
    name: str


@thing
class Cast:
    """A tensor whose numbers were put into a format by a line of code; Unknown where the line does not say which."""

    dtype: Dtype | Unknown
    steps: tuple[Step, ...]


@thing
class Made:
    """A tensor whose numbers are in the format in which something computes: a module, or a product of matrices.

    ``module`` was called by ``node`` in ``frame``; None stands for the module whose method that is. ``like`` is the
    format of what went in, where that decides. ``promoted`` says that an operation came after it which a region of
    mixed precision computes in 32 bits.
    """

    module: Thing | None
    node: ast.AST
    frame: Frame
    like: Format | None = None
    promoted: bool = False


Format = Cast | Made


@thing
class Softened:
    """The call by which a tensor became probabilities or their logarithms, and the format in which it was computed."""

    format: Format | None
    node: ast.AST
    frame: Frame


@thing
class Tensor:
    """A tensor, as far as classes and targets go.

    ``layer`` made its classes and ``dim`` is where they are (-1 the last dimension, 1 the channels, None moved out of
    sight). ``values`` are what its real entries take, ``lowest`` and ``highest`` bound them where both are known,
    ``appended`` closes each row, ``weights`` are the numbers it was written out with, ``fills`` what pads or masks it.
    ``sizes`` are its dimensions where it was made with them written down. ``sampled`` says that its entries are
    predicted classes, ``constant`` that it was made of one value and nothing was written into it yet. ``activation`` is
    what gave its numbers their meaning; None where nobody knows. ``ids`` are the tables in which all its entries were
    looked up; ``ascending`` says that they are the numbers from the lowest on, ``masked`` that some of the classes may
    have been shut out. ``format`` says in which numbers it is, ``softened`` in which the activation was computed.
    """

    layer: Layer | Unknown = UNTRACED
    dim: int | None = -1
    values: tuple[Integer, ...] = ()
    lowest: Integer | None = None
    highest: Integer | None = None
    weights: tuple[float, ...] = ()
    appended: tuple[Integer, ...] = ()
    fills: tuple[Fill, ...] = ()
    sampled: bool = False
    constant: bool = False
    drawn: bool = False
    activation: Activation | None = None
    ids: tuple[Ids, ...] = ()
    masked: bool = False
    ascending: bool = False
    evidence: tuple[Step, ...] = ()
    sizes: tuple[Thunk, ...] = ()
    format: Format | None = None
    softened: Softened | None = None

    def but(self, **changes: object) -> Tensor:
        """The tensor after an operation; what its numbers mean is gone unless ``changes`` says otherwise."""
        return replace(self, **{"activation": None, **changes})  # type: ignore[arg-type]


@thing
class Opaque:
    """An object that nobody settled, but that is itself wherever it goes: an open parameter, a library's result.

    ``origin`` tells it from others of the same name; as a number it is the symbol of that origin. ``mapped`` are the
    functions that make its rows, if it is a library's dataset. ``format`` says in which numbers it is, if it is a
    tensor. ``loaded`` is the call that loads it out of the project, if it is a tokenizer or a method of one.
    """

    name: str
    origin: str
    why: Unknown
    minimum: int | None = None
    node: ast.AST | None = None
    words: tuple[str, ...] = ()
    evidence: tuple[Step, ...] = ()
    mapped: tuple[Thunk, ...] = ()
    format: Format | None = None
    loaded: Built | None = None


Thing = (
    Integer | Constant | Items | Repeated | Entries | TupleClass | File | External | Class | Function | Partial | Built
    | Method | Tensor | Opaque | Unknown
)  # fmt: skip


@thing
class Binding:
    """A statement, comprehension or handler that binds a dotted name; ``name`` may be a prefix of what was asked.

    ``earlier`` is the loop of which the turn before did it.
    """

    name: str
    node: ast.AST
    earlier: ast.stmt | None = None


def evidence(thing: Thing) -> tuple[Step, ...]:
    """The lines behind a thing, where it keeps them."""
    return thing.evidence if isinstance(thing, Integer | Constant | Tensor | Opaque) else ()


def backed(thing: Thing, *steps: Step) -> Thing:
    """The same thing with more lines behind it."""
    match thing:
        case Integer():
            return thing.because(*steps)
        case Constant() | Tensor() | Opaque():
            return replace(thing, evidence=tuple(dict.fromkeys((*thing.evidence, *steps))))
    return thing


def identity(thing: Thing | None) -> tuple[int, int]:
    """What tells one object from another, the same in every run of one evaluation."""
    match thing:
        case Built():
            return id(thing.node), thing.frame.number
        case Class():
            return id(thing.node), thing.outer.number
    return 0, 0
