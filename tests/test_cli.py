from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import recorder
import trainlint_rules
from editing import FIXTURES
from hypothesis import given, settings
from hypothesis import strategies as st

from trainlint.cli import app
from trainlint.cli.options import CHECK, COMMANDS, Kind, parse
from trainlint.rule import installed

QUIET = "loss = 1\n"


def trainlint(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "TERM", "COLUMNS"}}
    path = os.pathsep.join(filter(None, [*sys.path]))
    return subprocess.run(
        [sys.executable, "-m", "trainlint", *words],
        cwd=folder,
        env={**env, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(QUIET)
    (tmp_path / "b.py").write_text(QUIET)
    return tmp_path


@pytest.mark.parametrize(
    "words", [(), (".",), ("check",), ("check", "."), ("src", "b.py"), ("-j2", "."), ("--", "src", "b.py")]
)
def test_the_word_check_may_be_left_out(project: Path, words: tuple[str, ...]) -> None:
    run = trainlint(project, *words)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "no findings in 2 files; no loss to judge\n"


def test_a_path_that_looks_like_a_command_is_written_with_its_folder(project: Path) -> None:
    (project / "check").mkdir()
    (project / "check" / "c.py").write_text(QUIET)
    assert "in 3 files" in trainlint(project, "check").stdout
    assert "in 1 file;" in trainlint(project, "./check").stdout
    assert "in 1 file;" in trainlint(project, "check", "check").stdout


def test_a_folder_without_python_is_never_called_clean(tmp_path: Path) -> None:
    run = trainlint(tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "0 files checked\n")


def test_a_notebook_of_another_language_is_skipped_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.ipynb").write_text('{"cells": [], "metadata": {"kernelspec": {"language": "R"}}}')
    run = trainlint(tmp_path, "train.ipynb")
    assert (run.returncode, run.stdout) == (0, "")
    assert "train.ipynb: its language is R, not Python" in run.stderr
    assert run.stderr.endswith("0 files checked\n")


def test_a_settings_file_that_is_named_alone_says_what_to_name_beside_it(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "sentinel_collision" / "bad_settings_of_a_yaml_file", tmp_path / "project")
    project = tmp_path / "project"
    (project / "apart.py").write_text("x = 1\n")
    alone = trainlint(project, "codec.yaml")
    assert (alone.returncode, alone.stdout) == (0, "")
    assert alone.stderr == (
        "codec.yaml: it is no Python file\n0 files checked\n"
        "name a Python file of the project too: then you are told which findings rest on codec.yaml\n"
    )
    assert "TL101" in trainlint(project, "codec.yaml", "apart.py").stdout
    assert "TL101" not in trainlint(project, "apart.py").stdout


def test_a_hook_without_files_checks_nothing(project: Path) -> None:
    run = trainlint(project, "check", "--hook")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "0 files checked\n")
    assert "in 1 file;" in trainlint(project, "check", "--hook", "b.py").stdout


def test_a_missing_path_is_exit_2_and_the_others_are_checked(project: Path) -> None:
    run = trainlint(project, "nope.py", "src")
    assert run.returncode == 2
    assert run.stderr == "trainlint: nope.py: no such file or folder\n"
    assert run.stdout == "no findings in 1 file; no loss to judge; 1 file skipped (-v says why)\n"
    document = json.loads(trainlint(project, "nope.py", "src", "--output-format=json").stdout)
    assert document["files_skipped"] == [{"filename": "nope.py", "reason": "no such file or folder"}]
    assert document["files_checked"] == 1


def test_a_mistyped_command_is_recognised(project: Path) -> None:
    run = trainlint(project, "chekc", "src")
    assert run.returncode == 2
    assert "chekc: no such file or folder; did you mean check?" in run.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--select", "TL7777"), "command line: unknown rule 'TL7777'"),
        (("--ignore=sentinel-colision",), "command line: unknown rule 'sentinel-colision'"),
        (("--fail-on", "eror"), "fail-on must be one of error, warning, note, never, not 'eror'; did you mean error?"),
        (("--color", "sometimes"), "--color must be one of auto, always, never, not 'sometimes'"),
        (("--output-format", "jsno"), "rdjson, markdown, not 'jsno'; did you mean json?"),
        (("--output-format", "json:none/there.json"), "none/there.json: No such file or directory"),
        (("--define", "n"), "--define n: expected NAME=VALUE"),
        (("--define", "n=x"), "--define n=x: expected a whole number after ="),
        (("--per-file-ignores", "TL1"), "--per-file-ignores TL1: expected PATTERN:RULE"),
        (("-j", "0"), "--jobs must be a number of processes, not '0'"),
        (("--config", "none.toml"), "none.toml: No such file or directory"),
        (("--config", "selct=['TL1']"), "unknown key 'selct'; did you mean select?"),
        (("--config", "fail-on=note"), "strings take quotes, as in --config 'fail-on = \"error\"'"),
        (("--selct", "TL1"), "No such option: --selct"),
        (("--select",), "requires an argument"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_exit_2_and_says_why(project: Path, words: tuple[str, ...], message: str) -> None:
    run = trainlint(project, "src", *words, COLUMNS="200")
    assert run.returncode == 2
    assert message in " ".join(run.stderr.split())
    assert "Traceback" not in run.stderr


def test_settings_with_a_mistake_are_exit_2_unless_isolated(project: Path) -> None:
    (project / "trainlint.toml").write_text("selct = ['TL1']\n")
    run = trainlint(project, ".")
    assert run.returncode == 2
    assert "trainlint.toml: unknown key 'selct'; did you mean select?" in run.stderr
    (project / "trainlint.toml").write_text("[tool.trainlint]\n")
    assert "unknown key 'tool'; write the keys without [tool.trainlint]" in trainlint(project, ".").stderr
    assert trainlint(project, ".", "--isolated").returncode == 0
    assert trainlint(project, ".", "--isolated", "--config", "trainlint.toml").returncode == 2


def test_the_settings_say_what_is_checked_and_how_it_is_told(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        "[tool.trainlint]\nsrc = ['src']\noutput-format = ['json:out.json', 'concise']\n"
    )
    run = trainlint(project)
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr == "no findings in 1 file; no loss to judge\n"
    assert json.loads((project / "out.json").read_text())["files_checked"] == 1


def test_one_run_may_write_several_reports(project: Path) -> None:
    run = trainlint(
        project, ".", "--output-format", "json:a.json", "--output-format", "full:a.txt", "--output-format", "json"
    )
    assert json.loads(run.stdout) == json.loads((project / "a.json").read_text())
    assert (project / "a.txt").read_text() == "no findings in 2 files; no loss to judge\n"


def test_quiet_and_verbose_do_what_they_say(project: Path) -> None:
    (project / "c.ipynb").write_text('{"cells": [], "metadata": {"language_info": {"name": "julia"}}}')
    quiet, verbose = trainlint(project, "-q"), trainlint(project, "-v")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    assert verbose.stderr == f"project: {project}\nc.ipynb: its language is julia, not Python\n"


def test_the_options_of_scoring_tools_are_accepted(project: Path) -> None:
    words = ("check", ".", "--output-format", "json", "--select", "ALL", "--isolated", "--no-cache", "--cache-dir", "x")
    run = trainlint(project, *words)
    assert run.returncode == 0
    assert json.loads(run.stdout)["findings"] == []


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("check", "--help"), ("src", "-h"), ("rule", "--help")])
def test_help_is_there_for_every_command(project: Path, words: tuple[str, ...]) -> None:
    run = trainlint(project, *words, COLUMNS="120")
    assert run.returncode == 0
    assert "Usage: trainlint" in run.stdout


