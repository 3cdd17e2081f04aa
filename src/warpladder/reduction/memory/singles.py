"""Elements that lie alone, every so many-th of an array, put together.

The compiler reads them one by one, or by gathers, which takes as long. Where their distance is a
constant, a vector's elements are sorted by shuffles of vectors that lie side by side. Every second
of 131,072 elements are put together so by one thread of a Xeon in 22 us (float32) and 17 (int16),
one by one in 37 and 34.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from warpladder.device.kernel_cache import cached
from warpladder.device.llvm import LANE, data_of, vector_at
from warpladder.device.subroutines import subroutine
from warpladder.device.words import place_of

__all__ = ["LINE_BYTES", "before_line", "bytes_of_one", "take_from", "take_lines", "take_singles"]

LINE_BYTES = 64
"""Bytes of a line of the caches."""

# Bytes that take as long as an element that lies alone, at the least: to copy 65,536 float32 of
# which every second one counts took 19 us, of eight times as many 60.
_ONE_BYTES = 16
# The largest distance that is a constant of the code (`benchmarks/choices.py`: `elements-sorted`).
_MOST_CONSTANT = 4
# Lines' worth of elements of which the first are taken one by one, so that the others' lines are
# read one at a time.
_LEAST_LINES = 16
# Vectors of elements that one of many lines has, at the least, to be taken by vectors
# (`benchmarks/choices.py`: `elements-by-vectors`).
_LEAST_VECTORS = 4


def bytes_of_one(skip: int) -> int:
    """Return how many bytes take as long as an element that lies alone, so far from the next."""
    return min(max(skip, _ONE_BYTES), LINE_BYTES)


def _taking(step: int, first: int) -> Any:
    """Return what takes a line's worth of elements of which every step-th counts, from one on."""

    @intrinsic
    def take(typingctx, there, to, data, at):
        lanes = LINE_BYTES * 8 // there.dtype.bitwidth
        places = [first + step * lane for lane in range(lanes)]
        order = ir.Constant(ir.VectorType(LANE, lanes), places)

        def codegen(context, builder, signature, args):
            into, given = (data_of(context, builder, signature, args, which) for which in (0, 2))
            kind = ir.VectorType(given.type.pointee, step * lanes)
            whole = builder.load(vector_at(builder, given, args[3], kind), align=1)
            some = builder.shuffle_vector(whole, ir.Constant(kind, ir.Undefined), order)
            builder.store(some, vector_at(builder, into, args[1], some.type), align=1)
            return context.get_dummy_value()

        return types.void(there, types.intp, data, types.intp), codegen

    return take


_second, _third, _fourth = (_taking(step, 0) for step in (2, 3, 4))
# Of the last ones nothing behind them is read.
_last_second, _last_third, _last_fourth = (_taking(step, step - 1) for step in (2, 3, 4))


@subroutine
def before_line(place: Any, step: Any, itemsize: Any) -> Any:
    """Return how many of the elements that count lie before one that begins a line of the caches.

    The first lies at an address. It is 0 where none of as many as a line holds begins one.
    """
    for lane in range(LINE_BYTES // itemsize):
        if (place + lane * step * itemsize) % LINE_BYTES == 0:
            return lane
    return 0


@cached
@njit(nogil=True)
def take_singles(there, data, step):
    """Copy every step-th element."""
    take_from(there, 0, there.size, data, 0, step)


@cached
@njit(nogil=True)
def take_lines(there, data, lines, side, pitch, step):
    """Copy every step-th element of so many lines, ``side`` of each, that are a pitch apart."""
    is_short = side < _LEAST_VECTORS * (LINE_BYTES // there.itemsize)
    for line in range(lines):
        if is_short:
            _take_each(there, line * side, side, data, line * pitch, step)
        else:
            take_from(there, line * side, side, data, line * pitch, step)


@subroutine
def take_from(there: Any, to: Any, size: Any, data: Any, at: Any, step: Any) -> None:
    """Copy so many elements, of which each is ``step`` behind the last: ``data[at + i * step]``.

    They come to be ``there[to + i]``.
    """
    lanes, itemsize, done = LINE_BYTES // there.itemsize, there.itemsize, 0
    if 2 <= step <= _MOST_CONSTANT and size > lanes:
        if size >= _LEAST_LINES * lanes:
            done = before_line(place_of(data) + at * itemsize, step, itemsize)
            _take_each(there, to, done, data, at, step)
        # The last line's worth is taken by itself, perhaps for the second time.
        last = size - lanes
        last_at = at + last * step - (step - 1)
        if step == 2:
            for i in range(done, last, lanes):
                _second(there, to + i, data, at + i * step)
            _last_second(there, to + last, data, last_at)
        elif step == 3:
            for i in range(done, last, lanes):
                _third(there, to + i, data, at + i * step)
            _last_third(there, to + last, data, last_at)
        else:
            for i in range(done, last, lanes):
                _fourth(there, to + i, data, at + i * step)
            _last_fourth(there, to + last, data, last_at)
        return
    _take_each(there, to, size, data, at, step)


@subroutine
def _take_each(there: Any, to: Any, size: Any, data: Any, at: Any, step: Any) -> None:
    # Indices without a sign are not asked whether they count from the end.
    into, place, apart = np.uintp(to), np.uintp(at), np.uintp(step)
    for i in range(size):
        there[into + np.uintp(i)] = data[place]
        place += apart
