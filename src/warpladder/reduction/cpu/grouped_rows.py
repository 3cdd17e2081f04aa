"""Rows that lie in groups, as those of a box whose edges are cut off, gone through as they lie.

Rows side by side begin equally far apart, and so do groups of them, but the last of a group and the
first of the next do not. A copy takes longer than to reduce them. Here the loop over rows is called
for each group, by compiled code, and some rows are dealt out to who stands by. Where neighbours in
a row lie apart, as every second, some rows at a time are put together.
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
from warpladder.device.subroutines import entry_for, subroutine
from warpladder.device.words import WORD_BYTES, place_of, read_at, write_at
from warpladder.reduction.cpu.finishers import array_maker
from warpladder.reduction.memory.copies import as_stored
from warpladder.reduction.memory.layout import NO_MASK
from warpladder.reduction.memory.levels import LEVEL_WORDS, Levels, place_of_row, rows_of, words_of
from warpladder.reduction.memory.singles import take_singles
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.together import Together

__all__ = ["MOST_TOGETHER", "way_to_grouped_rows"]

MOST_TOGETHER = 1 << 14
"""Bytes of rows that are put together at once, or of one, so that they stay in a cache
(`benchmarks/choices.py`: `rows-put-together`)."""

# Bytes from which rows are shared with who stands by (`benchmarks/choices.py`:
# `grouped-rows-shared`).
_LEAST_SHARED = 3 << 18
# By how much longer rows may be with what lies between them, which is copied with them.
_MOST_BETWEEN = 2
# Rows whose states are finished together: those of more would not stay in the caches.
_MOST_STATES = 1 << 12

# What is the same for all calls: the loop, what puts elements together that lie apart, what rows
# are, how far neighbours in them are apart, and rows that are put together, the bytes of a state,
# the task, and how rows lie.
_FOLD, _TAKE, _ITEMSIZE, _LENGTH, _NEXT, _APART, _STATE_BYTES, _TASK, _LEVELS = range(9)
# What a task is given: where that stands, which rows, how many are a piece, what is of one call.
_SAME, _FIRST, _END, _ROWS_OF_PIECE, _DATA, _STATES, _WORDS = range(7)


@subroutine
def _put_together(same: Any, place: Any, rows: Any, pitch: Any, there: Any) -> None:
    """Copy so many rows, whose neighbours lie apart: all at once if what is between them fits."""
    itemsize, length, step = read_at(same, _ITEMSIZE), read_at(same, _LENGTH), read_at(same, _NEXT)
    apart, size = read_at(same, _APART), length
    if apart * step == pitch:
        size, rows = (rows - 1) * apart + length, 1
    for _ in range(rows):
        call_at(
            read_at(same, _TAKE),
            array_at(there, size, itemsize)
            + array_at(place, (size - 1) * step + 1, itemsize)
            + (step,),
        )
        there += apart * itemsize
        place += pitch * itemsize


@cached
@njit(nogil=True)
def _fold_piece(given, piece):
    """Go through some rows, as many at once as lie side by side."""
    same, of_piece = read_at(given, _SAME), read_at(given, _ROWS_OF_PIECE)
    itemsize, length, step = read_at(same, _ITEMSIZE), read_at(same, _LENGTH), read_at(same, _NEXT)
    state_bytes, levels = read_at(same, _STATE_BYTES), same + _LEVELS * WORD_BYTES
    abreast, pitch = read_at(levels, 0), read_at(levels, 1)
    of_first, first = read_at(given, _STATES), read_at(given, _FIRST)
    row = first + piece * of_piece
    end = min(row + of_piece, read_at(given, _END))
    of_row = read_at(same, _APART) * itemsize
    some = max(MOST_TOGETHER // of_row, 1) if step > 1 else end - row
    buffer = np.empty(some * of_row if step > 1 else 0, np.uint8)
    while row < end:
        run = min(abreast - row % abreast, end - row, some)
        place, apart = read_at(given, _DATA) + place_of_row(levels, row) * itemsize, pitch
        if step > 1:
            # Asked for here: Numba frees a buffer after the last use that it sees.
            there = place_of(buffer)
            _put_together(same, place, run, pitch, there)
            place, apart = there, read_at(same, _APART)
        data = array_at(place, (run - 1) * apart + length, itemsize)
        no_marks = array_at(place, 0, 1)
        states = array_at(of_first + (row - first) * state_bytes, run, state_bytes)
        call_at(read_at(same, _FOLD), data + no_marks + (run, length, apart, 0) + states)
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

    def __init__(self, part: FoldPart, levels: Levels, length: int, step: int) -> None:
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
        fixed[_APART] = length
        if step > 1:
            _, pitch = levels[-1]
            if pitch % step == 0 and length <= pitch // step <= _MOST_BETWEEN * length:
                fixed[_APART] = pitch // step
            words = np.empty(0, f"u{sample.itemsize}")
            fixed[_TAKE] = address_of(take_singles, words, words, 1)
        fixed[_NEXT], fixed[_LEVELS:] = step, words_of(levels)
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
    plan: Plan, levels: Levels, length: int, step: int = 1
) -> Callable[[NDArray[Any], int], NDArray[Any]] | None:
    """Return the way to the results of rows of a length that lie so, None where there is none.

    Neighbours in them are ``step`` elements apart. It is called with an array whose first element
    is that of the first row, and ``ddof``.
    """
    part, rows = plan.parts[0], rows_of(levels)
    if not (plan.is_plain and isinstance(part, FoldPart)) or plan.masked or plan.counts_truths:
        return None
    make, fold = array_maker(plan, length), _GroupedRows(part, levels, length, step)

    def way(data: NDArray[Any], ddof: int) -> NDArray[Any]:
        results = np.empty(rows, plan.dtypes[0])
        for first in range(0, rows, _MOST_STATES):
            end = min(first + _MOST_STATES, rows)
            states, into = fold(data, first, end), results[first:end]
            if make is None or make(states, ddof, into) is None:
                (into[...],) = plan.finish([states], end - first, length, ddof)
        return results

    return way
