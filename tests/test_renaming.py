"""What a local variable is called changes no verdict, as long as its words stay; nor does the order of the files."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from as_read import as_read

from trainlint.lint import lint
from trainlint.rule import installed
from trainlint.source import Project, observe, sites
from trainlint.testing import findings, reported, sources

FIXTURES = Path(__file__).parent.parent / "fixtures"
FOLDERS = sorted(folder for folder in FIXTURES.glob("*/*_*/") if folder.name.startswith(("bad_", "good_")))
SEVERAL = [folder for folder in FOLDERS if len(sources(folder)) > 1]
each_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")

LATER = "_here"
"""An ending without a meaning: what a name says of padding or of an end, it says with it too."""

NESTED = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def renamed(text: str) -> str:
    """The same program with other names for the variables of each function that holds no function itself."""
    lines = text.splitlines(keepends=True)
    places = {place for function in ast.walk(ast.parse(text)) for place in _places(function)}
    for row, column in sorted(places, reverse=True):
        line = lines[row - 1].encode()
        lines[row - 1] = (line[:column] + LATER.encode() + line[column:]).decode()
    return "".join(lines)


def _places(function: ast.AST) -> Iterator[tuple[int, int]]:
    """Where the names of a function's variables end."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    inner = [node for statement in function.body for node in ast.walk(statement)]
    if any(isinstance(node, NESTED) for node in inner):
        return
    shared = {name for node in inner if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    names = [node for node in inner if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)} - shared - _given(function)
    yield from ((node.lineno, node.end_col_offset or 0) for node in names if node.id in own)


def _given(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Parameters: whoever passes them by name would have to follow."""
    return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def test_renaming_reaches_every_use_of_a_variable() -> None:
    text = "def f(a):\n    b = a\n    for c in b: b += c\n    return b\n"
    assert renamed(text) == "def f(a):\n    b_here = a\n    for c_here in b_here: b_here += c_here\n    return b_here\n"


@each_folder
def test_the_name_of_a_local_variable_changes_no_verdict(folder: Path, tmp_path: Path) -> None:
    texts = {path: path.read_text() for path in sources(folder)}
    other = {path: renamed(text) for path, text in texts.items()}
    if texts == other:
        return
    copy = tmp_path / folder.parent.name / folder.name
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in other.items():
        (copy / path.relative_to(folder)).write_text(text)
    assert reported(copy, findings(copy)) == reported(folder, as_read(folder))


@pytest.mark.parametrize("folder", SEVERAL, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_the_order_of_the_files_changes_no_verdict(folder: Path) -> None:
    files = tuple(str(path.resolve()) for path in sources(folder))
    there = Project(str(folder.resolve()), files)
    back = Project(str(folder.resolve()), files[::-1])
    rules = list(installed().values())
    first, second = (lint(observe(project, sites(project)), rules) for project in (there, back))
    assert reported(folder, first) == reported(folder, second)
