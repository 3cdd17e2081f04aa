"""What left rows meet in lists, added to counts in slices row by row.

A row that is met changes one bit of the lowest slice; a carry seldom goes far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.device.subroutines import subroutine
from warpladder.overlap_join.groups import span_of
from warpladder.overlap_join.index import LONG, LONGEST_LIST, SHORT, SIZE_BITS
from warpladder.overlap_join.lanes import COPIED, LANES, at_least, clear, copy_some, fetch
from warpladder.overlap_join.masks import PANEL_BITS
from warpladder.overlap_join.slices import FEWEST_LEVELS, WORDS

__all__ = ["add_lists", "add_one"]

_ONE = np.uint64(1)
# A tally is a byte.
_MOST_TALLY = 255
# How many lists ahead memory is asked for.
_AHEAD = 14


@subroutine(counted=False)
def add_lists(
    left: Any, index: Any, which: Any, i: Any, cold: Any, levels: Any, first: Any, slices: Any,
    met: Any, tallies: Any,
) -> None:  # fmt: skip
    """Set counts in all panels from the first on to what a row meets in its lists.

    Short lists are copied one behind the other, as if all were equally long, and then added in one
    loop: else the end of each is guessed wrong. Of 59 ms for the rows told of in `slicing` that
    saves 11. What is noted of them (`listing`) tells short lists from others without a branch; with
    two slices they are tallied in bytes, which saves 7 ms of 44.
    """
    postings = index.postings
    if len(index.notes) and levels == FEWEST_LEVELS and _lists_noted(index.notes, i) <= _MOST_TALLY:
        _tally_noted(postings, index.behind, index.notes, i, tallies, met)
        _slice_tallies(tallies, first, slices)
        return
    for word in range(first * levels * WORDS, len(slices)):
        slices[word] = 0
    if len(index.notes):
        copied = 0
        for part in range(len(index.notes)):
            copied = _copy_noted(postings, index.behind, index.notes, part, i, met, copied)
            for k in range(index.notes[part, i, LONG], index.notes[part, i, LONG + 1], -1):
                place = index.behind[k] >> SIZE_BITS
                last = place + (index.behind[k] & LONGEST_LIST)
                _add_each(postings, place, last, levels, slices)
        _add_each(met, 0, copied, levels, slices)
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
def _lists_noted(notes: Any, i: Any) -> Any:
    """Return how many lists are noted of a row."""
    lists = 0
    for part in range(len(notes)):
        lists += notes[part, i, SHORT + 1] - notes[part, i, SHORT]
        lists += notes[part, i, LONG] - notes[part, i, LONG + 1]
    return lists


@subroutine(counted=False)
def _copy_noted(
    postings: Any, behind: Any, notes: Any, part: Any, i: Any, met: Any, copied: Any
) -> Any:
    """Copy the short lists of a part of a row behind what is copied; return how much is then."""
    first, last = notes[part, i, SHORT], notes[part, i, SHORT + 1]
    for k in range(first, last):
        fetch(postings, behind[min(k + _AHEAD, last - 1)] >> SIZE_BITS)
        word = behind[k]
        copy_some(met, copied, postings, word >> SIZE_BITS)
        copied += word & LONGEST_LIST
    return copied


@subroutine(counted=False)
def _tally_noted(postings: Any, behind: Any, notes: Any, i: Any, tallies: Any, met: Any) -> None:
    """Count in bytes how often a row meets others in its lists."""
    copied = 0
    for part in range(len(notes)):
        copied = _copy_noted(postings, behind, notes, part, i, met, copied)
        for k in range(notes[part, i, LONG], notes[part, i, LONG + 1], -1):
            place = behind[k] >> SIZE_BITS
            _tally(postings, place, place + (behind[k] & LONGEST_LIST), tallies)
    _tally(met, 0, copied, tallies)


@subroutine(counted=False)
def _tally(met: Any, first: Any, last: Any, tallies: Any) -> None:
    for place in range(first, last):
        tallies[np.uintp(met[np.uintp(place)])] += np.uint8(1)


@subroutine(counted=False)
def _slice_tallies(tallies: Any, first: Any, slices: Any) -> None:
    """Write the fewest slices that tell 0, 1 and more; begin anew with the bytes."""
    for panel in range(first, len(tallies) >> PANEL_BITS):
        for w in range(WORDS):
            at = (panel << PANEL_BITS) + LANES * w
            word = panel * FEWEST_LEVELS * WORDS + w
            slices[np.uintp(word)] = at_least(tallies, at, np.uint8(1))
            slices[np.uintp(word + WORDS)] = at_least(tallies, at, np.uint8(2))
            clear(tallies, at)


@subroutine(counted=False)
def _add_each(met: Any, first: Any, last: Any, levels: Any, slices: Any) -> None:
    """Add one to the counts of some rows, in slices of all panels."""
    for place in range(first, last):
        j = np.int64(met[np.uintp(place)])
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
