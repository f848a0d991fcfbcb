"""Text put around an expression, and an expression freed of what is around it, each with the parentheses it needs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trainlint.finding import TextEdit, Unwrap, Wrap
from trainlint.fix.tree import Tree, Unfixable, stretch

PRIMARIES = (
    cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.List, cst.Set, cst.Dict, cst.BaseSimpleComp, cst.DictComp,
)  # fmt: skip
"""What binds as tightly as a dot."""

NO_ARGUMENTS = (cst.Tuple, cst.GeneratorExp, cst.Yield)
"""What is no argument without parentheses of its own, or is several."""

SLOTS = (cst.Arg, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return)
"""What holds any one expression as it is."""


def wrapped(edit: Wrap, tree: Tree) -> Iterator[TextEdit]:
    """The text before an expression, and that after it."""
    node = tree.find(edit.where, cst.BaseExpression)
    becomes_argument = edit.before.endswith("(") and edit.after.startswith(")")
    stands = not isinstance(node, NO_ARGUMENTS) if becomes_argument else isinstance(node, PRIMARIES)
    stands = stands or (edit.after.startswith(" ") and isinstance(node, cst.BaseNumber))
    start, end = (tree.start(node), tree.end(node)) if stands else tree.outer(node)
    left, right = ("", "") if stands or node.lpar else ("(", ")")
    yield from (
        TextEdit(stretch(edit.where, place, place), text)
        for place, text in ((start, edit.before + left), (end, right + edit.after))
        if text
    )


def unwrapped(edit: Unwrap, tree: Tree) -> Iterator[TextEdit]:
    """What stands before the part that is left, and after it.

    Raises:
        Unfixable: a comment stands there, which would be lost.
    """
    node, part = tree.find(edit.where, cst.BaseExpression), tree.find(edit.inner, cst.BaseExpression)
    if node not in tree.above(part):
        raise Unfixable("what stands there is not what was judged")
    is_whole = tree.start(part)[0] == tree.end(part)[0] and (isinstance(part, PRIMARIES) or _is_free(node, tree))
    bare = is_whole and not isinstance(part, (*NO_ARGUMENTS, cst.NamedExpr))
    start, end = (tree.start(part), tree.end(part)) if bare else tree.outer(part)
    left, right = ("", "") if bare or part.lpar else ("(", ")")
    tree.spare(tree.start(node), start)
    tree.spare(end, tree.end(node))
    yield TextEdit(stretch(edit.where, tree.start(node), start), left)
    yield TextEdit(stretch(edit.where, end, tree.end(node)), right)


def _is_free(node: cst.BaseExpression, tree: Tree) -> bool:
    """Whether anything may stand in the place of an expression."""
    return bool(node.lpar) or isinstance(tree.parent(node), SLOTS)
