"""Counting: a counter for every right row, and one look at all of them for each left row.

For a left row, the list of each of its ids is walked and the counter of every row in it goes up by
one; then the counters that have come to the threshold are found, 64 at a time, and cleared. What
an update costs depends on where the counters are, so right rows come in blocks whose counters, 64
KB of 8 bits each, stay in the cache next to the core.

A few ids that very many rows have make most of the updates. These hot ids have no lists: each row
has a *signature* with a bit for each of them, and the bits that two signatures share are added when
counters are looked at anyway.

Two rows of more than 255 ids might share more than 8 bits count, but seldom do. Such a row is
counted in 8 bits all the same, and then checked: each time a counter ran over, the sum of all is
256 less than the number of updates. Only then it is counted again, in 16 bits.

Measured on one core of the machine in benchmarks/results, retail.dat with a threshold of 2: 2.7 G
updates and the looks at 3.9 G counters in 3.2 s; with signatures of the 8 hottest ids, which make
95 % of the updates, 0.8 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from warpladder.device.bits import how_many, lowest
from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.overlap_join.index import BLOCK_BITS, bucket_of, list_of, rows_behind
from warpladder.overlap_join.lanes import (
    LANES,
    add_common,
    at_least,
    clear,
    fetch,
    note,
)
from warpladder.overlap_join.measures import COUNT, counts, least_shared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Rows

__all__ = [
    "ALL",
    "LATER",
    "OTHERS",
    "Scratch",
    "Side",
    "alike",
    "new_scratch",
    "side_of",
    "visit_rows",
]

ALL, LATER, OTHERS = range(3)
_BLOCK = 1 << BLOCK_BITS
_ONE, _EVERY = np.uint64(1), np.uint64(0xFFFF_FFFF_FFFF_FFFF)
# Counters of 8 and of 16 bits hold so many.
_MOST_IN_BYTE = 255
_MOST_IN_WORD = (1 << 16) - 1
# How many lists ahead memory is asked for: where one begins early, since that is slow to come; then
# so many of its rows, 32 of which are a line of the cache. By then the hardware has seen that more
# are to come. Measured with 24,000 rows of 1,000 ids: 1.55 ns an update without, 1.1 with it.
_BEGINS_AHEAD, _LISTS_AHEAD, _FETCHED, _OF_A_LINE = 8, 2, 256, 32
# Where 8 bits have run over, they may well do so again.
_STAYS_WIDE = 32


class Side(NamedTuple):
    """One side of a join as compiled code takes it.

    Attributes
    ----------
    starts, items
        As in `Rows`.
    signatures
        For each eight hot ids, one behind the other, a byte for every row; ``padded`` bytes each.
    padded
        How many rows there are, rounded up to whole blocks.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    signatures: NDArray[np.uint8]
    padded: int


class Scratch(NamedTuple):
    """What one thread counts in, all zero between rows.

    Attributes
    ----------
    bytes, words
        Counters of the rows of a block, of 8 and of 16 bits.
    noted
        Pairs of right rows not yet added up: uint8, for each.
    wide
        How many blocks of right rows are still to be counted with 16 bits before 8 are tried again.
    """

    bytes: NDArray[np.uint8]
    words: NDArray[np.uint16]
    noted: NDArray[np.uint8]
    wide: NDArray[np.int64]


def new_scratch(right: Side) -> Scratch:
    """Return what a thread needs."""
    return Scratch(
        np.zeros(_BLOCK, np.uint8),
        np.zeros(_BLOCK, np.uint16),
        np.zeros(right.padded, np.uint8),
        np.zeros(1, np.int64),
    )


