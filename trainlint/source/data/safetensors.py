"""The header of a safetensors file: the shape of each tensor. The numbers behind it are never read."""

from __future__ import annotations

from trainlint.source.data.datum import Broken, Datum, Mapping, Scalar, Sequence
from trainlint.source.data.json import parse

LENGTH = 8
"""Bytes in front that count those of the header, little-endian."""

MOST_AXES = 8


def shapes(front: bytes) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor by its name; ``front`` is the beginning of the file, its header included."""
    end = LENGTH + int.from_bytes(front[:LENGTH], "little")
    if not LENGTH < end <= len(front):
        raise Broken("it has no header of a sane size")
    table = parse(front[LENGTH:end].rstrip(b" "))
    pairs = table.pairs if isinstance(table, Mapping) else ()
    return {str(name.value): sizes for name, value in pairs if (sizes := _shape(value)) is not None}


def _shape(value: Datum) -> tuple[int, ...] | None:
    listed = value.get("shape") if isinstance(value, Mapping) else None
    if not isinstance(listed, Sequence) or len(listed.items) > MOST_AXES:
        return None
    sizes = [each.value for each in listed.items if isinstance(each, Scalar)]
    whole = [size for size in sizes if isinstance(size, int) and not isinstance(size, bool) and size >= 0]
    return tuple(whole) if len(whole) == len(listed.items) else None
