"""Means and squared deviations of batches: `reduction.loops.moments` for a GPU.

Only squares of float64 can leave the range of float64; the three ranges are for them alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, uint32

from warpladder.reduction.loops.blocks import element_type
from warpladder.reduction.rules import FAR, LARGEST_NUMBER, LEAST_SQUARE, SCALE
from warpladder.reduction.scalars import difference

__all__ = ["about_of", "whole_moments_of"]


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
                total += difference(batch[j], near[0])
        if abs(total / n) < FAR:
            near[0] = np.int64(near[0]) + np.int64(total / n)
        total, squared = 0.0, 0.0
        for j in range(size):
            if not some or (valid >> uint32(j)) & uint32(1):
                d = difference(batch[j], near[0])
                total += d
                squared += d * d
        return near[0], total, squared

    return whole_moments
