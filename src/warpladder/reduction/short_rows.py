"""Many short rows, turned a few thousand at a time so that they lie across for the loop of `lines`.

To begin and end a row takes a loop over rows up to 50 ns, as long as to add some hundred numbers:
norms of 262,144 x 3 float64 took 13.5 ms row by row. Turned in a buffer that stays in the
first-level cache, each lane of a vector has a row of its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.addresses import address
from warpladder.device.kernel_cache import cached
from warpladder.device.native import address_of, array_at, call_at
from warpladder.device.words import WORD_BYTES, place_of
from warpladder.reduction.copies import copied, is_known, turn_of
from warpladder.reduction.layout import NO_MASK, Tile
from warpladder.reduction.line_kernel import FIELDS
from warpladder.reduction.shared_lines import Found, Room

__all__ = ["fold_short_rows", "turned"]

# Bytes of rows that are turned at once.
_AT_ONCE = 1 << 14


def fold_short_rows(kernel: Any, room: Room, tile: Tile, how: int) -> Found:
    """Return what the loop of `lines` finds of rows that do not lie across.

    Parameters
    ----------
    kernel
        The loop.
    room
        Returns where it leaves what it finds.
    tile
        The rows, of more than one element each.
    how
        What it leaves.
    """
    data, _, rows, length, pitch, _ = tile
    some = max(_AT_ONCE // (length * data.itemsize), 1)
    found = first, second, counts, results = room(rows, -(-rows // some), how)
    words = data.view(f"u{data.itemsize}")
    buffer = np.empty(some * length, words.dtype)
    turn = _address_of_turn(length, words.dtype) if _is_known(tile) else 0
    places = [address(each) if each.size else 0 for each in found]
    _fold(
        *(_address(kernel, data.dtype, room), turn, words, rows, length, pitch, buffer),
        *(places[0], first.itemsize),
        *(places[1], WORD_BYTES * (second.size == rows)),
        *(places[2], counts.itemsize * (counts.size > 0)),
        *(places[3], results.itemsize, how),
    )
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
    if _is_known(tile):
        words = data.view(f"u{data.itemsize}")
        across = np.empty(rows * length, words.dtype)
        turn_of(length)(words, 0, rows, across)
        return Tile(across.view(data.dtype), NO_MASK, rows, length, rows, rows)
    strides = pitch * data.itemsize, data.itemsize
    matrix: NDArray[Any] = np.ndarray((rows, length), data.dtype, data, 0, strides)
    copy = copied(matrix.T, 1, data.dtype, "", {})
    return Tile(copy, NO_MASK, rows, length, rows, rows)


def _is_known(tile: Tile) -> bool:
    """Tell whether rows follow one another and have a length of which there is a loop."""
    return tile.pitch == tile.length and is_known(tile.length, tile.data.itemsize)


@cache
def _address(kernel: Any, values: np.dtype[Any], room: Room) -> int:
    return address_of(kernel, np.empty(0, values), 1, 1, 1, 1, 1, *room(1, 1, FIELDS), 1)


@cache
def _address_of_turn(length: int, words: np.dtype[Any]) -> int:
    few = np.empty(0, words)
    return address_of(turn_of(length), few, 1, 1, few)


@cached
@njit(nogil=True)
def _fold(
    fold, turn, data, rows, length, pitch, buffer, first, first_bytes, second, second_bytes, counts,
    count_bytes, results, result_bytes, how,
):  # fmt: skip
    """Turn some rows at a time and go through them; what is found is given by addresses."""
    some = buffer.size // length
    itemsize = buffer.itemsize
    for piece in range((rows + some - 1) // some):
        begin = piece * some
        run = min(some, rows - begin)
        if turn:
            where, to = (begin, run), array_at(place_of(buffer), buffer.size, itemsize)
            call_at(turn, array_at(place_of(data), data.size, itemsize) + where + to)
        else:
            for i in range(length):
                at, line = begin * pitch + i, buffer[i * run : (i + 1) * run]
                for j in range(run):
                    line[j] = data[at + j * pitch]
        words, of_rows = second + begin * second_bytes, run
        if not second_bytes:
            # One word for all rows, of which each piece has its own.
            words, of_rows = second + piece * WORD_BYTES, 1
        numbers, lie = (
            array_at(place_of(buffer), run * length, itemsize),
            (run, length, run, run, run),
        )
        found = array_at(first + begin * first_bytes, run, first_bytes)
        more = array_at(words, of_rows, WORD_BYTES)
        counted = array_at(counts + begin * count_bytes, run * (count_bytes > 0), count_bytes)
        made = array_at(results + begin * result_bytes, run, result_bytes)
        call_at(fold, numbers + lie + found + more + counted + made + (how,))
