"""What a model is taught: its classes, the targets of its losses, and what the losses leave out."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cached_property

from trainlint.facts.fact import Fact, Unjudged
from trainlint.record import field, record, replace
from trainlint.span import Span
from trainlint.value import Integer, Position, Proof, Role, Step, Table, Unknown


@record
class Layer:
    """The layer that makes the logits: its name as the reader knows it, and how many classes it emits.

    ``measured`` says that the number was read off the logits themselves: whatever depends on it moves with it.
    """

    name: str
    classes: Integer
    where: Span
    measured: bool = False

    @property
    def evidence(self) -> tuple[Step, ...]:
        """The lines that show how many classes it emits; its own line is one of them."""
        if any((step.where.path, step.where.cell, step.where.row) == self._line for step in self.classes.evidence):
            return self.classes.evidence
        return (*self.classes.evidence, Step(f"{self.name} emits {self.classes} classes", self.where))

    @property
    def _line(self) -> tuple[str, int | None, int]:
        return self.where.path, self.where.cell, self.where.row


@record
class Job:
    """What the project makes of one class index: its role, how that is known, and the lines that show it.

    ``label`` is what the project calls the class: a name (``stop_id``) or the entry of its table, without quotes.
    """

    role: Role
    proof: Proof
    label: str
    evidence: tuple[Step, ...]

    @property
    def title(self) -> str:
        """The class as a sentence names it: an entry of a table in quotes, a name as the code spells it."""
        return repr(self.label) if self.proof is Proof.TABLE else self.label

    @property
    def lesson(self) -> str:
        """What a target of this class shows to the model."""
        shown = {Role.END: "a stop", Role.BLANK: "a blank", Role.NO_OBJECT: "an empty place"}
        return shown.get(self.role, self.title)


@record
class Fill:
    """A value written into targets where there is no answer: padding, a masked prompt.

    ``how`` completes "targets are ... 0": ``padded by pad_sequence with``, ``overwritten with``; it begins with
    ``padded`` where the operation itself is padding. ``built`` is the construction of the wrapper whose own default
    decides what the loss skips. A loss that is masked or weighted by hand has no fills. ``first`` says that it stands
    before the answers, ``cut`` that the end is cut off behind it, so that no answer may be left.
    """

    value: Integer
    where: Span
    how: str
    built: Span | None = None
    first: bool = False
    cut: bool = False


@record
class Ids:
    """Class ids that are looked up in a table of labels, each moved by ``offset``."""

    table: Table
    where: Span
    offset: int = 0

    @property
    def is_counted(self) -> bool:
        """Whether every number from 0 on is the id of a label: else the table may be a part of another."""
        return self.table.is_counted and self.offset == 0


@record
class Targets:
    """What is known of the targets: the values that real answers take, and what fills the rest.

    ``values`` are all that a label map gives, ``appended`` what closes each row as one answer more.
    ``lowest`` and ``highest`` are the first and the last real answer where the code shows both and every number between
    them is one (argmax, randint, a label map). ``evidence`` are the lines that show ``values`` and the range;
    ``drawn`` says that the range is that of random numbers, which stand in for data and prove only what they leave out.
    ``ids`` are the tables in which every answer is looked up, where that is known of all; ``constant`` says that they
    were made of one value, and that answers were written over it one by one at most.
    """

    values: tuple[Integer, ...] = ()
    appended: tuple[Integer, ...] = ()
    lowest: Integer | None = None
    highest: Integer | None = None
    fills: tuple[Fill, ...] = ()
    evidence: tuple[Step, ...] = ()
    drawn: bool = False
    ids: tuple[Ids, ...] = ()
    constant: bool = False


@record
class Loss(Fact):
    """A cross-entropy over class indices: its logits' layer, the index it skips, and its targets.

    ``job`` is asked for where the skipped index may be a class; None says that the project gives it none. ``inside``
    names the library model that computes the loss itself, ``twin`` a layer of the project for which the same number is
    a class. ``trains`` is False where no gradient can come of it: an evaluation. ``end_of_texts`` is the job of a
    tokenizer's padding token that is its end token: a class of any layer. ``by_hand`` says that the function leaves the
    targets out by a comparison, before the loss or after it, and the loss itself skips nothing. ``is_settled`` says
    that the index itself tells on every path, those that were not followed to a layer included, that no class is lost.
    ``left`` is why there are paths on which nothing is known of it.
    """

    function: str
    layer: Layer | Unknown
    ignore_index: Integer | Unknown
    is_default: bool
    job: Job | Unknown | None
    targets: Targets | Unknown
    inside: str = ""
    twin: Layer | None = None
    trains: bool = True
    end_of_texts: Job | None = None
    by_hand: bool = False
    is_settled: bool = False
    left: Unknown | None = None

    @cached_property
    def position(self) -> Position | Unknown:
        """Where the skipped index stands against the classes of the layer."""
        return _position(self.ignore_index, self.layer)

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether the index is a class, or what the class is for."""
        if self.end_of_texts is None and not self.is_settled:
            yield from _open(self, "does the loss skip a class", self.left or self.position, self.job)

    def given_up(self, why: Unknown) -> Fact:
        """The same loss, its layer not followed, beside paths on which nothing of it was."""
        return replace(self, layer=why, branch=(), left=why)

    def by_itself(self) -> Fact:
        """The same loss, judged by its index alone."""
        return replace(self, is_settled=True)

    def elsewhere(self, why: Unknown) -> Fact:
        """The same call where it is no loss that is known."""
        return replace(self, ignore_index=why, layer=why, job=None, targets=why)


