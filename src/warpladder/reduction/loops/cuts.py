"""Rows cut into stretches, whose states, merged, are bit by bit what one loop leaves of a row.

That is so where blocks' sums are joined pairwise anyway, and a stretch has a power of two of
blocks: of sums, extrema and counts. It is not where blocks without a number to count are left out
of the pairs, nor of deviations, which are from the mean of all that went before.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from warpladder.device.native import array_at, call_at
from warpladder.device.subroutines import subroutine
from warpladder.reduction.loops.states import FoldSpec

__all__ = ["is_exact", "may_be_cut", "may_be_cut_anywhere", "merge_stretches"]

_EXACT = frozenset({"whole", "low", "high", "low_at", "high_at", "nonzero"})
_OF_INTEGERS = frozenset({"total", "product"})
_ROUNDED = frozenset({"absolute", "square", "total"})


def may_be_cut(spec: FoldSpec) -> bool:
    """Tell whether one row's state has the same bits when it is made of those of stretches."""
    rounded = frozenset() if spec.masked or spec.skip_nan else _ROUNDED
    return not spec.until and spec.folds <= _exact(spec) | rounded


def may_be_cut_anywhere(spec: FoldSpec) -> bool:
    """Tell whether that is so wherever it is cut, also when a state is gone on with.

    But for zeros of both signs, which are equal: the extremum is one of them.
    """
    return not spec.until and spec.folds <= _exact(spec)


@cache
def is_exact(spec: FoldSpec) -> bool:
    """Tell whether any order of elements leaves the same bits, whether or not a row ends early."""
    return may_be_cut_anywhere(spec._replace(until=""))


def _exact(spec: FoldSpec) -> frozenset[str]:
    return _EXACT | _OF_INTEGERS if spec.sums == "int64" else _EXACT


@subroutine
def merge_stretches(merge: Any, states: Any, pieces: Any, state_bytes: Any) -> None:
    """Merge the states of neighbouring stretches pairwise, until the first has taken in all."""
    apart = 1
    while apart < pieces:
        for piece in range(0, pieces - apart, 2 * apart):
            state = states + piece * state_bytes
            later = array_at(state + apart * state_bytes, 1, state_bytes)
            call_at(merge, array_at(state, 1, state_bytes) + later)
        apart *= 2
