"""What a verdict is said to rest on is all that it rests on: change a project, and what changed was in the list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from trainlint.facts import Fact
from trainlint.source import link
from trainlint.source.journal import Dependencies
from trainlint.source.link import Place, choices, doings, rests_on
from trainlint.source.reading import Judged, judged_alone
from trainlint.source.sift import relevant
from trainlint.source.text import MISSING, Fault
from trainlint.source.workspace import Workspace
from trainlint.span import Span

FIXTURES = Path(__file__).parent.parent / "fixtures"
SEVERAL = [folder for folder in sorted(FIXTURES.glob("*/*_*/")) if len(list(folder.rglob("*.py"))) > 1]
FOLDERS = SEVERAL[::3]
Files = Mapping[str, bytes]
Verdicts = dict[Span | tuple[str, int], tuple[frozenset[str], Dependencies]]

WRITER = b"import train\n\n\ndef rewrite(thing):\n    thing.head = thing.loss = thing.pad = thing.width = None\n"
CALLER = b"from train import *\n\nmodel = Model(3)\nloss = model(1, 2)\ncriterion = Loss(5)\n"


def judgements(workspace: Workspace, files: Iterable[str]) -> Iterator[Judged]:
    """Every verdict of these files, beside what decides of which places there is one."""
    done: set[Place] = set()
    for path in files:
        opened = judged_alone(workspace, path)
        yield opened
        for chosen in choices(workspace, path, doings()):
            yield Judged(path, None, (), chosen.stretch)
            for place, site in chosen.sites.items():
                if place not in done:
                    done.add(place)
                    yield link.judged(workspace, chosen.linker, site)


def spelled(fact: Fact) -> str:
    """A fact without the numbers by which one run tells its objects apart."""
    return re.sub(r"\d{9,}|#\d+", "", repr(fact))


def workspace(files: Files) -> Workspace:
    def read(path: str) -> bytes | Fault:
        return files.get(path, Fault(MISSING, 1, 1))

    scripts = sorted(path for path in files if path.endswith(".py"))
    return Workspace("/project", scripts, (), {}, read)


def verdicts(project: Workspace) -> Verdicts:
    """What is said of each place, the choice of places by file and turn, and what each rests on."""
    found: Verdicts = {}
    wanted = [path for path in project.files if relevant(project.data(path))]  # type: ignore[arg-type]
    for turn, judged in enumerate(judgements(project, wanted)):
        key = judged.site or (judged.path, turn)
        before = found.get(key, (frozenset(), Dependencies(frozenset(), frozenset())))
        facts, rests = before[0] | set(map(spelled, judged.facts)), rests_on(project, judged)
        found[key] = facts, Dependencies(before[1].files | rests.files, before[1].queries | rests.queries)
    return found


def files_of(folder: Path) -> Files:
    every = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {f"/project/{path.relative_to(folder)}": path.read_bytes() for path in every}


def changes(files: Files) -> Iterator[Files]:
    """The project with a file gone, with other numbers in it, with a copy of it; with files that write and call.

    No package goes: that gives what is below it other names, and everything is judged again (see test_parts).
    """
    for path, data in files.items():
        if not path.endswith("/__init__.py"):
            yield {other: text for other, text in files.items() if other != path}
        yield {**files, path: re.sub(rb"\b\d+\b", lambda number: b"%d" % (int(number[0]) + 1), data)}
        yield {**files, path.replace(".py", "_copy.py"): data}
    yield {**files, "/project/writer.py": WRITER}
    yield {**files, "/project/caller.py": CALLER}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_a_verdict_that_changes_rests_on_something_that_changed(folder: Path) -> None:
    files = files_of(folder)
    project = workspace(files)
    known = verdicts(project)
    states = {place: project.state(rests) for place, (_, rests) in known.items()}
    for changed in changes(files):
        other = workspace(changed)
        again = verdicts(other)
        for place, (facts, rests) in known.items():
            if other.state(rests) == states[place] and isinstance(place, Span):
                assert place in again, "a place is gone that nothing was said to decide of"
                assert again[place][0] == facts


TWO = {
    "/project/a/train.py": b"""
import torch.nn as nn
from layers import Head
head = Head(9)
criterion = nn.CrossEntropyLoss(ignore_index=4)
criterion(head(1), 2)
""",
    "/project/a/layers.py": b"""
import torch.nn as nn
class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.last = nn.Linear(3, width)
    def forward(self, x):
        return self.last(x)
""",
    "/project/b/serve.py": b"""
import json
def answer(request):
    return json.dumps({"ok": request})
""",
}


def said(files: Files) -> tuple[frozenset[Fact], str]:
    """Every verdict of the first script, and the state of what the verdicts of the unchanged project rest on."""
    first = workspace(TWO)
    known = [judged for judged in judgements(first, ["/project/a/train.py"]) if judged.facts]
    now = workspace(files)
    facts = frozenset(fact for judged in judgements(now, ["/project/a/train.py"]) for fact in judged.facts)
    return facts, "".join(now.state(rests_on(first, judged)) for judged in known)


def test_a_verdict_rests_on_the_files_that_it_needs_and_no_others() -> None:
    project = workspace(TWO)
    judged = [each for each in judgements(project, ["/project/a/train.py"]) if each.facts]
    assert {path for each in judged for path in rests_on(project, each).read} == {
        "/project/a/train.py",
        "/project/a/layers.py",
    }


def test_a_verdict_on_one_of_two_copies_rests_on_nothing_of_the_other() -> None:
    one = {path.replace("/a/", "/one/a/").replace("/b/", "/one/b/"): data for path, data in TWO.items()}
    two = {path.replace("/one/", "/two/"): data for path, data in one.items()}
    known, both = workspace(one), workspace({**one, **two})
    here = [[rests_on(each, judged) for judged in judgements(each, sorted(one))] for each in (known, both)]
    assert here[0] == here[1]


@pytest.mark.parametrize(
    "change",
    [
        {"/project/b/serve.py": b"def answer(request):\n    return 7\n"},
        {"/project/b/new.py": b"print('hello')\n"},
    ],
)
def test_what_lies_outside_changes_neither_the_verdict_nor_its_state(change: Files) -> None:
    assert said({**TWO, **change}) == said(TWO)


@pytest.mark.parametrize(
    "change",
    [
        {"/project/a/layers.py": TWO["/project/a/layers.py"].replace(b"(3, width)", b"(3, width + 1)")},
        {"/project/a/widen.py": b"def widen(model, layer):\n    model.last = layer\n"},
        {"/project/b/serve.py": b"import a.train\n"},
        {"/project/a/layers/__init__.py": b"from elsewhere import Head\n"},
    ],
    ids=[
        "another width",
        "a new writer of the attribute",
        "an import of it from elsewhere",
        "a module that did not exist",
    ],
)
def test_what_a_verdict_rests_on_is_noticed_when_it_changes(change: Files) -> None:
    assert said({**TWO, **change})[1] != said(TWO)[1]
