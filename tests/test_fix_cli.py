"""``--fix`` and ``--diff`` as a user meets them."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from front_door import run
from test_cli import trainlint
from test_startup import imported
from test_told import blocks

from trainlint.check import Request, check
from trainlint.facts import KeptWeights
from trainlint.finding import Applicability, Edit, Fix, Replace
from trainlint.fix import Changed, NotWritten, write
from trainlint.repair import repaired
from trainlint.report import Report
from trainlint.rule import installed
from trainlint.span import Span

TOP = Path(__file__).parent.parent
BLANK = " "
TRAIN = """\
from torch import nn, optim
from torch.nn.functional import mse_loss

model = nn.Linear(8, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1)


def fit(train, held_out):
    lowest = float("inf")
    for x, y in train:
        optimizer.zero_grad()
        mse_loss(model(x), y).backward()
        optimizer.step()
        loss = sum(float(mse_loss(model(a), b)) for a, b in held_out)
        if loss < lowest:
            lowest, best = loss, model.state_dict()  # kept
    model.load_state_dict(best)
"""
FIXED = "import copy\n\n" + TRAIN.replace("model.state_dict()", "copy.deepcopy(model.state_dict())")
DIFF = f"""\
--- train.py
+++ train.py
@@ -1,3 +1,5 @@
+import copy
+
 from torch import nn, optim
 from torch.nn.functional import mse_loss
{BLANK}
@@ -13,5 +15,5 @@
         optimizer.step()
         loss = sum(float(mse_loss(model(a), b)) for a, b in held_out)
         if loss < lowest:
-            lowest, best = loss, model.state_dict()  # kept
+            lowest, best = loss, copy.deepcopy(model.state_dict())  # kept
     model.load_state_dict(best)
