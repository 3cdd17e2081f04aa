"""Exact sums on a GPU: the limbs of `warpladder.reduction.loops.exact`, filled by blocks.

Each thread sums its batches in windows that it moves where its numbers are: float64 in two of 51
bits, see `windows`, numbers of up to 24 bits in four of 22, see `narrow_windows`; the comments of
`warpladder.reduction.loops.exact` say why no bit is lost. What leaves a window, and numbers that do
not fit all, go to limbs in shared memory by atomic additions. At the end of its piece a block
carries, so that 32 bits are in each limb, and adds its limbs to those of the row. Integers add up
to the same sum in any order: the result has the bits that the CPU's has.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, int64, uint32
from numba.cuda import libdevice

from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.device.wide_loads import WIDE_BYTES
from warpladder.reduction.gpu.layout import THREADS, Levels
from warpladder.reduction.gpu.narrow_windows import (
    NARROW_WINDOWS,
    empty_narrow_together,
    narrow_adder,
    place_narrow,
)
from warpladder.reduction.gpu.routes import along_rows
from warpladder.reduction.gpu.walk import SOME, OnDevice, draw_ticket
from warpladder.reduction.gpu.windows import (
    WINDOWS,
    batch_adder,
    empty_together,
    place_windows,
    whole_adder,
)
from warpladder.reduction.loops.exact import ExactSpec
from warpladder.reduction.loops.limbs import SQUARES_WITH_ERRORS, carry, deposit_number

__all__ = ["exact_kernel"]

# Numbers stay in registers until they have found their windows: of float64 fewer.
_BATCH, _SHORT_BATCH = 8, 16
# For four blocks on a multiprocessor. What most batches take fits; for compute capability 10.0 the
# rest spills.
_SHORT_REGISTERS = 64


def has_short_numbers(spec: ExactSpec) -> bool:
    """Tell whether numbers have up to 24 bits, for which there are narrow windows."""
    return spec.values in {"float16", "float32"} and spec.term != "square"


def has_rounded_squares(spec: ExactSpec) -> bool:
    """Tell whether squares are rounded in float64, which holds those of numbers of 26 bits."""
    return np.dtype(spec.values).itemsize > 2 and spec.values != "float32"


def _taker(spec: ExactSpec, size: int, *, some: bool) -> Any:
    is_absolute, is_square = spec.term == "absolute", spec.term == "square"
    has_errors = has_rounded_squares(spec)
    add_batch, add_narrow = batch_adder(size), narrow_adder(size)
    is_short = has_short_numbers(spec)
    real = np.float32 if is_short else np.float64
    is_whole = spec.values in {"int64", "uint64"}
    add_wholes = whole_adder(size, spec.term)
    least, largest = SQUARES_WITH_ERRORS

    @cuda.jit(device=True)
    def take(state, batch, valid, first, width, hop):
        windows, limbs = state
        for j in range(size):
            if some and not (valid >> uint32(j)) & uint32(1):
                batch[j] = 0
        if is_whole:
            add_wholes(windows, limbs, batch)
            return
        numbers = cuda.local.array(size, real)
        for j in range(size):
            numbers[j] = real(batch[j])
            if is_absolute:
                numbers[j] = abs(numbers[j])
        if is_short:
            add_narrow(windows, limbs, numbers)
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
                is_safe = is_safe and (least < square < largest or x == 0)
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
def exact_kernel(
    spec: ExactSpec, limbs: int, levels: Levels | None, leave: Any, *, split: bool
) -> Any:
    """Return the kernel that adds up to ``limbs`` limbs, with what is no number in the last.

    Called as that of `walk.along`; the states are zeros, a line for each row where these are
    ``split``, and are zeros again afterwards. What is left of a row are its limbs, after `carry`,
    in place of its states.
    """
    least = _SHORT_BATCH if has_short_numbers(spec) else _BATCH
    size = max(least, WIDE_BYTES // np.dtype(spec.values).itemsize)
    part = OnDevice(
        WINDOWS, spec.values, spec.masked, spec.skip_nan, size, None,
        _taker(spec, size, some=spec.skip_nan), _taker(spec, SOME, some=spec.skip_nan),
        _taker(spec, SOME, some=True), None,
    )  # fmt: skip
    origin, scan, target = along_rows(part, levels)
    has_errors = spec.term == "square" and has_rounded_squares(spec)

    is_short = has_short_numbers(spec)
    kept = NARROW_WINDOWS if is_short else WINDOWS

    @cached
    @cuda.jit(max_registers=_SHORT_REGISTERS if is_short else None)
    @specialised
    def add_exactly(data, place, mask, mask_place, shape, index, states, tickets, results, option):
        windows = cuda.local.array(2, kept)
        of_block = cuda.shared.array(limbs, np.int64)
        count, inner, length, pieces, piece = shape[:5]
        t = cuda.threadIdx.x
        item = int64(cuda.blockIdx.x)
        while item < count * pieces:
            row = item // pieces
            begin = (item - row * pieces) * piece
            for i in range(t, limbs, THREADS):
                of_block[i] = 0
            if is_short:
                place_narrow(windows)
            else:
                place_windows(windows, 0, int64(0))
                if has_errors:
                    place_windows(windows, 1, int64(0))
            cuda.syncthreads()
            state = (windows, of_block)
            n = min(piece, length - begin)
            scan(
                state, data, origin(place, row, inner), place,
                mask, origin(mask_place, row, inner), mask_place, begin, n, begin, t, THREADS,
            )  # fmt: skip
            if is_short:
                empty_narrow_together(windows, of_block)
            else:
                empty_together(windows, 0, of_block)
                if has_errors:
                    empty_together(windows, 1, of_block)
            cuda.syncthreads()
            if t == 0:
                carry(of_block)
            cuda.syncthreads()
            if not split:
                if t == 0:
                    leave(results, target(place, row), of_block, 0, length, option)
            else:
                for i in range(t, limbs - 1, THREADS):
                    if of_block[i] != 0:
                        cuda.atomic.add(states, (row, i), of_block[i])
                if t == 0 and of_block[limbs - 1] != 0:
                    cuda.atomic.or_(states, (row, limbs - 1), of_block[limbs - 1])
                if draw_ticket(tickets, row, pieces):
                    for i in range(t, limbs, THREADS):
                        of_block[i] = states[row, i]
                        states[row, i] = 0
                    cuda.syncthreads()
                    if t == 0:
                        carry(of_block)
                        leave(results, target(place, row), of_block, 0, length, option)
            # Limbs are read to the end before those of the next piece are cleared.
            cuda.syncthreads()
            item += cuda.gridDim.x

    return add_exactly
