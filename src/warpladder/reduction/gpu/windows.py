"""The windows of a thread in which numbers are added exactly, and the limbs that take them up.

A window holds multiples of a power of two, 51 bits of them; the second one stands 51 bits lower.
The limbs of a block are in shared memory, see `warpladder.reduction.exact`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, int64

__all__ = [
    "WINDOWS",
    "batch_adder",
    "deposit_number",
    "empty_together",
    "place_windows",
    "short_adder",
    "whole_adder",
]

_LOW_WORD, _PIECE, _MAGNITUDE = 0xFFFFFFFF, 0x3FFFFF, 0x7FFFFFFFFFFFFFFF
_NAN, _PLUS, _MINUS = 1, 2, 4
_WINDOW, _LOWEST, _HIGHEST = 50, -1074, 970
_EVERYBODY = 0xFFFFFFFF

WINDOWS = np.dtype(
    [
        *(("scale", "i8"), ("lower", "i8"), ("total", "i8"), ("rest", "i8")),
        *(("constant", "f8"), ("lower_constant", "f8"), ("limit", "f8")),
    ],
    align=True,
)
"""Where a thread's windows stand and what they hold: multiples of 2^scale and of 2^lower."""


@cuda.jit(device=True)
def bits_of(x):
    """Return the 64 bits of a float64 as an integer."""
    cell = cuda.local.array(1, np.float64)
    bits = cell.view(np.int64)
    cell[0] = x
    return bits[0]


@cuda.jit(device=True)
def float_of(bits):
    """Return the float64 with these 64 bits."""
    cell = cuda.local.array(1, np.int64)
    number = cell.view(np.float64)
    cell[0] = bits
    return number[0]


@cuda.jit(device=True)
def deposit(limbs, value, exponent):
    """Add value * 2^exponent, the value below 2^62, while other threads do so too."""
    position = exponent + 16 * (limbs.size - 1)
    i, shift = position >> 5, position & 31
    low = (value & _LOW_WORD) << shift
    high = (value >> 32) << shift
    cuda.atomic.add(limbs, i, low & _LOW_WORD)
    cuda.atomic.add(limbs, i + 1, (low >> 32) + (high & _LOW_WORD))
    # Near the top of the range the value is small and this is nothing.
    if i + 2 < limbs.size - 1:
        cuda.atomic.add(limbs, i + 2, high >> 32)


@cuda.jit(device=True)
def deposit_number(limbs, x, is_square):
    """Add one number, or its square, whatever it is."""
    bits = bits_of(x)
    exponent = (bits >> 52) & 0x7FF
    fraction = bits & 0xFFFFFFFFFFFFF
    if exponent == 0x7FF:
        kind = int64(_PLUS)
        if bits < 0 and not is_square:
            kind = int64(_MINUS)
        if fraction != 0:
            kind = int64(_NAN)
        cuda.atomic.or_(limbs, limbs.size - 1, kind)
        return
    if exponent != 0:
        fraction |= int64(1) << 52
    else:
        exponent = int64(1)
    exponent -= 1075
    if is_square:
        high, low = fraction >> 27, fraction & 0x7FFFFFF
        deposit(limbs, high * high, 2 * exponent + 54)
        deposit(limbs, 2 * high * low, 2 * exponent + 27)
        deposit(limbs, low * low, 2 * exponent)
    else:
        deposit(limbs, -fraction if bits < 0 else fraction, exponent)


@cuda.jit(device=True)
def constant_at(scale):
    """Return 1.5 * 2^(52 + scale): adding it rounds to multiples of 2^scale."""
    return float_of(((scale + 1075) << 52) | (int64(1) << 51))


@cuda.jit(device=True)
def place_windows(windows, which, scale):
    """Let empty windows stand at a scale."""
    row = windows[which]
    row.scale, row.lower = scale, max(scale - _WINDOW - 1, _LOWEST)
    row.total, row.rest = 0, 0
    row.constant = constant_at(row.scale)
    row.lower_constant = constant_at(row.lower)
    # 2^(scale + 50), below which a number fits; among the least ones a subnormal number.
    power = scale + _WINDOW + 1023
    row.limit = float_of(power << 52) if power > 0 else float_of(int64(1) << (51 + power))


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
        value += cuda.shfl_down_sync(_EVERYBODY, value, lanes)
        lanes //= 2
    return value


@cuda.jit(device=True)
def empty_together(windows, which, limbs):
    """Empty the windows of a whole warp, at once where all stand at the same scale."""
    row = windows[which]
    if cuda.all_sync(_EVERYBODY, row.scale == cuda.shfl_sync(_EVERYBODY, row.scale, 0)):
        # In halves, so that 32 of them fit.
        total_low = sum_of_warp(row.total & _LOW_WORD)
        total_high = sum_of_warp(row.total >> 32)
        rest_low = sum_of_warp(row.rest & _LOW_WORD)
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
                total += bits_of(shifted)
                remainder = x - (shifted - row.constant)
                shifted = remainder + row.lower_constant
                rest += bits_of(shifted)
                left |= bits_of(remainder - (shifted - row.lower_constant))
            if fits and left & _MAGNITUDE == 0:
                row.total += total - size * bits_of(row.constant)
                row.rest += rest - size * bits_of(row.lower_constant)
                return
            if attempt == 1:
                break
            top = int64(0)
            for j in range(size):
                top = max(top, bits_of(numbers[j]) & _MAGNITUDE)
            exponent = (top >> 52) - 1022
            if exponent - _WINDOW > _HIGHEST:
                break
            # With some room above for the next ones.
            aimed = min(max(exponent - _WINDOW + 2, _LOWEST), _HIGHEST)
            if aimed == row.scale:
                break
            empty_windows(windows, which, limbs)
            place_windows(windows, which, aimed)
        for j in range(size):
            deposit_number(limbs, numbers[j], False)

    return add_batch


@cache
def short_adder(size: int) -> Any:
    """Return a device function that adds a batch to the upper window, if all fits that alone.

    Numbers of 24 bits mostly do, in half the operations.
    """

    @cuda.jit(device=True)
    def add_short(windows, numbers, top):
        row = windows[0]
        total, fits = int64(0), top < row.limit
        for j in range(size):
            shifted = numbers[j] + row.constant
            total += bits_of(shifted)
            # Nor does NaN fit.
            fits = fits & (shifted - row.constant == numbers[j])
        if fits:
            row.total += total - size * bits_of(row.constant)
        return fits

    return add_short


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
                a, b = np.int64(v >> 44), np.int64(v >> 22) & _PIECE
                c = np.int64(v & _PIECE)
                sums[0] += a * a
                sums[1] += 2 * a * b
                sums[2] += b * b + 2 * a * c
                sums[3] += 2 * b * c
                sums[4] += c * c
            else:
                sign = int64(-1 if is_absolute and v < 0 else 1)
                sums[0] += sign * np.int64(v >> 32)
                sums[1] += sign * np.int64(v & _LOW_WORD)
        if is_square:
            numbers[0] = np.float64(sums[0]) * 2.0**88
            numbers[1] = np.float64(sums[1]) * 2.0**66
            numbers[2] = np.float64(sums[2]) * 2.0**44
            add_batch(windows, 0, limbs, numbers)
            numbers[0], numbers[1] = np.float64(sums[3]) * 2.0**22, np.float64(sums[4])
            numbers[2] = 0
            add_batch(windows, 1, limbs, numbers)
        else:
            numbers[0], numbers[1] = np.float64(sums[0]) * 2.0**32, np.float64(sums[1])
            add_batch(windows, 0, limbs, numbers)

    return add_wholes
