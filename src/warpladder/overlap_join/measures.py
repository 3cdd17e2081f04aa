"""How alike two sets are, and which pairs are alike enough.

With o ids in common, and a and b in the two rows:

=============  ====================  ==========================================
measure        value                 what it says
=============  ====================  ==========================================
``count``      o                     how many ids they share
``jaccard``    o / (a + b - o)       the share of all their ids that both have
``cosine``     o / sqrt(a b)         the cosine of their vectors of 0 and 1
``dice``       2 o / (a + b)         twice the shared ones, of all they list
``containment``  o / min(a, b)       the share of the smaller that the larger has
=============  ====================  ==========================================

A pair counts where its value, a float64, is at least the threshold, and the two share an id: rows
without ids are like no other. Values are quotients of integers, rounded once (``cosine`` twice), so
3 of 10 is at least 0.3 as it is written.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.errors import InputError, InputTypeError

__all__ = ["COUNT", "MEASURES", "Rule", "as_rule", "counts", "least_shared", "value"]

MEASURES = ("count", "jaccard", "cosine", "dice", "containment")
COUNT, _JACCARD, _COSINE, _DICE, _CONTAINMENT = range(5)
# More ids than that no row has: positions of ids are counted in 32 bits.
_MOST = (1 << 31) - 1


class Rule(NamedTuple):
    """Which pairs count: the number of a measure in `MEASURES`, and the least value."""

    measure: int
    threshold: float

    @property
    def name(self) -> str:
        """The measure's name."""
        return MEASURES[self.measure]


def as_rule(measure: Any, threshold: Any) -> Rule:
    """Return the rule that a caller asks for, checked.

    Raises
    ------
    InputError, InputTypeError
        There is no such measure, or the threshold is none for it.

    Examples
    --------
    >>> as_rule("jaccard", 0.5)
    Rule(measure=1, threshold=0.5)
    >>> as_rule("count", 0)
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: threshold=0: how many ids two rows share must be at least 1
    """
    if not (isinstance(measure, str) and measure in MEASURES):
        raise InputError(f"measure={measure!r} is not known; use one of {', '.join(MEASURES)}")
    try:
        number = float(threshold)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(threshold, (bool, np.bool_, str, bytes, bytearray)):
        raise InputTypeError(f"threshold={threshold!r:.60} must be a number")
    if measure == "count":
        if not number.is_integer():
            raise InputError(
                f"threshold={threshold!r}: two rows share a whole number of ids; a fraction goes "
                "with measure='jaccard' and the like"
            )
        if number < 1:
            raise InputError(
                f"threshold={threshold!r}: how many ids two rows share must be at least 1"
            )
        return Rule(COUNT, min(number, float(_MOST)))
    if not 0 < number <= 1:
        raise InputError(
            f"threshold={threshold!r}: the {measure} of two rows must be above 0 and at most 1"
        )
    return Rule(MEASURES.index(measure), number)


@cached
@njit(nogil=True)
def value(measure: Any, shared: Any, a: Any, b: Any) -> Any:
    """Return the value for two rows of ``a`` and ``b`` ids that share some."""
    if measure == COUNT:
        return float(shared)
    if measure == _JACCARD:
        return shared / (a + b - shared)
    if measure == _COSINE:
        return shared / math.sqrt(float(a) * float(b))
    if measure == _DICE:
        return 2 * shared / (a + b)
    return shared / min(a, b)


@cached
@njit(nogil=True)
def counts(measure: Any, threshold: Any, shared: Any, a: Any, b: Any) -> Any:
    """Return whether two rows that share at least one id are alike enough."""
    return value(measure, shared, a, b) >= threshold


@cached
@njit(nogil=True)
def least_shared(measure: Any, threshold: Any, a: Any) -> Any:
    """Return how many ids a row of ``a`` shares at least with any row that it counts with.

    Of all rows it could count with, the one that needs the fewest is a subset of it; for
    ``containment`` any single id may be one. The answer is never above ``a`` + 1, with which it
    counts with none.
    """
    if measure == COUNT:
        return min(int(threshold), a + 1)
    if measure == _CONTAINMENT:
        return 1
    # Values grow with the size of a subset, so the least can be found by halving.
    low, high = 1, a + 1
    while low < high:
        middle = (low + high) // 2
        if value(measure, middle, a, middle) >= threshold:
            high = middle
        else:
            low = middle + 1
    return low
