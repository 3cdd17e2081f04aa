"""One tile of rows that lie across, gone through by several threads; see `shared_rows`.

Each row's number is made of its own column of elements in the order of the lines. So columns are
dealt out, in runs that are long enough for memory to be read well, or whole panels where there are
many; no bit depends on where they are cut.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.standby import CLOSED, GIVEN, MOST_PIECES, is_opened, share
from warpladder.device.subroutines import entry_for
from warpladder.device.words import WORD_BYTES, place_of, read_at, write_at
from warpladder.reduction.lines.line_kernel import FIELDS
from warpladder.reduction.together import Together

__all__ = ["Found", "LinesTogether", "Room", "lines_by_one_thread"]

#: For each row a number and, where the loop leaves it, another word and how many elements count.
#: The words may also be one for each piece. Last the results, where it makes these in their place.
Found = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

#: Returns where a loop leaves what it finds of so many rows in so many pieces, if it is asked for
#: fields or for results.
Room = Callable[[int, int, int], Found]

# Bytes from which it pays where threads stand by (`benchmarks/choices.py`: `lines-shared`).
_LEAST_SHARED = 5 << 18

# Bytes of a line that are one piece's, at the least, and columns in multiples of which it has them.
# Longer runs are read faster than shorter ones wait for each other: a panel has a piece for each
# worker. Sums of 2048 x 2048 int32 by 2, 4 and 8 threads took 0.40, 0.28 and 0.27 ms so, in pieces
# of 512 bytes 0.64, 0.44 and 0.27.
_LEAST_RUN, _ALIGNED = 512, 64

# What a task is given: first what is the same for all tiles, then of a tile, and how it is cut.
_FOLD, _ITEMSIZE, _FIRST_BYTES, _SECOND_BYTES, _COUNT_BYTES, _RESULT_BYTES, _SAME = range(7)
_DATA, _SIZE, _ROWS, _LENGTH, _PITCH, _WIDTH = range(_SAME, _SAME + 6)
_FIRST, _SECOND, _COUNTS, _RESULTS, _HOW = range(_SAME + 6, _SAME + 11)
_PANELS, _COLUMNS = range(_SAME + 11, _SAME + 13)
# What else is the same for all tiles.
_TASK, _FIXED = range(_SAME, _SAME + 2)


class _Here(local):
    """Whether this thread calls nobody for lines."""

    is_alone = False


_here = _Here()


def lines_by_one_thread(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes a call in which no lines are shared: of what this thread has just copied.

    They are in its own caches, and another thread takes a part of each (`benchmarks/choices.py`:
    `own-copies-alone`). Rows, which others take as a whole, are shared all the same.
    """

    def alone(*arguments: Any) -> Any:
        before, _here.is_alone = _here.is_alone, True
        try:
            return call(*arguments)
        finally:
            _here.is_alone = before

    return alone


