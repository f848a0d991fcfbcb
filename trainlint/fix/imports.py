"""An import that a fix needs: under which name the file has it already, and the line where a new one goes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile

import libcst as cst
from libcst.metadata.scope_provider import BuiltinAssignment, ImportAssignment

from trainlint.fix.tree import Place, Tree, Unfixable

Line = cst.SimpleStatementLine


def known_as(name: str, tree: Tree, use: Place) -> str | None:
    """How a place says ``module.name`` through an import that reaches it; None where none does.

    Raises:
        Unfixable: the module's own name means something else there, or may.
    """
    module = name.partition(".")[0]
    known = ((spelled, full) for spelled, full in _imports(tree, use) if name == full or name.startswith(f"{full}."))
    said = [spelled + name.removeprefix(full) for spelled, full in known]
    if said:
        return min(said, key=len)
    if _others(tree, use, module):
        raise Unfixable(f"{module} is the name of something else there")
    return None


def has_stars(tree: Tree) -> bool:
    """Whether a file imports names that it does not spell out."""
    lines = (each for line in tree.module.body if isinstance(line, Line) for each in line.body)
    return any(isinstance(each, cst.ImportFrom) and isinstance(each.names, cst.ImportStar) for each in lines)


def _imports(tree: Tree, use: Place) -> Iterator[tuple[str, str]]:
    """The names that imports bind at a place, and what each stands for."""
    scope = inner = tree.scope(tree.at(use))
    while scope is not None and inner is not None:
        for each in (each for each in scope.assignments if isinstance(each, ImportAssignment)):
            visible = all(isinstance(other, ImportAssignment) for other in inner[each.name])
            if visible and _reaches(each.node, tree, use):
                yield from ((each.name, known.name) for known in each.get_qualified_names_for(each.name))
        scope = scope.parent if scope is not scope.parent else None


def _reaches(node: cst.CSTNode, tree: Tree, use: Place) -> bool:
    """Whether an import was always run where a place is: its block holds the place, and it stands above.

    What a function does is done after the rest of the block that the function stands in.
    """
    block = tree.parent(tree.parent(node))
    around = list(tree.above(tree.at(use)))
    if block not in around:
        return False
    inside = around[: around.index(block)]
    return tree.start(node) < use or any(isinstance(each, cst.FunctionDef | cst.Lambda) for each in inside)


def _others(tree: Tree, use: Place, name: str) -> bool:
    """Whether a name is bound at a place by anything but an import of the module that is called so."""
    scope = tree.scope(tree.at(use))
    found = scope[name] if scope is not None else ()
    return any(
        not isinstance(each, BuiltinAssignment) and not (isinstance(each, ImportAssignment) and _is_of(each, name))
        for each in found
    )


def _is_of(assignment: ImportAssignment, module: str) -> bool:
    return any(known.name == module for known in assignment.get_qualified_names_for(assignment.name))


def line(module: str, tree: Tree) -> tuple[int, str]:
    """The row above which an import goes, and its text with the empty rows it needs.

    It stands behind the docstring and what is imported from the future, among the first imports.
    """
    text = f"import {module}\n"
    body = tree.module.body
    rest = [each for place, each in enumerate(body) if not _is_first(each, place)]
    run = list(takewhile(_is_import, rest))
    if not rest:
        raise Unfixable("what stands there is not what was judged")
    if not run:
        is_definition = isinstance(rest[0], cst.FunctionDef | cst.ClassDef)
        return _row_above(rest[0], tree), text + ("\n\n" if is_definition else "\n")
    group = _group(run)
    standard = [each for each in group if _root(each) in sys.stdlib_module_names]
    if module not in sys.stdlib_module_names:
        return tree.end(run[-1])[0] + 1, text
    if not standard:
        return _row_above(group[0], tree), f"{text}\n"
    after = next((each for each in group if _comes_after(each, module)), None)
    return (_row_above(after, tree) if after is not None else tree.end(group[-1])[0] + 1), text


def _is_first(node: cst.CSTNode, place: int) -> bool:
    """Whether a statement must stay above all imports."""
    match node:
        case Line(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            return place == 0
        case Line(body=[cst.ImportFrom(module=cst.Name(value="__future__"))]):
            return True
    return False


def _is_import(node: cst.CSTNode) -> bool:
    return isinstance(node, Line) and all(isinstance(each, cst.Import | cst.ImportFrom) for each in node.body)


def _group(run: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
    """The imports up to the first empty row."""
    first, *others = run
    return [first, *takewhile(lambda each: not _is_set_off(each), others)]


def _is_set_off(node: cst.CSTNode) -> bool:
    return isinstance(node, Line) and any(each.comment is None for each in node.leading_lines)


def _root(node: cst.CSTNode) -> str:
    """The package that a line imports first; empty for a relative one."""
    match node:
        case Line(body=[cst.Import(names=[alias, *_]), *_]):
            return alias.evaluated_name.partition(".")[0]
        case Line(body=[cst.ImportFrom(module=cst.Name() | cst.Attribute() as module, relative=[]), *_]):
            return cst.helpers.get_full_name_for_node_or_raise(module).partition(".")[0]
    return ""


def _comes_after(node: cst.CSTNode, module: str) -> bool:
    return _root(node) > module or (isinstance(node, Line) and isinstance(node.body[0], cst.ImportFrom))


def _row_above(node: cst.CSTNode, tree: Tree) -> int:
    """The row of a statement, or of the comment right above that belongs to it and is not the head of the file."""
    start = row = tree.start(node)[0]
    while row > 1 and tree.rows[row - 2].lstrip().startswith("#"):
        row -= 1
    return row if row > 1 else start