"""
ITSELF = TRAIN.replace("model.state_dict()", "model").replace("model.load_state_dict(best)", "return best")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def test_a_fix_is_written_and_what_is_left_is_reported(project: Path) -> None:
    run = trainlint(project, ".", "--fix", "--select", "TL206", "--show-fixes")
    assert (run.returncode, (project / "train.py").read_text()) == (0, FIXED)
    assert run.stdout.startswith("no findings in 1 file")
    assert run.stderr == ("train.py:16:13: TL206 best-weights-aliased: Copy what is kept\n1 fix applied in 1 file\n")
    again = trainlint(project, ".", "--fix", "--select", "TL206")
    assert (again.returncode, again.stderr, (project / "train.py").read_text()) == (0, "", FIXED)


def test_a_difference_is_printed_and_nothing_is_written(project: Path) -> None:
    run = trainlint(project, ".", "--diff", "--select", "TL206")
    assert (run.returncode, run.stdout, run.stderr) == (1, DIFF, "1 fix would be applied in 1 file\n")
    assert (project / "train.py").read_text() == TRAIN
    patched = subprocess.run(
        ["patch", "-p0"], cwd=project, input=run.stdout, text=True, capture_output=True, check=False
    )
    assert (patched.returncode, (project / "train.py").read_text()) == (0, FIXED)
    clean = trainlint(project, ".", "--diff", "--select", "TL206")
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "")


def test_a_difference_knows_a_file_without_a_newline_at_its_end(project: Path) -> None:
    (project / "train.py").write_text(TRAIN.rstrip())
    run = trainlint(project, ".", "--diff", "--select", "TL206", "-q")
    assert run.stdout == f"{DIFF}\\ No newline at end of file\n"


def test_reports_for_programs_stay_what_they_are(project: Path) -> None:
    run = trainlint(project, ".", "--fix", "--output-format", "json", "--show-fixes")
    assert json.loads(run.stdout)["summary"]["error"] == 0
    assert "1 fix applied in 1 file" in run.stderr


def test_an_unsafe_fix_is_applied_on_request_alone(project: Path) -> None:
    (project / "train.py").write_text(ITSELF)
    run = trainlint(project, ".", "--fix", "--select", "TL206")
    assert (run.returncode, (project / "train.py").read_text()) == (1, ITSELF)
    assert run.stderr == "1 unsafe fix left (--unsafe-fixes)\n"
    run = trainlint(project, ".", "--fix", "--unsafe-fixes", "--select", "TL206")
    assert run.returncode == 0
    assert "lowest, best = loss, copy.deepcopy(model)" in (project / "train.py").read_text()


@pytest.mark.parametrize("option", ["--unsafe-fixes", "--show-fixes"])
def test_an_option_that_needs_another_says_so(project: Path, option: str) -> None:
    run = trainlint(project, ".", option)
    assert (run.returncode, run.stderr) == (2, f"trainlint: {option} needs --fix or --diff\n")


def test_a_silenced_finding_is_not_fixed(project: Path) -> None:
    text = TRAIN.replace("# kept", "# trainlint: ignore[TL206]")
    (project / "train.py").write_text(text)
    trainlint(project, ".", "--fix")
    assert (project / "train.py").read_text() == text


def test_a_read_only_file_is_one_clear_error_and_the_others_are_fixed(project: Path) -> None:
    (project / "closed.py").write_text(TRAIN)
    (project / "closed.py").chmod(0o444)
    run = trainlint(project, ".", "--fix", "--select", "TL206")
    assert run.returncode == 2
    assert "trainlint: closed.py: not fixed: it is read-only\n" in run.stderr
    assert "1 fix applied in 1 file\n" in run.stderr
    assert "1 finding (1 error) in 2 files" in run.stdout
    assert ((project / "closed.py").read_text(), (project / "train.py").read_text()) == (TRAIN, FIXED)


def test_only_files_that_were_named_are_changed(project: Path) -> None:
    (project / "other.py").write_text(TRAIN)
    trainlint(project, "other.py", "--fix")
    assert ((project / "train.py").read_text(), (project / "other.py").read_text()) == (TRAIN, FIXED)


def test_mode_and_links_are_kept(project: Path) -> None:
    (project / "real").mkdir()
    (project / "train.py").rename(project / "real" / "train.txt")
    (project / "real" / "train.txt").chmod(0o754)
    (project / "train.py").symlink_to(project / "real" / "train.txt")
    trainlint(project, "train.py", "--fix")
    assert (project / "train.py").is_symlink()
    assert (project / "real" / "train.txt").read_text() == FIXED
    assert (project / "real" / "train.txt").stat().st_mode & 0o777 == 0o754
    assert os.listdir(project / "real") == ["train.txt"]


def found(project: Path, *paths: str) -> tuple[Request, Report]:
    request = Request(paths or (str(project),), str(project), isolated=True)
    return request, check(request)


HEADS = {
    "": "utf-8",
    "\ufeff": "utf-8",
    "# coding: latin-1\n": "latin-1",
    "# vim: set fileencoding=cp1251 :\n": "cp1251",
}


@pytest.mark.parametrize(("head", "encoding"), HEADS.items())
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_byte_but_the_fix_stays(project: Path, head: str, encoding: str, newline: str) -> None:
    letter = "ж" if encoding == "cp1251" else "é"
    text = TRAIN.replace("# kept", f"# {letter}\x0c").replace("    ", "\t").rstrip()
    (project / "train.py").write_bytes(f"{head}{text}".replace("\n", newline).encode(encoding))
    drafts = repaired(*found(project), Applicability).drafts
    if newline == "\r" and encoding != "utf-8":
        assert not drafts, "Python's own tokenizer finds no coding line there"
        return
    text = text.replace("model.state_dict()", "copy.deepcopy(model.state_dict())")
    after = f"{head}import copy\n\n{text}".replace("\n", newline).encode(encoding)
    assert [draft.after for draft in drafts] == [after]


def test_a_fix_that_belongs_into_a_file_that_was_not_named_is_left(tmp_path: Path) -> None:
    fixture = TOP / "fixtures" / "softmax_before_cross_entropy" / "bad_last_layer_of_a_sequential"
    folder = Path(shutil.copytree(fixture, tmp_path / "x"))
    repair = repaired(*found(folder, str(folder / "train.py")), Applicability)
    assert not repair.drafts
    assert list(repair.left.values()) == ["its fix belongs into net/build.py, which was not named"]


def test_a_file_that_changed_since_it_was_read_is_left_alone(project: Path) -> None:
    request, report = found(project)
    (project / "train.py").write_text("# new\n" + TRAIN)
    repair = repaired(request, report, Applicability)
    assert not repair.drafts
    assert set(repair.left.values()) == {"the file has changed since it was read"}


def test_a_file_that_changes_before_it_is_written_is_left_alone(project: Path) -> None:
    (draft,) = repaired(*found(project), Applicability).drafts
    (project / "train.py").write_text("new = 1\n")
    with pytest.raises(Changed, match="it has changed since it was read"):
        write(draft.path, draft.before, draft.after)
    (project / "train.py").unlink()
    with pytest.raises(NotWritten, match="No such file"):
        write(draft.path, draft.before, draft.after)
    assert os.listdir(project) == []


def with_fix(monkeypatch: pytest.MonkeyPatch, texts: dict[int, str]) -> None:
    """Let the rule about copies answer with these texts, by row, in place of what is kept."""

    def fix(kept: KeptWeights) -> Fix:
        assert kept.value is not None
        edits: tuple[Edit, ...] = (Replace(kept.value, texts[kept.value.row]),)
        return Fix(Applicability.SAFE, "Copy", edits)

    monkeypatch.setattr("trainlint_rules.best_weights_aliased._fix", fix)


def test_a_fix_after_which_trainlint_itself_fails_is_taken_back(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once = iter(
        [
            Fix(
                Applicability.SAFE,
                "",
                (Replace(Span(str(project / "train.py"), 16, 34, 16, 52), "dict(model.state_dict())"),),
            )
        ]
    )
    monkeypatch.setattr("trainlint_rules.best_weights_aliased._fix", lambda kept: next(once))
    repair = repaired(*found(project), Applicability)
    assert not repair.drafts
    assert list(repair.left.values()) == ["its fix is taken back: trainlint fails on what it makes"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("dict(model.state_dict())", "its fix is taken back: it would not remove what it is for"),
        ("model.state_dict(", "its fix is taken back: the file would no longer compile"),
        ("(yield) or await model", "its fix is taken back: the file would no longer compile"),
    ],
)
def test_a_fix_that_does_not_hold_is_taken_back(
    project: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    with_fix(monkeypatch, {16: text})
    repair = repaired(*found(project), Applicability)
    assert not repair.drafts
    assert list(repair.left.values()) == [why]


def test_a_fix_that_holds_stays_when_another_is_taken_back(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "train.py").write_text(f"{TRAIN}\n\n{TRAIN.partition('0.1)')[2]}")
    with_fix(monkeypatch, {16: "model.state_dict(", 31: "None"})
    repair = repaired(*found(project), Applicability)
    assert [each.where.row for each in repair.fixed] == [31]
    assert list(repair.left.values()) == ["its fix is taken back: the file would no longer compile"]


def test_of_two_fixes_that_overlap_the_first_wins(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request, report = found(project)
    (finding,) = (each for each in report.findings if each.code == "TL206")
    assert finding.fix is not None
    whole = Span(finding.where.path, 16, 13, 16, 55)
    other = replace(finding, code="TL999", fix=Fix(Applicability.SAFE, "", (Replace(whole, "pass"),)))
    repair = repaired(request, replace(report, findings=(finding, other)), Applicability)
    assert repair.fixed == (finding,)
    assert repair.left == {other: "its fix overlaps with that of TL206 in line 16; run again"}


def test_the_page_shows_what_its_commands_print(tmp_path: Path) -> None:
    page = (TOP / "docs" / "fixes.md").read_text()
    folder = Path(shutil.copytree(TOP / "examples" / "best_of_a_run", tmp_path / "best_of_a_run"))
    for command, output in blocks(page):
        if command.startswith("trainlint"):
            told = run(folder, *command.split()[1:])
            assert told.out + told.err == output, command


def test_the_example_restores_its_best_model_once_it_is_fixed(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = Path(shutil.copytree(TOP / "examples" / "best_of_a_run", tmp_path / "best_of_a_run"))
    best, restored = numbers(folder)
    assert best > restored
    trainlint(folder, "--fix")
    best, restored = numbers(folder)
    assert best == restored


def numbers(folder: Path) -> list[float]:
    command = [sys.executable, "train.py"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return [float(each) for each in re.findall(r"[\d.]+", told)]


def test_the_page_lists_the_rules_that_have_a_fix() -> None:
    page = (TOP / "docs" / "fixes.md").read_text()
    listed = {code for row in re.findall(r"^\| (TL[^|]*) \|", page, re.MULTILINE) for code in row.split(", ")}
    modules = {code: sys.modules[rule.check.__module__] for code, rule in installed().items()}
    rules = {code for code, module in modules.items() if "Fix(" in inspect.getsource(module)}
    assert listed == rules


def test_nothing_that_fixes_code_is_loaded_unless_something_has_a_fix(project: Path) -> None:
    assert not imported(project, ".") & {"libcst", "trainlint.fix", "trainlint.repair"}
    (project / "train.py").write_text(FIXED)
    assert not imported(project, ".", "--fix", "--select", "TL206") & {"libcst", "trainlint.fix", "trainlint.repair"}
