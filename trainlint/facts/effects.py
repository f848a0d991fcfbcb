"""Lines that do not do what they say: results that nobody takes, switches that switch nothing."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from trainlint.facts.fact import Fact, Unjudged
from trainlint.record import record
from trainlint.span import Span
from trainlint.value import Real, Step, Unknown


@record
class DiscardedResult(Fact):
    """A call that makes a new tensor and changes none, standing alone: what it makes is lost.

    ``operation`` is what is called, ``tensor`` what it is applied to as the code spells it. ``proof`` is the line by
    which that is a tensor; None where the function takes nothing else. ``in_place`` is the operation that would change
    the tensor itself; empty where there is none.
    """

    operation: str
    tensor: str
    proof: Step | Unknown | None
    in_place: str

    def unjudged(self) -> Iterator[Unjudged]:
        if isinstance(self.proof, Unknown):
            yield Unjudged(self.call, "is this a tensor", self.proof)


@record
class AttentionDropout(Fact):
    """The dropout that fused attention is told to apply, in a module that does not ask for its mode.

    ``given`` is the rate as the code spells it, ``rate`` its value; ``module`` is the name of the module in its own
    method, ``attention`` the line that applies it.
    """

    given: str
    rate: Real | Unknown
    module: str
    attention: Step


@record
class FunctionalDropout(Fact):
    """What a module drops whatever its mode: a function that is not told the mode, or a layer that a call makes anew.

    ``function`` is how the code calls it, ``is_layer`` whether it is such a layer. ``given`` is the rate as the code
    spells it, ``rate`` its value; ``module`` is the name of the module in its own method, ``last`` the last argument.
    """

    function: str
    is_layer: bool
    given: str
    rate: Real | Unknown
    module: str
    last: Span


@record
class ModeAsRate(Fact):
    """A dropout that is given the mode of the model for its rate: in training that is 1, and everything is dropped.

    ``function`` is how the code calls it, ``given`` the mode as the code spells it, ``is_named`` whether it is passed
    as ``p=``.
    """

    function: str
    given: str
    is_named: bool


class Repetition(Enum):
    """What the processes of a distributed training see again and again."""

    ORDER = "every epoch has the order of the first"
    DATA = "every process reads all of the data"


@record
class SharedData(Fact):
    """Data of a distributed training that repeat: what was ``made`` is a sampler, or a loader without one.

    ``looped`` is the loop, over epochs or over the loader, ``trained`` the line in it that trains, ``shared`` the line
    that shares the gradients of a loader without a sampler.
    """

    made: str
    repeats: Repetition
    looped: Step
    trained: Step
    shared: Step | None = None


class Unfrozen(Enum):
    """Why a write to a switch of gradients switches nothing."""

    MODULE = "a module has no such switch: its parameters have"
    MISSPELLED = "the switch has another name"


@record
class FreezingWrite(Fact):
    """A write to an attribute that freezes nothing, ``holder.attribute = value`` as the code spells it.

    ``proof`` is the line by which the holder is a module, or a parameter, ``why`` what is wrong with the attribute.
    ``is_module`` says that it is a module.
    """

    holder: str
    attribute: str
    value: str
    proof: Step | Unknown
    why: Unfrozen
    is_module: bool

    def unjudged(self) -> Iterator[Unjudged]:
        if isinstance(self.proof, Unknown):
            yield Unjudged(self.call, "is this a module", self.proof)


@record
class NewTokens(Fact):
    """An adapter over a model whose embeddings grew for new tokens, and that trains no embedding.

    ``adapter`` is how the code makes it, ``added`` the line that adds the tokens, ``resized`` the line that makes
    room for them.
    """

    adapter: str
    added: Step
    resized: Step
