"""A comparison with a record, turned round: its sign, and the first value of the record where that must change too."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from trainlint.facts import Sign
from trainlint.record import replace
from trainlint.regex import regex
from trainlint.source.linkers.selection.choices import Choice
from trainlint.source.names import own_statements
from trainlint.source.summary import Module, bound, dotted
from trainlint.span import Span
from trainlint.value import Better

OPPOSITE = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
FIRST = {Better.LOWER: 'float("inf")', Better.HIGHER: 'float("-inf")'}
"""What every value is better than, by which one is better."""

ENDLESS = regex(r"""float\(['"][+-]?inf(?:inity)?['"]\)|(?:math|np|numpy|torch)\.(?:inf|Inf)""", re.IGNORECASE)
SIGN = regex(r"[\s()\\]*(?P<sign>[<>]=?)[\s()\\]*")


EXTREMES = {Better.LOWER: "min", Better.HIGHER: "max"}
LARGE = 1000
"""No loss that anyone starts from is larger."""


def sign(module: Module, each: Choice) -> Sign | None:
    """The sign of a comparison of two plain values; None where more than that and the first record would change."""
    sides = (each.compare.left, each.compare.comparators[0])
    if not isinstance(each.record, ast.Name) or each.record not in sides:
        return None
    if any(isinstance(side, ast.BinOp | ast.Constant | ast.UnaryOp) for side in sides):
        return None
    found, given = _sign(module, *sides), list(_given(module, each))
    first = given[0] if len(given) == 1 else None
    return _with_first(module, found, first, each.wins.other) if found is not None and first is not None else None


def _sign(module: Module, left: ast.expr, right: ast.expr) -> Sign | None:
    """The sign between two sides on one row."""
    start, end = module.span(left), module.span(right)
    found = SIGN.fullmatch(module.rows[right.lineno - 1], start.end_column - 1, end.column - 1)
    if found is None or start.end_row != end.row:
        return None
    first, last = found.span("sign")
    return Sign(Span(start.path, end.row, first + 1, end.row, last + 1, start.cell), OPPOSITE[found["sign"]])


def _given(module: Module, each: Choice) -> Iterator[ast.expr | None]:
    """What the record is given, but for the value that wins; None for what is not spelled out."""
    name, value = ast.unparse(each.record), ast.unparse(each.value)
    for node in own_statements(module.scope(each.compare)):
        if name in bound(node):
            given = next((given for target, given in _pairs(node) if ast.unparse(target) == name), None)
            if given is None or not (ast.unparse(given) == value or _is_extreme(given, each.wins.other)):
                yield given


def _is_extreme(node: ast.expr, better: Better) -> bool:
    """Whether a record is kept by ``max`` or ``min`` the way that it should be compared."""
    return isinstance(node, ast.Call) and dotted(node.func) == EXTREMES[better]


def _pairs(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment writes, and what it writes there."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=places)], value=ast.Tuple(elts=values)) if len(places) == len(values):
            yield from zip(places, values, strict=True)
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value


def _with_first(module: Module, found: Sign, first: ast.expr, better: Better) -> Sign | None:
    """The sign with the first value of the record, if that loses against none then."""
    number = _number(first)
    if number is None:
        return found if isinstance(first, ast.Constant) and first.value is None else None
    suits = number <= 0 if better is Better.HIGHER else number >= LARGE
    return found if suits else replace(found, start=module.span(first), first=FIRST[better])


def _number(node: ast.expr) -> float | None:
    """A number, an endless one too."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _number(operand)
            return None if number is None else -number
        case ast.Constant(value=int() | float() as number):
            return float(number)
    text = ast.unparse(node)
    return None if not ENDLESS.fullmatch(text) else -math.inf if "-" in text else math.inf
