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

from warpladder.reduction.scalars import (
    add_at,
    as_bits,
    as_float,
    compiled,
    difference,
    mark_at,
    rule,
)

__all__ = [
    "FAR",
    "HIGHEST",
    "LARGEST_NUMBER",
    "LARGEST_SQUARE",
    "LEAST_SQUARE",
    "LIMITS_OF_SQUARES",
    "LOWEST",
    "LOW_WORD",
    "MAGNITUDE",
    "MINUS",
    "NAN",
    "PLUS",
    "SCALE",
    "SQUARES_WITH_ERRORS",
    "WINDOW",
    "add_moments",
    "carry",
    "deposit",
    "deposit_number",
    "halves",
    "is_new_high",
    "is_new_low",
    "larger",
    "merge_compensated",
    "merge_exact",
    "merger_of_folds",
    "moments_of",
    "outdoes",
    "passes",
    "rescaled",
    "scale_for",
    "square_pieces",
    "times",
    "two_sum",
    "window_constant",
]

LOW_WORD = 0xFFFFFFFF
"""Takes the lower of an integer's two words."""


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
_LEAST_PRODUCT, _LARGEST_PRODUCT = 2.0**-1000, 2.0**1000


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
    return _LEAST_PRODUCT <= size <= _LARGEST_PRODUCT or (product == 0 and size < math.inf)


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
    def merge(states, i, others, j):  # type: ignore[no-untyped-def]
        a, b = states[i], others[j]
        if b.count == 0:
            return
        if has_total:
            a.total += b.total
        if has_whole:
            low_word = a.whole_low + b.whole_low
            a.whole_high += b.whole_high + (low_word >> 32)
            a.whole_low = low_word & LOW_WORD
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


# ---- exact sums: limbs of 32 bits, see `exact` -------------------------------------------------

NAN, PLUS, MINUS = 1, 2, 4
"""What the last limb says of a sum that is no number: there was a NaN, an infinity of a sign."""

WINDOW, LOWEST, HIGHEST = 50, -1074, 970
"""The window at s takes numbers below 2^(s + 50); it stands no lower than float64's last bit, and
no higher than its constant fits float64."""

MAGNITUDE = 0x7FFFFFFFFFFFFFFF
"""All bits of a float64 but the sign."""

SQUARES_WITH_ERRORS = 2.0**-900, 2.0**1000
"""Squares in this range leave a rounding error that is a normal float64."""

_PIECE = 0x3FFFFF


@rule
def merge_exact(states: Any, i: Any, others: Any, j: Any) -> None:
    """Let the limbs of sum i take in those of other j."""
    limbs, later = states[i], others[j]
    last = limbs.size - 1
    for k in range(last):
        limbs[k] += later[k]
    limbs[last] |= later[last]
    carry(limbs)


@rule
def carry(limbs: Any) -> None:
    """Leave 32 bits in each limb; the last keeps the sign. Equal sums then have equal limbs."""
    carried = np.int64(0)
    for i in range(limbs.size - 2):
        word = limbs[i] + carried
        carried = word >> 32
        limbs[i] = word & LOW_WORD
    limbs[limbs.size - 2] += carried


@rule
def deposit(limbs: Any, value: Any, exponent: Any) -> None:
    """Add value * 2^exponent, the value below 2^62."""
    position = exponent + 16 * (limbs.size - 1)
    i, shift = position >> 5, position & 31
    low = (value & LOW_WORD) << shift
    high = (value >> 32) << shift
    add_at(limbs, i, low & LOW_WORD)
    add_at(limbs, i + 1, (low >> 32) + (high & LOW_WORD))
    # Near the top of the range the value is small and this is nothing.
    if i + 2 < limbs.size - 1:
        add_at(limbs, i + 2, high >> 32)


@rule
def deposit_number(limbs: Any, x: Any, is_square: Any) -> None:
    """Add one number, or its square, whatever it is."""
    bits = as_bits(x)
    exponent = (bits >> 52) & 0x7FF
    fraction = bits & 0xFFFFFFFFFFFFF
    if exponent == 0x7FF:
        kind = NAN if fraction != 0 else (MINUS if bits < 0 and not is_square else PLUS)
        mark_at(limbs, limbs.size - 1, kind)
        return
    if exponent != 0:
        fraction |= np.int64(1) << 52
    else:
        exponent = np.int64(1)
    exponent -= 1075
    if is_square:
        high, low = fraction >> 27, fraction & 0x7FFFFFF
        deposit(limbs, high * high, 2 * exponent + 54)
        deposit(limbs, 2 * high * low, 2 * exponent + 27)
        deposit(limbs, low * low, 2 * exponent)
    else:
        deposit(limbs, -fraction if bits < 0 else fraction, exponent)


@rule
def window_constant(scale: Any) -> Any:
    """Return 1.5 * 2^(52 + scale): adding it rounds to multiples of 2^scale."""
    return as_float(((np.int64(scale) + 1075) << 52) | (np.int64(1) << 51))


@rule
def scale_for(exponent: Any) -> Any:
    """Return where to set a window for numbers below 2^exponent, with some room above."""
    return min(max(exponent - WINDOW + 2, LOWEST), HIGHEST)


@rule
def halves(v: Any, is_absolute: Any) -> Any:
    """Return the words of an integer of 64 bits, or of its absolute value."""
    sign = np.int64(-1 if is_absolute and v < 0 else 1)
    return sign * np.int64(v >> 32), sign * np.int64(v & LOW_WORD)


@rule
def square_pieces(v: Any) -> Any:
    """Return what the square of an integer has of 2^88, 2^67, 2^44, 2^23 and 1.

    It is cut into pieces of 22 bits: 2048 products of two fit 62.
    """
    a, b = np.int64(v >> 44), np.int64(v >> 22) & _PIECE
    c = np.int64(v & _PIECE)
    return a * a, a * b, b * b + 2 * a * c, b * c, c * c
