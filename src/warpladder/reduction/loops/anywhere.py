"""Where an extremum of all of an array is that lies in another order than it is counted in.

So lie arrays in Fortran order, turned and mirrored ones. To go through them as they are counted is
against the order of memory, and to copy them first takes longer than what follows. What the
extremum is does not hang on the order; so that is found first, as elements lie, and then which of
its equals is counted first. In us, by copies, so and by NumPy, the place of the largest of 60 x 70
x 80 float64 in Fortran order 331, 71 and 280, of 2,000 x 2,000 float32 2,620, 355 and 5,320, of
200,000 float64 backwards 205, 50 and 83.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.device.subroutines import entry_for
from warpladder.reduction.loops.blocks import element_type
from warpladder.reduction.loops.places import next_place
from warpladder.reduction.memory.copies import lent
from warpladder.reduction.memory.turn import Turn

__all__ = ["EXTREMA", "is_turned", "way_to_place_anywhere"]

EXTREMA = {"argmax": "max", "argmin": "min", "nanargmax": "nanmax", "nanargmin": "nanmin"}
"""What is at the places that are asked for."""

_MOST_AXES = 4
# Elements from which it takes less than a copy (`benchmarks/choices.py`: `places-anywhere`).
_LEAST = 1 << 15
# Elements at the end of a run among which the last one is sought.
_SOME = 256
_NOWHERE = np.iinfo(np.int64).max


def way_to_place_anywhere(
    whole: NDArray[Any], to_extremum: Callable[[NDArray[Any], int], Any], op: str
) -> Callable[[NDArray[Any], int], Any] | None:
    """Return the way to the place of an extremum of all elements, None where another takes less.

    Parameters
    ----------
    whole
        What lies as the array does.
    to_extremum
        The way to the extremum; where that is the long one, or there are only NaNs that do not
        count, so is this.
    op
        What is asked for: `EXTREMA` has it.
    """
    shape, strides, size = whole.shape, whole.strides, whole.itemsize
    long = [axis for axis, n in enumerate(shape) if n > 1]
    nest = sorted(long, key=lambda axis: -abs(strides[axis]))
    is_counted_so = nest == long and all(strides[axis] > 0 for axis in long)
    is_taken = whole.size >= _LEAST and len(long) <= _MOST_AXES and whole.dtype.isnative
    if is_counted_so or not is_taken or whole.dtype.char in "e?" or not whole.flags.aligned:
        return None
    steps = [strides[axis] for axis in long]
    if abs(strides[nest[-1]]) != size or any(not step or step % size for step in steps):
        return None
    backwards = [axis for axis in long if strides[axis] < 0]
    turn = Turn(backwards, range(whole.ndim))
    lie = np.ones((3, _MOST_AXES), np.int64)
    lie[1:] = 0
    base, extent = 0, 1
    for at, axis in enumerate(nest, _MOST_AXES - len(nest)):
        counted = int(np.prod(shape[axis + 1 :]))
        step = abs(strides[axis]) // size
        extent += (shape[axis] - 1) * step
        if strides[axis] < 0:
            base += (shape[axis] - 1) * counted
            counted = -counted
        lie[:, at] = shape[axis], step, counted
    element, skips_nan = np.dtype(element_type(whole.dtype.name)), op.startswith("nan")
    find = entry_for(_find, np.empty(0, element), lie, 0, element.type(0))

    def way(array: NDArray[Any], ddof: int) -> Any:
        value = to_extremum(array, ddof)
        if value is None or (skips_nan and np.isnan(value)):
            return None
        place = find(lent(turn(array), extent), lie, base, value)
        # Somebody may have written there meanwhile.
        return None if place == _NOWHERE else np.int64(place)

    return way


def is_turned(array: NDArray[Any]) -> bool:
    """Tell whether so many elements lie so that it is worth to look for `way_to_place_anywhere`.

    Examples
    --------
    >>> square = np.ones((200, 200))
    >>> [is_turned(each) for each in (square, square.T, square[::-1], square[:, ::2])]
    [False, True, True, False]
    """
    strides, size = array.strides, array.itemsize
    least = min(strides, default=size)
    return array.size >= _LEAST and (least < 0 or (least == size and strides[-1] != size))


@cached
@njit(nogil=True)
@specialised
def _find(data, lie, base, value):  # type: ignore[no-untyped-def]
    """Return the least count of an element that is a value, or of a NaN where that is one.

    Of each of four axes it is known how many elements it has, how far apart they are, and how far
    they count; the first element counts as ``base``.
    """
    best, run, count = _NOWHERE, lie[0, 3], lie[2, 3]
    for i in range(lie[0, 0]):
        for j in range(lie[0, 1]):
            for k in range(lie[0, 2]):
                begin = i * lie[1, 0] + j * lie[1, 1] + k * lie[1, 2]
                first = base + i * lie[2, 0] + j * lie[2, 1] + k * lie[2, 2]
                if first + min((run - 1) * count, 0) >= best:
                    continue
                if count > 0:
                    at = next_place(data, begin, begin + run, value)
                    if at < begin + run:
                        best = min(best, first + (at - begin) * count)
                    continue
                # Backwards the last one counts first.
                end = begin + run
                while end > begin:
                    start = max(end - _SOME, begin)
                    at = last = next_place(data, start, end, value)
                    if at < end:
                        while at < end:
                            last = at
                            at = next_place(data, at + 1, end, value)
                        best = min(best, first + (last - begin) * count)
                        break
                    end = start
    return best
