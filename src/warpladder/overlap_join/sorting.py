"""Rows turned into codes, and sorted: the compiled part of `coding`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.overlap_join.lanes import fetch

__all__ = ["close_gaps", "recode_rows", "take_off"]

# Rows up to here are sorted by insertion, longer ones by digits: of 100 ids, 12 ns an id, where
# Numba's quicksort takes 40; of 1,000, 7 and 53.
_SHORT_ROW = 32
# In tables of more ids codes are asked for before they are looked up: rows of 100 ids, 2 M in all
# out of 1,000,000, are coded and sorted in 22 ms of one core, and in 25 without. Where a cache next
# to the core has the table, asking takes longer than waiting.
_NEAR = 1 << 18


@cached
@njit(nogil=True)
def recode_rows(
    items: Any, starts: Any, first: Any, last: Any, least: Any, table: Any, codes: Any, lengths: Any
) -> None:
    """Write down the codes of some rows, ascending, and how many different ones each has."""
    longest = 0
    for i in range(first, last):
        longest = max(longest, starts[i + 1] - starts[i])
    spare, ends = np.empty(longest, np.int32), np.empty(256, np.int32)
    for i in range(first, last):
        begin, end = starts[i], starts[i + 1]
        for k in range(begin, end):
            codes[k] = table[items[k] - least]
        # What the next row looks up comes while this one is sorted.
        coming = starts[min(i + 2, last)] if len(table) > _NEAR else end
        for k in range(end, coming):
            fetch(table, items[k] - least)
        row = codes[begin:end]
        if end - begin <= _SHORT_ROW:
            _sort_by_insertion(row)
        else:
            _sort_by_digits(row, spare, ends)
        kept = 0
        for k in range(end - begin):
            if k == 0 or row[k] != row[kept - 1]:
                row[kept] = row[k]
                kept += 1
            else:
                spare[k - kept] = row[k]
        lengths[i] = kept
        # Behind the row stands what it has once more. One by one: of a slice as a whole Numba
        # checks the length, with words for an error that take 1.5 s to compile.
        for k in range(kept, end - begin):
            row[k] = spare[k - kept]


@subroutine
def _sort_by_insertion(row: Any) -> None:
    for k in range(1, len(row)):
        code = row[k]
        place = k
        while place > 0 and row[place - 1] > code:
            row[place] = row[place - 1]
            place -= 1
        row[place] = code


@subroutine(counted=False)
def _sort_by_digits(row: Any, spare: Any, ends: Any) -> None:
    """Sort numbers from 0 on by one digit after another, the lowest first.

    ``spare`` is as long as the row at least, ``ends`` has room for each value of a digit.
    """
    size = len(row)
    most = np.int32(0)
    for k in range(size):
        most |= row[k]
    width = 0
    while most >> width > 0:
        width += 1
    # Digits of 8 bits at most, and of as many bits each.
    digits = (width + 7) // 8
    step = -(-width // max(1, digits))
    last = (1 << step) - 1
    given, taken = row, spare
    for digit_of in range(digits):
        shift = digit_of * step
        for digit in range(last + 1):
            ends[digit] = 0
        for k in range(size):
            ends[(given[k] >> shift) & last] += 1
        place = 0
        for digit in range(last + 1):
            count = ends[digit]
            ends[digit] = place
            place += count
        for k in range(size):
            digit = (given[k] >> shift) & last
            taken[ends[digit]] = given[k]
            ends[digit] += 1
        given, taken = taken, given
    if digits & 1:
        for k in range(size):
            row[k] = spare[k]


@cached
@njit(nogil=True)
def take_off(codes: Any, starts: Any, lengths: Any, listed: Any) -> None:
    """Count each id of a row once, where it is listed more often."""
    for i in range(len(lengths)):
        for k in range(starts[i] + lengths[i], starts[i + 1]):
            listed[codes[k]] -= 1


@cached
@njit(nogil=True)
def close_gaps(codes: Any, starts: Any, lengths: Any) -> None:
    """Move each row to the end of the one before it."""
    place = 0
    for i in range(len(lengths)):
        for k in range(starts[i], starts[i] + lengths[i]):
            codes[place] = codes[k]
            place += 1
