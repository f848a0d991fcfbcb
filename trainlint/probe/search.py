"""The first number of a format for which something holds: a question about numbers in, the number out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

AT_ONCE = 128
"""How many numbers a question is asked about at a time. On CUDA it takes more than 64 columns to reach the kernel that
adds up classes one by one."""

INTEGERS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}
"""Positive numbers of a format are ordered as the integers of the same bits are, and consecutive integers are
neighbours."""

Question = Callable[[Tensor], Tensor]
"""Some numbers in, for each of them whether it holds out."""


def first(question: Question, dtype: torch.dtype, low: float, high: float) -> float | None:
    """The first number of the format between two positive ones for which the question holds, or None.

    All numbers are told apart by bisection with many arms. Where the answer turns to and fro, an earlier turn is found
    if one of the probed numbers, or one of the last 128 in front of the result, shows it.

    >>> first(lambda numbers: numbers >= 2.71828, torch.bfloat16, 0.5, 80.0)
    2.71875
    >>> first(lambda numbers: numbers > 100, torch.float32, 0.5, 80.0) is None
    True
    """
    lowest = below = _place(low, dtype)
    above = _place(high, dtype)
    if not question(_numbers(_spread(below, above), dtype)).any():
        return None
    while True:
        places = _spread(below, above)
        at = _first_yes(question, places, dtype)
        above = places[at]
        if at and above - places[at - 1] > 1:
            below = places[at - 1]
            continue
        neighbours = [max(above - AT_ONCE + index, lowest) for index in range(1, AT_ONCE + 1)]
        earlier = neighbours[_first_yes(question, neighbours, dtype)]
        if earlier == above:
            return _number(above, dtype)
        below, above = lowest, earlier


def before(number: float, dtype: torch.dtype) -> float:
    """The number of the format in front of this positive one."""
    return _number(_place(number, dtype) - 1, dtype)


def _first_yes(question: Question, places: Sequence[int], dtype: torch.dtype) -> int:
    """The index of the first place for which the question holds; it is known to hold for the last."""
    answers: list[bool] = question(_numbers(places, dtype)).tolist()
    return answers.index(True) if True in answers else len(answers) - 1


def _spread(below: int, above: int) -> list[int]:
    """As many places as are asked about at once, from the lower bound to the upper one."""
    return [below + (above - below) * index // (AT_ONCE - 1) for index in range(AT_ONCE)]


def _place(number: float, dtype: torch.dtype) -> int:
    return int(torch.tensor([number], dtype=dtype).view(INTEGERS[dtype]).item())


def _number(place: int, dtype: torch.dtype) -> float:
    return float(_numbers([place], dtype).item())


def _numbers(places: Sequence[int], dtype: torch.dtype) -> Tensor:
    return torch.tensor([*places], dtype=INTEGERS[dtype]).view(dtype)
