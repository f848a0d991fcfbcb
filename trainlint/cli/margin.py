"""``trainlint probe margin``: kinds of arithmetic in, the margins where their signal ends out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from trainlint.cli import UsageError
from trainlint.cli.options import Said
from trainlint.cli.output import choice
from trainlint.cli.probe import needing_torch
from trainlint.facts.precision import Dtype
from trainlint.selection import did_you_mean

if TYPE_CHECKING:
    from trainlint.probe.margin import Arithmetic, Row

FORMATS = ("text", "json")
CLASSES = (2, 1025)


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Measure and tell; 2 where something that was named could not be measured at all."""
    form = choice(said, "output-format", FORMATS)
    with needing_torch():
        from trainlint.probe import margin

        rows = [margin.measure(arithmetic) for arithmetic in wanted(said)]
        measured = [row for row in rows if not row.unmeasured]
        hardware = [margin.described(device) for device in dict.fromkeys(row.arithmetic.device for row in measured)]
    if measured:
        tell(as_json(measured) if form == "json" else as_text(measured, hardware), said)
    for line in remarks(rows):
        print(line, file=sys.stderr)
    if "plot" in said and measured:
        draw(measured, said["plot"][-1])
    return 0 if measured and not missing(said, measured) else 2


def tell(text: str, said: Said) -> None:
    """Print this, or write it to the file that ``--output`` names."""
    if "output" not in said:
        print(text)
        return
    try:
        with open(said["output"][-1], "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        raise UsageError(f"{said['output'][-1]}: {error.strerror}") from error


def wanted(said: Said) -> list[Arithmetic]:
    """The kinds of arithmetic that the options name; without a name, all of them."""
    from trainlint.probe import margin
    from trainlint.probe.spellings import SPELLINGS

    compiled, autocast = "compiled" in said, "autocast" in said
    modes = [
        (by, under)
        for by, under in ((False, False), (False, True), (True, False), (True, True))
        if by <= compiled and under <= autocast
    ]
    found = list(
        margin.arithmetics(
            listed(said, "device") or margin.devices(),
            dtypes(said),
            chosen(said, "loss", tuple(SPELLINGS)),
            chosen(said, "layout", margin.LAYOUTS),
            numbers(said, "classes") or CLASSES,
            modes,
        )
    )
    if not found:
        raise UsageError("nothing to measure: bce_with_logits takes NC and 2 classes, linear_cross_entropy takes NC")
    return found


def dtypes(said: Said) -> list[Dtype]:
    """The formats that are named, or all."""
    return [Dtype(name) for name in chosen(said, "dtype", tuple(dtype.value for dtype in Dtype))]


def listed(said: Said, name: str) -> list[str]:
    """The values of an option, also where several stand in one word with commas."""
    values = [each.strip() for value in said.get(name, ()) for each in value.split(",")]
    return [value for value in dict.fromkeys(values) if value]


def chosen(said: Said, name: str, known: Sequence[str]) -> Sequence[str]:
    """The values of an option that takes these; all of them where it is not given."""
    for value in listed(said, name):
        if value not in known:
            raise UsageError(f"--{name} must be one of {', '.join(known)}, not {value!r}{did_you_mean(value, known)}")
    return listed(said, name) or known


def numbers(said: Said, name: str) -> list[int]:
    """The numbers of classes that an option names."""
    values = listed(said, name)
    for value in values:
        if not value.isdecimal() or int(value) < 2:
            raise UsageError(f"--{name} must be whole numbers from 2 on, not {value!r}")
    return [int(value) for value in values]


def as_json(rows: Iterable[Row]) -> str:
    """One record for each row."""
    return json.dumps({"rows": [record(row) for row in rows]}, indent=1)


def record(row: Row) -> dict[str, object]:
    """A row for programs; ``cutoff`` is null where the signal never becomes exactly zero."""
    arithmetic = row.arithmetic
    return {
        "device": arithmetic.device,
        "dtype": arithmetic.dtype.value,
        "loss": arithmetic.loss,
        "layout": arithmetic.layout,
        "classes": arithmetic.classes,
        "spread": arithmetic.spread,
        "compiled": arithmetic.compiled,
        "autocast": arithmetic.autocast,
        "cutoff": row.cutoff,
    }


def as_text(rows: Sequence[Row], hardware: Iterable[str]) -> str:
    """A table for each device, layout, number of classes and mode."""
    tables = ["\n".join(table(kind, list(group))) for kind, group in groupby(rows, heading)]
    measured = "\n".join(f"measured on {name}" for name in hardware)
    return "\n\n".join(["margin from which the gradient of the right class is exactly zero", *tables, measured])


def heading(row: Row) -> str:
    """What the rows of one table have in common."""
    arithmetic = row.arithmetic
    rest = "one competitor" if arithmetic.spread == "single" else "the others equal"
    modes = [name for name, on in (("compiled", arithmetic.compiled), ("autocast", arithmetic.autocast)) if on]
    return ", ".join([arithmetic.device, arithmetic.layout, f"{arithmetic.classes} classes ({rest})", *modes])


def table(title: str, rows: Sequence[Row]) -> Iterator[str]:
    """One line for each loss, one column for each format."""
    formats = [dtype for dtype in Dtype if any(row.arithmetic.dtype is dtype for row in rows)]
    losses = dict.fromkeys(row.arithmetic.loss for row in rows)
    cells = {(row.arithmetic.loss, row.arithmetic.dtype): cell(row) for row in rows}
    lines = [("", [dtype.value for dtype in formats])]
    lines += [(loss, [cells.get((loss, dtype), "-") for dtype in formats]) for loss in losses]
    width = max(map(len, losses))
    yield title
    for loss, values in lines:
        yield f"  {loss:{width}}{''.join(f'{value:>11}' for value in values)}"


def cell(row: Row) -> str:
    """A cut-off to two digits; ``nan`` where the gradient stops being a number before it could be zero."""
    if row.not_a_number is not None:
        return f"nan {row.not_a_number:.2f}"
    return "never" if row.cutoff is None else f"{row.cutoff:.2f}"


def remarks(rows: Sequence[Row]) -> Iterator[str]:
    """What a reader of the table would not see in it: what could not be measured, and where there was no number."""
    for reason in dict.fromkeys(row.unmeasured for row in rows if row.unmeasured):
        alike = [row for row in rows if row.unmeasured == reason]
        more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        yield f"not measured: {named(alike[0])}{more}: {reason}"
    for row in rows:
        if row.not_a_number is not None:
            yield f"no cut-off: {named(row)}: the gradient is nan from {row.not_a_number:.2f} on"


def named(row: Row) -> str:
    """A row in words."""
    return f"{row.arithmetic.loss} in {row.arithmetic.dtype.value}, {heading(row)}"


def missing(said: Said, rows: Sequence[Row]) -> bool:
    """Whether something that was named is in no row."""
    named = {"device": listed(said, "device"), "dtype": listed(said, "dtype"), "loss": listed(said, "loss")}
    return any({str(record(row)[key]) for row in rows}.isdisjoint({name}) for key in named for name in named[key])


def draw(rows: Sequence[Row], path: str) -> None:
    """Write the picture."""
    try:
        from trainlint.probe.picture import draw as drawn

        drawn([(heading(row), row) for row in rows], path)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise UsageError("--plot needs matplotlib: pip install matplotlib") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error
