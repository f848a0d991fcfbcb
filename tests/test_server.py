"""The language server as an editor meets it: messages in, messages out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from editor import RICH, Editor, Message, editor

from trainlint.server.documents import Buffer, Opened, split
from trainlint.server.work import Work

SIZES = "CODES = 64\nSKIP = CODES\n"
SAFE_SIZES = "CODES = 64\nSKIP = -100\n"
LOSS = """\
from torch import nn
from torch.nn import functional as F

from sizes import CODES, SKIP

head = nn.Linear(8, CODES + 1)
stop_id = CODES


def loss(hidden, targets):
    return F.cross_entropy(head(hidden), targets, ignore_index=SKIP)
"""
LINE, COLUMN, END = 10, 63, 67
"""Where the sentinel of that loss stands, as the protocol counts."""

FIXED = LOSS.replace("ignore_index=SKIP", "ignore_index=-100")
KEPT = """\
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
            lowest, best = loss, model.state_dict()
    model.load_state_dict(best)
"""
KEPT_LINE = 15
TWICE = """\
import torch
import torch.nn.functional as F
from torch import nn

head = nn.Linear(8, 3)


def loss(x, y):
    return F.cross_entropy(torch.softmax(head(x), dim=-1), y)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A collision whose constant stands in another file."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[tool.trainlint]\n")
    (folder / "sizes.py").write_text(SIZES)
    (folder / "loss.py").write_text(LOSS)
    return folder


@pytest.fixture
def at(project: Path) -> Iterator[Editor]:
    """An editor that has opened the folder."""
    with editor(project) as running:
        running.begin(project)
        yield running


def uri(project: Path, name: str) -> str:
    return (project / name).as_uri()


def codes(shown: list[Message]) -> list[str]:
    return [each["code"] for each in shown]


def until(at: Editor, name: str, wanted: list[str]) -> None:
    """Wait for these findings: what lies in files that are not open may come in a second message."""
    while codes(at.shown(name)) != wanted:
        pass


def span(line: int, first: int, last: int) -> Message:
    return {"start": {"line": line, "character": first}, "end": {"line": line, "character": last}}


def whole(text: str) -> Message:
    return {"text": text}


def able(**changes: Any) -> dict[str, Any]:
    """An editor that can do everything but for these."""
    can: dict[str, Any] = json.loads(json.dumps(RICH))
    for path, value in changes.items():
        *above, last = path.split("__")
        table = can
        for name in above:
            table = table[name]
        table[last] = value
    return can


