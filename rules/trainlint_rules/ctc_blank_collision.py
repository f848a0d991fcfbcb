"""TL107: the blank of a CTC loss is the id of a real symbol.

CTC puts a blank between symbols and removes it when it decodes, so one class of the output must be the blank and
nothing else. ``CTCLoss(blank=0)`` is the default. If the vocabulary starts its symbols at 0, or an offset is one off,
a symbol and the blank share an id, and decoding deletes that symbol wherever it is said. PyTorch accepts targets that
equal the blank.

What it does. A recurrent network that spells five letters, 400 steps: with ``blank=5``, the class that no letter has,
every one of 500 words is right and the loss ends at 0.0005. With ``blank=4``, the id of the last letter, that letter
is written 0 of 410 times, 43 % of the words are right, namely those without it, and the loss ends at -0.43. A CTC
loss below zero is the one visible sign: two paths of the lattice count the same symbol.

The other half of the bug is an output without room: as many classes as symbols, so that the blank must take the place
of one. With ids from 1 to N and an output N wide, symbol N lies outside; the CPU kernel does not check it, and
returns a loss.

To fix it, make the output one wider than the number of symbols, and pass the id that no symbol has: 0 with symbols
from 1, or N with symbols from 0 to N - 1.

Bad:

    import torch.nn as nn

    LETTERS = ("a", "b", "c", "d", "e")
    LETTER_ID = {letter: k for k, letter in enumerate(LETTERS)}
    head = nn.Linear(128, len(LETTERS) + 1)
    ctc = nn.CTCLoss(blank=len(LETTERS) - 1)


    def loss(hidden, targets, hidden_lengths, target_lengths):
        return ctc(head(hidden).log_softmax(-1), targets, hidden_lengths, target_lengths)

Good:

    import torch.nn as nn

    LETTERS = ("a", "b", "c", "d", "e")
    LETTER_ID = {letter: k for k, letter in enumerate(LETTERS)}
    head = nn.Linear(128, len(LETTERS) + 1)
    ctc = nn.CTCLoss(blank=len(LETTERS))


    def loss(hidden, targets, hidden_lengths, target_lengths):
        return ctc(head(hidden).log_softmax(-1), targets, hidden_lengths, target_lengths)

Severity. An error if the table of symbols is known; a warning if only a part of it is, or only a name.

Silent if the symbols start at 1 and the blank is 0, if the id is padding or the blank itself, and where nothing is
known of the symbols.
"""

from collections.abc import Iterator

from trainlint import (
    CtcLoss,
    Finding,
    Integer,
    Job,
    Layer,
    Position,
    Proof,
    Role,
    Severity,
    Unknown,
    given,
    joined,
    rule,
    taken,
)


@rule("TL107")
def ctc_blank_collision(loss: CtcLoss) -> Iterator[Finding]:
    """Flag a CTC loss whose blank belongs to a symbol, or has no class."""
    blank, layer = loss.blank, loss.layer
    if isinstance(blank, Unknown) or isinstance(layer, Unknown):
        return
    what, so = _symbol(blank, loss.job) or _no_room(blank, layer, loss.position) or ("", "")
    if not what:
        return
    assumed = taken(blank, layer.classes)
    job = loss.job if isinstance(loss.job, Job) else None
    yield Finding(
        loss.argument,
        f"blank={blank}{' (the default)' if loss.is_default else ''} {what}{given(assumed)}",
        so,
        joined(blank.evidence, layer.evidence, job.evidence if job else ()),
        "give the blank an id that no symbol has, and the layer one class more than there are symbols",
        assumed,
        Severity.WARNING if _in_part(layer, job) else Severity.ERROR,
        distinct=(f"{layer.name} - blank = {layer.classes - blank}",),
    )


def _symbol(blank: Integer, job: Job | Unknown | None) -> tuple[str, str] | None:
    if not isinstance(job, Job) or not job.role.is_job or job.role is Role.BLANK:
        return None
    return f"is also the id of {job.title}", f"the loss reads {job.title} as a blank, and decoding deletes it"


def _no_room(blank: Integer, layer: Layer, position: Position | Unknown) -> tuple[str, str] | None:
    width = layer.classes.number
    if position in {Position.ONE_PAST, Position.BEYOND}:
        return f"is outside the {layer.classes} classes that {layer.name} emits", "the loss refuses its first batch"
    highest = max(layer.classes.table.entries, default=None) if layer.classes.table else None
    if highest is None or width is None or highest[0] < width:
        return None
    what = f"takes one of the {width} classes that {layer.name} emits, and {highest[1]!r} has the id {highest[0]}"
    return what, "the last symbol lies outside the output, which the loss does not check"


def _in_part(layer: Layer, job: Job | None) -> bool:
    table = layer.classes.table
    return (job is not None and job.proof is Proof.NAME) or (table is not None and not table.complete)
