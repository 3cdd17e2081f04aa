"""Rows listed and masked as they were given, for rows that meet all panels at once.

There the order of a row's ids does not matter, nor that of lists. So rows need neither be coded nor
sorted: one pass over them puts each into its lists, and notes which masks it has and where in its
lists the rows behind it stand. All that is looked up of an id is a word, which says where the next
row of its list is put and how many come after that, and so is itself what is noted. Ids that no row
behind has are not noted at all, and lists that are short are noted apart from the others: the loops
over them (`sliced_lists`) guess no branch wrong then.

Rows told of in `slicing` are counted and listed in 43 ms of one core; counted, coded, sorted and
indexed in 71.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from warpladder.device.crew import each
from warpladder.device.kernel_cache import cached
from warpladder.overlap_join.index import (
    HOT,
    LONG,
    LONGEST_LIST,
    NOTES,
    ONE_BLOCK,
    SHORT,
    SIZE_BITS,
    Index,
)
from warpladder.overlap_join.lanes import COPIED, fetch
from warpladder.overlap_join.masks import PANEL_BITS, Masks, empty_masks
from warpladder.overlap_join.slices import WORDS
from warpladder.overlap_join.uncoded import UncodedRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Join
    from warpladder.overlap_join.plan import Way

__all__ = ["listed_rows"]

# Tables are worth it up to so many places for each id that rows list.
_WIDEST_RANGE = 2
# How many ids ahead words are asked for: the rows told of are listed in 18 ms with it, 23 without.
_AHEAD = 24

_ONE = np.uint64(1)


def listed_rows(join: Join, way: Way) -> tuple[Index, Masks] | None:
    """Return lists and masks of rows, None where that is not how they are met.

    Of the index there are `Index.notes`, and what these speak of.
    """
    rows = join.left
    if not (
        isinstance(rows, UncodedRows)
        and join.is_self
        and not join.both_ways
        and way.at_once
        and len(rows.counted.counts) <= _WIDEST_RANGE * rows.size
    ):
        return None
    masks = empty_masks(rows, way.masks, at_once=True)
    table, words, begins = _lists_to_fill(rows, way.masks)
    noted, masked = begins[:, 1], begins[:, 2]
    postings = np.empty(noted[-1] + COPIED, np.int32)
    behind, hot = np.empty(noted[-1], np.int64), np.empty(masked[-1], np.int32)
    stretches = rows.counted.stretches
    parts = len(stretches) - 1
    notes = np.empty((parts, len(rows), NOTES), np.int64)

    def list_part(part: int) -> None:
        _list_rows(
            rows.values, *stretches[part : part + 2], rows.counted.least, table, words, postings,
            behind, hot, *noted[part : part + 2], masked[part], notes[part], masks,
        )  # fmt: skip

    each(list_part, parts)
    return Index(ONE_BLOCK, 1, 0, np.zeros(2, np.int64), postings, behind, hot, notes), masks


def _lists_to_fill(
    rows: UncodedRows, hot: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return which list or mask the id of each place has, the words of lists, and parts of them.

    Of a list it is the number; of a mask the complement. The word of a list says, as
    `Index.behind` does, what will stand behind its first row. Each thread has places, and so lists
    and masks, of its own: with which list and which posting its part begins, and behind how many
    marks in masks; in the end how many of these there are.
    """
    counts, cuts = rows.counted.counts, rows.counted.cuts
    parts = len(cuts) - 1
    longest = int(rows.frequency[-hot] if hot else rows.frequency.max(initial=0))
    before = np.zeros((parts + 1, 3), np.int64)

    def measure(part: int) -> None:
        before[part + 1] = _measure_lists(counts, *cuts[part : part + 2], longest)

    each(measure, parts)
    before = before.cumsum(axis=0)
    table, words = np.empty(len(counts), np.int32), np.empty(before[-1, 0], np.int64)

    def begin(part: int) -> None:
        _begin_lists(counts, *cuts[part : part + 2], longest, *before[part, :2], table, words)

    each(begin, parts)
    if hot:
        table[_hottest(counts, longest, hot)] = ~np.arange(hot, dtype=np.int32)
    return table, words, before


