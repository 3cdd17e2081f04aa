"""A step of a whole strip, in place: up through the cells, or down.

Going up, new cells are written some places further left than the old ones were, going down further
right; so no cell is overwritten that another one needs.

A slope of a scheme with a limiter belongs to two cells: to the one as the slope behind it, to the
other as the slope before. So it is carried from cell to cell, and so is the difference that goes
into it. With the wind the next cell brings the slope behind it, against the wind the one before.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.advection.gpu_tiles.cells import ADD, cell_of
from warpladder.advection.limiters import slope_of

if TYPE_CHECKING:
    from warpladder.advection.gpu_tiles.cells import Form

__all__ = ["sweep_of"]

#: Cells of a loop that becomes straight code.
_PIECE = 32


@cache
def sweep_of(form: Form, dtype: str, strip: int, direction: int) -> Any:
    """Return the device function ``sweep(cells, source, target, numbers)``.

    Parameters
    ----------
    form, dtype
        The rule and the cells' type.
    strip
        How many cells take a step.
    direction
        1 to go up, -1 to go down. ``source`` and ``target`` are the places of the cell with which
        it begins, and of its new value.
    """
    offsets, limiter = form
    if limiter is None:
        return _sums(form, dtype, strip, direction)
    side = -1 if offsets[-1] > 1 else 1
    slope = slope_of(limiter, np.dtype(dtype).type, cuda.jit(device=True))
    make = _with_the_wind if side == direction else _against_the_wind
    return make(slope, ADD[dtype], strip, side)


def _sums(form: Form, dtype: str, strip: int, direction: int) -> Any:
    """Return the sweep in pieces, for of a long loop the compiler makes no straight code."""
    cell = cell_of(form, dtype)
    first, last = direction * max(strip - _PIECE, 0), direction * strip

    @cuda.jit(device=True)
    def piece(cells: Any, source: Any, target: Any, numbers: Any) -> None:
        for k in range(first, last, direction):
            cells[target + k] = cell(cells, source + k, numbers)

    if strip <= _PIECE:
        return piece
    before = _sums(form, dtype, strip - _PIECE, direction)

    @cuda.jit(device=True)
    def sweep(cells: Any, source: Any, target: Any, numbers: Any) -> None:
        before(cells, source, target, numbers)
        piece(cells, source, target, numbers)

    return sweep


def _with_the_wind(slope: Any, add: Any, strip: int, side: int) -> Any:
    @cuda.jit(device=True)
    def sweep(cells: Any, source: Any, target: Any, numbers: Any) -> None:
        d1 = cells[source] - cells[source - side]
        before = slope(cells[source - side] - cells[source - 2 * side], d1)
        for k in range(0, side * strip, side):
            here = cells[source + k]
            d2 = cells[source + k + side] - here
            behind = slope(d1, d2)
            bend = add(behind, -before)
            cells[target + k] = cuda.fma(-numbers[1], bend, cuda.fma(-numbers[0], d1, here))
            before, d1 = behind, d2

    return sweep


def _against_the_wind(slope: Any, add: Any, strip: int, side: int) -> Any:
    @cuda.jit(device=True)
    def sweep(cells: Any, source: Any, target: Any, numbers: Any) -> None:
        d1 = cells[source] - cells[source - side]
        behind = slope(d1, cells[source + side] - cells[source])
        for k in range(0, -side * strip, -side):
            here = cells[source + k]
            d0 = cells[source + k - side] - cells[source + k - 2 * side]
            before = slope(d0, d1)
            bend = add(behind, -before)
            cells[target + k] = cuda.fma(-numbers[1], bend, cuda.fma(-numbers[0], d1, here))
            behind, d1 = before, d0

    return sweep
