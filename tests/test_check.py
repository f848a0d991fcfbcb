from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made import COLLISION, INTERNAL, NOTE, OFF, OTHER, PACK, codes, crash, judged, loss, rule_of, span, unread

from trainlint.check import Request, check
from trainlint.config import Settings
from trainlint.facts import Facts, Layer, Loss
from trainlint.finding import Finding, Severity
from trainlint.lint import lint
from trainlint.report import Tally
from trainlint.rule import Rule
from trainlint.selection import Selection, UnknownSelector
from trainlint.source.root import root_of
from trainlint.value import Integer, Step, Unknown


def selecting(**words: tuple[str, ...]) -> Settings:
    return Settings(selections=(Selection(**words),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("selections", "expected"),
    [
        ((), ["TL101", "TL102", "TL205"]),
        ((Selection(select=("ALL",)),), ["TL101", "TL102", "TL103", "TL205"]),
        ((Selection(select=("TL1",)),), ["TL101", "TL102", "TL103"]),
        ((Selection(select=("sentinel-collision",)),), ["TL101"]),
        ((Selection(select=()),), []),
        ((Selection(ignore=("TL1",)),), ["TL205"]),
        ((Selection(ignore=("ALL",), select=("TL101",)),), ["TL101"]),
        ((Selection(select=("TL101",), ignore=("TL101",)),), []),
        ((Selection(select=("TL1",), ignore=("TL102", "TL103")),), ["TL101"]),
        ((Selection(extend_select=("TL103",)),), ["TL101", "TL102", "TL103", "TL205"]),
        ((Selection(extend_ignore=("TL205",)),), ["TL101", "TL102"]),
        ((Selection(ignore=("TL101",)), Selection(select=("TL101",))), ["TL101"]),
        ((Selection(select=("TL101",)), Selection(extend_select=("TL205",))), ["TL101", "TL205"]),
    ],
)
def test_rules_are_chosen_by_code_prefix_name_or_all(
    tmp_path: Path, selections: tuple[Selection, ...], expected: list[str]
) -> None:
    report = judged([loss(tmp_path / "a.py")], tmp_path, rules=PACK, settings=Settings(selections=selections))
    assert codes(report) == expected


def test_a_selector_that_matches_nothing_stops_the_run_and_names_what_was_meant(tmp_path: Path) -> None:
    with pytest.raises(UnknownSelector, match=r"unknown rule 'sentinel-colision'; did you mean sentinel-collision\?"):
        judged([loss(tmp_path / "a.py")], tmp_path, settings=selecting(ignore=("sentinel-colision",)))


def test_a_rule_that_is_left_out_does_not_make_a_loss_safe(tmp_path: Path) -> None:
    report = judged([loss(tmp_path / "a.py")], tmp_path, rules=PACK, settings=selecting(ignore=("ALL",)))
    assert codes(report) == []
    assert report.judged["losses"] == Tally(flagged=1)
    assert not report.suppressed
    assert report.exit_code == 0


def test_no_selection_hides_unreadable_code_or_a_fault_of_trainlint(tmp_path: Path) -> None:
    facts = [unread(tmp_path / "a.py"), crash(tmp_path / "b.py"), loss(tmp_path / "c.py")]
    report = judged(facts, tmp_path, rules=PACK, settings=selecting(ignore=("ALL",)))
    assert codes(report) == ["TL902", "TL999"]


def test_a_finding_is_reported_when_any_of_its_places_was_asked_for(tmp_path: Path) -> None:
    constants = tmp_path / "constants.py"
    rule = rule_of("TL101", "sentinel-collision", evidence=[Step("STOP = 1024", span(constants, 3))])
    facts = [loss(tmp_path / "train" / "loop.py")]
    for asked in (constants, tmp_path / "train", tmp_path / "train" / "loop.py"):
        assert codes(judged(facts, tmp_path, rules=[rule, INTERNAL], asked=[asked])) == ["TL101"]
    for elsewhere in (tmp_path / "other.py", tmp_path / "tr"):
        assert codes(judged(facts, tmp_path, rules=[rule, INTERNAL], asked=[elsewhere])) == []


def test_the_most_specific_severity_counts(tmp_path: Path) -> None:
    settings = Settings(severity={"TL1": Severity.WARNING, "TL102": Severity.ERROR, "TL2": Severity.NOTE})
    report = judged([loss(tmp_path / "a.py")], tmp_path, rules=[COLLISION, NOTE, OTHER], settings=settings)
    assert [finding.severity for finding in report.findings] == [Severity.WARNING, Severity.ERROR, Severity.NOTE]


@pytest.mark.parametrize(
    ("gate", "failing"), [("error", 1), ("warning", 2), ("note", 3), ("never", 0)], ids=lambda value: str(value)
)
def test_the_gate_counts_findings_at_its_level_and_above(tmp_path: Path, gate: str, failing: int) -> None:
    report = judged(
        [loss(tmp_path / "a.py")], tmp_path, rules=[COLLISION, NOTE, OTHER], settings=Settings(fail_on=gate)
    )
    assert len(report.failing) == failing
    assert report.exit_code == min(failing, 1)


def test_unreadable_code_fails_whatever_the_gate(tmp_path: Path) -> None:
    report = judged([unread(tmp_path / "a.py")], tmp_path, settings=Settings(fail_on="never"))
    assert (codes(report), report.exit_code) == (["TL902"], 1)


def test_a_fault_of_trainlint_is_exit_2_and_the_rest_is_reported(tmp_path: Path) -> None:
    report = judged([crash(tmp_path / "a.py"), loss(tmp_path / "b.py")], tmp_path)
    assert (codes(report), report.exit_code) == (["TL999", "TL101"], 2)


def test_a_rule_that_raises_does_not_stop_the_others(tmp_path: Path) -> None:
    def broken(fact: Loss) -> list[Finding]:
        raise ZeroDivisionError(fact.function)

    bad = Rule("TL888", "broken", "TL888: broken.", Loss, broken)  # type: ignore[arg-type]
    report = judged([loss(tmp_path / "a.py", 4)], tmp_path, rules=[bad, COLLISION, INTERNAL])
    assert sorted(codes(report)) == ["TL101", "TL999"]
    internal = next(finding for finding in report.findings if finding.code == "TL999")
    assert internal.where.row == 4
    assert "judging TL888 broken: ZeroDivisionError('cross_entropy')" in internal.message
    assert report.exit_code == 2


def test_a_fault_that_no_rule_would_report_is_raised(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="following a name"):
        lint(Facts([crash(tmp_path / "a.py")]), [COLLISION])


def test_losses_are_counted_once_per_call_with_their_worst_verdict(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    open_layer = Unknown("the layer was not found")
    facts = [
        loss(file, 1),
        loss(file, 1, layer=open_layer),
        loss(file, 2, ignore=-100),
        loss(file, 3, layer=open_layer),
        loss(file, 3, ignore=-100),
        loss(file, 4, ignore=2000),
        loss(tmp_path / "elsewhere.py", 5),
    ]
    report = judged(facts, tmp_path, asked=[file])
    assert report.judged["losses"] == Tally(safe=2, flagged=1, unjudged=1)
    assert [(each.where.row, each.why.reason) for each in report.unjudged] == [
        (1, "the layer was not found"),
        (3, "the layer was not found"),
    ]


def test_a_note_does_not_make_a_loss_flagged_and_a_fault_leaves_it_unjudged(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    assert judged([loss(file)], tmp_path, rules=[NOTE]).judged["losses"] == Tally(safe=1)
    fault = replace(crash(file), call=loss(file, 1, ignore=-100).call)
    assert judged([loss(file, ignore=-100), fault], tmp_path).judged["losses"] == Tally(unjudged=1)


def test_a_suppressed_loss_is_still_counted_as_flagged(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("loss()  # trainlint: ignore[TL101]\n")
    report = judged([loss(file)], tmp_path)
    assert (codes(report), len(report.suppressed), report.exit_code) == ([], 1, 0)
    assert report.judged["losses"] == Tally(flagged=1)


def test_a_file_pattern_leaves_a_rule_out(tmp_path: Path) -> None:
    settings = Settings(per_file_ignores={"old/*": ("TL1",), "legacy_*.py": ("TL2",)})
    facts = [loss(tmp_path / "old" / "a.py"), loss(tmp_path / "legacy_b.py"), loss(tmp_path / "c.py")]
    report = judged(facts, tmp_path, rules=[COLLISION, OTHER], settings=settings)
    found = [(Path(finding.where.path).name, finding.code) for finding in report.findings]
    assert found == [("c.py", "TL101"), ("c.py", "TL205"), ("legacy_b.py", "TL101"), ("a.py", "TL205")]


def test_a_rule_that_is_off_runs_only_when_it_is_named(tmp_path: Path) -> None:
    assert codes(judged([loss(tmp_path / "a.py")], tmp_path, rules=[OFF])) == []
    named = selecting(extend_select=("sentinel-in-range",))
    assert codes(judged([loss(tmp_path / "a.py")], tmp_path, rules=[OFF], settings=named)) == ["TL103"]


def test_linear_forms_are_judged_without_a_number(tmp_path: Path) -> None:
    layer = Layer("head", Integer.exact(5), span(tmp_path / "a.py", 1))
    report = judged([loss(tmp_path / "a.py", ignore=7, layer=layer)], tmp_path)
    assert report.judged["losses"] == Tally(safe=1)


def test_the_project_of_a_path_is_the_nearest_top_below_the_working_directory(tmp_path: Path) -> None:
    package = tmp_path / "work" / "repo" / "pkg" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    module = package / "module.py"
    module.touch()
    work, repo = tmp_path / "work", tmp_path / "work" / "repo"
    assert root_of(str(module), str(work)) == str(work)
    assert root_of(str(module), str(package)) == str(package)
    (repo / "setup.py").touch()
    assert root_of(str(module), str(work)) == str(repo)
    (tmp_path / ".git").mkdir()
    assert root_of(str(module), str(work)) == str(repo)
    elsewhere = tmp_path / "elsewhere"
    assert root_of(str(module), str(elsewhere)) == str(repo)


def test_several_projects_in_one_call_are_checked_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyproject.toml").write_text("[tool.trainlint]\nfail-on = 'error'\n")
        (tmp_path / name / "a.py").write_text("x = 1\n")
    report = check(Request(("one/a.py", "two", "three"), str(tmp_path)))
    assert report.roots == (str(tmp_path / "one"), str(tmp_path / "two"))
    assert report.files_checked == 2
    assert report.faults == ("three: no such file or folder",)


def test_only_files_that_were_asked_for_are_counted(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("a.py", "b.py", "c.txt"):
        (tmp_path / name).touch()
    assert check(Request(("a.py",), str(tmp_path))).files_checked == 1
    assert check(Request((".",), str(tmp_path))).files_checked == 2
    assert check(Request((), str(tmp_path))).files_checked == 0


def test_a_package_outside_of_the_working_directory_ends_where_its_repository_does(tmp_path: Path) -> None:
    repo, elsewhere = tmp_path / "code" / "repo", tmp_path / "elsewhere"
    (repo / ".git").mkdir(parents=True)
    elsewhere.mkdir()
    for folder in (repo, repo.parent):
        (folder / "__init__.py").touch()
    assert root_of(str(repo), str(elsewhere)) == str(repo)


LOADED = """\
import torch
from torch import nn
from transformers import AutoModel


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = AutoModel.from_pretrained("my/model"GIVEN)
        self.head = nn.Linear(768, 5)

    def forward(self, x):
        return self.head(self.body(x).last_hidden_state)


model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
nn.functional.cross_entropy(model(torch.ones(2, 3)).flatten(0, 1), torch.ones(6).long()).backward()
optimizer.step()
"""


def test_what_is_loaded_in_the_format_of_its_checkpoint_is_not_called_safe(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOADED.replace("GIVEN", ""))
    report = check(Request((".",), str(tmp_path), isolated=True))
    assert report.judged["optimizers"] == report.judged["loss formats"] == Tally(unjudged=1)
    (tmp_path / "train.py").write_text(LOADED.replace("GIVEN", ", dtype=torch.float32"))
    report = check(Request((".",), str(tmp_path), isolated=True))
    assert report.judged["optimizers"] == report.judged["loss formats"] == Tally(safe=1)