@cached
@njit(nogil=True)
def _fold_piece(given, piece):
    """Fold some panels of a tile, or a run of the columns of one."""
    length, pitch, width = (
        read_at(given, _LENGTH), read_at(given, _PITCH), read_at(given, _WIDTH)
    )  # fmt: skip
    columns = read_at(given, _COLUMNS)
    runs = (width + columns - 1) // columns
    panel, left = piece // runs * read_at(given, _PANELS), piece % runs * columns
    panels = min(read_at(given, _PANELS), read_at(given, _ROWS) // width - panel)
    begin, row = panel * length * pitch + left, panel * width + left
    run = min(columns, width - left)
    rows = panels * run
    itemsize, first_bytes = read_at(given, _ITEMSIZE), read_at(given, _FIRST_BYTES)
    second_bytes, count_bytes = read_at(given, _SECOND_BYTES), read_at(given, _COUNT_BYTES)
    place, size = read_at(given, _DATA) + begin * itemsize, read_at(given, _SIZE) - begin
    second, seconds = read_at(given, _SECOND) + row * second_bytes, rows
    if not second_bytes:
        # One word for all rows, of which each piece has its own.
        second, seconds = second + piece * WORD_BYTES, 1
    counts = read_at(given, _COUNTS) + row * count_bytes
    elements, lie = array_at(place, size, itemsize), (rows, length, pitch, run, rows)
    found = array_at(read_at(given, _FIRST) + row * first_bytes, rows, first_bytes)
    more = array_at(second, seconds, WORD_BYTES)
    counted = array_at(counts, rows * (count_bytes > 0), count_bytes)
    result_bytes = read_at(given, _RESULT_BYTES)
    results = array_at(read_at(given, _RESULTS) + row * result_bytes, rows, result_bytes)
    how = (read_at(given, _HOW),)
    call_at(read_at(given, _FOLD), elements + lie + found + more + counted + results + how)


@cached
@njit(nogil=True)
def _fold_together(
    board, fixed, patience, data, rows, length, pitch, width, first, second, counts, results, how,
    panels, columns,
):  # fmt: skip
    """Fold a tile, of which a piece has so many panels or columns; return what `share` does.

    The board, what is fixed and what is found are given by their addresses, the elements as bytes.
    """
    if not is_opened(board):
        return CLOSED
    given = board + GIVEN * WORD_BYTES
    for each in range(_SAME):
        write_at(given, each, read_at(fixed, each))
    write_at(given, _DATA, place_of(data))
    write_at(given, _SIZE, data.size // read_at(fixed, _ITEMSIZE))
    write_at(given, _ROWS, rows)
    write_at(given, _LENGTH, length)
    write_at(given, _PITCH, pitch)
    write_at(given, _WIDTH, width)
    write_at(given, _FIRST, first)
    write_at(given, _SECOND, second)
    write_at(given, _COUNTS, counts)
    write_at(given, _RESULTS, results)
    write_at(given, _HOW, how)
    write_at(given, _PANELS, panels)
    write_at(given, _COLUMNS, columns)
    pieces = (rows // width + panels - 1) // panels * ((width + columns - 1) // columns)
    return share(board, read_at(fixed, _TASK), pieces, patience)


class LinesTogether(Together):
    """What goes through tiles of one dtype that lie across together with who stands by.

    Parameters
    ----------
    kernel
        The loop, as `lines` has it.
    values
        The dtype of the elements as they are stored.
    room
        See `Room`.
    workers
        The threads, the caller one of them.
    """

    def __init__(
        self,
        kernel: Any,
        values: np.dtype[Any],
        room: Room,
        workers: int,
    ) -> None:
        super().__init__(workers)
        self._kernel, self._values, self._room = kernel, values, room

    def takes(self, size: int) -> bool:
        """Tell whether it pays for so many elements."""
        return size * self._values.itemsize >= _LEAST_SHARED

    def __call__(
        self, data: NDArray[Any], rows: int, length: int, pitch: int, width: int, how: int
    ) -> Found | None:
        """Return what the loop finds, None where one thread has to go through it."""
        size = rows * length * self._values.itemsize
        is_shared = self.takes(rows * length) and not _here.is_alone
        team = self._team(size) if is_shared else None
        if team is None:
            return None
        found = self._room(rows, MOST_PIECES, how)
        panels = rows // width
        cuts = max(team.workers // panels, 1)
        columns = -(-width // (cuts * _ALIGNED)) * _ALIGNED
        columns = min(max(columns, _LEAST_RUN // self._values.itemsize), width)
        places = (each.ctypes.data for each in found)
        step = -(-panels // MOST_PIECES)
        given = data.view(np.uint8), rows, length, pitch, width, *places, how, step, columns
        return found if self._shares(team, size, self._fold, given, (data, found)) else None

    def _make_ready(self) -> None:
        """See `Together`."""
        few, numbers = np.empty(0, np.uint8), np.empty(0, self._values)
        first, second, counts, results = found = self._room(2, 1, FIELDS)
        fixed = self._fixed = np.zeros(_FIXED, np.int64)
        fixed[_FOLD] = address_of(self._kernel, numbers, 1, 1, 1, 1, 1, *found, 1)
        fixed[_TASK] = address_of(_fold_piece, 1, 1)
        fixed[_ITEMSIZE], fixed[_FIRST_BYTES] = numbers.itemsize, first.itemsize
        fixed[_SECOND_BYTES] = WORD_BYTES * (second.size > 1)
        fixed[_COUNT_BYTES] = counts.itemsize * (counts.size > 0)
        fixed[_RESULT_BYTES] = results.itemsize
        self._same = fixed.ctypes.data
        self._fold = entry_for(_fold_together, 1, 1, 1, few, *[1] * 11)
