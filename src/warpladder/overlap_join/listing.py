"""Rows listed and masked as they were given, for rows that meet all panels at once.

There the order of a row's ids does not matter, nor that of lists. So rows need neither be coded nor
sorted: one pass over them, from the last row to the first, puts each into its lists and its masks.
What stands in a list already are the rows behind it, which it is joined with. Where these are few
they are copied beside what else the row meets, while that part of the list is in a cache anyway: so
what a row meets is read one after the other later, and most lists are looked up once, not twice.

All that is looked up of an id is where its list begins so far. Lists end with what is no row, so
that how long they are need not be looked up. No branch depends on that: it would be guessed wrong.

Rows told of in `slicing` are counted and listed in 21 ms of one core of an AMD EPYC with AVX-512.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from warpladder.device.crew import each
from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.overlap_join.index import ONE_BLOCK, Index, Tails
from warpladder.overlap_join.lanes import COPIED, copy_until, fetch
from warpladder.overlap_join.masks import PANEL_BITS, Masks, empty_masks
from warpladder.overlap_join.slices import ROWS, WORDS
from warpladder.overlap_join.uncoded import UncodedRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Join
    from warpladder.overlap_join.plan import Way

__all__ = ["END", "listed_rows", "place_of"]

END = (1 << 16) - 1
"""Stands behind each list: there are fewer rows."""

# Tables are worth it up to so many places for each id that rows list.
_WIDEST_RANGE = 2
# Of so many ids all lists have places of 32 bits.
_MOST_IDS = 1 << 29
# How many ids ahead lists are asked for, and twice as many ahead what says where they begin.
_AHEAD = 12
_LINE = 64
# Elements between the lists of two threads, which then have no line of the cache in common.
_APART = 64

_ONE = np.uint64(1)


def listed_rows(join: Join, way: Way) -> tuple[Index, Masks] | None:
    """Return lists and masks of rows, None where that is not how they are met.

    Of the index there are `Index.tails`.
    """
    rows = join.left
    if not (
        isinstance(rows, UncodedRows)
        and join.is_self
        and not join.both_ways
        and way.at_once
        and len(rows) <= END
        and rows.size <= _MOST_IDS
        and len(rows.counted.counts) <= _WIDEST_RANGE * rows.size
    ):
        return None
    masks = empty_masks(rows, way.masks, at_once=True)
    table, tails = _lists_to_fill(rows, way.masks)
    stretches = rows.counted.stretches

    def list_part(part: int) -> None:
        _list_rows(
            rows.values, *stretches[part : part + 2], rows.counted.least, table, tails,
            tails.ends[part], masks,
        )  # fmt: skip

    each(list_part, len(tails.ends))
    nothing = np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
    return Index(ONE_BLOCK, 1, 0, *nothing, tails), masks


def _lists_to_fill(rows: UncodedRows, hot: int) -> tuple[NDArray[np.int32], Tails]:
    """Return where the list of each place's id ends, or its mask; and what rows are written into.

    Of a mask it is the complement of its number. Each thread has places, and so lists and masks, of
    its own, and parts of all else.
    """
    counts, bounds = rows.counted.counts, rows.classes.bounds
    longest = int(rows.occurring.hottest(hot)[-1] if hot else rows.occurring.rows.max(initial=0))
    room = _room_for(rows, longest)
    # Each thread has an empty list before its own, and lines of the cache.
    firsts = [bounds.index(cut) for cut in rows.counted.cuts[:-1]]
    room[firsts] += _APART, COPIED, 1, 0
    begins = np.concatenate([np.zeros((1, 4), np.int64), room.cumsum(axis=0)])
    places, met, long, marks = begins[-1].tolist()
    table, lists, *others = _in_one_block(
        (len(counts), np.int32), (places + COPIED, np.uint16), (met, np.uint16), (long, np.int32),
        (marks, np.int32),
    )  # fmt: skip
    alone = begins[firsts, 0] + _APART // 2
    lists[alone] = END

    def begin(part: int) -> None:
        own = int(np.searchsorted(firsts, part, side="right")) - 1
        place = begins[part, 0] + (_APART if part in firsts else 0)
        _begin_lists(counts, *bounds[part : part + 2], longest, place, alone[own], table, lists)

    each(begin, len(room))
    if hot:
        table[_hottest(counts, longest, hot)] = ~np.arange(hot, dtype=np.int32)
    ends = np.empty((len(firsts), len(rows) + 1, 3), np.int64)
    ends[:, -1] = begins[firsts, 1:]
    return table, Tails(others[0], lists, others[1], others[2], ends)


def _in_one_block(*wanted: tuple[int, type[np.generic]]) -> list[NDArray[Any]]:
    """Return arrays of so many elements each, from lines of the cache on.

    For a block as large NumPy asks for pages of 2 MB. Rows are listed in 10 % less time with these,
    and where 5,000 pages of 4 KB have to be made first, in 30 %.
    """
    sizes = [-(-count * np.dtype(kind).itemsize // _LINE) * _LINE for count, kind in wanted]
    block = np.empty(sum(sizes) + _LINE, np.uint8)
    first = -block.ctypes.data % _LINE
    arrays = []
    for (count, kind), size in zip(wanted, sizes, strict=True):
        arrays.append(block[first : first + size].view(kind)[:count])
        first += size
    return arrays


def _room_for(rows: UncodedRows, longest: int) -> NDArray[np.int64]:
    """Return how much parts of the table need: of lists, rows met, long lists, marks in masks.

    Ids in as many rows as the longest list has may have a list or a mask.
    """
    counts = rows.occurring.rows
    listed = counts[(counts > 1) & (counts <= longest)]
    marked = counts[counts >= longest]
    held = rows.classes.held
    # Behind the rows of a list stand from none to all but one of them.
    copied = np.minimum(listed, COPIED)
    each_list = np.stack([listed + 1, copied * (copied - 1) // 2, listed - copied], axis=1)
    return np.column_stack([held[:, listed] @ each_list, held[:, marked] @ marked])


def _hottest(counts: NDArray[Any], least: int, hot: int) -> NDArray[np.int64]:
    """Return the places of so many ids, none of which is listed less often than ``least``."""
    places = np.flatnonzero(counts >= least)
    is_hot = np.ones(len(places), np.bool_)
    # Of those that are listed as often as the last of them, some have lists.
    is_hot[np.flatnonzero(counts[places] == least)[: len(places) - hot]] = False
    return places[is_hot]


@cached
@njit(nogil=True)
def _begin_lists(
    counts: Any, first: Any, last: Any, longest: Any, begin: Any, alone: Any, table: Any, lists: Any
) -> None:
    """Lay out the lists of some places from a place among all of them on.

    Ids that are in one row only have the list at ``alone``. The others have room for one row more
    than stand behind others.
    """
    for place in range(first, last):
        count = np.int64(counts[place])
        is_list = (count > 1) & (count <= longest)
        end = begin + (count if is_list else 0)
        lists[np.uintp(end)] = END
        table[place] = end if is_list else alone
        begin = end + is_list


@cached
@njit(nogil=True)
def _list_rows(
    values: Any, begins: Any, ends: Any, least: Any, table: Any, tails: Any, written: Any,
    masks: Any,
) -> None:  # fmt: skip
    """Put stretches of rows into lists and masks, and write down what they meet.

    ``written`` is the part of `Tails.ends` of these stretches.
    """
    lists, copies, long_ones, hot_ones = tails.lists, tails.met, tails.long, tails.hot
    rows = len(begins)
    met, long, hot = written[rows, 0], written[rows, 1], written[rows, 2]
    for i in range(rows - 1, -1, -1):
        own = place_of(i)
        # From the beginning of a stretch it is so far to the one before, of the same thread.
        gap = begins[i] - ends[max(i - 1, 0)]
        for k in range(ends[i] - 1, begins[i] - 1, -1):
            coming = k - 2 * _AHEAD
            coming -= gap if coming < begins[i] else 0
            fetch(table, values[np.uintp(max(coming, 0))] - least)
            coming = k - _AHEAD
            coming -= gap if coming < begins[i] else 0
            place = table[np.uintp(values[np.uintp(max(coming, 0))] - least)]
            fetch(lists, max(place - 1, 0))
            slot = np.uintp(values[np.uintp(k)] - least)
            place = table[slot]
            if place < 0:
                hot_ones[np.uintp(hot)] = np.int64(~place) * WORDS
                hot += 1
                continue
            behind = copy_until(copies, met, lists, place, END)
            long_ones[np.uintp(long)] = place
            # Of a long list what was copied is written over.
            met += behind & (COPIED - 1)
            long += behind >= COPIED
            lists[np.uintp(place - 1)] = own
            table[slot] = place - 1
        written[i, 0], written[i, 1], written[i, 2] = met, long, hot
        if not i & (ROWS - 1):
            _mark_panel(i, min(i + ROWS, rows), hot_ones, written, masks)


@subroutine(inline="always")
def place_of(i: Any) -> Any:
    """Return the place of a row among tallies, as `slices` takes them."""
    return (i & ~511) | ((i & 7) << 6) | ((i >> 3) & 63)


@subroutine(counted=False)
def _mark_panel(first: Any, last: Any, hot: Any, written: Any, masks: Any) -> None:
    """Set the bits of a panel's rows in their masks.

    Done while these rows are listed, it would wait for each mask.
    """
    marked = masks.table
    base = (first >> PANEL_BITS) * (masks.hot + 1) * WORDS
    for i in range(first, last):
        word = base + ((i >> 6) & (WORDS - 1))
        bit = _ONE << np.uint64(i & 63)
        for place in range(written[i + 1, 2], written[i, 2]):
            marked[np.uintp(word + hot[np.uintp(place)])] |= bit
