"""The fix of a finding and the code of its file in, edits of text out: only what changes is written anew."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

from trainlint.finding import AddImport, Delete, Edit, Finding, Replace, SetKeyword, TextEdit, Unwrap, Wrap
from trainlint.fix.deletions import deleted
from trainlint.fix.expressions import unwrapped, wrapped
from trainlint.fix.imports import has_stars, known_as, line
from trainlint.fix.keywords import keyword_set
from trainlint.fix.tree import Tree, Unfixable, stretch
from trainlint.span import Span


class Code:
    """The code of one file, by cell where it is a notebook, each text parsed when it is first asked for."""

    def __init__(self, texts: Mapping[int | None, str]) -> None:
        self.texts = texts
        self.tree = cache(self._tree)

    def _tree(self, cell: int | None) -> Tree:
        if cell not in self.texts:
            raise Unfixable("its cell is not there")
        return Tree(self.texts[cell])

    def trees(self) -> Iterator[tuple[int, Tree]]:
        """The whole file, or its cells, as far as they are Python."""
        for cell in self.texts:
            with suppress(Unfixable):
                yield cell or 0, self.tree(cell)


def text_edits(finding: Finding, code: Code) -> tuple[TextEdit, ...]:
    """The fix of a finding as edits of the text of its file, in their order; none where it has no fix.

    Raises:
        Unfixable: the fix cannot be put in place; the message says why.
    """
    others, lines = _with_imports(finding.fix.edits if finding.fix else (), code)
    found = [*lines, *(each for edit in others for each in _of(edit, code))]
    return tuple(sorted(dict.fromkeys(found), key=lambda edit: edit.where))


def _of(edit: Edit, code: Code) -> Iterator[TextEdit]:
    tree = code.tree(edit.where.cell)
    match edit:
        case SetKeyword():
            yield from keyword_set(edit, tree)
        case Wrap():
            yield from wrapped(edit, tree)
        case Unwrap():
            yield from unwrapped(edit, tree)
        case Delete():
            yield from deleted(edit, tree)
        case Replace(where=where, text=text):
            tree.spare((where.row, where.column), (where.end_row, where.end_column))
            yield TextEdit(where, text)
        case AddImport():
            raise AssertionError("imports are added first")


def _with_imports(edits: Sequence[Edit], code: Code) -> tuple[list[Edit], list[TextEdit]]:
    """The other edits in the file's own words for what they need imported, and the imports that it lacks."""
    others: list[Edit] = [each for each in edits if not isinstance(each, AddImport)]
    lines: list[TextEdit] = []
    for added in (each for each in edits if isinstance(each, AddImport)):
        wanted = re.compile(rf"(?<![\w.]){re.escape(added.module)}\.\w+")
        names = sorted({name for edit in others for name in wanted.findall(_text(edit))})
        known = {name: _known(name, added.where, code) for name in names}
        if not all(known.values()):
            lines.append(_line(added, code))
        others = [_respelled(each, wanted, known) for each in others]
    return others, lines


def _known(name: str, where: Span, code: Code) -> str | None:
    """How a name of a module is said at a place, by an import of an earlier cell too."""
    spelled = known_as(name, code.tree(where.cell), (where.row, where.column))
    for cell, tree in code.trees():
        if cell < (where.cell or 0):
            spelled = spelled or known_as(name, tree, (len(tree.rows) + 1, 1))
    return spelled


def _line(added: AddImport, code: Code) -> TextEdit:
    """A new import."""
    if any(has_stars(tree) for _, tree in code.trees()):
        raise Unfixable(f"what is imported by * may be called {added.module} too")
    row, text = line(added.module, code.tree(added.where.cell))
    return TextEdit(stretch(added.where, (row, 1), (row, 1)), text)


def _text(edit: Edit) -> str:
    match edit:
        case Wrap():
            return f"{edit.before} {edit.after}"
        case SetKeyword():
            return edit.value
        case Replace():
            return edit.text
    return ""


def _respelled(edit: Edit, wanted: re.Pattern[str], known: Mapping[str, str | None]) -> Edit:
    """An edit whose texts say names as the file does."""

    def said(text: str) -> str:
        return wanted.sub(lambda found: known[found[0]] or found[0], text)

    match edit:
        case Wrap():
            return replace(edit, before=said(edit.before), after=said(edit.after))
        case SetKeyword():
            return replace(edit, value=said(edit.value))
        case Replace():
            return replace(edit, text=said(edit.text))
    return edit