@record
class Metric(Fact):
    """A metric over class indices that skips one of them.

    ``declared`` is the class count the metric was given, ``layer`` the layer whose output it is shown.
    """

    function: str
    declared: Integer | Unknown
    layer: Layer | Unknown
    ignore_index: Integer | Unknown
    job: Job | Unknown | None

    @cached_property
    def position(self) -> Position | Unknown:
        """Where the index stands against the classes of the layer."""
        return _position(self.ignore_index, self.layer)

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether the index is a class, or what the class is for."""
        yield from _open(self, "does the metric skip a class", self.position, self.job)

    def given_up(self, why: Unknown) -> Fact:
        """The same metric, its layer not followed."""
        return replace(self, layer=why, branch=())

    def elsewhere(self, why: Unknown) -> Fact:
        """The same call where it is no metric that is known."""
        return replace(self, ignore_index=why, layer=why, job=None)


@record
class CtcLoss(Fact):
    """A CTC loss: the layer that makes its log-probabilities, its blank, and the symbol that owns the blank's id.

    ``is_settled`` says that the blank itself tells on every path that it is no symbol, ``left`` why there are paths on
    which nothing is known of it.
    """

    function: str
    layer: Layer | Unknown
    blank: Integer | Unknown
    is_default: bool
    job: Job | Unknown | None
    is_settled: bool = False
    left: Unknown | None = None

    @cached_property
    def position(self) -> Position | Unknown:
        """Where the index stands against the classes of the layer."""
        return _position(self.blank, self.layer)

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether the index is a class, or what the class is for."""
        if not self.is_settled:
            yield from _open(self, "is the blank a symbol", self.left or self.position, self.job)

    def given_up(self, why: Unknown) -> Fact:
        """The same loss, its layer not followed, beside paths on which nothing of it was."""
        return replace(self, layer=why, branch=(), left=why)

    def by_itself(self) -> Fact:
        """The same loss, judged by its blank alone."""
        return replace(self, is_settled=True)

    def elsewhere(self, why: Unknown) -> Fact:
        """The same call where it is no loss that is known."""
        return replace(self, blank=why, layer=why, job=None)


class Form(Enum):
    """What one number of a model's output means."""

    LOGITS = "raw scores"
    PROBABILITIES = "probabilities"
    LOG_PROBABILITIES = "log-probabilities"


@record
class Activation:
    """The last thing that gave a tensor's numbers their meaning: a softmax, a sigmoid, or a layer that nothing follows.

    ``name`` is how the reader knows it (``softmax``, ``the log of softmax``, a layer's name), ``step`` its line.
    ``axis`` is the dimension along which the numbers sum to one (-1 the last, 1 the second); None where each number
    stands for itself. ``inner`` is the expression that it is applied to, in its line; ``is_made`` says that its line
    makes a module instead. ``word`` is where the line says ``softmax`` or ``Softmax``, behind a dot.
    """

    name: str
    form: Form
    step: Step
    axis: int | None = None
    inner: Span | None = field(default=None, kw_only=True)
    is_made: bool = field(default=False, kw_only=True)
    word: Span | None = field(default=None, kw_only=True)

    @property
    def is_layer(self) -> bool:
        """Whether these are a layer's own numbers, through no activation at all."""
        return self.form is Form.LOGITS


