"""TOML as data. The standard library's reader forgets where it read, so lines are looked for by their keys."""

from __future__ import annotations

import re
import sys

from trainlint.regex import regex
from trainlint.source.data.datum import DEEPEST, Broken, Datum, Foreign, Mapping, Place, Scalar, Sequence, text_of

HEAD = regex(r"^\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
LINE = regex(r"^(\s*)((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=(.*)$")
LARGEST = 1024 * 1024


def parse(data: bytes) -> Datum:
    """The table that a TOML file is."""
    if len(data) > LARGEST:
        raise Broken("it is larger than 1 MB")
    text = text_of(data)
    places = _places(text)
    deepest = max(places, key=len, default=())
    if len(deepest) > DEEPEST:
        raise Broken("it is nested too deep", places[deepest].row)
    return _datum(_loaded(text), (), places, Place())


def _loaded(text: str) -> object:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        row = re.search(r"at line (\d+)", str(error))
        raise Broken("it is no TOML", int(row[1]) if row else 1) from None
    except RecursionError:
        raise Broken("it is nested too deep") from None
    except ValueError:
        raise Broken("it holds a number with too many digits") from None


def _places(text: str) -> dict[tuple[str, ...], Place]:
    """Where each key is written, by its full path; keys inside of inline tables are not looked for."""
    found: dict[tuple[str, ...], Place] = {}
    table: tuple[str, ...] = ()
    for row, line in enumerate(text.splitlines(), start=1):
        if head := HEAD.match(line):
            table = _path(head[1])
            found.setdefault(table, Place(row, 1, row, len(line) + 1))
        elif entry := LINE.match(line):
            end = len(line.partition(" #")[0].rstrip())
            found.setdefault((*table, *_path(entry[2])), Place(row, len(entry[1]) + 1, row, end + 1))
    return found


def _path(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))


def _datum(value: object, path: tuple[str, ...], places: dict[tuple[str, ...], Place], around: Place) -> Datum:
    place = places.get(path, around)
    match value:
        case bool() | int() | float() | str():
            return Scalar(value, place)
        case dict():
            keys = ((str(key), inner) for key, inner in value.items())
            pairs = ((Scalar(key, place), _datum(inner, (*path, key), places, place)) for key, inner in keys)
            return Mapping(tuple(pairs), place)
        case list():
            return Sequence(tuple(_datum(inner, path, places, place) for inner in value), place)
    return Foreign(type(value).__name__, place)
