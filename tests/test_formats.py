"""What other programs read: each form of a report as its readers define it."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from made import span

from trainlint.cli import main
from trainlint.cli.output import FORMATS, PROGRAMS
from trainlint.facts import Unjudged
from trainlint.finding import Applicability, Finding, Fix, Replace, Severity, TextEdit
from trainlint.identity import Entry, Identity
from trainlint.report import Report, Tally
from trainlint.report import structured as output
from trainlint.span import Span
from trainlint.value import Step, Unknown

SCHEMAS = Path(__file__).parent / "schemas"
LINES = ['naïve = f(x)  # "é" %, :\n', "y = g(naïve)\n"]
NASTY = '<loss> & "half" 100%, a:b `c` [d](e) | \x1b[31m \x00 \ud800 @someone #1'


@pytest.fixture(autouse=True)
def no_continuous_integration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def report(root: Path) -> Report:
    """A report with one of everything, and with letters that are hard to write."""
    file, notebook = root / "a b" / "träin.py", root / "train.ipynb"
    here = Span(str(file), 1, 9, 1, 13)
    fix = Fix(Applicability.SAFE, "Call g", (Replace(here, "g(x)"),))
    first = Finding(
        here,
        NASTY,
        "nothing is learned",
        (Step(NASTY, span(file, 2, 5)), Step("N = 4", span(root.parent / "outside.py", 1))),
        "call g",
        (Step("--n defaults to 4", Span(str(notebook), 3, cell=2)),),
        Severity.ERROR,
        here,
        "TL101",
        "sentinel-collision",
        fix=fix,
    )
    second = replace(
        first, where=Span(str(notebook), 3, 2, 4, 1, cell=2), severity=Severity.WARNING, because=(), fix=None, help=""
    )
    third = replace(second, where=span(file, 2, 1), severity=Severity.NOTE, code="TL102", consequence="", assumed=())
    quiet = replace(third, where=span(file, 2, 5), code="TL205")
    known = replace(quiet, where=span(file, 1, 1))
    ignored = replace(quiet, where=span(file, 1, 2))
    told = (first, third, second, quiet, known, ignored)
    return Report(
        findings=(first, third, second),
        suppressed=(quiet, ignored),
        commented={quiet: "padding alone"},
        unjudged=(Unjudged(span(file, 1, 3), "what it skips", Unknown("no <layer>", "--define n=1")),),
        judged={"losses": Tally(2, 1, 1), "metrics": Tally()},
        files_checked=3,
        skipped={str(root / "r.ipynb"): "its language is R, not Python"},
        failing=(first, second),
        faults=("none.py: no such file or folder",),
        roots=(str(root),),
        lines={str(file): {None: LINES}, str(notebook): {2: ["x = 1\n", "y = 2\n", "loss = f(x)\n", "z\n"]}},
        edits={first: (TextEdit(here, "g(x)"),)},
        identities={each: Identity(each.code, "a.py", "", "f(x)", nth=nth) for nth, each in enumerate(told, 1)},
        baselined=(known,),
        stale=(Entry(Identity("TL101", "b.py", "", "g(x)"), Severity.NOTE, "gone", span(root / "known.jsonl", 2)),),
    )


def written(name: str, told: Report, root: Path) -> str:
    return "\n".join(PROGRAMS[name](told, str(root)))


def document(name: str, told: Report, root: Path) -> Any:
    return json.loads(written(name, told, root))


def against(schema: str) -> Callable[[Any], None]:
    known = json.loads((SCHEMAS / schema).read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(known)
    checker = jsonschema.FormatChecker()
    return validator(known, format_checker=checker).validate


def clean(root: Path) -> Report:
    return replace(report(root), findings=(), failing=(), suppressed=(), baselined=(), stale=(), faults=(), unjudged=())


REPORTS: dict[str, Callable[[Path], Report]] = {
    "everything": report,
    "clean": lambda root: replace(
        report(root), findings=(), failing=(), faults=(), suppressed=(), unjudged=(), baselined=()
    ),
    "nothing": lambda root: Report(),
    "of a run": lambda root: replace(report(root), observer="probe", unobserved=("a compiled loss",)),
}
every_report = pytest.mark.parametrize("told", REPORTS.values(), ids=REPORTS)


@every_report
def test_sarif_is_what_its_official_schema_asks_for(tmp_path: Path, told: Callable[[Path], Report]) -> None:
    against("sarif-schema-2.1.0.json")(document("sarif", told(tmp_path), tmp_path))


@every_report
def test_rdjson_is_what_the_schema_of_reviewdog_asks_for(tmp_path: Path, told: Callable[[Path], Report]) -> None:
    against("DiagnosticResult.json")(document("rdjson", told(tmp_path), tmp_path))


@every_report
def test_junit_is_what_the_schema_of_jenkins_asks_for(tmp_path: Path, told: Callable[[Path], Report]) -> None:
    xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd")).validate(written("junit", told(tmp_path), tmp_path))


def closed(schema: Any) -> Any:
    """The schema that allows no key it does not name: consumers must expect new ones, our own tests must not."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return {**inner, "additionalProperties": False} if "properties" in inner and "required" in inner else inner


