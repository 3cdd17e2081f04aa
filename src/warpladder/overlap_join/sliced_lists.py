"""What left rows meet in lists, added to counts in slices row by row.

A row that is met changes one bit of the lowest slice; a carry seldom goes far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.device.subroutines import subroutine
from warpladder.overlap_join.groups import span_of
from warpladder.overlap_join.lanes import COPIED, LANES, copy_some, fetch
from warpladder.overlap_join.listing import END
from warpladder.overlap_join.masks import PANEL_BITS
from warpladder.overlap_join.slices import (
    FEWEST_LEVELS,
    LEAST_LEVELS,
    ROWS,
    WORDS,
    slice_in_four,
    slice_in_two,
)

__all__ = ["add_lists", "add_one", "fetch_tails"]

_ONE = np.uint64(1)
# How many lists ahead memory is asked for.
_AHEAD = 14
# So many rows of 16 bits are a line of the cache.
_OF_A_LINE = 32


@subroutine(counted=False)
def add_lists(
    left: Any, index: Any, which: Any, i: Any, cold: Any, levels: Any, first: Any, slices: Any,
    met: Any, tallies: Any, is_tallied: Any,
) -> None:  # fmt: skip
    """Set counts in all panels from the first on to what a row meets in its lists.

    Short lists are copied one behind the other, as if all were equally long, and then added in one
    loop: else the end of each is guessed wrong. Of 59 ms for the rows told of in `slicing` that
    saves 11. Where rows were listed as they were given that has been done; what they meet is
    tallied in bytes then, where tallies tell enough.
    """
    postings, tails = index.postings, index.tails
    if len(tails.ends) and is_tallied and levels <= LEAST_LEVELS:
        _tally_tails(tails, i, tallies)
        _slice_tallies(tallies, first, levels, slices)
        return
    for word in range(first * levels * WORDS, len(slices)):
        slices[word] = 0
    if len(tails.ends):
        for part in range(len(tails.ends)):
            for place in range(tails.ends[part, i + 1, 0], tails.ends[part, i, 0]):
                _add_row(_row_of(tails.met[np.uintp(place)]), levels, slices)
            for long in range(tails.ends[part, i + 1, 1], tails.ends[part, i, 1]):
                place = tails.long[np.uintp(long)]
                while tails.lists[np.uintp(place)] != END:
                    _add_row(_row_of(tails.lists[np.uintp(place)]), levels, slices)
                    place += 1
        return
    begin = left.starts[i]
    copied = 0
    for k in range(begin, begin + cold):
        fetch(postings, span_of(left, index, which, min(k + _AHEAD, begin + cold - 1))[0])
        place, last = span_of(left, index, which, k)
        if last - place <= COPIED:
            copy_some(met, copied, postings, place)
            copied += last - place
        else:
            _add_each(postings, place, last, levels, slices)
    _add_each(met, 0, copied, levels, slices)


@subroutine(counted=False)
def fetch_tails(tails: Any, i: Any) -> None:
    """Ask for what a row meets in its lists."""
    for part in range(len(tails.ends)):
        for place in range(tails.ends[part, i + 1, 0], tails.ends[part, i, 0], _OF_A_LINE):
            fetch(tails.met, place)
        for long in range(tails.ends[part, i + 1, 1], tails.ends[part, i, 1]):
            place = tails.long[np.uintp(long)]
            fetch(tails.lists, place)
            fetch(tails.lists, place + _OF_A_LINE)


@subroutine(inline="always")
def _row_of(place: Any) -> Any:
    """Return the row that has a place among tallies: the opposite of `listing.place_of`."""
    place = np.int64(place)
    return (place & ~511) | ((place & 63) << 3) | ((place >> 6) & 7)


@subroutine(counted=False)
def _tally_tails(tails: Any, i: Any, tallies: Any) -> None:
    """Note in bytes, a bit for each time up to eight, how often a row meets others in its lists."""
    met, lists = tails.met, tails.lists
    for part in range(len(tails.ends)):
        for place in range(tails.ends[part, i + 1, 0], tails.ends[part, i, 0]):
            _tally(tallies, met[np.uintp(place)])
        for long in range(tails.ends[part, i + 1, 1], tails.ends[part, i, 1]):
            place = tails.long[np.uintp(long)]
            while lists[np.uintp(place)] != END:
                _tally(tallies, lists[np.uintp(place)])
                place += 1


@subroutine(inline="always")
def _tally(tallies: Any, j: Any) -> None:
    tallies[np.uintp(j)] = np.uint8(tallies[np.uintp(j)] << 1 | 1)


@subroutine(counted=False)
def _slice_tallies(tallies: Any, first: Any, levels: Any, slices: Any) -> None:
    """Write what has been tallied as slices of all panels from the first on, and begin anew."""
    half = ROWS // 2
    for at in range(first * ROWS, len(tallies), half):
        word = (at >> PANEL_BITS) * levels * WORDS + (WORDS // 2 if at & half else 0)
        if levels == FEWEST_LEVELS:
            slice_in_two(tallies, at, slices, word)
        else:
            slice_in_four(tallies, at, slices, word)


@subroutine(counted=False)
def _add_each(met: Any, first: Any, last: Any, levels: Any, slices: Any) -> None:
    """Add one to the counts of some rows, in slices of all panels."""
    for place in range(first, last):
        _add_row(np.int64(met[np.uintp(place)]), levels, slices)


@subroutine(inline="always")
def _add_row(j: Any, levels: Any, slices: Any) -> None:
    word = (j >> PANEL_BITS) * levels * WORDS + ((j >> 6) & (WORDS - 1))
    bit = _ONE << np.uint64(j & (LANES - 1))
    known = slices[np.uintp(word)]
    slices[np.uintp(word)] = known ^ bit
    # Carries are rare. Testing for them saves 7 ms of 64 with four slices (the rows of
    # `slicing`, a threshold of 5), but costs 6 of 51 with two, where there is one way to go.
    if levels == FEWEST_LEVELS:
        slices[np.uintp(word + WORDS)] |= known & bit
    elif known & bit:
        add_one(slices, word + WORDS, word + (levels - 1) * WORDS, bit)


@subroutine(inline="always")
def add_one(slices: Any, word: Any, last: Any, bit: Any) -> None:
    """Add one to a count whose last slice is at a word."""
    while bit and word < last:
        known = slices[word]
        slices[word] = known ^ bit
        bit &= known
        word += WORDS
    slices[last] |= bit
