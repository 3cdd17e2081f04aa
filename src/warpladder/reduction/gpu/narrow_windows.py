"""The windows of a thread for numbers of up to 24 bits: float32 in place of float64.

As `windows`, but with 22 bits in a window, so there are four, each 23 bits below the one above. A
batch is summed in 32 bits, which hold 512 such multiples, and its sum goes to one of 64.

Most batches fit the upper two windows: six additions a number, and for all that 64 registers, so
that there is room for 1,024 threads; with float64 there were 512, and numbers to be converted. What
spreads over more than 45 bits goes through all four windows at once, and what is left then to the
limbs. Measured on an H100, as parts of the speed of a plain sum: normally distributed float32 78 %
with float64, 98 % so; float16 31 % and 84 to 95; float32 like ``exp(3 z)``, z normally distributed,
78 % and 92; like ``z exp(9 z)`` 30 % and 37. Since then numbers take another way to the limbs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, int32, int64

from warpladder.device.grids import EVERYBODY, WARP
from warpladder.reduction.gpu.windows import sum_of_warp
from warpladder.reduction.loops.limbs import MINUS, NAN, PLUS, spread
from warpladder.reduction.rules import LOW_WORD
from warpladder.reduction.scalars import mark_at

__all__ = ["NARROW_WINDOWS", "empty_narrow_together", "narrow_adder", "place_narrow"]

# Bits of a window, and from one to the next.
_WINDOW, _STEP = 22, 23
# Float32's last bit: no window stands lower. The first one stands where its constant fits float32
# and the limit is a normal number.
_LAST_BIT = -149
_LOWEST, _HIGHEST = -126, 104
_MAGNITUDE = np.int32(0x7FFFFFFF)
# Windows are moved to leave so many bits of room above a batch, down only by so many at least. With
# room of 2, numbers like exp(z) moved them so often that they took an eighth longer on an H100.
_ROOM, _FAR = 4, 16
# Windows of a warp that stand so many bits apart are emptied together, if a total has so few bits.
_NEAR, _NEAR_TOTAL = 24, 38

NARROW_WINDOWS = np.dtype(
    [
        *((f"total{i}", "i8") for i in range(4)),
        *(("constant", "f4"), ("lower_constant", "f4"), ("limit", "f4")),
        ("scale", "i4"),
    ],
    align=True,
)
"""Where a thread's windows stand and what they hold: of 2^scale, 2^(scale - 23), ... multiples."""


@cuda.jit(device=True)
def _bits_of(number):
    cell = cuda.local.array(1, np.float32)
    bits = cell.view(np.int32)
    cell[0] = number
    return bits[0]


@cuda.jit(device=True)
def _rounded(x, constant):
    """Return the bits of what x makes of a window's constant, and what does not go into it."""
    shifted = x + constant
    return _bits_of(shifted), x - (shifted - constant)


@cuda.jit(device=True)
def _power_of_two(exponent, fraction):
    """Return 2^exponent, or with the fraction's bits set a larger number; it is a normal one."""
    cell = cuda.local.array(1, np.int32)
    number = cell.view(np.float32)
    cell[0] = (exponent + 127) << 23 | fraction
    return number[0]


@cuda.jit(device=True)
def _scale_of(scale, which):
    """Return where a window stands: those that float32 has no bits for stand at its last."""
    return max(int32(scale) - int32(_STEP * which), int32(_LAST_BIT))


@cuda.jit(device=True)
def _constant(scale, which):
    """Return 1.5 * 2^(23 + scale of a window): adding it rounds to multiples of 2^scale."""
    return _power_of_two(_scale_of(scale, which) + int32(23), int32(1) << int32(22))


@cuda.jit(device=True)
def _add(limbs, i, number):
    """Add to a limb, as others may at the same time.

    Shared memory adds 32 bits by itself; of 64 it makes a loop that lasts until nobody else came
    between reading and writing.
    """
    words = limbs.view(np.uint32)
    low, high = np.uint32(number & LOW_WORD), int64(number) >> 32
    if low != 0:
        before = cuda.atomic.add(words, 2 * i, low)
        high += (int64(before) + int64(low)) >> 32
    if high != 0:
        cuda.atomic.add(words, 2 * i + 1, np.uint32(high & LOW_WORD))


@cuda.jit(device=True)
def _deposit(limbs, value, exponent):
    """Add value * 2^exponent, as `deposit` does."""
    i, low, middle, high = spread(limbs, int64(value), int64(exponent))
    _add(limbs, i, low)
    _add(limbs, i + 1, middle)
    if i + 2 < limbs.size - 1:
        _add(limbs, i + 2, high)


