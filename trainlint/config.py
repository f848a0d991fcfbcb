"""What the user set: pyproject.toml, trainlint.toml and the command line in, one ``Settings`` out.

Reads configuration files and nothing else; prints nothing. Each layer is a table in the words of the configuration
file, so that a file, ``--config 'key=value'`` and an option are checked by the same code and fail in the same words.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trainlint.finding import Severity
from trainlint.selection import Selection, did_you_mean

FILES = ("trainlint.toml", "pyproject.toml")
"""The names looked for in each folder; the first one with settings for trainlint wins."""

KINDS = {
    bool: "a truth value",
    int: "a whole number",
    float: "a number",
    str: "a string",
    list: "a list of other things",
    dict: "a table",
}

GATES = (*(severity.value for severity in Severity), "never")


class ConfigError(ValueError):
    """Settings that cannot be followed; the message names the file (or option) and the key."""


@dataclass(frozen=True)
class Layer:
    """One place that settings come from: what to call it, its folder, and the table as written."""

    origin: str
    folder: str
    table: Mapping[str, object]


@dataclass(frozen=True)
class Settings:
    """Every setting, checked; the folders in ``src`` and the ``baseline`` are absolute, no baseline is empty."""

    selections: tuple[Selection, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    fail_on: str = Severity.WARNING.value
    exclude: tuple[str, ...] = ()
    src: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    output_format: tuple[str, ...] = ("full",)
    baseline: str = ""
    require_reason: bool = False


def nearest(folder: str) -> Layer | None:
    """The settings of this folder or of the nearest folder above that has some.

    Raises:
        ConfigError: a file that speaks of trainlint is not valid TOML.
    """
    while True:
        for name in FILES:
            layer = _layer(os.path.join(folder, name))
            if layer:
                return layer
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


LARGEST = 4 * 2**20
"""Bytes from which a settings file is something else."""


def from_file(path: str) -> Layer:
    """The settings of a file that the user named.

    Raises:
        ConfigError: there is no such file, it cannot be read, or it is not valid TOML.
    """
    try:
        data = _bytes(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    return Layer(path, os.path.dirname(os.path.abspath(path)), _table(path, data) or {})


def from_text(text: str, folder: str) -> Layer:
    """The settings of ``--config 'key=value'``."""
    origin = f"--config {text!r}"
    try:
        return Layer(origin, folder, _toml(origin, text.encode()))
    except ConfigError as error:
        raise ConfigError(f"{error}; strings take quotes, as in --config 'fail-on = \"error\"'") from error


def settings(layers: Sequence[Layer]) -> Settings:
    """All layers as one, later ones weighing more: lists replace, "extend-" adds, tables are merged key by key.

    Raises:
        ConfigError: an unknown key, or a value of the wrong kind.
    """
    result = Settings()
    for layer in layers:
        result = replace(result, selections=(*result.selections, Selection(origin=layer.origin)))
        for key, value in _in_order(layer):
            try:
                result = KEYS[key](result, layer.folder, value)
            except ConfigError as error:
                raise ConfigError(f"{layer.origin}: {key} {error}") from error
    return result


def _in_order(layer: Layer) -> Iterator[tuple[str, object]]:
    for key in layer.table:
        if key not in KEYS:
            hint = "; write the keys without [tool.trainlint]" if key == "tool" else did_you_mean(key, KEYS)
            raise ConfigError(f"{layer.origin}: unknown key {key!r}{hint}")
    return ((key, layer.table[key]) for key in KEYS if key in layer.table)


def _bytes(path: str) -> bytes:
    """What a settings file holds; a pipe or a device would keep the reader waiting."""
    kind = os.stat(path)
    if not stat.S_ISREG(kind.st_mode):
        raise ConfigError(f"{path}: settings are read from a regular file, and this is none")
    if kind.st_size > LARGEST:
        raise ConfigError(f"{path}: larger than {LARGEST // 2**20} MB, so it is not read as settings")
    with open(path, "rb") as file:
        return file.read()


def _layer(path: str) -> Layer | None:
    try:
        data = _bytes(path)
    except OSError:
        return None
    # Most pyproject.toml files do not speak of trainlint, and those are not worth a TOML parser.
    if b"trainlint" not in data and not path.endswith("trainlint.toml"):
        return None
    table = _table(path, data)
    return None if table is None else Layer(path, os.path.dirname(path), table)


def _table(path: str, data: bytes) -> Mapping[str, object] | None:
    document = _toml(path, data)
    if os.path.basename(path) != "pyproject.toml":
        return document
    tool = document.get("tool")
    table = tool.get("trainlint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.trainlint must be a table, not {_kind(table)}")
    return table


def _toml(origin: str, data: bytes) -> dict[str, object]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        last = data.count(b"\n") + 1
        why = str(error).replace("end of document", f"line {last}, the end")
        raise ConfigError(f"{origin}: not valid TOML: {why}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{origin}: not valid TOML: not UTF-8 (at line {line})") from error
    except RecursionError as error:
        raise ConfigError(f"{origin}: not valid TOML: nested too deep to read") from error


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"must be a list of strings, not {_kind(value)}")
    return tuple(value)


def _word_or_words(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else _words(value)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"must be true or false, not {_kind(value)}")
    return value


def _choice(value: object, choices: Sequence[str]) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"must be one of {', '.join(choices)}, not {_kind(value)}")
    if value not in choices:
        raise ConfigError(f"must be one of {', '.join(choices)}, not {value!r}{did_you_mean(value, choices)}")
    return value


def _entries(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """The entries of a table; ``a.b = 1`` and ``"a.b" = 1`` are the same name."""
    if not isinstance(value, dict):
        raise ConfigError(f"{name} must be a table, not {_kind(value)}".lstrip())
    for key, each in value.items():
        if isinstance(each, dict):
            yield from _entries(each, f"{name}{key}.")
        else:
            yield f"{name}{key}", each


def _numbers(value: object) -> dict[str, int]:
    numbers = {}
    for name, number in _entries(value):
        if not isinstance(number, int) or isinstance(number, bool):
            raise ConfigError(f"{name!r} must be a whole number, not {_kind(number)}")
        numbers[name] = number
    return numbers


def _severities(value: object) -> dict[str, Severity]:
    levels = [severity.value for severity in Severity]
    severities = {}
    for selector, level in _entries(value):
        try:
            severities[selector] = Severity(_choice(level, levels))
        except ConfigError as error:
            raise ConfigError(f"of {selector} {error}") from error
    return severities


def _kind(value: object) -> str:
    return KINDS.get(type(value), type(value).__name__)


def _selecting(settings: Settings, change: Callable[[Selection], Selection]) -> Settings:
    *before, last = settings.selections
    return replace(settings, selections=(*before, change(last)))


def _src(settings: Settings, folder: str, value: object) -> Settings:
    return replace(settings, src=tuple(os.path.normpath(os.path.join(folder, each)) for each in _words(value)))


def _baseline(settings: Settings, folder: str, value: object) -> Settings:
    if not isinstance(value, str):
        raise ConfigError(f"must be the name of a file, not {_kind(value)}")
    return replace(settings, baseline=os.path.normpath(os.path.join(folder, value)) if value else "")


def _per_file_ignores(settings: Settings, folder: str, value: object) -> Settings:
    ignores = {pattern: _word_or_words(selectors) for pattern, selectors in _entries(value)}
    return replace(settings, per_file_ignores={**settings.per_file_ignores, **ignores})


KEYS: Mapping[str, Callable[[Settings, str, object], Settings]] = {
    "select": lambda settings, folder, value: _selecting(settings, lambda last: replace(last, select=_words(value))),
    "ignore": lambda settings, folder, value: _selecting(settings, lambda last: replace(last, ignore=_words(value))),
    "extend-select": lambda settings, folder, value: _selecting(
        settings, lambda last: replace(last, extend_select=_words(value))
    ),
    "extend-ignore": lambda settings, folder, value: _selecting(
        settings, lambda last: replace(last, extend_ignore=_words(value))
    ),
    "per-file-ignores": _per_file_ignores,
    "severity": lambda settings, folder, value: replace(settings, severity={**settings.severity, **_severities(value)}),
    "fail-on": lambda settings, folder, value: replace(settings, fail_on=_choice(value, GATES)),
    "exclude": lambda settings, folder, value: replace(settings, exclude=_words(value)),
    "extend-exclude": lambda settings, folder, value: replace(settings, exclude=(*settings.exclude, *_words(value))),
    "src": _src,
    "baseline": _baseline,
    "require-reason": lambda settings, folder, value: replace(settings, require_reason=_truth(value)),
    "values": lambda settings, folder, value: replace(settings, values={**settings.values, **_numbers(value)}),
    "output-format": lambda settings, folder, value: replace(settings, output_format=_word_or_words(value)),
}
"""Every key of the configuration file, and what it does to the settings."""
