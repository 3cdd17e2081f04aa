"""Where in columns an extremum is, where there are but a few of them, side by side.

Their lines are shorter than vectors. Many lines are taken as if they were one, each lane of which
keeps what is ahead in its own lines and where; in the end the lanes of each column are compared.
By one core of an EPYC, in us, for 6,666 x 3 and 66,666 x 3 float32 6.1 and 36, for int64 5.5 and
36; by copies of the columns 16 and 101, 18 and 60, by NumPy 8.3 and 71, 8.7 and 85.

Of some columns of a table lines have others between them, which are looked at, too, where they are
few, and forgotten: 50,000 x 3 and 5 float64 out of 8 columns take 96 us in either case, by copies
318 and 427, by NumPy 131 and 219.

Panels are dealt out to who stands by: 64 x 128 x 20 float32 over the second axis, every second of
lines, take two cores of a Xeon 85 us in place of 141, NumPy 95.
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
from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.specialised import specialised
from warpladder.device.words import WORD_BYTES, place_of, read_at
from warpladder.reduction.lines.by_lines import (
    APART,
    DATA,
    FOLD,
    ITEMSIZE,
    LENGTH,
    LINES,
    RESULTS,
    ROWS,
    ROWS_OF_PIECE,
    SAME,
    SOME,
    ByLines,
    panel_at,
)
from warpladder.reduction.lines.shared_lines import Found
from warpladder.reduction.loops.blocks import element_type
from warpladder.reduction.memory.copies import FEW
from warpladder.reduction.memory.layout import SHORT
from warpladder.reduction.memory.levels import Panels, rows_of
from warpladder.reduction.memory.singles import LINE_BYTES
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.scalars import compiled

__all__ = ["way_to_column_places"]

# Elements of lines that are taken as one, about, and of columns from which it pays
# (`benchmarks/choices.py`: `places-in-columns`).
_WIDE, _LEAST = 128, 1 << 8
# Elements of lines that are not joined to others (`benchmarks/choices.py`:
# `lines-of-places-joined`).
_WIDE_ENOUGH = 32
# Bytes of lines whose elements between those that count are looked at, too. Of longer ones it takes
# less to copy few elements, if a line has fewer than there are lanes (`benchmarks/choices.py`:
# `columns-between`, `few-columns-of-many`).
_MOST_FORGOTTEN, _FEW_LANES = 1 << 7, 8
# Bytes of a line whose elements lie alone from which it pays (`benchmarks/choices.py`:
# `columns-of-elements-alone`).
_LEAST_ALONE = 64
_NONE: NDArray[np.int64] = np.empty(0, np.int64)


def way_to_column_places(
    plan: Plan, panels: Panels, length: int
) -> Callable[[NDArray[Any]], NDArray[np.int64]] | None:
    """Return the way to the places of extrema of rows that lie across, in panels of so many lines.

    It is None where there is none. It is called with an array whose first element is theirs.
    """
    part, (levels, side, pitch, step) = plan.parts[0], panels
    if not (plan.is_plain and isinstance(part, FoldPart) and 1 < side < SHORT):
        return None
    spec = part.spec
    is_taken = spec.is_of_one_place and spec.values not in {"bool", "float16"}
    if not is_taken or length * side < _LEAST or length >= 1 << 31:
        return None
    element = np.dtype(element_type(spec.values))
    if step > 1:
        # They are put together with nothing between them.
        pitch = side
        if side * element.itemsize < _LEAST_ALONE:
            return None
    is_apart = pitch > side and pitch * element.itemsize > _MOST_FORGOTTEN
    if is_apart and side < _FEW_LANES and length * side * rows_of(levels) <= FEW:
        return None
    # In the end there is as much to compare as there are lanes.
    is_wide = side >= _WIDE_ENOUGH or is_apart
    joined = 1 if is_wide else max(min(_WIDE // pitch, isqrt(length // 2)), 1)
    kernel = _places_kernel(spec.values, is_high="high" in spec.folds)
    fold, rows = address_of(kernel, np.empty(0, element), 1, 1, 1, 1, _NONE), rows_of(levels) * side
    places = ByLines(_find_piece, fold, _room, element, rows, side, length, 0, shares=part.shares)
    places.lay(panels)
    places.fixed[LINES] = joined
    return lambda data: places(data)[-1]


def _room(rows: int, pieces: int, how: int) -> Found:  # noqa: ARG001 - see `Room`
    """Return where places are left."""
    return _NONE, _NONE, _NONE, np.empty(rows, np.int64)


@cached
@njit(nogil=True)
def _find_piece(given, piece):  # type: ignore[no-untyped-def]
    """Find the places of the rows of some panels."""
    same, of_piece = read_at(given, SAME), read_at(given, ROWS_OF_PIECE)
    side, length, itemsize = read_at(same, SOME), read_at(same, LENGTH), read_at(same, ITEMSIZE)
    buffer = np.empty(read_at(same, APART) * length * itemsize + LINE_BYTES, np.uint8)
    end = min((piece + 1) * of_piece, read_at(same, ROWS))
    for begin in range(piece * of_piece, end, side):
        # Asked for here: Numba frees a buffer after the last use that it sees.
        together = (place_of(buffer) + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES
        lines, pitch = panel_at(same, read_at(given, DATA), begin // side, together)
        elements = array_at(lines, (length - 1) * pitch + side, itemsize)
        places = array_at(read_at(given, RESULTS) + begin * WORD_BYTES, side, WORD_BYTES)
        lie = length, side, pitch, read_at(same, LINES)
        call_at(read_at(same, FOLD), elements + lie + places)


@cache
def _places_kernel(values: str, *, is_high: bool) -> Any:
    """Return ``fold(data, length, side, pitch, joined, results)``, for one panel."""
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
    def fold(data, length, side, pitch, joined, results):  # type: ignore[no-untyped-def]
        # Behind the last line nothing is looked at.
        wide = side if joined == 1 else pitch * joined
        lines, apart = (length - (pitch > side)) // joined, pitch * joined
        ahead, places = np.empty(wide, element), np.empty(wide, place)
        for j in range(wide):
            ahead[j], places[j] = data[j], place(0)
        # Two at a time, so that what is kept is loaded and stored once for them.
        for i in range(1, lines, 2):
            begin, at, at_next = i * apart, place(i), place(i + 1)
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
                    v = data[at_line * pitch + column]
                is_equal = v == best
                if is_float:
                    is_equal |= (v != v) & (best != best)  # noqa: PLR0124 - NaN is not itself
                if is_ahead(v, best) or (is_equal and at_line < found):
                    best, found = v, at_line
            results[column] = found

    return fold