def applied(text: str, edits: list[Message]) -> str:
    """A text of one-byte characters after the edits of a code action."""
    lines = [*text.splitlines(keepends=True), ""]
    starts = [sum(map(len, lines[:line])) for line in range(len(lines) + 1)]

    def offset(place: Message) -> int:
        return starts[place["line"]] + int(place["character"])

    for edit in sorted(edits, key=lambda edit: offset(edit["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text


def edits_of(action: Message) -> list[Message]:
    (change,) = action["edit"]["documentChanges"]
    found: list[Message] = change["edits"]
    return found


def titled(actions: list[Message], words: str) -> Message:
    return next(action for action in actions if words in action["title"])


def test_an_opened_file_is_told_its_findings_with_their_proof(at: Editor, project: Path) -> None:
    at.open(uri(project, "loss.py"), LOSS, version=7)
    (shown,) = at.shown(uri(project, "loss.py"), 7)
    assert (shown["code"], shown["source"], shown["severity"]) == ("TL101", "trainlint", 1)
    assert shown["range"] == span(LINE, COLUMN, END)
    assert shown["message"].startswith("ignore_index=64 is one of the 65 classes")
    assert "codeDescription" not in shown
    constant = next(each for each in shown["relatedInformation"] if each["message"] == "SKIP = CODES")
    assert constant["location"] == {"uri": uri(project, "sizes.py"), "range": span(1, 0, 12)}


def test_a_change_is_judged_by_its_version_and_a_fixed_finding_goes(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, LOSS)
    assert codes(at.shown(name, 1)) == ["TL101"]
    at.change(name, 2, {"range": span(LINE, COLUMN, END), "text": "-100"})
    assert at.shown(name, 2) == []
    at.change(name, 3, whole(LOSS))
    assert codes(at.shown(name, 3)) == ["TL101"]


def test_what_a_run_has_left_is_not_judged_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = (sys.executable, "-m", "trainlint", str(project))
    path = str(project / "loss.py")
    opened = {path: Opened(path, LOSS.encode(), {None: Buffer("", 1, tuple(split(LOSS)))})}
    for _ in range(2):
        subprocess.run(command, cwd=project, capture_output=True, timeout=120, check=False)
    first = Work((str(project),), {}).look(opened, ())
    assert first is not None
    monkeypatch.setattr("trainlint.source.link.judged", None)
    again = Work((str(project),), {}).look(opened, ())
    assert again is not None
    assert [finding.code for finding in again.findings] == ["TL101"]
    assert again.findings == first.findings


def test_of_changes_that_come_at_once_the_last_is_judged(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, LOSS)
    at.shown(name, 1)
    for version in range(2, 40):
        at.change(name, version, whole(FIXED if version % 2 else LOSS))
    at.change(name, 40, whole(LOSS + "\n\nlonger = 1\n"))
    assert codes(at.shown(name, 40)) == ["TL101"]
    versions = [
        each["params"]["version"] for each in at.messages if each["method"] == "textDocument/publishDiagnostics"
    ]
    assert versions == sorted(versions)


def test_a_change_of_the_constant_shows_the_finding_where_the_loss_is(at: Editor, project: Path) -> None:
    (project / "sizes.py").write_text(SAFE_SIZES)
    at.open(uri(project, "sizes.py"), SAFE_SIZES)
    assert at.shown(uri(project, "sizes.py"), 1) == []
    at.change(uri(project, "sizes.py"), 2, {"range": span(1, 7, 11), "text": "CODES"})
    assert codes(at.shown(uri(project, "loss.py"))) == ["TL101"]
    at.change(uri(project, "sizes.py"), 3, whole(SAFE_SIZES))
    assert at.shown(uri(project, "loss.py")) == []


def test_what_is_closed_is_cleared_and_what_was_not_saved_forgotten(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, FIXED)
    assert at.shown(name, 1) == []
    at.open(uri(project, "sizes.py"), SIZES)
    assert at.shown(uri(project, "sizes.py"), 1) == []
    at.close(name)
    until(at, name, ["TL101"])  # The file on the disk still collides, and its constant is open.
    at.close(uri(project, "sizes.py"))
    assert at.shown(name) == []


def test_a_finding_has_the_level_of_its_rule(at: Editor, project: Path) -> None:
    text = "# trainlint: ignore[TL101] nothing is here\nx = 1\n"
    at.open(uri(project, "idle.py"), text)
    (shown,) = at.shown(uri(project, "idle.py"), 1)
    assert (shown["code"], shown["severity"], shown["tags"]) == ("TL900", 3, [1])
    at.open(uri(project, "twice.py"), TWICE)
    (shown,) = at.shown(uri(project, "twice.py"), 1)
    assert shown["severity"] in {1, 2}
    assert "tags" not in shown


def test_half_a_line_is_told_as_such_and_forgiven(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, LOSS)
    at.shown(name, 1)
    at.change(name, 2, whole(LOSS + "def later(:\n"))
    assert codes(at.shown(name, 2)) == ["TL902"]
    assert at.hover(name, LINE, COLUMN) is None
    at.change(name, 3, whole(LOSS))
    assert codes(at.shown(name, 3)) == ["TL101"]


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_places_count_in_the_units_that_were_agreed_on(project: Path, encoding: str, units: int) -> None:
    text = LOSS.replace("return F.cross", "return '😀' and F.cross")
    with editor(project) as at:
        can = able(general={"positionEncodings": [encoding, "utf-16"]})
        assert at.begin(project, able=can)["capabilities"]["positionEncoding"] == encoding
        name = uri(project, "loss.py")
        at.open(name, text)
        start = COLUMN + len("'' and ") + units
        (shown,) = at.shown(name, 1)
        assert shown["range"] == span(LINE, start, start + 4)
        at.change(name, 2, {"range": span(LINE, start, start + 4), "text": "-100"})
        assert at.shown(name, 2) == []
        at.change(name, 3, {"range": span(LINE, start, start + 4), "text": "SKIP"})
        assert [each["range"] for each in at.shown(name, 3)] == [shown["range"]]
        assert at.hover(name, LINE, start + 1)["range"] == shown["range"]
        silenced = applied_in_units(text, edits_of(titled(at.actions(name, LINE, start), "Ignore")), units)
        assert silenced.splitlines()[LINE].endswith("# trainlint: ignore[TL101] TODO: say why")


def applied_in_units(text: str, edits: list[Message], units: int) -> str:
    """The same for a text in which one character on one line takes so many units."""
    return applied(text.replace("😀", "x" * units), edits)


def test_utf_16_holds_where_nothing_is_agreed_on(project: Path) -> None:
    with editor(project) as at:
        can = {key: value for key, value in RICH.items() if key != "general"}
        assert at.begin(project, able=can)["capabilities"]["positionEncoding"] == "utf-16"
        at.open(uri(project, "loss.py"), LOSS.replace("return", "return '😀é' and"))
        (shown,) = at.shown(uri(project, "loss.py"), 1)
        assert shown["range"]["start"]["character"] == COLUMN + len("'é' and ") + 2


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_lines_end_as_the_text_ends_them(at: Editor, project: Path, end: str) -> None:
    text = KEPT.replace("\n", end)
    name = uri(project, "kept.py")
    at.open(name, text)
    (shown,) = (each for each in at.shown(name, 1) if each["code"] == "TL206")
    assert shown["range"]["start"]["line"] == KEPT_LINE
    at.change(name, 2, {"range": span(0, 0, 0), "text": f"# one{end}# two{end}"})
    (moved,) = (each for each in at.shown(name, 2) if each["code"] == "TL206")
    assert moved["range"]["start"]["line"] == KEPT_LINE + 2
    action = next(each for each in at.actions(name, KEPT_LINE + 2, 35) if each.get("isPreferred"))
    assert all(edit["newText"].replace(end, "").isascii() for edit in edits_of(action))
    assert any(end in edit["newText"] for edit in edits_of(action))
    assert not any("\n" in edit["newText"].replace(end, "") for edit in edits_of(action))


def test_lines_are_those_of_the_protocol_and_not_those_of_unicode(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, 'page = "a\x0cb\u2028c"\n' + LOSS)
    (shown,) = at.shown(name, 1)
    assert shown["range"] == span(LINE + 1, COLUMN, END)
    at.change(name, 2, {"range": span(LINE + 1, COLUMN, END), "text": "-100"})
    assert at.shown(name, 2) == []


def test_an_encoding_that_a_text_declares_is_that_of_its_file(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, "# -*- coding: latin-1 -*-\nname = 'é'\n" + LOSS)
    (shown,) = at.shown(name, 1)
    assert shown["range"] == span(LINE + 2, COLUMN, END)


def test_a_place_that_is_not_there_is_the_nearest_one(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, LOSS)
    at.shown(name, 1)
    at.change(name, 2, {"range": span(9000, 5, 6), "text": "x = 1\n"})
    assert codes(at.shown(name, 2)) == ["TL101"]
    at.change(name, 3, {"range": span(LINE, COLUMN, 9000), "text": "-100)"})
    assert at.shown(name, 3) == []
    assert at.hover(name, 9000, 0) is None


def test_hovering_over_a_sentinel_tells_its_value_and_the_chain_that_gave_it(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, LOSS)
    found = at.hover(name, LINE, COLUMN + 2)
    assert found["range"] == span(LINE, COLUMN, END)
    assert found["contents"]["kind"] == "markdown"
    text = found["contents"]["value"]
    assert text.startswith("`SKIP` = 64\n")
    assert f"`SKIP = CODES` [sizes.py:2]({uri(project, 'sizes.py')}#L2)" in text
    assert "**cross_entropy**: flagged" in text


def test_hovering_over_a_layer_a_loss_and_a_name(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, LOSS)
    assert "65" in at.hover(name, 5, 1)["contents"]["value"]
    loss = at.hover(name, LINE, 12)["contents"]["value"]
    assert "**cross_entropy**: flagged" in loss
    assert "head: head, 65 classes" in loss
    stop = at.hover(name, 6, 3)
    assert (stop["contents"]["value"].partition("\n")[0], stop["range"]) == ("`stop_id` = 64", span(6, 0, 7))
    assert at.hover(name, 8, 0) is None


def test_hovering_reads_what_is_written_and_not_what_is_saved(at: Editor, project: Path) -> None:
    at.open(uri(project, "loss.py"), LOSS)
    at.open(uri(project, "sizes.py"), "CODES = 99\nSKIP = CODES\n")
    assert at.hover(uri(project, "loss.py"), LINE, COLUMN)["contents"]["value"].startswith("`SKIP` = 99\n")


def test_hovering_and_judging_do_not_stand_in_each_other_s_way(at: Editor, project: Path) -> None:
    sizes, name = uri(project, "sizes.py"), uri(project, "loss.py")
    at.open(sizes, SIZES)
    at.open(name, LOSS)
    for version, (text, value, found) in enumerate(
        [(SIZES, "64", ["TL101"]), (SAFE_SIZES, "-100", []), (SIZES, "64", ["TL101"])], start=2
    ):
        at.change(sizes, version, whole(text + "#" * version))
        at.change(name, version, whole(LOSS + "#" * version))
        for line, column in ((LINE, COLUMN), (5, 1), (6, 3), (LINE, 12)):
            assert at.hover(name, line, column)
        assert at.hover(name, LINE, COLUMN)["contents"]["value"].startswith(f"`SKIP` = {value}\n")
        assert codes(at.shown(name, version)) == found


def test_an_editor_without_markdown_is_told_in_plain_words(project: Path) -> None:
    with editor(project) as at:
        at.begin(project, able=able(textDocument__hover={"contentFormat": ["plaintext"]}))
        at.open(uri(project, "loss.py"), LOSS)
        contents = at.hover(uri(project, "loss.py"), LINE, COLUMN)["contents"]
        assert contents["kind"] == "plaintext"
        assert contents["value"].startswith("SKIP = 64\n")
        assert not [mark for mark in ("**", "`", "](", "---") if mark in contents["value"]]


def test_a_safe_fix_is_preferred_and_fits_the_text_as_it_is_written(at: Editor, project: Path) -> None:
    text = "# written, not saved\n" + KEPT
    (project / "kept.py").write_text("x = 1\n")
    name = uri(project, "kept.py")
    at.open(name, text, version=5)
    action = next(each for each in at.actions(name, KEPT_LINE + 1, 35) if each.get("isPreferred"))
    assert action["kind"] == "quickfix"
    assert codes(action["diagnostics"]) == ["TL206"]
    (change,) = action["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": name, "version": 5}
    result = applied(text, change["edits"])
    assert result == text.replace("from torch import nn", "import copy\n\nfrom torch import nn", 1).replace(
        "model.state_dict()\n", "copy.deepcopy(model.state_dict())\n"
    )
    at.change(name, 6, whole(result))
    assert "TL206" not in codes(at.shown(name, 6))


def test_an_unsafe_fix_is_offered_and_not_preferred(at: Editor, project: Path) -> None:
    name = uri(project, "twice.py")
    at.open(name, TWICE)
    (fix,) = (each for each in at.actions(name, 8, 30) if "Ignore" not in each["title"] and each["kind"] == "quickfix")
    assert "isPreferred" not in fix
    at.change(name, 2, whole(applied(TWICE, edits_of(fix))))
    assert at.shown(name, 2) == []


def test_a_comment_that_silences_is_offered_with_a_place_for_the_reason(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, LOSS)
    action = titled(at.actions(name, LINE, COLUMN), "Ignore TL101")
    assert "isPreferred" not in action
    result = applied(LOSS, edits_of(action))
    assert result.splitlines()[LINE].endswith("ignore_index=SKIP)  # trainlint: ignore[TL101] TODO: say why")
    at.change(name, 2, whole(result))
    assert at.shown(name, 2) == []


def test_nothing_silences_a_text_that_cannot_be_read(at: Editor, project: Path) -> None:
    name = uri(project, "half.py")
    at.open(name, "def half(:\n")
    assert codes(at.shown(name, 1)) == ["TL902"]
    assert at.actions(name, 0, 9) == []


def test_actions_belong_to_the_findings_at_the_place(at: Editor, project: Path) -> None:
    at.open(uri(project, "loss.py"), LOSS)
    assert at.actions(uri(project, "loss.py"), 2) == []
    assert at.actions(uri(project, "nowhere.py"), 2) == []


def test_an_editor_may_ask_for_some_kinds_alone(at: Editor, project: Path) -> None:
    name = uri(project, "kept.py")
    at.open(name, KEPT)

    def kinds(*only: str) -> set[str]:
        return {each["kind"] for each in at.actions(name, KEPT_LINE, 35, list(only))}

    assert kinds("quickfix") == {"quickfix"}
    assert kinds("source.fixAll") == kinds("source") == {"source.fixAll.trainlint"}
    assert kinds("refactor") == kinds("source.organizeImports") == set()


def test_all_safe_fixes_are_one_action_and_unsafe_ones_no_part_of_it(at: Editor, project: Path) -> None:
    text = KEPT + "\n\n" + KEPT.replace("fit", "fit_again") + "\n\n" + TWICE
    name = uri(project, "both.py")
    at.open(name, text)
    found = codes(at.shown(name, 1))
    assert found.count("TL206") == 2
    (action,) = at.actions(name, 0, only=["source.fixAll.trainlint"])
    assert "isPreferred" not in action
    result = applied(text, edits_of(action))
    at.change(name, 2, whole(result))
    assert codes(at.shown(name, 2)) == [code for code in found if code != "TL206"]
    assert at.actions(name, 0, only=["source.fixAll"]) == []


def test_an_editor_that_knows_no_versions_of_edits_gets_plain_ones(project: Path) -> None:
    with editor(project) as at:
        at.begin(project, able=able(workspace__workspaceEdit={}))
        at.open(uri(project, "loss.py"), LOSS)
        edit = titled(at.actions(uri(project, "loss.py"), LINE, COLUMN), "Ignore")["edit"]
        assert list(edit) == ["changes"]
        assert list(edit["changes"]) == [uri(project, "loss.py")]


def test_the_proof_is_part_of_the_text_where_an_editor_shows_no_other_places(project: Path) -> None:
    with editor(project) as at:
        at.begin(project, able={})
        at.open(uri(project, "loss.py"), LOSS)
        (shown,) = at.shown(uri(project, "loss.py"), 1)
        assert "relatedInformation" not in shown
        assert f"because CODES = 64 ({project / 'sizes.py'}:1:1)" in shown["message"]


CELLS = {
    "words": (1, "A notebook about a loss."),
    "sizes": (2, "CODES = 64\nSKIP = CODES"),
    "imports": (2, "from torch import nn\nfrom torch.nn import functional as F"),
    "layers": (2, "head = nn.Linear(8, CODES + 1)\nstop_id = CODES"),
    "loss": (2, "def loss(hidden, targets):\n    return F.cross_entropy(head(hidden), targets, ignore_index=SKIP)"),
}


def cell(name: str) -> str:
    return f"notebook-cell:/run.ipynb#{name}"


def item(name: str, text: str, kind: int) -> Message:
    return {"uri": cell(name), "languageId": "python" if kind == 2 else "markdown", "version": 1, "text": text}


def open_notebook(at: Editor, name: str, cells: Mapping[str, tuple[int, str]]) -> None:
    listed = [{"kind": kind, "document": cell(key)} for key, (kind, _) in cells.items()]
    about = {"uri": name, "notebookType": "jupyter-notebook", "version": 1, "cells": listed}
    items = [item(key, text, kind) for key, (kind, text) in cells.items()]
    at.notify("notebookDocument/didOpen", {"notebookDocument": about, "cellTextDocuments": items})


def change_notebook(at: Editor, name: str, version: int, **cells: object) -> None:
    about = {"uri": name, "version": version}
    at.notify("notebookDocument/didChange", {"notebookDocument": about, "change": {"cells": cells}})


def test_the_cells_of_a_notebook_are_judged_together_and_told_apart(at: Editor, project: Path) -> None:
    name = uri(project, "run.ipynb")
    open_notebook(at, name, CELLS)
    (shown,) = at.shown(cell("loss"), 1)
    assert shown["code"] == "TL101"
    assert shown["range"] == span(1, COLUMN, END)
    constant = next(each for each in shown["relatedInformation"] if each["message"] == "SKIP = CODES")
    assert constant["location"] == {"uri": cell("sizes"), "range": span(1, 0, 12)}
    assert at.shown(cell("sizes"), 1) == []


def test_the_cells_of_a_notebook_change_move_and_go(at: Editor, project: Path) -> None:
    name = uri(project, "run.ipynb")
    open_notebook(at, name, CELLS)
    assert codes(at.shown(cell("loss"), 1)) == ["TL101"]
    text = {"document": {"uri": cell("sizes"), "version": 2}, "changes": [{"range": span(1, 7, 12), "text": "-100"}]}
    change_notebook(at, name, 2, textContent=[text])
    assert at.shown(cell("loss")) == []
    new = {
        "array": {"start": 1, "deleteCount": 1, "cells": [{"kind": 2, "document": cell("new")}]},
        "didOpen": [item("new", "# the size\nCODES = 64\nSKIP = CODES", 2)],
        "didClose": [{"uri": cell("sizes")}],
    }
    change_notebook(at, name, 3, structure=new)
    (shown,) = at.shown(cell("loss"))
    constant = next(each for each in shown["relatedInformation"] if each["message"] == "SKIP = CODES")
    assert constant["location"] == {"uri": cell("new"), "range": span(2, 0, 12)}
    found = at.hover(cell("loss"), 1, COLUMN)
    assert found["range"] == span(1, COLUMN, END)
    action = titled(at.actions(cell("loss"), 1, COLUMN), "Ignore")
    (change,) = action["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": cell("loss"), "version": 1}
    gone = {"array": {"start": 4, "deleteCount": 1, "cells": []}, "didClose": [{"uri": cell("loss")}]}
    change_notebook(at, name, 4, structure=gone)
    assert at.shown(cell("loss")) == []


def test_a_notebook_is_saved_and_closed(at: Editor, project: Path) -> None:
    name = uri(project, "run.ipynb")
    open_notebook(at, name, CELLS)
    assert codes(at.shown(cell("loss"), 1)) == ["TL101"]
    at.notify("notebookDocument/didSave", {"notebookDocument": {"uri": name}})
    cells = [{"uri": cell(key)} for key in CELLS]
    at.notify("notebookDocument/didClose", {"notebookDocument": {"uri": name}, "cellTextDocuments": cells})
    assert at.shown(cell("loss")) == []


def test_a_notebook_that_is_opened_as_the_text_it_is_tells_the_cell(at: Editor, project: Path) -> None:
    cells = [{"cell_type": "code", "source": text} for kind, text in CELLS.values() if kind == 2]
    name = uri(project, "run.ipynb")
    at.open(name, json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), language="json")
    (shown,) = at.shown(name, 1)
    assert shown["range"] == span(0, 0, 0)
    assert shown["message"].startswith(f"cell 4:2:{COLUMN + 1}: ignore_index=64")
    assert at.actions(name, 0) == []


def test_each_folder_of_the_workspace_is_a_project_of_its_own(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, sizes in zip(folders, (SIZES, SAFE_SIZES), strict=True):
        folder.mkdir()
        (folder / "sizes.py").write_text(sizes)
        (folder / "loss.py").write_text(LOSS)
    with editor(tmp_path) as at:
        at.begin(*folders)
        for folder in folders:
            at.open(uri(folder, "loss.py"), LOSS)
        assert codes(at.shown(uri(folders[0], "loss.py"), 1)) == ["TL101"]
        assert at.shown(uri(folders[1], "loss.py"), 1) == []


def test_folders_come_and_go(at: Editor, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "inner").mkdir(parents=True)
    (other / "sizes.py").write_text(SIZES)
    text = LOSS.replace("from sizes", "from other.sizes")
    (other / "inner" / "loss.py").write_text(LOSS)
    name = uri(other, "inner/loss.py")
    at.open(name, LOSS)
    assert at.shown(name, 1) == []
    folder = {"uri": other.as_uri(), "name": "other"}
    at.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
    assert codes(at.shown(name)) == ["TL101"]
    at.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}})
    assert at.shown(name) == []
    assert text


