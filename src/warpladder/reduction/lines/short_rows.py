"""The loop of `lines` for rows that do not lie across in one matrix: by turns, or by panels.

To begin and end a row takes a loop over rows up to 50 ns, as long as to add some hundred numbers:
norms of 262,144 x 3 float64 took 13.5 ms row by row. Turned in a buffer that stays in a cache, each
lane of a vector has a row of its own. Rows are dealt out to who stands by.

Where lines have rows side by side, but their panels lie in groups, as in boxes whose edges are cut
off, the loop goes through each where it lies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.addresses import address
from warpladder.device.kernel_cache import cached
from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.subroutines import entry_for, subroutine
from warpladder.device.words import WORD_BYTES, place_of, read_at
from warpladder.reduction.lines.by_lines import (
    APART,
    COUNT_BYTES,
    COUNTS,
    DATA,
    FIRST,
    FIRST_BYTES,
    ITEMSIZE,
    KNOWN_TURN,
    LENGTH,
    LEVELS,
    NEXT,
    PANEL_PITCH,
    RESULT_BYTES,
    RESULTS,
    ROWS,
    ROWS_OF_PIECE,
    SAME,
    SECOND,
    SECOND_BYTES,
    SOME,
    TURN,
    ByLines,
    address_of_lines,
    fold_some,
    panel_at,
)
from warpladder.reduction.lines.shared_lines import Found, Room
from warpladder.reduction.memory.copies import is_known, turn_of
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.memory.levels import (
    Levels,
    Panels,
    place_of_row,
    rows_of,
    words_of,
)
from warpladder.reduction.memory.singles import LINE_BYTES
from warpladder.reduction.memory.squares import turn_rows

__all__ = [
    "address_of_turn",
    "folder_of_panels",
    "folder_of_short_rows",
    "known_turn",
    "turn_some",
    "turned",
]

# Bytes of rows that are turned at once (`benchmarks/choices.py`: `turned-at-once`).
_AT_ONCE = 1 << 16
# Into how many turns rows are cut at least.
_LEAST_TURNS = 8


@subroutine
def turn_some(same: Any, data: Any, begin: Any, rows: Any, lines: Any, apart: Any) -> Any:
    """Turn so many rows from one on into lines; return how far these are apart.

    That is as wanted, or as many elements as there are rows, if there is a loop for their length.
    """
    itemsize, length = read_at(same, ITEMSIZE), read_at(same, LENGTH)
    known = read_at(same, KNOWN_TURN)
    if known:
        all_rows, some = array_at(data, read_at(same, ROWS) * length, itemsize), (begin, rows)
        call_at(known, all_rows + some + array_at(lines, rows * length, itemsize))
        return rows
    levels, done = same + LEVELS * WORD_BYTES, 0
    abreast, pitch, step = read_at(levels, 0), read_at(levels, 1), read_at(same, NEXT)
    while done < rows:
        row, there = begin + done, lines + done * itemsize
        run = min(abreast - row % abreast, rows - done)
        place = data + place_of_row(levels, row) * itemsize
        given, into = (place, run, length, pitch, step), array_at(there, apart * length, itemsize)
        call_at(read_at(same, TURN), given + into + (apart,))
        done += run
    return apart


@cached
@njit(nogil=True)
def _fold_piece(given, piece):
    """Turn some rows at a time and go through them."""
    same, of_piece = read_at(given, SAME), read_at(given, ROWS_OF_PIECE)
    rows, length = read_at(same, ROWS), read_at(same, LENGTH)
    some, apart, itemsize = read_at(same, SOME), read_at(same, APART), read_at(same, ITEMSIZE)
    first_bytes, second_bytes = read_at(same, FIRST_BYTES), read_at(same, SECOND_BYTES)
    count_bytes, result_bytes = read_at(same, COUNT_BYTES), read_at(same, RESULT_BYTES)
    data, of_panels = read_at(given, DATA), read_at(same, PANEL_PITCH)
    buffer = np.empty(apart * length * itemsize + LINE_BYTES, np.uint8)
    end = min((piece + 1) * of_piece, rows)
    for begin in range(piece * of_piece, end, some):
        run = min(some, end - begin)
        # Asked for here: Numba frees a buffer after the last use that it sees.
        lines = (place_of(buffer) + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES
        if of_panels:
            lines, to_next = panel_at(same, data, begin // some, lines)
        else:
            to_next = turn_some(same, data, begin, run, lines, apart)
        second, of_second = read_at(given, SECOND) + begin * second_bytes, run
        if not second_bytes:
            # One word for all rows, of which each turn has its own.
            second, of_second = read_at(given, SECOND) + begin // some * WORD_BYTES, 1
        lie = run, length, to_next
        fold_some(
            same,
            array_at(lines, (length - 1) * to_next + run, itemsize) + lie,
            read_at(given, FIRST) + begin * first_bytes,
            (second, of_second),
            read_at(given, COUNTS) + begin * count_bytes,
            read_at(given, RESULTS) + begin * result_bytes,
        )


@lru_cache(maxsize=256)
def folder_of_short_rows(
    kernel: Any,
    room: Room,
    values: np.dtype[Any],
    levels: Levels,
    length: int,
    how: int,
    *,
    step: int = 1,
    shares: bool,
) -> Callable[[NDArray[Any]], Found]:
    """Return what is called with rows that do not lie across, and returns what a loop finds.

    It is given an array whose first element is that of the first row.

    Parameters
    ----------
    kernel
        The loop of `lines`.
    room
        Returns where it leaves what it finds.
    values
        The dtype of the elements as they are stored.
    levels, length
        How rows lie, and how many elements each has, more than one.
    how
        What the loop leaves.
    step
        How many elements apart neighbours in a row are.
    shares
        Whether some are given to who stands by.
    """
    rows, itemsize, of_line = rows_of(levels), values.itemsize, LINE_BYTES // values.itemsize
    some = max(_AT_ONCE // (length * itemsize), 1)
    some = min(some, -(-rows // _LEAST_TURNS) + of_line)
    some -= some % of_line if some > of_line else 0
    fold = address_of_lines(kernel, values, room)
    found = ByLines(_fold_piece, fold, room, values, rows, some, length, how, shares=shares)
    fixed = found.fixed
    fixed[TURN], fixed[NEXT] = address_of_turn(itemsize), step
    if levels == ((rows, length),) and step == 1:
        fixed[KNOWN_TURN] = known_turn(length, itemsize)
    # Lines begin where those of the caches do, and not at a power of two from each other, where few
    # of them would find room in a cache.
    fixed[APART], fixed[LEVELS:] = (some // of_line + 2) * of_line, words_of(levels)
    return found


@lru_cache(maxsize=256)
def folder_of_panels(
    kernel: Any,
    room: Room,
    values: np.dtype[Any],
    panels: Panels,
    length: int,
    how: int,
    *,
    shares: bool,
) -> Callable[[NDArray[Any]], Found]:
    """Return what `folder_of_short_rows` does for rows that lie across, in panels."""
    rows = rows_of(panels.levels) * panels.side
    fold = address_of_lines(kernel, values, room)
    found = ByLines(_fold_piece, fold, room, values, rows, panels.side, length, how, shares=shares)
    found.lay(panels)
    return found


def turned(tile: Tile) -> Tile:
    """Return all rows of a tile without a mask so that they lie across, which is a copy.

    But of one element each, one after the other, they do so as they are.

    Examples
    --------
    >>> tile = turned(Tile(np.array([1, 2, 0, 3, 4, 0]), NO_MASK, 2, 2, 3))
    >>> tile.data.tolist(), tile[2:]
    ([1, 3, 2, 4], (2, 2, 2, 2))
    """
    data, _, rows, length, pitch, _ = tile
    if length == pitch == 1:
        return tile._replace(pitch=rows, across=rows)
    across = np.empty(rows * length, data.dtype)
    if pitch == length and is_known(length, data.itemsize):
        words = f"u{data.itemsize}"
        turn_of(length)(data.view(words), 0, rows, across.view(words))
    elif rows:
        lines = across.view(f"u{data.itemsize}")
        _turn(lines.dtype)(address(data), rows, length, pitch, 1, lines, rows)
    return Tile(across, NO_MASK, rows, length, rows, rows)


@cache
def _turn(words: np.dtype[Any]) -> Callable[..., None]:
    return entry_for(turn_rows, *[1] * 5, np.empty(0, words), 1)


@cache
def address_of_turn(itemsize: int) -> int:
    """Return the address of what turns rows of elements of a size."""
    return address_of(turn_rows, *[1] * 5, np.empty(0, f"u{itemsize}"), 1)


@cache
def known_turn(length: int, itemsize: int) -> int:
    """Return the address of what turns rows of a length that lie in a row, 0 where it is none."""
    few = np.empty(0, f"u{itemsize}")
    return address_of(turn_of(length), few, 1, 1, few) if is_known(length, itemsize) else 0
