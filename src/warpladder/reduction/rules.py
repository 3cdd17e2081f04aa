"""What each operation is, stated once: its order, its moments, how two results become one.

Loops over elements are many, as there are ways in which elements lie, on a CPU and on a GPU. What
they do where two results meet stands here, in functions of a few numbers. Numba compiles them into
whatever calls them, for either; called from Python they are Python. A few words of theirs mean the
same but are other instructions on a GPU, see `scalars` and `gpu.words`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from warpladder.device.specialised import specialised
from warpladder.reduction.scalars import compiled, difference, rule

__all__ = [
    "FAR",
    "LARGEST_NUMBER",
    "LARGEST_PRODUCT",
    "LARGEST_SQUARE",
    "LEAST_PRODUCT",
    "LEAST_SQUARE",
    "LIMITS_OF_SQUARES",
    "LOW_WORD",
    "MOST_IN_TWO_WORDS",
    "SCALE",
    "add_moments",
    "beginner_of_folds",
    "is_new_high",
    "is_new_low",
    "larger",
    "merge_compensated",
    "merger_of_folds",
    "moments_of",
    "outdoes",
    "passes",
    "rescaled",
    "times",
    "two_sum",
]

LOW_WORD = 0xFFFFFFFF
"""Takes the lower of an integer's two words."""

MOST_IN_TWO_WORDS = 1 << 29
"""Integers whose sum needs no third word."""

# What so many high words add up to at the most.
_LARGEST_HIGH_WORD = MOST_IN_TWO_WORDS << 32


@rule
def outdoes(new: Any, old: Any, ahead: Any) -> Any:
    """Tell whether an extremum replaces the old one: it is ahead of it, or the first NaN."""
    return ahead | ((new != new) & (old == old))  # noqa: PLR0124 - NaN is not itself


@rule
def _is_earlier(new: Any, old: Any, new_at: Any, old_at: Any) -> Any:
    """Tell whether of two equals, or two NaNs, the new one comes first."""
    is_same = (new == old) | ((new != new) & (old != old))  # noqa: PLR0124 - likewise
    return is_same & (new_at < old_at)


@rule
def is_new_low(new: Any, old: Any, new_at: Any, old_at: Any) -> Any:
    """Tell whether a least element at one index replaces that at another."""
    return outdoes(new, old, new < old) | _is_earlier(new, old, new_at, old_at)


@rule
def is_new_high(new: Any, old: Any, new_at: Any, old_at: Any) -> Any:
    """Tell whether a greatest element at one index replaces that at another."""
    return outdoes(new, old, new > old) | _is_earlier(new, old, new_at, old_at)


@rule
def larger(a: Any, b: Any) -> Any:
    """Return the larger of two numbers; NaN where either is NaN."""
    return a if a > b or a != a else b  # noqa: PLR0124 - NaN is not itself


@rule
def rescaled(total: Any, old: Any, new: Any) -> Any:
    """Return a sum of exp(x - old) as one of exp(x - new)."""
    return total if old == new else total * math.exp(old - new)


# ---- products: a number of moderate size times a power of two, see `ranges` -------------------

SCALE = 2.0**600
"""What numbers are scaled by whose squares leave the range of float64."""

_STEP = 600
# Factors between these have a product that float64 holds; `SCALE` brings others there.
_LEAST_FACTOR, _LARGEST_FACTOR = 2.0**-500, 2.0**500
# What is between these has neither overflowed nor vanished.
LEAST_PRODUCT, LARGEST_PRODUCT = 2.0**-1000, 2.0**1000


@rule
def _tamed(x: Any) -> Any:
    """Return a number of moderate size, and the power of two that x is of it."""
    size = abs(x)
    if size > _LARGEST_FACTOR:
        return x / SCALE, _STEP
    if size < _LEAST_FACTOR and x != 0:
        return x * SCALE, -_STEP
    return x, 0


@rule
def passes(product: Any, factor: Any) -> Any:
    """Tell whether a product of elements can stand for them: it has not overflowed or vanished.

    Beside a zero it may have, as long as there is no infinity among them.
    """
    size = abs(factor)
    return LEAST_PRODUCT <= size <= LARGEST_PRODUCT or (product == 0 and size < math.inf)


