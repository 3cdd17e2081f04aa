"""Rows that lie in groups, as those of a box whose edges are cut off, gone through as they lie.

Rows side by side begin equally far apart, and so do groups of them, but the last of a group and the
first of the next do not. A copy takes longer than to reduce them. Here the loop over rows is called
for each group, by compiled code, and some rows are dealt out to who stands by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.addresses import address
from warpladder.device.environment import worker_count
from warpladder.device.kernel_cache import cached
from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.standby import CLOSED, GIVEN, MOST_PIECES, is_opened, share
from warpladder.device.subroutines import entry_for
from warpladder.device.words import WORD_BYTES, place_of, read_at, write_at
from warpladder.reduction.copies import as_stored
from warpladder.reduction.finishers import array_maker
from warpladder.reduction.layout import NO_MASK
from warpladder.reduction.levels import LEVEL_WORDS, Levels, place_of_row, rows_of, words_of
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.together import Together

__all__ = ["way_to_grouped_rows"]

# Bytes from which rows are shared with who stands by.
_LEAST_SHARED = 3 << 18
# Rows whose states are finished together: those of more would not stay in the caches.
_MOST_STATES = 1 << 12

# What is the same for all calls: the loop, what rows are, the bytes of a state, the task, and how
# rows lie.
_FOLD, _ITEMSIZE, _LENGTH, _STATE_BYTES, _TASK, _LEVELS = range(6)
# What a task is given: where that stands, which rows, how many are a piece, what is of one call.
_SAME, _FIRST, _END, _ROWS_OF_PIECE, _DATA, _STATES, _WORDS = range(7)


@cached
@njit(nogil=True)
def _fold_piece(given, piece):
    """Go through some rows, as many at once as lie side by side."""
    same, of_piece = read_at(given, _SAME), read_at(given, _ROWS_OF_PIECE)
    itemsize, length = read_at(same, _ITEMSIZE), read_at(same, _LENGTH)
    state_bytes, levels = read_at(same, _STATE_BYTES), same + _LEVELS * WORD_BYTES
    abreast, pitch = read_at(levels, 0), read_at(levels, 1)
    of_first = read_at(given, _STATES)
    first = read_at(given, _FIRST)
    row = first + piece * of_piece
    end = min(row + of_piece, read_at(given, _END))
    while row < end:
        run = min(abreast - row % abreast, end - row)
        place = read_at(given, _DATA) + place_of_row(levels, row) * itemsize
        data, no_marks = (
            array_at(place, (run - 1) * pitch + length, itemsize),
            array_at(place, 0, 1),
        )
        states = array_at(of_first + (row - first) * state_bytes, run, state_bytes)
        call_at(read_at(same, _FOLD), data + no_marks + (run, length, pitch, 0) + states)
        row += run


@cached
@njit(nogil=True)
def _fold_alone(same, first, end, data, states):
    """Go through rows from one up to another; data and states are given by addresses."""
    words = np.empty(_WORDS, np.int64)
    words[_SAME], words[_FIRST], words[_END], words[_ROWS_OF_PIECE] = same, first, end, end - first
    words[_DATA], words[_STATES] = data, states
    _fold_piece(place_of(words), 0)
    # As long as this is to be written Numba does not free it.
    words[_SAME] = 0


@cached
@njit(nogil=True)
def _fold_together(board, same, patience, first, end, data, states):
    """Do that with who stands by; return what `share` does."""
    if not is_opened(board):
        return CLOSED
    given, step = board + GIVEN * WORD_BYTES, (end - first + MOST_PIECES - 1) // MOST_PIECES
    write_at(given, _SAME, same)
    write_at(given, _FIRST, first)
    write_at(given, _END, end)
    write_at(given, _ROWS_OF_PIECE, step)
    write_at(given, _DATA, data)
    write_at(given, _STATES, states)
    return share(board, read_at(same, _TASK), (end - first + step - 1) // step, patience)


class _GroupedRows(Together):
    """What goes through rows that lie so, alone or together with who stands by."""

    def __init__(self, part: FoldPart, levels: Levels, length: int) -> None:
        super().__init__(worker_count())
        sample, one = as_stored(np.empty(0, part.spec.values)), part.new(1)
        self._part, self._row_bytes = part, length * sample.itemsize
        is_large = rows_of(levels) * self._row_bytes >= _LEAST_SHARED
        self._may_share = is_large and part.shares and self._workers > 1
        fixed = self._fixed = np.zeros(_LEVELS + LEVEL_WORDS, np.int64)
        fixed[_FOLD] = address_of(part.loop, sample, NO_MASK, 1, 1, 1, 0, one)
        fixed[_ITEMSIZE], fixed[_LENGTH], fixed[_STATE_BYTES] = (
            sample.itemsize,
            length,
            one.itemsize,
        )
        fixed[_LEVELS:] = words_of(levels)
        self._same = fixed.ctypes.data
        self._alone = entry_for(_fold_alone, *[1] * 5)

    def __call__(self, data: NDArray[Any], first: int, end: int) -> NDArray[Any]:
        """Return the states of some rows, the first of all of which begins with the data."""
        rows = end - first
        states: NDArray[Any] = self._part.new(rows)
        size = rows * self._row_bytes
        team = self._team(size) if self._may_share and rows > 1 else None
        if team is not None:
            given = first, end, address(data), states.ctypes.data
            if self._shares(team, size, self._fold, given, (data, states, self._fixed)):
                return states
            # Others may be at work still with what they were given.
            states = self._part.new(rows)
        self._alone(self._same, first, end, address(data), states.ctypes.data)
        return states

    def _make_ready(self) -> None:
        """See `Together`."""
        self._fixed[_TASK] = address_of(_fold_piece, 1, 1)
        self._fold = entry_for(_fold_together, *[1] * 7)


def way_to_grouped_rows(
    plan: Plan, levels: Levels, length: int
) -> Callable[[NDArray[Any], int], NDArray[Any]] | None:
    """Return the way to the results of rows of a length that lie so, None where there is none.

    It is called with an array whose first element is that of the first row, and ``ddof``.
    """
    part, rows = plan.parts[0], rows_of(levels)
    if not (plan.is_plain and isinstance(part, FoldPart)) or plan.masked or plan.counts_truths:
        return None
    make, fold = array_maker(plan, length), _GroupedRows(part, levels, length)

    def way(data: NDArray[Any], ddof: int) -> NDArray[Any]:
        results = np.empty(rows, plan.dtypes[0])
        for first in range(0, rows, _MOST_STATES):
            end = min(first + _MOST_STATES, rows)
            states, into = fold(data, first, end), results[first:end]
            if make is None or make(states, ddof, into) is None:
                (into[...],) = plan.finish([states], end - first, length, ddof)
        return results

    return way
