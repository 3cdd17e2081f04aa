"""Copies of what accumulators cannot run along: the elements of each row put together in a buffer.

Where neighbours in a row lie further apart than rows do, a copy goes against the order of memory.
Lines whose elements lie side by side are turned by squares (`turned_copies`). Of others eight are
read at a time, each from begin to end, and eight neighbours of each row are written at once. By
tiles of 1024 lines of a matrix of 4096 x 4096 that took 0.7 ns a float32 on one shared core of a
Zen 4, by NumPy's copies of 16 lines at a time 1.7; of 64 x 64,000 float64 0.4 and 6.6, as lines so
far apart are in few sets of a cache and none stays there.

Where a line of memory is but a few elements, and their number is a constant, a vector's elements
are sorted by shuffles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.addresses import address
from warpladder.device.kernel_cache import cached
from warpladder.reduction.memory.turned_copies import turned_copies

__all__ = [
    "FEW",
    "Buffers",
    "as_stored",
    "copied",
    "copier",
    "is_known",
    "lent",
    "step_of",
    "turn_of",
]

Buffers = dict[str, NDArray[Any]]

_STORED = {"e": np.uint16, "?": np.uint8}

FEW = 1 << 14
"""Elements that NumPy copies while it takes to call the loop."""

# Elements of a row up to which a loop is compiled for their number, if they are not of 8 bytes, and
# if they are (`benchmarks/choices.py`: `known-lengths`, `known-lengths-of-words`).
_LONGEST_KNOWN, _LONGEST_OF_WORDS = 8, 7
# Runs of so few elements, and bytes, are copied element by element, all first ones first, for NumPy
# begins each run anew (`benchmarks/choices.py`: `short-runs-abreast`, `short-runs-of-bytes`).
_MOST_ABREAST, _SHORT_BYTES = 12, 32
# Lines, and elements of one, of which squares are turned (`benchmarks/choices.py`:
# `squares-turned`).
_LEAST_SQUARE = 8
# To copy first, or second, ones takes as long by itself as so many runs.
_EACH_ALONE = 50


def as_stored(data: NDArray[Any]) -> NDArray[Any]:
    """Return an array as kernels take it: float16 as its bits, bool as bytes."""
    kind = _STORED.get(data.dtype.char)
    return data if kind is None else data.view(kind)


class _Lent:
    """Elements of an array, one after the other, called writable.

    Numba compiles anew for arrays that are not; kernels only read them anyway.
    """

    def __init__(self, array: NDArray[Any], extent: int, before: int) -> None:
        self._owner = array
        begin = address(array) if array.size else array.ctypes.data
        self.__array_interface__ = {
            "version": 3,
            "shape": (extent,),
            "typestr": _stored_as(array.dtype),
            "data": (begin - before * array.itemsize, False),
        }


@cache
def _stored_as(dtype: np.dtype[Any]) -> str:
    return np.dtype(_STORED.get(dtype.char, dtype)).str


def lent(array: NDArray[Any], extent: int, before: int = 0) -> NDArray[Any]:
    """Return so many elements of an array's memory, some before its first, as kernels take them."""
    flags = array.flags
    if type(array) is np.ndarray and flags.carray and array.size == extent:
        return as_stored(array.reshape(-1))
    return np.asarray(_Lent(array, extent, before))


def step_of(shape: tuple[int, ...], strides: tuple[int, ...], default: int = 1) -> int | None:
    """Return the distance between neighbours in C order: None where it varies, or a default."""
    step: int | None = None
    following = 0
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n == 1:
            continue
        if step is None:
            step = stride
        elif stride != following:
            return None
        following = stride * n
    return default if step is None else step


def copied(
    part: NDArray[Any], kept: int | None, dtype: np.dtype[Any], name: str, buffers: Buffers | None
) -> NDArray[Any]:
    """Return the elements of an array whose first axes are rows, row by row.

    Parameters
    ----------
    part
        The array.
    kept
        How many of its axes are rows; None where the last axis has neighbours in memory.
    dtype
        That of the copy: the array's in this machine's byte order.
    name, buffers
        Which buffer the copy goes to; None where it is the caller's, and who stands by may help.

    Examples
    --------
    >>> numbers = np.arange(6, dtype=np.int8).reshape(2, 3)
    >>> copied(numbers.T, 1, numbers.dtype, "data", None)
    array([0, 3, 1, 4, 2, 5], dtype=int8)
    """
    buffer = None if buffers is None else buffers.get(name)
    if buffer is None or buffer.size < part.size:
        buffer = np.empty(part.size, dtype)
        if buffers is not None:
            buffers[name] = buffer
    copy = buffer[: part.size]
    place = copy.view(part.dtype).reshape(part.shape)
    if kept is None:
        _copy_in_order(part, place)
    elif not _copy(part, place, kept, shares=buffers is None):
        # Who helps may be writing still.
        return copied(part, kept, dtype, name, {})
    if part.dtype != dtype:
        copy.byteswap(inplace=True)
    return copy


