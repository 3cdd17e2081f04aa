"""Exact sums on a GPU: the limbs of `warpladder.reduction.exact`, filled by blocks.

Each thread sums its batches in two windows, 51 bits each, that it moves where its numbers are; the
comments of the module named say why no bit is lost. What leaves a window, and numbers that do not
fit both, go to limbs in shared memory by atomic additions. At the end a block carries, so that
32 bits are in each limb, and adds its limbs to those of the row. Integers add up to the same sum
in any order: the result has the bits that the CPU's has.

A batch of float64 takes 6 additions for each number, one of float32 that fits the upper window 2:
where a GPU has 64 units for float64 to 128 for float32, registers are what limits (there is room
for half as many threads as memory needs for float32: 2.35 of 4.4 TB/s on an H200, 3.9 for float64);
where it has 2, float64 is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, int64, uint32
from numba.cuda import libdevice

from warpladder.device.wide_loads import WIDE_BYTES
from warpladder.reduction.blocks import element_type
from warpladder.reduction.exact import ExactSpec
from warpladder.reduction.gpu.layout import THREADS
from warpladder.reduction.gpu.walk import SOME, Accumulator, draw_ticket, scanner

__all__ = ["exact_kernel"]

_LOW_WORD, _MAGNITUDE = 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF
_NAN, _PLUS, _MINUS = 1, 2, 4
_WINDOW, _LOWEST, _HIGHEST = 50, -1074, 970
_LEAST_SQUARE, _LARGEST_SQUARE = 2.0**-900, 2.0**1000
_EVERYBODY = 0xFFFFFFFF
# Numbers stay in registers until they have found their windows: as float64, so fewer of them.
_BATCH, _SHORT_BATCH = 8, 16

#: Where a thread's windows stand and what they hold: multiples of 2^scale and of 2^lower.
_WINDOWS = np.dtype(
    [
        *(("scale", "i8"), ("lower", "i8"), ("total", "i8"), ("rest", "i8")),
        *(("constant", "f8"), ("lower_constant", "f8"), ("limit", "f8")),
    ],
    align=True,
)


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
def _batch_adder(size: int) -> Any:
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
def _short_adder(size: int) -> Any:
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


def has_short_numbers(spec: ExactSpec) -> bool:
    """Tell whether most batches fit one window: those of numbers of up to 24 bits."""
    return spec.values in {"float16", "float32"} and spec.term != "square"


def has_rounded_squares(spec: ExactSpec) -> bool:
    """Tell whether squares are rounded in float64, which holds those of numbers of 26 bits."""
    return np.dtype(spec.values).itemsize > 2 and spec.values != "float32"


def _taker(spec: ExactSpec, size: int, *, some: bool) -> Any:
    is_absolute, is_square = spec.term == "absolute", spec.term == "square"
    has_errors = has_rounded_squares(spec)
    add_batch, add_short = _batch_adder(size), _short_adder(size)
    element, is_short = element_type(spec.values), has_short_numbers(spec)

    @cuda.jit(device=True)
    def take(state, batch, valid, first, width, hop):
        windows, limbs = state
        numbers = cuda.local.array(size, np.float64)
        top = cuda.local.array(1, element)
        top[0] = 0
        for j in range(size):
            if some and not (valid >> uint32(j)) & uint32(1):
                batch[j] = 0
            numbers[j] = np.float64(batch[j])
            if is_absolute:
                numbers[j] = abs(numbers[j])
            if is_short:
                top[0] = max(top[0], abs(batch[j]))
        if is_short and add_short(windows, numbers, top[0]):
            return
        if is_square:
            errors = cuda.local.array(size, np.float64)
            squares = cuda.local.array(size, np.float64)
            is_safe = True
            for j in range(size):
                x = numbers[j]
                # Not to be joined with the addition that follows, which would round once only.
                square = libdevice.dmul_rn(x, x)
                squares[j] = square
                if has_errors:
                    errors[j] = libdevice.fma(x, x, -square)
                is_safe = is_safe and (_LEAST_SQUARE < square < _LARGEST_SQUARE or x == 0)
            if is_safe:
                add_batch(windows, 0, limbs, squares)
                if has_errors:
                    add_batch(windows, 1, limbs, errors)
            else:
                for j in range(size):
                    deposit_number(limbs, numbers[j], True)
        else:
            add_batch(windows, 0, limbs, numbers)

    return take


@cache
def exact_kernel(spec: ExactSpec, limbs: int) -> Any:
    """Return the kernel that adds to sums of ``limbs`` limbs, with what is no number in the last.

    Called as that of `walk.along`, but for the index, which it lacks; the states are zeros, a line
    for each row, and are zeros again when the sums are in ``joined``.
    """
    least = _SHORT_BATCH if has_short_numbers(spec) else _BATCH
    size = max(least, WIDE_BYTES // np.dtype(spec.values).itemsize)
    accumulator = Accumulator(
        _WINDOWS, spec.values, spec.masked, spec.skip_nan, size, None,
        _taker(spec, size, some=spec.skip_nan), _taker(spec, SOME, some=True), None,
    )  # fmt: skip
    scan = scanner(accumulator)
    has_errors = spec.term == "square" and has_rounded_squares(spec)

    @cuda.jit(cache=True)
    def add_exactly(data, place, mask, mask_place, shape, states, tickets, joined):
        windows = cuda.local.array(2, _WINDOWS)
        of_block = cuda.shared.array(limbs, np.int64)
        count, length, pieces, piece = shape
        t = cuda.threadIdx.x
        for item in range(cuda.blockIdx.x, count * pieces, cuda.gridDim.x):
            row = item // pieces
            begin = item % pieces * piece
            start = place[0] + row * place[1] + begin * place[2]
            mask_start = mask_place[0] + row * mask_place[1] + begin * mask_place[2]
            for i in range(t, limbs, THREADS):
                of_block[i] = 0
            place_windows(windows, 0, int64(0))
            if has_errors:
                place_windows(windows, 1, int64(0))
            cuda.syncthreads()
            state = (windows, of_block)
            n = min(piece, length - begin)
            scan(state, data, start, place[2], mask, mask_start, mask_place[2], n, begin)
            empty_together(windows, 0, of_block)
            if has_errors:
                empty_together(windows, 1, of_block)
            cuda.syncthreads()
            if t == 0:
                carried = int64(0)
                for i in range(limbs - 2):
                    word = of_block[i] + carried
                    carried = word >> 32
                    of_block[i] = word & _LOW_WORD
                of_block[limbs - 2] += carried
            cuda.syncthreads()
            for i in range(t, limbs - 1, THREADS):
                if of_block[i] != 0:
                    cuda.atomic.add(states, (row, i), of_block[i])
            if t == 0 and of_block[limbs - 1] != 0:
                cuda.atomic.or_(states, (row, limbs - 1), of_block[limbs - 1])
            if draw_ticket(tickets, row, pieces):
                for i in range(t, limbs, THREADS):
                    joined[row, i] = states[row, i]
                    states[row, i] = 0

    return add_exactly
