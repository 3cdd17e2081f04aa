"""The kernel for rows that lie side by side, as the columns of a matrix do.

A warp reads neighbouring elements of neighbouring rows. Where a row has several threads, groups of
a block take turns with its elements, and what they have seen is merged in shared memory; where it
has more than one piece, the block that finishes the last one merges the pieces.

Where rows are short, what costs is not reading them but all else that a thread does. So rows that
have a thread each, rows that have several and rows of several pieces have kernels of their own: the
first needs 40 registers for a sum of float32, one for all needed 64. And loops are ``while`` loops:
Numba begins a ``range`` whose step it does not know with a division of 64 bits. Sums of
64 x 64,000 float32 over the rows so take an H100 3.8 us, and took 6.6; of 1,000 x 4,096, with
threads at a row and pieces as `pieces` has them now, 4.8, and took 13.2. Threads that had several
rows each, by loads of 16 bytes, did no better: standard deviations of 8 x 2,000,000 float32 took
47 us so and take 29, sums 25 and 25.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, int32, int64

from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.reduction.gpu.layout import THREADS
from warpladder.reduction.gpu.walk import SOME, OnDevice, draw_ticket, state_copier

__all__ = ["across"]

_BITS = THREADS.bit_length() - 1


@cache
def across(
    part: OnDevice, leave: Any, route: Any, registers: int | None = None,
    *, alone: bool, split: bool,
) -> Any:  # fmt: skip
    """Return the kernel in which a block has a strip of rows side by side, or a piece of it.

    Called as that of `walk.along`, but the last number of the shape is the logarithm of how many
    rows a strip has, and there is a ticket for each strip. A thread is ``alone`` if it has a row of
    its own, all of it; strips are ``split`` if they have several pieces.
    """
    dtype, reset, merge = part.dtype, part.reset, part.merge
    copy, (origin, scan, target) = state_copier(dtype), route

    @cuda.jit(device=True)
    def reset_at(of_threads, t):
        state = cuda.local.array(1, dtype)
        reset(state)
        copy(of_threads, t, state, 0)

    @cuda.jit(device=True)
    def merge_groups(of_threads, strip):
        t = cuda.threadIdx.x
        cuda.syncthreads()
        half = THREADS // 2
        while half >= strip:
            if t < half:
                merge(of_threads, t, of_threads, t + half)
            cuda.syncthreads()
            half //= 2

    @cuda.jit(device=True)
    def merge_pieces(states, of_threads, first, bits, left):
        """Merge the states of neighbouring pieces, some for each group at a time."""
        t = cuda.threadIdx.x
        strip, group, groups = int32(1) << bits, t >> bits, THREADS >> bits
        column = t & (strip - 1)
        while left > 1:
            chunks = -(-left // (SOME * groups))
            for chunk in range(chunks):
                begin = (chunk * groups + group) * SOME
                reset_at(of_threads, t)
                for piece in range(begin, min(begin + SOME, left)):
                    merge(of_threads, t, states, first + piece * strip + column)
                merge_groups(of_threads, strip)
                if group == 0:
                    copy(states, first + chunk * strip + column, of_threads, t)
                cuda.syncthreads()
            left = chunks

    @cached
    @cuda.jit(max_registers=registers)
    @specialised
    def reduce_across(
        data, place, mask, mask_place, shape, index, states, tickets, results, option
    ):
        state = cuda.local.array(1, dtype)
        count, inner, length, pieces, piece = shape[:5]
        t = cuda.threadIdx.x
        bits, strip, column, group, groups = _BITS, THREADS, t, int32(0), 1
        if not alone:
            of_threads = cuda.shared.array(THREADS, dtype)
            bits = int32(shape[5])
            # Of Numba 32 bits and 32 bits make 64.
            strip, column = int32(1 << bits), int32(t & ((1 << bits) - 1))
            group, groups = int32(t >> bits), int32(THREADS >> bits)
        items = (count + strip - 1) >> bits
        if split:
            items *= pieces
        item = int64(cuda.blockIdx.x)
        while item < items:
            number, begin = item, int64(0)
            if split:
                number = item // pieces
                begin = (item - number * pieces) * piece
            row = (number << bits) + column
            n = int32(min(piece, length - begin) if row < count else 0)
            reset(state)
            scan(
                state, data, origin(place, row, inner), place,
                mask, origin(mask_place, row, inner), mask_place,
                begin, n, index + begin, group, groups,
            )  # fmt: skip
            if alone:
                if row < count:
                    leave(results, target(place, row), state, 0, length, option)
            else:
                copy(of_threads, t, state, 0)
                merge_groups(of_threads, strip)
                if not split:
                    if group == 0 and row < count:
                        leave(results, target(place, row), of_threads, t, length, option)
                else:
                    if group == 0:
                        copy(states, item * strip + column, of_threads, t)
                    if draw_ticket(tickets, number, pieces):
                        first = number * pieces * strip
                        merge_pieces(states, of_threads, first, bits, pieces)
                        if group == 0 and row < count:
                            leave(
                                results, target(place, row), states, first + column, length, option
                            )
                cuda.syncthreads()
            item += cuda.gridDim.x

    return reduce_across
