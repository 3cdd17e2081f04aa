"""Many rows gone through some at a time, by a loop for lines: alone, or with who stands by.

How rows come to lie as lines is told where it is done: `short_rows`, `small_panels`.
"""

from __future__ import annotations

from functools import cache
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
from warpladder.reduction.lines.line_kernel import FIELDS
from warpladder.reduction.lines.shared_lines import Found, Room
from warpladder.reduction.memory.levels import LEVEL_WORDS, Panels, place_of_row, words_of
from warpladder.reduction.memory.singles import bytes_of_one, take_lines
from warpladder.reduction.together import Together

__all__ = [
    "APART",
    "COUNTS",
    "COUNT_BYTES",
    "DATA",
    "FIRST",
    "FIRST_BYTES",
    "FOLD",
    "HOW",
    "ITEMSIZE",
    "KNOWN_TURN",
    "LENGTH",
    "LEVELS",
    "LINES",
    "MOST_TURNED",
    "NEXT",
    "PANEL_PITCH",
    "RESULTS",
    "RESULT_BYTES",
    "ROWS",
    "ROWS_OF_PIECE",
    "SAME",
    "SECOND",
    "SECOND_BYTES",
    "SIDE",
    "SOME",
    "STEP",
    "TASK",
    "TURN",
    "TURN_BACK",
    "ByLines",
    "address_of_lines",
    "fold_some",
    "panel_at",
]

MOST_TURNED = 1 << 28
"""Bytes that are gone through by one call, which an interrupt has to wait for."""

# Bytes from which rows are shared with who stands by (`benchmarks/choices.py`:
# `turned-rows-shared`).
_LEAST_SHARED = 1 << 16

# What is the same for all calls: the loop, what turns rows of any length and of a known one, what
# the rows are, how many are turned at once and how far lines are apart then, how many are a piece
# of what is shared, and how many bytes of what is found a row has. Of panels, which have as many
# rows as are turned else, how far their lines are apart; where elements of a line lie alone, how
# far neighbours are apart, how many a line has once more, and what puts them together for what
# turns. Of small panels how many rows they have, of how many elements, and what turns back each of
# what is found. Of places in columns, in place of elements, how many lines are taken as one.
FOLD, TURN, KNOWN_TURN, ITEMSIZE, ROWS, LENGTH, SOME, APART, STEP = range(9)
FIRST_BYTES, SECOND_BYTES, COUNT_BYTES, RESULT_BYTES, HOW, TASK = range(9, 15)
NEXT, PANEL_PITCH, SIDE, LINES, TURN_BACK = range(15, 20)
LEVELS = TURN_BACK + 4
_FIXED = LEVELS + LEVEL_WORDS
# What a task is given: where that stands, how many rows are a piece, and what is of one call.
SAME, ROWS_OF_PIECE, DATA, FIRST, SECOND, COUNTS, RESULTS, _WORDS = range(8)


@subroutine
def fold_some(same: Any, numbers: Any, first: Any, second: Any, counts: Any, results: Any) -> None:
    """Call the loop for lines, given as an array, rows, their length and how far lines are apart.

    What is found is left at addresses, second words with how many there are.
    """
    rows, count_bytes = numbers[-3], read_at(same, COUNT_BYTES)
    left = array_at(first, rows, read_at(same, FIRST_BYTES))
    more = array_at(second[0], second[1], WORD_BYTES)
    counted = array_at(counts, rows * (count_bytes > 0), count_bytes)
    made, how = array_at(results, rows, read_at(same, RESULT_BYTES)), (read_at(same, HOW),)
    lie = rows, rows
    call_at(read_at(same, FOLD), numbers + lie + left + more + counted + made + how)


@subroutine
def panel_at(same: Any, data: Any, panel: Any, buffer: Any) -> Any:
    """Return where the lines of a panel begin, and how far they are apart.

    Elements that lie alone are put together at an address.
    """
    itemsize, pitch = read_at(same, ITEMSIZE), read_at(same, PANEL_PITCH)
    lines = data + place_of_row(same + LEVELS * WORD_BYTES, panel) * itemsize
    if read_at(same, APART):
        side, length, step = read_at(same, SOME), read_at(same, LENGTH), read_at(same, NEXT)
        extent = (length - 1) * pitch + (side - 1) * step + 1
        together = array_at(buffer, length * side, itemsize)
        lie = length, side, pitch, step
        call_at(read_at(same, TURN), together + array_at(lines, extent, itemsize) + lie)
        lines, pitch = buffer, side
    return lines, pitch


