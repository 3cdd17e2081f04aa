"""Slicing: the ids of a left row are masks of right rows, and masks are added 1,024 rows at a time.

An id that many rows have is a mask, a bit for each right row. How many ids a left row shares with
each of 1,024 right rows is the sum of its ids' masks, which `slices` adds as circuits do: a few
instructions for a mask, however many of its bits are set, where a list takes one update for each.
As soon as all masks of a row are added, the threshold is compared with all 1,024 counts at once,
and what is left is one more mask, of the pairs. Sums leave the core only where there are so many
masks that they are added in segments; where pairs are only counted, a row is done with a panel as
soon as all 1,024 are enough.

Ids that few rows have are cheaper as lists. What a row meets in these is sorted before by panels,
stretches of 1,024 right rows, and added bit by bit, with a carry that seldom goes far.

Where the masks of all panels are few enough to stay in the cache, a left row meets all panels at
once: then what it meets in lists is added as it comes, to counts of all panels, and nothing is
sorted. So a few hundred hot ids take most of the updates, and the rest is cheap: 20,000 rows of 100
ids of a Zipf law, exponent 0.7, out of 1,000,000, with a threshold of 2, are counted in 30 ms of
one core of an AMD EPYC with AVX-512 with 818 masks, where `counting` takes 66 with 8 hot ids.

The masks of all ids for one panel stand together, and a group of left rows meets a few panels after
each other, so that their masks stay in the cache next to the core. Of pairs that are kept, those of
a group are found panel by panel, and then put in order.

Measured on one core of an AMD EPYC with AVX-512, beside other work, a threshold of 2 and pairs
counted, beside `counting` in the same process: T10I4D100K 0.20 s and 0.80, retail 0.29 and 0.34,
12,000 rows of 1,000 ids out of 50,000 0.18 and 0.83. Much is owed to asking for the next panel's
masks little by little while this one's are added: asked for at once, they are waited for, and
retail took 131 ns for a row and panel instead of 69.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from warpladder.device.bits import how_many, lowest
from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.overlap_join.counting import ALL, LATER, alike
from warpladder.overlap_join.groups import (
    COLD,
    DEGREE_LEVELS,
    GROUP,
    LANE_MASK,
    LEAST,
    LEVELS,
    MASKS_AT_ONCE,
    ROW,
    SIZE,
    prepare,
)
from warpladder.overlap_join.lanes import LANES, fetch
from warpladder.overlap_join.masks import PANEL_BITS
from warpladder.overlap_join.measures import COUNT
from warpladder.overlap_join.sliced_lists import add_lists, add_one, fetch_tails
from warpladder.overlap_join.slices import (
    AT_ONCE,
    WORDS,
    add_masks,
    is_full,
    mark_at_least,
    sum_masks,
    unpack,
)

__all__ = ["slice_rows"]

_ONE, _EVERY = np.uint64(1), np.uint64(0xFFFF_FFFF_FFFF_FFFF)
# Words of a line of the cache.
_LINE = 8
# Degrees are added up before their slices could run over.
_MOST_UNNOTED = (1 << DEGREE_LEVELS) - 1 - GROUP


@cached
@njit(nogil=True)
def slice_rows(
    left: Any, right: Any, index: Any, masks: Any, which: Any, rule: Any, first: Any, last: Any,
    scratch: Any, degrees: Any, out: Any,
) -> Any:  # fmt: skip
    """Count or keep the pairs of left rows ``first`` to ``last``.

    As `counting.visit_rows`; ``index`` is in one block, and has the ids that have no mask.
    """
    found, unnoted = 0, 0
    most = scratch.group
    begin = first
    while begin < last:
        end = prepare(left, index, masks, which, rule, begin, min(begin + most, last), scratch)
        if out is None:
            found += _visit_group(
                left, right, index, masks, which, rule, begin, end, scratch, degrees, 0
            )  # fmt: skip
            unnoted += end - begin
            if unnoted > _MOST_UNNOTED or end == last:
                _add_degrees(masks.panels, scratch, degrees[1])
                unnoted = 0
        else:
            room = min(len(scratch.right), len(out[1]) - found)
            pairs = _visit_group(
                left, right, index, masks, which, rule, begin, end, scratch, None, room
            )  # fmt: skip
            if pairs < 0:
                if end - begin == 1:
                    return begin, found
                most = (end - begin) // 2
                continue
            _put_in_order(end - begin, pairs, scratch, out, begin - first, found)
            found += pairs
        begin = end
    return last, found


@subroutine
def _visit_group(
    left: Any, right: Any, index: Any, masks: Any, which: Any, rule: Any, begin: Any, end: Any,
    scratch: Any, degrees: Any, room: Any,
) -> Any:  # fmt: skip
    """Count the pairs of a group, or write them down; return how many, -1 if there is no room."""
    # Taken out of their tuples here: compiled code counts a reference each time that is done.
    rows, slices, marked, table = scratch.rows, scratch.slices, scratch.masks, masks.table
    places, listed, list_ends = scratch.places, scratch.listed, scratch.list_ends
    starts, counters, pending, each = right.starts, scratch.counters, scratch.degrees, scratch.each
    of, partner, shared = scratch.of, scratch.right, scratch.shared
    panels, width = masks.panels, (masks.hot + 1) * WORDS
    segments, cursors, measure = scratch.segments, scratch.cursors, rule[0]
    size, chunk, last_segment = end - begin, scratch.chunk, segments.shape[1] - 2
    # Counts are kept between segments, those of one panel at a time; else none has to be.
    stride = len(slices) // len(rows) if last_segment else 0
    is_counted = degrees is not None and measure == COUNT
    pairs = 0
    first = begin >> PANEL_BITS if which == LATER else 0
    coming, behind = _coming_masks(masks, first, chunk, last_segment)
    _fetch_share(table, coming, behind, 0, AT_ONCE)
    while first < panels:
        last = min(first + chunk, panels)
        for panel in range(first, last):
            cursors[panel - first] = list_ends[panel - 1] if panel else 0
        if last_segment:
            _sum_segments(
                rows, size, segments, places, table, first * width, slices, stride, masks,
                is_counted,
            )  # fmt: skip
        # What comes next is asked for little by little: all at once would be waited for.
        coming, behind = _coming_masks(masks, last, chunk, last_segment)
        for eight in range(0, size, AT_ONCE):
            before = pairs
            _fetch_share(table, coming, behind, eight, size)
            if degrees is not None:
                for word in range((last - first) * AT_ONCE * WORDS):
                    marked[word] = 0
            for one in range(eight, min(eight + AT_ONCE, size)):
                least, levels = rows[one, LEAST], rows[one, LEVELS]
                if not least:
                    continue
                of_row = 0
                kept = one * stride
                begins = segments[one, last_segment]
                count = segments[one, last_segment + 1] - begins
                i = rows[one, ROW]
                own = i >> PANEL_BITS
                met = max(first, own) if which == LATER else first
                if masks.at_once:
                    # Tallies tell as many times as slices that are sticky, and no more.
                    is_tallied = is_counted and least <= 1 << (levels - 1)
                    add_lists(
                        left, index, which, i, rows[one, COLD], levels, met, slices, listed,
                        scratch.tallies, is_tallied,
                    )  # fmt: skip
                    fetch_tails(index.tails, rows[min(one + 1, size - 1), ROW])
                for panel in range(met, last):
                    at = ((panel - first) * AT_ONCE + one - eight) * WORDS
                    if masks.at_once:
                        kept = panel * levels * WORDS
                        add_masks(slices, kept, levels, table, panel * width, places, begins, count)
                    elif last_segment:
                        if not (is_counted and _is_done(slices, kept, levels, least)):
                            add_masks(
                                slices, kept, levels, table, panel * width, places, begins, count
                            )
                    else:
                        sum_masks(slices, kept, levels, table, panel * width, places, begins, count)
                    # Of a panel's list, what rows before this one meet has been passed.
                    place, end_of_list = cursors[panel - first], list_ends[panel]
                    while place < end_of_list and listed[place] >> PANEL_BITS == one:
                        lane = listed[place] & LANE_MASK
                        word = kept + (lane >> 6)
                        last_word = word + (levels - 1) * WORDS
                        add_one(slices, word, last_word, _ONE << np.uint64(lane & (LANES - 1)))
                        place += 1
                    cursors[panel - first] = place
                    found = mark_at_least(slices, kept, levels, least, marked, at)
                    if found and (measure != COUNT or (panel == own and which != ALL)):
                        found = _unmark(
                            starts, which, rule, i, rows[one, SIZE], levels, panel,
                            slices, kept, marked, at, counters,
                        )  # fmt: skip
                    if found and degrees is None:
                        if pairs + of_row + found > room:
                            return -1
                        _write_down(
                            i - begin, levels, panel, slices, kept, marked, at, counters, of,
                            partner, shared, pairs + of_row,
                        )  # fmt: skip
                    of_row += found
                pairs += of_row
                if degrees is not None:
                    degrees[0][i] += of_row
            if degrees is not None and pairs > before:
                for panel in range(first, last):
                    add_masks(
                        pending, panel * DEGREE_LEVELS * WORDS, DEGREE_LEVELS, marked,
                        (panel - first) * AT_ONCE * WORDS, each, 0, AT_ONCE,
                    )  # fmt: skip
        first = last
    return pairs


@subroutine
def _sum_segments(
    rows: Any, size: Any, segments: Any, places: Any, table: Any, base: Any, slices: Any,
    stride: Any, masks: Any, is_counted: Any,
) -> None:  # fmt: skip
    """Add the masks of a group's rows that are in any segment of a panel but the last."""
    for segment in range(segments.shape[1] - 2):
        coming, last = _segment_of(masks, base, segment + 1)
        is_going = False
        for one in range(size):
            if not one % AT_ONCE:
                _fetch_share(table, coming, last, one, size)
            least, levels, kept = rows[one, LEAST], rows[one, LEVELS], one * stride
            first, behind = segments[one, segment], segments[one, segment + 1]
            if not least:
                continue
            if not segment:
                sum_masks(slices, kept, levels, table, base, places, first, behind - first)
            elif not (is_counted and _is_done(slices, kept, levels, least)):
                add_masks(slices, kept, levels, table, base, places, first, behind - first)
                is_going = True
        if segment and not is_going:
            break


