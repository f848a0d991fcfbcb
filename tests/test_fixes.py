"""Every fixture is a test of the fixes: what has one is fixed in a copy, read again, compiled, and run."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from as_read import as_read
from made import loss

from trainlint.check import Request, check
from trainlint.config import Layer
from trainlint.facts import Facts, Loss
from trainlint.finding import Applicability, Finding, Fix, Wrap
from trainlint.fix import write
from trainlint.lint import lint
from trainlint.repair import Draft, repaired
from trainlint.report import Report
from trainlint.rule import Rule, installed
from trainlint.source import cells_in
from trainlint.span import Span
from trainlint.value import Step

FIXTURES = Path(__file__).parent.parent / "fixtures"
FOLDERS = sorted(folder for folder in FIXTURES.glob("*/*_*/") if folder.name.startswith(("bad_", "good_")))
SAFE, ALL = {Applicability.SAFE}, set(Applicability)
KINDS = (SAFE, ALL)


def name_of(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def request(folder: Path, rule: str) -> Request:
    """A fixture, or its copy, as a project of its own; its rule runs, even one that is off."""
    named = any(rule == each.name for each in installed().values())
    layers = (Layer("the fixture's folder", str(folder), {"extend-select": [rule]}),) if named else ()
    return Request((str(folder),), str(folder), layers, isolated=True)


def fixable(report: Report, wanted: set[Applicability]) -> list[Finding]:
    return [each for each in report.findings if each.fix is not None and each.fix.applicability in wanted]


def has_fix(folder: Path) -> bool:
    return any(finding.fix for finding in as_read(folder))


def copied(folder: Path, to: Path) -> Request:
    copy = Path(shutil.copytree(folder, (to / folder.parent.name / folder.name).resolve()))
    return request(copy, folder.parent.name.replace("_", "-"))


def key(finding: Finding) -> tuple[str, str, int | None, str]:
    """What stays of a finding when lines move."""
    return finding.code, finding.where.path, finding.where.cell, finding.message


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_after_a_fix_the_finding_is_gone_and_the_code_compiles(folder: Path, tmp_path: Path) -> None:
    for wanted in KINDS if has_fix(folder) else ():
        there = copied(folder, tmp_path / str(len(wanted)))
        before = check(there)
        repair = repaired(there, before, wanted)
        assert not repair.left
        assert list(repair.fixed) == fixable(before, wanted)
        for draft in repair.drafts:
            assert_only_edited_tokens_differ(draft)
            write(draft.path, draft.before, draft.after)
        after = check(there) if repair.drafts else before
        assert not {key(each) for each in repair.fixed} & {key(each) for each in after.findings}
        assert not fixable(after, wanted), "a second run would change something"


def assert_only_edited_tokens_differ(draft: Draft) -> None:
    """Every token of the file that no edit touches is there afterwards, in its order, comments too."""
    for cell, (before, after) in texts(draft).items():
        edits = [edit.where for each in draft.edits.values() for edit in each if edit.where.cell == cell]
        old, new = tokens(before), tokens(after)
        matcher = SequenceMatcher(None, [each[:2] for each in old], [each[:2] for each in new], autojunk=False)
        for kind, first, last, *_ in matcher.get_opcodes():
            for token in old[first:last] if kind != "equal" else ():
                assert any(touches(edit, token) for edit in edits), token
        comments = [each for each in old if each.type == tokenize.COMMENT]
        left = iter([each.string for each in new if each.type == tokenize.COMMENT])
        assert all(each.string in left for each in comments if not any(within(edit, each) for edit in edits))


def within(edit: Span, comment: tokenize.TokenInfo) -> bool:
    """Whether an edit changes a comment itself, or deletes it with the space before it."""
    row, column = comment.start
    return edit.row <= row and (edit.end_row, edit.end_column - 1) > (row, column)


def texts(draft: Draft) -> dict[int | None, tuple[str, str]]:
    if draft.path.endswith(".py"):
        return {None: (draft.before.decode(), draft.after.decode())}
    pairs = zip(cells_in(draft.before), cells_in(draft.after), strict=True)
    return {cell.number: (cell.python, other.python) for cell, other in pairs}


def tokens(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def touches(edit: Span, token: tokenize.TokenInfo) -> bool:
    start, end = (token.start[0], token.start[1] + 1), (token.end[0], token.end[1] + 1)
    return start <= (edit.end_row, edit.end_column) and (edit.row, edit.column) <= end


@pytest.fixture(scope="session")
def fixed_copies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The fixtures that a fix changes and that run here, fixed."""
    copies = []
    for folder in (each for each in FOLDERS if each.name.startswith("bad_") and runs_here(each) and has_fix(each)):
        there = copied(folder, tmp_path_factory.getbasetemp() / "fixed")
        repair = repaired(there, check(there), ALL)
        for draft in repair.drafts:
            write(draft.path, draft.before, draft.after)
        copies += [Path(there.folder)] if repair.drafts else []
    return copies


def runs_here(folder: Path) -> bool:
    entry = folder / "train.py"
    first = entry.read_text().partition("\n")[0] if entry.exists() else ""
    return entry.exists() and not first.startswith(("# cannot run: ", "# needs: "))


def test_what_is_fixed_still_runs(fixed_copies: list[Path]) -> None:
    pytest.importorskip("torch")
    command = [sys.executable, "-B", str(Path(__file__).with_name("torch_oracle.py")), *map(str, fixed_copies)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    errors = {folder: each["error"] for folder, each in json.loads(run.stdout).items() if each["error"]}
    assert not errors
    assert len(fixed_copies) > 20


WHERE = Span("train.py", 3, 8, 3, 20)
CAST = Fix(Applicability.SAFE, "Cast", (Wrap(WHERE, after=".float()"),))
COPY = Fix(Applicability.SAFE, "Copy", (Wrap(WHERE, "copy(", ")"),))


@pytest.mark.parametrize(
    ("seen", "left"),
    [
        ([CAST], CAST),
        ([CAST, CAST], CAST),
        ([CAST, COPY], None),
        ([CAST, None], CAST.unsafe()),
    ],
    ids=["one way", "two ways that agree", "two ways that do not", "a way that needs none"],
)
def test_a_fix_holds_for_all_ways_to_a_place_or_is_not_safe(seen: list[Fix | None], left: Fix | None) -> None:
    """Each way is a caller; without a fix, it finds nothing."""
    by_caller = dict(enumerate(seen))

    def check(fact: Loss) -> Iterator[Finding]:
        fix = by_caller[int(fact.context[0].text)]
        if fix is not None:
            yield Finding(fact.call, "found", fix=fix)

    facts = [replace(loss("train.py"), context=(Step(str(caller), WHERE),)) for caller in by_caller]
    rule = Rule("TL101", "made", "TL101: a rule of this test.", Loss, check)
    (finding,) = lint(Facts(facts), [rule])
    assert finding.fix == left


def test_a_fix_that_only_one_branch_asks_for_is_not_safe() -> None:
    def check(fact: Loss) -> Iterator[Finding]:
        yield Finding(fact.call, "found", fix=CAST)

    fact = replace(loss("train.py"), branch=(Step("if fast:", WHERE),), everywhere=False)
    rule = Rule("TL101", "made", "TL101: a rule of this test.", Loss, check)
    (finding,) = lint(Facts([fact]), [rule])
    assert finding.fix == CAST.unsafe()
