"""Ids get numbers in the order in which they first appear, and items go to the rows of theirs."""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached

__all__ = ["IntegerNumbers", "WordNumbers", "grouped"]

# Of 64 bits, odd: the golden ratio, whose multiples lie far apart (Knuth, volume 3, 6.4).
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_LEAST_SLOTS_LOG2 = 10


class WordNumbers:
    """Numbers of strings, in the order of their first appearance.

    Examples
    --------
    >>> words = WordNumbers()
    >>> words.of(["b", "a", "b"]).tolist(), words.known().tolist()
    ([0, 1, 0], ['b', 'a'])
    """

    def __init__(self) -> None:
        # A word that is not yet there gets the next number.
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, words: list[str]) -> NDArray[np.int32]:
        """Return the number of each word."""
        return np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words))

    def known(self) -> NDArray[np.object_]:
        """Return the words in the order of their numbers."""
        return np.fromiter(self._numbers, np.object_, len(self._numbers))


class IntegerNumbers:
    """Numbers of integers, likewise: a hash table in compiled code.

    Its slots hold numbers, at most half of them are taken, and what is not at its place is in the
    next that is free. Measured on one core: 14 million distinct ids in 1.5 s, 14 million of 1,000
    ids in 0.07 s.

    Examples
    --------
    >>> numbers = IntegerNumbers()
    >>> numbers.of(np.array([7, -3, 7])).tolist(), numbers.known().tolist()
    ([0, 1, 0], [7, -3])
    """

    def __init__(self) -> None:
        self._slots = np.full(1 << _LEAST_SLOTS_LOG2, -1, np.int32)
        self._known = np.empty(len(self._slots) // 2, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the number of each id."""
        numbers = np.empty(len(ids), np.int32)
        done = 0
        while True:
            done, self._count = _number(ids, done, self._slots, self._known, self._count, numbers)
            if done == len(ids):
                return numbers
            self._grow()

    def known(self) -> NDArray[np.int64]:
        """Return the ids in the order of their numbers."""
        return self._known[: self._count].copy()

    def _grow(self) -> None:
        known = self._known[: self._count]
        self._slots = np.full(4 * len(self._slots), -1, np.int32)
        self._known = np.empty(len(self._slots) // 2, np.int64)
        _number(known, 0, self._slots, self._known, 0, np.empty(len(known), np.int32))


@cached
@njit(nogil=True)
def _number(
    ids: Any, done: int, slots: Any, known: Any, count: int, numbers: Any
) -> tuple[int, int]:
    """Give ids numbers until the table is full; return how many have one, and all distinct ones."""
    bits = 0
    while 1 << bits < len(slots):
        bits += 1
    shift = np.uint64(64 - bits)
    mask = len(slots) - 1
    for i in range(done, len(ids)):
        one = ids[i]
        # Of a long form the lines of a row are often neighbours.
        if i > done and one == ids[i - 1]:
            numbers[i] = numbers[i - 1]
            continue
        slot = np.int64((np.uint64(one) * _SPREAD) >> shift)
        while slots[slot] >= 0 and known[slots[slot]] != one:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            if count == len(known):
                return i, count
            slots[slot] = count
            known[count] = one
            count += 1
        numbers[i] = slots[slot]
    return len(ids), count


def grouped(
    numbers: NDArray[np.int32], lengths: NDArray[Any], items: NDArray[Any], rows: int
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return items by row, and where each row begins: stretches of items go to rows by number.

    The items of a row keep their order.

    Examples
    --------
    >>> starts, items = grouped(
    ...     np.array([0, 1, 0], "i4"), np.array([2, 1, 1], "i4"), np.array([5, 6, 7, 8]), 2
    ... )
    >>> starts.tolist(), items.tolist()
    ([0, 3, 4], [5, 6, 8, 7])
    """
    starts = np.zeros(rows + 1, np.int64)
    if _counted(numbers, lengths, starts):
        # Rows come one after the other, so their items are in place.
        return starts, items
    moved = np.empty_like(items)
    _move(numbers, lengths, items, starts[:-1].copy(), moved)
    return starts, moved


@cached
@njit(nogil=True)
def _counted(numbers: Any, lengths: Any, starts: Any) -> bool:
    """Fill `starts`; return whether the numbers ascend."""
    is_ascending = True
    before = 0
    for i in range(len(numbers)):
        starts[numbers[i] + 1] += lengths[i]
        is_ascending = is_ascending and numbers[i] >= before
        before = numbers[i]
    for row in range(1, len(starts)):
        starts[row] += starts[row - 1]
    return is_ascending


@cached
@njit(nogil=True)
def _move(numbers: Any, lengths: Any, items: Any, ends: Any, moved: Any) -> None:
    at = 0
    for i in range(len(numbers)):
        row = numbers[i]
        for _ in range(lengths[i]):
            moved[ends[row]] = items[at]
            ends[row] += 1
            at += 1
