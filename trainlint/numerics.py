"""Where the arithmetic of a loss ends, in closed form: bits of a significand in, margins out. Needs no torch.

The margin of a row is the lead of the right class over all others together, ``z_t - logsumexp(the others)``. The
significand counts the hidden bit: 8 for bfloat16, 11 for float16, 24 for float32, 53 for float64.
"""

from __future__ import annotations

import math


def cutoff(significand: int) -> float:
    """The margin from which ``log_softmax`` leaves the right of two classes no gradient: ``1 + exp(-m)`` rounds to 1.

    >>> [round(cutoff(bits), 2) for bits in (8, 11, 24, 53)]
    [5.55, 7.62, 16.64, 36.74]
    """
    return significand * math.log(2)


def probability_cutoff(significand: int) -> float:
    """The same where the probability itself is rounded, as in a sigmoid: ``1 / (1 + exp(-m))`` rounds to 1.

    >>> [round(probability_cutoff(bits), 2) for bits in (8, 11)]
    [6.24, 8.32]
    """
    return math.log(2 ** (significand + 1) - 1)


def sequential_cutoff(significand: int, classes: int) -> float:
    """The same where equal classes are added up one by one behind the right one, as over a dimension that is not last.

    >>> [round(sequential_cutoff(24, classes), 1) for classes in (2, 31, 1025, 50257)]
    [16.6, 13.2, 9.7, 5.8]
    """
    return cutoff(significand) - math.log(classes - 1)
