"""A keyword argument given to a call: in place of the one it has, or behind all the others."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trainlint.finding import SetKeyword, TextEdit
from trainlint.fix.tree import Place, Tree, Unfixable, stretch
from trainlint.span import Span


def keyword_set(edit: SetKeyword, tree: Tree) -> Iterator[TextEdit]:
    """The value in place of another, or a new argument.

    Raises:
        Unfixable: the call hands on arguments that are not seen here, and this may be one of them; a comment would go.
    """
    call = tree.find(edit.where, cst.Call)
    given = _given(edit, call)
    if given is not None:
        tree.spare(*tree.outer(given.value))
        yield TextEdit(stretch(edit.where, *tree.outer(given.value)), edit.value)
        return
    text = f"{edit.name}={edit.value}"
    last = call.args[-1] if call.args else None
    if last is None:
        row, column = tree.end(call)
        yield _inserted(edit.where, (row, column - 1), text)
    elif isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        yield _inserted(edit.where, tree.start(last.value), "(")
        yield _inserted(edit.where, tree.end(last.value), f"), {text}")
    else:
        yield _added(edit.where, tree, call, last, text)


def _given(edit: SetKeyword, call: cst.Call) -> cst.Arg | None:
    """The argument that a call has under this name, or at this place."""
    named = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == edit.name), None)
    if named is not None:
        return named
    if any(arg.star == "**" for arg in call.args):
        raise Unfixable(f"the call is handed ** arguments, and {edit.name} may be among them")
    if edit.position is None:
        return None
    by_place = [arg for arg in call.args if arg.keyword is None]
    if any(arg.star for arg in by_place[: edit.position + 1]):
        raise Unfixable(f"the call is handed * arguments, and {edit.name} may be among them")
    return by_place[edit.position] if edit.position < len(by_place) else None


def _added(where: Span, tree: Tree, call: cst.Call, last: cst.Arg, text: str) -> TextEdit:
    """A new last argument; on a row of its own, if each of the others has one."""
    end, close = tree.outer(last.value)[1], tree.end(call)
    first = tree.start(last)
    indent = tree.rows[first[0] - 1][: first[1] - 1]
    if indent.strip():
        return _inserted(where, end, f", {text}")
    comma = tree.end(last.comma) if isinstance(last.comma, cst.Comma) else None
    if comma is None:
        is_told = tree.rows[end[0] - 1][end[1] - 1 :].lstrip().startswith("#")
        return _inserted(where, end, f", {text}" if is_told else f",\n{indent}{text}")
    below = comma[0] + 1
    if close[0] < below:
        return _inserted(where, end, f", {text}")
    return _inserted(where, (below, 1), f"{indent}{text},\n")


def _inserted(where: Span, place: Place, text: str) -> TextEdit:
    return TextEdit(stretch(where, place, place), text)