def test_a_file_outside_the_workspace_belongs_to_its_own_project(at: Editor, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "inner").mkdir(parents=True)
    (other / "setup.cfg").write_text("")
    (other / "sizes.py").write_text(SIZES)
    at.open(uri(other, "inner/loss.py"), LOSS)
    assert codes(at.shown(uri(other, "inner/loss.py"), 1)) == ["TL101"]


def test_a_new_file_is_judged_before_it_is_saved(at: Editor, project: Path) -> None:
    at.open(uri(project, "new.py"), LOSS)
    assert codes(at.shown(uri(project, "new.py"), 1)) == ["TL101"]
    assert "64" in at.hover(uri(project, "new.py"), LINE, COLUMN)["contents"]["value"]


@pytest.mark.parametrize("name", ["untitled:Untitled-1", "untitled:{}/draft.py"])
def test_a_text_without_a_file_is_judged_too(at: Editor, project: Path, name: str) -> None:
    name = name.format(project.as_posix())
    at.open(name, LOSS)
    assert codes(at.shown(name, 1)) == ["TL101"]
    at.close(name)
    assert at.shown(name) == []


def test_what_is_no_code_and_no_file_is_passed_over(at: Editor, project: Path) -> None:
    at.open("untitled:Untitled-1", "words", language="plaintext")
    at.open("git:/project/loss.py?HEAD", LOSS)
    at.change("git:/project/loss.py?HEAD", 2, whole(LOSS))
    at.open(uri(project, "notes.txt"), "words", language="plaintext")
    assert at.hover("git:/project/loss.py?HEAD", LINE, COLUMN) is None
    at.close("git:/project/loss.py?HEAD")
    at.open(uri(project, "loss.py"), LOSS)
    assert codes(at.shown(uri(project, "loss.py"), 1)) == ["TL101"]
    published = [each for each in at.messages if each["method"] == "textDocument/publishDiagnostics"]
    assert published == []


