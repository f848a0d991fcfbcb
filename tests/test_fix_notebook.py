"""A fix in a notebook changes the text of its cell, and no other character of the file."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from trainlint.finding import AddImport, Applicability, Finding, Fix, Replace, TextEdit, Wrap
from trainlint.fix import Code, Unfixable, changed, text_edits
from trainlint.source import cells_in
from trainlint.span import Span

LINES = ["import torch\n", "# é \U0001f600\n", "x = 'ü'; best = model.state_dict()\n", "print(1)"]
OUTPUT = {"output_type": "stream", "text": ["a\n", '"source": []'], "name": "stdout"}


def document(source: object) -> dict[str, object]:
    """A notebook whose keys stand in an order of their own."""
    return {
        "nbformat_minor": 5,
        "metadata": {"z": 1, "a": {"cells": [{"source": "no"}]}},
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Title"]},
            {"outputs": [OUTPUT], "source": source, "metadata": {}, "cell_type": "code", "execution_count": None},
            {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": []},
        ],
        "nbformat": 4,
    }


def edits(data: bytes) -> tuple[TextEdit, ...]:
    where = Span("nb.ipynb", 3, 17, 3, 35, 2)
    fix = Fix(Applicability.SAFE, "", (Wrap(where, "copy.deepcopy(", ")"), AddImport(where, "copy")))
    code = Code({cell.number: cell.python for cell in cells_in(data)})
    return text_edits(Finding(where, "", fix=fix), code)


FORMS: list[Callable[[object], str]] = [
    lambda made: json.dumps(made, indent=1, ensure_ascii=False) + "\n",
    lambda made: json.dumps(made, indent=4, ensure_ascii=True),
    lambda made: json.dumps(made, separators=(",", ":")),
    lambda made: json.dumps(made, indent="\t", ensure_ascii=False).replace("\n", "\r\n"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("source", [LINES, "".join(LINES)], ids=("lines", "text"))
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_the_form_of_the_file_and_of_the_source_is_kept(
    form: Callable[[object], str], source: object, bom: bytes
) -> None:
    data = bom + form(document(source)).encode()
    wanted = ["import copy\n", "\n", *LINES]
    wanted[4] = "x = 'ü'; best = copy.deepcopy(model.state_dict())\n"
    result = changed(data, edits(data))
    assert result == bom + form(document(wanted if isinstance(source, list) else "".join(wanted))).encode()


@pytest.mark.parametrize("source", [[*LINES[:3]], ["", "".join(LINES[:2]), LINES[2]]])
def test_odd_pieces_make_the_same_text(source: list[str]) -> None:
    data = json.dumps(document(source)).encode()
    result = json.loads(changed(data, edits(data)))["cells"][1]["source"]
    text = "".join(source).replace("model.state_dict()", "copy.deepcopy(model.state_dict())")
    assert "".join(result) == f"import copy\n\n{text}"


def test_what_is_escaped_stays_escaped() -> None:
    data = rb'{"cells": [{"source": ["x = \"\u00e9\\n\ud83d\ude00\"\r\n", "y = 1\/2"]}]}'
    edit = TextEdit(Span("nb.ipynb", 2, 5, 2, 6, 1), '"ä"\n')
    expected = rb'{"cells": [{"source": ["x = \"\u00e9\\n\ud83d\ude00\"\r\n", "y = \"\u00e4\"\n", "\/2"]}]}'
    assert changed(data, [edit]) == expected


def test_the_cells_of_old_notebooks_lie_on_sheets() -> None:
    data = b'{"worksheets": [{"cells": [{"cell_type": "code", "language": "python", "input": ["x = 1"]}]}]}'
    assert changed(data, [TextEdit(Span("nb.ipynb", 1, 5, 1, 6, 1), "2")]) == data.replace(b"x = 1", b"x = 2")


@pytest.mark.parametrize(
    "data", [b"{}", b'{"cells": []}', b'{"cells": [{"cell_type": "code"}]}', b"[]", b'{"cells": 1}']
)
def test_a_cell_that_is_not_there_is_said(data: bytes) -> None:
    with pytest.raises(Unfixable, match="its cell is not there"):
        changed(data, [TextEdit(Span("nb.ipynb", 1, 1, 1, 1, 1), "2")])


def test_magics_stay_and_the_import_goes_below_what_must_be_first() -> None:
    cell = ["%%time\n", "%matplotlib inline\n", "files = !ls\n", "best = model.state_dict()\n"]
    data = json.dumps({"cells": [{"cell_type": "code", "source": cell}]}).encode()
    where = Span("nb.ipynb", 4, 8, 4, 26, 1)
    fix = Fix(Applicability.SAFE, "", (Wrap(where, "copy.deepcopy(", ")"), AddImport(where, "copy")))
    code = Code({each.number: each.python for each in cells_in(data)})
    result = json.loads(changed(data, text_edits(Finding(where, "", fix=fix), code)))["cells"][0]["source"]
    assert result == ["%%time\n", "import copy\n", "\n", *cell[1:3], "best = copy.deepcopy(model.state_dict())\n"]


@pytest.mark.parametrize(
    ("above", "becomes"),
    [
        (["import copy"], ["best = copy.deepcopy(m)"]),
        (["from copy import deepcopy"], ["best = deepcopy(m)"]),
        (["def ("], ["import copy\n", "\n", "best = copy.deepcopy(m)"]),
        (["x = 1"], ["import copy\n", "\n", "best = copy.deepcopy(m)"]),
    ],
)
def test_an_import_of_a_cell_above_is_known(above: list[str], becomes: list[str]) -> None:
    cells = [{"cell_type": "code", "source": each} for each in (above, ["best = m"])]
    data = json.dumps({"cells": cells}).encode()
    where = Span("nb.ipynb", 1, 8, 1, 9, 2)
    fix = Fix(Applicability.SAFE, "", (Wrap(where, "copy.deepcopy(", ")"), AddImport(where, "copy")))
    code = Code({each.number: each.python for each in cells_in(data)})
    assert json.loads(changed(data, text_edits(Finding(where, "", fix=fix), code)))["cells"][1]["source"] == becomes


def test_a_name_of_a_cell_above_is_never_taken() -> None:
    code = Code({1: "copy = 1", 2: "best = m"})
    where = Span("nb.ipynb", 1, 8, 1, 9, 2)
    fix = Fix(
        Applicability.SAFE, "", (Wrap(where, "copy.deepcopy(", ")"), AddImport(where, "copy"), Replace(where, "m"))
    )
    with pytest.raises(Unfixable, match="copy is the name of something else there"):
        text_edits(Finding(where, "", fix=fix), code)
