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


WORDS = ["<pad>", "</s>", "<unk>", "a", "b"]
ADDED = [{"id": 5, "content": "<turn>", "special": True}, {"id": 1, "content": "</s>", "special": True}]
TOKENIZER = json.dumps(
    {"added_tokens": ADDED, "model": {"type": "WordLevel", "vocab": {word: row for row, word in enumerate(WORDS)}}},
    indent=1,
)
UNIGRAM = json.dumps({"added_tokens": ADDED, "model": {"type": "Unigram", "vocab": [[word, -1.5] for word in WORDS]}})
NAMED = {"eos_token": "</s>", "pad_token": {"content": "</s>"}, "tokenizer_class": "PreTrainedTokenizerFast"}
SAVED = 'AutoTokenizer.from_pretrained("./tok")'
OF_A_FILE = 'Tokenizer.from_file("tok/tokenizer.json")'

TOKENS = """
import torch.nn as nn
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

tokenizer = {made}
{then}
head = nn.Linear(4, {width})
criterion = nn.CrossEntropyLoss(ignore_index={index})


def step(x, y):
    loss = criterion(head(x), y)
    loss.backward()
"""


def judged(folder: Path, made: str, width: str, index: str, then: str = "", **others: str) -> list[tuple[str, str]]:
    """The findings about a loss over the tokens of a saved tokenizer, and the questions that stay open."""
    saved = {"tokenizer_json": TOKENIZER, "tokenizer_config_json": json.dumps(NAMED), **others}
    code = TOKENS.format(made=made, width=width, index=index, then=then)
    files = {"train.py": code, **{f"tok/{name.replace('_json', '.json')}": text for name, text in saved.items()}}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    report = check(Request((str(folder),), str(folder), isolated=True))
    open_ones = [("", each.why.reason) for each in report.unjudged]
    return [*((each.code, each.message) for each in report.findings), *open_ones]


@pytest.mark.parametrize("text", [TOKENIZER, UNIGRAM])
@pytest.mark.parametrize(
    ("made", "width"),
    [
        (SAVED, "len(tokenizer)"),
        (SAVED, "tokenizer.vocab_size + 1"),
        (OF_A_FILE, "tokenizer.get_vocab_size()"),
        (OF_A_FILE, "tokenizer.get_vocab_size(with_added_tokens=False) + 1"),
        ('PreTrainedTokenizerFast(tokenizer_file="tok/tokenizer.json", eos_token="</s>")', "len(tokenizer)"),
        (f"PreTrainedTokenizerFast(tokenizer_object={OF_A_FILE})", "len(tokenizer)"),
    ],
)
def test_the_tokens_of_a_saved_tokenizer_are_counted(tmp_path: Path, text: str, made: str, width: str) -> None:
    ((code, message),) = judged(tmp_path, made, width, "6", tokenizer_json=text)
    assert code == "TL102" and "6" in message


@pytest.mark.parametrize(
    ("then", "others", "code"),
    [
        ("", {}, "TL101"),
        ("", {"tokenizer_config_json": json.dumps({**NAMED, "pad_token": "<pad>"})}, None),
        (
            "if tokenizer.pad_token is None:\n    tokenizer.pad_token = tokenizer.eos_token",
            {"tokenizer_config_json": json.dumps({**NAMED, "pad_token": "<pad>"})},
            None,
        ),
        (
            "if tokenizer.pad_token is None:\n    tokenizer.pad_token = tokenizer.eos_token",
            {"tokenizer_config_json": json.dumps({**NAMED, "pad_token": None})},
            "TL101",
        ),
        ("tokenizer.pad_token = '<pad>'", {}, None),
        ("tokenizer.add_special_tokens({'pad_token': '<new>'})", {}, None),
        ("tokenizer.eos_token = '<turn>'", {}, None),
    ],
)
def test_what_the_code_sets_counts_more_than_the_files(
    tmp_path: Path, then: str, others: dict[str, str], code: str | None
) -> None:
    found = judged(tmp_path, SAVED, "len(tokenizer)", "tokenizer.pad_token_id", then, **others)
    assert [each for each, _ in found if each] == ([code] if code else [])


@pytest.mark.parametrize(
    ("then", "others", "reason"),
    [
        ("tokenizer.add_tokens(['<new>'])", {}, "4 against len(tokenizer) classes is open"),
        ("", {"tokenizer_json": "{"}, "tok/tokenizer.json:1 is not read: it is no JSON"),
        ("", {"tokenizer_json": "[" * 100_000}, "tok/tokenizer.json:1 is not read: it is nested too deep"),
        (
            "",
            {"tokenizer_json": '{"model": {"vocab": {"a": "b"}}}'},
            "tok/tokenizer.json:1 is not read: it holds no vocabulary",
        ),
        ("", {"tokenizer_config_json": "{"}, "tok/tokenizer_config.json:1 is not read: it is no JSON"),
        (
            "",
            {"tokenizer_config_json": json.dumps({**NAMED, "mask_token": "<mask>"})},
            "4 against len(tokenizer) classes is open",
        ),
    ],
)
def test_a_length_that_the_files_do_not_tell_stays_open(
    tmp_path: Path, then: str, others: dict[str, str], reason: str
) -> None:
    found = judged(tmp_path, SAVED, "len(tokenizer)", "4", then, **others)
    assert any(why.endswith(reason) for code, why in found if not code)


def test_a_token_is_where_its_line_is(tmp_path: Path) -> None:
    files = {"tok/tokenizer.json": TOKENIZER, "tok/tokenizer_config.json": json.dumps(NAMED, indent=1)}
    code = TOKENS.format(made=SAVED, width="len(tokenizer)", index="tokenizer.pad_token_id", then="")
    (found,) = findings(tmp_path, {"train.py": code, **files})
    lines = [(Path(step.where.path).name, step.where.row) for step in found.because]
    assert ("tokenizer_config.json", 4) in lines
    assert ("tokenizer.json", TOKENIZER.split('"content": "</s>"')[0].count("\n") + 1) in lines


def test_words_of_a_list_are_numbered_by_their_lines(tmp_path: Path) -> None:
    (tmp_path / "tok").mkdir()
    (tmp_path / "tok" / "vocab.txt").write_text("\n".join([*WORDS, "c"]) + "\n")
    code = TOKENS.format(made=SAVED, width="tokenizer.vocab_size", index="6", then="")
    (found,) = findings(tmp_path, {"train.py": code})
    assert found.code == "TL102"