@pytest.mark.parametrize("name", ["my runs/été 100% #1.py", "a+b&c=d.py", "日本.py"])
def test_names_with_any_character_come_back_as_they_were_sent(at: Editor, project: Path, name: str) -> None:
    path = project / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(LOSS)
    at.open(path.as_uri(), LOSS)
    (shown,) = at.shown(path.as_uri(), 1)
    assert shown["relatedInformation"][0]["location"]["uri"].startswith(project.as_uri())


def test_an_address_is_told_as_the_editor_spells_it(at: Editor, project: Path) -> None:
    """Some editors escape what others do not."""
    spelled = uri(project, "loss.py").replace("loss", "l%6Fss")
    at.open(spelled, LOSS)
    assert codes(at.shown(spelled, 1)) == ["TL101"]


def test_settings_that_change_on_the_disk_hold_from_then_on(at: Editor, project: Path) -> None:
    asked = at.told("client/registerCapability")
    assert [each["method"] for each in asked["registrations"]] == ["workspace/didChangeWatchedFiles"]
    at.open(uri(project, "loss.py"), LOSS)
    assert codes(at.shown(uri(project, "loss.py"), 1)) == ["TL101"]
    (project / "pyproject.toml").write_text('[tool.trainlint]\nignore = ["TL101"]\n')
    touched(at, uri(project, "pyproject.toml"), 2)
    assert at.shown(uri(project, "loss.py")) == []


