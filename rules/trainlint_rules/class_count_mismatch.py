"""TL119: a layer has more or fewer classes than the labels it serves.

The width of the last layer is a number in one file, the list of labels stands in another, and one day the list grows
or shrinks. A layer that is too narrow has no class for the last labels: a target beyond it stops the run on a CPU,
but a label that is rare, or only in the validation data, may be met for the first time after days. A layer that is too
wide trains without a complaint. Its spare classes are never an answer, so nobody sees them in the loss; but they can
be predicted, and then there is no label behind them.

What it does. A small network with six labels and eight classes, measured: after 100 steps the two spare classes take
8.6 % of the probability, and 859 of 10,000 samples are no label at all; after 1000 steps it is 0.2 %, and still 16
samples. Whoever meets the index error often clamps the sample to the last label, which hides the cause and makes that
label too frequent.

To fix it, size the layer with the length of the table, ``len(LABELS)``.

Bad:

    import torch
    import torch.nn as nn

    LABELS = ("cat", "dog", "horse", "sheep", "cow")
    LABEL_ID = {label: k for k, label in enumerate(LABELS)}
    head = nn.Linear(128, 8)
    criterion = nn.CrossEntropyLoss()


    def loss(hidden, names):
        return criterion(head(hidden), torch.tensor([LABEL_ID[name] for name in names]))

Good:

    import torch
    import torch.nn as nn

    LABELS = ("cat", "dog", "horse", "sheep", "cow")
    LABEL_ID = {label: k for k, label in enumerate(LABELS)}
    head = nn.Linear(128, len(LABELS))
    criterion = nn.CrossEntropyLoss()


    def loss(hidden, names):
        return criterion(head(hidden), torch.tensor([LABEL_ID[name] for name in names]))

Severity. A warning: another table may name the classes that this one leaves out. A note where the width is rounded up
to a multiple, for speed, while what is predicted is looked up without a bound.

It must be shown that the layer serves the table: all targets of its loss are looked up in it, or what it predicts is,
or the padding of the loss or of the embedding beside it is one of its entries.

Silent where the width is computed from the length of the table or is 1, a score; where one or two classes more may be a
blank, a padding or a stop; where the width is rounded up to a multiple of 64 or 128; where the logits are sliced or the
spare classes shut out; where a test bounds what is looked up or a number is calculated from it; where the labels
without a class are padding; for a table whose numbers have gaps, and for one of several tables of a layer.
"""

from collections.abc import Iterator

from trainlint import (
    Finding,
    Integer,
    LabelledLayer,
    Layer,
    Service,
    Severity,
    Table,
    Unknown,
    entry_role,
    given,
    joined,
    rule,
    taken,
)

FEW = 2
"""A list of names for people may hold so many that are never predicted: a background, an "unknown"."""

MULTIPLES = (128, 64, 32, 16, 8)
"""Widths that matrix units like; a small multiple counts only where it is small beside the table."""


@rule("TL119")
def class_count_mismatch(head: LabelledLayer) -> Iterator[Finding]:
    """Flag a layer whose classes are not as many as the labels it serves."""
    layer, table = head.layer, head.table
    width = None if isinstance(layer, Unknown) else layer.classes.number
    if isinstance(layer, Unknown) or width is None or width in {1, table.size}:
        return
    level = _too_wide(head, layer, width) if width > table.size else _too_narrow(head, layer, width)
    if level is None:
        return
    assumed = taken(layer.classes)
    yield Finding(
        layer.where,
        f"{layer.name} emits {width} classes, and {head.service.value} {table.name}, which has {table.size} labels"
        f"{given(assumed)}",
        _so(table, width),
        joined(layer.evidence, head.shown, table.evidence),
        f"size the layer with the length of {table.name}",
        assumed,
        level,
        distinct=(f"{layer.name} - {table.name} = {width - table.size}",),
    )


def _so(table: Table, width: int) -> str:
    if width < table.size:
        return f"{table.label(width)!r} and what follows it have no class: the first such target stops the run"
    spare = f"class {table.size}" if width == table.size + 1 else f"classes {table.size} to {width - 1}"
    return f"{spare} can be predicted and can never be right: no label is behind it"


def _too_narrow(head: LabelledLayer, layer: Layer, width: int) -> Severity | None:
    """Labels without a class; those that only pad need none, and a list that is only shown may have a few more.

    A padding that two tables share says little: tags are often padded with the padding of the words.
    """
    table = head.table
    few = head.service is Service.PREDICTIONS and table.size - width <= FEW
    if few or head.service is Service.SENTINEL:
        return None
    left_out = [label for number, label in table.entries if number >= width]
    needed = any(entry_role(label, [each for _, each in table.entries]).is_job for label in left_out)
    return Severity.WARNING if needed and not _is_computed(layer, table) else None


def _too_wide(head: LabelledLayer, layer: Layer, width: int) -> Severity | None:
    """Classes without a label: a note where they are there on purpose and get out."""
    table, spare = head.table, width - head.table.size
    if _is_rounded(width, spare, table.size):
        return Severity.NOTE if head.service is Service.PREDICTIONS else None
    if head.service is Service.SENTINEL and layer.classes.table is not None:
        return None
    if _is_computed(layer, table) or any(_is_beyond(each, table) for each in head.beside):
        return None
    return None if head.spare and head.service is not Service.TARGETS else Severity.WARNING


def _is_computed(layer: Layer, table: Table) -> bool:
    """Whether the width is made from the length of this very table."""
    sizes = (*layer.classes.parts, *layer.classes.origins)
    return layer.classes.table == table or any(part.endswith(f"len({table.name})") for part in sizes)


def _is_rounded(width: int, spare: int, size: int) -> bool:
    return any(width % each == 0 and spare < each and (each >= 64 or size >= 4 * each) for each in MULTIPLES)


def _is_beyond(target: Integer, table: Table) -> bool:
    """Whether a target takes one of the classes beyond the table, or may take one."""
    return target.number is None or target.number >= table.size
