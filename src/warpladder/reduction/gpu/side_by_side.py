"""The kernels for rows that lie side by side, as the columns of a matrix do.

In `across` a warp reads as many rows as it has threads, and the warps of a block take turns with
the elements. Where rows are short, or so many that there is a thread for each, nothing is merged,
and what is left of the time is waiting for loads of one element each, with as many on their way as
there are registers for. There `alone` gives a thread several rows: a load of 16 bytes brings an
element of each. Every row is added up in the same order, so the bits are the same. Sums of 8 x
2,000,000 float32 over the rows, queued, took an H200 32 us by `across`, and take 21 by `alone`; of
float16 29 and 20.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, int32, uint32, uint64

from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.device.wide_loads import WIDE_BYTES, address_of, load_16_bytes
from warpladder.reduction.blocks import element_type
from warpladder.reduction.gpu.layout import THREADS, Matrix, beginning
from warpladder.reduction.gpu.pieces import Pieces
from warpladder.reduction.gpu.walk import SOME, OnDevice, draw_ticket, state_copier, unpacker

__all__ = ["THREADS_WITH_ROWS", "across", "alone", "rows_of_thread"]

THREADS_WITH_ROWS = 128
"""In a block: they need up to 212 registers each; with more of them many would be left over."""

# Bytes of the states of a thread's rows, by their number; with more, registers are spilled. The
# least state has 16, too many for the 16 rows of one-byte elements.
_MOST_BYTES = {2: 192, 4: 192, 8: 128, 16: 128}
# Fewer blocks would leave multiprocessors of a large GPU without any.
_LEAST_BLOCKS = 128


def rows_of_thread(part: OnDevice, matrix: Matrix, pieces: Pieces) -> int:
    """Return how many rows a thread has in `alone`, as many as a wide load has elements.

    1 for rows that are for other kernels.
    """
    values, mask, count, _, inner, _ = matrix
    width = WIDE_BYTES // np.dtype(part.values).itemsize
    # Not where several threads share a row: 64 x 64,000 float32 so took an H100 8.4 us, by `across`
    # 6.5.
    has_whole_rows = pieces.is_across and pieces.each == 1 and pieces.threads == THREADS
    if not has_whole_rows or mask or part.skip_nan or values.pitch != 1:
        return 1
    # What is a multiple of 16 bytes apart is aligned if the first is.
    groups = (inner, values.outer) if inner else ()
    if any(distance % width for distance in (count, values.step, *groups)):
        return 1
    is_small = width * part.dtype.itemsize <= _MOST_BYTES[width]
    is_many = count >= _LEAST_BLOCKS * THREADS_WITH_ROWS * width
    return width if is_small and is_many else 1


@cache
def across(part: OnDevice, leave: Any, registers: int | None = None) -> Any:
    """Return the kernel in which a block has a strip of rows side by side, or a piece of it.

    Called as that of `walk.along`, but the last number of the shape is the logarithm of how many
    rows a strip has, and there is a ticket for each strip. So many threads read neighbouring
    elements of a strip's rows; groups of them take turns with the elements, and what the groups
    have seen is merged in shared memory.
    """
    dtype, values, masked, skip_nan, _, reset, _, take_few, take_some, merge = part
    element, copy = element_type(values), state_copier(dtype)
    counts_all = not masked and not skip_nan

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
        few = cuda.local.array(SOME, element)
        of_threads = cuda.shared.array(THREADS, dtype)
        count, inner, length, pieces, piece = shape[:5]
        bits, t = int32(shape[5]), cuda.threadIdx.x
        strip, group, groups = int32(1) << bits, t >> bits, THREADS >> bits
        column = t & (strip - 1)
        items = ((count + strip - 1) >> bits) * pieces
        for item in range(cuda.blockIdx.x, items, cuda.gridDim.x):
            number, begin = item, 0
            if pieces > 1:
                number = item // pieces
                begin = (item - number * pieces) * piece
            row = (number << bits) + column
            n = min(piece, length - begin) if row < count else 0
            start = beginning(place, row, inner) + begin * place[2]
            mask_start = beginning(mask_place, row, inner) + begin * mask_place[2]
            reset(state)
            hop = uint64(groups * place[2])
            for i in range(group, n, SOME * groups):
                if counts_all and i + (SOME - 1) * groups < n:
                    # Additions: of so few elements, half of the time went into multiplying.
                    where = uint64(start + i * place[2])
                    for j in range(SOME):
                        few[j] = data[where]
                        where += hop
                    take_few(state, few, uint32(0), index + begin + i, 1, groups)
                    continue
                valid = uint64(0)
                for j in range(SOME):
                    at = i + j * groups
                    counts = at < n
                    if masked and counts:
                        counts = mask[uint64(mask_start + at * mask_place[2])] != 0
                    few[j] = 0
                    if counts:
                        few[j] = data[uint64(start + at * place[2])]
                        if not skip_nan or few[j] == few[j]:
                            valid |= uint32(1) << uint32(j)
                take_some(state, few, valid, index + begin + i, 1, groups)
            if groups == 1 and pieces == 1:
                # Nobody to merge with, so nobody to wait for.
                if row < count:
                    leave(results, row, state, 0, length, option)
                continue
            copy(of_threads, t, state, 0)
            merge_groups(of_threads, strip)
            if pieces == 1:
                if group == 0 and row < count:
                    leave(results, row, of_threads, t, length, option)
            else:
                if group == 0:
                    copy(states, item * strip + column, of_threads, t)
                if draw_ticket(tickets, number, pieces):
                    first = number * pieces * strip
                    merge_pieces(states, of_threads, first, bits, pieces)
                    if group == 0 and row < count:
                        leave(results, row, states, first + column, length, option)
            cuda.syncthreads()

    return reduce_across


def _for_each(width: int, make: Any) -> Any:
    """Return a device function that does for each row what ``make(row)`` does.

    A loop over so much would not be unrolled, and states would be in memory.
    """
    act: Any = _do_nothing
    for row in reversed(range(width)):
        act = _one_after_another(make(row), act)
    return act


@cuda.jit(device=True)
def _do_nothing(states, source, first):
    pass


def _one_after_another(act: Any, other: Any) -> Any:
    @cuda.jit(device=True)
    def both(states, source, first):
        act(states, source, first)
        other(states, source, first)

    return both


def _loader(part: OnDevice, width: int) -> Any:
    """Return ``load(data, where, step, batch)``: element j of row c is ``batch[j * width + c]``."""
    itemsize = np.dtype(part.values).itemsize
    unpack = unpacker(width)

    @cuda.jit(device=True)
    def load(data, where, step, batch):
        begin = uint64(address_of(data)) + where * uint64(itemsize)
        if begin & uint64(WIDE_BYTES - 1) == 0:
            for j in range(SOME):
                unpack(load_16_bytes(data, where), batch, j * width)
                where += step
            return
        for j in range(SOME):
            for c in range(width):
                # Numba asks of a signed index whether it counts from the end.
                batch[j * width + c] = data[where + uint64(c)]
            where += step

    return load


def _taker(part: OnDevice, width: int) -> Any:
    """Return ``take(states, batch, first)`` for what is loaded of all rows."""
    element, dtype, take_few = element_type(part.values), part.dtype, part.take_few

    def of_row(row: int) -> Any:
        @cuda.jit(device=True)
        def take(states, batch, first):
            state = cuda.local.array(1, dtype)
            few = cuda.local.array(SOME, element)
            for j in range(SOME):
                few[j] = batch[j * width + row]
            state[0] = states[row]
            take_few(state, few, uint32(0), first, 1, 1)
            states[row] = state[0]

        return take

    return _for_each(width, of_row)


def _rest_taker(part: OnDevice, width: int) -> Any:
    """Return ``take(states, (data, where, step, left), first)`` for fewer elements than `SOME`."""
    element, dtype, take_some = element_type(part.values), part.dtype, part.take_some

    def of_row(row: int) -> Any:
        @cuda.jit(device=True)
        def take(states, source, first):
            data, where, step, left = source
            state = cuda.local.array(1, dtype)
            few = cuda.local.array(SOME, element)
            valid = uint64(0)
            for j in range(SOME):
                few[j] = 0
                if j < left:
                    few[j] = data[uint64(where + j * step + row)]
                    valid |= uint32(1) << uint32(j)
            state[0] = states[row]
            take_some(state, few, valid, first, 1, 1)
            states[row] = state[0]

        return take

    return _for_each(width, of_row)


@cache
def alone(part: OnDevice, leave: Any, width: int) -> Any:
    """Return the kernel in which a thread has so many rows, as `rows_of_thread` says.

    Called as that of `walk.along`; of the shape only the number of rows, of those in a group and
    their length matter here.
    """
    dtype, element, reset = part.dtype, element_type(part.values), part.reset
    in_batch = SOME * width
    load, take, take_rest = _loader(part, width), _taker(part, width), _rest_taker(part, width)

    @cached
    @cuda.jit
    def reduce_alone(data, place, mask, mask_place, shape, index, states, tickets, results, option):
        of_rows = cuda.local.array(width, dtype)
        batch = cuda.local.array(in_batch, element)
        count, inner, length = shape[:3]
        step = place[2]
        whole = length - length % SOME
        for row in range(cuda.grid(1) * width, count, cuda.gridsize(1) * width):
            where = beginning(place, row, inner)
            reset(of_rows)
            for c in range(1, width):
                of_rows[c] = of_rows[0]
            for i in range(0, whole, SOME):
                load(data, uint64(where + i * step), uint64(step), batch)
                take(of_rows, batch, index + i)
            if whole < length:
                take_rest(
                    of_rows, (data, where + whole * step, step, length - whole), index + whole
                )
            for c in range(width):
                leave(results, row + c, of_rows, c, length, option)

    return reduce_alone
