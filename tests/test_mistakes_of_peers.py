"""What other linters got wrong, and their users lost trust over: each a test through the front door."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from trainlint import config
from trainlint.cli import main
from trainlint.cli.options import COMMANDS, GROUPS, Command, group, parse, passed_on
from trainlint.cli.output import FORMATS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOP = Path(__file__).parent.parent
Captured = pytest.CaptureFixture[str]
COLLISION = """\
from torch import nn
from torch.nn import functional as F

CODES = 64
head = nn.Linear(8, CODES + 1)
stop_id = CODES


def loss(hidden, targets):
    größe = head(hidden); return F.cross_entropy(größe, targets, ignore_index=CODES)
"""
ROW = 10
COLUMN = COLLISION.splitlines()[ROW - 1].index("CODES") + 1


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "trainlint.toml").write_text("")
    (tmp_path / "train.py").write_text(COLLISION, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


# Green without having looked


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select", "--extend-ignore"])
def test_an_unknown_rule_is_never_green(project: Path, capsys: Captured, option: str) -> None:
    (project / "train.py").write_text("x = 1\n")
    assert main([".", option, "TL7777"]) == 2
    assert "unknown rule 'TL7777'" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["severity = {TL7777 = 'note'}", "per-file-ignores = {'*' = ['TL7777']}"])
def test_an_unknown_rule_of_the_settings_is_never_green(project: Path, capsys: Captured, key: str) -> None:
    assert main([".", "--config", key]) == 2
    assert "unknown rule 'TL7777'" in capsys.readouterr().err


def test_a_missing_path_is_never_green(project: Path, capsys: Captured) -> None:
    assert main(["trian.py"]) == 2
    assert "trian.py: no such file or folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe\x00", b"# coding: nonsense\nx = 1\n", b"x = '\xe9'\n", b"x = (\n", b"x = 1\x00\n"],
    ids=["not text", "unknown encoding", "not UTF-8", "no Python", "a null character"],
)
def test_a_file_that_cannot_be_decoded_or_parsed_is_never_green(project: Path, capsys: Captured, data: bytes) -> None:
    (project / "other.py").write_bytes(data)
    assert main(["other.py", "--output-format", "concise"]) == 1
    assert "other.py:" in (told := capsys.readouterr().out) and "error TL902" in told


def test_a_file_that_the_system_will_not_open_is_never_green(project: Path, capsys: Captured) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (project / "other.py").write_text("x = 1\n")
    (project / "other.py").chmod(0)
    assert main(["other.py"]) == 2


def notebook(*sources: str) -> str:
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for source in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_a_notebook_is_never_passed_over(project: Path, capsys: Captured) -> None:
    head, loss = COLLISION.split("\n\n\n")
    (project / "train.ipynb").write_text(notebook(head, loss))
    assert main(["train.ipynb", "--output-format", "concise"]) == 1
    assert f"train.ipynb:cell 2:2:{COLUMN}: error TL101" in capsys.readouterr().out
    (project / "train.ipynb").write_text("{")
    assert main(["train.ipynb", "--output-format", "concise"]) == 1
    assert "error TL902" in capsys.readouterr().out


def test_a_hook_without_files_is_green_and_says_that_it_looked_at_nothing(project: Path, capsys: Captured) -> None:
    assert main(["check", "--hook"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "0 files checked\n")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("words", [(), ("-q",), ("--statistics",)])
def test_findings_are_never_exit_0(project: Path, name: str, words: tuple[str, ...]) -> None:
    assert main([".", "--output-format", name, *words]) == 1
    assert main([".", "--output-format", f"{name}:out", *words]) == 1


# Not the same everywhere


def of_text(told: str) -> tuple[str, int, int]:
    found = re.search(r"([\w.]+):(\d+):(\d+)", told)
    assert found
    return found[1], int(found[2]), int(found[3])


def of_json(told: str) -> tuple[str, int, int]:
    finding = json.loads(told.splitlines()[0]) if told.startswith('{"type"') else json.loads(told)["findings"][0]
    return finding["filename"], finding["location"]["row"], finding["location"]["column"]


def of_sarif(told: str) -> tuple[str, int, int]:
    place = json.loads(told)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]["startLine"], place["region"]["startColumn"]


def of_github(told: str) -> tuple[str, int, int]:
    found = re.search(r"file=([^,]+),line=(\d+),.*?col=(\d+)", told)
    assert found
    return found[1], int(found[2]), int(found[3])


def of_gitlab(told: str) -> tuple[str, int, int]:
    location = json.loads(told)[0]["location"]
    begin = location["positions"]["begin"]
    return location["path"], begin["line"], begin["column"]


def of_junit(told: str) -> tuple[str, int, int]:
    failed = next(case for case in ElementTree.fromstring(told).iter("testcase") if case.find("failure") is not None)
    row, column = failed.get("name", "").rpartition(" ")[2].split(":")
    return failed.get("classname", ""), int(row), int(column)


def of_rdjson(told: str) -> tuple[str, int, int]:
    """Its columns are bytes: two letters in front of the place take two each, and stand there twice."""
    location = json.loads(told)["diagnostics"][0]["location"]
    start = location["range"]["start"]
    before = COLLISION.splitlines()[start["line"] - 1].encode()[: start["column"] - 1].decode()
    return location["path"], start["line"], len(before) + 1


READERS: Mapping[str, Callable[[str], tuple[str, int, int]]] = {
    "full": of_text,
    "concise": of_text,
    "json": of_json,
    "json-lines": of_json,
    "sarif": of_sarif,
    "github": of_github,
    "gitlab": of_gitlab,
    "junit": of_junit,
    "rdjson": of_rdjson,
    "markdown": of_text,
}


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_is_off_by_one(project: Path, capsys: Captured, name: str) -> None:
    main([".", "--output-format", name])
    assert READERS[name](capsys.readouterr().out) == ("train.py", ROW, COLUMN)


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_depends_on_the_number_of_processes(
    project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sys.modules["trainlint.source.observe"], "FEWEST_FILES", 1)
    for number in range(5):
        (project / f"train{number}.py").write_text(COLLISION, encoding="utf-8")
    told = []
    for jobs in ("1", "3"):
        main([".", "--output-format", name, "-j", jobs])
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert told[0].count("train4.py") >= 1


def test_no_address_of_sarif_is_absolute_for_a_file_of_the_project(project: Path, capsys: Captured) -> None:
    main([str(project / "train.py"), "--output-format", "sarif"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    addresses = [each["uri"] for each in _locations(run["results"])]
    assert addresses and set(addresses) == {"train.py"}


def _locations(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        yield from ([node["artifactLocation"]] if "artifactLocation" in node else [])
        node = list(node.values())
    for each in node if isinstance(node, list) else ():
        yield from _locations(each)


# Packs of others


def with_pack(folder: Path, source: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A run with a rule pack installed beside our own."""
    packs = folder / "packs"
    (packs / "theirs").mkdir(parents=True)
    (packs / "theirs" / "__init__.py").write_text("")
    (packs / "theirs" / "rule_of_theirs.py").write_text(source)
    (packs / "theirs-1.dist-info").mkdir()
    (packs / "theirs-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (packs / "theirs-1.dist-info" / "entry_points.txt").write_text("[trainlint.rules]\ntheirs = theirs\n")
    return subprocess.run(
        [sys.executable, "-m", "trainlint", *words], cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(packs), *filter(None, sys.path)])}, check=False,
    )  # fmt: skip


