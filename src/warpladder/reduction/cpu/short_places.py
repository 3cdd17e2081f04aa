"""Where in short rows an extremum is: rows are turned, each lane of a vector has one of its own.

The place of the largest of a few classes is such a case. Row by row there are two passes, over a
vector or less: rows of 8 int64, float32 and int8 take one core of an EPYC 9, 8 and 10 ns so, and
two cores by lanes 1.9, 1.4 and 0.8; NumPy 6.7 to 7.6.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.arithmetic import select
from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.reduction.lines.line_kernel import SUMS
from warpladder.reduction.lines.shared_lines import Found
from warpladder.reduction.lines.short_rows import folder_of_short_rows
from warpladder.reduction.lines.small_panels import folder_of_small_panels
from warpladder.reduction.loops.blocks import element_type
from warpladder.reduction.memory.layout import SHORT
from warpladder.reduction.memory.levels import Levels, rows_of
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan

__all__ = ["way_to_places_in_small_panels", "way_to_short_places"]

# Rows from which it pays (`benchmarks/choices.py`: `places-in-short-rows`).
_LEAST_ROWS = 1 << 8
# Elements of a row that are counted in a byte.
_MOST_PLACES = 1 << 7


def way_to_short_places(
    plan: Plan, levels: Levels, length: int, step: int = 1
) -> Callable[[NDArray[Any], int], NDArray[np.int64]] | None:
    """Return the way from rows that lie so to the places of their extrema, None where it is none.

    It is called with an array whose first element is that of the first row, and ``ddof``.
    """
    given = _given_for(plan) if 1 < length < SHORT and rows_of(levels) >= _LEAST_ROWS else None
    if given is None:
        return None
    loop, shares = given
    find = folder_of_short_rows(*loop, levels, length, SUMS, step=step, shares=shares)
    return lambda data, _ddof: find(data)[-1]


def way_to_places_in_small_panels(
    plan: Plan, panels: int, length: int, side: int
) -> Callable[[NDArray[Any], int], NDArray[np.int64]] | None:
    """Return what `way_to_short_places` does for rows in small panels, end to end."""
    given = _given_for(plan)
    if given is None:
        return None
    loop, shares = given
    # A place is kept as a number of the elements' size.
    if length > _MOST_PLACES and loop[-1].itemsize == 1:
        return None
    find = folder_of_small_panels(*loop, panels, length, side, SUMS, shares=shares)
    return lambda data, _ddof: find(data)[-1]


def _given_for(plan: Plan) -> tuple[tuple[Any, ...], bool] | None:
    """Return the loop, its room and the dtype of elements, and whether rows may be shared.

    It is None where something else than places is asked for.
    """
    part = plan.parts[0]
    if not (plan.is_plain and isinstance(part, FoldPart)):
        return None
    spec = part.spec
    if not spec.is_of_one_place or spec.values in {"bool", "float16"}:
        return None
    kernel = _places_kernel(spec.values, is_high="high" in spec.folds)
    return (kernel, _room, np.dtype(element_type(spec.values))), part.shares


def _room(rows: int, pieces: int, how: int) -> Found:
    """Return where the loop leaves places."""
    none = np.empty(0, np.int64)
    return none, none, none, np.empty(rows, np.int64)


@cache
def _places_kernel(values: str, *, is_high: bool) -> Any:
    """Return the loop for lines that leaves the place of the first extremum of each row."""
    element = element_type(values)
    is_float = np.dtype(element).kind == "f"
    # As wide as an element, so that as many of both are in a vector.
    place = np.dtype(f"i{np.dtype(element).itemsize}").type

    @cached
    @njit(nogil=True)
    @specialised
    def fold(data, rows, length, pitch, width, rows_left, first, second, counts, results, how):
        ahead, places = np.empty(rows, element), np.empty(rows, place)
        for j in range(rows):
            ahead[j], places[j] = data[j], place(0)
        for i in range(1, length):
            line, at = data[i * pitch : i * pitch + rows], place(i)
            for j in range(rows):
                v, kept = line[j], ahead[j]
                leads = v > kept if is_high else v < kept
                if is_float:
                    # The first NaN is ahead of all numbers.
                    leads |= (v != v) & (kept == kept)  # noqa: PLR0124 - NaN is not itself
                ahead[j] = select(leads, v, kept)
                places[j] = select(leads, at, places[j])
        for j in range(rows):
            results[j] = places[j]

    return fold
