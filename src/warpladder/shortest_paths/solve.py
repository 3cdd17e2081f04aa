"""Blocked Floyd-Warshall from a graph to distances that can be trusted.

The engine itself only relaxes. Here stands what makes its answer right for every input: NaN is
refused, a negative cycle is found before the run, a distance that does not fit its dtype is noticed
and the dtype widened, next hops are checked for loops.

An integer result is proved, not hoped for. Inside the engine "no path" is a number M, half the
largest of the dtype. With ``h`` the most negative any path can be, an entry below ``M - 2 h`` is a
true distance and the others either have no path or a distance too large. If the weights alone do
not exclude the latter, the pairs without a path are counted a second time by reachability, and a
difference means that the dtype is too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import DistanceOverflowError, InputError, NegativeCycleError
from warpladder.shortest_paths.cpu import floyd_warshall
from warpladder.shortest_paths.dense import (
    NO_HOP,
    WeightSummary,
    export_dist,
    hop_matrix,
    import_weights,
    inner_no_path,
    outer_no_path,
    scatter_edges,
)
from warpladder.shortest_paths.graph import Graph
from warpladder.shortest_paths.negative_cycles import find_negative_cycle
from warpladder.shortest_paths.paths import may_loop, mend_loops
from warpladder.shortest_paths.reachability import count_pairs, reachable

__all__ = ["Solution", "solve"]

_WIDER = {"int16": "int32", "int32": "int64", "float32": "float64"}
_LARGEST_EXACT_SUM = 2.0**61


@dataclass(frozen=True, slots=True)
class Solution:
    """Distances, next hops (None if not wanted), and what there is to say about the dtype."""

    dist: NDArray[Any]
    hops: NDArray[np.int32] | None
    note: str


class _DoesNotFitError(Exception):
    """A weight or a distance is too large for the dtype at hand."""


def solve(
    graph: Graph,
    dtype: np.dtype[Any],
    *,
    widen: bool,
    next_hops: bool,
    overwrite: bool,
    mark: bool,
    progress: Callable[[float], None] | None,
) -> Solution:
    """Return all distances of a graph.

    Parameters
    ----------
    graph
        Any graph.
    dtype
        In which to compute.
    widen
        Whether a wider dtype may be taken where a distance does not fit this one.
    next_hops
        Whether to carry next hops.
    overwrite
        Whether a matrix given as the graph may be used up.
    mark
        Whether pairs affected by a negative cycle are marked instead of refused.
    progress
        Called with the fraction done.
    """
    tried = dtype
    while True:
        try:
            dist, hops = _solve_in(graph, tried, next_hops, overwrite, mark, progress)
        except _DoesNotFitError as fault:
            wider = _WIDER.get(tried.name)
            if not widen or wider is None:
                remedy = f"take dtype={wider!r}" if wider else "scale the weights down"
                raise DistanceOverflowError(
                    f"graph: {fault}, which {tried.name} cannot hold; {remedy}"
                ) from None
            tried = np.dtype(wider)
        else:
            break
    note = f"{tried.name} because a distance does not fit {dtype.name}" if tried != dtype else ""
    return Solution(dist, hops, note)


def _solve_in(
    graph: Graph,
    dtype: np.dtype[Any],
    next_hops: bool,
    overwrite: bool,
    mark: bool,
    progress: Callable[[float], None] | None,
) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
    source, absent, is_ours = _weights_as(graph, dtype)
    dist = source if is_ours or _may_overwrite(source, overwrite) else np.empty_like(source)
    hops = hop_matrix(dtype, graph.n, wanted=next_hops)
    summary = import_weights(source, dist, hops, absent)
    _check(summary, dtype)

    edges, threshold = _range_of_distances(dist, summary)
    marks: NDArray[np.bool_] | None = None
    if summary.lightest < 0:
        cycle, floor = find_negative_cycle(dist)
        if cycle is not None:
            if not mark:
                labels = [graph.label(vertex) for vertex in cycle.vertices]
                raise NegativeCycleError(labels, cycle.weight)
            marks, floor = _cut_negative_cycles(dist, hops)
        if dtype.kind == "i":
            threshold = int(threshold) + 2 * int(floor)
            if threshold <= 0:
                raise _DoesNotFitError(f"there is a path of weight {int(floor)}")
            edges = (
                edges if edges is not None or summary.sum_of_largest < threshold else _edges(dist)
            )
    if edges is not None and marks is not None:
        edges = _edges(dist)

    floyd_warshall(dist, hops, progress)

    if summary.lightest < 0:
        _clear_diagonal(dist, hops)
    if dtype.kind == "i" or edges is not None:
        missing = export_dist(dist, hops, threshold)
        if edges is not None and missing:
            without_path = graph.n**2 - count_pairs(reachable(edges))
            if missing != without_path:
                largest = "infinity" if dtype.kind == "f" else str(int(threshold) - 1)
                raise _DoesNotFitError(f"there is a distance beyond {largest}")
    final_hops = _finish_hops(dist, hops, summary) if next_hops else None
    if marks is not None:
        dist[marks] = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
        if final_hops is not None:
            final_hops[marks] = NO_HOP
    return dist, final_hops


def _weights_as(graph: Graph, dtype: np.dtype[Any]) -> tuple[NDArray[Any], Any, bool]:
    """Return a C-contiguous matrix of weights, its "no edge", and whether it is ours to change."""
    no_path = outer_no_path(dtype)
    if graph.matrix is None:
        dist = np.full((graph.n, graph.n), no_path, dtype)
        weights = np.ones(graph.sources.size, dtype)
        if graph.weights is not None:
            weights = _convert(graph.weights, dtype, np.isinf(graph.weights) & (graph.weights > 0))
        scatter_edges(graph.sources, graph.targets, weights, not graph.directed, dist)
        return dist, no_path, True
    if graph.matrix.dtype == dtype:
        contiguous = np.ascontiguousarray(graph.matrix)
        absent = no_path if graph.no_edge is None else graph.no_edge
        if dtype.kind == "i" and not _is_representable(absent, dtype):
            absent = no_path
        return contiguous, absent, contiguous is not graph.matrix and contiguous.base is None
    return _convert(graph.matrix, dtype, ~graph.present), no_path, True


def _convert(
    weights: NDArray[Any], dtype: np.dtype[Any], absent: NDArray[np.bool_]
) -> NDArray[Any]:
    """Return weights in another dtype, with "no edge" where they are absent."""
    kept = weights[~absent] if absent.any() else weights
    if dtype.kind == "i" and kept.size:
        low, high = kept.min(), kept.max()
        if kept.dtype.kind == "f" and not np.array_equal(kept, np.trunc(kept), equal_nan=True):
            raise InputError(
                f"dtype: {dtype.name} cannot hold weights with fractions; use a float dtype"
            )
        if not (low >= np.iinfo(dtype).min and high < np.iinfo(dtype).max):
            raise _DoesNotFitError(f"there is a weight of {(high if high > 0 else low):g}")
    if (
        dtype.kind == "f"
        and kept.size
        and np.abs(kept.astype(np.float64)).max() > np.finfo(dtype).max
    ):
        raise _DoesNotFitError("there is a weight beyond infinity")
    if not absent.any():
        return weights.astype(dtype)
    converted = np.full(weights.shape, outer_no_path(dtype), dtype)
    np.copyto(converted, weights, where=~absent, casting="unsafe")
    return converted


def _may_overwrite(source: NDArray[Any], overwrite: bool) -> bool:
    """Return whether the result may stand where the weights were.

    An integer matrix may be needed again in a wider dtype, so it is used up only where the weights
    exclude that.
    """
    if not (overwrite and source.flags.writeable):
        return False
    if source.dtype.kind == "f":
        return True
    no_path = outer_no_path(source.dtype)
    heaviest = int(source.max(where=source != no_path, initial=0))
    return int(source.min(initial=0)) >= 0 and heaviest * len(source) < int(
        inner_no_path(source.dtype)
    )


def _is_representable(value: Any, dtype: np.dtype[Any]) -> bool:
    limits = np.iinfo(dtype)
    return bool(not np.isnan(value) and limits.min <= value <= limits.max and value == int(value))


def _check(summary: WeightSummary, dtype: np.dtype[Any]) -> None:
    if summary.nan_at is not None:
        i, j = summary.nan_at
        raise InputError(f"graph: weight ({i}, {j}) is NaN; use inf where there is no edge")
    if summary.lightest == -np.inf:
        raise InputError("graph: a weight is -inf; weights must be finite (inf: no edge)")
    limit = float(inner_no_path(dtype)) if dtype.kind == "i" else float(np.finfo(dtype).max)
    if dtype.kind == "i" and summary.heaviest >= limit:
        raise _DoesNotFitError(f"there is a weight of {summary.heaviest}")
    if summary.sum_of_smallest <= -min(limit, _LARGEST_EXACT_SUM if dtype.kind == "i" else limit):
        raise _DoesNotFitError("the negative weights add up to a path")


def _range_of_distances(
    dist: NDArray[Any], summary: WeightSummary
) -> tuple[NDArray[np.bool_] | None, Any]:
    """Return the threshold of "no path", and the edges if the weights cannot prove the range."""
    no_path = inner_no_path(dist.dtype)
    limit = float(np.finfo(dist.dtype).max) if dist.dtype.kind == "f" else float(no_path)
    # One part in a million covers the rounding of the sum itself.
    proven = summary.sum_of_largest * (1 + 1e-6) < limit
    return (None if proven else _edges(dist)), no_path


def _edges(dist: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(dist < inner_no_path(dist.dtype))


def _cut_negative_cycles(dist: NDArray[Any], hops: NDArray[Any]) -> tuple[NDArray[np.bool_], float]:
    """Take every vertex that shares a strong component with a negative cycle out of the graph.

    Returns the pairs such a cycle lies between, and the least weight of a path that is left. A pair
    with no such vertex on any of its paths keeps all of them.
    """
    n = len(dist)
    bits = reachable(_edges(dist))
    reach = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little", count=n).astype(np.bool_)
    affected = np.zeros((n, n), np.bool_)
    while True:
        cycle, floor = find_negative_cycle(dist)
        if cycle is None:
            return affected, floor
        vertex = cycle.vertices[0]
        component = np.flatnonzero(reach[vertex] & reach[:, vertex])
        affected |= np.outer(reach[:, vertex], reach[vertex])
        dist[component, :] = dist[:, component] = inner_no_path(dist.dtype)
        dist[component, component] = 0
        if hops.size:
            hops[component, :] = hops[:, component] = NO_HOP
            hops[component, component] = component


def _clear_diagonal(dist: NDArray[Any], hops: NDArray[Any]) -> None:
    """Undo what rounding of a cycle of weight 0 may have left on the diagonal."""
    diagonal = np.arange(len(dist))
    dist[diagonal, diagonal] = 0
    if hops.size:
        hops[diagonal, diagonal] = diagonal


def _finish_hops(
    dist: NDArray[Any], hops: NDArray[Any], summary: WeightSummary
) -> NDArray[np.int32]:
    wide = hops.astype(np.int32, copy=False)
    if may_loop(summary.lightest, dist, outer_no_path(dist.dtype)):
        direct = wide == np.arange(len(wide))
        np.fill_diagonal(direct, val=False)
        mend_loops(dist, wide, direct)
    return wide