def touched(at: Editor, name: str, kind: int) -> None:
    at.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": name, "type": kind}]})


def test_files_that_change_come_and_go_outside_the_editor_are_heard_of(at: Editor, project: Path) -> None:
    name, sizes = uri(project, "loss.py"), project / "sizes.py"
    at.open(name, LOSS)
    assert codes(at.shown(name, 1)) == ["TL101"]
    sizes.write_text(SAFE_SIZES)
    touched(at, sizes.as_uri(), 2)
    assert at.shown(name) == []
    sizes.write_text(SIZES)
    touched(at, sizes.as_uri(), 2)
    assert codes(at.shown(name)) == ["TL101"]
    sizes.unlink()
    touched(at, sizes.as_uri(), 3)
    assert at.shown(name) == []
    sizes.write_text(SIZES)
    touched(at, sizes.as_uri(), 1)
    assert codes(at.shown(name)) == ["TL101"]


def test_saving_reads_the_disk_anew_where_the_editor_watches_no_files(project: Path) -> None:
    with editor(project) as at:
        at.begin(project, able=able(workspace__didChangeWatchedFiles={}))
        name = uri(project, "loss.py")
        at.open(name, LOSS)
        assert codes(at.shown(name, 1)) == ["TL101"]
        (project / "sizes.py").write_text(SAFE_SIZES)
        at.notify("textDocument/didSave", {"textDocument": {"uri": name}})
        assert at.shown(name) == []
        assert not [each for each in at.messages if each["method"] == "client/registerCapability"]


