"""Notebooks through the front door: cells of any make go in, findings with their cell and row come out."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainlint.check import Request, check
from trainlint.report import Report
from trainlint.source import Project, sites
from trainlint.source.magics import as_python
from trainlint.source.notebook import Notebook, foreign, opened, parsed
from trainlint.source.text import Fault

IMPORTS = "import torch.nn.functional as F\nfrom torch import nn"
SIZES = "STOP = 7\nhead = nn.Linear(4, STOP + 1)"
USE = "if token == STOP:\n    done = True"
LOSS = "loss = F.cross_entropy(head(x), y, ignore_index=STOP)"
PYTHON = {"language_info": {"name": "python"}}


def code(source: object, **more: object) -> dict[str, object]:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], **more}


def text(*cells: object, metadata: Mapping[str, object] = PYTHON) -> str:
    return json.dumps({"cells": [code(each) if isinstance(each, str | list) else each for each in cells],
                       "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)  # fmt: skip


def checked(folder: Path, written: str | bytes, name: str = "nb.ipynb") -> Report:
    (folder / name).write_bytes(written.encode() if isinstance(written, str) else written)
    return check(Request((str(folder),), str(folder), isolated=True))


def found(folder: Path, *cells: object) -> list[tuple[str, int | None, int, int]]:
    """Code, cell, row and column of every finding."""
    places = ((each.code, each.where) for each in checked(folder, text(*cells)).findings)
    return [(code, where.cell, where.row, where.column) for code, where in places]


COLLISION = LOSS.index("STOP") + 1


def test_what_one_cell_says_is_known_in_another_and_places_name_their_cell(tmp_path: Path) -> None:
    markdown = {"cell_type": "markdown", "metadata": {}, "source": ["# cross_entropy\n"]}
    assert found(tmp_path, markdown, IMPORTS, SIZES, markdown, f"{USE}\n\n{LOSS}") == [("TL101", 5, 4, COLLISION)]
    (finding,) = checked(tmp_path, text(markdown, IMPORTS, SIZES, markdown, f"{USE}\n\n{LOSS}")).findings
    assert [(step.where.cell, step.where.row) for step in finding.because] == [(3, 1), (3, 2)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%matplotlib inline\n", ""),
        ("!pip install torch\n", ""),
        ("!pip install \\\n    torch 'x\n", ""),
        ("files = !ls -l\n", ""),
        ("files['a'] = !ls -l 'x\n", ""),
        ("shell = %env SHELL\n", ""),
        ("if x:\n    !ls\nelse:\n    %cd ..\nfor f in x:\n    %time f()\n", ""),
        ("def f():\n    ''' 100\n% of it\n'''\n    %run 'x\n", ""),
        ("?F.cross_entropy\nF.nll_loss??\nF.*loss*?\n", ""),
        ("x = (5\n     % 3)\n!ls\n", ""),
        ("%%time\n", ""),
        ("\n\n# timed\n%%capture out\n%%time\n", ""),
        ("%timeit -n 10 -r3 f(x)\nr = %time f(x)\n", ""),
        ("await f(x)\nasync for z in x:\n    pass\nasync with x as z:\n    pass\n", ""),
        (",f a b\n/f 1\n;f a\n", ""),
        ("# coding: latin-1\n", "\n%%html is late\n"),
        ("é = '日本'\n", "\n?"),
    ],
)
def test_what_only_ipython_reads_costs_nothing(tmp_path: Path, before: str, after: str) -> None:
    row = before.count("\n") + 1
    assert found(tmp_path, IMPORTS, SIZES, USE, before + LOSS + after) == [("TL101", 4, row, COLLISION)]


@pytest.mark.parametrize("magic", ["bash", "html", "writefile loss.py", "javascript", "sql", "script python", "R -i x"])
def test_a_cell_in_another_language_is_passed_over(tmp_path: Path, magic: str) -> None:
    assert found(tmp_path, IMPORTS, SIZES, f"%%{magic}\nnot python (", USE, LOSS) == [("TL101", 5, 1, COLLISION)]
    assert found(tmp_path, IMPORTS, SIZES, USE, f"%%{magic}\n{LOSS}") == []


@pytest.mark.parametrize("timed", ["%time ", "%timeit -n 2 ", "%prun -s cumtime "])
def test_code_that_is_only_timed_is_judged_at_its_own_columns(tmp_path: Path, timed: str) -> None:
    assert found(tmp_path, IMPORTS, SIZES, USE, timed + LOSS) == [("TL101", 4, 1, len(timed) + COLLISION)]


def test_an_indented_cell_and_one_with_prompts_are_read(tmp_path: Path) -> None:
    indented = "\n".join(f"    {line}" for line in SIZES.split("\n"))
    prompted = "\n".join(f">>> {line}" for line in IMPORTS.split("\n"))
    assert found(tmp_path, prompted, indented, USE, f"\n  {LOSS}") == [("TL101", 4, 2, COLLISION + 2)]


TRAIN = f"def train(head, x, y):\n    {LOSS}"


def test_a_name_that_two_cells_give_a_value_is_open_in_a_function_and_not_in_a_cell(tmp_path: Path) -> None:
    assert found(tmp_path, IMPORTS, SIZES, USE, TRAIN, "train(head, x, y)", "STOP = 7", "STOP = STOP")
    assert found(tmp_path, IMPORTS, SIZES, USE, TRAIN, "train(head, x, y)", "STOP = 6") == []
    (open_one, *_) = checked(tmp_path, text(IMPORTS, SIZES, USE, TRAIN, "train(head, x, y)", "STOP = 6")).unjudged
    assert open_one.why.reason == "STOP is defined in cells 2 and 6, and either may be the one that is used"
    assert found(tmp_path, IMPORTS, SIZES, USE, LOSS, "STOP = 6") == [("TL101", 4, 1, COLLISION)]


def test_a_cell_that_cannot_be_read_takes_only_itself(tmp_path: Path) -> None:
    broken = "x = (1\n\ny = 2"
    assert found(tmp_path, broken, IMPORTS, SIZES, "return = 1", USE, LOSS) == [
        ("TL902", 1, 1, 5),
        ("TL902", 4, 1, 8),
        ("TL101", 6, 1, COLLISION),
    ]
    assert found(tmp_path, IMPORTS, f"if True:\n    {LOSS}", "else:\n    pass") == [("TL902", 3, 1, 1)]
    assert found(tmp_path, IMPORTS, "@property", f"def f():\n    {LOSS}")[0][:2] == ("TL902", 2)


def test_what_is_made_in_an_unreadable_cell_is_unknown_and_that_is_said(tmp_path: Path) -> None:
    report = checked(tmp_path, text(IMPORTS, "head = nn.Linear(4, 8", f"STOP = 7\n{LOSS}"))
    assert [each.code for each in report.findings] == ["TL902"]
    assert {(each.where.cell, each.where.row) for each in report.unjudged} == {(3, 2)}


def test_a_comment_silences_in_its_own_cell(tmp_path: Path) -> None:
    cells = [IMPORTS, SIZES, f"!ls 'x\n{USE}"]
    assert found(tmp_path, *cells, f"!ls 'x\n{LOSS}  # trainlint: ignore[TL101] on purpose") == []
    assert found(tmp_path, *cells, f"# trainlint: ignore[TL1]\n{LOSS}") == []
    assert found(tmp_path, *cells, f"{LOSS}  # noqa: TL101") == []
    assert found(tmp_path, *cells, "# trainlint: ignore-file[TL101]", LOSS) == []
    assert found(tmp_path, *cells, f"x = 1  # trainlint: ignore[TL101]\n{LOSS}")
    assert found(tmp_path, *cells, "x = 1  # trainlint: ignore[TL101]", LOSS)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trainlint", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_every_format_names_the_cell(tmp_path: Path) -> None:
    (tmp_path / "nb.ipynb").write_text(text(IMPORTS, SIZES, USE, f"%matplotlib inline\n%time {LOSS}"))
    column = COLLISION + len("%time ")
    assert run(tmp_path, "--output-format", "concise").stdout.startswith(f"nb.ipynb:cell 4:2:{column}: error TL101")
    full = run(tmp_path).stdout
    assert f"    2 | %time {LOSS}\n" in full
    assert "because  STOP = 7                nb.ipynb:cell 2:1\n" in full
    (finding,) = json.loads(run(tmp_path, "--output-format", "json").stdout)["findings"]
    assert (finding["filename"], finding["cell"], finding["location"]) == ("nb.ipynb", 4, {"row": 2, "column": column})
    assert [each["cell"] for each in finding["because"]] == [2, 2]


def test_a_cell_put_in_front_changes_no_fingerprint(tmp_path: Path) -> None:
    def marks() -> list[str]:
        return [each["fingerprint"] for each in json.loads(run(tmp_path, "--output-format", "json").stdout)["findings"]]

    (tmp_path / "nb.ipynb").write_text(text(IMPORTS, SIZES, USE, LOSS))
    before = marks()
    (tmp_path / "nb.ipynb").write_text(text("x = 1", IMPORTS, SIZES, USE, f"\n{LOSS}"))
    assert before == marks()


def worksheets(*cells: str) -> str:
    kept = [{"cell_type": "code", "language": "python", "input": each, "outputs": []} for each in cells]
    return json.dumps({"worksheets": [{"cells": kept[:2]}, {"cells": kept[2:]}], "nbformat": 3, "metadata": {}})


def escaped(written: str) -> str:
    return written.replace("cross_entropy", "\\u0063ross_\\u0065ntropy").replace("STOP", "\\u0053TOP")


WHOLE = text(IMPORTS, SIZES, USE, LOSS)
IN_PIECES = text([f"{IMPORTS}\n", SIZES], "", USE, [LOSS[:15], LOSS[15:]])
OUTPUT = {"output_type": "display_data", "data": {"image/png": "A" * 10**6}, "metadata": {}}
READ: dict[str, str | bytes] = {
    "as nbformat writes it": WHOLE,
    "on one line": json.dumps(json.loads(WHOLE)),
    "in pieces that cut words": IN_PIECES,
    "with escapes in words": escaped(WHOLE),
    "format 3": worksheets(IMPORTS, SIZES, USE, LOSS),
    "with a byte order mark": WHOLE.encode("utf-8-sig"),
    "in UTF-16": WHOLE.encode("utf-16"),
    "with lines of Windows": text(IMPORTS.replace("\n", "\r\n"), SIZES.replace("\n", "\r\n"), USE, LOSS),
    "with lines of an old Mac": text(IMPORTS.replace("\n", "\r"), SIZES.replace("\n", "\r"), USE, LOSS),
    "with half a surrogate pair": text(IMPORTS, SIZES + "  # \ud800", USE, LOSS),
    "without metadata": json.dumps({"cells": json.loads(WHOLE)["cells"]}),
    "with odd metadata": text(IMPORTS, SIZES, USE, LOSS, metadata={"language_info": [], "kernelspec": 3}),
    "of a kernel called ipython": text(IMPORTS, SIZES, USE, LOSS, metadata={"language_info": {"name": "ipython3"}}),
    "with large outputs": text(IMPORTS, SIZES, USE, code(LOSS, outputs=[OUTPUT] * 20)),
}


@pytest.mark.parametrize("name", READ)
def test_a_notebook_is_read_however_it_is_written(tmp_path: Path, name: str) -> None:
    findings = checked(tmp_path, READ[name]).findings
    assert [(each.code, each.where.cell, each.where.row) for each in findings] == [("TL101", 4, 1)]


ODD: tuple[object, ...] = (
    None, 3, "x", [], [None, 3, {}, {"cell_type": "code"}, {"cell_type": 5, "source": 5}, code(None), code(3)],
    [code(["a = 1\n", 3, None, ["b"]])], [code("x = 1\0")], [code("\0" * 100)], [code("(" * 10**5)],
    [code("x = '''" + "a\\" * 10**5)], [code("%" * 10**5)], [code("!" * 10**5 + "\\\n" * 10**4)], [code("? " * 10**5)],
    [code("a = " * 10**4 + "!ls")], [code('"' * 10**5)], [code("\\" * 10**5)], [code("\n" * 10**5 + "%x")],
    [code("[" * 10**5 + "\n%x")], [code(">>> " * 10**4)], [code("%time " * 10**4)], [code("x?" * 10**5)],
    [code("%%time\n" * 10**4)], [code("x")] * 10**4, [code("x = (")] * 10**3,
)  # fmt: skip


@pytest.mark.parametrize("cells", ODD, ids=range(len(ODD)))
def test_no_notebook_makes_the_reader_fail_or_wait(tmp_path: Path, cells: object) -> None:
    started = time.process_time()
    report = checked(tmp_path, json.dumps({"cells": cells, "metadata": PYTHON}))
    named = check(Request((str(tmp_path / "nb.ipynb"),), str(tmp_path), isolated=True))
    assert time.process_time() - started < 5
    assert {each.code for each in (*report.findings, *named.findings)} <= {"TL902"}
    assert report.files_checked == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "it is no notebook: not valid JSON"),
        (b"{}", "it is no notebook: it is JSON and holds no list of cells"),
        (b"[1]", "it is no notebook: it is JSON and holds no list of cells"),
        (b"import torch\n", "it is no notebook: not valid JSON"),
        (b"[" * 10**5, "it is no notebook: its JSON is too large or too deep to read"),
        (b'{"cells": ' + b"9" * 10**5 + b"}", "it is no notebook"),
        (b'{"cells": [], "x": "\xff"}', "it is no notebook: not valid JSON: not UTF-8"),
    ],
)
def test_a_broken_notebook_is_an_error_and_never_a_clean_file(tmp_path: Path, data: bytes, reason: str) -> None:
    (finding,) = checked(tmp_path, data).findings
    assert (finding.code, finding.where.cell) == ("TL902", None)
    assert reason in finding.message


def test_an_empty_notebook_is_a_checked_file(tmp_path: Path) -> None:
    for written in ("", text(), text("")):
        report = checked(tmp_path, written)
        assert (report.findings, report.files_checked) == ((), 1)


@pytest.mark.parametrize("metadata", [{"kernelspec": {"language": "R"}}, {"language_info": {"name": "julia"}}])
def test_a_notebook_of_another_language_is_skipped_with_the_reason(tmp_path: Path, metadata: dict[str, object]) -> None:
    report = checked(tmp_path, text(IMPORTS, SIZES, USE, LOSS, '"name": "python"', metadata=metadata))
    language = next(iter(metadata.values()))
    assert (report.findings, report.files_checked) == ((), 0)
    assert list(report.skipped.values()) == [f"its language is {next(iter(language.values()))}, not Python"]  # type: ignore[attr-defined]


def test_a_cell_of_another_language_is_no_code(tmp_path: Path) -> None:
    other = code("let x = (", metadata={"vscode": {"languageId": "javascript"}})
    assert found(tmp_path, IMPORTS, other, SIZES, USE, LOSS) == [("TL101", 5, 1, COLLISION)]


@given(st.binary(max_size=200), st.sampled_from([b"", b'{"language_info"', b'{"cells": [', b'{"metadata": ']))
def test_reading_bytes_never_fails(data: bytes, head: bytes) -> None:
    foreign(head + data)
    notebook = opened(head + data)
    assert isinstance(notebook, Fault) or parsed(notebook)


PIECES = ["%", "!", "?", "x", " ", "\n", "\\", "'", '"', "(", ")", "=", "#", "time ", "    ", "if x:\n"]
LINES = ["%ls", "!ls", "a = !ls", "%time a = b", "a?", "if a:\n    !ls", "b = a  # ?", "c = (a\n   % b)"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_text_loses_or_gains_a_row(written: str) -> None:
    assert as_python(written).count("\n") == written.count("\n")


def columns(tree: ast.AST) -> Iterator[tuple[int, int, str]]:
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    yield from sorted((node.lineno, node.col_offset, node.id) for node in names)


@given(st.lists(st.sampled_from(LINES)))
def test_what_is_left_of_a_cell_stands_where_it_stood(lines: list[str]) -> None:
    written = "\n".join(lines)
    rows = written.split("\n")
    for row, column, name in columns(ast.parse(as_python(written))):
        assert name == "get_ipython" or rows[row - 1][column : column + len(name)] == name


def test_cells_are_read_one_by_one_only_where_they_must_be() -> None:
    whole = opened(WHOLE.encode())
    assert isinstance(whole, Notebook)
    tree, faults = parsed(whole)
    assert not faults
    assert [whole.place(node.lineno)[0] for node in tree.body] == [1, 1, 2, 2, 3, 4]


def test_a_notebook_with_a_word_of_interest_only_in_its_outputs_is_not_read_further(tmp_path: Path) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": ["cross_entropy"]}
    markdown = {"cell_type": "markdown", "source": "cross_entropy"}
    (tmp_path / "nb.ipynb").write_text(text(markdown, code("x = 1", outputs=[output])))
    assert sites(Project(str(tmp_path), (str(tmp_path / "nb.ipynb"),))) == ()
