"""Means and squared deviations of a block about a shift near its mean.

The mean is kept as ``shift + offset``: what is small keeps more digits. Differences of integers of
64 bits are exact, of whatever size these are, so their shift is an integer as well. Squares are
kept in three ranges, see `ranges`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.device.arithmetic import maximum, minimum, select
from warpladder.reduction.loops.blocks import is_kept
from warpladder.reduction.rules import FAR, LARGEST_NUMBER, LEAST_SQUARE, SCALE
from warpladder.reduction.scalars import difference, loose, strict, strict_inline

__all__ = ["about", "mean_of_block", "moved", "whole_mean_of_block"]

_SMALLER = 2.0**-64


@loose
def _sum_of_block(block: Any, marks: Any, masked: Any, skip_nan: Any, scale: Any) -> Any:
    total, count = 0.0, 0
    for i in range(block.size):
        kept = is_kept(block, marks, i, masked, skip_nan)
        # A loop that skips NaNs by a conditional expression does not become vectors: 4,096 numbers
        # took 5.3 us, now 0.4.
        total += select(kept, np.float64(block[i]) * scale, 0.0)
        count += 1 if kept else 0
    return total, max(count, 1)


@strict_inline
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


@loose
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


@strict_inline
def whole_mean_of_block(block: Any, marks: Any, masked: Any) -> Any:
    """Return an integer near the mean of the integers that count, as `moved` does."""
    first = 0
    while first < block.size - 1 and not is_kept(block, marks, first, masked, False):
        first += 1
    return moved(block[first], _mean_difference(block, marks, masked, block[first]))


@loose
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


@strict_inline
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