def test_the_editor_gives_settings_too(project: Path) -> None:
    with editor(project) as at:
        at.begin(project, initializationOptions={"ignore": ["TL101"]})
        name = uri(project, "loss.py")
        at.open(name, LOSS)
        assert at.shown(name, 1) == []
        at.notify("workspace/didChangeConfiguration", {"settings": {"trainlint": {"severity": {"TL101": "note"}}}})
        assert [each["severity"] for each in at.shown(name)] == [3]
        at.notify("workspace/didChangeConfiguration", {"settings": {"other": {}}})
        at.notify("workspace/didChangeConfiguration", {"settings": None})
        assert at.hover(name, LINE, COLUMN)


def test_a_mistake_in_the_settings_is_told_once_and_again_when_it_is_made_again(at: Editor, project: Path) -> None:
    name, settings = uri(project, "loss.py"), project / "pyproject.toml"
    at.open(name, LOSS)
    assert codes(at.shown(name, 1)) == ["TL101"]
    for _ in range(2):
        settings.write_text("[tool.trainlint]\nselekt = []\n")
        touched(at, settings.as_uri(), 2)
        assert "did you mean select" in at.told("window/showMessage")["message"]
        at.change(name, 2, whole(LOSS))
        assert at.request("textDocument/codeAction", asked_at(name)) == []
        assert not [each for each in at.messages if each["method"] == "window/showMessage"]
        settings.write_text('[tool.trainlint]\nignore = ["TL101"]\n')
        touched(at, settings.as_uri(), 2)
        assert at.shown(name, 2) == []
        settings.write_text("[tool.trainlint]\n")
        touched(at, settings.as_uri(), 2)
        assert codes(at.shown(name, 2)) == ["TL101"]


