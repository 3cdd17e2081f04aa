"""The compiled loop over rows whose elements lie in runs, for `runs`.

A *unit* is a cut of a row, of as many columns as a tile that is copied has, or finer. Its state is
as if one loop had gone over a copy (`apart`); so threads may share units. Where rows lie side by
side, and any order leaves the same bits, a unit is a whole row, and neighbours are gone through in
the order of memory: their first runs, their second ones.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.native import array_at, call_at
from warpladder.device.standby import CLOSED, DONE, GIVEN, MOST_PIECES, is_opened, share
from warpladder.device.subroutines import subroutine
from warpladder.device.words import WORD_BYTES, copy_at, read_at, write_at
from warpladder.reduction.cpu.apart import FOLD, ITEMSIZE, MERGE, NEW, STATE_BYTES, fold_apart
from warpladder.reduction.loops.cuts import merge_stretches
from warpladder.reduction.memory.levels import place_of_row

__all__ = ["DATA", "UNITS", "fold_alone", "fold_piece", "fold_together"]

# What is given: a loop (`apart`), how rows lie, how they are cut, and where states go.
_LOOP, DATA, _ROWS, _PITCH, _ROW_LEVELS, _RUN, _SKIP, _GROUP, _LEVELS = range(9)
# How many rows are gone through side by side at the least, 0 where each is alone.
_FIRST, _ENDS, _CUTS, UNITS, _ABREAST, _STEP = range(9, 15)


@subroutine
def _fold_units(given: Any, begin: Any, end: Any) -> None:
    """Fold units into their states."""
    if read_at(given, _ABREAST):
        _fold_abreast(given, begin, end)
        return
    loop, data, rows = read_at(given, _LOOP), read_at(given, DATA), read_at(given, _ROW_LEVELS)
    ends, cuts, units = read_at(given, _ENDS), read_at(given, _CUTS), read_at(given, UNITS)
    state_bytes, itemsize = read_at(loop, STATE_BYTES), read_at(loop, ITEMSIZE)
    run, skip = read_at(given, _RUN), read_at(given, _SKIP)
    lies = run, skip, read_at(given, _GROUP), read_at(given, _LEVELS)
    for unit in range(begin, end):
        row, cut = unit // cuts, unit % cuts
        fold_apart(
            loop,
            data + place_of_row(rows, row) * itemsize,
            read_at(ends, cut - 1) if cut else 0,
            read_at(ends, cut),
            lies,
            read_at(given, _FIRST),
            units + unit * state_bytes,
        )


@subroutine
def _fold_abreast(given: Any, begin: Any, end: Any) -> None:
    """Fold rows into their states, run by run."""
    loop, pitch, run = read_at(given, _LOOP), read_at(given, _PITCH), read_at(given, _RUN)
    itemsize, state_bytes = read_at(loop, ITEMSIZE), read_at(loop, STATE_BYTES)
    states, place = (
        read_at(given, UNITS) + begin * state_bytes,
        read_at(given, DATA) + begin * pitch,
    )
    for row in range(end - begin):
        copy_at(states + row * state_bytes, read_at(loop, NEW), state_bytes)
    for column in range(0, read_at(read_at(given, _ENDS), 0), run):
        call_at(
            read_at(loop, FOLD),
            array_at(place, (end - begin - 1) * (pitch // itemsize) + run, itemsize)
            + array_at(place, 0, 1)
            + (end - begin, run, pitch // itemsize, read_at(given, _FIRST) + column)
            + array_at(states, end - begin, state_bytes),
        )
        place += read_at(given, _SKIP)


@subroutine
def _merge_rows(given: Any) -> None:
    """Merge the states of each row's units, and put those of rows to the front."""
    loop = read_at(given, _LOOP)
    merge, state_bytes = read_at(loop, MERGE), read_at(loop, STATE_BYTES)
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
    step = max((units + MOST_PIECES - 1) // MOST_PIECES, read_at(given, _ABREAST))
    write_at(given, _STEP, step)
    answer = share(board, task, (units + step - 1) // step, patience)
    if answer == DONE:
        _merge_rows(described)
    return answer