def _hottest(counts: NDArray[Any], least: int, hot: int) -> NDArray[np.int64]:
    """Return the places of so many ids, none of which is listed less often than ``least``."""
    places = np.flatnonzero(counts >= least)
    is_hot = np.ones(len(places), np.bool_)
    # Of those that are listed as often as the last of them, some have lists.
    is_hot[np.flatnonzero(counts[places] == least)[: len(places) - hot]] = False
    return places[is_hot]


@cached
@njit(nogil=True)
def _measure_lists(counts: Any, first: Any, last: Any, longest: Any) -> Any:
    """Return how many lists some places have, how long they are, and of how many marks masks are.

    The first list has no row behind, and is for all ids that are in one row only; behind the last
    there is room for one more. Ids in as many rows as the longest list has may have a list or a
    mask.
    """
    lists, total, marks = 2, 1, 0
    for place in range(first, last):
        count = counts[place]
        is_list = (count > 1) & (count <= longest)
        lists += is_list
        total += count if is_list else 0
        marks += count if count >= longest else 0
    return lists, total, marks


@cached
@njit(nogil=True)
def _begin_lists(
    counts: Any, first: Any, last: Any, longest: Any, number: Any, begin: Any, table: Any,
    words: Any,
) -> None:  # fmt: skip
    """Lay out the lists of some places, from a number and a place among all postings on."""
    alone = number
    words[alone] = (begin + 1) << SIZE_BITS
    begin += 1
    for place in range(first, last):
        count = np.int64(counts[place])
        is_list = (count > 1) & (count <= longest)
        # Where there is none, the next one is written over this word.
        words[number + 1] = (begin + 1) << SIZE_BITS | max(count - 1, 0)
        number += is_list
        table[place] = number if is_list else alone
        begin += count if is_list else 0


@cached
@njit(nogil=True)
def _list_rows(
    values: Any, begins: Any, ends: Any, least: Any, table: Any, words: Any, postings: Any,
    behind: Any, hot: Any, first: Any, last: Any, masked: Any, notes: Any, masks: Any,
) -> None:  # fmt: skip
    """Put stretches of rows into lists and masks.

    Where is noted of lists from place ``first`` on and up to ``last``, of masks from ``masked`` on.
    """
    marked, width = masks.table, (masks.hot + 1) * WORDS
    short, long = first, last - 1
    for i in range(len(begins)):
        notes[i, SHORT], notes[i, LONG], notes[i, HOT] = short, long, masked
        at = (i >> PANEL_BITS) * width + ((i >> 6) & (WORDS - 1))
        bit = _ONE << np.uint64(i & 63)
        # From the end of a stretch it is so far to the next, which belongs to the same thread.
        gap = begins[min(i + 1, len(begins) - 1)] - ends[i]
        for k in range(begins[i], ends[i]):
            coming = k + _AHEAD
            coming += gap if coming >= ends[i] else 0
            coming = min(coming, len(values) - 1)
            fetch(words, max(table[np.uintp(values[np.uintp(coming)] - least)], 0))
            number = table[np.uintp(values[np.uintp(k)] - least)]
            if number < 0:
                mask = np.int64(~number) * WORDS
                hot[np.uintp(masked)] = mask
                masked += 1
                marked[np.uintp(at + mask)] |= bit
                continue
            word = words[np.uintp(number)]
            size = word & LONGEST_LIST
            postings[np.uintp((word >> SIZE_BITS) - 1)] = i
            # Nothing here is left out by a branch, which would be guessed wrong: where no row is
            # behind, the next word is written over this one.
            behind[np.uintp(short)] = word
            behind[np.uintp(long)] = word
            short += (size > 0) & (size <= COPIED)
            long -= size > COPIED
            words[np.uintp(number)] = word + (size > 0) * ((1 << SIZE_BITS) - 1)
        notes[i, SHORT + 1], notes[i, LONG + 1], notes[i, HOT + 1] = short, long, masked
