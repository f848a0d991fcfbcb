"""``trainlint config``: names of settings in, what each is for out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from trainlint.cli import UsageError
from trainlint.cli.options import CHECK, Said
from trainlint.cli.output import choice
from trainlint.config import KEYS, Key
from trainlint.selection import did_you_mean

FORMATS = ("text", "json")


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Print what these settings are for, or name them all."""
    form = choice(said, "output-format", FORMATS)
    for name in arguments:
        if name not in KEYS:
            raise UsageError(f"unknown key {name!r}{did_you_mean(name, KEYS)}; trainlint config lists them")
    wanted = {name: KEYS[name] for name in arguments or KEYS}
    if form == "json":
        print(json.dumps({name: _record(name, key) for name, key in wanted.items()}, indent=1))
    elif arguments:
        print("\n\n".join("\n".join(_told(name, key)) for name, key in wanted.items()))
    else:
        width = max(map(len, wanted))
        print("\n".join(f"{name:<{width}}  {key.meaning}" for name, key in wanted.items()))
    return 0


def _told(name: str, key: Key) -> Iterator[str]:
    yield f"{name}: {key.meaning}"
    yield f"type     {_words(key.type)}"
    yield f"default  {'none' if key.default is None else json.dumps(key.default)}"
    option = _option(name)
    if option:
        yield f"option   {option}"


def _record(name: str, key: Key) -> Mapping[str, object]:
    return {"meaning": key.meaning, "type": key.type, "default": key.default, "option": _option(name)}


def _option(name: str) -> str | None:
    """The option that says the same on the command line."""
    wanted = {"values": "define"}.get(name, name)
    return next((f"--{option.name}" for option in CHECK.options if option.name == wanted), None)


def _words(type: object) -> str:
    """A type of JSON Schema for a reader.

    >>> _words({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
    'string or list of string'
    """
    match type:
        case {"enum": [*values]}:
            return ", ".join(map(str, values))
        case {"anyOf": [*types]}:
            return " or ".join(filter(None, map(_words, types)))
        case {"type": "array", "items": each}:
            return f"list of {_words(each)}"
        case {"type": "object", "additionalProperties": each}:
            return f"table of {_words(each)}"
        case {"type": name}:
            return str(name)
    return ""
