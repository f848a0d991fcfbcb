"""TL101: the index that the loss skips is a class that the model must learn.

A cross-entropy with ``ignore_index=k`` throws away every position whose target is k before it averages. That is meant
for padding. When k is also a class with a job (the stop symbol of a decoder, a tag, a mask level), the model is never
shown one target of that class: no error, no warning, and a loss that falls as it should, because it is an average
over what is left.

How quiet it is. A small network that must read 32 codes and then stop, trained twice, once skipping the stop class
and once skipping -100, from four seeds: the final loss is 0.0004 or 0.0005 with the collision and 0.0004 without. The
first model never stops, the second always does. Nothing that is computed from the loss can tell them apart.

How it comes about. A vocabulary of N codes gets one more class for the stop symbol, so the layer is N + 1 wide and
the stop is class N. Elsewhere padding is filled with N, since N is "no code", and the loss skips N. Each line is
right by itself. The same loss is harmless in front of a layer that is N wide, where N is one past the last class
(TL102). Other ways: the id that pads the words is reused as the sentinel of the tags, whose class 0 is a real tag;
one criterion serves two heads; a void value of 255 meets masks whose foreground is 255.

To fix it, skip a number that can be no class: -100, PyTorch's default, and fill the padding with the same number. If
the loss sits behind a sampler or an embedding that cannot take -100, give padding a class of its own, which no answer
uses.

Bad:

    import torch.nn as nn
    import torch.nn.functional as F

    CODES = 1024


    class Decoder(nn.Module):
        stop_id = CODES

        def __init__(self):
            super().__init__()
            self.head = nn.Linear(64, CODES + 1)

        def loss(self, hidden, targets):
            return F.cross_entropy(self.head(hidden), targets, ignore_index=CODES)

Good:

    import torch.nn as nn
    import torch.nn.functional as F

    CODES = 1024


    class Decoder(nn.Module):
        stop_id = CODES

        def __init__(self):
            super().__init__()
            self.head = nn.Linear(64, CODES + 1)

        def loss(self, hidden, targets):
            return F.cross_entropy(self.head(hidden), targets, ignore_index=-100)

Severity. An error if the code shows the job: the project compares the index with a generated token or appends it to
targets; the table that sizes this layer has a label behind it; real targets are seen to take the value, also one that
lies beyond the classes; the head has two classes, so that skipping one leaves nothing to choose; or a name says stop
or end, and the layer was widened by one for it or the padding has a number of its own; the index is the padding token
of a tokenizer that was set to its end token, and texts end in it, whatever the layer. A warning, with the missing
piece in the message, if only a name says so, if the padding token of a tokenizer becomes its end token only in some
runs or no text is seen to end in it, if the layer was widened by exactly this one class and nothing calls it
padding, or if the number is the end-of-text id of a well-known vocabulary. A number that rests on a default is named
with it. A run under the probe knows no names: it warns if every sequence loses a target to the index, the longest of
each batch exactly one, as it would lose its stop, and is sure if another loss over as many classes counts the class.

A comparison that leaves targets out, ``keep = targets != STOP`` before the loss or as a mask on the loss of each
target, does the same as an index that is skipped and is judged like one, unless the function uses what it leaves out.

Silent for a negative index, for one beyond the classes that no target takes, for a class that is padding, void or a
start symbol, for labels that are shifted past the index, for an evaluation, from which nothing is learned, and
wherever the layer in front of the loss is not known.
"""

from collections.abc import Iterator

from trainlint import (
    END_TEXT_IDS,
    Finding,
    Integer,
    Job,
    Layer,
    Loss,
    Position,
    Proof,
    Role,
    Severity,
    Step,
    Targets,
    Unknown,
    given,
    index_roles,
    joined,
    rule,
    taken,
)
from trainlint.record import dataclass

UNTAUGHT = frozenset({Role.PAD, Role.VOID, Role.START})
"""Roles without a job."""