@cuda.jit(device=True)
def _deposit_number(limbs, x):
    """Add one number, whatever it is."""
    bits = _bits_of(x)
    exponent, fraction = (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        kind = NAN if fraction != 0 else (MINUS if bits < 0 else PLUS)
        mark_at(limbs, limbs.size - 1, kind)
        return
    if exponent != 0:
        fraction |= 0x800000
    else:
        exponent = 1
    _deposit(limbs, -fraction if bits < 0 else fraction, exponent - 150)


@cuda.jit(device=True)
def place_narrow(windows):
    """Make empty windows, so low that the first batch moves them."""
    row = windows[0]
    row.total0 = row.total1 = row.total2 = row.total3 = 0
    _move(row, int32(_LOWEST))


@cuda.jit(device=True)
def _move(row, scale):
    row.scale = scale
    row.constant, row.lower_constant = _constant(scale, 0), _constant(scale, 1)
    row.limit = _power_of_two(scale + int32(_WINDOW), int32(0))


@cuda.jit(device=True)
def _empty(row, limbs):
    """Add what windows hold to the limbs."""
    for which in range(4):
        total = _total(row, which)
        if total != 0:
            _deposit(limbs, total, _scale_of(row.scale, which))
    row.total0 = row.total1 = row.total2 = row.total3 = 0


@cuda.jit(device=True)
def _total(row, which):
    upper = row.total1 if which == 1 else row.total0
    lower = row.total3 if which == 3 else row.total2
    return lower if which > 1 else upper


@cuda.jit(device=True)
def _lowest_of_warp(value):
    """Return the least of what all lanes have."""
    lanes = WARP // 2
    while lanes:
        value = min(value, cuda.shfl_xor_sync(EVERYBODY, value, lanes))
        lanes //= 2
    return value


@cuda.jit(device=True)
def empty_narrow_together(windows, limbs):
    """Empty the windows of a whole warp, at once where they stand near each other."""
    row = windows[0]
    least = _lowest_of_warp(row.scale)
    is_near = row.scale - least <= _NEAR
    for which in range(4):
        is_near = is_near and abs(_total(row, which)) >> _NEAR_TOTAL == 0
    if cuda.all_sync(EVERYBODY, is_near):
        for which in range(4):
            lowest = _scale_of(least, which)
            total = _total(row, which) << int64(_scale_of(row.scale, which) - lowest)
            if cuda.any_sync(EVERYBODY, total != 0):
                # In halves, so that 32 of them fit.
                low, high = sum_of_warp(total & LOW_WORD), sum_of_warp(total >> 32)
                if cuda.threadIdx.x % WARP == 0:
                    _deposit(limbs, low, lowest)
                    _deposit(limbs, high, lowest + 32)
    else:
        _empty(row, limbs)


@cache
def narrow_adder(size: int) -> Any:
    """Return a device function that adds a batch of float32 to windows, or to limbs."""

    @cuda.jit(device=True)
    def add_spread(row, limbs, numbers, top):
        """Add a batch that does not fit the upper two windows; ``top`` is its largest number."""
        aimed = (_bits_of(top) >> 23) - 126 - _WINDOW + _ROOM
        aimed = int32(min(max(aimed, _LOWEST), _HIGHEST))
        if aimed > row.scale + _ROOM or aimed <= row.scale - _FAR:
            _empty(row, limbs)
            _move(row, aimed)
        c0, c1 = row.constant, row.lower_constant
        c2, c3 = _constant(row.scale, 2), _constant(row.scale, 3)
        sum0 = sum1 = sum2 = sum3 = left = int32(0)
        for j in range(size):
            x = numbers[j]
            # NaN does not fit.
            fits = abs(x) < row.limit
            rest = x if fits else np.float32(0)
            bits0, rest = _rounded(rest, c0)
            bits1, rest = _rounded(rest, c1)
            bits2, rest = _rounded(rest, c2)
            bits3, rest = _rounded(rest, c3)
            sum0, sum1 = int32(sum0 + bits0), int32(sum1 + bits1)
            sum2, sum3 = int32(sum2 + bits2), int32(sum3 + bits3)
            numbers[j] = rest if fits else x
            left |= _bits_of(numbers[j])
        row.total0 += int32(sum0 - size * _bits_of(c0))
        row.total1 += int32(sum1 - size * _bits_of(c1))
        row.total2 += int32(sum2 - size * _bits_of(c2))
        row.total3 += int32(sum3 - size * _bits_of(c3))
        if left & _MAGNITUDE != 0:
            lost = cuda.local.array(size, np.float32)
            for j in range(size):
                lost[j] = numbers[j]
            # As often, but the compiler must not know it: it would write the long body so often.
            for j in range(min(size, cuda.blockDim.x)):
                if lost[j] != 0:
                    _deposit_number(limbs, lost[j])

    @cuda.jit(device=True)
    def add_narrow(windows, limbs, numbers):
        row = windows[0]
        total, rest, left = int32(0), int32(0), int32(0)
        top = np.float32(0)
        for j in range(size):
            x = numbers[j]
            upper, remainder = _rounded(x, row.constant)
            lower, remainder = _rounded(remainder, row.lower_constant)
            total, rest = int32(total + upper), int32(rest + lower)
            # What is not zero here: bits below both, and NaN.
            left |= _bits_of(remainder)
            top = max(top, abs(x))
        if top < row.limit and left & _MAGNITUDE == 0:
            row.total0 += int32(total - size * _bits_of(row.constant))
            row.total1 += int32(rest - size * _bits_of(row.lower_constant))
        else:
            add_spread(row, limbs, numbers, top)

    return add_narrow
