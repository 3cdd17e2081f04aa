"""The compiled loop over rows whose elements lie in runs, for `runs`.

A *unit* is a cut of a row, of as many columns as a tile that is copied has. Its state is that of
its stretches merged pairwise, as if one loop had gone over a copy; so threads may share units.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.native import array_at, call_at
from warpladder.device.standby import CLOSED, DONE, GIVEN, MOST_PIECES, is_opened, share
from warpladder.device.subroutines import subroutine
from warpladder.device.words import WORD_BYTES, copy_at, place_of, read_at, write_at
from warpladder.reduction.shared_rows import merge_stretches

__all__ = ["DATA", "UNITS", "fold_alone", "fold_piece", "fold_together", "take_singles"]

# What is given: a loop and its states, how rows lie, how they are cut, where states go, and what
# takes elements that lie one by one.
_FOLD, _MERGE, _NEW, _STATE_BYTES, _ITEMSIZE = range(5)
DATA, _ROWS, _PITCH, _RUN, _SKIP = range(5, 10)
_FIRST, _STRETCH, _ENDS, _CUTS, UNITS, _TAKE, _STEP = range(10, 17)


@subroutine
def _fold_units(given: Any, begin: Any, end: Any) -> None:
    """Fold units into their states."""
    fold, merge, new = read_at(given, _FOLD), read_at(given, _MERGE), read_at(given, _NEW)
    state_bytes, itemsize = read_at(given, _STATE_BYTES), read_at(given, _ITEMSIZE)
    data, pitch = read_at(given, DATA), read_at(given, _PITCH) * itemsize
    run, skip = read_at(given, _RUN), read_at(given, _SKIP) * itemsize
    first, stretch = read_at(given, _FIRST), read_at(given, _STRETCH)
    ends, cuts, units = read_at(given, _ENDS), read_at(given, _CUTS), read_at(given, UNITS)
    longest = 0
    for cut in range(cuts):
        longest = max(longest, read_at(ends, cut) - (read_at(ends, cut - 1) if cut else 0))
    most = (longest + stretch - 1) // stretch
    stretches = np.empty(most * state_bytes, np.uint8)
    buffer = np.empty(min(stretch, longest) * itemsize, np.uint8)
    for unit in range(begin, end):
        # Asked for here, where both are needed for the next unit: Numba frees what is not.
        state, copy = place_of(stretches), place_of(buffer)
        row, cut = unit // cuts, unit % cuts
        column, stop = (read_at(ends, cut - 1) if cut else 0), read_at(ends, cut)
        pieces = (stop - column + stretch - 1) // stretch
        for piece in range(pieces):
            size = min(stretch, stop - column)
            within = column % run
            place = data + row * pitch + column // run * skip + within * itemsize
            if run == 1:
                elements = skip // itemsize
                call_at(
                    read_at(given, _TAKE),
                    array_at(copy, size, itemsize)
                    + array_at(place, (size - 1) * elements + 1, itemsize)
                    + (elements,),
                )
                place = copy
            elif within + size > run:
                _gather(copy, place, size, within, run, skip, itemsize)
                place = copy
            at = state + piece * state_bytes
            copy_at(at, new, state_bytes)
            call_at(
                fold,
                array_at(place, size, itemsize)
                + array_at(place, 0, 1)
                + (1, size, size, first + column)
                + array_at(at, 1, state_bytes),
            )
            column += size
        merge_stretches(merge, state, pieces, state_bytes)
        copy_at(units + unit * state_bytes, state, state_bytes)


@cached
@njit(nogil=True)
def take_singles(there, data, step):
    """Copy every so many-th element."""
    if step == 2:
        # In vectors, as the compiler knows how many: int8 at four times the rate.
        for i in range(there.size):
            there[i] = data[2 * i]
        return
    # Indices without a sign are not asked whether they count from the end.
    at, apart = np.uintp(0), np.uintp(step)
    for i in range(there.size):
        there[i] = data[at]
        at += apart


@subroutine
def _gather(
    there: Any, place: Any, size: Any, within: Any, run: Any, skip: Any, itemsize: Any
) -> None:
    """Copy so many elements of a row from one on that stands so far within its run."""
    left = run - within
    while size:
        left = min(left, size)
        copy_at(there, place, left * itemsize)
        there += left * itemsize
        place += skip - within * itemsize
        size -= left
        within, left = 0, run


@subroutine
def _merge_rows(given: Any) -> None:
    """Merge the states of each row's units, and put those of rows to the front."""
    merge, state_bytes = read_at(given, _MERGE), read_at(given, _STATE_BYTES)
    units, cuts = read_at(given, UNITS), read_at(given, _CUTS)
    for row in range(read_at(given, _ROWS)):
        state = units + row * cuts * state_bytes
        merge_stretches(merge, state, cuts, state_bytes)
        if row * cuts:
            for word in range(state_bytes // WORD_BYTES):
                write_at(units, row * state_bytes // WORD_BYTES + word, read_at(state, word))


@cached
@njit(nogil=True)
def fold_alone(given):
    """Fold all units and merge them."""
    _fold_units(given, 0, read_at(given, _ROWS) * read_at(given, _CUTS))
    _merge_rows(given)


@cached
@njit(nogil=True)
def fold_piece(given, piece):
    """Fold as many units as one piece of shared work has."""
    step, units = read_at(given, _STEP), read_at(given, _ROWS) * read_at(given, _CUTS)
    _fold_units(given, piece * step, min((piece + 1) * step, units))


@cached
@njit(nogil=True)
def fold_together(board, task, patience, described):
    """Do what `fold_alone` does with who stands by; return what `share` does."""
    if not is_opened(board):
        return CLOSED
    given = board + GIVEN * WORD_BYTES
    copy_at(given, described, _STEP * WORD_BYTES)
    units = read_at(given, _ROWS) * read_at(given, _CUTS)
    step = (units + MOST_PIECES - 1) // MOST_PIECES
    write_at(given, _STEP, step)
    answer = share(board, task, (units + step - 1) // step, patience)
    if answer == DONE:
        _merge_rows(described)
    return answer
