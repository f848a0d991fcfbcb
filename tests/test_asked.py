"""What is asked for: which files, which part of them, and what is told of that, through the front door."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from io import RawIOBase
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO

import jsonschema
import pytest

from trainlint import config
from trainlint.check import Request, Shard, check
from trainlint.cli import main, progress
from trainlint.cli.options import COMMANDS
from trainlint.config import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HEAD = """\
from torch import nn
from torch.nn import functional as F

from sizes import CODES

head = nn.Linear(8, CODES + 1)
stop_id = CODES


def loss(hidden, targets):
    return F.cross_entropy(head(hidden), targets, ignore_index=CODES)
"""
OPEN = """\
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.head = nn.Linear(8, cfg.vocab_size)

    def loss(self, hidden, targets):
        return F.cross_entropy(self.head(hidden), targets, ignore_index=9)
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two collisions through one constant, a loss whose width only a run knows, and a file without any."""
    (tmp_path / "pyproject.toml").write_text("[tool.trainlint]\n")
    (tmp_path / "sizes.py").write_text("CODES = 64\n")
    (tmp_path / "first.py").write_text(HEAD)
    (tmp_path / "second.py").write_text(HEAD)
    (tmp_path / "open.py").write_text(OPEN)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


# Which files


def test_paths_may_stand_in_a_file(project: Path, capsys: Captured) -> None:
    (project / "list").write_text("first.py\n\nopen.py\n")
    assert main(["--files-from", "list", "--show-files"]) == 0
    assert capsys.readouterr().out.splitlines() == ["first.py", "open.py"]
    (project / "list").write_bytes(b"second.py\0open.py\0")
    assert main(["first.py", "--files-from=list", "--show-files"]) == 0
    assert capsys.readouterr().out.splitlines() == ["first.py", "open.py", "second.py"]


def test_an_empty_list_of_paths_is_not_the_whole_project(project: Path, capsys: Captured) -> None:
    (project / "list").write_text("")
    assert main(["--files-from", "list"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "0 files checked\n")


def test_paths_may_come_through_a_pipe(project: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "trainlint", "--files-from", "-", "--show-files"], input=b"open.py\n",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}, capture_output=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout) == (0, b"open.py\n")


def test_a_list_that_is_not_there_is_exit_2(project: Path, capsys: Captured) -> None:
    assert main(["--files-from", "nope"]) == 2
    assert capsys.readouterr().err == "trainlint: --files-from nope: No such file or directory\n"


def test_the_files_that_would_be_checked_are_named_and_not_read(project: Path, capsys: Captured) -> None:
    (project / "first.py").write_text("def f(:\n")
    assert main([".", "--show-files", "--exclude", "second.py"]) == 0
    assert capsys.readouterr().out.splitlines() == ["first.py", "open.py", "sizes.py"]
    assert main(["nope", "--show-files"]) == 2


def test_what_is_excluded_is_checked_when_it_is_named_unless_that_is_forced(project: Path, capsys: Captured) -> None:
    (project / "trainlint.toml").write_text("extend-exclude = ['fir*', 'lib/']\n")
    (project / "lib").mkdir()
    (project / "lib" / "third.py").write_text(HEAD)
    assert main(["first.py"]) == 1
    capsys.readouterr()
    assert main(["first.py", "lib/third.py", "lib", "--force-exclude"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "first.py: the settings leave it out, and force-exclude holds" in said.err
    assert said.err.endswith("0 files checked\n")
    assert main(["first.py", "second.py", "--config", "force-exclude = true", "--output-format=concise"]) == 1
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["second.py"]


@pytest.mark.parametrize("paths", [(".",), ("sizes.py",), ("first.py", "open.py")])
@pytest.mark.parametrize("total", [2, 3])
def test_the_shards_are_the_whole_and_share_nothing(project: Path, paths: tuple[str, ...], total: int) -> None:
    whole = check(Request(paths, str(project)))
    parts = [check(Request(paths, str(project), shard=Shard(number, total))) for number in range(1, total + 1)]
    assert Counter(each for part in parts for each in part.findings) == Counter(whole.findings)
    assert Counter(each for part in parts for each in part.unjudged) == Counter(whole.unjudged)
    assert sum(part.files_checked for part in parts) == whole.files_checked
    assert sum(len(part.failing) for part in parts) == len(whole.failing)
    for kind, tally in whole.judged.items():
        each = [part.judged[kind] for part in parts]
        assert (sum(one.safe for one in each), sum(one.flagged for one in each), sum(one.unjudged for one in each)) == (
            tally.safe, tally.flagged, tally.unjudged,
        )  # fmt: skip


def test_the_files_of_a_shard_are_told_by_their_names_alone(project: Path, capsys: Captured) -> None:
    def files(*words: str) -> list[str]:
        assert main([".", "--show-files", *words]) == 0
        return capsys.readouterr().out.splitlines()

    before = [files("--shard", f"{number}/2") for number in (1, 2)]
    assert sorted(before[0] + before[1]) == files()
    (project / "aaa.py").write_text("x = 1\n")
    after = [files("--shard", f"{number}/2") for number in (1, 2)]
    assert [set(old) - set(new) for old, new in zip(before, after, strict=True)] == [set(), set()]


@pytest.mark.parametrize("value", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2"])
def test_a_shard_that_is_none_is_exit_2(project: Path, capsys: Captured, value: str) -> None:
    assert main([".", f"--shard={value}"]) == 2
    assert f"--shard must be I/N with I from 1 to N, as in 2/4, not {value!r}" in capsys.readouterr().err


# What is told


def test_statistics_count_findings_by_rule_most_first(project: Path, capsys: Captured) -> None:
    (project / "third.py").write_text("import torch\ntorch.nn.CrossEntropyLoss(\n")
    assert main([".", "--statistics"]) == 1
    first, second, summary = capsys.readouterr().out.splitlines()
    assert (first, second) == ("2  TL101  sentinel-collision", "1  TL902  unreadable-code")
    assert summary.startswith("3 findings (3 errors) in 5 files")
    main([".", "--output-format", "json"])
    assert json.loads(capsys.readouterr().out)["statistics"] == [
        {"code": "TL101", "name": "sentinel-collision", "count": 2},
        {"code": "TL902", "name": "unreadable-code", "count": 1},
    ]


def test_open_questions_are_grouped_by_what_keeps_them_open(project: Path, capsys: Captured) -> None:
    (project / "open2.py").write_text(OPEN)
    assert main(["open.py", "open2.py", "--show-unjudged"]) == 0
    assert capsys.readouterr().out.startswith(
        "2 not judged: 9 against cfg.vocab_size classes is open\n"
        "  settle   cfg.vocab_size\n"
        "  in       open.py:11:16  does the loss skip a class\n"
        "           open2.py:11:16  does the loss skip a class\n"
        "\n"
    )


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("cfg.vocab_size=10", ""),
        ("cfg.vocab_sise=10", "cfg.vocab_sise: nothing that was judged asks for it; did you mean cfg.vocab_size?"),
        ("other=1", "other: nothing that was judged asks for it"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_number_that_nothing_asks_for_is_said(
    project: Path, capsys: Captured, definition: str, expected: str, jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["trainlint.source.observe"], "FEWEST_FILES", 1)
    main([".", "--define", definition, "-j", jobs])
    assert capsys.readouterr().err == (f"--define {expected}\n" if expected else "")


def test_the_settings_that_hold_are_shown_with_where_they_were_made(project: Path, capsys: Captured) -> None:
    (project / "base.toml").write_text("fail-on = 'error'\nexclude = ['old']\nvalues = {a.b = 1, c = 2}\n")
    (project / "trainlint.toml").write_text("extend = 'base.toml'\nignore = ['TL102']\nvalues = {c = 3}\n")
    words = (".", "--show-settings", "--config", "exclude = ['x']", "--define=d=4", "--ignore=TL103")
    assert main([*words]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head == f"# the settings of {project}"
    told = [tuple(part.strip() for part in row.rpartition("  # ")[::2]) for row in rows]
    assert told == [
        ('extend = "base.toml"', "trainlint.toml"),
        ("# select is not set", "default"),
        ('ignore = ["TL102"]', "trainlint.toml"),
        ('ignore = ["TL103"]', "command line"),
        ("extend-select = []", "default"),
        ("extend-ignore = []", "default"),
        ("per-file-ignores = {}", "default"),
        ("severity = {}", "default"),
        ('fail-on = "error"', "base.toml"),
        ('exclude = ["x"]', "--config \"exclude = ['x']\""),
        ("extend-exclude = []", "default"),
        ("force-exclude = false", "default"),
        ("src = []", "default"),
        ('values."a.b" = 1', "base.toml"),
        ('values."c" = 3', "trainlint.toml"),
        ('values."d" = 4', "command line"),
        ('output-format = ["full"]', "default"),
        ("# baseline is not set", "default"),
        ("require-reason = false", "default"),
    ]


def test_every_key_of_the_settings_is_shown_and_described(project: Path, capsys: Captured) -> None:
    main([".", "--show-settings"])
    told = capsys.readouterr().out
    documented = (Path(__file__).parent.parent / "docs" / "command-line.md").read_text()
    for key, declared in config.KEYS.items():
        assert f"{key} " in told
        assert declared.meaning.endswith(".")
        assert f"`{key}`" in documented, key


# Settings


@pytest.mark.parametrize("name", ["config", "output"])
def test_a_schema_is_printed_and_is_one(project: Path, capsys: Captured, name: str) -> None:
    assert main(["schema", name]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_no_schema_of_something_else(project: Path, capsys: Captured) -> None:
    assert main(["schema", "cofnig"]) == 2
    assert "which schema? config or output; did you mean config?" in capsys.readouterr().err


def test_a_setting_is_explained(project: Path, capsys: Captured) -> None:
    assert main(["config", "values", "fail-on", "exclude"]) == 0
    assert capsys.readouterr().out.split("\n\n") == [
        "values: Numbers that only a run knows, by the name that trainlint gives them.\n"
        "type     table of integer\ndefault  {}\noption   --define",
        "fail-on: The least level that makes the exit status 1.\n"
        'type     error, warning, note, never\ndefault  "warning"\noption   --fail-on',
        "exclude: Leave out the files and folders that match these patterns, which are those of a .gitignore.\n"
        "type     list of string\ndefault  []\noption   --exclude\n",
    ]


def test_every_setting_is_named_and_no_other_explained(project: Path, capsys: Captured) -> None:
    assert main(["config"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(config.KEYS)
    assert main(["config", "--output-format", "json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(config.KEYS)
    assert main(["config", "selct"]) == 2
    assert "unknown key 'selct'; did you mean select?" in capsys.readouterr().err


SETTINGS = [
    "select = ['TL1']\nignore = []\nextend-select = ['TL205']\nextend-ignore = ['TL102']",
    "fail-on = 'note'\nexclude = ['old']\nextend-exclude = ['older']\nforce-exclude = true\nsrc = ['src']",
    "values = {'cfg.n' = 1025, cfg.codes = 8, a.b.c = 1}\nbaseline = 'b.jsonl'",
    "per-file-ignores = {'tests/*' = ['TL1'], 'a.py' = 'TL2'}\nseverity = {TL205 = 'warning'}",
    "output-format = 'concise'",
    "output-format = ['json:a.json', 'full']",
    "selct = ['TL1']",
    "select = 'TL1'",
    "ignore = [1]",
    "force-exclude = 'yes'",
    "fail-on = 'eror'",
    "severity = {TL1 = 'off'}",
    "severity = ['TL1']",
    "values = {a.b = 1.5}",
    "values = {a.b = true}",
    "per-file-ignores = {'a' = 1}",
    "output-format = {}",
    "extend = ['a.toml']",
    "baseline = 1",
]


@pytest.mark.parametrize("text", SETTINGS)
def test_the_schema_of_the_settings_takes_what_trainlint_takes(tmp_path: Path, text: str) -> None:
    table = tomllib.loads(text)
    try:
        config.settings([config.Layer("a", str(tmp_path), table)])
        accepted = True
    except ConfigError:
        accepted = False
    assert jsonschema.Draft202012Validator(config.schema()).is_valid(table) == accepted


def test_settings_extend_others_from_their_own_folder(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "base.toml").write_text("extend = 'first.toml'\nsrc = ['lib']\nfail-on = 'note'\n")
    (tmp_path / "shared" / "first.toml").write_text("exclude = ['a']\nfail-on = 'never'\n")
    (tmp_path / "trainlint.toml").write_text("extend = 'shared/base.toml'\nextend-exclude = ['b']\n")
    layer = config.nearest(str(tmp_path))
    assert layer
    found = config.settings([layer])
    assert found.src == (str(tmp_path / "shared" / "lib"),)
    assert (found.exclude, found.fail_on) == (("a", "b"), "note")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extend = 'none.toml'", "trainlint.toml: extend none.toml: "),
        ("extend = 'trainlint.toml'", "it would extend itself"),
        ("extend = 'loop.toml'", "it would extend itself"),
        ("extend = 'bad.toml'", "bad.toml: unknown key 'selct'; did you mean select?"),
    ],
)
def test_settings_that_extend_what_cannot_be_are_exit_2(
    project: Path, capsys: Captured, text: str, message: str
) -> None:
    (project / "loop.toml").write_text("extend = 'trainlint.toml'\n")
    (project / "bad.toml").write_text("selct = []\n")
    (project / "trainlint.toml").write_text(text)
    assert main(["."]) == 2
    said = capsys.readouterr().err
    assert message in said and "Traceback" not in said


# On a terminal


def on_a_terminal(*words: str) -> bytes:
    """What a run writes to its error stream where that is a terminal."""
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as stream, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "stderr", stream)
        main([*words])
    with os.fdopen(reader, "rb", buffering=0) as terminal:
        return b"".join(_to_the_end(terminal))


def _to_the_end(terminal: RawIOBase) -> Iterator[bytes]:
    """What is left in a terminal whose other end is closed, which Linux tells by an error."""
    with suppress(OSError):
        while piece := terminal.read(65_536):
            yield piece


def test_a_bar_is_drawn_on_a_terminal_where_it_takes_long(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LONG", -1.0)
    drawn = on_a_terminal(".")
    assert b"reading" in drawn
    # The bar is taken away, and the cursor is there again.
    assert drawn.endswith(b"\x1b[2K") and b"\x1b[?25h" in drawn


@pytest.mark.parametrize(("long", "words"), [(60.0, ()), (-1.0, ("-q",))])
def test_no_bar_where_nobody_waits_for_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, long: float, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(progress, "LONG", long)
    assert on_a_terminal(".", *words) == b""


def test_never_a_bar_in_a_pipe(project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LONG", -1.0)
    assert main(["."]) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "environment", "colourful"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "0"}, False),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color=never",), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_who_decides_on_colour(
    project: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    environment: dict[str, str],
    colourful: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    main(["first.py", *words])
    assert ("\x1b[" in capsys.readouterr().out) == colourful


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("trainlint check --output-f", "--output-format"),
        ("trainlint sche", "schema"),
        ("trainlint check --output-format sar", "sarif"),
        ("trainlint check --fail-on err", "error"),
        ("trainlint check --select TL1,sentinel-coll", "TL1,sentinel-collision"),
        ("trainlint rule sentinel-coll", "sentinel-collision"),
        ("trainlint config force", "force-exclude"),
    ],
)
def test_a_shell_completes_commands_options_and_their_values(
    project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, line: str, expected: str
) -> None:
    monkeypatch.setenv("_TRAINLINT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert main([]) == 0
    assert capsys.readouterr().out.split() == [expected]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_shown(
    project: Path, capsys: Captured, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the shell that is named, whichever the tests were started from."""
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert main(["--show-completion", shell]) == 0
    assert "_TRAINLINT_COMPLETE" in capsys.readouterr().out