@rule
def times(product: Any, exponent: Any, factor: Any, more: Any) -> Any:
    """Return ``product * 2^exponent`` times ``factor * 2^more``, in the same form."""
    factor, step = _tamed(factor)
    product, other = _tamed(product * factor)
    return product, exponent + more + step + other


# ---- moments: shift and offset of the mean, squared deviations in three ranges ------------------

LEAST_SQUARE, LARGEST_SQUARE = 2.0**-900, 2.0**900
"""Between these a sum of squares has lost nothing."""

LIMITS_OF_SQUARES = {"float32": (2.0**-100, 2.0**100), "float64": (LEAST_SQUARE, LARGEST_SQUARE)}
"""Between these a block's sum of squares has lost nothing, by the dtype it is made in."""

LARGEST_NUMBER = float(np.finfo(np.float64).max)
FAR = 2.0**62
"""A shift that is further off than this stays where it is: the next block would not gain by it."""

# Between these a difference has a square that loses nothing.
_LEAST_DIFFERENCE, _LARGEST_DIFFERENCE = 2.0**-450, 2.0**450


@rule
def moments_of(n: Any, shift: Any, total: Any, squared: Any, scale: Any) -> Any:
    """Return the moments of n elements from sums of their scaled differences from a shift."""
    mean = total / n
    left = squared - total * mean
    # Rounding must not leave less than nothing, of which there is no root; NaN stays.
    if left < 0:
        left = 0.0
    tiny, huge = scale > 1, scale < 1
    if not (tiny or huge):
        return shift, mean, 0.0, left, 0.0
    return shift, mean / scale, left if tiny else 0.0, 0.0, left if huge else 0.0


@rule
def merged_moments(count: Any, moments: Any, n: Any, later: Any, may_be_extreme: Any) -> Any:
    """Return the moments of ``count`` elements and of the n that follow."""
    # Only squares of float64 may leave its range.
    if count == 0:
        return later
    shift, offset, tiny, middle, huge = moments
    later_shift, later_offset, later_tiny, later_middle, later_huge = later
    share = n / (count + n)
    weight = count * share
    tiny, middle, huge = tiny + later_tiny, middle + later_middle, huge + later_huge
    delta = difference(later_shift, shift) + (later_offset - offset)
    size = abs(delta)
    if may_be_extreme and size < _LEAST_DIFFERENCE:
        tiny += (delta * SCALE) * (delta * SCALE) * weight
        return shift, offset + delta * share, tiny, middle, huge
    if not may_be_extreme or size <= _LARGEST_DIFFERENCE:
        return shift, offset + delta * share, tiny, middle + delta * delta * weight, huge
    # Also where the difference itself has overflowed.
    step = difference(later_shift / SCALE, shift / SCALE)
    step += later_offset / SCALE - offset / SCALE
    offset = offset / SCALE + step * share
    huge += step * step * weight
    if abs(offset) > LARGEST_NUMBER / SCALE / 2:
        offset += shift / SCALE
        shift -= shift
    return shift, offset * SCALE, tiny, middle, huge


@rule
def add_moments(states: Any, i: Any, n: Any, later: Any, may_be_extreme: Any) -> None:
    """Let the moments of state i take in those of the n elements that follow."""
    # Numba would warn of one kind of record after another, not of arrays of them.
    row = states[i]
    moments = row.shift, row.offset, row.tiny_deviation, row.deviation, row.huge_deviation
    moments = merged_moments(row.count, moments, n, later, may_be_extreme)
    row.shift, row.offset, row.tiny_deviation, row.deviation, row.huge_deviation = moments


