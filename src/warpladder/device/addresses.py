"""Where an array begins, for calls that are over in a few microseconds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import entry_for
from warpladder.device.words import place_of

__all__ = ["address"]


@cached
@njit(nogil=True)
def _place(elements):  # type: ignore[no-untyped-def]
    return place_of(elements)


@cache
def _finder(itemsize: int) -> Any:
    return entry_for(_place, np.empty(0, f"u{itemsize}"))


def address(array: NDArray[Any]) -> int:
    """Return the address of the first element of an array that has some, of 1, 2, 4 or 8 bytes.

    That takes 0.2 us, of several dimensions 0.35; ``array.ctypes.data`` takes 1.

    Examples
    --------
    >>> matrix = np.zeros((3, 4), np.int16)
    >>> address(matrix[1:, ::2]) - address(matrix)
    8
    """
    ndim = array.ndim
    line = array if ndim == 1 else array[(0,) * (ndim - 1)] if ndim else array.reshape(1)
    found: int = _finder(array.itemsize)(line)
    return found
