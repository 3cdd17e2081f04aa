"""Whether the edges of a graph are a few whole steps long, so that distances are counted steps.

A distance of k steps of length w is then ``k * w``. Other methods add lengths up, and rounding
could make that another number; it does not where every multiple of w up to that of the longest way
is a number of the dtype. Else the lengths are not taken. Graphs without weights, or all of whose
edges have the same, are those in which each edge is one step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.shortest_paths.dense import extremes
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.no_edge import is_absent

__all__ = ["MOST_STEPS", "WholeLengths", "whole_lengths"]

MOST_STEPS = 64
"""Of the longest edge: what searches by levels keep of a vertex is one mask more than that."""

# Entries of a matrix that are looked at together, so that what is made of them stays in the cache.
_ENTRIES = 1 << 18
# So many edges alone tell of most graphs that their weights are no whole steps.
_FEW = 64
# A matrix with several lengths and an edge for so many pairs is closed as fast as it is searched.
_PAIRS_PER_EDGE = 16


class WholeLengths(NamedTuple):
    """The lengths of edges as multiples of one.

    Attributes
    ----------
    step
        The length of which all are multiples.
    longest
        How many steps the longest edge has.
    """

    step: int | float
    longest: int = 1


def whole_lengths(
    given: Edges | Matrix, dtype: np.dtype[Any], *, few: bool = False
) -> WholeLengths | None:
    """Return of which steps the edges of a graph are made, loops aside; None where of none.

    None, too, where a length is not above zero, where the longest has more than `MOST_STEPS`, or
    where multiples are not exact in a dtype of distances. Where ``few`` edges are of use alone,
    also for a matrix of several lengths that has many. What loops weigh makes no difference unless
    it is less than nothing.

    Examples
    --------
    >>> two = np.array([0, 1]), np.array([1, 2])
    >>> whole_lengths(Edges(3, *two, np.array([2.5, 7.5]), directed=True), np.dtype("float32"))
    WholeLengths(step=2.5, longest=3)
    >>> whole_lengths(Edges(3, *two, np.array([0.1, 0.2]), directed=True), np.dtype("float32"))
    """
    if given.weights is None:
        return WholeLengths(1)
    found = _of_edges(given) if isinstance(given, Edges) else _of_matrix(given, few=few)
    if found is None:
        return None
    step, heaviest = found if found.step else (1, 1)
    step = int(step) if dtype.kind == "i" and step == int(step) else step
    lengths = WholeLengths(step, int(heaviest / step))
    return lengths if _is_exact(lengths, given.n, dtype) else None


class _Seen(NamedTuple):
    """The largest number of which all lengths are multiples, and the largest of them."""

    step: int | float
    heaviest: int | float


_NOTHING = _Seen(0, 0)


def _of_edges(given: Edges) -> _Seen | None:
    assert given.weights is not None  # noqa: S101 - asked before
    present = given.weights != np.inf
    loops = given.sources == given.targets
    if (given.weights[loops] < 0).any():
        return None
    lengths: NDArray[Any] = given.weights[present & ~loops]
    few = _and_these(_NOTHING, lengths[:_FEW])
    return None if few is None else _and_these(few, lengths)


def _of_matrix(given: Matrix, *, few: bool) -> _Seen | None:
    """Do the same, and leave off at the first part that tells that there are none."""
    weights, n = given.weights, given.n
    seen = _NOTHING
    step = max(1, _ENTRIES // max(n, 1))
    first = arcs = 0
    while first < n:
        # A row alone tells of most graphs that they have weights.
        last = min(first + step, n) if first else 1
        part = weights[first:last]
        present = ~is_absent(part, given.no_edge)
        own = np.arange(last - first), np.arange(first, last)
        if (present[own] & ~(part[own] >= 0)).any():
            return None
        present[own] = False
        lengths = part[present]
        more = _and_these(seen, lengths)
        arcs += lengths.size
        if more is None:
            return None
        # The first row may be that of a hub.
        are_many = first > 0 and arcs * _PAIRS_PER_EDGE > last * n
        if few and are_many and more.step != more.heaviest:
            return None
        seen = more
        first = last
    return seen


def _and_these(seen: _Seen, lengths: NDArray[Any]) -> _Seen | None:
    """Return what is so with more lengths; None where no few steps make them all."""
    if not lengths.size:
        return seen
    lightest, heaviest = +lengths.min().item(), +lengths.max().item()
    if not lightest > 0:
        return None
    step, heaviest = _common(seen.step, lightest), max(seen.heaviest, heaviest)
    while heaviest <= MOST_STEPS * step and not lightest == heaviest == step:
        left_over = lengths % step
        left_over = left_over[left_over != 0]
        if not left_over.size:
            break
        step = _common(step, left_over[0].item())
    return _Seen(step, heaviest) if heaviest <= MOST_STEPS * step else None


def _common(one: float, other: float) -> int | float:
    """Return the largest number of which both are multiples, as remainders of floats are exact."""
    while other:
        one, other = other, one % other
    return one


def _is_exact(lengths: WholeLengths, n: int, dtype: np.dtype[Any]) -> bool:
    """Return whether a step, and its multiples up to the longest way, are numbers of a dtype.

    For integers only whether the step is: multiples that they do not hold are found as distances.
    """
    step, longest = lengths
    if dtype.kind == "i":
        return isinstance(step, int) and step <= extremes(dtype)[1]
    most = longest * n
    with np.errstate(over="ignore", under="ignore"):
        rounded = float(dtype.type(step))
    if rounded != step or not np.isfinite(rounded * most):
        return False
    odd, _ = rounded.as_integer_ratio()
    odd //= odd & -odd
    limits = np.finfo(dtype)
    return odd * most <= 2 ** (limits.nmant + 1) and rounded * most <= float(limits.max)