def asked_at(name: str) -> Message:
    return {"textDocument": {"uri": name}, "range": span(0, 0, 0), "context": {"diagnostics": []}}


def test_what_the_settings_leave_out_is_left_out_in_the_editor(at: Editor, project: Path) -> None:
    library = project / ".venv" / "lib"
    library.mkdir(parents=True)
    (library / "sizes.py").write_text(SIZES)
    (library / "loss.py").write_text(LOSS)
    at.open(uri(library, "loss.py"), LOSS)
    assert at.shown(uri(library, "loss.py"), 1) == []


def test_a_request_can_be_cancelled_and_the_next_is_answered(at: Editor, project: Path) -> None:
    name = uri(project, "loss.py")
    at.open(name, LOSS)
    place = {"textDocument": {"uri": name}, "position": {"line": LINE, "character": COLUMN}}
    first = at.ask("textDocument/hover", place)
    at.notify("$/cancelRequest", {"id": first})
    second = at.request("textDocument/hover", place)
    assert second["range"] == span(LINE, COLUMN, END)
    answer = at.answer(first)
    assert answer.get("error", {}).get("code") == -32800 or answer["result"] == second
    at.notify("$/cancelRequest", {"id": 12345})
    assert codes(at.shown(name, 1)) == ["TL101"]


def test_a_server_that_is_shut_down_leaves_with_0_and_has_said_nothing_else(project: Path) -> None:
    with editor(project, "--stdio") as at:
        at.begin(project)
        at.open(uri(project, "loss.py"), LOSS)
        at.shown(uri(project, "loss.py"), 1)
        assert at.leave().status == 0


