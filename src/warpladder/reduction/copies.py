"""Copies of what accumulators cannot run along: the elements of each row put together in a buffer.

Where neighbours in a row lie further apart than rows do, a copy goes against the order of memory.
Eight lines of memory are read side by side, each from begin to end, and eight neighbours of each
row are written at once. By tiles of 1024 lines of a matrix of 4096 x 4096 that takes 0.5 ns a
float32 on one shared core of a Zen 4, by NumPy's copies of 16 lines at a time 1.7; of 64 x 64,000
float64 0.6 and 6.6, as lines so far apart are in few sets of a cache and none stays there.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached

__all__ = ["Buffers", "as_stored", "copied", "lent", "step_of"]

Buffers = dict[str, NDArray[Any]]

_STORED = {"e": np.uint16, "?": np.uint8}
# To call the loop takes as long as NumPy takes for so many elements.
_FEW = 4096


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
        kind = np.dtype(_STORED.get(array.dtype.char, array.dtype))
        address = array.__array_interface__["data"][0] - before * array.itemsize
        self.__array_interface__ = {
            "version": 3,
            "shape": (extent,),
            "typestr": kind.str,
            "data": (address, False),
        }


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
    part: NDArray[Any], kept: int, dtype: np.dtype[Any], name: str, buffers: Buffers
) -> NDArray[Any]:
    """Return the elements of an array whose first axes are rows, row by row.

    Parameters
    ----------
    part
        The array.
    kept
        How many of its axes are rows.
    dtype
        That of the copy: the array's in this machine's byte order.
    name, buffers
        Which buffer the copy goes to.

    Examples
    --------
    >>> numbers = np.arange(6, dtype=np.int8).reshape(2, 3)
    >>> copied(numbers.T, 1, numbers.dtype, "data", {})
    array([0, 3, 1, 4, 2, 5], dtype=int8)
    """
    buffer = buffers.get(name)
    if buffer is None or buffer.size < part.size:
        buffer = buffers[name] = np.empty(part.size, dtype)
    copy = buffer[: part.size]
    _copy(part, copy.view(part.dtype).reshape(part.shape), kept)
    if part.dtype != dtype:
        copy.byteswap(inplace=True)
    return copy


def _copy(part: NDArray[Any], copy: NDArray[Any], kept: int) -> None:
    """Copy an array whose first axes are rows, lines of memory side by side where it pays."""
    rows, lines = part.shape[:kept], part.shape[kept:]
    down, along = step_of(rows, part.strides[:kept]), step_of(lines, part.strides[kept:])
    outer = 0 if down is None else kept
    if part.size < _FEW or not part.flags.aligned:
        np.copyto(copy, part)
    elif down is None or along is None:
        if part.size // part.shape[outer] < _FEW:
            np.copyto(copy, part)
        else:
            left = kept - (down is None)
            for i in range(part.shape[outer]):
                at = (slice(None),) * outer + (i,)
                _copy(part[at], copy[at], left)
    elif abs(down) >= abs(along) or down % part.itemsize or along % part.itemsize:
        np.copyto(copy, part)
    else:
        count, length = prod(rows), prod(lines)
        down, along = down // part.itemsize, along // part.itemsize
        first = -min(down * (count - 1), 0) - min(along * (length - 1), 0)
        extent = abs(down) * (count - 1) + abs(along) * (length - 1) + 1
        pitch = step_of(rows, copy.strides[:kept], length * part.itemsize)
        assert pitch is not None  # noqa: S101 - of all its rows, or of some side by side
        bits = f"u{part.itemsize}"
        memory = lent(part, extent, first).view(bits)
        place = lent(copy, (count - 1) * pitch + length).view(bits)
        _copy_lines(memory, first, down, along, count, length, place, pitch // part.itemsize)


@cached
@njit(nogil=True)
def _copy_lines(memory, first, down, along, rows, lines, place, pitch):  # type: ignore[no-untyped-def]
    # Indices without a sign are not asked whether they count from the end.
    step, across, apart = np.uintp(down), np.uintp(along), np.uintp(pitch)
    eights = lines - lines % 8
    for i in range(0, eights, 8):
        at, to = np.uintp(first + i * along), np.uintp(i)
        for _ in range(rows):
            for n in range(8):
                place[to + np.uintp(n)] = memory[at + np.uintp(n) * across]
            at += step
            to += apart
    for i in range(eights, lines):
        at, to = np.uintp(first + i * along), np.uintp(i)
        for _ in range(rows):
            place[to] = memory[at]
            at += step
            to += apart
