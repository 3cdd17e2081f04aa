"""Operands of the CPU engine's products, laid down as register tiles read them.

A tile reads its operands front to back: ``left`` in *strips* of a few rows and ``right`` in strips
of a few vectors, k by k. With next hops, sums are looked for once more where a distance fell; for
that each row of ``left`` and each column of ``right`` also lies there as one piece, ``panel``
numbers apart, as do the next hops of both. So an operand is three arrays, of which the last two
hold nothing where next hops are not wanted (one has room for a run).
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from warpladder.device.kernel_cache import cached
from warpladder.device.llvm import LANE, data_of, vector_at
from warpladder.device.stretches import copy_stretch, row_stretch, stretch
from warpladder.device.subroutines import subroutine
from warpladder.shortest_paths.cpu_tiles.tiles import RUN, tile_columns, tile_rows, tile_shape
from warpladder.shortest_paths.cpu_tiles.transposed import SIDE, Square, turn

__all__ = ["make_operand", "on_lines", "operand", "pack_left", "pack_right", "round_up"]


_LINE = 64
"""Bytes of a line of the caches."""


@subroutine
def operand(matrix, carry, size):
    """Return room for an operand of so many numbers."""
    dist, hops = matrix
    kept = size if carry is not None else 0
    # What is behind the last is read with the last run.
    return (
        np.empty(size, dist.dtype),
        on_lines(kept + RUN, dist.dtype),
        np.empty(kept, hops.dtype),
    )


@subroutine
def on_lines(size, dtype):
    """Return room for numbers that starts with a line of the caches, as vectors of it do then."""
    room = np.empty(size + _LINE, dtype)
    first = (-room.ctypes.data % _LINE) // room.itemsize
    return room[first : first + size]


@cached
@njit(nogil=True)
def make_operand(matrix, carry, size):
    """Do what `operand` does, for Python."""
    return operand(matrix, carry, size)


@intrinsic
def _pack_square(typingctx, matrix, row, column, target, at):
    """Lay down `SIDE` columns of a tile's rows, one after the other."""
    rows = tile_shape(str(matrix.dtype)).rows

    def codegen(context, builder, signature, args):
        square = Square(context, builder, signature, args)
        data = data_of(context, builder, signature, args, 3)
        lanes = ir.Constant(ir.VectorType(LANE, rows), list(range(rows)))
        for number, line in enumerate(square.columns(args[1], args[2], rows)):
            place = builder.add(args[4], args[4].type(number * rows))
            kept = builder.shuffle_vector(line, line, lanes)
            builder.store(kept, vector_at(builder, data, place, kept.type), align=square.align)
        return context.get_dummy_value()

    return types.void(matrix, types.intp, types.intp, target, types.intp), codegen


@subroutine(counted=False)
def pack_left(matrix, carry, i0, i1, k0, k1, panel, pad, left):
    """Pack rows ``[i0, i1)`` in columns ``[k0, k1)``; rows missing of a strip are ``pad``."""
    dist, hops = matrix
    rows = tile_rows(dist)
    depth = k1 - k0
    for strip in range(i0, i1, rows):
        begin = (strip - i0) * depth
        whole = depth - depth % SIDE if strip + rows <= i1 else 0
        for k in range(0, whole, SIDE):
            _pack_square(dist, strip, k0 + k, left[0], begin + k * rows)
        for k in range(whole, depth):
            place = begin + k * rows
            for i in range(rows):
                left[0][place + i] = dist[strip + i, k0 + k] if strip + i < i1 else pad
    if carry is not None:
        for i in range(i0, i1):
            at = (i - i0) * panel
            copy_stretch(row_stretch(dist, i, k0, k1), stretch(left[1], at, at + depth))
            copy_stretch(row_stretch(hops, i, k0, k1), stretch(left[2], at, at + depth))


@subroutine(counted=False)
def pack_right(matrix, carry, half, k0, k1, j0, j1, panel, pad, right, at):
    """Pack one strip, columns ``[j0, j1)`` in rows ``[k0, k1)``, from a place on.

    Its next hops are those from the columns to the rows, which only ``half`` of a matrix needs.
    """
    dist, hops = matrix
    columns = tile_columns(dist)
    width = j1 - j0
    place = at
    for k in range(k0, k1):
        target = stretch(right[0], place, place + columns)
        if width == columns:
            # Of a size that is known when it is compiled.
            copy_stretch(row_stretch(dist, k, j0, j0 + columns), target)
        else:
            for j in range(columns):
                target[j] = pad
            copy_stretch(row_stretch(dist, k, j0, j1), target)
        place += columns
    if carry is not None:
        turn(dist, k0, k1, j0, j1, right[1], at, panel)
        if half:
            for j in range(j0, j1):
                place = at + (j - j0) * panel
                into = stretch(right[2], place, place + k1 - k0)
                copy_stretch(row_stretch(hops, j, k0, k1), into)


@subroutine
def round_up(value, step):
    """Return the least multiple of ``step`` that is not below a value."""
    return (value + step - 1) // step * step
