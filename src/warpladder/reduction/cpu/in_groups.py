"""Rows that make no one matrix, gone through where they lie: in groups, or side by side in panels.

So rows of a box lie whose edges are cut off. To copy 36 x 17 x 19 x 17 float64 of such a one takes
an EPYC 90 us by itself, 64 x 64 x 256 int64 300; means of the one over its last axis take 85, by
copies 310, sums of the other over its second 181 and 923.

Where elements of such a line lie alone, as every second, those of a panel are put together first,
where a thread needs them next. Of 64 x 64 x 128 float64 sums over the second axis take two cores of
a Xeon 0.17 ms so, NumPy 0.41; where one thread copied all of it first, 0.58.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.reduction.cpu.column_places import way_to_column_places
from warpladder.reduction.cpu.grouped_rows import MOST_TOGETHER, way_to_grouped_rows
from warpladder.reduction.cpu.line_results import leaving_results, way_in_panels, way_turned
from warpladder.reduction.cpu.short_places import way_to_short_places
from warpladder.reduction.lines.by_lines import MOST_TURNED
from warpladder.reduction.lines.lines import count_turned, turns
from warpladder.reduction.loops.columns import lines_joined
from warpladder.reduction.loops.cuts import is_exact
from warpladder.reduction.memory.copies import FEW, step_of
from warpladder.reduction.memory.layout import NO_MASK, ArrayRows, Tile
from warpladder.reduction.memory.levels import MOST_LEVELS, Panels, levels_of
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan

__all__ = ["way_in_groups"]

# Bytes of a panel that takes as long as to call the loop (`benchmarks/choices.py`:
# `panels-as-they-lie`).
_LEAST_PANEL = 1 << 10
# Of a panel whose elements lie alone: bytes that are put together at the most, and bytes that a
# strip has of each line where it is cut, with those between its elements, at the least
# (`benchmarks/choices.py`: `panels-put-together`, `strips-of-panels`).
_MOST_PUT_TOGETHER, _LEAST_RUN = 1 << 19, 1 << 9
# Rows abreast in such a panel: of fewer all are copied, and turned (`small_panels`), in less time
# (`benchmarks/choices.py`: `rows-abreast-in-panels`).
_LEAST_ABREAST = 8

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
        Whether the long way copies all of it first. Only then elements of a line may lie alone.
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
    next_row = turned.strides[kept - 1]
    are_abreast = next_row == size or (is_copied_whole and size < next_row < apart)
    if are_abreast and turned.shape[kept - 1] > 1:
        # Its copy is one matrix, of which lines may be joined, unless panels are outside of lines.
        sides = zip(turned.shape[: kept - 1], turned.strides[: kept - 1], strict=True)
        is_one = not any(n > 1 and stride > apart for n, stride in sides)
        across = Tile(np.empty(0), NO_MASK, rows.count, length, rows.count, rows.count)
        may_join = is_copied_whole and is_one and lines_joined(across) > 1
        if may_join and not is_exact(plan.parts[0].spec):
            # Those that touch are joined, which leaves other bits.
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
    step, within = divmod(turned.strides[kept - 1], size)
    if within:
        return None
    while inner and turned.strides[inner - 1] == side * step * size:
        inner -= 1
        side *= turned.shape[inner]
    levels = levels_of(turned.shape[:inner], turned.strides[:inner], size) if inner else ((1, 0),)
    if levels is None or pitch <= (side - 1) * step:
        return None
    if step > 1:
        strips = _strips_of(side, length, step, size, 1 if inner else 2)
        if side < _LEAST_ABREAST or strips is None or len(levels) + (strips > 1) > MOST_LEVELS:
            return None
        if strips > 1:
            side //= strips
            levels = (*levels, (strips, side * step))
    panels = Panels(levels, side, pitch, step)
    places = way_to_column_places(plan, panels, length)
    if places is not None and len(rows.column_spans()) == 1:
        return lambda array, _ddof: places(array)
    is_large = turned.size > FEW and length * side * size >= _LEAST_PANEL
    if turned.dtype.char in "e?" or not is_large:
        return None
    # Of lines that touch some may be joined, which leaves other bits.
    is_any_order = isinstance(part, FoldPart) and is_exact(part.spec)
    if (pitch == side and not is_any_order) or len(rows.column_spans()) > 1:
        return None
    return way_in_panels(leaving_results(plan), panels, length)


def _strips_of(side: int, length: int, step: int, size: int, fewest: int) -> int | None:
    """Return into how many strips a panel is cut of elements that lie alone, None if none fits."""
    for strips in range(fewest, side + 1):
        width = side // strips
        if strips > 1 and width * step * size < _LEAST_RUN:
            return None
        if side % strips == 0 and width * length * size <= _MOST_PUT_TOGETHER:
            return strips
    return None
