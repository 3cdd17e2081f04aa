"""Copies against the order of memory, by squares of elements: alone, or with who stands by.

Lines of memory, of which each has one element of every row, become rows. By one thread of a Xeon
1,000 x 1,000 elements of 1, 2, 4 and 8 bytes take 0.12, 0.25, 0.48 and 0.92 ms so, with eight lines
side by side 0.28, 0.40, 0.54 and 1.04. Two threads copy 1,024 x 1,024 elements of 1 and 8 bytes in
0.07 and 0.6 ms, one in 0.16 and 0.99.
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
from warpladder.device.subroutines import entry_for
from warpladder.device.words import WORD_BYTES, read_at, write_at
from warpladder.reduction.memory.squares import turn_in_blocks, turn_rows
from warpladder.reduction.together import Together

__all__ = ["TurnedCopies", "turned_copies"]

# Bytes from which a copy is shared (`benchmarks/choices.py`: `copies-shared`), and as how many that
# are added up one takes as long.
_LEAST_SHARED, _SLOWER = 1 << 19, 4
# Rows from which they are turned in blocks, and lines; of elements of eight bytes always
# (`benchmarks/choices.py`: `rows-of-blocks`, `lines-of-blocks`).
_LEAST_ROWS, _LEAST_LINES = 128, 64
# A piece has a multiple of so many elements of each line, which are whole lines of the caches.
_ALIGNED = 64

# What a task is given: what turns lines, how large elements are, where they lie and where they go;
# panels and how many bytes apart they are, lines of each and how many elements apart those are,
# rows, how many bytes apart those of panels go; how many panels and rows a piece has.
_TURN, _ITEMSIZE, _DATA, _PLACE, _PANELS, _ACROSS, _LINES, _PITCH, _ROWS, _BEYOND = range(10)
_PANELS_OF_PIECE, _ROWS_OF_PIECE, _WORDS = range(10, 13)


@cached
@njit(nogil=True)
def _turn_piece(given, piece):
    """Copy some panels, or some rows of one."""
    rows, some = read_at(given, _ROWS), read_at(given, _ROWS_OF_PIECE)
    lines, itemsize = read_at(given, _LINES), read_at(given, _ITEMSIZE)
    runs, of_piece = (rows + some - 1) // some, read_at(given, _PANELS_OF_PIECE)
    first, begin = piece % runs * some, piece // runs * of_piece
    run = min(some, rows - first)
    for panel in range(begin, min(begin + of_piece, read_at(given, _PANELS))):
        data = read_at(given, _DATA) + panel * read_at(given, _ACROSS) + first * itemsize
        place = read_at(given, _PLACE) + panel * read_at(given, _BEYOND) + first * lines * itemsize
        into = array_at(place, lines * run, itemsize)
        lie = data, lines, run, read_at(given, _PITCH), 1
        call_at(read_at(given, _TURN), lie + into + (lines,))


@cached
@njit(nogil=True)
def _turn_together(board, same, patience, words):
    """Copy what is described at an address with who stands by; return what `share` does."""
    if not is_opened(board):
        return CLOSED
    given = board + GIVEN * WORD_BYTES
    for each in range(_WORDS):
        write_at(given, each, read_at(words, each))
    rows, some = read_at(words, _ROWS), read_at(words, _ROWS_OF_PIECE)
    panels, of_piece = read_at(words, _PANELS), read_at(words, _PANELS_OF_PIECE)
    pieces = (panels + of_piece - 1) // of_piece * ((rows + some - 1) // some)
    return share(board, same, pieces, patience)


class TurnedCopies(Together):
    """What copies elements of a size so that lines of memory become rows."""

    def __init__(self, itemsize: int) -> None:
        super().__init__(worker_count())
        words = np.empty(0, f"u{itemsize}")
        self._itemsize = itemsize
        self._by_rows, self._by_blocks = (
            address_of(turn, *[1] * 5, words, 1) for turn in (turn_rows, turn_in_blocks)
        )
        self._alone = entry_for(_turn_piece, 1, 1)

    def __call__(
        self,
        part: NDArray[Any],
        copy: NDArray[Any],
        panels: tuple[int, int, int],
        lines: tuple[int, int],
        rows: int,
        *,
        shares: bool,
    ) -> bool:
        """Copy elements; tell whether it was done: else others may write into the copy still.

        Parameters
        ----------
        part, copy
            Arrays that begin with the first element, and the place where it goes.
        panels
            How many there are, how many bytes apart they lie, and go.
        lines
            How many each panel has, and how many elements apart they are.
        rows
            Elements of a line, one after the other.
        shares
            Whether some are given to who stands by; else it is done.
        """
        count, across, beyond = panels
        is_wide = self._itemsize == 8 or rows > _LEAST_ROWS
        turn = self._by_blocks if is_wide and lines[0] >= _LEAST_LINES else self._by_rows
        words = np.array([
            *(turn, self._itemsize, address(part), address(copy)),
            *(count, across, *lines, rows, beyond, count, rows),
        ])  # fmt: skip
        size = count * lines[0] * rows * self._itemsize
        if shares and size >= _LEAST_SHARED and self._workers > 1:
            size *= _SLOWER
            team = self._team(size)
            if team is not None:
                words[_PANELS_OF_PIECE] = -(-count // MOST_PIECES)
                cuts = max(MOST_PIECES // count, 1)
                words[_ROWS_OF_PIECE] = -(-rows // (cuts * _ALIGNED)) * _ALIGNED
                return self._shares(team, size, self._fold, (address(words),), (part, copy, words))
        self._alone(address(words), 0)
        return True

    def _make_ready(self) -> None:
        """See `Together`."""
        self._same = address_of(_turn_piece, 1, 1)
        self._fold = entry_for(_turn_together, *[1] * 4)


@cache
def turned_copies(itemsize: int) -> TurnedCopies:
    """Return what copies elements of a size."""
    return TurnedCopies(itemsize)
