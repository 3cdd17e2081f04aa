"""Pairs found, put together: in one piece, in both directions, with how alike they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.overlap_join.measures import value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Found
    from warpladder.overlap_join.measures import Rule

__all__ = ["Pairs", "both_ways", "gathered", "values"]


class Pairs(NamedTuple):
    """Pairs in compressed rows.

    Attributes
    ----------
    starts
        Where the pairs of each left row begin, and the end of the last: int64.
    right
        The position of the right row of every pair: int32.
    shared
        How many ids the two have in common: int32.
    """

    starts: NDArray[np.int64]
    right: NDArray[np.int32]
    shared: NDArray[np.int32]


def gathered(pieces: Iterable[Found], rows: int) -> Pairs:
    """Return the pairs of all left rows in one piece; beside it there is one piece more at most.

    Parameters
    ----------
    pieces
        What an engine finds, for all left rows.
    rows
        How many there are.
    """
    starts = np.zeros(rows + 1, np.int64)
    kept = list(pieces)
    for piece in kept:
        starts[piece.first + 1 : piece.first + 1 + len(piece.counts)] = piece.counts
    np.cumsum(starts, out=starts)
    right, shared = (np.empty(starts[-1], np.int32) for _ in range(2))
    # Memory that is not written yet takes none; so the pieces go while the whole comes.
    kept.reverse()
    while kept:
        piece = kept.pop()
        begin = starts[piece.first]
        right[begin : begin + len(piece.right)] = piece.right
        shared[begin : begin + len(piece.shared)] = piece.shared
    return Pairs(starts, right, shared)


def both_ways(pairs: Pairs) -> Pairs:
    """Return each pair of rows joined with themselves from both of its rows, in their order.

    Parameters
    ----------
    pairs
        Each once, from the row that stands before the other.
    """
    starts = np.zeros_like(pairs.starts)
    right, shared = (np.empty(2 * len(pairs.right), np.int32) for _ in range(2))
    _turn(*pairs, starts, right, shared)
    return Pairs(starts, right, shared)


def values(
    rule: Rule,
    first: int,
    counts: NDArray[np.int64],
    right: NDArray[np.int32],
    shared: NDArray[np.int32],
    left_starts: NDArray[np.int64],
    right_starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return how alike pairs are, as the rule measures it.

    Parameters
    ----------
    rule
        The measure.
    first, counts, right, shared
        The pairs, as in `Found`.
    left_starts, right_starts
        Where the ids of each row begin, as in `Rows`.
    """
    found = np.empty(len(right), np.float64)
    _measure(rule.measure, first, counts, right, shared, left_starts, right_starts, found)
    return found


@cached
@njit(nogil=True)
def _turn(
    starts: Any, right: Any, shared: Any, new_starts: Any, new_right: Any, new_shared: Any
) -> None:
    rows = len(starts) - 1
    before = np.zeros(rows, np.int64)
    for k in range(len(right)):
        before[right[k]] += 1
    for i in range(rows):
        own = starts[i + 1] - starts[i]
        new_starts[i + 1] = new_starts[i] + before[i] + own
    # The rows before each row come first, in their order, since they are gone through in it.
    place = new_starts[:-1].copy()
    for i in range(rows):
        for k in range(starts[i], starts[i + 1]):
            j = right[k]
            new_right[place[j]] = i
            new_shared[place[j]] = shared[k]
            place[j] += 1
    for i in range(rows):
        at = place[i]
        for k in range(starts[i], starts[i + 1]):
            new_right[at] = right[k]
            new_shared[at] = shared[k]
            at += 1


@cached
@njit(nogil=True)
def _measure(
    measure: Any,
    first: Any,
    counts: Any,
    right: Any,
    shared: Any,
    left_starts: Any,
    right_starts: Any,
    found: Any,
) -> None:
    k = 0
    for row in range(len(counts)):
        i = first + row
        a = left_starts[i + 1] - left_starts[i]
        for _ in range(counts[row]):
            j = right[k]
            b = right_starts[j + 1] - right_starts[j]
            found[k] = value(measure, shared[k], a, b)
            k += 1
