"""The arithmetic of numbers that code only names, held against whole numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from trainlint import Integer, Position, Span, Step, Symbol, joined, taken

SYMBOLS = (
    Symbol("n", "cfg.n", minimum=1),
    Symbol("len(tags)", "tags", minimum=0),
    Symbol("extra", "args.extra", minimum=-2),
    Symbol("free", "args.free"),
)
N, TAGS, EXTRA, FREE = (Integer.symbol(symbol) for symbol in SYMBOLS)

numbers = st.builds(
    lambda constant, times: sum_of(constant, dict(zip(SYMBOLS, times, strict=True))),
    st.integers(-6, 6),
    st.tuples(*[st.integers(-2, 2)] * len(SYMBOLS)),
)
widths = st.builds(
    lambda constant, times: sum_of(constant, dict(zip(SYMBOLS, times, strict=True))),
    st.integers(-3, 8),
    st.tuples(*[st.integers(-1, 2)] * len(SYMBOLS)),
)

BOUNDS = [symbol.minimum for symbol in SYMBOLS if symbol.minimum is not None]
bounded = st.builds(
    lambda constant, times: sum_of(constant, dict(zip(SYMBOLS, times, strict=False))),
    st.integers(-4, 4),
    st.tuples(*[st.integers(-2, 2)] * len(BOUNDS)),
)
sizes = st.builds(
    lambda spare, times: sum_of(
        1 + spare - sum(factor * low for factor, low in zip(times, BOUNDS, strict=True)),
        dict(zip(SYMBOLS, times, strict=False)),
    ),
    st.integers(0, 4),
    st.tuples(*[st.integers(0, 2)] * len(BOUNDS)),
)
"""Widths as layers have them: never below one class."""


def sum_of(constant: int, times: Mapping[Symbol, int]) -> Integer:
    total = Integer.exact(constant)
    for symbol, factor in times.items():
        total = total + Integer.symbol(symbol).times(factor)
    return total


def assignments() -> Iterator[dict[Symbol, int]]:
    """Every symbol over its first values, those without a bound also below zero."""
    spans = [range(-5 if symbol.minimum is None else symbol.minimum, 6) for symbol in SYMBOLS]
    return (dict(zip(SYMBOLS, values, strict=True)) for values in product(*spans))


WORLDS = tuple(assignments())


def valued(number: Integer, world: Mapping[Symbol, int]) -> int:
    return number.constant + sum(times * world[symbol] for symbol, times in number.terms)


def stands(index: int, width: int) -> Position:
    if index < 0:
        return Position.NEGATIVE
    if index == width:
        return Position.ONE_PAST
    return Position.INSIDE if index < width else Position.BEYOND


@given(numbers, widths)
@example(N, N + Integer.exact(1))
@example(TAGS, N + TAGS)
@example(Integer.exact(3), TAGS + Integer.exact(3))
@example(TAGS + Integer.exact(3), Integer.exact(3))
@example(FREE, FREE)
@example(FREE + Integer.exact(-1), FREE)
def test_a_position_holds_for_every_value_that_the_symbols_may_take(index: Integer, width: Integer) -> None:
    verdict = index.position(width)
    seen = {stands(valued(index, world), wide) for world in WORLDS if (wide := valued(width, world)) >= 1}
    assert verdict is None or seen <= {verdict}


@given(bounded, sizes)
def test_a_position_is_left_open_only_where_values_disagree(index: Integer, width: Integer) -> None:
    far = [range(low, low + 14) for low in BOUNDS]
    worlds = [dict(zip(SYMBOLS, values, strict=False)) for values in product(*far)]
    seen = {stands(valued(index, world), valued(width, world)) for world in worlds}
    assert (index.position(width) is None) == (len(seen) > 1)


@given(st.integers(-300, 300), st.integers(1, 300))
def test_exact_numbers_are_always_placed(index: int, width: int) -> None:
    assert Integer.exact(index).position(Integer.exact(width)) is stands(index, width)


@given(numbers, numbers, st.integers(-4, 4), st.sampled_from(WORLDS))
def test_arithmetic_is_that_of_whole_numbers(a: Integer, b: Integer, factor: int, world: dict[Symbol, int]) -> None:
    assert valued(a + b, world) == valued(a, world) + valued(b, world)
    assert valued(a - b, world) == valued(a, world) - valued(b, world)
    assert valued(-a, world) == -valued(a, world)
    assert valued(a.times(factor), world) == factor * valued(a, world)


@given(numbers, numbers, numbers)
def test_sums_do_not_depend_on_the_order_of_their_parts(a: Integer, b: Integer, c: Integer) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a - a == Integer.exact(0)
    assert hash(a + b) == hash(b + a)


@given(numbers)
def test_bounds_hold_for_every_value(number: Integer) -> None:
    seen = [valued(number, world) for world in WORLDS]
    assert number.minimum is None or number.minimum <= min(seen)
    assert number.maximum is None or number.maximum >= max(seen)
    assert (number.number is None) == bool(number.terms)


@given(numbers, widths, st.permutations(["a", "b", "c", "d"]))
def test_what_a_symbol_is_called_changes_nothing(index: Integer, width: Integer, names: list[str]) -> None:
    called = dict(zip(SYMBOLS, names, strict=True))

    def renamed(number: Integer) -> Integer:
        return replace(number, terms=tuple((replace(symbol, name=called[symbol]), n) for symbol, n in number.terms))

    assert renamed(index).position(renamed(width)) is index.position(width)
    assert renamed(index) == index


def test_one_name_for_two_objects_stays_two_numbers() -> None:
    one, other = (Integer.symbol(Symbol("cfg.n", origin, minimum=1)) for origin in ("a.py:cfg", "b.py:cfg"))
    assert one.position(other) is None
    assert one.position(one + Integer.exact(1)) is Position.INSIDE


@given(numbers)
def test_a_printed_sum_reads_back_as_the_same_sum(number: Integer) -> None:
    text = str(number).replace("len(tags)", "tags")
    names = {"n": N, "tags": TAGS, "extra": EXTRA, "free": FREE}
    assert re.fullmatch(r"-?[^ +-]+( [+-] [^ +-]+)*", text)
    total = Integer.exact(0)
    for sign, word in re.findall(r"(?:^|(?<= ))([+-]? ?)([^ +-]+)", text):
        factor, _, name = word.rpartition("*")
        part = names[name].times(int(factor or 1)) if name in names else Integer.exact(int(name))
        total = total - part if sign.strip() == "-" else total + part
    assert total == number


def test_sums_are_printed_as_a_reader_writes_them() -> None:
    two = Integer.exact(2)
    assert [str(number) for number in (two, -two, two - two, N, N + two, two - N, -N, N.times(2) - two, TAGS + N)] == [
        "2", "-2", "0", "n", "n + 2", "2 - n", "-n", "2*n - 2", "len(tags) + n",
    ]  # fmt: skip


def test_a_name_that_is_a_sum_itself_is_printed_in_brackets() -> None:
    rows = Integer.symbol(Symbol("rows + 1", "cfg.rows"))
    assert str(rows.times(2) - Integer.exact(1)) == "2*(rows + 1) - 1"
    assert str(Integer.symbol(Symbol("len(a) + len(b)", "a"))) == "(len(a) + len(b))"
    assert str(Integer.symbol(Symbol("sizes[f(a + b)]", "a"))) == "sizes[f(a + b)]"


def test_a_sum_carries_the_evidence_and_the_definitions_of_its_parts_and_drops_their_names() -> None:
    first, second, default = (Step(text, Span("a.py", row)) for row, text in enumerate(("N = 8", "M = 2", "k = 1"), 1))
    n = Integer.exact(8).because(first).named("N", "a.N")
    both = n + Integer.exact(2).because(second, first).assuming(default)
    assert (both.number, both.evidence, both.assumed, both.names) == (10, (first, second), (default,), ())
    assert (both.origins, both.parts) == ((), ("a.N",))
    assert taken(n, both, None) == (default,)
    assert joined(n.evidence, both.evidence) == (first, second)


def test_a_number_keeps_each_name_that_it_passes_through_once() -> None:
    number = Integer.exact(3).named("STOP", "ids.STOP").named("stop_id").named("STOP", "ids.STOP")
    assert (number.names, number.origins) == (("STOP", "stop_id"), ("ids.STOP",))
