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
from warpladder.reduction.copies import as_stored
from warpladder.reduction.cpu import accumulator_for
from warpladder.reduction.finishers import array_maker
from warpladder.reduction.layout import Span
from warpladder.reduction.passes import rows_of
from warpladder.reduction.plan import Plan

__all__ = ["way_of_many"]


def way_of_many(
    plan: Plan,
    values: np.dtype[Any],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    *,
    keepdims: bool,
) -> Callable[[NDArray[Any], Any, int], Any] | None:
    """Return the way to the results over axes, counted from 0; None where it is the long one.

    It is called with a C-contiguous array of that shape and dtype, with what is no mask, and
    ``ddof``.
    """
    if plan.masked or not plan.is_plain:
        return None
    rows = rows_of(_stand_in(values, shape), axes, None, plan, on_gpu=False)
    accumulate = accumulator_for(plan, rows)
    if accumulate is None:
        return None
    count, length, (dtype,) = rows.count, rows.length, plan.dtypes
    make, left = array_maker(plan), shape_left(shape, axes, keepdims=keepdims)

    def run(array: NDArray[Any], _marks: Any, ddof: int) -> Any:
        results = np.empty(count, dtype)

        def take(span: Span, states: list[Any]) -> None:
            into = results[span.begin : span.end]
            if make is None or make(states[0], into) is None:
                (into[...],) = plan.finish(states, len(into), length, ddof)

        accumulate(as_stored(array.reshape(-1)), take)
        # An index of () makes a scalar of an array of no dimensions, and leaves others alone.
        return results.reshape(left)[()]

    return run


def _stand_in(values: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return what lies as a C-contiguous array; its memory is one element, and not to be read."""
    strides = [values.itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return np.lib.stride_tricks.as_strided(np.empty(1, values), shape, strides)