@rule("TL101")
def sentinel_collision(loss: Loss) -> Iterator[Finding]:
    """Flag a loss that skips a class which has a job."""
    index = loss.ignore_index
    if not loss.trains or isinstance(index, Unknown) or loss.position is Position.NEGATIVE:
        return
    claim = next(_claims(loss, index), None)
    if claim is None:
        return
    classes = None if isinstance(loss.layer, Unknown) else loss.layer.classes
    assumed = taken(index, classes)
    skipped = f"targets {index} are left out, and {index}" if loss.by_hand else f"ignore_index={index}"
    yield Finding(
        loss.argument,
        f"{skipped} is {claim.what}{given(assumed)}",
        f"every target {index} is dropped: {claim.so}",
        joined(index.evidence, claim.because),
        f"let the targets {index} count" if loss.by_hand else claim.help + _also_filled(loss.targets, index),
        assumed,
        claim.severity,
        distinct=() if isinstance(loss.layer, Unknown) else (_apart(loss.layer, index),),
    )


@dataclass(frozen=True)
class Claim:
    """One way in which the skipped index is needed: what it is, and what comes of it."""

    severity: Severity
    what: str
    so: str
    because: tuple[Step, ...]
    help: str = "use -100 (PyTorch's default) and fill padding with it"


def _claims(loss: Loss, index: Integer) -> Iterator[Claim]:
    """The strongest claim first."""
    quiet = isinstance(loss.job, Job) and loss.job.role in UNTAUGHT and loss.job.proof is not Proof.NAME
    if not isinstance(loss.targets, Unknown) and loss.position is not Position.ONE_PAST and not quiet:
        yield from _answer(loss.targets, index, loss.position)
    if loss.end_of_texts is not None:
        yield from _end_of_texts(loss.end_of_texts, loss.targets)
    if loss.position is not Position.INSIDE or isinstance(loss.layer, Unknown):
        return
    unreachable = not isinstance(loss.targets, Unknown) and _outside(loss.targets, index)
    if not unreachable:
        yield from _one_of_two(loss.layer, index)
    if isinstance(loss.job, Job) and not (unreachable and loss.job.role is Role.LABEL):
        yield from _job(loss.layer, index, loss.job, loss.targets)
    if not unreachable:
        yield from _spare(loss.layer, index, loss.job)
    yield from _end_of_text(loss.layer, index)


def _answer(targets: Targets, index: Integer, position: Position | Unknown) -> Iterator[Claim]:
    """The targets are seen to take the value, and not as a mark that shares the sentinel's own definition."""
    lowest, highest = targets.lowest, targets.highest
    marks = set(index.origins) if position is not Position.INSIDE else set()
    real = (value for value in targets.values if not marks & set(value.origins) and not _untaught(value))
    if any((value - index).number == 0 and value.names for value in real):
        what = f"one of the values that real targets take ({', '.join(map(str, targets.values))})"
    elif targets.drawn:
        return
    elif lowest and (lowest - index).number == 0:
        what = f"the first of the real targets, which count from {lowest}"
    elif lowest and highest and _at_most(lowest, index) and _at_most(index, highest):
        what = f"one of the real targets, which run from {lowest} to {highest}"
    else:
        return
    so = "the model is never shown that answer, and the loss curve will not show it"
    help = "use a number that no target takes, such as -100 (PyTorch's default), and mark what to skip with it"
    yield Claim(Severity.ERROR, what, so, targets.evidence, help)


def _end_of_texts(job: Job, targets: Targets | Unknown) -> Iterator[Claim]:
    """The padding token of a tokenizer is its end token: a class, however many classes there are."""
    ended = not isinstance(targets, Unknown) and bool(targets.appended)
    sure = ended and job.proof is Proof.USE
    unseen = "" if ended else " (that texts end in it is not seen)"
    because = joined(job.evidence, () if isinstance(targets, Unknown) else targets.evidence)
    so = "the model is never shown where a text ends, and the loss curve will not show it"
    help = "give padding a token of its own, or mark the padding of the targets with -100 (PyTorch's default)"
    yield Claim(Severity.ERROR if sure else Severity.WARNING, f"{job.label}{unseen}", so, because, help)


def _one_of_two(layer: Layer, index: Integer) -> Iterator[Claim]:
    if layer.classes.number != 2 or index.number is None:
        return
    severity = Severity.WARNING if layer.classes.assumed or index.assumed else Severity.ERROR
    left = 1 - index.number
    so = f"the answer {left} is right every time, and a falling loss says nothing"
    help = "give this head a loss of its own that skips no class"
    yield Claim(severity, f"{_member(layer)}, so only class {left} is left to learn", so, layer.evidence, help)


