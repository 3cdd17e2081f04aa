"""Whether all edges of a graph have the same length, so that distances are counted steps.

A distance of k steps of length w is then ``k * w``. Other methods add w up, and rounding could make
that another number; it does not where every multiple of w up to n is a number of the dtype. Else
the length is not taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.shortest_paths.dense import extremes
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.no_edge import is_absent

__all__ = ["equal_length"]

# Entries of a matrix that are looked at together, so that what is made of them stays in the cache.
_ENTRIES = 1 << 18


def equal_length(given: Edges | Matrix, dtype: np.dtype[Any]) -> int | float | None:
    """Return the length that all edges of a graph have, loops aside; None where that is none.

    None, too, where it is not above zero, or its multiples are not exact in a dtype of distances.
    What loops weigh makes no difference unless it is less than nothing.

    Examples
    --------
    >>> two = np.array([0, 1]), np.array([1, 2])
    >>> equal_length(Edges(3, *two, np.array([2.5, 2.5]), directed=True), np.dtype("float32"))
    2.5
    >>> equal_length(Edges(3, *two, np.array([0.1, 0.1]), directed=True), np.dtype("float32"))
    """
    if given.weights is None:
        return 1
    lengths = _of_edges(given) if isinstance(given, Edges) else _of_matrix(given)
    if lengths is None:
        return None
    length = lengths[0].item() if lengths.size else 1
    if not length > 0:
        return None
    length = int(length) if dtype.kind == "i" and length == int(length) else length
    return length if _is_exact(length, given.n, dtype) else None


def _of_edges(given: Edges) -> NDArray[Any] | None:
    """Return the one length in an array, an empty array where there are no edges, or None."""
    assert given.weights is not None  # noqa: S101 - asked before
    present = given.weights != np.inf
    loops = given.sources == given.targets
    if (given.weights[loops] < 0).any():
        return None
    lengths: NDArray[Any] = given.weights[present & ~loops]
    return lengths[:1] if (lengths == lengths[:1]).all() else None


def _of_matrix(given: Matrix) -> NDArray[Any] | None:
    """Do the same, and leave off at the first part that has two lengths or no number."""
    weights, n = given.weights, given.n
    found: NDArray[Any] = weights.reshape(-1)[:0]
    step = max(1, _ENTRIES // max(n, 1))
    first = 0
    while first < n:
        # A row alone tells of most graphs that they have weights.
        last = min(first + step, n) if first else 1
        part = weights[first:last]
        present = ~is_absent(part, given.no_edge)
        own = np.arange(last - first), np.arange(first, last)
        if (present[own] & ~(part[own] >= 0)).any():
            return None
        present[own] = False
        if not found.size:
            found = part[present][:1]
        if found.size and ((part != found) & present).any():
            return None
        first = last
    return found


def _is_exact(length: float, n: int, dtype: np.dtype[Any]) -> bool:
    """Return whether ``length`` and its multiples up to n times are numbers of a dtype.

    For integers only whether ``length`` is: multiples that they do not hold are found as distances.
    """
    if dtype.kind == "i":
        return isinstance(length, int) and length <= extremes(dtype)[1]
    with np.errstate(over="ignore", under="ignore"):
        rounded = float(dtype.type(length))
    if rounded != length or not np.isfinite(rounded * n):
        return False
    odd, _ = rounded.as_integer_ratio()
    odd //= odd & -odd
    limits = np.finfo(dtype)
    return odd * n <= 2 ** (limits.nmant + 1) and rounded * n <= float(limits.max)
