"""All of an array of several axes, however they lie, folded as one row by one call.

NumPy copies a few thousand numbers that do not lie one after the other in a microsecond; to find
by Python how they lie, to have the copy made and to hand it on takes three. Here all that is
compiled: axes are put in the order of memory, those that follow one another joined, and what does
not lie in one piece then is put together in a buffer. The bits are those of such a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.subroutines import entry_for, subroutine
from warpladder.device.words import place_of, read_at
from warpladder.reduction.memory.singles import take_from
from warpladder.reduction.shortcuts.row_at import GATHER, IS_ORDERED, fold_row_at

__all__ = ["MOST_AXES", "MOST_REGULAR", "box_folder", "gatherer"]

MOST_AXES = 4
"""Axes that an array has, at the most."""

MOST_REGULAR = 1 << 19
"""Bytes of what lies in one piece, or in runs that are equally far apart, at the most: of more
others are woken (`benchmarks/choices.py`: `boxes-in-runs`)."""

# Elements of a run from which it is gone through by itself, one by one or all together
# (`benchmarks/choices.py`: `long-runs-of-boxes`, `runs-of-boxes`).
_LONG, _LONG_TOGETHER = 64, 8
# More elements than there are from one on.
_ALL = 1 << 48


@cache
def box_folder(axes: int, itemsize: int) -> Callable[[int, int, NDArray[Any]], bool]:
    """Return what `OneRow.fold` is for arrays of several axes.

    It is not done where elements do not lie at multiples of their size, where there are none, or so
    many that longer ways take less time.
    """
    return entry_for(_fold_box, 1, 1, np.empty((0,) * axes, f"u{itemsize}"))


@cache
def gatherer(itemsize: int) -> int:
    """Return the address of what puts elements of a size together."""
    words = np.empty(0, f"u{itemsize}")
    return address_of(_gather, words, words, *[1] * (2 * MOST_AXES))


@cached
@njit(nogil=True)
def _fold_box(fixed, state, data):  # type: ignore[no-untyped-def]
    """Fold the elements of an array into a state; tell whether they lie as loops take them."""
    place, size, itemsize = place_of(data), data.size, data.itemsize
    if place % itemsize or not size:
        return False
    sides, steps = np.ones(MOST_AXES, np.int64), np.zeros(MOST_AXES, np.int64)
    for axis in range(data.ndim):
        if data.strides[axis] % itemsize:
            return False
        sides[axis], steps[axis] = data.shape[axis], data.strides[axis] // itemsize
    place += _put_in_order(sides, steps, read_at(fixed, IS_ORDERED)) * itemsize
    if size * itemsize > MOST_REGULAR and sides[1] == 1:
        return False
    if size == 1 or (sides[-1] == size and steps[-1] == 1):
        fold_row_at(fixed, state, place, size, itemsize)
        return True
    buffer = np.empty(size, data.dtype)
    call_at(
        read_at(fixed, GATHER),
        array_at(place_of(buffer), size, itemsize)
        + array_at(place, _ALL, itemsize)
        + (sides[0], sides[1], sides[2], sides[3], steps[0], steps[1], steps[2], steps[3]),
    )
    fold_row_at(fixed, state, place_of(buffer), size, itemsize)
    # Numba frees what is not used any more.
    return buffer.size == size


@cached
@njit(nogil=True)
def _gather(there, data, outer, middle, inner, run, leap, stride, pace, step):  # type: ignore[no-untyped-def]
    """Put the elements of a box one after the other: its four axes, and how far each steps."""
    apart = 1
    by_run, by_inner, by_middle = run, inner * run, middle * inner * run
    longest = max(outer, middle, inner)
    if run < (_LONG if step != 1 else _LONG_TOGETHER) and run < longest:
        # Another axis takes the place of the last, in whose place it is gone through first.
        if inner == longest:
            inner, run, pace, step, by_run, apart = run, inner, step, pace, apart, by_run
        elif middle == longest:
            middle, run, stride, step, by_inner, apart = run, middle, step, stride, apart, by_inner
        else:
            outer, run, leap, step, by_middle, apart = run, outer, step, leap, apart, by_middle
    # Indices without a sign are not asked whether they count from the end.
    into_step, place_step = np.uintp(apart), np.uintp(step)
    for i in range(outer):
        for j in range(middle):
            for k in range(inner):
                to = i * by_middle + j * by_inner + k * by_run
                at = i * leap + j * stride + k * pace
                into, place = np.uintp(to), np.uintp(at)
                if step == apart == 1:
                    for n in range(run):
                        there[into + np.uintp(n)] = data[place + np.uintp(n)]
                elif apart == 1 and run >= _LONG and step > 1:
                    take_from(there, to, run, data, at, step)
                else:
                    for _ in range(run):
                        there[into] = data[place]
                        into += into_step
                        place += place_step


@subroutine
def _put_in_order(sides: Any, steps: Any, is_ordered: Any) -> Any:
    """Join axes, unless they are ordered in the order of memory; return how far the first moves.

    Of four axes, those that are left come to be the last, the others one element long.
    """
    moved, left = 0, 0
    for axis in range(MOST_AXES):
        n, step = sides[axis], steps[axis]
        if n == 1:
            continue
        place = left
        if not is_ordered:
            if step < 0:
                moved += (n - 1) * step
                step = -step
            while place and steps[place - 1] < step:
                sides[place], steps[place] = sides[place - 1], steps[place - 1]
                place -= 1
        sides[place], steps[place] = n, step
        left += 1
    joined = MOST_AXES
    for axis in range(left - 1, -1, -1):
        n, step = sides[axis], steps[axis]
        if joined < MOST_AXES and step == sides[joined] * steps[joined]:
            sides[joined] *= n
        else:
            joined -= 1
            sides[joined], steps[joined] = n, step
    for axis in range(joined):
        sides[axis], steps[axis] = 1, 0
    return moved
