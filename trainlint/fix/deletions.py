"""A statement, an argument, an element or a comment that goes, with what only it needs: a comma, a line of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from trainlint.finding import Delete, TextEdit
from trainlint.fix.tree import Place, Tree, Unfixable, stretch


def deleted(edit: Delete, tree: Tree) -> Iterator[TextEdit]:
    """The one stretch that goes."""
    where = edit.where
    start, end = (where.row, where.column), (where.end_row, where.end_column)
    if tree.between(start, end).startswith("#"):
        yield _comment(edit, tree)
        return
    node = tree.find(where, (cst.BaseStatement, cst.BaseSmallStatement, cst.Arg, cst.BaseElement, cst.BaseExpression))
    match node:
        case cst.BaseSmallStatement() | cst.BaseStatement():
            yield _statement(edit, tree, node)
        case _:
            yield _listed(edit, tree, node)


def _comment(edit: Delete, tree: Tree) -> TextEdit:
    where = edit.where
    before = tree.rows[where.row - 1][: where.column - 1]
    if not before.strip():
        return _rows(edit, tree, where.row, where.row)
    start = (where.row, len(before.rstrip()) + 1)
    return TextEdit(stretch(where, start, (where.end_row, where.end_column)), "")


def _rows(edit: Delete, tree: Tree, first: int, last: int) -> TextEdit:
    """Whole rows; of a text that ends without a newline, the one before them."""
    if last < len(tree.rows):
        return TextEdit(stretch(edit.where, (first, 1), (last + 1, 1)), "")
    above = (first - 1, len(tree.rows[first - 2]) + 1) if first > 1 else (1, 1)
    return TextEdit(stretch(edit.where, above, (last, len(tree.rows[last - 1]) + 1)), "")


def _statement(edit: Delete, tree: Tree, node: cst.BaseStatement | cst.BaseSmallStatement) -> TextEdit:
    """A statement with its rows; ``pass`` in its place, where its block holds nothing else."""
    line = tree.parent(node) if isinstance(node, cst.BaseSmallStatement) else node
    beside = line.body if isinstance(line, cst.SimpleStatementLine | cst.SimpleStatementSuite) else ()
    if len(beside) > 1:
        return _one_of(edit, tree, beside, node)
    holder = tree.parent(line)
    alone = isinstance(holder, cst.IndentedBlock) and len(holder.body) == 1
    if alone or isinstance(line, cst.SimpleStatementSuite):
        return TextEdit(edit.where, "pass")
    return _rows(edit, tree, tree.start(line)[0], tree.end(line)[0])


def _listed(edit: Delete, tree: Tree, node: cst.CSTNode) -> TextEdit:
    """An argument, or an element of a sequence, with one comma.

    Raises:
        Unfixable: it is neither.
    """
    holder = tree.parent(node)
    if not isinstance(node, cst.Arg | cst.BaseElement | cst.BaseDictElement):
        node, holder = holder, tree.parent(holder)
    match holder:
        case cst.Call(args=every) | cst.List(elements=every) | cst.Set(elements=every) | cst.Dict(elements=every):
            return _one_of(edit, tree, every, node)
        case cst.Tuple(elements=every) if len(every) > 2:
            return _one_of(edit, tree, every, node)
    raise Unfixable("what stands there is not what was judged")


def _one_of(edit: Delete, tree: Tree, every: Sequence[cst.CSTNode], node: cst.CSTNode) -> TextEdit:
    """The stretch up to the next one; of the last one, from the end of the one before.

    Raises:
        Unfixable: a comment stands there, which would be lost.
    """
    place = list(every).index(node)
    start, end = first, last = _whole(tree, node)
    if place + 1 < len(every):
        end = _whole(tree, every[place + 1])[0]
    elif place:
        start = _whole(tree, every[place - 1])[1]
    tree.spare(start, first)
    tree.spare(last, end)
    return TextEdit(stretch(edit.where, start, end), "")


def _whole(tree: Tree, node: cst.CSTNode) -> tuple[Place, Place]:
    match node:
        case cst.Arg(keyword=None, star="", value=value) | cst.Element(value=value):
            return tree.outer(value)
    return tree.start(node), tree.end(node)
