"""Comparisons with a record: ``if loss < best: best = loss; save()``, also through a flag, ``is_best = acc > best``.

What makes a number a record is that the winner is written over it; what it is called only decides where to look.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.record import thing
from trainlint.regex import regex
from trainlint.source.names import own_statements
from trainlint.source.sift.selection import RECORD_WORDS
from trainlint.source.summary import Module, last
from trainlint.value import Better

RECORD = regex(RECORD_WORDS)
"""In lower case: what the best value so far is called."""


@thing
class Choice:
    """A comparison that decides: the value, its record, which of two values wins, and what runs where it does.

    ``losing`` runs where it does not. ``handed`` are the calls that are given the flag.
    """

    compare: ast.Compare
    value: ast.expr
    record: ast.expr
    wins: Better
    winning: tuple[ast.stmt, ...]
    losing: tuple[ast.stmt, ...]
    handed: tuple[ast.Call, ...] = ()
    test: ast.expr | None = None


@thing
class _Arms:
    holding: tuple[ast.stmt, ...]
    failing: tuple[ast.stmt, ...]
    handed: tuple[ast.Call, ...]
    test: ast.expr | None
    scope_wide: bool = False


def choices(module: Module) -> tuple[Choice, ...]:
    """The choices of a file in the order of their lines."""
    known = module.kept.get("choices")
    if not isinstance(known, tuple):
        made = (choice(module, node) for node in module.of_kind(ast.Compare))
        found = sorted((each for each in made if each is not None), key=lambda each: each.compare.lineno)
        known = module.kept["choices"] = tuple(found)
    return known


def choice(module: Module, compare: ast.Compare) -> Choice | None:
    """What a comparison chooses, if one of its sides is a record that the other is written over."""
    if len(compare.ops) != 1 or not isinstance(compare.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return None
    if not any(RECORD.search(row.lower()) for row in module.rows[compare.lineno - 1 : compare.end_lineno]):
        return None
    terms = [*_terms(compare.left, 1), *_terms(compare.comparators[0], -1)]
    if not any(_is_record(node) for node, _ in terms):
        return None
    arms = _arms(module, compare)
    return _chosen(module, compare, terms, arms) if arms is not None else None


def _is_record(node: ast.expr) -> bool:
    return RECORD.search(ast.unparse(node).lower()) is not None


def _terms(node: ast.expr, sign: int) -> Iterator[tuple[ast.expr, int]]:
    """The summands of one side with their signs; a factor beside a record is a tolerance."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if isinstance(op, ast.Add) else -sign)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right) if _is_record(left):
            yield from _terms(left, sign)
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if _is_record(right) and not isinstance(
            left, ast.Name | ast.Attribute
        ):
            yield from _terms(right, sign)
        case ast.Call(func=func, args=[inner]) if last(func) in ("float", "abs", "round", "int") and _is_record(inner):
            yield from _terms(inner, sign)
        case _:
            yield node, sign


def _arms(module: Module, compare: ast.Compare) -> _Arms | None:
    """What runs where a comparison holds and where it does not."""
    node, flipped = compare, False
    while True:
        child, parent = node, module.parents.get(node)
        match parent:
            case ast.BoolOp():
                node = parent  # type: ignore[assignment]
            case ast.UnaryOp(op=ast.Not()):
                node, flipped = parent, not flipped  # type: ignore[assignment]
            case ast.If(test=test) if test is child:
                arms = _with_flags(module, parent)
                return _Arms(arms.failing, arms.holding, arms.handed, test) if flipped else arms
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as flag]) if not flipped:
                return _flagged(module, parent, flag)
            case ast.Call(func=func) if last(func) == "bool":
                node = parent  # type: ignore[assignment]
            case ast.keyword() | ast.Call() if not flipped:
                call = module.parents[parent] if isinstance(parent, ast.keyword) else parent
                assert isinstance(call, ast.Call), "keywords of classes hold no comparison"
                return _Arms((), (), (call,), None, scope_wide=True)
            case _:
                return None


