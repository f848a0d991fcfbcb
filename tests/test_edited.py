"""A file that was edited and made again of what it was is the one that is read from the start."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from editing import EDITS, FIXTURES, LINES
from hypothesis import given, settings
from hypothesis import strategies as st

from trainlint.source import syntax
from trainlint.source.edited import edited
from trainlint.source.journal import Journal
from trainlint.source.pieces import Reader, Tracked
from trainlint.source.summary import Module, summarize
from trainlint.source.text import rows

FILES = sorted(FIXTURES.glob("*/*_*/*.py"))[::97]
MORE = (
    b"    return 3\n", b"else:\n", b'"""\n', b"@torch.no_grad()\n", b"x = (\n", b"# \xc3\xa9\n", b"y = 1; z = 2\n",
    b"async def g():\n    await f()\n", b"class A:\n    def f(self):\n        pass\n\n    x = 1\n", b"x = \\\n",
    b"\x0c\n",
)  # fmt: skip


def read(data: bytes) -> Module:
    return summarize("pkg.mod", "pkg_mod", "/p/pkg/mod.py", syntax.tree(data), rows(data), Reader(Journal()))


def plain(node: ast.AST) -> object:
    """A tree with all that stands in it and where, whoever notes who looks inside."""
    kind = node.__class__.__mro__[1] if isinstance(node, Tracked) else node.__class__
    fields = [(name, shown(getattr(node, name, None))) for name in node._fields]
    return kind.__name__, fields, [getattr(node, each, None) for each in node._attributes]


def shown(value: object) -> object:
    if isinstance(value, ast.AST):
        return plain(value)
    return [shown(each) for each in value] if isinstance(value, list) else value


def said(module: Module) -> object:
    """Everything that a module says, its nodes by what they are and where they stand."""

    def place(node: object) -> object:
        return type(node).__name__, getattr(node, "lineno", 0), getattr(node, "col_offset", 0)

    survey = module.survey
    lists = [[place(node) for node in each] for each in (survey.calls, survey.comprehensions, survey.walrus)]
    tables = [
        {word: [place(node) for node in nodes] for word, nodes in table.items()}
        for table in (survey.loads, survey.keys, survey.definitions, survey.derived, survey.passing, survey.calling,
                      survey.binding, survey.filled)
    ]  # fmt: skip
    others = survey.imports, survey.renamed, survey.stars, survey.rebound, survey.changed
    parents = [(place(node), place(parent)) for node, parent in survey.parents.items()]
    holders = {name: [place(each) for each in holder.statements] for name, holder in module.pieces.holders.items()}
    names = {name: holder.pieces for name, holder in module.pieces.holders.items()}
    pieces = module.pieces.stretches, list(module.pieces.rows), holders, names
    return plain(module.tree), lists, tables, others, parents, pieces


def is_readable(data: bytes) -> bool:
    try:
        syntax.tree(data)
    except (SyntaxError, ValueError):
        return False
    return True


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from((*(path.read_bytes() for path in FILES), b"", b"# nothing\n")),
    st.lists(
        st.tuples(st.sampled_from(EDITS), st.integers(0, 60), st.sampled_from((*LINES, *MORE))), min_size=1, max_size=6
    ),
)
def test_after_any_edits_it_says_what_a_first_look_says(data: bytes, steps: list[tuple[object, int, bytes]]) -> None:
    module = read(data)
    for edit, place, line in steps:
        assert callable(edit)
        data = edit(data, place, line)
        made = edited(module, rows(data))
        if not is_readable(data):
            assert made is None
            return
        assert made is None or said(made) == said(read(data))
        module = made or read(data)


@pytest.mark.parametrize("path", FILES[:8], ids=lambda path: path.parent.name)
def test_what_is_the_same_is_not_walked_edited(path: Path) -> None:
    data = path.read_bytes()
    module = read(data)
    first = edited(module, rows(b"import os\n" + data))
    assert first is not None and len(first.parts) == len(module.tree.body) + 1
    second = edited(first, rows(b"import os\n" + data + b"\nx = 1\n"))
    assert second is not None
    assert all(one.survey is other.survey for one, other in zip(first.parts, second.parts, strict=False))
