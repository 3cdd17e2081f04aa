"""Groups of left rows: what one thread writes down of them before it adds their masks.

A row's hot ids become places in the table of masks; a panel's masks that do not fit the cache next
to the core are cut into segments, and the places of each row with them. What the rows meet in the
lists of their other ids is sorted by panels, so that it can be added when a panel is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.overlap_join.counting import LATER
from warpladder.overlap_join.index import list_of, rows_behind
from warpladder.overlap_join.lanes import COPIED, LANES, fetch
from warpladder.overlap_join.masks import PANEL_BITS, Masks, aligned_words
from warpladder.overlap_join.measures import COUNT, least_shared
from warpladder.overlap_join.slices import (
    AT_ONCE,
    FEWEST_LEVELS,
    LEAST_LEVELS,
    ROWS,
    WORDS,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Rows
    from warpladder.overlap_join.measures import Rule

__all__ = [
    "COLD",
    "DEGREE_LEVELS",
    "GROUP",
    "LANE_MASK",
    "LEAST",
    "LEVELS",
    "MASKS_AT_ONCE",
    "ROW",
    "SIZE",
    "Scratch",
    "memory_of_scratch",
    "new_scratch",
    "prepare",
    "span_of",
]

GROUP = 4096
"""Left rows of a group at most: the more, the more often masks in the cache are met again."""

# Bytes of a group's counts where they are kept between segments: half of a cache of 1 MB.
_MOST_COUNTS = 1 << 19
MASKS_AT_ONCE = 1 << 11
"""Masks that stay in the cache next to the core while a group meets them: 256 KB."""
# Masks of a group's rows, and right rows of its lists, that there is room for at least.
_PLACES, _LISTED = 1 << 22, 1 << 20
_AHEAD = 8
# Rows of more ids than this are as good as equally long.
_SIZES = 1 << 12
LANE_MASK = (1 << PANEL_BITS) - 1
"""What of `Scratch.listed` says which row of a panel; above it stands which of the group."""
DEGREE_LEVELS = 16
"""Slices of how many pairs right rows have."""
ROW, LEAST, LEVELS, SIZE, COLD = range(5)
"""What is known of a row of a group, by columns of `Scratch.rows`."""


class Scratch(NamedTuple):
    """What one thread works in.

    Attributes
    ----------
    group
        How many rows a group has at most.
    chunk
        How many panels a group meets after each other.
    rows
        Of each row of a group, by size: its number, the least number of ids shared, 0 if it has no
        pairs, how many slices its counts have, how many ids it has, and how many of them have
        lists. int64, (rows, 5).
    places, segments
        Where in a panel the masks of a group's rows begin, int32, and where among these places
        those of a row begin that are in a segment, and end in its last one: int64, (rows, segments
        + 1).
    listed, list_ends
        What a group's rows meet in lists, by panels: which row of the group, and which of the panel
        it meets, int32; and where those of a panel end, int64.
    cursors
        How far the lists of a chunk's panels have been added: int64.
    slices
        Counts of a row and panel; of a row and all panels where `Masks.at_once`; of all rows of a
        group where there is more than one segment: uint64.
    masks
        Pairs of `AT_ONCE` rows in a chunk of panels: uint64.
    each
        At which words of ``masks`` those of a panel begin: int32.
    degrees
        In how many pairs right rows are that have not been added up yet, as slices: uint64.
    counters
        Counts of 64 rows: uint32.
    tallies
        Where `Masks.at_once`, how often a row meets each right row in lists, 0 between rows: uint8.
    sizes, order
        Where rows of a size go in the order of sizes, and which they are there: int64.
    of, right, shared
        Pairs of a group in the order found: which row of the group, int16, the right row, int32,
        and how many ids they share, int32. Empty where pairs are counted.
    """

    group: int
    chunk: int
    rows: NDArray[np.int64]
    places: NDArray[np.int32]
    segments: NDArray[np.int64]
    listed: NDArray[np.int32]
    list_ends: NDArray[np.int64]
    cursors: NDArray[np.int64]
    slices: NDArray[np.uint64]
    masks: NDArray[np.uint64]
    each: NDArray[np.int32]
    degrees: NDArray[np.uint64]
    counters: NDArray[np.uint32]
    tallies: NDArray[np.uint8]
    sizes: NDArray[np.int64]
    order: NDArray[np.int64]
    of: NDArray[np.int16]
    right: NDArray[np.int32]
    shared: NDArray[np.int32]


def new_scratch(left: Rows, rule: Rule, masks: Masks, kept: int) -> Scratch:
    """Return what a thread needs that keeps so many pairs, or counts them if that is 0."""
    longest = int(np.diff(left.starts).max(initial=0))
    is_counted = rule.measure == COUNT and not kept
    panels = masks.panels
    chunk = panels if masks.at_once else max(1, min(panels, MASKS_AT_ONCE // (masks.hot + 1)))
    segments = 1 if masks.at_once else max(1, -(-masks.hot // MASKS_AT_ONCE))
    least = least_shared(rule.measure, rule.threshold, longest)
    levels = int(_levels_of(longest, least, is_counted))
    group = GROUP if segments == 1 else max(1, min(GROUP, _MOST_COUNTS // (8 * WORDS * levels)))
    counts = panels if masks.at_once else 1 if segments == 1 else group
    copied = COPIED * (longest + 1) if masks.at_once else 0
    return Scratch(
        group,
        chunk,
        np.empty((group, 5), np.int64),
        np.empty(max(longest + segments * AT_ONCE, _PLACES), np.int32),
        np.empty((group, segments + 1), np.int64),
        np.empty(max(masks.most_listed, copied, _LISTED), np.int32),
        np.zeros(panels + 1, np.int64),
        np.empty(chunk, np.int64),
        aligned_words(counts * levels * WORDS),
        aligned_words(chunk * AT_ONCE * WORDS),
        np.arange(AT_ONCE, dtype=np.int32) * WORDS,
        aligned_words(panels * DEGREE_LEVELS * WORDS),
        np.empty(LANES, np.uint32),
        np.zeros(panels * ROWS if masks.at_once else 0, np.uint8),
        np.empty(min(longest, _SIZES) + 2, np.int64),
        np.empty(group, np.int64),
        np.empty(kept, np.int16),
        np.empty(kept, np.int32),
        np.empty(kept, np.int32),
    )


def memory_of_scratch(rows: int, hot: int, kept: int) -> int:
    """Return about how many bytes `Scratch` takes for so many right rows and hot ids."""
    counts = 0 if hot <= MASKS_AT_ONCE else _MOST_COUNTS
    # Degrees, and where all panels are met at once their counts, tallies and pairs.
    return 4 * (_PLACES + _LISTED) + counts + 6 * rows + 10 * kept


@cached
@njit(nogil=True)
def _levels_of(size: Any, least: Any, is_counted: Any) -> Any:
    """Return how many slices tell counts up to a size, or which of them are at least so much."""
    if is_counted and least <= 1 << (FEWEST_LEVELS - 1):
        return FEWEST_LEVELS
    levels = LEAST_LEVELS
    while size >> levels and not (is_counted and least <= 1 << (levels - 1)):
        levels += 1
    return levels


@subroutine
def prepare(
    left: Any, index: Any, masks: Any, which: Any, rule: Any, begin: Any, last: Any, scratch: Any
) -> Any:
    """Write down where the masks of a group of rows are, and what they meet in lists.

    Rows are written down by how many ids they have: what is done for one is then mostly as long as
    for the one before, and branches are guessed right.

    Returns the end of the group: as many rows as there is room for, one at least.
    """
    measure, threshold = rule
    rows, places, items, starts = scratch.rows, scratch.places, left.items, left.starts
    segments, last_segment = scratch.segments, scratch.segments.shape[1] - 1
    universe = masks.cold + masks.hot
    hot, ends_of_rows = index.tails.hot, index.tails.ends
    # How far past the threshold a count goes matters to nobody then.
    is_counted = measure == COUNT and not len(scratch.of)
    end = _end_of_group(left, index, masks, which, begin, last, scratch)
    _put_in_order(starts, begin, end, scratch.sizes, scratch.order)
    taken = 0
    for one in range(end - begin):
        i = scratch.order[one]
        size = starts[i + 1] - starts[i]
        least = least_shared(measure, threshold, size)
        rows[one, ROW], rows[one, SIZE] = i, size
        rows[one, LEAST] = least if least <= size else 0
        rows[one, LEVELS] = _levels_of(size, least, is_counted)
        k = starts[i + 1] - 1
        segments[one, 0] = taken
        for part in range(len(ends_of_rows)):
            for noted in range(ends_of_rows[part, i + 1, 2], ends_of_rows[part, i, 2]):
                places[taken] = hot[noted]
                taken += 1
            k = starts[i] - 1
        for segment in range(last_segment):
            # From the hottest id down.
            least_id = masks.cold
            if segment < last_segment - 1:
                least_id = universe - (segment + 1) * MASKS_AT_ONCE
            while k >= starts[i] and items[k] >= least_id:
                places[taken] = (items[k] - masks.cold) * WORDS
                taken += 1
                k -= 1
            while (taken - segments[one, segment]) % AT_ONCE:
                # Behind the masks of a panel is one without a bit.
                places[taken] = masks.hot * WORDS
                taken += 1
            segments[one, segment + 1] = taken
        rows[one, COLD] = k + 1 - starts[i] if least <= size else 0
    if masks.most_listed:
        _sort_lists(left, index, which, end - begin, scratch)
    return end


@subroutine
def _put_in_order(starts: Any, begin: Any, end: Any, sizes: Any, order: Any) -> None:
    """Write down rows by how many ids they have. Numba's argsort takes 1.5 s to compile."""
    sizes[:] = 0
    most = len(sizes) - 2
    for i in range(begin, end):
        sizes[min(starts[i + 1] - starts[i], most) + 1] += 1
    for size in range(most):
        sizes[size + 1] += sizes[size]
    for i in range(begin, end):
        size = min(starts[i + 1] - starts[i], most)
        order[sizes[size]] = i
        sizes[size] += 1


