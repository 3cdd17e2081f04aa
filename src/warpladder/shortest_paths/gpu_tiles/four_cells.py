"""Four neighbouring cells of a row in one load or store; in two, where they have 8 bytes.

Rows are whole tiles long and begin at multiples of 16 bytes, so every fourth column may begin one.
"""

from __future__ import annotations

from numba import uint32

from warpladder.device.numba_target import overload
from warpladder.device.wide_loads import load_16_bytes, store_16_bytes

__all__ = ["load_four", "store_four"]


def load_four(matrix, row, column):
    """Return the cells of a row from ``column``, a multiple of 4, on."""
    return tuple(matrix[row, column : column + 4])


@overload(load_four)
def _load_four_in_kernels(matrix, row, column):
    del row, column
    if matrix.dtype.bitwidth == 32:
        return lambda matrix, row, column: load_16_bytes(matrix, (uint32(row), uint32(column)))
    if matrix.dtype.bitwidth != 64:
        return None

    def load_two_and_two(matrix, row, column):
        first = load_16_bytes(matrix, (uint32(row), uint32(column)))
        second = load_16_bytes(matrix, (uint32(row), uint32(column + 2)))
        return first[0], first[1], second[0], second[1]

    return load_two_and_two


def store_four(matrix, row, column, cells):
    """Write four cells of a row from ``column``, a multiple of 4, on."""
    matrix[row, column : column + 4] = cells


@overload(store_four)
def _store_four_in_kernels(matrix, row, column, cells):
    del row, column, cells
    if matrix.dtype.bitwidth == 32:
        return lambda matrix, row, column, cells: store_16_bytes(
            matrix, (uint32(row), uint32(column)), cells
        )
    if matrix.dtype.bitwidth != 64:
        return None

    def store_two_and_two(matrix, row, column, cells):
        store_16_bytes(matrix, (uint32(row), uint32(column)), (cells[0], cells[1]))
        store_16_bytes(matrix, (uint32(row), uint32(column + 2)), (cells[2], cells[3]))

    return store_two_and_two
