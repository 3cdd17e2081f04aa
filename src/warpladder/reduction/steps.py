"""Axes with others between them: over the first alone, then over the others.

To go over all of them at once takes copies, or runs that are short. Where any order leaves the same
bits, and what is made of results of some elements is the result of all, each step is one over axes
that lie next to each other, which are one axis; the first leaves little for the second. In us by
two cores of an EPYC with AVX2, at once and so: `any` of 13 x 5 x 49 x 282 float64 over (0, 2) 1,000
and 117 (NumPy 247), the largest of 64 x 50 x 60 x 70 float32 6,700 and 1,600 (7,900), sums of 23 x
34 x 30 x 15 int64 over (1, 3) 380 and 60 (530), the least of 5 x 6 x 7 x 8 over (1, 3) 8.5 and 6.8.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.cuts import is_exact
from warpladder.reduction.ops import Op
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.ways import Asked, Way, long_way

__all__ = ["way_in_steps"]

# What is asked for in the second step.
_LATER = {
    **{name: name for name in ("sum", "prod", "min", "max", "nanmin", "nanmax", "any", "all")},
    "count_nonzero": "sum",
}
# Runs of so many bytes are gone through as they lie, all at once, and of what lies so the first
# step leaves too much if its axes have fewer elements: the largest of 8 x 3 x 256 x 256 int8 over
# (0, 2, 3) takes 30 us at once, 51 so, sums of 32 x 64 x 28 x 28 int64 135 and 175; but the least
# of 997 x 2 x 2 x 288 int32 over (0, 3) 90 and 69.
_LONG_RUN, _MANY = 1 << 10, 64


def way_in_steps(
    op: Asked,
    plan: Plan,
    values: np.dtype[Any],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    left: tuple[int, ...],
    way_over: Callable[[Asked, np.dtype[Any], tuple[int, ...], tuple[int, ...]], Way],
) -> Way | None:
    """Return the way to an operation over axes of which some are apart, None where it is another.

    Parameters
    ----------
    op, plan
        The operation.
    values, shape
        The dtype and shape of arrays, whose axes are in the order of memory.
    axes
        The axes, in order.
    left
        The shape that results are given.
    way_over
        What finds the way over axes next to each other, of results in the shape that they leave.
    """
    request, part = plan.requests[0], plan.parts[0]
    later = _LATER.get(request.name)
    is_one = isinstance(op, str | np.ufunc) and isinstance(request.op, Op) and plan.is_plain
    if not (later and is_one and type(part) is FoldPart and is_exact(part.spec)):
        return None
    groups = _groups(shape, axes)
    if len(groups) == 1:
        return None
    run = prod(shape[axis] for axis in groups[-1]) * values.itemsize
    is_in_runs = prod(shape[groups[-1][-1] + 1 :]) == 1 and run >= _LONG_RUN
    if is_in_runs and prod(shape[axis] for axis in groups[0]) < _MANY:
        return None
    first, others = groups[0], [axis for group in groups[1:] for axis in group]
    after = tuple(n for axis, n in enumerate(shape) if axis not in first)
    rest = tuple(axis - len(first) for axis in others)
    # Truths are bytes, which have shorter ways.
    kind = np.dtype(np.uint8) if later in {"any", "all"} else plan.dtypes[0]
    to_first, to_all = way_over(op, values, shape, first), way_over(later, kind, after, rest)
    if long_way in {to_first, to_all}:
        return None

    def way(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        some = to_first(array, marks, ddof)
        found = None if some is None else to_all(some.view(kind), marks, ddof)
        return None if found is None else found.reshape(left)

    return way


def _groups(shape: tuple[int, ...], axes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return axes that have no longer ones than of one element between them, group by group."""
    groups: list[list[int]] = []
    for axis in axes:
        if groups and prod(shape[groups[-1][-1] + 1 : axis]) == 1:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return [tuple(group) for group in groups]