def test_help_names_every_option(project: Path) -> None:
    for command in COMMANDS.values():
        told = trainlint(project, command.name, "--help", COLUMNS="160").stdout
        for option in command.options:
            assert all(flag in told for flag in option.flags), option.name


def test_the_version_is_told(project: Path) -> None:
    told = {trainlint(project, word).stdout for word in ("version", "--version", "-V")}
    assert len(told) == 1
    assert told.pop().startswith("trainlint ")


def test_output_that_nobody_reads_is_no_error(project: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        run = subprocess.run(
            [sys.executable, "-m", "trainlint"], cwd=project, stdout=closed, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}, timeout=60, check=False,
        )  # fmt: skip
    assert run.stderr == ""


def test_rules_are_explained_as_text_json_and_markdown(project: Path) -> None:
    records = json.loads(trainlint(project, "rule", "--all", "--output-format", "json").stdout)
    assert [record["code"] for record in records] == list(installed())
    for rule in installed().values():
        told = trainlint(project, "rule", rule.code).stdout
        assert told.startswith(f"{rule.code} {rule.name}\n\n")
        assert rule.page.partition("\n")[2].strip() in told
        assert trainlint(project, "rule", rule.name).stdout == told
        assert trainlint(project, "rule", rule.code, "--output-format=markdown").stdout.startswith(f"# {rule.code} ")