def side_of(rows: Rows, hot_bytes: int) -> Side:
    """Return rows with signatures of their universe's last, and hottest, ``8 * hot_bytes`` ids."""
    padded = -(-len(rows) // _BLOCK) * _BLOCK
    signatures = np.zeros(hot_bytes * padded, np.uint8)
    _sign(rows.starts, rows.items, rows.universe - 8 * hot_bytes, padded, signatures)
    return Side(rows.starts, rows.items, signatures, padded)


@cached
@njit(nogil=True)
def _sign(starts: Any, items: Any, cold: Any, padded: Any, signatures: Any) -> None:
    for i in range(len(starts) - 1):
        for k in range(starts[i + 1] - 1, starts[i] - 1, -1):
            hot = items[k] - cold
            if hot < 0:
                break
            signatures[(hot >> 3) * padded + i] |= np.uint8(1 << (hot & 7))


@cached
@njit(nogil=True)
def visit_rows(
    left: Any, right: Any, index: Any, cold: Any, which: Any, rule: Any, first: Any, last: Any,
    scratch: Any, degrees: Any, out: Any,
) -> Any:  # fmt: skip
    """Count or keep the pairs of left rows ``first`` to ``last``.

    Parameters
    ----------
    left, right
        A `Side` each.
    index
        Of the right rows, in blocks of 2^16.
    cold
        Ids below this have lists; the others are in signatures.
    which
        Which right rows a left row meets: `ALL`, only those `LATER` than itself, or all `OTHERS`.
    rule
        As `Rule`.
    scratch
        A `Scratch` of this thread.
    degrees
        Where the pairs of each left and of each right row are added up; empty where they are kept.
    out
        Where pairs are kept: how many each left row has, counted from ``first`` on; their right
        rows; the ids they share. None where they are counted.

    Returns
    -------
    tuple
        The first row that was not visited since ``out`` might not hold its pairs; and how many
        pairs were found.
    """
    measure, threshold = rule
    rows = len(right.starts) - 1
    found = 0
    unnoted = 0
    for i in range(first, last):
        if out is not None and len(out[1]) - found < rows:
            return i, found
        before = found
        size = left.starts[i + 1] - left.starts[i]
        least = least_shared(measure, threshold, size)
        # No row of the other side has more ids than counters hold, if this one has.
        if least <= min(size, _MOST_IN_WORD):
            block = i >> index.bits if which == LATER else 0
            while block < index.blocks:
                found = _visit_block(
                    left, right, index, cold, which, rule, i, block, size, least, scratch, out,
                    found,
                )  # fmt: skip
                block += 1
        if out is not None:
            out[0][i - first] = found - before
        else:
            degrees[0][i] += found - before
            unnoted += 1
            if unnoted == _MOST_IN_BYTE:
                _add_noted(scratch.noted, degrees[1])
                unnoted = 0
    if out is None:
        _add_noted(scratch.noted, degrees[1])
    return last, found


@subroutine
def _visit_block(
    left: Any, right: Any, index: Any, cold: Any, which: Any, rule: Any, i: Any, block: Any,
    size: Any, least: Any, scratch: Any, out: Any, found: Any,
) -> Any:  # fmt: skip
    """Count or keep the pairs of a left row with the rows of a block."""
    is_own = which != ALL and i >> index.bits == block
    own = i - (block << index.bits) if is_own else -1
    begin = own + 1 if which == LATER else 0
    width = min(1 << index.bits, len(right.starts) - 1 - (block << index.bits))
    is_narrow = size <= _MOST_IN_BYTE
    if not is_narrow and least <= _MOST_IN_BYTE:
        scratch.wide[0] -= 1
        is_narrow = scratch.wide[0] < 0
    if is_narrow:
        updates = _tally(left, i, cold, index, block, begin, scratch.bytes)
        hot = 8 * (len(left.signatures) // max(1, left.padded))
        if size <= _MOST_IN_BYTE or _is_exact(scratch.bytes[begin:width], updates, hot):
            return _look(
                left, right, index, rule, i, block, (own, begin, width), (size, least),
                scratch.bytes, scratch.noted, out, found,
            )  # fmt: skip
        scratch.bytes[begin:width] = 0
        scratch.wide[0] = _STAYS_WIDE
    _tally(left, i, cold, index, block, begin, scratch.words)
    return _look(
        left, right, index, rule, i, block, (own, begin, width), (size, least),
        scratch.words, scratch.noted, out, found,
    )  # fmt: skip


@subroutine
def _is_exact(counters: Any, updates: Any, hot: Any) -> Any:
    """Tell whether no counter has run over, nor will with so many hot ids more."""
    total, most = np.int64(0), np.uint8(0)
    for j in range(len(counters)):
        total += counters[j]
        most = max(most, counters[j])
    # Each time a counter runs over, the sum loses 256.
    return total == updates and most <= _MOST_IN_BYTE - hot


@subroutine
def _look(
    left: Any, right: Any, index: Any, rule: Any, i: Any, block: Any, rows: Any, sizes: Any,
    counters: Any, noted: Any, out: Any, found: Any,
) -> Any:  # fmt: skip
    """Count or keep the rows of a block whose counters say enough, and clear these."""
    own, begin, width = rows
    size, least = sizes
    base = block << index.bits
    enough = counters.dtype.type(least)
    planes = len(left.signatures) // max(1, left.padded)
    signature = left.signatures[i] if planes else np.uint8(0)
    j = begin // LANES * LANES
    wanted = _EVERY << np.uint64(begin - j)
    while j < width:
        if planes == 1:
            add_common(counters, j, right.signatures, base + j, signature)
        else:
            for plane in range(planes):
                add_common(
                    counters, j, right.signatures, plane * right.padded + base + j,
                    left.signatures[plane * left.padded + i],
                )  # fmt: skip
        word = at_least(counters, j, enough) & wanted
        wanted = _EVERY
        if j <= own < j + LANES:
            word &= ~(_ONE << np.uint64(own - j))
        if rule[0] != COUNT and word:
            word = alike(right.starts, rule, size, base + j, counters, j, word)
        if out is None:
            note(noted, base + j, word)
            found += how_many(word)
        else:
            while word:
                lane = lowest(word)
                out[1][found] = base + j + lane
                out[2][found] = counters[j + lane]
                found += 1
                word &= word - _ONE
        clear(counters, j)
        j += LANES
    return found


@subroutine
def _tally(left: Any, i: Any, cold: Any, index: Any, block: Any, begin: Any, counters: Any) -> Any:
    """Count the ids that left row i shares with each row of a block, from its row ``begin`` on.

    Returns how many updates that takes.
    """
    one = counters.dtype.type(1)
    items, starts, postings = left.items, index.starts, index.postings
    most = len(items) - 1
    updates = 0
    for k in range(left.starts[i], left.starts[i + 1]):
        if items[k] >= cold:
            break
        if begin:
            # Of its own block a left row meets the rows behind it.
            fetch(postings, rows_behind(index, k + _BEGINS_AHEAD)[0])
            coming, end_of_coming = rows_behind(index, k + _LISTS_AHEAD)
            first, last = rows_behind(index, k)
        else:
            fetch(starts, bucket_of(index, items[min(k + _BEGINS_AHEAD, most)], block))
            coming, end_of_coming = list_of(index, items[min(k + _LISTS_AHEAD, most)], block)
            first, last = list_of(index, items[k], block)
        for ahead in range(coming + _OF_A_LINE, min(end_of_coming, coming + _FETCHED), _OF_A_LINE):
            fetch(postings, ahead)
        updates += last - first
        for place in range(first, last):
            counters[postings[place]] += one
    return updates


@subroutine
def alike(starts: Any, rule: Any, size: Any, first: Any, counters: Any, j: Any, word: Any) -> Any:
    """Return which of 64 rows marked in a word are alike enough, once looked at one by one.

    Parameters
    ----------
    starts
        Of the right rows.
    rule
        As `Rule`.
    size
        How many ids the left row has.
    first
        The first of the 64 rows.
    counters, j
        How many ids each shares with the left row, from j on.
    word
        With a bit for each that may be.
    """
    measure, threshold = rule
    kept = word
    while word:
        lane = lowest(word)
        other = starts[first + lane + 1] - starts[first + lane]
        if not counts(measure, threshold, np.int64(counters[j + lane]), size, other):
            kept &= ~(_ONE << np.uint64(lane))
        word &= word - _ONE
    return kept


@subroutine
def _add_noted(noted: Any, degrees: Any) -> None:
    for j in range(len(degrees)):
        degrees[j] += noted[j]
    noted[:] = 0