def copier(like: NDArray[Any], dtype: np.dtype[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return what makes C-contiguous copies of arrays that lie as one does.

    The last axis has neighbours in memory.

    Examples
    --------
    >>> numbers = np.arange(12, dtype=np.int8).reshape(2, 3, 2)
    >>> copier(numbers[:, 1:], numbers.dtype)(numbers[:, :2]).ravel()
    array([0, 1, 2, 3, 6, 7, 8, 9], dtype=int8)
    """
    if not _has_short_runs(like):
        return lambda part: part.astype(dtype, "C")

    def copy_of(part: NDArray[Any]) -> NDArray[Any]:
        copy = np.empty(part.shape, dtype)
        _copy_in_order(part, copy)
        return copy

    return copy_of


def _has_short_runs(part: NDArray[Any]) -> bool:
    """Tell whether it takes longer to copy run by run."""
    side = part.shape[-1]
    is_short = 1 < side <= _MOST_ABREAST and side * part.itemsize <= _SHORT_BYTES
    if not is_short or part.ndim < 2 or part.size <= _EACH_ALONE * side * side:
        return False
    # What lies in equal steps NumPy takes for one run.
    return bool(part.strides[-2] != side * part.strides[-1])


def _copy_in_order(part: NDArray[Any], copy: NDArray[Any]) -> None:
    if _has_short_runs(part):
        for place in range(part.shape[-1]):
            copy[..., place] = part[..., place]
    else:
        np.copyto(copy, part)


def _copy(part: NDArray[Any], copy: NDArray[Any], kept: int, *, shares: bool) -> bool:
    """Copy an array whose first axes are rows, lines of memory side by side where it pays.

    Return whether it was done; else who helps may go on.
    """
    if part.size < FEW or not part.flags.aligned:
        np.copyto(copy, part)
        return True
    panels, across, beyond = 1, 0, 0
    few = part
    if step_of(part.shape[:kept], part.strides[:kept]) is None:
        # Rows of several panels of memory: what is done to the first is done to all.
        panels, across, beyond = part.shape[0], part.strides[0], copy.strides[0]
        few, kept = part[0], kept - 1
    rows, lines, size = few.shape[:kept], few.shape[kept:], few.itemsize
    down = step_of(rows, few.strides[:kept], size)
    along = step_of(lines, few.strides[kept:], size)
    steps = (down or 0, along or 0, across)
    if down is None or along is None or abs(down) >= abs(along) or any(n % size for n in steps):
        np.copyto(copy, part)
        return True
    sides = prod(rows), prod(lines), panels
    if down == size and sides[0] >= _LEAST_SQUARE <= sides[1] and not is_known(sides[0], size):
        given = (panels, across, beyond), (sides[1], along // size), sides[0]
        return turned_copies(size)(part, copy, *given, shares=shares)
    reach = [n // size * (side - 1) for n, side in zip(steps, sides, strict=True)]
    first = -sum(n for n in reach if n < 0)
    memory = lent(part, sum(map(abs, reach)) + 1, first).view(f"u{size}")
    place = lent(copy, copy.size).view(f"u{size}")
    if panels == 1 and steps[:2] == (size, sides[0] * size) and is_known(sides[0], size):
        turn_of(sides[0])(memory, 0, sides[1], place)
        return True
    _copy_lines(
        *(memory, first, down // size, along // size, across // size),
        *(sides[0], sides[1], panels),
        *(place, beyond // size),
    )
    return True


def is_known(side: int, itemsize: int) -> bool:
    """Tell whether there is a faster loop for lines of memory of so many elements."""
    return side <= (_LONGEST_OF_WORDS if itemsize > 4 else _LONGEST_KNOWN)


@cache
def turn_of(side: int) -> Any:
    """Return ``turn(data, begin, lines, buffer)`` for lines of so many elements, end to end.

    Elements that are at the same place in their lines come to lie together.

    Examples
    --------
    >>> turned = np.empty(6, np.uint8)
    >>> turn_of(2)(np.array([1, 4, 2, 5, 3, 6], np.uint8), 0, 3, turned)
    >>> turned
    array([1, 2, 3, 4, 5, 6], dtype=uint8)
    """

    @cached
    @njit(nogil=True)
    def turn(data, begin, lines, buffer):  # type: ignore[no-untyped-def]
        some = data[begin * side : (begin + lines) * side]
        for j in range(lines):
            for i in range(side):
                buffer[i * lines + j] = some[j * side + i]

    return turn


@cached
@njit(nogil=True)
def _copy_lines(memory, first, down, along, across, rows, lines, panels, place, beyond):  # type: ignore[no-untyped-def]
    # Indices without a sign are not asked whether they count from the end.
    step, apart, pitch = np.uintp(down), np.uintp(along), np.uintp(lines)
    eights = lines - lines % 8
    for panel in range(panels):
        begin, to_begin = first + panel * across, panel * beyond
        for i in range(0, eights, 8):
            at, to = np.uintp(begin + i * along), np.uintp(to_begin + i)
            for _ in range(rows):
                for n in range(8):
                    place[to + np.uintp(n)] = memory[at + np.uintp(n) * apart]
                at += step
                to += pitch
        for i in range(eights, lines):
            at, to = np.uintp(begin + i * along), np.uintp(to_begin + i)
            for _ in range(rows):
                place[to] = memory[at]
                at += step
                to += pitch
