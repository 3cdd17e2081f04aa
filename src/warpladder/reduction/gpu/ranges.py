"""Products kept as a number of moderate size times a power of two: `reduction.ranges` for a GPU."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, uint32

from warpladder.reduction.ranges import (
    LARGEST_FACTOR,
    LARGEST_PRODUCT,
    LEAST_FACTOR,
    LEAST_PRODUCT,
    SCALE,
    STEP,
)

__all__ = ["multiplier", "passes", "times"]


@cuda.jit(device=True)
def tamed(x):
    """Return a number of moderate size, and the power of two that x is of it."""
    size = abs(x)
    if size > LARGEST_FACTOR:
        return x / SCALE, STEP
    if size < LEAST_FACTOR and x != 0:
        return x * SCALE, -STEP
    return x, 0


@cuda.jit(device=True)
def passes(product, factor):
    """Tell whether a product of elements can stand for them."""
    size = abs(factor)
    return LEAST_PRODUCT <= size <= LARGEST_PRODUCT or (product == 0 and size < math.inf)


@cuda.jit(device=True)
def times(product, exponent, factor, more):
    """Return ``product * 2^exponent`` times ``factor * 2^more``, in the same form."""
    factor, step = tamed(factor)
    product, other = tamed(product * factor)
    return product, exponent + more + step + other


@cache
def multiplier(size: int, some: bool) -> Any:
    """Return a device function that multiplies by a batch whose own product is out of range."""

    @cuda.jit(device=True)
    def multiplied(batch, valid, product, exponent):
        for j in range(size):
            if not some or (valid >> uint32(j)) & uint32(1):
                product, exponent = times(product, exponent, np.float64(batch[j]), 0)
        return product, exponent

    return multiplied
