"""The windows of a thread in which numbers are added exactly, and the limbs that take them up.

A window holds multiples of a power of two, 51 bits of them; the second one stands 51 bits lower.
The limbs of a block are in shared memory, see `warpladder.reduction.loops.exact`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, int64

from warpladder.device.grids import EVERYBODY
from warpladder.reduction.loops.limbs import (
    HIGHEST,
    LOWEST,
    MAGNITUDE,
    WINDOW,
    deposit,
    deposit_number,
    halves,
    scale_for,
    square_pieces,
    window_constant,
)
from warpladder.reduction.rules import LOW_WORD
from warpladder.reduction.scalars import as_bits, as_float

__all__ = [
    "WINDOWS",
    "batch_adder",
    "empty_together",
    "place_windows",
    "sum_of_warp",
    "whole_adder",
]


WINDOWS = np.dtype(
    [
        *(("scale", "i8"), ("lower", "i8"), ("total", "i8"), ("rest", "i8")),
        *(("constant", "f8"), ("lower_constant", "f8"), ("limit", "f8")),
    ],
    align=True,
)
"""Where a thread's windows stand and what they hold: multiples of 2^scale and of 2^lower."""


@cuda.jit(device=True)
def place_windows(windows, which, scale):
    """Let empty windows stand at a scale."""
    row = windows[which]
    row.scale, row.lower = scale, max(scale - WINDOW - 1, LOWEST)
    row.total, row.rest = 0, 0
    row.constant = window_constant(row.scale)
    row.lower_constant = window_constant(row.lower)
    # 2^(scale + 50), below which a number fits; among the least ones a subnormal number.
    power = scale + WINDOW + 1023
    row.limit = as_float(power << 52) if power > 0 else as_float(int64(1) << (51 + power))


@cuda.jit(device=True)
def empty_windows(windows, which, limbs):
    """Add what windows hold to the limbs."""
    row = windows[which]
    deposit(limbs, row.total, row.scale)
    deposit(limbs, row.rest, row.lower)
    row.total, row.rest = 0, 0


@cuda.jit(device=True)
def sum_of_warp(value):
    """Return, to the first lane, the sum of what all have."""
    lanes = 16
    while lanes:
        value += cuda.shfl_down_sync(EVERYBODY, value, lanes)
        lanes //= 2
    return value


@cuda.jit(device=True)
def empty_together(windows, which, limbs):
    """Empty the windows of a whole warp, at once where all stand at the same scale."""
    row = windows[which]
    if cuda.all_sync(EVERYBODY, row.scale == cuda.shfl_sync(EVERYBODY, row.scale, 0)):
        # In halves, so that 32 of them fit.
        total_low = sum_of_warp(row.total & LOW_WORD)
        total_high = sum_of_warp(row.total >> 32)
        rest_low = sum_of_warp(row.rest & LOW_WORD)
        rest_high = sum_of_warp(row.rest >> 32)
        if cuda.threadIdx.x % 32 == 0:
            deposit(limbs, total_low, row.scale)
            deposit(limbs, total_high, row.scale + 32)
            deposit(limbs, rest_low, row.lower)
            deposit(limbs, rest_high, row.lower + 32)
    else:
        empty_windows(windows, which, limbs)


@cache
def batch_adder(size: int) -> Any:
    """Return a device function that adds a batch of float64 to windows, or to limbs."""

    @cuda.jit(device=True)
    def add_batch(windows, which, limbs, numbers):
        row = windows[which]
        for attempt in range(3):
            total, rest, left, fits = int64(0), int64(0), int64(0), True
            for j in range(size):
                x = numbers[j]
                fits = fits and abs(x) < row.limit
                shifted = x + row.constant
                total += as_bits(shifted)
                remainder = x - (shifted - row.constant)
                shifted = remainder + row.lower_constant
                rest += as_bits(shifted)
                left |= as_bits(remainder - (shifted - row.lower_constant))
            if fits and left & MAGNITUDE == 0:
                row.total += total - size * as_bits(row.constant)
                row.rest += rest - size * as_bits(row.lower_constant)
                return
            if attempt == 1:
                break
            top = int64(0)
            for j in range(size):
                top = max(top, as_bits(numbers[j]) & MAGNITUDE)
            exponent = (top >> 52) - 1022
            if exponent - WINDOW > HIGHEST:
                break
            # With some room above for the next ones.
            aimed = scale_for(exponent)
            if aimed == row.scale:
                break
            empty_windows(windows, which, limbs)
            place_windows(windows, which, aimed)
        for j in range(size):
            deposit_number(limbs, numbers[j], False)

    return add_batch


@cache
def whole_adder(size: int, term: str) -> Any:
    """Return a device function that adds a batch of integers of 64 bits, or what `term` says.

    They are summed in pieces, in integers. What comes of a batch is exact in float64, and the two
    windows hold it.
    """
    is_absolute, is_square = term == "absolute", term == "square"
    add_batch = batch_adder(size)

    @cuda.jit(device=True)
    def add_wholes(windows, limbs, batch):
        numbers = cuda.local.array(size, np.float64)
        sums = cuda.local.array(5, np.int64)
        for k in range(5):
            sums[k] = 0
        for j in range(size):
            numbers[j] = 0.0
            v = batch[j]
            if is_square:
                pieces = square_pieces(v)
                sums[0] += pieces[0]
                sums[1] += pieces[1]
                sums[2] += pieces[2]
                sums[3] += pieces[3]
                sums[4] += pieces[4]
            else:
                high, low = halves(v, is_absolute)
                sums[0] += high
                sums[1] += low
        if is_square:
            numbers[0] = np.float64(sums[0]) * 2.0**88
            numbers[1] = np.float64(sums[1]) * 2.0**67
            numbers[2] = np.float64(sums[2]) * 2.0**44
            add_batch(windows, 0, limbs, numbers)
            numbers[0], numbers[1] = np.float64(sums[3]) * 2.0**23, np.float64(sums[4])
            numbers[2] = 0
            add_batch(windows, 1, limbs, numbers)
        else:
            numbers[0], numbers[1] = np.float64(sums[0]) * 2.0**32, np.float64(sums[1])
            add_batch(windows, 0, limbs, numbers)

    return add_wholes
