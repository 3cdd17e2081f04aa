"""Means and squared deviations of batches, and merged: `reduction.moments` for a GPU.

Only squares of float64 can leave the range of float64; the three ranges are for them alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, uint32

from warpladder.reduction.blocks import element_type
from warpladder.reduction.moments import (
    FAR,
    LARGEST_DIFFERENCE,
    LARGEST_NUMBER,
    LEAST_DIFFERENCE,
)
from warpladder.reduction.ranges import LEAST_SQUARE, SCALE
from warpladder.reduction.states import LOW_WORD, shift_type

__all__ = ["about_of", "merger_of_moments", "moments_of_batch", "whole_moments_of"]


@cuda.jit(device=True)
def difference(a, b):
    """Return a - b of two floats."""
    return a - b


@cuda.jit(device=True)
def whole_difference(a, b):
    """Return a - b of two integers of 64 bits, in halves that are exact, as the nearest float64."""
    high = np.float64(np.int64(a >> 32) - np.int64(b >> 32))
    return high * 2.0**32 + np.float64(np.int64(a & LOW_WORD) - np.int64(b & LOW_WORD))


@cuda.jit(device=True)
def moments_of_batch(n, shift, total, squared, scale):
    """Return the moments of n elements from sums of their scaled differences from a shift."""
    mean = total / n
    left = squared - total * mean
    # Rounding must not leave less than nothing; NaN stays.
    if left < 0:
        left = 0.0
    tiny, huge = scale > 1, scale < 1
    return (
        shift,
        mean / scale,
        left if tiny else 0.0,
        0.0 if tiny or huge else left,
        left if huge else 0.0,
    )


@cache
def about_of(values: str, size: int, some: bool) -> Any:
    """Return the device function for a batch of floats whose squared differences were lost."""
    may_be_extreme = values == "float64"

    @cuda.jit(device=True)
    def about(batch, valid, shift, squared):
        before, after = 1.0, 1.0
        if may_be_extreme:
            if squared < LEAST_SQUARE:
                after = SCALE
            else:
                before = 1 / SCALE
                shift = min(max(shift, -LARGEST_NUMBER), LARGEST_NUMBER)
        total, squared = 0.0, 0.0
        for j in range(size):
            if not some or (valid >> uint32(j)) & uint32(1):
                d = (np.float64(batch[j]) * before - shift * before) * after
                total += d
                squared += d * d
        return shift, total, squared, before * after

    return about


@cache
def whole_moments_of(values: str, size: int, some: bool) -> Any:
    """Return the device function that gives shift and sums of a batch of integers of 64 bits."""
    element = element_type(values)

    @cuda.jit(device=True)
    def whole_moments(batch, valid, n):
        # A cell of an array keeps its type, where Numba would widen a variable.
        near = cuda.local.array(1, element)
        near[0] = batch[0]
        if some:
            for j in range(size - 1, -1, -1):
                if (valid >> uint32(j)) & uint32(1):
                    near[0] = batch[j]
        total = 0.0
        for j in range(size):
            if not some or (valid >> uint32(j)) & uint32(1):
                total += whole_difference(batch[j], near[0])
        if abs(total / n) < FAR:
            near[0] = np.int64(near[0]) + np.int64(total / n)
        total, squared = 0.0, 0.0
        for j in range(size):
            if not some or (valid >> uint32(j)) & uint32(1):
                d = whole_difference(batch[j], near[0])
                total += d
                squared += d * d
        return near[0], total, squared

    return whole_moments


@cache
def merger_of_moments(values: str) -> Any:
    """Return the device function that merges moments of elements of a dtype, given as tuples."""
    apart = difference if shift_type(values) is np.float64 else whole_difference
    may_be_extreme = values == "float64"

    @cuda.jit(device=True)
    def merge_moments(count, moments, n, later):
        if count == 0:
            return later
        shift, offset, tiny, middle, huge = moments
        later_shift, later_offset, later_tiny, later_middle, later_huge = later
        share = n / (count + n)
        weight = count * share
        tiny, middle, huge = tiny + later_tiny, middle + later_middle, huge + later_huge
        delta = apart(later_shift, shift) + (later_offset - offset)
        size = abs(delta)
        if may_be_extreme and size < LEAST_DIFFERENCE:
            tiny += (delta * SCALE) * (delta * SCALE) * weight
            return shift, offset + delta * share, tiny, middle, huge
        if not may_be_extreme or size <= LARGEST_DIFFERENCE:
            return shift, offset + delta * share, tiny, middle + delta * delta * weight, huge
        # Also where the difference itself has overflowed.
        step = later_shift / SCALE - shift / SCALE
        step += later_offset / SCALE - offset / SCALE
        offset = offset / SCALE + step * share
        huge += step * step * weight
        if abs(offset) > LARGEST_NUMBER / SCALE / 2:
            offset += shift / SCALE
            shift -= shift
        return shift, offset * SCALE, tiny, middle, huge

    return merge_moments