@cached
@njit(nogil=True)
def _fold_alone(same, data, first, second, counts, results):
    """Go through all rows; what is the same and what is found are given by addresses."""
    words = np.empty(_WORDS, np.int64)
    words[SAME], words[ROWS_OF_PIECE], words[DATA] = same, read_at(same, ROWS), data
    words[FIRST], words[SECOND], words[COUNTS], words[RESULTS] = first, second, counts, results
    call_at(read_at(same, TASK), (place_of(words), 0))
    # As long as this is to be written Numba does not free it.
    words[SAME] = 0


@cached
@njit(nogil=True)
def _fold_together(board, same, patience, data, first, second, counts, results):
    """Do that with who stands by; return what `share` does."""
    if not is_opened(board):
        return CLOSED
    given, step = board + GIVEN * WORD_BYTES, read_at(same, STEP)
    write_at(given, SAME, same)
    write_at(given, ROWS_OF_PIECE, step)
    write_at(given, DATA, data)
    write_at(given, FIRST, first)
    write_at(given, SECOND, second)
    write_at(given, COUNTS, counts)
    write_at(given, RESULTS, results)
    pieces = (read_at(same, ROWS) + step - 1) // step
    return share(board, read_at(same, TASK), pieces, patience)


class ByLines(Together):
    """What goes through rows some at a time, alone or together with who stands by.

    Parameters
    ----------
    task
        What goes through one piece of them.
    fold, room
        The address of a loop, and what returns where it leaves what it finds.
    values
        The dtype of the elements as they are stored.
    rows, some, length
        How many rows there are, or small panels, which are turned as such; how many of them are
        gone through at once, and how many elements each has.
    how
        What the loop leaves.
    side
        Rows of such a panel, for each of which something is found; 1 where they are rows.
    shares
        Whether some are given to who stands by.

    Attributes
    ----------
    fixed
        What is the same for all calls.
    """

    def __init__(
        self,
        task: Any,
        fold: int,
        room: Room,
        values: np.dtype[Any],
        rows: int,
        some: int,
        length: int,
        how: int,
        *,
        side: int = 1,
        shares: bool,
    ) -> None:
        workers, itemsize = worker_count(), values.itemsize
        super().__init__(workers)
        self._size = rows * length * itemsize
        self._room, self._how, self._found, self._turns = room, how, rows * side, -(-rows // some)
        is_large = self._size >= _LEAST_SHARED and self._turns > 1
        self._may_share = shares and workers > 1 and is_large
        fixed = self.fixed = np.zeros(_FIXED, np.int64)
        fixed[FOLD] = fold
        fixed[ITEMSIZE], fixed[ROWS], fixed[LENGTH], fixed[SOME] = itemsize, rows, length, some
        fixed[STEP] = -(-self._turns // MOST_PIECES) * some
        sizes = [each.itemsize * (each.size == 2) for each in room(2, 1, how)]
        fixed[FIRST_BYTES], fixed[SECOND_BYTES], fixed[COUNT_BYTES], fixed[RESULT_BYTES] = sizes
        fixed[HOW], fixed[TASK] = how, address_of(task, 1, 1)
        self._same = fixed.ctypes.data
        self._alone = entry_for(_fold_alone, *[1] * 6)

    def lay(self, panels: Panels) -> None:
        """Take rows that lie across, in panels as `panel_at` has them."""
        fixed, itemsize = self.fixed, int(self.fixed[ITEMSIZE])
        fixed[PANEL_PITCH], fixed[LEVELS:] = panels.pitch, words_of(panels.levels)
        if panels.step > 1:
            words = np.empty(0, f"u{itemsize}")
            fixed[TURN] = address_of(take_lines, words, words, 1, 1, 1, 1)
            fixed[NEXT], fixed[APART] = panels.step, panels.side
            # To put them together takes as long as to go through so many bytes.
            self._size = self._size // itemsize * bytes_of_one(panels.step * itemsize)

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
        found = self._room(self._found, self._turns, self._how)
        return found, (address(data), *[address(each) if each.size else 0 for each in found])

    def _make_ready(self) -> None:
        """See `Together`."""
        self._fold = entry_for(_fold_together, *[1] * 8)


@cache
def address_of_lines(kernel: Any, values: np.dtype[Any], room: Room) -> int:
    """Return the address of a loop of `lines`."""
    return address_of(kernel, np.empty(0, values), 1, 1, 1, 1, 1, *room(1, 1, FIELDS), 1)
