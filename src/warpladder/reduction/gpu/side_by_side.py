"""The kernel in which a thread has several rows that lie side by side, from end to end.

Where rows are short, or so many that there is a thread for each, `walk.across` has nobody to merge
with. What is left of its time is waiting for loads of one element each, with as many on their way
as there are registers for. Here a load of 16 bytes brings an element of several rows. Every row is
added up in the order of `walk.across`: the bits are the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, uint32, uint64

from warpladder.device.kernel_cache import cached
from warpladder.device.wide_loads import WIDE_BYTES, address_of, load_16_bytes
from warpladder.reduction.blocks import element_type
from warpladder.reduction.gpu.layout import THREADS, Matrix, beginning
from warpladder.reduction.gpu.pieces import Pieces
from warpladder.reduction.gpu.walk import SOME, OnDevice, unpacker

__all__ = ["THREADS_WITH_ROWS", "rows_of_thread", "side_by_side"]

THREADS_WITH_ROWS = 128
"""In a block: they need up to 212 registers each; with more of them many would be left over."""

# Bytes of the states of a thread's rows, by their number; with more, registers are spilled.
_MOST_BYTES = {2: 192, 4: 192, 8: 128, 16: 128}
# Fewer blocks would leave multiprocessors of a large GPU without any.
_LEAST_BLOCKS = 128


def rows_of_thread(part: OnDevice, matrix: Matrix, pieces: Pieces) -> int:
    """Return how many rows a thread has: as many as a wide load has elements, else 1.

    1 wherever this kernel is not for such rows.
    """
    values, mask, count, _, inner, _ = matrix
    width = WIDE_BYTES // np.dtype(part.values).itemsize
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
def side_by_side(part: OnDevice, leave: Any, width: int) -> Any:
    """Return the kernel in which a thread has so many rows, as `rows_of_thread` says.

    Called as that of `walk.along`; of the shape only the number of rows, of those in a group and
    their length matter here.
    """
    dtype, element, reset = part.dtype, element_type(part.values), part.reset
    in_batch = SOME * width
    load, take, take_rest = _loader(part, width), _taker(part, width), _rest_taker(part, width)

    @cached
    @cuda.jit
    def reduce_side_by_side(
        data, place, mask, mask_place, shape, index, states, tickets, results, option
    ):
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

    return reduce_side_by_side
