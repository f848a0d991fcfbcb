"""Every fixture folder is a test: read it and compare with its marks, run it and compare with what torch did, watch it
run and compare with what reading says.

Nothing is listed by hand: a folder ``fixtures/<rule_name>/bad_*`` or ``good_*`` is enough.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from as_read import as_read

from trainlint.facts.runs import ONLY_RUNS
from trainlint.finding import Finding, Severity
from trainlint.rule import Rule, installed
from trainlint.testing import Mark, expected, quiet, reported, texts

FIXTURES = Path(__file__).parent.parent / "fixtures"
FOLDERS = sorted(folder for folder in FIXTURES.glob("*/*_*/") if folder.name.startswith(("bad_", "good_")))
PROCESSES = 2
CANNOT_RUN = "# cannot run: "
NEEDS = "# needs: "
BY_HAND = "# by hand: "
"""Begins a fixture that leaves targets out before or after the loss, so that the loss itself drops none."""


ONLY_A_RUN = {rule.code for rule in installed().values() if rule.wants in ONLY_RUNS}
"""Marks of these are for the probe alone."""

BOTH = {"TL101", "TL102", "TL103", "TL301", "TL303", "TL306", "TL507"}
"""What reading and a run both judge."""

OPEN = {"does the loss skip a class", "the format of the weights that are trained"}
"""Questions of these that a run may leave open."""

OF_A_RUN = re.compile(r"# (?P<who>run|unseen): (?P<code>[A-Z]+\d+) \S.*")
"""Remarks with a reason: ``run`` where a run rightly says what reading does not, ``unseen`` where it cannot show it."""


def name_of(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def why_not_run(folder: Path) -> str | None:
    """What the first line of the entry says against running it here."""
    first = next((text.partition("\n")[0] for file, _, text in texts(folder) if Path(file).stem == "train"), "")
    if first.startswith(CANNOT_RUN):
        return first.removeprefix(CANNOT_RUN)
    missing = [name for name in _needs(first) if find_spec(name) is None]
    return f"needs {', '.join(missing)}" if missing else None


def has_entry(folder: Path) -> bool:
    return (folder / "train.py").exists() or (folder / "train.ipynb").exists()


def is_by_hand(folder: Path) -> bool:
    return any(file.read_text().startswith(BY_HAND) for file in folder.rglob("*.py"))


def _needs(first: str) -> list[str]:
    return first.removeprefix(NEEDS).split(", ") if first.startswith(NEEDS) else []


RUNNABLE = [folder for folder in FOLDERS if has_entry(folder) and not why_not_run(folder)]
each_folder = pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
each_runnable = pytest.mark.parametrize("folder", RUNNABLE, ids=name_of)


@pytest.fixture(scope="session")
def runs() -> dict[str, dict[str, Any]]:
    """What torch did in each fixture."""
    return told_by("torch_oracle.py")


@pytest.fixture(scope="session")
def watched() -> dict[str, dict[str, Any]]:
    """What the probe says of each fixture."""
    return told_by("probe_oracle.py")


def told_by(oracle: str) -> dict[str, dict[str, Any]]:
    """A few processes share the fixtures, because importing torch is most of the time."""
    pytest.importorskip("torch")
    command = [sys.executable, "-B", str(Path(__file__).with_name(oracle))]
    shares = [RUNNABLE[start::PROCESSES] for start in range(PROCESSES)]
    started = [
        subprocess.Popen([*command, *map(str, share)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for share in shares
        if share
    ]
    results: dict[str, dict[str, Any]] = {}
    for process in started:
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        results |= json.loads(output)
    return results


@each_folder
def test_fixture_gets_the_findings_it_expects_and_no_more(folder: Path) -> None:
    wanted = (mark for mark in expected(folder) if mark.code not in ONLY_A_RUN)
    assert sorted(reported(folder, as_read(folder)), key=_place) == sorted(wanted, key=_place)


@each_runnable
def test_a_run_shows_what_only_a_run_can_show(folder: Path, watched: dict[str, dict[str, Any]]) -> None:
    run = watched[str(folder)]
    assert run["error"] is None, run["error"]
    assert not run["faults"]
    found = {mark for mark in _marks(folder, run) if mark.code in ONLY_A_RUN}
    assert sorted(found, key=_place) == sorted(
        (mark for mark in expected(folder) if mark.code in ONLY_A_RUN), key=_place
    )


@each_runnable
def test_a_run_never_clears_what_reading_reports(folder: Path, watched: dict[str, dict[str, Any]]) -> None:
    """At the same call a run reports it too, or leaves it open, unless the fixture says why it cannot show it."""
    run, remarks = watched[str(folder)], _remarks(folder, "unseen")
    for finding in (each for each in as_read(folder) if each.code in BOTH and not is_by_hand(folder)):
        shown = [place for code, _, *place in run["findings"] if code == finding.code]
        left = [place for *place, question, _ in run["unjudged"] if question in OPEN]
        assert any(_is_there(finding, *place) for place in (*shown, *left)) or finding.code in remarks


@each_runnable
def test_a_run_reports_nothing_that_reading_does_not(folder: Path, watched: dict[str, dict[str, Any]]) -> None:
    """Unless the fixture says why a run is right to."""
    read, remarks = as_read(folder), _remarks(folder, "run")
    for code, _, *place in watched[str(folder)]["findings"]:
        if code in BOTH and code not in remarks:
            assert any(each.code == code and _is_there(each, *place) for each in read)


@each_folder
def test_folder_name_says_which_twin_it_is(folder: Path) -> None:
    """The bad twin has a mark of the rule whose folder it lies in; the good one at most a note of another rule."""
    code = _rule_of(folder).code
    marks = expected(folder)
    if folder.name.startswith("bad_"):
        assert any(mark.code == code for mark in marks)
    else:
        assert not any(mark.code == code or mark.severity is not Severity.NOTE for mark in marks)


@pytest.mark.parametrize("rule", installed().values(), ids=lambda rule: str(rule.code))
def test_every_rule_has_a_bad_and_a_good_twin(rule: Rule) -> None:
    folder = FIXTURES / rule.name.replace("-", "_")
    if rule.code.startswith("TL9"):
        pytest.skip("a fault of the tool, or a file that is no Python, cannot be a project that trains")
    assert list(folder.glob("bad_*"))
    assert list(folder.glob("good_*"))


@each_folder
def test_fixture_trains_from_an_entry_of_its_own(folder: Path) -> None:
    assert has_entry(folder)


@each_runnable
def test_fixture_really_runs(folder: Path, runs: dict[str, dict[str, Any]]) -> None:
    run = runs[str(folder)]
    assert run["error"] is None, run["error"]
    assert run["losses"], "no loss of PyTorch was called"


@pytest.mark.parametrize("folder", [f for f in RUNNABLE if f.parent.name == "sentinel_collision"], ids=name_of)
def test_torch_drops_targets_in_the_bad_twin_only(folder: Path, runs: dict[str, dict[str, Any]]) -> None:
    """PyTorch is the oracle: targets vanish where we say so, and a good twin that drops some says why this is right."""
    dropping = [loss for loss in runs[str(folder)]["losses"] if loss["dropped"]]
    assert all(loss["silent"] for loss in dropping)
    if folder.name.startswith("bad_"):
        assert dropping or is_by_hand(folder)
        return
    inside = [loss for loss in dropping if 0 <= loss["ignored"] < loss["width"]]
    assert not inside or quiet(folder, "TL101")


@pytest.mark.parametrize("folder", [f for f in RUNNABLE if f.parent.name == "ctc_blank_collision"], ids=name_of)
def test_torch_has_no_class_for_a_symbol_in_the_bad_twin_only(folder: Path, runs: dict[str, dict[str, Any]]) -> None:
    assert any(loss["dropped"] for loss in runs[str(folder)]["losses"]) == folder.name.startswith("bad_")


ACTIVATED = ("softmax_before_cross_entropy", "sigmoid_twice", "kl_input")


@pytest.mark.parametrize("folder", [f for f in RUNNABLE if f.parent.name in ACTIVATED], ids=name_of)
def test_torch_is_given_what_the_loss_does_not_want_in_the_bad_twin_only(
    folder: Path, runs: dict[str, dict[str, Any]]
) -> None:
    misfits = any(loss["misfit"] for loss in runs[str(folder)]["losses"])
    assert misfits == folder.name.startswith("bad_") or quiet(folder, _rule_of(folder).code)


@pytest.mark.parametrize("folder", [f for f in RUNNABLE if f.parent.name == "distils_itself"], ids=name_of)
def test_torch_compares_a_tensor_with_itself_in_the_bad_twin_only(
    folder: Path, runs: dict[str, dict[str, Any]]
) -> None:
    same = any(loss.get("same") for loss in runs[str(folder)]["losses"])
    assert same == folder.name.startswith("bad_")


@pytest.mark.parametrize("folder", [f for f in RUNNABLE if f.parent.name == "sentinel_collision"], ids=name_of)
def test_an_error_of_the_reader_is_confirmed_by_the_run(folder: Path, runs: dict[str, dict[str, Any]]) -> None:
    """Where a collision is reported, the loss call that it names did drop targets."""
    ran = [] if is_by_hand(folder) else runs[str(folder)]["losses"]
    for finding in (each for each in as_read(folder) if each.code == "TL101"):
        there = [loss for loss in ran if _is_call(finding, loss)]
        assert not there or any(loss["dropped"] for loss in there), f"nothing was dropped at {finding.call}"


@pytest.mark.parametrize("folder", sorted(FIXTURES.glob("sentinel_collision/bad_argparse_*")), ids=name_of)
def test_a_collision_that_rests_on_a_command_line_default_names_it(folder: Path) -> None:
    (finding,) = (each for each in as_read(folder) if each.code == "TL101")
    assert finding.assumed


@pytest.mark.parametrize("folder", sorted(FIXTURES.glob("sentinel_collision/bad_one_branch_*")), ids=name_of)
def test_a_collision_on_one_branch_is_a_warning_that_names_the_branch(folder: Path) -> None:
    (finding,) = (each for each in as_read(folder) if each.code == "TL101")
    assert finding.severity is Severity.WARNING
    lines = [Path(step.where.path).read_text().splitlines()[step.where.row - 1] for step in finding.because]
    assert any(re.search(r"\b(if|elif|else)\b", line) for line in lines), lines


def _is_call(finding: Finding, loss: dict[str, Any]) -> bool:
    return _is_there(finding, loss["file"], loss["cell"], loss["row"])


def _is_there(finding: Finding, file: str, cell: int | None, row: int) -> bool:
    call = finding.call
    return call is not None and (call.path, call.cell) == (file, cell) and call.row <= row <= call.end_row


def _marks(folder: Path, run: dict[str, Any]) -> Iterator[Mark]:
    for code, severity, file, cell, row in run["findings"]:
        yield Mark(Path(file).relative_to(folder).as_posix(), row, code, Severity(severity), cell)


def _remarks(folder: Path, who: str) -> set[str]:
    found = (remark for _, _, text in texts(folder) for remark in OF_A_RUN.finditer(text))
    return {remark["code"] for remark in found if remark["who"] == who}


def _rule_of(folder: Path) -> Rule:
    (rule,) = (rule for rule in installed().values() if rule.name.replace("-", "_") == folder.parent.name)
    return rule


def _place(mark: Mark) -> tuple[str, int, int, str]:
    return mark.file, mark.cell or 0, mark.row, mark.code