@subroutine
def _end_of_group(
    left: Any, index: Any, masks: Any, which: Any, begin: Any, last: Any, scratch: Any
) -> Any:
    """Return before which row there is no more room."""
    empty = (scratch.segments.shape[1] - 1) * AT_ONCE
    taken, listed = 0, 0
    for i in range(begin, last):
        taken += left.starts[i + 1] - left.starts[i] + empty
        for k in range(left.starts[i], left.starts[i + 1] if masks.most_listed else 0):
            if left.items[k] >= masks.cold:
                break
            first, behind = span_of(left, index, which, k)
            listed += behind - first
        if i > begin and (taken > len(scratch.places) or listed > len(scratch.listed)):
            return i
    return last


@subroutine
def _sort_lists(left: Any, index: Any, which: Any, size: Any, scratch: Any) -> None:
    """Sort by panels, and then by rows, what a group meets in lists."""
    rows, listed, ends = scratch.rows, scratch.listed, scratch.list_ends
    ends[:] = 0
    for is_counted in (True, False):
        for one in range(size):
            first = left.starts[rows[one, ROW]]
            behind = first + rows[one, COLD]
            for k in range(first, behind):
                if is_counted:
                    fetch(
                        index.postings, span_of(left, index, which, min(k + _AHEAD, behind - 1))[0]
                    )
                place, last = span_of(left, index, which, k)
                while place < last:
                    j = index.postings[place]
                    panel = j >> PANEL_BITS
                    if is_counted:
                        ends[panel + 1] += 1
                    else:
                        listed[ends[panel]] = one << PANEL_BITS | j & LANE_MASK
                        ends[panel] += 1
                    place += 1
        if is_counted:
            for panel in range(len(ends) - 1):
                ends[panel + 1] += ends[panel]


@subroutine(inline="always")
def span_of(left: Any, index: Any, which: Any, k: Any) -> Any:
    """Return where the list of an id begins and ends, or that of the rows behind its own."""
    return rows_behind(index, k) if which == LATER else list_of(index, left.items[k], 0)
