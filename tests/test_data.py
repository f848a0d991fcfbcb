"""Each reader of data files against the library that programs read them with, and what nobody should load."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from trainlint.check import Request, check
from trainlint.finding import Finding
from trainlint.source.data.datum import MOST_VALUES, Broken, Datum, Foreign, Mapping, Scalar, Sequence
from trainlint.source.data.formats import parse

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)

TRAIN = """
import {module}
import torch.nn as nn

with open("settings.{suffix}", "{mode}") as file:
    settings = {module}.{load}
head = nn.Linear(4, settings["classes"])
criterion = nn.CrossEntropyLoss(ignore_index=settings["eos"])


def step(x, y):
    return criterion(head(x), y)
"""


def plain(datum: Datum) -> object:
    """The value without its places."""
    match datum:
        case Scalar(value=value):
            return value
        case Mapping(pairs=pairs):
            return {name.value: plain(value) for name, value in pairs}
        case Sequence(items=items):
            return [plain(item) for item in items]
        case Foreign(kind=kind):
            return kind


def findings(folder: Path, files: dict[str, str | bytes]) -> list[Finding]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(check(Request((str(folder),), str(folder), isolated=True)).findings)


@settings(deadline=None)
@given(VALUES)
def test_json_is_read_as_python_reads_it(value: object) -> None:
    for indent in (None, 2):
        assert plain(parse(json.dumps(value, indent=indent).encode(), "json")) == value


@settings(deadline=None)
@given(VALUES)
def test_yaml_is_read_as_pyyaml_reads_it(value: object) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    assert plain(parse(text.encode(), "yaml")) == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: &one\n  b: 1\n  c: 2\nd:\n  <<: *one\n  c: 3\n",
        "a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne:\n  <<: [*x, *y]\n",
        "- 0x1F\n- 0o17\n- 1_000\n- 1e3\n- 1.0e+3\n- yes\n- ~\n- '12'\n",
        "a: 1\na: 2\n",
        "",
        "# only a remark\n",
        "a: |\n  1\n  2\nb: >-\n  x\n  y\n",
    ],
)
def test_what_yaml_writes_in_other_ways_is_read_as_pyyaml_reads_it(text: str) -> None:
    assert plain(parse(text.encode(), "yaml")) == yaml.safe_load(text)


def test_toml_is_read_as_python_reads_it() -> None:
    text = 'top = 1\n[a.b]\nc = [1, 2]\n"d e" = {f = true}\n[[g]]\nh = 1.5\n[[g]]\nh = "x"\n'
    assert plain(parse(text.encode(), "toml")) == tomllib.loads(text)


@pytest.mark.parametrize(
    ("format", "text", "row"),
    [
        ("yaml", "a: 1\nmodel:\n  classes: 7\n", 3),
        ("json", '{"a": 1,\n "model": {\n  "classes": 7}}', 3),
        ("toml", "a = 1\n[model]\nclasses = 7  # many\n", 3),
    ],
)
def test_a_value_knows_the_line_of_its_key(format: str, text: str, row: int) -> None:
    found = parse(text.encode(), format)
    assert isinstance(found, Mapping)
    model = found.get("model")
    assert isinstance(model, Mapping)
    classes = model.get("classes")
    assert classes is not None and classes.place.row == row


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("yaml", b"a: [1, 2"),
        ("yaml", b"\xff\xfe\x00"),
        ("yaml", b"a: &a [*a]"),
        ("yaml", b"[" * 5000),
        ("yaml", b"a: " + b"9" * 10_000),
        ("yaml", b"? [1, 2]\n: 3\n"),
        ("json", b'{"a": }'),
        ("json", b'{"a": 1} x'),
        ("json", b"[" * 5000),
        ("json", b'["\\x"]'),
        ("json", b""),
        ("json", b"[" + b"9" * 10_000 + b"]"[:0]),
        ("toml", b"a = "),
        ("toml", b"a = " + b"[" * 5000),
        ("toml", b"a = " + b"9" * 10_000),
        ("toml", b".".join([b"a"] * 5000) + b" = 1"),
    ],
)
def test_a_broken_file_says_so(format: str, data: bytes) -> None:
    with pytest.raises(Broken):
        parse(data, format)


DOUBLED = [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
MERGED = [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 60)]


@pytest.mark.parametrize("lines", [["a0: &a0 [x, x]", *DOUBLED], ["a0: &a0 {x: 1}", *MERGED]])
def test_a_few_anchors_do_not_fill_the_memory(lines: list[str]) -> None:
    with pytest.raises(Broken):
        parse("\n".join(lines).encode(), "yaml")


@pytest.mark.parametrize("format", ["yaml", "json"])
def test_a_file_of_more_values_than_anyone_follows_says_so(format: str) -> None:
    with pytest.raises(Broken):
        parse(b"[" + b"1," * MOST_VALUES + b"1]", format)


def test_no_object_is_made_of_a_tag() -> None:
    found = parse(b"a: !!python/object/apply:os.mkdir [nowhere]\nb: !include other.yaml\n", "yaml")
    assert plain(found) == {"a": "python/object/apply:os.mkdir", "b": "!include"}


LOADS = {
    "yaml": ("yaml", "r", "safe_load(file)", "classes: 5\neos: 4\n"),
    "json": ("json", "r", "load(file)", '{"classes": 5, "eos": 4}'),
    "toml": ("tomllib", "rb", "load(file)", "classes = 5\neos = 4\n"),
}


@pytest.mark.parametrize("suffix", LOADS)
def test_a_finding_shows_the_lines_of_the_settings_file(tmp_path: Path, suffix: str) -> None:
    module, mode, load, text = LOADS[suffix]
    train = TRAIN.format(module=module, mode=mode, load=load, suffix=suffix)
    (finding,) = findings(tmp_path, {"train.py": train, f"settings.{suffix}": text})
    places = {(Path(step.where.path).name, step.text) for step in finding.because}
    assert any(name == f"settings.{suffix}" and "classes" in text and "5" in text for name, text in places)
    assert not finding.assumed


@pytest.mark.parametrize(
    "text", ["classes: [", "- 5\n", "", "classes: x\neos: y\n", "classes: !n 5\neos: 4\n", "a: 1\n"]
)
def test_a_settings_file_that_says_nothing_gives_no_finding(tmp_path: Path, text: str) -> None:
    module, mode, load, _ = LOADS["yaml"]
    train = TRAIN.format(module=module, mode=mode, load=load, suffix="yaml")
    assert not findings(tmp_path, {"train.py": train, "settings.yaml": text})


def test_a_file_outside_of_the_project_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("classes: 5\neos: 4\n")
    module, mode, load, _ = LOADS["yaml"]
    for path in ("../settings", str(tmp_path / "settings")):
        train = TRAIN.format(module=module, mode=mode, load=load, suffix="yaml").replace(
            "settings.yaml", f"{path}.yaml"
        )
        assert not findings(tmp_path / "project", {"train.py": train})


def test_two_files_of_one_name_are_not_guessed_between(tmp_path: Path) -> None:
    module, mode, load, text = LOADS["yaml"]
    train = TRAIN.format(module=module, mode=mode, load=load, suffix="yaml")
    other: dict[str, str | bytes] = {"a/train.py": train, "a/settings.yaml": text}
    assert findings(tmp_path, other)
    assert not findings(tmp_path, {**other, "settings.yaml": "classes: 5\neos: 5\n"})