def _with_flags(module: Module, node: ast.If) -> _Arms:
    """The arms of a test, and what a flag leads to that one of them sets: ``is_best = True``."""
    holding = tuple(node.body)
    handed: list[ast.Call] = []
    for each in node.body:
        match each:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as flag], value=ast.Constant(value=True)):
                more = _flagged(module, each, flag)
                holding, handed = (*holding, *more.holding), [*handed, *more.handed]
    return _Arms(holding, tuple(node.orelse), tuple(handed), node.test)


def _flagged(module: Module, holder: ast.stmt, flag: ast.expr) -> _Arms:
    """What runs where a flag is set, and the calls that are given it."""
    name = ast.unparse(flag)
    holding: list[ast.stmt] = []
    failing: list[ast.stmt] = []
    handed: list[ast.Call] = []
    for node in own_statements(module.scope(holder)):
        if node.lineno <= holder.lineno:
            continue
        if isinstance(node, ast.If) and _asks(node.test, name):
            negated = isinstance(node.test, ast.UnaryOp)
            holding += node.orelse if negated else node.body
            failing += node.body if negated else node.orelse
        for expression in _expressions(node):
            handed += [each for each in ast.walk(expression) if isinstance(each, ast.Call) and _takes(each, name)]
    return _Arms(tuple(holding), tuple(failing), tuple(handed), None, scope_wide=True)


def _asks(test: ast.expr, name: str) -> bool:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_asks(each, name) for each in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.unparse(operand) == name
    return ast.unparse(test) == name


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that a statement itself evaluates, those of its blocks not."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.expr):
            yield each


def _takes(call: ast.Call, name: str) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(ast.unparse(each) in (name, f"bool({name})") for each in given)


def _chosen(module: Module, compare: ast.Compare, terms: list[tuple[ast.expr, int]], arms: _Arms) -> Choice | None:
    more = isinstance(compare.ops[0], ast.Gt | ast.GtE)
    for record, sign in terms:
        text = ast.unparse(record)
        others = [node for node, each in terms if each == -sign and node is not record]
        if not _is_record(record) or not others or isinstance(record, ast.Constant | ast.Call):
            continue
        wins = Better.HIGHER if more == (sign < 0) else Better.LOWER
        for block, won in ((arms.holding, True), (arms.failing, False)):
            given = _written(block, text)
            if given is not None:
                ends = (arms.holding, arms.failing) if won else (arms.failing, arms.holding)
                value = _value(others, given)
                return Choice(compare, value, record, wins if won else wins.other, *ends, arms.handed, arms.test)
        given = _written(_after(module, compare), text) if arms.scope_wide else None
        if given is not None:
            value = _value(others, given)
            return Choice(compare, value, record, wins, arms.holding, arms.failing, arms.handed, arms.test)
    return None


def _after(module: Module, compare: ast.Compare) -> tuple[ast.stmt, ...]:
    row = module.statement(compare).lineno
    return tuple(node for node in own_statements(module.scope(compare)) if node.lineno >= row)


def _written(block: tuple[ast.stmt, ...], text: str) -> ast.expr | None:
    """What these statements write over a record."""
    for node in (each for holder in block for each in ast.walk(holder)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                found = _matched(target, node.value, text)
                if found is not None:
                    return found
    return None


def _matched(target: ast.expr, value: ast.expr, text: str) -> ast.expr | None:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        pairs = zip(target.elts, value.elts, strict=True)
        return next((given for each, given in pairs if ast.unparse(each) == text), None)
    return value if ast.unparse(target) == text and not isinstance(value, ast.Constant) else None


def _value(others: list[ast.expr], given: ast.expr) -> ast.expr:
    """The side that is written over the record, as the comparison spells it."""
    texts = {ast.unparse(each) for each in ast.walk(given) if isinstance(each, ast.expr)}
    return next((each for each in others if ast.unparse(each) in texts), others[0])