@record
class LossInput(Fact):
    """A loss that says what its input must be, and what reaches it.

    ``several`` is False for a loss that judges each number by itself (binary), True for one over classes. ``classes``
    is how many there are, where that is known. ``arms`` are the branches taken between the layer and the loss.
    ``beside`` are the other losses of which the same holds. ``word`` is where the code names the loss, behind a dot.
    """

    function: str
    wants: Form
    several: bool
    reaches: Activation | Unknown
    classes: int | None = None
    arms: tuple[Step, ...] = field(default=(), compare=False, kw_only=True)
    beside: tuple[Step, ...] = field(default=(), kw_only=True)
    word: Span | None = field(default=None, kw_only=True)

    @property
    def is_chosen(self) -> bool:
        """Whether a branch that the code leaves open decides what reaches the loss."""
        return not set(self.arms).isdisjoint(self.branch)

    def unjudged(self) -> Iterator[Unjudged]:
        """What reaches the loss."""
        if isinstance(self.reaches, Unknown):
            yield Unjudged(self.call, "is the input what the loss wants", self.reaches)

    def given_up(self, why: Unknown) -> Fact:
        """The same loss, its input not followed."""
        return replace(self, reaches=why, branch=())


@record
class Alias:
    """Why the token that masks labels is the one that ends a text.

    ``itself`` says that the code masks by the end token under its own name, ``by_name`` that only the spelling of the
    token shows it. ``condition`` are the tests under which padding becomes the end token, where only some runs pass.
    """

    evidence: tuple[Step, ...]
    condition: tuple[Step, ...] = ()
    itself: bool = False
    by_name: bool = False


@record
class LabelMask(Fact):
    """Labels that are masked wherever they equal one token.

    ``by`` is the library's collator that does it, empty where the project compares by hand; ``token`` is what the code
    calls the token, ``end`` why it ends a text. ``ended`` are the lines by which every text ends in the end token,
    ``spared`` those that show why none may be lost: rows cut out of one stream, a chat format with another stop.
    ``unended`` are the lines that make ids of texts, where it is seen that no end token is put behind them.
    """

    by: str
    token: str
    end: Alias | Unknown
    ended: tuple[Step, ...] = ()
    spared: tuple[Step, ...] = ()
    unended: tuple[Step, ...] = ()

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether the token ends a text."""
        if isinstance(self.end, Unknown):
            yield Unjudged(self.call, "does the mask erase the end of each text", self.end)

    def given_up(self, why: Unknown) -> Fact:
        """What one path shows stands, as what one of several shows; else the same mask, its token not followed."""
        if isinstance(self.end, Alias):
            return replace(self, everywhere=False)
        return replace(self, end=why, branch=())


@record
class Embedding(Fact):
    """An embedding that is given a padding index: the row that stays zero and is never learned.

    ``layer`` counts its rows; ``job`` is what the project makes of the id, asked for where the id is one of the rows.
    """

    layer: Layer | Unknown
    padding_idx: Integer | Unknown
    job: Job | Unknown | None

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether the padding index is a real id."""
        position = _position(self.padding_idx, self.layer)
        yield from _open(self, "is the padding index the id of a symbol", position, self.job)


class Service(Enum):
    """How it is known that a layer serves a table of labels."""

    TARGETS = "its targets are looked up in"
    PREDICTIONS = "what it predicts is looked up in"
    SENTINEL = "its padding is an entry of"


@record
class LabelledLayer(Fact):
    """A layer and the table of labels that it serves, both at the place where the layer is made.

    ``shown`` are the lines that prove the service; ``beside`` are other ids that its targets take, known only where
    every target is known. ``spare`` is where the project names a class of the layer that no label has; looked for where
    there are one or two such classes.
    """

    layer: Layer | Unknown
    table: Table
    service: Service
    shown: tuple[Step, ...]
    beside: tuple[Integer, ...] = ()
    spare: tuple[Step, ...] = ()

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether the layer has a class for each label."""
        why = self.layer
        if isinstance(why, Layer):
            count = why.classes
            settle = ", ".join(sorted({symbol.name for symbol, _ in count.terms}))
            why = Unknown(f"{count} classes against {self.table.size} labels is open", settle)
            if count.number is not None:
                return
        yield Unjudged(self.call, "does the layer have a class for each label", why)


@record
class ReservedClass(Fact):
    """A head that keeps one class for what is no object, and an object's label that takes it, or finds no class.

    ``reserved`` is what the class is kept for, ``index`` the id of ``label`` and ``classes`` how many the head has, the
    reserved one included. ``argument`` is the label, fill or width that clashes.
    """

    head: str
    reserved: str
    label: str | Unknown
    classes: Integer
    index: int = 0
    shown: tuple[Step, ...] = ()

    @property
    def is_outside(self) -> bool:
        """Whether the label has no class at all."""
        return self.classes.number is not None and self.index >= self.classes.number

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether the labels leave the class alone."""
        if isinstance(self.label, Unknown):
            yield Unjudged(self.call, f"do the labels leave out the {self.reserved}", self.label)