@cached
@njit(nogil=True, inline="always")
def _is_done(slices: Any, at: Any, levels: Any, least: Any) -> Any:
    """Tell whether all counts of a panel are known to be enough, whatever else is added."""
    return least <= 1 << (levels - 1) and is_full(slices, at + (levels - 1) * WORDS)


@subroutine
def _segment_of(masks: Any, base: Any, segment: Any) -> Any:
    """Return at which words a segment of a panel begins and ends, from its hottest masks down."""
    last = masks.hot - segment * MASKS_AT_ONCE
    return base + max(0, last - MASKS_AT_ONCE) * WORDS, base + last * WORDS


@subroutine
def _coming_masks(masks: Any, last: Any, chunk: Any, last_segment: Any) -> Any:
    """Return at which words the masks begin and end that are needed after the panels before last.

    Where there are several segments, these are the first of them.
    """
    width = (masks.hot + 1) * WORDS
    if last == masks.panels:
        return 0, 0
    if last_segment:
        return _segment_of(masks, last * width, 0)
    return last * width, min(last + chunk, masks.panels) * width


@cached
@njit(nogil=True, inline="always")
def _fetch_share(table: Any, first: Any, last: Any, one: Any, rows: Any) -> None:
    """Ask for a part of some words: for as much as eight rows are of all rows of a group."""
    lines = (last - first) // _LINE
    for line in range(lines * one // rows, lines * min(one + AT_ONCE, rows) // rows):
        fetch(table, first + line * _LINE)


@subroutine
def _unmark(
    starts: Any, which: Any, rule: Any, i: Any, size: Any, levels: Any, panel: Any, slices: Any,
    kept: Any, marked: Any, at: Any, counters: Any,
) -> Any:  # fmt: skip
    """Unmark what a row does not meet, and what is not alike enough; return how many are left."""
    pairs = 0
    for w in range(WORDS):
        first = (panel << PANEL_BITS) + LANES * w
        word = marked[at + w]
        if which != ALL:
            word &= _others(which, i - first)
        if word and rule[0] != COUNT:
            unpack(slices, kept + w, levels, counters)
            word = alike(starts, rule, size, first, counters, 0, word)
        marked[at + w] = word
        pairs += how_many(word)
    return pairs


@subroutine
def _others(which: Any, lane: Any) -> Any:
    """Return a mask of the 64 rows that a row meets which stands at a lane of them, or outside."""
    if lane < 0:
        return _EVERY
    if lane >= LANES:
        return np.uint64(0) if which == LATER else _EVERY
    own = _ONE << np.uint64(lane)
    return ~(own | (own - _ONE)) if which == LATER else ~own


@subroutine
def _write_down(
    one: Any, levels: Any, panel: Any, slices: Any, kept: Any, marked: Any, at: Any, counters: Any,
    of: Any, partner: Any, shared: Any, pairs: Any,
) -> None:  # fmt: skip
    """Write down the pairs of a row that are marked in a panel."""
    for w in range(WORDS):
        word = marked[at + w]
        if word:
            unpack(slices, kept + w, levels, counters)
        while word:
            lane = lowest(word)
            of[pairs] = one
            partner[pairs] = (panel << PANEL_BITS) + LANES * w + lane
            shared[pairs] = counters[lane]
            pairs += 1
            word &= word - _ONE


@subroutine
def _put_in_order(rows: Any, pairs: Any, scratch: Any, out: Any, first: Any, found: Any) -> None:
    """Hand on the pairs of a group by rows: of each they were found in order."""
    of_rows = out[0][first : first + rows]
    of_rows[:] = 0
    for pair in range(pairs):
        of_rows[scratch.of[pair]] += 1
    place = found
    places = scratch.rows[:, 0]
    for one in range(rows):
        places[one] = place
        place += of_rows[one]
    for pair in range(pairs):
        one = scratch.of[pair]
        out[1][places[one]] = scratch.right[pair]
        out[2][places[one]] = scratch.shared[pair]
        places[one] += 1


@subroutine
def _add_degrees(panels: Any, scratch: Any, degrees: Any) -> None:
    """Add up in how many pairs right rows are, and begin anew."""
    for panel in range(panels):
        for w in range(WORDS):
            first = (panel << PANEL_BITS) + LANES * w
            at = panel * DEGREE_LEVELS * WORDS + w
            unpack(scratch.degrees, at, DEGREE_LEVELS, scratch.counters)
            for lane in range(min(LANES, len(degrees) - first)):
                degrees[first + lane] += scratch.counters[lane]
    scratch.degrees[:] = 0
