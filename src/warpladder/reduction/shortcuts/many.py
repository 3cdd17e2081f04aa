"""Calls on C-contiguous arrays of more than one tile: how such a one is cut is found once.

To look at the options, to plan and to lay out tiles takes 0.05 ms of Python where the caches have
what it works with. After other work they have not, and it takes 0.3, in which a core reads 10 MB.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.answers import shape_left
from warpladder.reduction.cpu.engine import accumulator_for
from warpladder.reduction.cpu.finishers import array_maker, finisher
from warpladder.reduction.memory.copies import as_stored
from warpladder.reduction.memory.layout import ArrayRows, Span
from warpladder.reduction.passes import rows_of
from warpladder.reduction.plan import Plan

__all__ = ["stand_in", "way_of_many", "way_through"]


def way_of_many(
    plan: Plan,
    answer: Callable[[list[Any]], Any],
    values: np.dtype[Any],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    *,
    keepdims: bool,
) -> Callable[[NDArray[Any], Any, int], Any] | None:
    """Return the way to the results over axes, counted from 0; None where it is the long one.

    It is called with a C-contiguous array of that shape and dtype, with what is no mask, and
    ``ddof``, and returns what ``answer`` makes of the results.
    """
    if plan.masked:
        return None
    whole = stand_in(values, shape)
    through = way_through(plan, rows_of(whole, axes, None, plan, on_gpu=False))
    if through is None:
        return None
    left = shape_left(shape, axes, keepdims=keepdims)

    def run(array: NDArray[Any], _marks: Any, ddof: int) -> Any:
        found = through(as_stored(array.reshape(-1)), ddof)
        # An index of () makes a scalar of an array of no dimensions, and leaves others alone.
        return answer([result.reshape(left)[()] for result in found])

    return run


def way_through(
    plan: Plan, rows: ArrayRows
) -> Callable[[NDArray[Any], int], list[NDArray[Any]]] | None:
    """Return what reduces matrices that lie as one does; None where that is done the long way.

    It is called with their elements, as kernels take them and as they lie there, and with
    ``ddof``; it returns a result for each row, of each operation.
    """
    accumulate = accumulator_for(plan, rows)
    if accumulate is None:
        return None
    count, length, dtypes = rows.count, rows.length, plan.dtypes
    make = array_maker(plan, length) if plan.is_plain else None
    finish = finisher(plan, length)

    def run(data: NDArray[Any], ddof: int) -> list[NDArray[Any]]:
        results = [np.empty(count, dtype) for dtype in dtypes]

        def take(span: Span, states: list[Any]) -> None:
            parts = [result[span.begin : span.end] for result in results]
            if make is None or make(states[0], ddof, parts[0]) is None:
                found = finish(states, len(parts[0]), ddof)
                for into, each in zip(parts, found, strict=True):
                    into[...] = each

        accumulate(data, take)
        return results

    return run


def stand_in(
    values: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    *,
    is_aligned: bool = True,
) -> NDArray[Any]:
    """Return what lies as an array does, C-contiguous if no strides are given.

    Its memory is one element, and not to be read.
    """
    if strides is None:
        strides = tuple(values.itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape)))
    odd = 0 if is_aligned else 1
    one = np.empty(values.itemsize + odd, np.uint8)[odd:].view(values)
    return np.lib.stride_tricks.as_strided(one, shape, strides)
