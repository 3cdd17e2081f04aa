"""Prefixes: for thresholds so high that most of what rows share need not be counted.

If two rows share at least o ids, and both list their ids in the same order, then the first a - o +
1 of the one and the first b - o + 1 of the other have one in common: with fewer, too few would be
left behind them. So rows are listed for these first ids alone, which are their rarest; the ids that
half of the rows have are seldom among them. What a left row meets there is a candidate: where their
sizes allow it at all, both rows are walked side by side, as far as enough can still come.

Source: beyond; Chaudhuri, Ganti and Kaushik 2006, Bayardo, Ma and Srikant 2007.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.overlap_join.counting import LATER, OTHERS
from warpladder.overlap_join.measures import counts, least_shared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.overlap_join.forms import Rows
    from warpladder.overlap_join.measures import Rule

__all__ = ["Scratch", "match_rows", "new_scratch", "prefix_frequency", "prefix_lengths"]


class Scratch(NamedTuple):
    """What one thread remembers.

    Attributes
    ----------
    seen
        The left row, counted from 1, that met a right row last: int32.
    met
        The right rows that a left row meets: int32.
    """

    seen: NDArray[np.int32]
    met: NDArray[np.int32]


def new_scratch(right: Rows) -> Scratch:
    """Return what a thread needs for one join."""
    return Scratch(np.zeros(len(right), np.int32), np.empty(len(right), np.int32))


def prefix_lengths(rows: Rows, rule: Rule) -> NDArray[np.int64]:
    """Return how many of its first ids each row is looked up by; 0 for rows without pairs."""
    lengths = np.empty(len(rows), np.int64)
    _prefix_lengths(rows.starts, rule, lengths)
    return lengths


def prefix_frequency(rows: Rows, prefixes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return in how many prefixes each id is."""
    counts = np.zeros(rows.universe, np.int64)
    _count_prefixes(rows.starts, rows.items, prefixes, counts)
    return counts


@cached
@njit(nogil=True)
def _count_prefixes(starts: Any, items: Any, prefixes: Any, counts: Any) -> None:
    for i in range(len(prefixes)):
        for k in range(starts[i], starts[i] + prefixes[i]):
            counts[items[k]] += 1


@cached
@njit(nogil=True)
def _prefix_lengths(starts: Any, rule: Any, lengths: Any) -> None:
    measure, threshold = rule
    for i in range(len(lengths)):
        size = starts[i + 1] - starts[i]
        lengths[i] = max(0, size - least_shared(measure, threshold, size) + 1)


@cached
@njit(nogil=True)
def match_rows(
    left: Any, right: Any, index: Any, prefixes: Any, which: Any, rule: Any, first: Any, last: Any,
    scratch: Any, degrees: Any, out: Any,
) -> Any:  # fmt: skip
    """Count or keep the pairs of left rows ``first`` to ``last``.

    As `counting.visit_rows`; ``index`` is in one block and has each right row for its prefix.
    ``prefixes`` are those of left rows.
    """
    measure, threshold = rule
    rows = len(right.starts) - 1
    seen, met = scratch.seen, scratch.met
    found = 0
    for i in range(first, last):
        if out is not None and len(out[1]) - found < rows:
            return i, found
        before = found
        size = left.starts[i + 1] - left.starts[i]
        least = least_shared(measure, threshold, size)
        own = np.int32(i + 1)
        candidates = 0
        passed = i if which == LATER else -1
        if which == OTHERS:
            seen[i] = own
        for k in range(left.starts[i], left.starts[i] + prefixes[i]):
            begin = index.starts[left.items[k]]
            place = index.starts[left.items[k] + 1] - 1
            while place >= begin and index.postings[place] > passed:
                other = index.postings[place]
                if seen[other] != own:
                    seen[other] = own
                    others = right.starts[other + 1] - right.starts[other]
                    if counts(measure, threshold, min(size, others), size, others):
                        met[candidates] = other
                        candidates += 1
                place -= 1
        if candidates > 1:
            met[:candidates].sort()
        for place in range(candidates):
            other = met[place]
            others = right.starts[other + 1] - right.starts[other]
            shared = _shared(left, right, i, other, least)
            if shared >= least and counts(measure, threshold, shared, size, others):
                if out is None:
                    degrees[1][other] += 1
                else:
                    out[1][found] = other
                    out[2][found] = shared
                found += 1
        if out is not None:
            out[0][i - first] = found - before
        else:
            degrees[0][i] += found - before
    return last, found


@subroutine
def _shared(left: Any, right: Any, i: Any, j: Any, least: Any) -> Any:
    """Return how many ids two rows share; less than ``least`` where they cannot come to that."""
    k, end = left.starts[i], left.starts[i + 1]
    q, last = right.starts[j], right.starts[j + 1]
    shared = 0
    while k < end and q < last and shared + min(end - k, last - q) >= least:
        a, b = left.items[k], right.items[q]
        shared += a == b
        k += a <= b
        q += b <= a
    return shared