def test_a_server_that_is_told_to_exit_at_once_or_left_alone_leaves_with_1(project: Path) -> None:
    with editor(project) as at:
        at.begin(project)
        at.notify("exit")
        assert at.gone().status == 1
    with editor(project) as at:
        at.begin(project)
        assert at.process.stdin is not None
        at.process.stdin.close()
        assert at.gone().status == 1


ENDLESS = """\
import time
import trainlint.server.work as work

work.Work.look = lambda *given: time.sleep(3600)
"""


def patched(folder: Path, program: str) -> dict[str, str]:
    """The environment of a server that runs this program first."""
    (folder / "sitecustomize.py").write_text(program)
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))}


def test_leaving_does_not_wait_for_what_is_being_judged(project: Path, tmp_path: Path) -> None:
    with editor(project, env=patched(tmp_path, ENDLESS)) as at:
        at.begin(project)
        at.open(uri(project, "loss.py"), LOSS)
        assert at.leave().status == 0


SLOW = """\
import trainlint.server.door as door

door.PATIENCE = -1
"""


def test_what_takes_long_is_shown_when_it_is_done_and_what_stands_in_the_file_before(
    project: Path, tmp_path: Path
) -> None:
    with editor(project, env=patched(tmp_path, SLOW)) as at:
        at.begin(project)
        sizes, name = uri(project, "sizes.py"), uri(project, "loss.py")
        at.open(sizes, SIZES)
        assert codes(at.shown(name)) == ["TL101"], "its evidence is in the open file, and it stands in another"
        at.open(name, LOSS)
        assert codes(at.shown(name, 1)) == ["TL101"]
        at.change(sizes, 2, whole(SAFE_SIZES))
        assert at.shown(name) == []
        at.close(name)
        assert at.shown(name) == []
        at.change(sizes, 3, whole(SIZES))
        assert at.hover(sizes, 1, 1)
        assert codes(at.shown(name)) == ["TL101"]


BROKEN = """\
import trainlint.server.work as work

kept = work.Work.resolve


def resolve(self, path, cell, row, opened):
    print("a line for nobody")
    if row == 1:
        raise RuntimeError("a mistake of ours")
    return kept(self, path, cell, row, opened)


work.Work.resolve = resolve
"""


def test_a_mistake_of_ours_is_logged_and_shown_once_and_the_server_goes_on(project: Path, tmp_path: Path) -> None:
    """And what anything prints goes nowhere near the messages."""
    with editor(project, env=patched(tmp_path, BROKEN)) as at:
        at.begin(project)
        name = uri(project, "loss.py")
        at.open(name, LOSS)
        assert at.hover(name, 0, 0) is None
        assert "a mistake of ours" in at.told("window/showMessage")["message"]
        assert at.hover(name, 0, 0) is None
        assert at.hover(name, LINE, COLUMN) is not None
        assert not [each for each in at.messages if each["method"] == "window/showMessage"]
        end = at.leave()
    assert end.status == 0
    assert "Traceback" in end.err
    assert "a line for nobody" in end.err


def test_messages_that_make_no_sense_do_not_end_the_server(at: Editor, project: Path) -> None:
    at.notify("trainlint/unheardOf", {"x": 1})
    answer = at.answer(at.ask("trainlint/unheardOf", {"x": 1}))
    assert answer["error"]["code"] == -32601
    at.change(uri(project, "never_opened.py"), 3, whole(LOSS))
    at.close(uri(project, "never_opened.py"))
    at.send({"method": "textDocument/didOpen", "params": {"textDocument": {"uri": 3}}})
    at.open(uri(project, "loss.py"), LOSS)
    assert codes(at.shown(uri(project, "loss.py"), 1)) == ["TL101"]


def test_without_pygls_the_install_line_is_told(project: Path, tmp_path: Path) -> None:
    env = {**os.environ, **patched(tmp_path, "import sys\nsys.modules['pygls'] = None\n")}
    command = [sys.executable, "-m", "trainlint", "server"]
    run = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "trainlint: the language server needs pygls: pip install 'trainlint[server]'\n"


def test_the_server_takes_no_paths(project: Path) -> None:
    command = [sys.executable, "-m", "trainlint", "server", "src"]
    run = subprocess.run(command, cwd=project, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (run.returncode, run.stdout) == (2, "")
    assert "takes no paths" in run.stderr


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
def test_an_interrupt_ends_the_server_without_a_traceback(project: Path) -> None:
    with editor(project) as at:
        at.begin(project)
        at.told("client/registerCapability")
        at.process.send_signal(signal.SIGINT)
        at.process.stdin.close() if at.process.stdin else None
        end = at.gone()
    assert end.status != 0
    assert "Traceback" not in end.err