# Watching


@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="interrupted by a signal")
def test_watching_checks_again_when_a_file_or_the_settings_change_and_ends_when_interrupted(project: Path) -> None:
    command = [sys.executable, "-m", "trainlint", ".", "--watch", "--output-format", "concise"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as run:
        lines: Queue[str] = Queue()
        assert run.stdout is not None
        reader = Thread(target=passed_on, args=(run.stdout, lines), daemon=True)
        reader.start()
        try:
            first = until_it_waits(lines)
            assert sum("TL101" in line for line in first) == 2
            (project / "first.py").write_text(HEAD.replace("ignore_index=CODES", "ignore_index=-100"))
            assert sum("TL101" in line for line in until_it_waits(lines)) == 1
            (project / "trainlint.toml").write_text("selct = []\n")
            assert any("unknown key 'selct'" in line for line in until_it_waits(lines))
            (project / "trainlint.toml").write_text("ignore = ['TL101']\n")
            assert not any("TL101" in line for line in until_it_waits(lines))
            run.send_signal(signal.SIGINT)
            assert run.wait(timeout=60) == 0
            reader.join(timeout=10)
            left = []
            while not lines.empty():
                left.append(lines.get())
            assert left == []
        finally:
            run.kill()


def passed_on(stream: IO[str], lines: Queue[str]) -> None:
    """Each line as soon as it comes."""
    for line in stream:
        lines.put(line)


def until_it_waits(lines: Queue[str]) -> list[str]:
    """What is printed until the next change is waited for."""
    told: list[str] = []
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        try:
            told.append(lines.get(timeout=1))
        except Empty:
            continue
        if told[-1].startswith("watching "):
            return told
    raise AssertionError(f"nothing more came after {told}")


def test_watching_needs_paths_that_can_be_read_again(project: Path, capsys: Captured) -> None:
    assert main(["--watch", "--files-from", "-"]) == 2
    assert "--watch reads no paths from the input" in capsys.readouterr().err
    assert main(["nowhere", "--watch"]) == 2
    assert "nowhere: no such file or folder" in capsys.readouterr().err


def test_every_command_is_documented() -> None:
    documented = (Path(__file__).parent.parent / "docs" / "command-line.md").read_text()
    for name, command in COMMANDS.items():
        assert f"trainlint {name}" in documented, name
        for option in command.options:
            assert f"--{option.name}" in documented, option.name
