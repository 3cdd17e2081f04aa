"""Where in columns an extremum is, where there are but a few of them, side by side.

Their lines are shorter than vectors. Many lines are taken as if they were one, each lane of which
keeps what is ahead in its own lines and where; in the end the lanes of each column are compared.
By one core of an EPYC, in us, for 6,666 x 3 and 66,666 x 3 float32 6.1 and 36, for int64 5.5 and
36; by copies of the columns 16 and 101, 18 and 60, by NumPy 8.3 and 71, 8.7 and 85.

Of some columns of a table lines have others between them, which are looked at, too, where they are
few, and forgotten: 50,000 x 3 and 5 float64 out of 8 columns take 96 us in either case, by copies
318 and 427, by NumPy 131 and 219.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import isqrt
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.arithmetic import select
from warpladder.device.kernel_cache import cached
from warpladder.device.specialised import specialised
from warpladder.device.subroutines import entry_for
from warpladder.device.words import place_of
from warpladder.reduction.blocks import element_type
from warpladder.reduction.copies import FEW
from warpladder.reduction.layout import SHORT
from warpladder.reduction.levels import Levels, place_of_row, rows_of, words_of
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.scalars import compiled

__all__ = ["way_to_column_places"]

# Elements of lines that are taken as one, about, and of columns from which it pays.
_WIDE, _LEAST = 128, 1 << 10
# Lines that are not joined to others.
_WIDE_ENOUGH = 16
# Bytes of lines whose elements between those that count are looked at, too. Of longer ones it takes
# less to copy few elements, if a line has fewer than there are lanes: of 5,000 x 3 float64 out of
# 40 columns 22 us, so 38; of 50,000 x 3 508, so 303.
_MOST_FORGOTTEN, _FEW_LANES = 1 << 7, 8


def way_to_column_places(
    plan: Plan, levels: Levels, length: int, side: int, pitch: int
) -> Callable[[NDArray[Any]], NDArray[np.int64]] | None:
    """Return the way to the places of extrema of rows of which ``side`` lie abreast, in panels.

    It is None where there is none. It is called with all elements, as they lie in memory.

    Parameters
    ----------
    plan
        The plan of one operation.
    levels
        How panels lie.
    length, side, pitch
        Lines of a panel, elements of a line that count, and how far lines are apart.
    """
    part = plan.parts[0]
    if not (plan.is_plain and isinstance(part, FoldPart) and 1 < side < SHORT):
        return None
    spec = part.spec
    is_taken = spec.is_of_one_place and spec.values not in {"bool", "float16"}
    if not is_taken or length * side < _LEAST or length >= 1 << 31:
        return None
    element = np.dtype(element_type(spec.values))
    is_apart = pitch > side and pitch * element.itemsize > _MOST_FORGOTTEN
    if is_apart and side < _FEW_LANES and length * side * rows_of(levels) <= FEW:
        return None
    # In the end there is as much to compare as there are lanes.
    is_wide = side >= _WIDE_ENOUGH or is_apart
    joined = 1 if is_wide else max(min(_WIDE // pitch, isqrt(length // 2)), 1)
    none, words = np.empty(0, element), np.array(words_of(levels))
    kernel = _places_kernel(spec.values, is_high="high" in spec.folds)
    fold = entry_for(kernel, none, words, 1, 1, 1, 1, 1, words)
    panels = rows_of(levels)

    def way(data: NDArray[Any]) -> NDArray[np.int64]:
        places = np.empty(panels * side, np.int64)
        fold(data, words, panels, length, side, pitch, joined, places)
        return places

    return way


@cache
def _places_kernel(values: str, *, is_high: bool) -> Any:
    """Return ``fold(data, levels, panels, length, side, pitch, joined, results)``."""
    element = element_type(values)
    is_float = np.dtype(element).kind == "f"
    # Of 8 bytes as wide as an element, so that as many of both are in a vector.
    place = np.int64 if np.dtype(element).itemsize == 8 else np.int32

    @compiled
    def is_ahead(v, kept):  # type: ignore[no-untyped-def]
        leads = v > kept if is_high else v < kept
        if is_float:
            # The first NaN is ahead of all numbers.
            leads |= (v != v) & (kept == kept)  # noqa: PLR0124 - NaN is not itself
        return leads

    @cached
    @njit(nogil=True)
    @specialised
    def fold(data, levels, panels, length, side, pitch, joined, results):  # type: ignore[no-untyped-def]
        # Behind the last line nothing is looked at.
        wide = side if joined == 1 else pitch * joined
        lines, apart = (length - (pitch > side)) // joined, pitch * joined
        ahead, places = np.empty(wide, element), np.empty(wide, place)
        for panel in range(panels):
            start = place_of_row(place_of(levels), panel)
            for j in range(wide):
                ahead[j], places[j] = data[start + j], place(0)
            # Two at a time, so that what is kept is loaded and stored once for them.
            for i in range(1, lines, 2):
                begin, at, at_next = start + i * apart, place(i), place(i + 1)
                line = following = data[begin : begin + wide]
                if i + 1 < lines:
                    following = data[begin + apart : begin + apart + wide]
                for j in range(wide):
                    v, kept = line[j], ahead[j]
                    leads = is_ahead(v, kept)
                    kept, found_at = select(leads, v, kept), select(leads, at, places[j])
                    v = following[j]
                    leads = is_ahead(v, kept)
                    ahead[j] = select(leads, v, kept)
                    places[j] = select(leads, at_next, found_at)
            for column in range(side):
                best, found = ahead[column], np.int64(places[column]) * joined
                for k in range(1, joined + length - lines * joined):
                    if k < joined:
                        lane = k * pitch + column
                        v, at_line = ahead[lane], np.int64(places[lane]) * joined + k
                    else:
                        # Lines that are left over.
                        at_line = lines * joined + k - joined
                        v = data[start + at_line * pitch + column]
                    is_equal = v == best
                    if is_float:
                        is_equal |= (v != v) & (best != best)  # noqa: PLR0124 - NaN is not itself
                    if is_ahead(v, best) or (is_equal and at_line < found):
                        best, found = v, at_line
                results[panel * side + column] = found

    return fold
