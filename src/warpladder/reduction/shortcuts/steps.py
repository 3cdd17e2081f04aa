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

from warpladder.reduction.loops.cuts import is_exact
from warpladder.reduction.memory.copies import FEW
from warpladder.reduction.memory.layout import SHORT
from warpladder.reduction.ops import Op
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.shortcuts.ways import Asked, Way, long_way

__all__ = ["ends_in_gaps", "goes_in_steps", "has_short_rows", "way_by_groups", "way_in_steps"]

# What is asked for in the second step.
_LATER = {
    **{name: name for name in ("sum", "prod", "min", "max", "nanmin", "nanmax", "any", "all")},
    "count_nonzero": "sum",
}
# Runs of so many bytes are gone through as they lie, all at once, and of what lies so the first
# step leaves too much if its axes have fewer elements (`benchmarks/choices.py`:
# `longest-runs-in-steps`, `steps-of-long-runs`).
_LONG_RUN, _MANY = 1 << 10, 64
# Elements, and bytes, of rows with gaps between them that are gone through first
# (`benchmarks/choices.py`: `shortest-rows-first`, `longest-rows-first`).
_LEAST_SIDE, _LONG_SIDE = 3, 1 << 14


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
    groups = _groups(shape, axes) if goes_in_steps(op, plan) else []
    if len(groups) < 2:
        return None
    run = prod(shape[axis] for axis in groups[-1]) * values.itemsize
    is_in_runs = prod(shape[groups[-1][-1] + 1 :]) == 1 and run >= _LONG_RUN
    if is_in_runs and prod(shape[axis] for axis in groups[0]) < _MANY:
        return None
    others = tuple(axis for group in groups[1:] for axis in group)
    return way_by_groups(op, plan, values, shape, groups[0], others, left, way_over)


def goes_in_steps(op: Asked, plan: Plan) -> bool:
    """Tell whether an operation on some axes, then on others, has the bits of one on all of them.

    Examples
    --------
    >>> from warpladder.reduction.shortcuts.ways import plan_of
    >>> [goes_in_steps(op, plan_of(op, np.dtype("i4"), "fast", False)) for op in ("sum", "mean")]
    [True, False]
    """
    request, part = plan.requests[0], plan.parts[0]
    is_one = isinstance(op, str | np.ufunc) and isinstance(request.op, Op) and plan.is_plain
    is_known = is_one and request.name in _LATER
    return is_known and type(part) is FoldPart and is_exact(part.spec)


def ends_in_gaps(array: NDArray[Any], axes: tuple[int, ...]) -> bool:
    """Tell whether the last of several axes has neighbours in memory, and those before it gaps.

    Rows along it are then gone through first where they lie, if they are not so short that as much
    is left to do, nor so long that what goes through runs takes no longer.

    Examples
    --------
    >>> box = np.ones((50, 50, 50), np.int8)
    >>> ends_in_gaps(box[1:-1, 1:-1, 1:-1], (0, 1, 2)), ends_in_gaps(box, (0, 1, 2))
    (True, False)
    """
    if len(axes) < 2 or axes[-2:] != (array.ndim - 2, array.ndim - 1) or array.size <= FEW:
        return False
    side, size = array.shape[-1], array.itemsize
    has_gaps = array.strides[-1] == size and array.strides[-2] != side * size
    return has_gaps and side >= _LEAST_SIDE and side * size < _LONG_SIDE


def has_short_rows(array: NDArray[Any]) -> bool:
    """Tell whether all of an array is gone through by short rows first, with gaps between them.

    Else it is put together by `boxes` (`benchmarks/choices.py`: `shortest-rows-first`).
    """
    ndim = array.ndim
    is_short = ndim > 1 and _LEAST_SIDE < array.shape[-1] < SHORT
    return is_short and ends_in_gaps(array, tuple(range(ndim)))


def way_by_groups(
    op: Asked,
    plan: Plan,
    values: np.dtype[Any],
    shape: tuple[int, ...],
    first: tuple[int, ...],
    others: tuple[int, ...],
    left: tuple[int, ...],
    way_over: Callable[[Asked, np.dtype[Any], tuple[int, ...], tuple[int, ...]], Way],
) -> Way | None:
    """Return the way over some axes first, which lie next to each other, then over all others.

    The parameters are those of `way_in_steps`.
    """
    later = _LATER[plan.requests[0].name]
    after = tuple(n for axis, n in enumerate(shape) if axis not in first)
    rest = tuple(axis - sum(one < axis for one in first) for axis in others)
    # Truths are bytes, which have shorter ways.
    kind = np.dtype(np.uint8) if later in {"any", "all"} else plan.dtypes[0]
    to_first, to_all = way_over(op, values, shape, first), way_over(later, kind, after, rest)
    if long_way in {to_first, to_all}:
        return None

    def way(array: NDArray[Any], marks: NDArray[np.bool_], ddof: int) -> Any:
        some = to_first(array, marks, ddof)
        found = None if some is None else to_all(some.view(kind), marks, ddof)
        # An index of () makes a scalar of an array of no dimensions, and leaves others alone.
        return None if found is None else np.asarray(found).reshape(left)[()]

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