@every_report
@pytest.mark.parametrize("observer", ["source", "probe"])
def test_our_json_is_what_our_own_schema_says(tmp_path: Path, told: Callable[[Path], Report], observer: str) -> None:
    schema = closed(output.schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    asked = replace(told(tmp_path), observer=observer)
    jsonschema.Draft202012Validator(schema).validate(document("json", asked, tmp_path))


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Each table of keys in a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema["properties"]
        for value in schema.values():
            yield from objects(value)
    if isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_every_key_of_our_json_is_described() -> None:
    tables = list(objects(output.schema()))
    assert len(tables) > 8
    assert all(key["description"].endswith(".") for table in tables for key in table.values())


def test_the_lines_of_json_are_the_document_in_pieces(tmp_path: Path) -> None:
    whole = document("json", report(tmp_path), tmp_path)
    lines = [json.loads(line) for line in written("json-lines", report(tmp_path), tmp_path).splitlines()]
    kinds = [line.pop("type") for line in lines]
    assert kinds == ["finding"] * 3 + ["unjudged", "skipped", "summary"]
    assert lines[:3] == whole.pop("findings")
    assert lines[3:4] == whole.pop("unjudged")
    assert lines[4:5] == whole.pop("files_skipped")
    assert lines[5] == whole


def test_json_holds_the_text_of_a_fix(tmp_path: Path) -> None:
    first, second, _ = document("json", report(tmp_path), tmp_path)["findings"]
    edit = first["fix"]["edits"][0]
    assert (first["fix"]["applicability"], first["fix"]["message"]) == ("safe", "Call g")
    assert (edit["content"], edit["location"], edit["end_location"]) == (
        "g(x)", {"row": 1, "column": 9}, {"row": 1, "column": 13},
    )  # fmt: skip
    assert second["fix"] is None


# SARIF


def test_sarif_names_files_of_the_project_relative_to_its_folder(tmp_path: Path) -> None:
    first, *_ = document("sarif", report(tmp_path), tmp_path)["runs"][0]["results"]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/tr%C3%A4in.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 1, "startColumn": 9, "endLine": 1, "endColumn": 13}
    outside = first["relatedLocations"][1]["physicalLocation"]["artifactLocation"]
    assert outside == {"uri": (tmp_path.parent / "outside.py").as_uri()}


