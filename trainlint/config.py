"""What the user set: pyproject.toml, trainlint.toml and the command line in, one ``Settings`` out.

Reads configuration files and nothing else; prints nothing. Each layer is a table in the words of the configuration
file, so that a file, ``--config 'key=value'`` and an option are checked by the same code and fail in the same words.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from trainlint.finding import Severity
from trainlint.record import field, record, replace
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


@record
class Layer:
    """One place that settings come from: what to call it, its folder, and the table as written."""

    origin: str
    folder: str
    table: Mapping[str, object]


@record
class Settings:
    """Every setting, checked; the folders in ``src`` and the ``baseline`` are absolute, no baseline is empty."""

    selections: tuple[Selection, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    fail_on: str = Severity.WARNING.value
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
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


def settings(layers: Iterable[Layer]) -> Settings:
    """All layers as one, later ones weighing more: lists replace, "extend-" adds, tables are merged key by key.

    Raises:
        ConfigError: an unknown key, a value of the wrong kind, or a settings file to extend that is not there.
    """
    result = Settings()
    for layer in chain(layers):
        result = replace(result, selections=(*result.selections, Selection(origin=layer.origin)))
        for key, value in _in_order(layer):
            try:
                result = KEYS[key].change(result, layer.folder, value)
            except ConfigError as error:
                raise ConfigError(f"{layer.origin}: {key} {error}") from error
    return result


def chain(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """The layers, each above those of the settings file that it extends.

    Raises:
        ConfigError: such a file cannot be read, or extends itself.
    """
    return tuple(each for layer in layers for each in _with_bases(layer, ()))


def _with_bases(layer: Layer, above: tuple[str, ...]) -> Iterator[Layer]:
    base = layer.table.get("extend")
    if isinstance(base, str):
        path = os.path.normpath(os.path.join(layer.folder, os.path.expanduser(base)))
        if path in (*above, layer.origin):
            raise ConfigError(f"{layer.origin}: extend {base}: it would extend itself")
        try:
            found = from_file(path)
        except ConfigError as error:
            raise ConfigError(f"{layer.origin}: extend {base}: {error}") from error
        yield from _with_bases(found, (*above, layer.origin))
    yield layer


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


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"must be true or false, not {_kind(value)}")
    return value


def _path(value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"must be the path of a settings file, not {_kind(value)}")
    return value


def _extend(settings: Settings, folder: str, value: object) -> Settings:
    """Changes nothing by itself: ``chain`` has put the layers of the named file below this one."""
    _path(value)
    return settings


TEXT: Mapping[str, object] = {"type": "string"}
TEXTS: Mapping[str, object] = {"type": "array", "items": TEXT}
ONE_OR_MORE: Mapping[str, object] = {"anyOf": [TEXT, TEXTS]}


NO_ENTRIES: Mapping[str, object] = {}


def _table_of(key: str, entry: Mapping[str, object]) -> Mapping[str, object]:
    """The type of a table whose names may hold points: TOML makes tables of them."""
    return {"type": "object", "additionalProperties": {"anyOf": [entry, {"$ref": f"#/properties/{key}"}]}}


@record
class Key:
    """One key of the settings: what it is for, its type in JSON Schema, and what its value does to the settings.

    ``default`` is what holds where nothing is said. ``adds`` says that a later layer does not replace an earlier one.
    """

    meaning: str
    type: Mapping[str, object]
    change: Callable[[Settings, str, object], Settings]
    default: object = ()
    adds: bool = False


KEYS: Mapping[str, Key] = {
    "extend": Key(
        "Another settings file, relative to this one, whose settings hold where this one says nothing.",
        TEXT,
        _extend,
        default=None,
    ),
    "select": Key(
        "Run these rules only.",
        TEXTS,
        lambda settings, folder, value: _selecting(settings, lambda last: replace(last, select=_words(value))),
        default=None,
        adds=True,
    ),
    "ignore": Key(
        "Leave these rules out.",
        TEXTS,
        lambda settings, folder, value: _selecting(settings, lambda last: replace(last, ignore=_words(value))),
        adds=True,
    ),
    "extend-select": Key(
        "Run these rules too.",
        TEXTS,
        lambda settings, folder, value: _selecting(settings, lambda last: replace(last, extend_select=_words(value))),
        adds=True,
    ),
    "extend-ignore": Key(
        "Leave these rules out too.",
        TEXTS,
        lambda settings, folder, value: _selecting(settings, lambda last: replace(last, extend_ignore=_words(value))),
        adds=True,
    ),
    "per-file-ignores": Key(
        "By pattern of files: the rules to leave out there.",
        _table_of("per-file-ignores", ONE_OR_MORE),
        _per_file_ignores,
        default=NO_ENTRIES,
        adds=True,
    ),
    "severity": Key(
        "By rule: the level that its findings get.",
        _table_of("severity", {"enum": [severity.value for severity in Severity]}),
        lambda settings, folder, value: replace(settings, severity={**settings.severity, **_severities(value)}),
        default=NO_ENTRIES,
        adds=True,
    ),
    "fail-on": Key(
        "The least level that makes the exit status 1.",
        {"enum": list(GATES)},
        lambda settings, folder, value: replace(settings, fail_on=_choice(value, GATES)),
        default=Settings.fail_on,
    ),
    "exclude": Key(
        "Leave out the files and folders that match these patterns, which are those of a .gitignore.",
        TEXTS,
        lambda settings, folder, value: replace(settings, exclude=_words(value)),
    ),
    "extend-exclude": Key(
        "Leave out what matches these patterns too.",
        TEXTS,
        lambda settings, folder, value: replace(settings, exclude=(*settings.exclude, *_words(value))),
        adds=True,
    ),
    "force-exclude": Key(
        "Leave out what is excluded also where it is named, as hooks name it.",
        {"type": "boolean"},
        lambda settings, folder, value: replace(settings, force_exclude=_truth(value)),
        default=False,
    ),
    "src": Key(
        "The folders that imports start from; they are what is checked where no path is given.",
        TEXTS,
        _src,
    ),
    "values": Key(
        "Numbers that only a run knows, by the name that trainlint gives them.",
        _table_of("values", {"type": "integer"}),
        lambda settings, folder, value: replace(settings, values={**settings.values, **_numbers(value)}),
        default=NO_ENTRIES,
        adds=True,
    ),
    "output-format": Key(
        "The formats of the reports, each as FORMAT or FORMAT:FILE.",
        ONE_OR_MORE,
        lambda settings, folder, value: replace(settings, output_format=_word_or_words(value)),
        default=Settings.output_format,
    ),
    "baseline": Key(
        "A file of known findings, relative to this one, which are not reported.",
        TEXT,
        _baseline,
        default=None,
    ),
    "require-reason": Key(
        "A comment that silences must say why.",
        {"type": "boolean"},
        lambda settings, folder, value: replace(settings, require_reason=_truth(value)),
        default=False,
    ),
}
"""Every key of the configuration file: the one declaration of it."""


def schema() -> Mapping[str, object]:
    """What may stand in the settings, as JSON Schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trainlint's settings",
        "description": "What may stand in trainlint.toml, and in [tool.trainlint] of pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"description": key.meaning, **key.type} for name, key in KEYS.items()},
    }


@record
class Setting:
    """A value that holds, as it was written, and where that was; ``origin`` is empty where nobody wrote it."""

    key: str
    value: object
    origin: str


def shown(layers: Iterable[Layer]) -> Iterator[Setting]:
    """What holds of all that these layers say, key by key, and of a table entry by entry."""
    known = chain(layers)
    for key, declared in KEYS.items():
        said = [Setting(key, layer.table[key], layer.origin) for layer in known if key in layer.table]
        if said and isinstance(said[-1].value, dict):
            last = {name: (each, one.origin) for one in said for name, each in _entries(one.value)}
            yield from (Setting(f'{key}."{name}"', value, origin) for name, (value, origin) in last.items())
        elif said:
            yield from said if declared.adds else said[-1:]
        else:
            yield Setting(key, declared.default, "")
