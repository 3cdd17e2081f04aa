"""Rows that make no one matrix, gone through where they lie: in groups, or side by side in panels.

So rows of a box lie whose edges are cut off. To copy 36 x 17 x 19 x 17 float64 of such a one takes
an EPYC 90 us by itself, 64 x 64 x 256 int64 300; means of the one over its last axis take 85, by
copies 310, sums of the other over its second 181 and 923.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.by_lines import MOST_TURNED
from warpladder.reduction.column_places import way_to_column_places
from warpladder.reduction.columns import lines_joined
from warpladder.reduction.copies import FEW, lent, step_of
from warpladder.reduction.cuts import is_exact
from warpladder.reduction.grouped_rows import MOST_TOGETHER, way_to_grouped_rows
from warpladder.reduction.layout import NO_MASK, ArrayRows, Tile
from warpladder.reduction.levels import Panels, levels_of
from warpladder.reduction.line_results import leaving_results, way_in_panels, way_turned
from warpladder.reduction.lines import count_turned, turns
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.short_places import way_to_short_places

__all__ = ["way_in_groups"]

# Bytes of a panel that takes as long as to call the loop. Sums of 30 x 40 x 50 int8 over the first
# axis, of which a panel has 1,500, take 22 us so and 12 where all is copied.
_LEAST_PANEL = 1 << 11

_Way = Callable[[NDArray[Any], int], NDArray[Any] | None]
"""Called with an array that is turned likewise, and ``ddof``."""


def way_in_groups(
    plan: Plan, turned: NDArray[Any], kept: int, rows: ArrayRows, *, is_copied_whole: bool
) -> _Way | None:
    """Return the way to one result of each row of an array, None where there is none.

    It has the bits of the long way, to which it leaves numbers near the ends of their range.

    Parameters
    ----------
    plan
        The plan of one operation.
    turned
        What lies as the array does, its first axes those of rows, which are in the order of memory.
    kept
        How many these are.
    rows
        The same as a matrix, which says how the long way would cut it.
    is_copied_whole
        Whether the long way copies all of it first.
    """
    is_native = turned.dtype.isnative and turned.flags.aligned
    is_taken = plan.is_plain and is_native and turned.nbytes <= MOST_TURNED
    if not is_taken or plan.masked or not isinstance(plan.parts[0], FoldPart):
        return None
    size = turned.itemsize
    apart = step_of(turned.shape[kept:], turned.strides[kept:], size)
    if not kept or apart is None or apart <= 0 or apart % size:
        return None
    length = prod(turned.shape[kept:])
    if turned.strides[kept - 1] == size and turned.shape[kept - 1] > 1:
        across = Tile(np.empty(0), NO_MASK, rows.count, length, rows.count, rows.count)
        if is_copied_whole and lines_joined(across) > 1 and not is_exact(plan.parts[0].spec):
            # Of a copy, whose lines touch, they are joined, which leaves other bits.
            return None
        return _way_of_panels(plan, turned, kept, rows, length, apart // size)
    return _way_of_rows(plan, turned, kept, rows, length, apart // size)


def _way_of_rows(
    plan: Plan, turned: NDArray[Any], kept: int, rows: ArrayRows, length: int, step: int
) -> _Way | None:
    """Return the way of rows whose neighbours are so many elements apart."""
    part, size, count = plan.parts[0], turned.itemsize, prod(turned.shape[:kept])
    levels = levels_of(turned.shape[:kept], turned.strides[:kept], size)
    if levels is None or not isinstance(part, FoldPart):
        return None
    if step > min(pitch for _, pitch in levels):
        # They are copied as lines, of which the sums are others.
        return None
    places = way_to_short_places(plan, levels, length, step)
    if places is not None:
        return places
    if turns(part.spec, count, length):
        if turned.dtype.char in "e?" or count_turned(part.spec, rows) < count:
            return None
        return way_turned(leaving_results(plan), levels, length, step)
    # Longer rows whose neighbours lie apart are cut into stretches.
    is_taken = step == 1 or length * size <= MOST_TOGETHER
    if not is_taken or turned.size <= FEW or len(rows.column_spans()) > 1:
        return None
    return way_to_grouped_rows(plan, levels, length, step)


def _way_of_panels(
    plan: Plan, turned: NDArray[Any], kept: int, rows: ArrayRows, length: int, pitch: int
) -> _Way | None:
    """Return the way of rows side by side, in lines that are so many elements apart."""
    part, size, inner, side = plan.parts[0], turned.itemsize, kept, 1
    while inner and turned.strides[inner - 1] == side * size:
        inner -= 1
        side *= turned.shape[inner]
    levels = levels_of(turned.shape[:inner], turned.strides[:inner], size) if inner else ((1, 0),)
    if levels is None or pitch < side:
        return None
    places = way_to_column_places(plan, levels, length, side, pitch)
    if places is not None and len(rows.column_spans()) == 1:
        extent = sum((n - 1) * step for n, step in levels) + (length - 1) * pitch + side
        return lambda array, _ddof: places(lent(array, extent))
    is_large = turned.size > FEW and length * side * size >= _LEAST_PANEL
    if turned.dtype.char in "e?" or not is_large:
        return None
    # Of lines that touch some may be joined, which leaves other bits.
    is_any_order = isinstance(part, FoldPart) and is_exact(part.spec)
    if (pitch == side and not is_any_order) or len(rows.column_spans()) > 1:
        return None
    return way_in_panels(leaving_results(plan), Panels(levels, side, pitch), length)
