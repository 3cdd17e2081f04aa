"""One tile of rows gone through by several threads, with the bits that one leaves.

To wake threads takes as long as to add a megabyte, but some may stand by (`device.standby`). Rows
are dealt out in runs. Few are cut into stretches, where that leaves the same bits (`cuts`); the
elements of one that is alone may lie apart (`apart`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.environment import worker_count
from warpladder.device.kernel_cache import cached
from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.standby import (
    CLOSED,
    DONE,
    GIVEN,
    LATE,
    MOST_PIECES,
    Standby,
    is_opened,
    share,
)
from warpladder.device.subroutines import entry_for, subroutine
from warpladder.device.words import WORD_BYTES, place_of, read_at, write_at
from warpladder.reduction.cpu.apart import (
    LEAST_SHARED,
    ONE_GROUP,
    fold_apart,
    loop_of_stretches,
)
from warpladder.reduction.lines.lines import turns
from warpladder.reduction.loops.cuts import may_be_cut, merge_stretches
from warpladder.reduction.loops.states import merge_kernel
from warpladder.reduction.memory.copies import as_stored
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.memory.singles import bytes_of_one
from warpladder.reduction.part import Part
from warpladder.reduction.parts import FoldPart
from warpladder.reduction.plan import Plan
from warpladder.reduction.together import BRIEF, Together

__all__ = [
    "RowsTogether",
    "complete_together",
    "together_for",
]

# Bytes from which it pays where threads stand by, of one row and of several, which take a little
# more around them (`benchmarks/choices.py`: `one-row-shared`, `rows-shared`). What is less lies in
# the caches of the caller's core alone.
_LEAST_OF_ONE, _LEAST_SHARED = 1 << 19, 3 << 18

# Blocks of a stretch, at the least, a power of two (`benchmarks/choices.py`:
# `blocks-of-stretches`).
_LEAST_BLOCKS = 2

_NEVER = 1 << 62

# What a task is given: where stands what is the same for all tiles, then what is of one, and how it
# is cut.
_SAME, _DATA, _SIZE, _MASK, _MARKS, _STATES, _ROWS, _LENGTH, _PITCH, _FIRST = range(10)
_CUTS, _STEP, _SKIP = range(10, 13)
# What is the same for all tiles, and a state that has seen nothing.
_FOLD, _ITEMSIZE, _STATE_BYTES, _TASK, _BLOCK, _MERGE, _STRETCHES, _NEW = range(8)


@cached
@njit(nogil=True)
def _fold_piece(given, piece):
    """Fold some of a tile's rows, or a stretch of one."""
    rows, length, pitch = read_at(given, _ROWS), read_at(given, _LENGTH), read_at(given, _PITCH)
    cuts, step, fixed = read_at(given, _CUTS), read_at(given, _STEP), read_at(given, _SAME)
    itemsize, state_bytes = read_at(fixed, _ITEMSIZE), read_at(fixed, _STATE_BYTES)
    states = read_at(given, _STATES)
    if cuts:
        row, column = piece // cuts, piece % cuts * step
        rows, length, states = 1, min(step, length - column), states + piece * state_bytes
        skip = read_at(given, _SKIP)
        if skip:
            loop, end = read_at(fixed, _STRETCHES), column + length
            fold_apart(loop, read_at(given, _DATA), column, end, (1, skip, *ONE_GROUP), 0, states)
            return
        # By who folds it: what the caller writes has to come from its core.
        for word in range(state_bytes // WORD_BYTES):
            write_at(states, word, read_at(fixed, _NEW + word))
    else:
        row, column = piece * step, 0
        rows, states = min(step, rows - row), states + row * state_bytes
    begin = row * pitch + column
    place, size = read_at(given, _DATA) + begin * itemsize, read_at(given, _SIZE) - begin
    # Where there is no mask there are no marks.
    marks = read_at(given, _MARKS)
    passed = min(begin, marks)
    call_at(
        read_at(fixed, _FOLD),
        array_at(place, size, itemsize)
        + array_at(read_at(given, _MASK) + passed, marks - passed, 1)
        + (rows, length, pitch, read_at(given, _FIRST) + column)
        + array_at(states, rows, state_bytes),
    )


@cached
@njit(nogil=True)
def _fold_together(board, fixed, patience, data, mask, states, rows, length, pitch, first):
    """Fold the rows of a tile into as many states, the first of several; return what `share` does.

    The board, what is fixed and the states are given by their addresses, the elements as bytes.
    There is room for `MOST_PIECES` states. Those of many rows have seen nothing.
    """
    if not is_opened(board):
        return CLOSED
    given = board + GIVEN * WORD_BYTES
    size = data.size // read_at(fixed, _ITEMSIZE)
    _give(given, fixed, place_of(data), size, states, rows, length, pitch)
    write_at(given, _MASK, place_of(mask))
    write_at(given, _MARKS, mask.size)
    write_at(given, _FIRST, first)
    if 2 * rows <= MOST_PIECES and read_at(fixed, _BLOCK):
        return _share_stretches(board, fixed, states, rows, length, patience)
    step = (rows + MOST_PIECES - 1) // MOST_PIECES
    write_at(given, _CUTS, 0)
    write_at(given, _STEP, step)
    return share(board, read_at(fixed, _TASK), (rows + step - 1) // step, patience)


@cached
@njit(nogil=True)
def _fold_one_together(board, fixed, patience, states, data):
    """Do that for one row without a mask, whose elements may lie apart."""
    if not is_opened(board):
        return CLOSED
    given, n, skip = board + GIVEN * WORD_BYTES, data.size, data.strides[0]
    _give(given, fixed, place_of(data), n, states, 1, n, n)
    write_at(given, _SKIP, 0 if skip == data.itemsize else skip)
    write_at(given, _MARKS, 0)
    write_at(given, _FIRST, 0)
    return _share_stretches(board, fixed, states, 1, n, patience)


@subroutine
def _give(
    given: Any, fixed: Any, place: Any, size: Any, states: Any, rows: Any, length: Any, pitch: Any
) -> None:
    write_at(given, _SAME, fixed)
    write_at(given, _DATA, place)
    write_at(given, _SIZE, size)
    write_at(given, _STATES, states)
    write_at(given, _ROWS, rows)
    write_at(given, _LENGTH, length)
    write_at(given, _PITCH, pitch)
    write_at(given, _SKIP, 0)


@subroutine
def _share_stretches(
    board: Any, fixed: Any, states: Any, rows: Any, length: Any, patience: Any
) -> Any:
    """Fold the stretches of few rows, and merge what came of each row's."""
    given, step = board + GIVEN * WORD_BYTES, _LEAST_BLOCKS * read_at(fixed, _BLOCK)
    while step * (MOST_PIECES // rows) < length:
        step *= 2
    cuts = (length + step - 1) // step
    write_at(given, _CUTS, cuts)
    write_at(given, _STEP, step)
    answer = share(board, read_at(fixed, _TASK), rows * cuts, patience)
    if answer == DONE:
        words = read_at(fixed, _STATE_BYTES) // WORD_BYTES
        for row in range(rows):
            merged = states + row * cuts * words * WORD_BYTES
            merge_stretches(read_at(fixed, _MERGE), merged, cuts, words * WORD_BYTES)
            for word in range(words):
                write_at(states, row * words + word, read_at(merged, word))
    return answer


class RowsTogether(Together):
    """What goes through tiles of one dtype together with who stands by.

    Attributes
    ----------
    least_of_one
        Elements from which one row is gone through so.
    """

    def __init__(self, part: FoldPart, workers: int) -> None:
        super().__init__(workers)
        # The address of what `fold_apart` is given, once it is known.
        self._part, self._stretches = part, 0
        self._sample = as_stored(np.empty(0, part.spec.values))
        self._least_of_rows = _LEAST_SHARED // self._sample.itemsize
        least_of_one = _LEAST_OF_ONE // self._sample.itemsize
        self.least_of_one = least_of_one if may_be_cut(part.spec) else _NEVER

    def takes(self, rows: int, length: int) -> bool:
        """Tell whether it pays for so many rows of a length."""
        least = self._least_of_rows if rows > 1 else self.least_of_one
        return rows * length >= least and not turns(self._part.spec, rows, length)

    def __call__(self, tile: Tile, first: int) -> NDArray[Any] | None:
        """Return the states of the rows of a tile, None where one thread has to go through it."""
        team = self._team(tile.data.nbytes)
        if team is None:
            return None
        states: NDArray[Any] = self._part.new(max(tile.rows, MOST_PIECES))
        is_done = self._folds(team, tile, first, states, states.ctypes.data)
        return states[: tile.rows] if is_done else None

    def folds_one(
        self, data: NDArray[Any], mask: NDArray[np.bool_], states: int, kept: Any
    ) -> bool | None:
        """Fold a tile of one row into the first of `MOST_PIECES` states at an address.

        Return False where nobody is there, None where others may be at work still with what is
        ``kept``. It does not matter what is in the states before.
        """
        size = data.nbytes
        team = self._team(size)
        if team is None:
            return False
        if mask.size or size > BRIEF:
            n = data.size
            given = data.view(np.uint8), mask, states, 1, n, n, 0
            return self._shares(team, size, self._fold, given, (data, mask, kept)) or None
        # As `_shares` does, which would be 0.2 us more of 8.
        answer = LATE
        try:
            answer = self._fold_one(team.board, self._same, 0, states, data)
        finally:
            if answer != DONE:
                team.keep((data, kept), answer)
        if answer != DONE:
            return None
        if team.crowded[0]:
            team.spread()
        return True

    def pays_apart(self, data: NDArray[Any]) -> bool:
        """Tell whether it pays for elements of one dimension that lie apart."""
        size = data.size * bytes_of_one(data.strides[0])
        return size >= LEAST_SHARED and self.least_of_one != _NEVER

    def folds_apart(
        self, data: NDArray[Any], _mask: NDArray[np.bool_], states: int, kept: Any
    ) -> bool | None:
        """Do what `folds_one` does for elements without a mask that lie apart (`lies_apart`)."""
        size = data.nbytes
        team = self._team(size)
        if team is None:
            return False
        if not self._stretches:
            self._stretches = self._fixed[_STRETCHES] = loop_of_stretches(self._part)
        return self._shares(team, size, self._fold_one, (states, data), (data, kept)) or None

    def _folds(
        self, team: Standby, tile: Tile, first: int, states: NDArray[Any], address: int
    ) -> bool:
        """Fold a tile into states that are at an address; tell whether it was done."""
        data, mask, rows, length, pitch, _ = tile
        given = data.view(np.uint8), mask, address, rows, length, pitch, first
        return self._shares(team, data.nbytes, self._fold, given, (data, mask, states))

    def _make_ready(self) -> None:
        """See `Together`."""
        part, one, itemsize = self._part, self._part.new(1), self._sample.itemsize
        new = one.view(np.int64).ravel()
        fixed = self._fixed = np.zeros(_NEW + new.size, np.int64)
        fixed[_NEW:] = new
        fixed[_FOLD] = address_of(part.loop, self._sample, NO_MASK, 1, 1, 1, 0, one)
        fixed[_MERGE] = address_of(merge_kernel(part.spec), one, one)
        fixed[_TASK] = address_of(_fold_piece, 1, 1)
        fixed[_ITEMSIZE], fixed[_STATE_BYTES] = itemsize, one.itemsize
        fixed[_BLOCK] = part.spec.block if may_be_cut(part.spec) else 0
        self._same = fixed.ctypes.data
        few = np.empty(0, np.uint8)
        self._fold = entry_for(_fold_together, 1, 1, 1, few, NO_MASK, 1, 1, 1, 1, 0)
        # It looks at no element, and at no dtype. A view as bytes takes 0.2 us.
        words = np.empty(0, f"u{itemsize}")
        self._fold_one = entry_for(_fold_one_together, 1, 1, 1, 1, words)


@cache
def together_for(part: Part) -> RowsTogether | None:
    """Return what goes through tiles together, None where there is no other thread or no loop."""
    workers = worker_count()
    return RowsTogether(part, workers) if workers > 1 and isinstance(part, FoldPart) else None


def complete_together(plan: Plan, tile: Tile, first: int) -> list[Any]:
    """Do what `Plan.complete` does, with the help of who stands by."""
    if len(plan.parts) == 1 and not tile.across and not plan.counts_truths:
        together = together_for(plan.parts[0])
        if together is not None and together.takes(tile.rows, tile.length):
            states = together(tile, first)
            if states is not None:
                return [states]
    return plan.complete(tile, first)