@record
class Relabelling(Fact):
    """A collator that makes ``labels`` anew from the ids of each row.

    ``by`` names it, ``rebuilt`` is where it does so if the project wrote it, ``masked`` are the lines by which the rows
    bring labels of their own in which a part is masked.
    """

    by: str
    rebuilt: tuple[Step, ...]
    masked: tuple[Step, ...] | Unknown

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether the rows bring masked labels."""
        if isinstance(self.masked, Unknown):
            yield Unjudged(self.call, "does the collator overwrite masked labels", self.masked)


@record
class StopCheck(Fact):
    """A test that ends decoding when a sampled token is one symbol, which the project writes nowhere.

    ``symbol`` is what the code calls it. ``rows`` are the lines that make the rows of training data, which hold other
    symbols only; Unknown where a row may carry the symbol from elsewhere.
    """

    symbol: str
    number: Integer
    rows: tuple[Step, ...] | Unknown

    def unjudged(self) -> Iterator[Unjudged]:
        """Whether any target is the stop."""
        if isinstance(self.rows, Unknown):
            yield Unjudged(self.call, "is the stop ever a target", self.rows)


@record
class LabelShift(Fact):
    """How far labels are moved against the inputs of a model that says the next token.

    ``by_data`` counts the steps of the data or of the loss written by hand, ``by_model`` those inside of ``model``.
    One step in all is right.
    """

    model: str
    by_data: Integer
    by_model: int
    evidence: tuple[Step, ...]


@record
class UnusedSentinel(Fact):
    """A loss that lacks the sentinel which its object keeps, or its function accepts, and which nothing reads.

    ``kept`` is where ``holder`` takes ``value`` under ``name``. ``function`` is the loss of a library that is called
    without it; empty where the loss is written out and ``call`` is what it returns.
    """

    holder: str
    name: str
    kept: Step
    value: Integer | Unknown
    function: str


@record
class ClassCut(Fact):
    """Logits that lose a class which has a job: a slice that ends before it, or minus infinity written over it."""

    layer: Layer
    lost: Integer
    job: Job
    is_written: bool


@record
class SentinelIndex(Fact):
    """An index that holds a negative sentinel: what it is given to, empty for a subscript, and what put it there."""

    function: str
    fill: Fill


@record
class EmptyMean(Fact):
    """A mean that is trained on and may be taken over nothing.

    ``mask`` is what leaves the places, ``why`` completes "the mask ...", ``evidence`` are the lines that show it.
    ``by_hand`` says that a sum is divided by a sum; PyTorch's own mean over nothing is NaN too, with a zero gradient.
    """

    mask: str
    why: str
    evidence: tuple[Step, ...]
    by_hand: bool


def _position(index: Integer | Unknown, layer: Layer | Unknown) -> Position | Unknown:
    if isinstance(index, Unknown):
        return index
    if index.maximum is not None and index.maximum < 0:
        return Position.NEGATIVE
    if isinstance(layer, Unknown):
        return layer
    symbols = ", ".join(sorted({symbol.name for number in (index, layer.classes) for symbol, _ in number.terms}))
    return index.position(layer.classes) or Unknown(f"{index} against {layer.classes} classes is open", symbols)


def _open(fact: Fact, question: str, position: Position | Unknown, job: Job | Unknown | None) -> Iterator[Unjudged]:
    """An index without a job may be skipped wherever it stands: the classes need not be known."""
    if isinstance(position, Unknown):
        if getattr(fact, "left", None) or not isinstance(job, Job) or job.role.is_job:
            yield Unjudged(fact.call, question, position)
    elif position is Position.INSIDE and isinstance(job, Unknown):
        yield Unjudged(fact.call, question, job)
