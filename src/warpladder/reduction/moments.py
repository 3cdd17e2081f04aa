"""Means and squared deviations: of a block about a shift near its mean, and merged.

The mean is kept as ``shift + offset``: what is small keeps more digits. Differences of integers of
64 bits are exact, of whatever size these are, so their shift is an integer as well. Squares are
kept in three ranges, see `ranges`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from warpladder.reduction.blocks import is_kept
from warpladder.reduction.ranges import LARGEST_SQUARE, LEAST_SQUARE, SCALE
from warpladder.reduction.scalars import difference, maximum, minimum, strict

__all__ = [
    "FAR",
    "LARGEST_DIFFERENCE",
    "LARGEST_NUMBER",
    "LEAST_DIFFERENCE",
    "LIMITS_OF_SQUARES",
    "about",
    "mean_of_block",
    "merged_moments",
    "moments_of_block",
    "moved",
    "whole_mean_of_block",
]

LIMITS_OF_SQUARES = {"float32": (2.0**-100, 2.0**100), "float64": (LEAST_SQUARE, LARGEST_SQUARE)}
"""Between these a block's sum of squares has lost nothing, by the dtype it is made in."""

LEAST_DIFFERENCE, LARGEST_DIFFERENCE = 2.0**-450, 2.0**450
"""Between these a difference has a square that loses nothing."""

LARGEST_NUMBER = float(np.finfo(np.float64).max)
FAR = 2.0**62
"""A shift that is further off than this stays where it is: the next block would not gain by it."""

_SMALLER = 2.0**-64


@njit(nogil=True, fastmath={"reassoc", "nsz"})
def _sum_of_block(block: Any, marks: Any, masked: Any, skip_nan: Any, scale: Any) -> Any:
    total, count = 0.0, 0
    for i in range(block.size):
        kept = is_kept(block, marks, i, masked, skip_nan)
        total += np.float64(block[i]) * scale if kept else 0.0
        count += kept
    return total, max(count, 1)


@strict
def mean_of_block(block: Any, marks: Any, masked: Any, skip_nan: Any) -> Any:
    """Return a finite number near the mean of the elements that count."""
    mean = 0.0
    # Scaled where the sum does not fit.
    for scale in (1.0, _SMALLER):
        total, count = _sum_of_block(block, marks, masked, skip_nan, scale)
        mean = total / count / scale
        if abs(mean) <= LARGEST_NUMBER:
            break
    return maximum(minimum(mean, LARGEST_NUMBER), -LARGEST_NUMBER)


@njit(nogil=True, fastmath={"reassoc", "nsz"})
def _mean_difference(block: Any, marks: Any, masked: Any, shift: Any) -> Any:
    total, count = 0.0, 0
    for i in range(block.size):
        kept = is_kept(block, marks, i, masked, False)
        total += difference(block[i], shift) if kept else 0.0
        count += kept
    return total / max(count, 1)


@strict
def moved(shift: Any, offset: Any) -> Any:
    """Return an integer near ``shift + offset``, as one of 64 bits with a sign."""
    return np.int64(shift) + (np.int64(offset) if abs(offset) < FAR else np.int64(0))


@strict
def whole_mean_of_block(block: Any, marks: Any, masked: Any) -> Any:
    """Return an integer near the mean of the integers that count, as `moved` does."""
    first = 0
    while first < block.size - 1 and not is_kept(block, marks, first, masked, False):
        first += 1
    return moved(block[first], _mean_difference(block, marks, masked, block[first]))


@njit(nogil=True, fastmath={"reassoc", "nsz"})
def _sums_about(
    block: Any, marks: Any, masked: Any, skip_nan: Any, shift: Any, before: Any, after: Any
) -> Any:
    total, squared = 0.0, 0.0
    for i in range(block.size):
        d = difference(np.float64(block[i]) * before, shift * before) * after
        d = d if is_kept(block, marks, i, masked, skip_nan) else 0.0
        total += d
        squared += d * d
    return total, squared


@strict
def about(block: Any, marks: Any, masked: Any, skip_nan: Any, shift: Any, squared: Any) -> Any:
    """Return shift, sum, sum of squares and scale of differences whose squares were lost.

    ``squared`` is what was made of the squares. Those of float32 fit float64.
    """
    before, after = 1.0, 1.0
    if block.itemsize > 4:
        if squared < LEAST_SQUARE:
            after = SCALE
        else:
            before = 1 / SCALE
            shift = mean_of_block(block, marks, masked, skip_nan)
    total, squared = _sums_about(block, marks, masked, skip_nan, shift, before, after)
    return shift, total, squared, before * after


@strict
def moments_of_block(n: Any, shift: Any, total: Any, squared: Any, scale: Any) -> Any:
    """Return the moments of n elements from sums of their scaled differences from a shift."""
    mean = total / n
    # Rounding must not leave less than nothing, of which there is no root.
    left = maximum(squared - total * mean, 0.0)
    tiny, huge = scale > 1, scale < 1
    if not (tiny or huge):
        return shift, mean, 0.0, left, 0.0
    return shift, mean / scale, left if tiny else 0.0, 0.0, left if huge else 0.0


@strict
def merged_moments(count: Any, moments: Any, n: Any, later: Any) -> Any:
    """Return the moments of ``count`` elements and of the n that follow.

    They come and go as tuples: Numba warns of functions that take one kind of state after another.
    """
    if count == 0:
        return later
    shift, offset, tiny, middle, huge = moments
    later_shift, later_offset, later_tiny, later_middle, later_huge = later
    share = n / (count + n)
    weight = count * share
    tiny, middle, huge = tiny + later_tiny, middle + later_middle, huge + later_huge
    delta = difference(later_shift, shift) + (later_offset - offset)
    size = abs(delta)
    if size < LEAST_DIFFERENCE:
        tiny += (delta * SCALE) * (delta * SCALE) * weight
        return shift, offset + delta * share, tiny, middle, huge
    if size <= LARGEST_DIFFERENCE:
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
