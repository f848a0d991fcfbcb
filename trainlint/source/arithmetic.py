"""Arithmetic on what is known: exact numbers, linear forms, closed strings and floats. Never more than 4,096 bits."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from trainlint.record import replace
from trainlint.source.things import Constant, Opaque, Thing
from trainlint.value import Integer, Step, Symbol, Unknown

MOST_BITS = 4096
LONGEST_TEXT = 100_000

EXACT: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.RShift: operator.rshift,
}
COMPARE: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def integer(thing: Thing, values: Mapping[str, int]) -> Integer | Unknown:
    """A thing as a number: an opaque object is the symbol of its origin, unless ``values`` says what it is."""
    match thing:
        case Integer() | Unknown():
            return thing
        case Constant(value=bool(value)):
            return Integer(int(value), evidence=thing.evidence, assumed=thing.assumed)
        case Constant(value=float(value)):
            return Unknown(f"{value!r} is not a whole number")
        case Constant(value=value):
            return Unknown(f"{value!r} is not a number")
        case Opaque():
            return _symbol(thing, values)
    return Unknown("it is not a number")


def _symbol(thing: Opaque, values: Mapping[str, int]) -> Integer:
    if thing.name in values:
        return Integer(values[thing.name], evidence=thing.evidence, names=(thing.name,), origins=(thing.origin,))
    number = Integer.symbol(Symbol(thing.name, thing.origin, thing.minimum)).because(*thing.evidence)
    for word in thing.words:
        number = number.named(word)
    return number


def combined(op: ast.operator, left: Integer, right: Integer) -> Integer | Unknown:
    """One arithmetic operation; symbols survive sums, differences and products with a number."""
    match op:
        case ast.Add():
            return _with_table(left + right, left, right, 1)
        case ast.Sub():
            return _with_table(left - right, left, right, -1)
        case ast.Mult() if left.number is not None or right.number is not None:
            factor, form = (left, right) if left.number is not None else (right, left)
            assert factor.number is not None, "one side is a number"
            if _bits(factor.number) + _bits(form.constant) > MOST_BITS:
                return Unknown("the number is too large to follow")
            return form.times(factor.number).because(*factor.evidence)
    if left.number is None or right.number is None:
        return Unknown(f"{left} and {right} are not both known")
    result = _exact(op, left.number, right.number)
    if isinstance(result, Unknown):
        return result
    both = left + right
    return Integer(result, evidence=both.evidence, assumed=both.assumed, parts=both.parts)


def _with_table(total: Integer, left: Integer, right: Integer, sign: int) -> Integer:
    """A table's length plus or minus a literal is still sized by that table."""
    if left.table and not right.table and right.number is not None:
        return replace(total, table=left.table)
    if right.table and not left.table and left.number is not None and sign > 0:
        return replace(total, table=right.table)
    return total


def _exact(op: ast.operator, left: int, right: int) -> int | Unknown:
    too_large = Unknown("the number is too large to follow")
    match op:
        case ast.Pow() if right < 0:
            return Unknown("a negative power is not a whole number")
        case ast.Pow():
            return too_large if _bits(left) * right > MOST_BITS else left**right
        case ast.LShift():
            return too_large if right < 0 or _bits(left) + right > MOST_BITS else left << right
    if type(op) not in EXACT:
        return Unknown("the operation is not followed")
    if (isinstance(op, ast.FloorDiv | ast.Mod) and not right) or (isinstance(op, ast.RShift) and right < 0):
        return Unknown("the operation fails")
    return EXACT[type(op)](left, right)


def _bits(number: int) -> int:
    return max(number.bit_length(), 1)


def compared(op: ast.cmpop, left: Integer, right: Integer) -> bool | None:
    """What a comparison says for sure."""
    gap = left - right
    if gap.number is not None:
        return COMPARE[type(op)](gap.number, 0) if type(op) in COMPARE else None
    low, high = gap.minimum, gap.maximum
    answers = {COMPARE[type(op)](sign, 0) for sign in _signs(low, high)} if type(op) in COMPARE else set()
    return answers.pop() if len(answers) == 1 else None


def _signs(low: int | None, high: int | None) -> set[int]:
    signs = {-1, 0, 1}
    if low is not None:
        signs -= {-1} if low >= 0 else set()
        signs -= {0} if low > 0 else set()
    if high is not None:
        signs -= {1} if high <= 0 else set()
        signs -= {0} if high < 0 else set()
    return signs


def assumed_by(thing: Thing, step: Step) -> Thing:
    """The same thing, resting on a default that a caller may change."""
    match thing:
        case Integer():
            return thing.assuming(step)
        case Constant():
            return replace(thing, assumed=(*thing.assumed, step))
    return thing
