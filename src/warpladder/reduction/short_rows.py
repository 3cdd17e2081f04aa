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
from warpladder.device.environment import worker_count
from warpladder.device.kernel_cache import cached
from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.standby import CLOSED, GIVEN, MOST_PIECES, is_opened, share
from warpladder.device.subroutines import entry_for, subroutine
from warpladder.device.words import WORD_BYTES, place_of, read_at, write_at
from warpladder.reduction.copies import is_known, turn_of
from warpladder.reduction.layout import NO_MASK, Tile
from warpladder.reduction.levels import (
    LEVEL_WORDS,
    Levels,
    Panels,
    place_of_row,
    rows_of,
    words_of,
)
from warpladder.reduction.line_kernel import FIELDS
from warpladder.reduction.shared_lines import Found, Room
from warpladder.reduction.singles import LINE_BYTES
from warpladder.reduction.squares import turn_rows
from warpladder.reduction.together import Together

__all__ = ["MOST_TURNED", "folder_of_panels", "folder_of_short_rows", "turned"]

MOST_TURNED = 1 << 28
"""Bytes that are gone through by one call, which an interrupt has to wait for."""

# Bytes of rows that are turned at once. Sums of 11,628 x 30 float64 took one core of an EPYC 202 us
# by 4 KB, 140 by 8, 120 by 16, 115 by 32 and 108 by 64.
_AT_ONCE = 1 << 16
# From which rows are shared with who stands by, and into how many turns they are cut at least.
_LEAST_SHARED, _LEAST_TURNS = 1 << 16, 8

# What is the same for all calls: the loop, what turns rows of any length and of a known one, what
# the rows are, how many are turned at once and how far lines are apart then, how many are a piece
# of what is shared, and how many bytes of what is found a row has. Of panels, which have as many
# rows as are turned else, how far their lines are apart.
_FOLD, _TURN, _KNOWN_TURN, _ITEMSIZE, _ROWS, _LENGTH, _SOME, _APART, _STEP = range(9)
_FIRST_BYTES, _SECOND_BYTES, _COUNT_BYTES, _RESULT_BYTES, _HOW, _TASK = range(9, 15)
_NEXT, _PANEL_PITCH, _LEVELS = range(15, 18)
_FIXED = _LEVELS + LEVEL_WORDS
# What a task is given: where that stands, how many rows are a piece, and what is of one call.
_SAME, _ROWS_OF_PIECE, _DATA, _FIRST, _SECOND, _COUNTS, _RESULTS, _WORDS = range(8)


@subroutine
def _turn_levels(same: Any, data: Any, begin: Any, rows: Any, lines: Any) -> None:
    """Turn so many rows from one on, as many at once as lie side by side."""
    itemsize, length, apart = (
        read_at(same, _ITEMSIZE),
        read_at(same, _LENGTH),
        read_at(same, _APART),
    )
    levels, done = same + _LEVELS * WORD_BYTES, 0
    abreast, pitch, step = read_at(levels, 0), read_at(levels, 1), read_at(same, _NEXT)
    while done < rows:
        row, there = begin + done, lines + done * itemsize
        run = min(abreast - row % abreast, rows - done)
        place = data + place_of_row(levels, row) * itemsize
        given, into = (place, run, length, pitch, step), array_at(there, apart * length, itemsize)
        call_at(read_at(same, _TURN), given + into + (apart,))
        done += run