def beginner_of_folds(folds: Collection[str]) -> Any:
    """Return ``begin(states)``: the first state has seen no element yet."""
    has = folds.__contains__
    has_total, has_whole, has_product = has("total"), has("whole"), has("product")
    has_low, has_high, has_low_at, has_high_at = map(has, ("low", "high", "low_at", "high_at"))
    has_absolute, has_square, has_moments = has("absolute"), has("square"), has("moments")
    has_nonzero, has_exponential = has("nonzero"), has("exponential")

    @specialised
    def begin(states):  # type: ignore[no-untyped-def]
        row = states[0]
        row.count = 0
        if has_total:
            row.total = 0
        if has_whole:
            row.whole_top, row.whole_high, row.whole_low = 0, 0, 0
        if has_product:
            row.product, row.exponent = 1, 0
        if has_low:
            row.low = 0
        if has_high:
            row.high = 0
        if has_low_at:
            row.low_at = -1
        if has_high_at:
            row.high_at = -1
        if has_absolute:
            row.absolute = 0.0
        if has_square:
            row.tiny_square, row.square, row.huge_square = 0.0, 0.0, 0.0
        if has_moments:
            row.shift, row.offset = 0, 0.0
            row.tiny_deviation, row.deviation, row.huge_deviation = 0.0, 0.0, 0.0
        if has_nonzero:
            row.nonzero = 0
        if has_exponential:
            row.peak, row.scaled = -math.inf, 0.0

    return begin


def merger_of_folds(folds: Collection[str], *, is_real: bool, may_be_extreme: bool) -> Any:
    """Return ``merge(states, i, others, j)``: state i takes in what other j has seen.

    States are records of the fields in `states.FOLDS`. The elements of two states follow each
    other, or take turns.
    """
    has = folds.__contains__
    has_total, has_whole, has_product = has("total"), has("whole"), has("product")
    has_low, has_high, has_low_at, has_high_at = map(has, ("low", "high", "low_at", "high_at"))
    has_absolute, has_square, has_moments = has("absolute"), has("square"), has("moments")
    has_nonzero, has_exponential = has("nonzero"), has("exponential")

    @compiled
    @specialised
    def merge(states, i, others, j):  # type: ignore[no-untyped-def]
        a, b = states[i], others[j]
        if b.count == 0:
            return
        if has_total:
            a.total += b.total
        if has_whole:
            low_word = a.whole_low + b.whole_low
            a.whole_top += b.whole_top
            a.whole_high += b.whole_high + (low_word >> 32)
            a.whole_low = low_word & LOW_WORD
            if not -_LARGEST_HIGH_WORD <= a.whole_high < _LARGEST_HIGH_WORD:
                a.whole_top += a.whole_high >> 32
                a.whole_high &= LOW_WORD
        if has_product:
            if is_real:
                a.product, a.exponent = times(a.product, a.exponent, b.product, b.exponent)
            else:
                a.product *= b.product
        if has_low:
            new_at = b.low_at if has_low_at else 0
            old_at = a.low_at if has_low_at else 0
            if a.count == 0 or is_new_low(b.low, a.low, new_at, old_at):
                a.low = b.low
                if has_low_at:
                    a.low_at = b.low_at
        if has_high:
            new_at = b.high_at if has_high_at else 0
            old_at = a.high_at if has_high_at else 0
            if a.count == 0 or is_new_high(b.high, a.high, new_at, old_at):
                a.high = b.high
                if has_high_at:
                    a.high_at = b.high_at
        if has_absolute:
            a.absolute += b.absolute
        if has_square:
            a.tiny_square += b.tiny_square
            a.square += b.square
            a.huge_square += b.huge_square
        if has_moments:
            later = b.shift, b.offset, b.tiny_deviation, b.deviation, b.huge_deviation
            add_moments(states, i, b.count, later, may_be_extreme)
        if has_nonzero:
            a.nonzero += b.nonzero
        if has_exponential:
            peak = larger(a.peak, b.peak)
            if peak != -math.inf:
                a.scaled = rescaled(a.scaled, a.peak, peak) + rescaled(b.scaled, b.peak, peak)
                a.peak = peak
        a.count += b.count

    return merge


@rule
def two_sum(a: Any, b: Any) -> Any:
    """Return a + b rounded, and the rounding error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@rule
def merge_compensated(states: Any, i: Any, others: Any, j: Any) -> None:
    """Let state i, a sum and its error, take in what other j has seen."""
    a, b = states[i], others[j]
    a.high, error = two_sum(a.high, b.high)
    a.low += b.low + error
