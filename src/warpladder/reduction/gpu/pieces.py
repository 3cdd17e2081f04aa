"""How rows are divided among blocks and threads: by the matrix alone, so that bits do not change.

A sum of floats rounds in the order in which it is made. What is decided here is that order.
"""

from __future__ import annotations

from typing import NamedTuple

from warpladder.device.grids import WARP
from warpladder.reduction.gpu.layout import THREADS

__all__ = ["LARGEST_PIECE", "Pieces", "pieces_of"]

# Elements of a block's piece: enough to pay for merging 256 states; few enough that sums round
# little. On an H200, whose 132 multiprocessors have 4 such blocks each, five statistics of 2^28
# float32 take 273 us in 512 pieces and 289 in 1024, argmax 258 and 262, a sum 255 and 257.
_LEAST_PIECE, _MOST_PIECES, LARGEST_PIECE = 4096, 512, 1 << 19
# Threads that keep the memory of an H200 busy; fewer of them at a row have less to merge. A sum of
# 4096 x 4096 float32 over the rows, queued, took 27 us with 32 threads at a row, 46 with 256.
_THREADS_WANTED = 1 << 17
# Of rows side by side: what a thread adds up at most, and how many blocks there should be, all of
# which an H100 has places for at once. Twice as many took 31 us for a sum of 4096 x 4096 float32,
# these 27.
_MOST_OF_A_THREAD, _BLOCKS = 1024, 512
# A thread has at least so many elements of a piece: to merge pieces takes about 2 us. So it has of
# a row, unless threads are few: then a thread for each batch of loads has less to wait for.
_OF_A_PIECE, _FEW_THREADS = 64, 1 << 15
# Threads at a row of one piece, and of several: more have to merge too much for each of these.
_MOST_GROUPS, _MOST_OF_PIECES = 32, 16
# A warp reads at least so many neighbours: a sector of 4 bytes each, of shorter ones more.
_LEAST_STRIP, _LEAST_SHORT_STRIP, _SHORT_BATCH = 8, 32, 32
# Rows up to this long are read across wherever they lie: there is nothing to share.
_SHORT = 8


class Pieces(NamedTuple):
    """How the rows of a matrix are divided.

    Attributes
    ----------
    is_across
        Whether neighbouring threads have neighbouring rows; else neighbouring elements of a row.
    each
        Pieces of a row.
    length
        Of a piece.
    threads
        At a row where they are along it, with rows side by side in a strip.
    """

    is_across: bool
    each: int
    length: int
    threads: int

    def items(self, count: int) -> int:
        """Return what there is for blocks to do: pieces, of rows or strips."""
        return self.groups(count) * self.each

    def groups(self, count: int) -> int:
        """Return how many strips there are, or rows that are shared by a block or more."""
        return -(-count // (self.threads if self.is_across else THREADS // self.threads))


def pieces_of(
    count: int, length: int, pitch: int, step: int, batch: int, largest: int = LARGEST_PIECE
) -> Pieces:
    """Return how to divide ``count`` rows of a length that lie so.

    ``batch`` is the number of elements that a thread loads at a time where they follow each other,
    ``largest`` that in a block's piece at the most.

    Examples
    --------
    >>> pieces_of(1, 1 << 28, 0, 1, 16)
    Pieces(is_across=False, each=512, length=524288, threads=256)
    >>> pieces_of(5000, 100, 100, 1, 16)
    Pieces(is_across=False, each=1, length=100, threads=4)
    >>> pieces_of(2048, 20_000, 1, 2048, 16)
    Pieces(is_across=True, each=4, length=5120, threads=16)
    """
    if length <= _SHORT or (count >= WARP and abs(pitch) < abs(step)):
        return _across(count, length, _LEAST_SHORT_STRIP if batch >= _SHORT_BATCH else _LEAST_STRIP)
    # Threads that there is room for at a row.
    room = _power_of_two(-(-_THREADS_WANTED // count))
    # As many as have a batch each, but for the rest of a row, and not too much of it.
    threads = min(1 << (max(length // batch, 1).bit_length() - 1), room, THREADS)
    threads = max(threads, min(_power_of_two(-(-length * THREADS // largest)), THREADS))
    if threads < THREADS:
        return Pieces(False, 1, length, threads)
    wanted = -(-count * length // _MOST_PIECES)
    size = -(-min(max(wanted, _LEAST_PIECE), largest) // _LEAST_PIECE) * _LEAST_PIECE
    return Pieces(False, -(-length // size), size, THREADS)


def _across(count: int, length: int, least_strip: int) -> Pieces:
    groups = max(
        _threads_at(length, _OF_A_PIECE, _THREADS_WANTED // count),
        _threads_at(length, _SHORT, _FEW_THREADS // count),
    )
    groups = min(groups, _MOST_GROUPS, THREADS // least_strip)
    wanted = _pieces_wanted(count, length, groups)
    if wanted > 1:
        groups = min(groups, _MOST_OF_PIECES)
        wanted = _pieces_wanted(count, length, groups)
    least = groups * _SHORT
    size = -(-length // (wanted * least)) * least
    return Pieces(True, -(-length // size), size, THREADS // groups)


def _threads_at(length: int, each: int, room: int) -> int:
    """Return how many threads a row needs for so many elements each; no more than room for it."""
    return min(_power_of_two(-(-length // each)), 1 << (max(room, 1).bit_length() - 1))


def _pieces_wanted(count: int, length: int, groups: int) -> int:
    strips = -(-count * groups // THREADS)
    needed = -(-length // (groups * _MOST_OF_A_THREAD))
    return max(min(_BLOCKS // strips, length // (groups * _OF_A_PIECE)), needed)


def _power_of_two(n: int) -> int:
    """Return the least power of two that is no less."""
    return 1 << (n - 1).bit_length()