@cached
@njit(nogil=True)
def _fold_piece(given, piece):
    """Turn some rows at a time and go through them."""
    same, of_piece = read_at(given, _SAME), read_at(given, _ROWS_OF_PIECE)
    rows, length = read_at(same, _ROWS), read_at(same, _LENGTH)
    some, apart, itemsize = read_at(same, _SOME), read_at(same, _APART), read_at(same, _ITEMSIZE)
    first_bytes, second_bytes = read_at(same, _FIRST_BYTES), read_at(same, _SECOND_BYTES)
    count_bytes, result_bytes = read_at(same, _COUNT_BYTES), read_at(same, _RESULT_BYTES)
    data, known = read_at(given, _DATA), read_at(same, _KNOWN_TURN)
    of_panels = read_at(same, _PANEL_PITCH)
    buffer = np.empty(apart * length * itemsize + LINE_BYTES, np.uint8)
    end = min((piece + 1) * of_piece, rows)
    for begin in range(piece * of_piece, end, some):
        run = min(some, end - begin)
        # Asked for here: Numba frees a buffer after the last use that it sees.
        lines = (place_of(buffer) + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES
        numbers, to_next = array_at(lines, apart * length, itemsize), apart
        if of_panels:
            place = data + place_of_row(same + _LEVELS * WORD_BYTES, begin // some) * itemsize
            numbers, to_next = array_at(place, (length - 1) * of_panels + run, itemsize), of_panels
        elif known:
            all_rows, where = array_at(data, rows * length, itemsize), (begin, run)
            call_at(known, all_rows + where + numbers)
            to_next = run
        else:
            _turn_levels(same, data, begin, run, lines)
        second, of_rows = read_at(given, _SECOND) + begin * second_bytes, run
        if not second_bytes:
            # One word for all rows, of which each turn has its own.
            second, of_rows = read_at(given, _SECOND) + begin // some * WORD_BYTES, 1
        found = array_at(read_at(given, _FIRST) + begin * first_bytes, run, first_bytes)
        more = array_at(second, of_rows, WORD_BYTES)
        of_counts = read_at(given, _COUNTS) + begin * count_bytes
        counted = array_at(of_counts, run * (count_bytes > 0), count_bytes)
        made = array_at(read_at(given, _RESULTS) + begin * result_bytes, run, result_bytes)
        lie, how = (run, length, to_next, run, run), (read_at(same, _HOW),)
        call_at(read_at(same, _FOLD), numbers + lie + found + more + counted + made + how)


@cached
@njit(nogil=True)
def _fold_alone(same, data, first, second, counts, results):
    """Go through all rows; what is the same and what is found are given by addresses."""
    words = np.empty(_WORDS, np.int64)
    words[_SAME], words[_ROWS_OF_PIECE], words[_DATA] = same, read_at(same, _ROWS), data
    words[_FIRST], words[_SECOND], words[_COUNTS], words[_RESULTS] = first, second, counts, results
    _fold_piece(place_of(words), 0)
    # As long as this is to be written Numba does not free it.
    words[_SAME] = 0


@cached
@njit(nogil=True)
def _fold_together(board, same, patience, data, first, second, counts, results):
    """Do that with who stands by; return what `share` does."""
    if not is_opened(board):
        return CLOSED
    given, step = board + GIVEN * WORD_BYTES, read_at(same, _STEP)
    write_at(given, _SAME, same)
    write_at(given, _ROWS_OF_PIECE, step)
    write_at(given, _DATA, data)
    write_at(given, _FIRST, first)
    write_at(given, _SECOND, second)
    write_at(given, _COUNTS, counts)
    write_at(given, _RESULTS, results)
    pieces = (read_at(same, _ROWS) + step - 1) // step
    return share(board, read_at(same, _TASK), pieces, patience)


class _ByLines(Together):
    """What goes through rows some at a time, alone or together with who stands by."""

    def __init__(
        self,
        kernel: Any,
        room: Room,
        values: np.dtype[Any],
        rows: int,
        some: int,
        length: int,
        how: int,
        *,
        shares: bool,
    ) -> None:
        workers, itemsize = worker_count(), values.itemsize
        super().__init__(workers)
        self._size = rows * length * itemsize
        self._may_share = shares and workers > 1 and self._size >= _LEAST_SHARED
        self._room, self._how, self._rows, self._turns = room, how, rows, -(-rows // some)
        #: What is the same for all calls.
        fixed = self.fixed = np.zeros(_FIXED, np.int64)
        fixed[_FOLD] = _address(kernel, values, room)
        fixed[_ITEMSIZE], fixed[_ROWS], fixed[_LENGTH], fixed[_SOME] = itemsize, rows, length, some
        fixed[_STEP] = -(-self._turns // MOST_PIECES) * some
        sizes = [each.itemsize * (each.size == 2) for each in room(2, 1, how)]
        fixed[_FIRST_BYTES], fixed[_SECOND_BYTES], fixed[_COUNT_BYTES], fixed[_RESULT_BYTES] = sizes
        fixed[_HOW] = how
        self._same = fixed.ctypes.data
        self._alone = entry_for(_fold_alone, *[1] * 6)

    def __call__(self, data: NDArray[Any]) -> Found:
        """Return what the loop finds of rows, the first of which begins with the data."""
        found, given = self._given(data)
        team = self._team(self._size) if self._may_share else None
        if team is not None:
            kept = data, found, self.fixed
            if self._shares(team, self._size, self._fold, given, kept):
                return found
            # Others may be at work still with what they were given.
            found, given = self._given(data)
        self._alone(self._same, *given)
        return found

    def _given(self, data: NDArray[Any]) -> tuple[Found, tuple[int, ...]]:
        """Return where to leave what is found, and the addresses of the data and of that."""
        found = self._room(self._rows, self._turns, self._how)
        return found, (address(data), *[address(each) if each.size else 0 for each in found])

    def _make_ready(self) -> None:
        """See `Together`."""
        self.fixed[_TASK] = address_of(_fold_piece, 1, 1)
        self._fold = entry_for(_fold_together, *[1] * 8)


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
    found = _ByLines(kernel, room, values, rows, some, length, how, shares=shares)
    fixed = found.fixed
    fixed[_TURN], fixed[_NEXT] = _address_of_turn(itemsize), step
    if levels == ((rows, length),) and step == 1 and is_known(length, itemsize):
        fixed[_KNOWN_TURN] = _address_of_known_turn(length, np.dtype(f"u{itemsize}"))
    # Lines begin where those of the caches do, and not at a power of two from each other, where few
    # of them would find room in a cache.
    fixed[_APART], fixed[_LEVELS:] = (some // of_line + 2) * of_line, words_of(levels)
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
    found = _ByLines(kernel, room, values, rows, panels.side, length, how, shares=shares)
    found.fixed[_PANEL_PITCH], found.fixed[_LEVELS:] = panels.pitch, words_of(panels.levels)
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
def _address(kernel: Any, values: np.dtype[Any], room: Room) -> int:
    return address_of(kernel, np.empty(0, values), 1, 1, 1, 1, 1, *room(1, 1, FIELDS), 1)


@cache
def _address_of_turn(itemsize: int) -> int:
    return address_of(turn_rows, *[1] * 5, np.empty(0, f"u{itemsize}"), 1)


@cache
def _address_of_known_turn(length: int, words: np.dtype[Any]) -> int:
    few = np.empty(0, words)
    return address_of(turn_of(length), few, 1, 1, few)
