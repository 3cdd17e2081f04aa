"""Operands of the CPU engine's products, laid down as register tiles read them.

A tile reads its operands front to back: ``left`` in *strips* of a few rows and ``right`` in strips
of a few vectors, k by k. With next hops, sums are looked for once more where a distance fell; for
that each row of ``left`` and each column of ``right`` also lies there as one piece, ``panel``
numbers apart, as do the next hops of both. So an operand is three arrays, of which the last two
hold nothing where next hops are not wanted (one has room for a run).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.shortest_paths.tiles import RUN, tile_columns, tile_rows
from warpladder.shortest_paths.transposed import turn

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


@subroutine(counted=False)
def pack_left(matrix, carry, i0, i1, k0, k1, panel, pad, left):
    """Pack rows ``[i0, i1)`` in columns ``[k0, k1)``; rows missing of a strip are ``pad``."""
    dist, hops = matrix
    rows = tile_rows(dist)
    depth = k1 - k0
    for strip in range(i0, i1, rows):
        begin = (strip - i0) * depth
        # As a matrix: 0.37 ns a number, by an index of its own 0.89.
        packed = left[0][begin : begin + rows * depth].reshape((depth, rows))
        for i in range(rows):
            if strip + i < i1:
                row = dist[strip + i, k0:k1]
                for k in range(depth):
                    packed[k, i] = row[k]
            else:
                for k in range(depth):
                    packed[k, i] = pad
    if carry is not None:
        for i in range(i0, i1):
            _copy(dist[i, k0:k1], left[1], (i - i0) * panel)
            _copy(hops[i, k0:k1], left[2], (i - i0) * panel)


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
        source = dist[k, j0:j1]
        target = right[0][place : place + columns]
        for j in range(width):
            target[j] = source[j]
        for j in range(width, columns):
            target[j] = pad
        place += columns
    if carry is not None:
        turn(dist, k0, k1, j0, j1, right[1], at, panel)
        if half:
            for j in range(j0, j1):
                _copy(hops[j, k0:k1], right[2], at + (j - j0) * panel)


@subroutine(counted=False)
def _copy(row, target, at):
    into = target[at : at + row.size]
    for k in range(row.size):
        into[k] = row[k]


@subroutine
def round_up(value, step):
    """Return the least multiple of ``step`` that is not below a value."""
    return (value + step - 1) // step * step
