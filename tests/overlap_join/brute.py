"""The join by brute force over Python's sets: an engine for tests, and its answers to compare."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.overlap_join.forms import Counted, Found, Join, Rows
from warpladder.overlap_join.measures import as_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: IM's four rows.
GOLDEN = {1: {2, 5, 6, 10, 11}, 2: {5, 10, 11, 15}, 3: {6, 10, 11, 17}, 4: {3, 10, 12, 17}}
GROUPS = {1: [2, 3], 2: [1, 3], 3: [1, 2, 4], 4: [3]}


def rows_of(sets: Sequence[Any]) -> Rows:
    """Return sets of small integers as an engine takes them."""
    starts = np.concatenate(([0], np.cumsum([len(one) for one in sets]))).astype(np.int64)
    items = np.array([item for one in sets for item in sorted(one)], np.int32)
    return Rows(starts, items, int(items.max(initial=-1)) + 1)


def join_of(
    sets: Sequence[Any],
    other: Sequence[Any] | None = None,
    *,
    measure: str = "count",
    threshold: float = 2,
    both_ways: bool = False,
) -> Join:
    """Return a join of sets of small integers."""
    left = rows_of(sets)
    right = left if other is None else rows_of(other)
    return Join(left, right, as_rule(measure, threshold), both_ways)


def like(measure: str, a: set[int], b: set[int]) -> float:
    """Return how alike two sets are."""
    shared = len(a & b)
    return {
        "count": lambda: shared,
        "jaccard": lambda: shared / len(a | b),
        "cosine": lambda: shared / math.sqrt(len(a) * len(b)),
        "dice": lambda: 2 * shared / (len(a) + len(b)),
        "containment": lambda: shared / min(len(a), len(b)),
    }[measure]()


class BruteEngine:
    """Compares every pair; deals out so many left rows at once."""

    def __init__(self, join: Join, rows_at_once: int = 3) -> None:
        self.join = join
        self.rows_at_once = rows_at_once
        #: The left rows that were asked for.
        self.asked: list[tuple[int, int]] = []

    def found(self, first: int, last: int, advanced: Callable[[int], None]) -> Iterator[Found]:
        """Yield the pairs."""
        self.asked.append((first, last))
        join = self.join
        left, right = (
            [set(rows.items[begin:end].tolist()) for begin, end in _bounds(rows)]
            for rows in (join.left, join.right)
        )
        for begin in range(first, last, self.rows_at_once):
            end = min(begin + self.rows_at_once, last)
            counts, partners, shared = [], [], []
            for i in range(begin, end):
                own = [j for j in range(len(right)) if self._counts(i, j, left[i], right[j])]
                counts.append(len(own))
                partners += own
                shared += [len(left[i] & right[j]) for j in own]
            advanced(end - begin)
            yield Found(
                begin,
                np.array(counts, np.int64),
                np.array(partners, np.int32),
                np.array(shared, np.int32),
            )

    def counted(self, first: int, last: int, advanced: Callable[[int], None]) -> Counted:
        """Count the pairs."""
        of_left, of_right = np.zeros(len(self.join.left), int), np.zeros(len(self.join.right), int)
        for piece in self.found(first, last, advanced):
            of_left[piece.first : piece.first + len(piece.counts)] = piece.counts
            np.add.at(of_right, piece.right, 1)
        return Counted(int(of_left.sum()), of_left, of_right)

    def _counts(self, i: int, j: int, a: set[int], b: set[int]) -> bool:
        join = self.join
        if join.is_self and (i == j or (j < i and not join.both_ways)):
            return False
        return bool(a & b) and like(join.rule.name, a, b) >= join.rule.threshold


def _bounds(rows: Rows) -> Iterator[tuple[int, int]]:
    return zip(rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True)


def random_sets(seed: int, rows: int, universe: int, longest: int) -> list[set[int]]:
    """Return sets of random ids, some empty."""
    rng = np.random.default_rng(seed)
    return [
        set(rng.choice(universe, rng.integers(0, longest + 1), replace=False).tolist())
        for _ in range(rows)
    ]
