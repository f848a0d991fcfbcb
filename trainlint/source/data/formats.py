"""The formats, by the suffix of a file; each reader is imported when it is first needed."""

from __future__ import annotations

from trainlint.source.data.datum import MOST_VALUES, Broken, Datum, extent

SUFFIXES = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}


def parse(data: bytes, format: str) -> Datum:
    """The value that a data file holds; ``Broken`` says what keeps it from being read."""
    found = _parsed(data, format)
    if extent(found, {}) > MOST_VALUES:
        raise Broken(f"it holds more than {MOST_VALUES} values")
    return found


def _parsed(data: bytes, format: str) -> Datum:
    match format:
        case "yaml":
            from trainlint.source.data import yaml

            return yaml.parse(data)
        case "json":
            from trainlint.source.data import json

            return json.parse(data)
        case "toml":
            from trainlint.source.data import toml

            return toml.parse(data)
    raise Broken(f"{format} is no format that is known")