RAISES = '''"""XY101: a rule that fails."""

from trainlint import Loss, rule


@rule("XY101")
def rule_of_theirs(loss: Loss):
    raise KeyError("theirs")
'''


def test_a_rule_that_raises_takes_nothing_else_along(project: Path) -> None:
    run = with_pack(project, RAISES, "train.py", "--output-format", "concise")
    assert run.returncode == 2
    assert "error TL101 sentinel-collision" in run.stdout
    assert "error TL999" in run.stdout and "judging XY101 rule-of-theirs: KeyError('theirs')" in run.stdout
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import not_there\n", "the rule pack 'theirs' (theirs) cannot be loaded: ModuleNotFoundError("),
        (RAISES.replace("XY101", "TL101"), "TL101 is claimed by both sentinel-collision of the pack 'core'"),
    ],
)
def test_packs_that_cannot_be_used_are_exit_2_and_named(project: Path, source: str, message: str) -> None:
    run = with_pack(project, source, "train.py")
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr and "Traceback" not in run.stderr


# Stale words


def command_lines() -> Iterator[tuple[str, str]]:
    """Each command line of ours that a page tells its reader to type."""
    for page in [TOP / "README.md", *(TOP / "docs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```(?:sh|console)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                found = re.search(r"(?:^|&& |^\$ |/)trainlint( .*)?$", line.partition("  ")[0])
                if found and "[" not in line and "|" not in line:
                    yield page.name, (found[1] or "").partition(" && ")[0].partition(" > ")[0]
        yield from ((page.name, words) for words in re.findall(r"`trainlint( [^`|\[]*)`", text))


def test_every_command_line_of_the_pages_is_one_that_trainlint_takes() -> None:
    lines = sorted(set(command_lines()))
    assert len(lines) > 15
    assert [line for line in lines if not is_taken(shlex.split(line[1]))] == []


def is_taken(words: list[str]) -> bool:
    if {"--version", "--install-completion", "--show-completion", "-h"} & set(words[:1]):
        return True
    if words[:1] and words[0] in GROUPS:
        commands, words = group(words[0]), words[1:]
    else:
        commands = COMMANDS
        words = words if words[:1] and words[0] in COMMANDS else ["check", *words]
    command: Command | None = commands.get(words[0]) if words else None
    if command is None:
        return False
    own = passed_on(words[1:], command.options)[0] if command.passes_on else words[1:]
    return parse(own, command.options) is not None


def test_the_settings_that_the_readme_shows_are_settings() -> None:
    text = (TOP / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert shown
    for block in shown:
        table = tomllib.loads(block)
        own = table.get("tool", {}).get("trainlint", table)
        if "lint" not in own:
            jsonschema.Draft202012Validator(config.schema()).validate(own)


FORBIDDEN = (
    re.compile(r"pad_token(_id)?\s*=\s*(self\.)?(tokenizer\.)?eos_token"),
    re.compile(r"(convert|cast|move|load) (the |all |your )?(weights|model|parameters)\b[^.;]* b?float16"),
    re.compile(r"(call|use|add|write) (model)?\.(half|bfloat16)\("),
)
"""TL104 and TL301 are about these; an answer found on the web gives them as the cure of something else."""


@pytest.mark.parametrize(
    "text",
    ["set tokenizer.pad_token = tokenizer.eos_token", "convert the weights to bfloat16", "call model.half() first"],
)
def test_such_advice_would_be_recognised(text: str) -> None:
    assert any(each.search(text) for each in FORBIDDEN)


def sayings() -> Iterator[tuple[str, str]]:
    """Every text that a rule may tell, as message, consequence or help, with the rule."""
    for path in sorted((TOP / "rules" / "trainlint_rules").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            match node:
                case ast.Constant(value=str(text)) if id(node) not in docs:
                    yield path.stem, text
                case ast.JoinedStr():
                    yield path.stem, ast.unparse(node)


def test_no_advice_causes_what_we_look_for() -> None:
    given = list(sayings())
    assert len(given) > 300
    assert [(name, text) for name, text in given if any(each.search(text) for each in FORBIDDEN)] == []
