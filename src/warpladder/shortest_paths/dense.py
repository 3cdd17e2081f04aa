"""From weights to the matrix that the engine works on, and from its result to the caller's matrix.

Inside the engine "no path" is infinity for floating-point numbers and half the largest value for
integers, so that the sum of two of them cannot wrap. Outside it is infinity, or the largest value
of the integer type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import DTypeLike, NDArray

from warpladder.device.arithmetic import larger, select, smaller
from warpladder.device.crew import share
from warpladder.device.environment import worker_count
from warpladder.device.kernel_cache import cached
from warpladder.device.words import copy_at, place_of

__all__ = [
    "NO_HOP",
    "WeightSummary",
    "empty_matrix",
    "export_dist",
    "export_rows",
    "extremes",
    "hop_matrix",
    "import_rows",
    "import_weights",
    "inner_no_path",
    "longest_distance",
    "longest_in_rows",
    "outer_no_path",
    "over_rows",
    "scatter_edges",
    "summarise",
]

# Bytes.
_LINE = 64

NO_HOP = -1
"""The next hop of a pair without a path."""

# A thread takes about as long to start as a core for so many cells.
_CELLS_PER_WORKER = 1 << 18


@dataclass(frozen=True, slots=True)
class WeightSummary:
    """What one pass over the weights found.

    Attributes
    ----------
    nan_at
        Row and column of a NaN, or None.
    lightest, heaviest
        Smallest and largest weight among the edges (infinities of the other sign where there are
        none).
    sum_of_largest, sum_of_smallest
        Sums over vertices of the largest weight (if positive) and the smallest (if negative) among
        the edges that leave it. A simple path leaves each vertex at most once, so every distance
        lies between the two.
    """

    nan_at: tuple[int, int] | None
    lightest: float
    heaviest: float
    sum_of_largest: float
    sum_of_smallest: float


def outer_no_path(dtype: DTypeLike) -> Any:
    """Return what stands in a distance matrix of this dtype where there is no path.

    Examples
    --------
    >>> int(outer_no_path("int16"))
    32767
    """
    kind: np.dtype[Any] = np.dtype(dtype)
    return kind.type(extremes(kind)[1])


def inner_no_path(dtype: DTypeLike) -> Any:
    """Return what the engine itself computes with where there is no path.

    Examples
    --------
    >>> int(inner_no_path("int16"))
    16383
    """
    return _inner_no_path(np.dtype(dtype))


# NumPy takes microseconds for these, which shows with few vertices.
@cache
def _inner_no_path(dtype: np.dtype[Any]) -> Any:
    largest = extremes(dtype)[1]
    return dtype.type(largest if dtype.kind == "f" else largest // 2)


@cache
def extremes(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the least and the greatest value of a dtype, infinities included."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def empty_matrix(n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an uninitialised matrix; where its rows are whole lines of the caches, they are lines.

    NumPy's arrays begin 16 bytes behind a line, or anywhere. No vector is then written to two of
    them: sweeps for a path of 4,000 vertices, of `elimination`, take 4.1 ms on one core of an EPYC
    with AVX-512, and 6.5 without.

    Examples
    --------
    >>> {empty_matrix(n, np.dtype("int16")).ctypes.data % 64 for n in range(32, 800, 32)}
    {0}
    """
    if n * dtype.itemsize % _LINE:
        return np.empty((n, n), dtype)
    room = np.empty(n * n + _LINE // dtype.itemsize, dtype)
    first = -room.ctypes.data % _LINE // dtype.itemsize
    return room[first : first + n * n].reshape(n, n)


def hop_matrix(dtype: DTypeLike, n: int, *, wanted: bool) -> NDArray[Any]:
    """Return an uninitialised matrix of next hops, empty where they are not wanted.

    Vector lanes of hops as wide as those of the distances keep the tile full, so int16 distances
    carry int16 hops as long as those can count the vertices.
    """
    narrow = np.dtype(dtype) == np.int16 and n <= np.iinfo(np.int16).max
    size = n if wanted else 0
    return np.empty((size, size), dtype=np.int16 if narrow else np.int32)


def import_weights(
    source: NDArray[Any], dist: NDArray[Any], hops: NDArray[Any], absent: Any
) -> WeightSummary:
    """Copy weights into the engine's form, in one pass on all cores.

    Parameters
    ----------
    source
        Weights, shape (n, n), C-contiguous, of the dtype of ``dist``; may be ``dist`` itself.
    dist
        Receives the weights; `inner_no_path` where there is no edge and at most 0 on the diagonal.
    hops
        Receives the first next hops, unless empty.
    absent
        The value that means "no edge"; infinity always does.
    """
    n = len(dist)
    carry = True if hops.size else None
    no_path = inner_no_path(dist.dtype)
    absent = dist.dtype.type(absent)
    largest, smallest = (np.full(n, value, dist.dtype) for value in extremes(dist.dtype))
    nan_columns = np.full(n, -1)

    def import_chunk(first: int, last: int) -> None:
        import_rows(
            source, dist, hops, carry, absent, no_path, first, last, largest, smallest, nan_columns
        )

    over_rows(import_chunk, n)
    return summarise(largest, smallest, nan_columns)


def summarise(
    largest: NDArray[Any], smallest: NDArray[Any], nan_columns: NDArray[Any]
) -> WeightSummary:
    """Return the summary of rows, from what each of them contributes.

    Parameters
    ----------
    largest, smallest
        Largest and smallest weight of each row, shape (n,); the least and the greatest value of
        their dtype where there is none.
    nan_columns
        Column of a NaN in each row, shape (n,); -1 where there is none.
    """
    none = extremes(largest.dtype)
    rows_with_nan = np.flatnonzero(nan_columns >= 0)
    nan_at = None
    if rows_with_nan.size:
        nan_at = (int(rows_with_nan[0]), int(nan_columns[rows_with_nan[0]]))
    lightest = smallest.min(initial=none[1]).item()
    return WeightSummary(
        nan_at=nan_at,
        lightest=lightest,
        heaviest=largest.max(initial=none[0]).item(),
        sum_of_largest=_sum(np.maximum(largest, 0)),
        # It takes 3 us, which shows with few vertices.
        sum_of_smallest=_sum(np.minimum(smallest, 0)) if lightest < 0 else 0.0,
    )


def export_dist(dist: NDArray[Any], hops: NDArray[Any], threshold: Any) -> int:
    """Give "no path" its outer value and no next hop, in place; return how many pairs have none.

    Parameters
    ----------
    dist, hops
        As the engine left them.
    threshold
        Entries of at least this are no paths.
    """
    counts: list[int] = []
    carry = True if hops.size else None
    no_path = outer_no_path(dist.dtype)

    def export_chunk(first: int, last: int) -> None:
        limit = dist.dtype.type(threshold)
        counts.append(export_rows(dist, hops, carry, limit, no_path, first, last))

    over_rows(export_chunk, len(dist))
    return sum(counts)


def longest_distance(dist: NDArray[Any]) -> float:
    """Return the longest distance of a matrix as `export_dist` leaves it, on all cores."""
    found: list[float] = []
    no_path = outer_no_path(dist.dtype)

    def look(first: int, last: int) -> None:
        found.append(longest_in_rows(dist, no_path, first, last)[0])

    over_rows(look, len(dist))
    return max(found)


def over_rows(task: Callable[[int, int], None], n: int) -> None:
    """Call ``task(first, last)`` for all rows of an n x n matrix, on all cores if it is large."""
    workers = min(worker_count(), n * n // _CELLS_PER_WORKER)
    if workers <= 1:
        task(0, n)
    else:
        share(task, n, 4 * workers)


def _sum(values: NDArray[Any]) -> float:
    # An infinite sum is an answer here: it proves nothing about the range.
    with np.errstate(over="ignore"):
        return float(values.sum(dtype=np.float64))


@cached
@njit(nogil=True)
def import_rows(
    source: Any,
    dist: Any,
    hops: Any,
    carry: Any,
    absent: Any,
    no_path: Any,
    first: Any,
    last: Any,
    largest: Any,
    smallest: Any,
    nan_columns: Any,
) -> None:
    """Do what `import_weights` does for rows ``[first, last)``, for compiled callers too.

    A loop is vectors if it has no branches and writes elsewhere than where it reads: so each row is
    copied first. Of 1,024 x 1,024 float32 it takes 0.24 ms on a core of an EPYC, of float64 0.48;
    with branches 1.2, with next hops 1.6. With AVX2 integers were no vectors either: int32 takes
    0.15 in place of 1.0.
    """
    n = source.shape[1]
    copied = np.empty(n, dist.dtype)
    # There are none where they are not wanted.
    links = hops.reshape(-1)
    absent_is_nan = np.isnan(absent)
    for i in range(first, last):
        target, of_row = dist[i], links[i * n : (i + 1) * n]
        least, greatest = largest[i], smallest[i]
        copy_at(place_of(copied), place_of(source[i]), copied.nbytes)
        # Of the diagonal only what is below zero is an edge.
        own, copied[i] = copied[i], absent
        high, low, is_wrong = least, greatest, False
        for j in range(n):
            weight = copied[j]
            is_nan = np.isnan(weight)
            is_infinite = np.isinf(weight) & (weight > 0)
            is_none = (weight == absent) | is_infinite | (absent_is_nan & is_nan)
            is_wrong |= is_nan
            target[j] = select(is_none, no_path, weight)
            high = larger(high, select(is_none | is_nan, least, weight))
            low = smaller(low, select(is_none | is_nan, greatest, weight))
            if carry is not None:
                link = links.dtype.type
                of_row[j] = select(is_none, link(NO_HOP), link(j))
        is_edge = own < 0 and own != absent
        if is_edge:
            high, low = larger(high, own), smaller(low, own)
        # A NaN stays, for who looks for it in what was used up.
        is_found = np.isnan(own) and not absent_is_nan
        target[i] = own if is_edge or is_found else 0
        if carry is not None:
            of_row[i] = i
        if is_found or (is_wrong and not absent_is_nan):
            for j in range(n):
                if np.isnan(target[j]):
                    nan_columns[i] = j
        largest[i] = high
        smallest[i] = low


@cached
@njit(nogil=True)
def export_rows(
    dist: Any, hops: Any, carry: Any, threshold: Any, no_path: Any, first: Any, last: Any
) -> Any:
    """Do what `export_dist` does for rows ``[first, last)``, for compiled callers too."""
    count = 0
    for i in range(first, last):
        row = dist[i]
        for j in range(row.size):
            if row[j] >= threshold:
                row[j] = no_path
                count += 1
                if carry is not None:
                    hops[i, j] = NO_HOP
    return count


@cached
@njit(nogil=True)
def longest_in_rows(dist: Any, no_path: Any, first: Any, last: Any) -> Any:
    """Return the longest distance in rows ``[first, last)``, and whether a pair has no path.

    It is 0 where none is above.
    """
    nothing = np.zeros(1, dist.dtype)[0]
    longest, misses = nothing, False
    for i in range(first, last):
        row = dist[i]
        for j in range(row.size):
            is_path = row[j] < no_path
            misses |= not is_path
            longest = larger(longest, select(is_path, row[j], nothing))
    return longest, misses


@cached
@njit(nogil=True)
def scatter_edges(sources: Any, targets: Any, weights: Any, both_ways: Any, dist: Any) -> None:
    """Write edges into a matrix filled with "no edge"; of parallel edges the lightest counts."""
    for edge in range(sources.size):
        u, v, weight = sources[edge], targets[edge], weights[edge]
        dist[u, v] = min(dist[u, v], weight)
        if both_ways:
            dist[v, u] = min(dist[v, u], weight)