def test_sarif_shows_how_the_proof_leads_to_the_finding(tmp_path: Path) -> None:
    first, second, *_ = document("sarif", report(tmp_path), tmp_path)["runs"][0]["results"]
    flow = first["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in flow[1:3]] == ["N = 4", "cell 2:3:1: --n defaults to 4"]
    assert flow[-1]["location"]["physicalLocation"] == first["locations"][0]["physicalLocation"]
    assert [related["id"] for related in first["relatedLocations"]] == [1, 2, 3]
    assert first["fixes"][0]["artifactChanges"][0]["replacements"] == [
        {"deletedRegion": {"startLine": 1, "startColumn": 9, "endLine": 1, "endColumn": 13},
         "insertedContent": {"text": "g(x)"}}
    ]  # fmt: skip
    assert not {"codeFlows", "fixes", "relatedLocations"} & set(second)


def test_sarif_names_the_cell_where_no_line_of_the_file_can_be_named(tmp_path: Path) -> None:
    third = document("sarif", report(tmp_path), tmp_path)["runs"][0]["results"][2]
    assert third["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
    assert third["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "train.ipynb:cell 2:3:2"
    assert third["message"]["text"].startswith("cell 2:3:2: ")


def test_sarif_says_what_was_silenced_and_what_was_not_done(tmp_path: Path) -> None:
    run = document("sarif", report(tmp_path), tmp_path)["runs"][0]
    silenced = [each for result in run["results"] for each in result.get("suppressions", ())]
    assert silenced == [
        {"kind": "external", "justification": "the baseline"},
        {"kind": "inSource", "justification": "padding alone"},
        {"kind": "external", "justification": "per-file-ignores of the settings"},
    ]
    assert [result["baselineState"] for result in run["results"]] == ["new", "new", "new", "unchanged", "new", "new"]
    assert len({result["partialFingerprints"]["trainlint/v1"] for result in run["results"]}) == 6
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    told = [(each["level"], each["message"]["text"]) for each in invocation["toolExecutionNotifications"]]
    assert told == [
        ("error", "none.py: no such file or folder"),
        ("note", "r.ipynb: its language is R, not Python"),
        ("note", "not judged: what it skips: no <layer> (--define n=1 would settle it)"),
    ]


# GitHub


def test_github_gets_commands_that_its_runner_reads_back(tmp_path: Path) -> None:
    first, second, third, fault = written("github", report(tmp_path), tmp_path).split("\n")
    assert all("\r" not in line for line in (first, second, third, fault))
    command, properties, message = parsed(first)
    assert command == "error"
    assert properties == {
        "file": "a b/träin.py", "line": "1", "endLine": "1", "col": "9", "endColumn": "13",
        "title": "TL101 sentinel-collision",
    }  # fmt: skip
    assert '<loss> & "half" 100%, a:b' in message
    assert "\n  so       nothing is learned\n" in message and "\x1b" not in message
    assert parsed(second)[0] == "notice"
    assert parsed(third)[0] == "warning"
    assert parsed(third)[1] == {"file": "train.ipynb", "title": "TL101 sentinel-collision"}
    assert parsed(third)[2].startswith("cell 2:3:2: ")
    assert fault == "::error title=trainlint::none.py: no such file or folder"


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as the runner takes it apart."""
    head, _, message = line.removeprefix("::").partition("::")
    command, _, properties = head.partition(" ")
    pairs = (pair.partition("=") for pair in properties.split(","))
    return command, {name: unescaped(value) for name, _, value in pairs}, unescaped(message)


def unescaped(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_github_gets_no_columns_of_different_lines(tmp_path: Path) -> None:
    told = report(tmp_path)
    long = replace(told.findings[0], where=Span(told.findings[0].where.path, 1, 9, 2, 4))
    (line,) = written("github", Report(findings=(long,)), tmp_path).split("\n")
    assert parsed(line)[1].keys() == {"file", "line", "endLine", "title"}


def test_what_github_would_leave_out_is_said(tmp_path: Path) -> None:
    first = report(tmp_path).findings[0]
    many = [replace(first, message="x" * 5000, where=span(tmp_path / "a.py", row)) for row in range(1, 13)]
    *commands, last = written("github", Report(findings=tuple(many)), tmp_path).split("\n")
    assert len(commands) == 12
    assert all(len(parsed(line)[2]) <= 4096 for line in commands)
    assert last == "2 more of kind error stand in this log only: GitHub shows 10 of a step"


# GitLab


def test_gitlab_gets_what_its_documentation_asks_for(tmp_path: Path) -> None:
    """GitLab publishes no schema: description, check_name, fingerprint, severity, a relative path and a line."""
    issues = document("gitlab", report(tmp_path), tmp_path)
    assert [issue["severity"] for issue in issues] == ["critical", "info", "major"]
    assert {issue["severity"] for issue in issues} <= {"info", "minor", "major", "critical", "blocker"}
    assert len({issue["fingerprint"] for issue in issues}) == 3
    assert all(issue["description"].startswith(f"{issue['check_name']} sentinel-collision: ") for issue in issues)
    assert [issue["location"]["path"] for issue in issues] == ["a b/träin.py", "a b/träin.py", "train.ipynb"]
    assert issues[0]["location"]["positions"] == {
        "begin": {"line": 1, "column": 9}, "end": {"line": 1, "column": 13},
    }  # fmt: skip
    assert issues[2]["location"]["positions"]["begin"]["line"] == 1
    assert "cell 2:3:2" in issues[2]["description"]
    assert "**because**" in issues[0]["content"]["body"]
    assert document("gitlab", Report(), tmp_path) == []


# JUnit


def test_junit_fails_skips_and_passes_as_was_judged(tmp_path: Path) -> None:
    (suite,) = ElementTree.fromstring(written("junit", report(tmp_path), tmp_path))
    outcomes = [[each.tag for each in case] for case in suite]
    assert outcomes == [[], [], ["failure"], ["system-out"], ["failure"], ["skipped"], ["error"]]
    assert suite.attrib == {
        "name": "trainlint", "tests": "7", "failures": "2", "errors": "1", "skipped": "1",
    }  # fmt: skip
    failed = suite[2]
    assert (failed.get("classname"), failed.get("name")) == ("a b/träin.py", "TL101 sentinel-collision at 1:9")
    assert failed[0].get("type") == "error"
    assert "\\x1b[31m \\x00" in (failed[0].get("message") or "")
    assert "because" in (failed[0].text or "") and "help     call g" in (failed[0].text or "")
    assert suite[4].get("name") == "TL101 sentinel-collision at cell 2:3:2"


def test_junit_passes_where_all_is_clean_and_never_where_nothing_was_checked(tmp_path: Path) -> None:
    (suite,) = ElementTree.fromstring(written("junit", REPORTS["clean"](tmp_path), tmp_path))
    assert [case.get("name") for case in suite] == ["files checked: 3", "losses: 2 safe"]
    assert all(len(case) == 0 for case in suite)
    (empty,) = ElementTree.fromstring(written("junit", Report(), tmp_path))
    assert (empty.get("tests"), len(empty)) == ("0", 0)


@pytest.mark.parametrize("name", ["github", "junit", "markdown", "sarif"])
def test_what_a_run_did_not_show_is_said(tmp_path: Path, name: str) -> None:
    assert "not observed: a compiled loss" in written(name, REPORTS["of a run"](tmp_path), tmp_path)


# reviewdog


def test_reviewdog_counts_the_bytes_of_a_line(tmp_path: Path) -> None:
    told = document("rdjson", report(tmp_path), tmp_path)
    first, _, third = told["diagnostics"]
    # naïve is one byte longer than it has letters.
    stretch = {"start": {"line": 1, "column": 10}, "end": {"line": 1, "column": 14}}
    assert first["location"] == {"path": "a b/träin.py", "range": stretch}
    assert first["suggestions"] == [{"range": stretch, "text": "g(x)"}]
    assert (told["severity"], first["severity"], third["severity"]) == ("ERROR", "ERROR", "WARNING")
    assert third["location"] == {"path": "train.ipynb"}
    assert len(first["related_locations"]) == 3


def test_reviewdog_suggests_a_fix_as_a_whole(tmp_path: Path) -> None:
    told = report(tmp_path)
    first, path = told.findings[0], told.findings[0].where.path
    edits = (TextEdit(Span(path, 1, 1, 1, 1), "import g\n"), TextEdit(Span(path, 2, 5, 2, 6), "h"))
    (diagnostic, *_) = document("rdjson", replace(told, edits={first: edits}), tmp_path)["diagnostics"]
    assert diagnostic["suggestions"] == [
        {"range": {"start": {"line": 1, "column": 1}, "end": {"line": 2, "column": 6}},
         "text": f"import g\n{LINES[0]}y = h"}
    ]  # fmt: skip
    far = (edits[0], TextEdit(Span(path, 40, 5, 40, 6), "h"))
    (diagnostic, *_) = document("rdjson", replace(told, edits={first: far}), tmp_path)["diagnostics"]
    assert diagnostic["suggestions"] == []


# Markdown


def test_markdown_mentions_nobody_and_holds_no_markup_of_the_code(tmp_path: Path) -> None:
    text = written("markdown", report(tmp_path), tmp_path)
    outside = re.sub(r"(`+).*?\1", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    assert not re.search(r"@\w|(?<!#)(?<!\\)#\d|<(?!/?details|/?summary|!--)", outside.replace(r"\<", ""))
    assert "\x1b" not in text and "\x00" not in text
    assert "#### error TL101 sentinel-collision in `a b/träin.py:1:9`" in text
    assert "<details><summary>1 not judged</summary>" in text
    assert "could not be done: none.py" in text


def test_markdown_fits_into_a_comment(tmp_path: Path) -> None:
    first = report(tmp_path).findings[0]
    many = [replace(first, where=span(tmp_path / "a.py", row)) for row in range(1, 400)]
    text = written("markdown", replace(report(tmp_path), findings=tuple(many)), tmp_path)
    assert 50_000 < len(text) <= 65_536
    shown = text.count("#### ")
    assert f"{399 - shown} more findings are left out" in text


# Where they go


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "broken.py").write_text("import torch\n\ntorch.nn.CrossEntropyLoss(ignore_index=\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_goes_to_the_output_and_to_a_file(
    project: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main([".", "--output-format", name, "--output-format", f"{name}:report"]) == 1
    assert "TL902" in (printed := capsys.readouterr().out)
    assert (project / "report").read_text() == printed


def test_one_run_writes_all_reports_and_a_file_that_cannot_be_written_keeps_none_back(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wishes = [f"{name}:{name}.out" for name in FORMATS]
    wishes.insert(3, "json:none/there.json")
    assert main([".", *(f"--output-format={wish}" for wish in wishes)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert [line for line in said.err.splitlines() if "none" in line] == [
        "trainlint: none/there.json: No such file or directory"
    ]
    assert all("TL902" in (project / f"{name}.out").read_text() for name in FORMATS)


def test_two_reports_never_go_to_one_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([".", "--output-format=json", "--output-format=full"]) == 2
    assert "json and full would both go to the standard output" in capsys.readouterr().err
    assert main([".", "--output-format=json:a", "--output-format=sarif:lib/../a"]) == 2
    assert "json and sarif would both go to lib/../a; name a file for one" in capsys.readouterr().err
    assert not (project / "a").exists()


def test_a_report_replaces_the_old_one_as_a_whole(project: Path) -> None:
    old, link = project / "old.json", project / "link.json"
    old.write_text("old")
    old.chmod(0o640)
    link.symlink_to(old)
    assert main([".", "--output-format", "json:link.json"]) == 1
    assert link.is_symlink()
    assert json.loads(old.read_text())["files_checked"] == 1
    assert old.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in project.iterdir()) == ["lib", "link.json", "old.json"]


def test_a_report_is_written_in_place_where_nothing_may_take_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file that a container mounts by itself."""

    def busy(source: str, target: str) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(os, "replace", busy)
    (project / "report").write_text("old")
    assert main([".", "--output-format", "json:report"]) == 1
    assert json.loads((project / "report").read_text())["files_checked"] == 1
    assert main([".", "--output-format", "json:new"]) == 2
    assert sorted(each.name for each in project.iterdir()) == ["lib", "report"]


def test_an_old_report_stays_where_the_disk_is_full(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    (project / "report").write_text("old")
    assert main([".", "--output-format", "json:report"]) == 2
    assert (project / "report").read_text() == "old"


def test_a_report_may_go_to_a_device(project: Path) -> None:
    assert main([".", "--output-format", "json:/dev/null"]) == 1
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("name", "variable"),
    [("github", "GITHUB_WORKSPACE"), ("sarif", "GITHUB_WORKSPACE"), ("gitlab", "CI_PROJECT_DIR")],
)
def test_a_job_that_works_in_a_folder_of_the_repository_names_files_as_the_repository_does(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    variable: str,
) -> None:
    monkeypatch.chdir(project / "lib")
    monkeypatch.setenv(variable, str(project))
    main([".", "--output-format", name])
    assert "lib/broken.py" in capsys.readouterr().out
    monkeypatch.setenv(variable, "/somewhere/else")
    main([".", "--output-format", name])
    assert "lib/broken.py" not in capsys.readouterr().out.replace((project / "lib").as_uri(), "")