def _job(layer: Layer, index: Integer, job: Job, targets: Targets | Unknown) -> Iterator[Claim]:
    if not job.role.is_job or (job.proof is Proof.NAME and job.role is not Role.END):
        return
    if job.proof is Proof.RUN:
        yield _seen_to_end(layer, index, job)
        return
    sure = job.proof is not Proof.NAME or _has_slot_for(layer.classes, index) or _padded_with_another(targets, index)
    what = f"{_member(layer)}, and class {index} is {job.title}{'' if sure else ' by its name'}"
    so = f"the model is never shown {job.lesson}, and the loss curve will not show it"
    yield Claim(Severity.ERROR if sure else Severity.WARNING, what, so, joined(layer.evidence, job.evidence))


def _seen_to_end(layer: Layer, index: Integer, job: Job) -> Claim:
    """A run counts targets and knows no names: what closes every sequence may still be there to fill the last place."""
    what = f"{_member(layer)}, and class {index} is {job.title}"
    so = f"unless {index} only fills the last place, the model is never shown {job.lesson}, and no loss curve shows it"
    return Claim(Severity.WARNING, what, so, joined(layer.evidence, job.evidence))


def _spare(layer: Layer, index: Integer, job: Job | Unknown | None) -> Iterator[Claim]:
    """The layer has exactly one class more than the number, and nothing says that the class is padding."""
    if isinstance(job, Unknown) or (job and job.role in UNTAUGHT):
        return
    related = bool(index.terms) or bool(set(layer.classes.evidence) & set(index.evidence))
    if related and _has_slot_for(layer.classes, index) and not _untaught(index, layer.classes):
        what = f"the last of the {layer.classes} classes that {layer.name} emits, and nothing calls that class padding"
        so = "if the extra class is a stop or a label, the model is never shown it"
        yield Claim(Severity.WARNING, what, so, layer.evidence)


def _end_of_text(layer: Layer, index: Integer) -> Iterator[Claim]:
    known = END_TEXT_IDS.get(index.number if index.number is not None else -1)
    if known:
        what = f"{_member(layer)}, and {index} is {known} by its number"
        yield Claim(Severity.WARNING, what, "the model is never shown where a text ends", layer.evidence)


def _apart(layer: Layer, index: Integer) -> str:
    return f"{layer.name} - ignore_index = {layer.classes - index}"


def _member(layer: Layer) -> str:
    return f"one of the {layer.classes} classes that {layer.name} emits"


def _has_slot_for(classes: Integer, index: Integer) -> bool:
    """Whether the code adds one class, and this number is that class: N of N + 1, but not the last of N."""
    if (classes - index).number != 1:
        return False
    if index.terms:
        return index.constant >= 0
    same_table = index.table is not None and index.table == classes.table
    return same_table or bool(set(index.origins) & {*classes.parts, *classes.origins})


def _padded_with_another(targets: Targets | Unknown, index: Integer) -> bool:
    """Whether the targets have padding of their own, so that this number cannot be it."""
    fills = () if isinstance(targets, Unknown) else targets.fills
    return any((fill.value - index).number not in {0, None} and _untaught(fill.value) for fill in fills)


def _untaught(*numbers: Integer) -> bool:
    said = {role for number in numbers for name in number.names for role in index_roles(name)}
    return bool(said & UNTAUGHT) and Role.END not in said


def _outside(targets: Targets, index: Integer) -> bool:
    """Whether the real targets are seen to start above the index or to end below it."""
    one = Integer.exact(1)
    below = targets.lowest is not None and _at_most(index + one, targets.lowest)
    return below or (targets.highest is not None and _at_most(targets.highest + one, index))


def _at_most(low: Integer, high: Integer) -> bool:
    least = (high - low).minimum
    return least is not None and least >= 0


def _also_filled(targets: Targets | Unknown, index: Integer) -> str:
    fills = () if isinstance(targets, Unknown) else targets.fills
    how = next((fill.how for fill in fills if (fill.value - index).number == 0), "")
    return f", also where targets are {how} {index} now" if how else ""