def test_what_was_measured_of_a_rule_is_told_in_every_form(project: Path) -> None:
    numbers = json.loads((Path(trainlint_rules.__file__).parent / "measured.json").read_text())
    text = numbers["TL101"]["text"]
    for form in ("text", "markdown"):
        told = trainlint(project, "rule", "TL101", f"--output-format={form}").stdout
        assert told.endswith(f"\n\nMeasured: {text}.\n")
    [record] = json.loads(trainlint(project, "rule", "TL101", "--output-format=json").stdout)
    assert record["measured"] == numbers["TL101"]


def test_a_pack_that_measured_nothing_says_nothing(project: Path, tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    metadata = tmp_path / "pack-1.dist-info"
    for folder in (pack, metadata):
        folder.mkdir()
    (pack / "__init__.py").touch()
    source = (Path(trainlint_rules.__file__).parent / "internal_error.py").read_text()
    (pack / "internal_error.py").write_text(source.replace("TL999", "XX1"))
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: pack\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[trainlint.rules]\npack = pack\n")
    path = os.pathsep.join((str(tmp_path), *filter(None, sys.path)))
    told = trainlint(project, "rule", "XX1", PYTHONPATH=path)
    assert (told.returncode, told.stderr) == (0, "")
    assert "Measured" not in told.stdout
    [record] = json.loads(trainlint(project, "rule", "XX1", "--output-format=json", PYTHONPATH=path).stdout)
    assert record["measured"] is None


def test_the_beginning_of_a_code_explains_each_rule_once(project: Path) -> None:
    told = trainlint(project, "rule", "TL1", "TL101", "--output-format=json").stdout
    assert [record["code"] for record in json.loads(told)] == [code for code in installed() if code.startswith("TL1")]


def test_a_missing_folder_of_the_settings_is_said_to_be_theirs(project: Path) -> None:
    (project / "trainlint.toml").write_text("src = ['sources']\n")
    run = trainlint(project)
    assert run.returncode == 2
    assert "sources: no such file or folder, which the settings name as src" in run.stderr


def test_an_unknown_rule_cannot_be_explained(project: Path) -> None:
    assert trainlint(project, "rule").returncode == 2
    run = trainlint(project, "rule", "TL7777")
    assert (run.returncode, run.stdout) == (2, "")
    assert "unknown rule 'TL7777'" in run.stderr


FLAGS = [flag for option in CHECK.options for flag in option.flags]
VALUES = ["TL1", "a,b", "x=1", "", "src", "json:out.json", "4", "-", "b c"]
WORDS = st.one_of(
    st.sampled_from([*FLAGS, "--", "--quiet=1", "-j4", "-qv", "--jobs", "-x"]),
    st.sampled_from(VALUES),
    st.builds("{}={}".format, st.sampled_from(FLAGS), st.sampled_from(VALUES)),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=6))
def test_a_plain_run_is_parsed_as_the_full_parser_would(words: list[str]) -> None:
    quick = parse(words, CHECK.options)
    if quick is None:
        return
    recorder.calls.clear()
    app.run(["check", *words], {"check": replace(CHECK, module="recorder"), "rule": COMMANDS["rule"]})
    arguments, said = quick
    assert recorder.calls == [(arguments, said)]


def test_most_command_lines_need_no_full_parser() -> None:
    for option in CHECK.options:
        value = [] if option.kind in {Kind.FLAG, Kind.ONE_OR_NONE} else ["TL1"]
        assert parse(["src", option.flags[0], *value], CHECK.options) == (("src",), {option.name: (*value,) or ("",)})
