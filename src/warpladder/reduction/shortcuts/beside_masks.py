"""Calls with a mask, where that or the array may not lie as `few` takes it: then both are copied.

A mask may be broadcast, or part of another, and so may be the array. Of what makes one tile the
long way makes copies too, with the same bits, and takes 0.08 ms around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError
from warpladder.reduction.memory.layout import CACHED_BYTES
from warpladder.reduction.shortcuts.few import answer_of_few
from warpladder.reduction.shortcuts.ways import Asked

__all__ = ["answer_beside_mask"]


def answer_beside_mask(
    values: NDArray[Any],
    op: Asked,
    axis: Any,
    where: Any,
    accuracy: str,
    ddof: int,
    keepdims: bool,
    is_begun: bool,
) -> Any:
    """Return the result for an array beside a mask, None where it is not here.

    Parameters
    ----------
    values
        The array.
    op, axis, where, accuracy, keepdims
        As for `reduce`, not checked yet.
    ddof
        0 or 1.
    is_begun
        Whether a number comes before the elements, so that there may be none.
    """
    if type(where) is not np.ndarray or where.dtype.char != "?":
        return None
    marks, is_plain = where, values.flags.carray
    if where.shape != values.shape or not where.flags.carray:
        if values.nbytes > CACHED_BYTES or where.ndim > values.ndim:
            return None
        marks = np.empty(values.shape, np.bool_)
        try:
            marks[...] = where
        except ValueError:
            # It does not broadcast, which is to be said.
            return None
    if not is_plain:
        if values.nbytes > CACHED_BYTES or not _is_in_order(values):
            return None
        values = values.astype(values.dtype.newbyteorder("="), "C")
    try:
        return answer_of_few(values, op, axis, marks, accuracy, ddof, keepdims)
    except InputError:
        if is_begun:
            return None
        raise


def _is_in_order(values: NDArray[Any]) -> bool:
    """Tell whether memory has the elements in the order of their places, perhaps with gaps."""
    last = None
    for n, step in zip(values.shape, values.strides, strict=True):
        if n > 1:
            if step <= 0 or (last is not None and step > last):
                return False
            last = step
    return True
