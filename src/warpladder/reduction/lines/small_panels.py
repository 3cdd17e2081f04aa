"""The loop of `lines` for rows side by side in many small panels, as of many matrices of 3 x 3.

Panel by panel it takes as long to begin as to add a hundred numbers, and lines are shorter than a
vector. So each panel is turned as if it were one row (`short_rows`): then element i of row j of all
panels lie in one line, and lines of the same i, one after the other, are one line of all rows. What
is found of them comes row by row, and is turned back. In us over the second axis, panel by panel,
so and by NumPy: sums of 22,222 x 3 x 3 float64 1,590, 88 and 1,510, of 12,500 x 2 x 8 float32 728,
33 and 738, variances of 25,000 x 4 x 2 float64 614, 128 and 4,610, by two cores of an EPYC.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.native import array_at, call_at
from warpladder.device.words import WORD_BYTES, place_of, read_at
from warpladder.reduction.lines.by_lines import (
    COUNT_BYTES,
    DATA,
    FIRST,
    FIRST_BYTES,
    ITEMSIZE,
    KNOWN_TURN,
    LENGTH,
    LEVELS,
    LINES,
    NEXT,
    RESULT_BYTES,
    ROWS,
    ROWS_OF_PIECE,
    SAME,
    SECOND,
    SECOND_BYTES,
    SIDE,
    SOME,
    TURN,
    TURN_BACK,
    ByLines,
    address_of_lines,
    fold_some,
)
from warpladder.reduction.lines.shared_lines import Found, Room
from warpladder.reduction.lines.short_rows import address_of_turn, known_turn, turn_some
from warpladder.reduction.memory.levels import words_of
from warpladder.reduction.memory.singles import LINE_BYTES

__all__ = ["folder_of_small_panels"]

# Bytes of panels that are turned at once (`benchmarks/choices.py`: `panels-at-once`), and into how
# many turns they are cut at least.
_AT_ONCE, _LEAST_TURNS = 1 << 15, 8
# What is found of rows: a first and a second word, a count, a result.
_FOUND, _SECONDS, _COUNTS, _RESULTS = 4, 1, 2, 3


@cached
@njit(nogil=True)
def _fold_piece(given, piece):
    """Turn some panels at a time, go through their lines and turn back what is found."""
    same, of_piece = read_at(given, SAME), read_at(given, ROWS_OF_PIECE)
    panels, size, some = read_at(same, ROWS), read_at(same, LENGTH), read_at(same, SOME)
    side, length, itemsize = read_at(same, SIDE), read_at(same, LINES), read_at(same, ITEMSIZE)
    count_bytes = read_at(same, COUNT_BYTES)
    buffer = np.empty(some * size * itemsize + LINE_BYTES, np.uint8)
    of_each = some * side * WORD_BYTES
    in_lines = np.empty(_FOUND * of_each, np.uint8)
    end = min((piece + 1) * of_piece, panels)
    for begin in range(piece * of_piece, end, some):
        run = min(some, end - begin)
        # Asked for here: Numba frees a buffer after the last use that it sees.
        lines = (place_of(buffer) + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES
        room, wide = place_of(in_lines), run * side
        # Whatever turns them, lines are as far apart as there are panels.
        turn_some(same, read_at(given, DATA), begin, run, lines, run)
        second = room + _SECONDS * of_each, wide
        if not read_at(same, SECOND_BYTES):
            # One word for all rows, of which each turn has its own.
            second = read_at(given, SECOND) + begin // some * WORD_BYTES, 1
        # Counts are added to.
        in_lines[_COUNTS * of_each : _COUNTS * of_each + wide * count_bytes] = 0
        lines_lie, back = (wide, length, wide), (side,)
        numbers = array_at(lines, length * wide, itemsize) + lines_lie
        counts, results = room + _COUNTS * of_each, room + _RESULTS * of_each
        fold_some(same, numbers, room, second, counts, results)
        for which in range(_FOUND):
            each = read_at(same, FIRST_BYTES + which)
            if each:
                into = read_at(given, FIRST + which) + begin * side * each
                lie = room + which * of_each, side, run, run, 1
                turned_back = array_at(into, wide, each)
                call_at(read_at(same, TURN_BACK + which), lie + turned_back + back)


@lru_cache(maxsize=256)
def folder_of_small_panels(
    kernel: Any,
    room: Room,
    values: np.dtype[Any],
    panels: int,
    length: int,
    side: int,
    how: int,
    *,
    shares: bool,
) -> Callable[[NDArray[Any]], Found]:
    """Return what `short_rows.folder_of_short_rows` does for rows in panels, end to end.

    Parameters
    ----------
    kernel, room, values, how, shares
        As there.
    panels, length, side
        How many panels there are, how many lines each has, and rows abreast.
    """
    size, itemsize, of_line = length * side, values.itemsize, LINE_BYTES // values.itemsize
    some = min(max(_AT_ONCE // (size * itemsize), 1), -(-panels // _LEAST_TURNS) + of_line)
    # Lines begin where those of the caches do, and not at a power of two from each other, where few
    # of them would find room in a cache.
    some = (some // of_line | 1) * of_line if some > of_line else some
    given = address_of_lines(kernel, values, room), room, values, panels, some, size, how
    found = ByLines(_fold_piece, *given, side=side, shares=shares)
    fixed = found.fixed
    fixed[TURN], fixed[KNOWN_TURN] = address_of_turn(itemsize), known_turn(size, itemsize)
    fixed[SIDE], fixed[LINES], fixed[NEXT] = side, length, 1
    sizes = fixed[FIRST_BYTES : RESULT_BYTES + 1].tolist()
    fixed[TURN_BACK:LEVELS] = [address_of_turn(each) if each else 0 for each in sizes]
    fixed[LEVELS:] = words_of(((panels, size),))
    return found
