"""From a graph to a matrix on which Floyd-Warshall cannot go wrong.

NaN and -inf are refused. A negative cycle is found before the run; or, where its pairs are to be
marked, every vertex that shares a strong component with one is taken out.

Floating-point weights below zero, where they are on cycles, are made non-negative with the
potentials p that Bellman-Ford leaves: ``w + p[u] - p[v]`` has the same shortest paths. Without
that, the rounding of a cycle of weight 0 would put a tiny negative number on the diagonal, and
Floyd-Warshall doubles it with every vertex.
Integers are exact and need no such care.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.errors import InputError, NegativeCycleError
from warpladder.shortest_paths.batch import Batch
from warpladder.shortest_paths.dense import (
    NO_HOP,
    WeightSummary,
    import_weights,
    inner_no_path,
    outer_no_path,
    over_rows,
    scatter_edges,
)
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.graph import Graph
from warpladder.shortest_paths.structure.negative_cycles import (
    BELOW_DISTANCES,
    Cycle,
    Potentials,
    find_negative_cycle,
)
from warpladder.shortest_paths.structure.reachability import reachable
from warpladder.shortest_paths.widening import DoesNotFitError, wider_dtype

__all__ = [
    "Prepared",
    "all_surely_found",
    "check_summary",
    "may_overwrite",
    "prepare",
    "restore_weights",
    "sums_fit",
    "surely_fits",
    "weights_as",
]

# One part in a million covers the rounding of a sum of weights.
_SLACK = 1 + 1e-6


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the engine needs, and what is needed to read its answer.

    Attributes
    ----------
    dist
        The matrix to close.
    lightest, heaviest
        Lightest and heaviest edge, before weights were shifted; the latter infinity where a path
        may be negative.
    threshold
        Closed entries of at least this are no paths.
    edges
        Where there are edges, if the weights alone do not prove that all distances stay below the
        threshold; else None.
    potentials
        By which floating-point weights were shifted, or None.
    marks
        Pairs that a negative cycle lies between, or None.
    """

    dist: NDArray[Any]
    lightest: float
    heaviest: float
    threshold: Any
    edges: NDArray[np.bool_] | None
    potentials: Potentials | None
    marks: NDArray[np.bool_] | None


def prepare(
    graph: Graph, dtype: np.dtype[Any], hops: NDArray[Any], *, overwrite: bool, mark: bool
) -> Prepared:
    """Return the matrix for a graph, with first next hops in ``hops`` unless that is empty.

    Parameters
    ----------
    graph
        Any graph.
    dtype
        In which to compute.
    hops
        See `dense.hop_matrix`.
    overwrite
        Whether the graph's own matrix may be used up.
    mark
        Whether negative cycles are cut out instead of refused.

    Raises
    ------
    DoesNotFitError
        A weight or the most negative path does not fit the dtype.
    InputError
        A weight is NaN or -inf, or a fraction where an integer is wanted.
    NegativeCycleError
        There is one and ``mark`` is False.
    """
    source, absent, is_ours = weights_as(graph.given, dtype, graph.number)
    in_place = is_ours or may_overwrite(source, absent, overwrite)
    dist = source if in_place else np.empty_like(source)
    summary = import_weights(source, dist, hops, absent)
    check_summary(summary, dtype, graph.number)
    threshold = inner_no_path(dtype)
    if summary.lightest >= 0:
        edges = None if surely_fits(summary, dtype) else _edges(dist)
        return Prepared(dist, summary.lightest, summary.heaviest, threshold, edges, None, None)

    cycle, potentials = find_negative_cycle(dist)
    marks = None
    if cycle is not None:
        if not mark:
            labels = [graph.label(vertex) for vertex in cycle.vertices]
            raise NegativeCycleError(labels, cycle.weight, graph.number)
        marks = _cut_negative_cycles(dist, hops, cycle)
        _, potentials = find_negative_cycle(dist, potentials.component)
    if dtype.kind == "f":
        edges = None if surely_fits(summary, dtype, summary.sum_of_smallest) else _edges(dist)
        _shift(dist, potentials.high, potentials.low, potentials.component)
        return Prepared(dist, summary.lightest, np.inf, threshold, edges, potentials, marks)
    floor = potentials.floor
    threshold = int(threshold) + 2 * int(floor)
    if threshold <= 0:
        raise DoesNotFitError(f"there is a path of weight {int(floor)}")
    edges = None if surely_fits(summary, dtype, floor) else _edges(dist)
    return Prepared(dist, summary.lightest, np.inf, threshold, edges, None, marks)


def restore_weights(dist: NDArray[Any], potentials: Potentials) -> None:
    """Take the potentials out of distances again, in place.

    Raises
    ------
    DoesNotFitError
        A distance is too large without them.
    """
    if not _unshift(dist, potentials.high, potentials.low):
        raise DoesNotFitError(f"there is a distance above {np.finfo(dist.dtype).max:g}")


def weights_as(
    given: Edges | Matrix | Batch, dtype: np.dtype[Any], number: int | None = None
) -> tuple[NDArray[Any], Any, bool]:
    """Return weights as C-contiguous matrices, their "no edge", and whether they may be changed.

    ``number`` is that of the graph, in a batch.
    """
    no_path = outer_no_path(dtype)
    match given:
        case Edges(n=n, weights=listed):
            dist = np.full((n, n), no_path, dtype)
            weights = np.ones(given.sources.size, dtype)
            if listed is not None:
                weights = _convert(listed, dtype, given.counted(), number)
            scatter_edges(given.sources, given.targets, weights, not given.directed, dist)
            return dist, no_path, True
        case Matrix() | Batch():
            weights = given.on_host.weights
            if weights.dtype != dtype:
                return _convert(weights, dtype, given.counted(), number), no_path, True
            contiguous = np.ascontiguousarray(weights)
            is_copy = contiguous is not weights and contiguous.base is None
            return contiguous, given.no_edge, is_copy


def _convert(
    weights: NDArray[Any], dtype: np.dtype[Any], counted: NDArray[np.bool_], number: int | None
) -> NDArray[Any]:
    """Return weights in another dtype, with "no edge" where they do not count."""
    kept = weights[counted]
    if kept.dtype.kind == "f" and not np.isfinite(kept).all():
        place = np.argwhere(counted & ~np.isfinite(weights))[0].tolist()
        raise InputError.of_graph(number, _not_a_weight(place, weights[tuple(place)]))
    if dtype.kind == "i" and kept.size:
        if kept.dtype.kind == "f" and not np.array_equal(kept, np.trunc(kept)):
            told = f"dtype: {dtype.name} cannot hold weights with fractions; use a float"
            raise InputError(told) if number is None else InputError.of_graph(number, told)
        # As numbers of Python, which compare without rounding to the narrower of two types.
        low, high = kept.min().item(), kept.max().item()
        if not (low >= np.iinfo(dtype).min and high < np.iinfo(dtype).max):
            raise DoesNotFitError(f"there is a weight of {high if high > 0 else low}")
    if dtype.kind == "f" and kept.size:
        largest = np.abs(kept.astype(np.float64)).max()
        if largest > np.finfo(dtype).max:
            raise DoesNotFitError(f"there is a weight of {largest:g} in size")
    converted = np.full(weights.shape, outer_no_path(dtype), dtype)
    with np.errstate(under="ignore"):
        np.copyto(converted, weights, where=counted, casting="unsafe")
    return converted


def may_overwrite(source: NDArray[Any], absent: Any, overwrite: bool) -> bool:
    """Return whether the result may stand where the weights were, ``absent`` for "no edge".

    A matrix may be needed again in a wider dtype, so it is used up only where the weights exclude
    that or there is none wider.
    """
    if not (overwrite and source.flags.writeable):
        return False
    if source.dtype.kind == "f" and wider_dtype(source.dtype) is None:
        return True
    is_integer = source.dtype.kind == "i"
    limit = float(inner_no_path(source.dtype) if is_integer else np.finfo(source.dtype).max)
    # Of floats infinity is no weight whatever else means "no edge".
    heaviest = float(source.max(where=source != (absent if is_integer else np.inf), initial=0))
    # As `surely_fits` has it, or a matrix that is used up could still be asked for its weights.
    return bool(source.min(initial=0) >= 0 and heaviest * source.shape[-1] * _SLACK < limit)


def surely_fits(summary: WeightSummary, dtype: np.dtype[Any], floor: float = 0) -> bool:
    """Return whether the weights alone prove that all distances stay below "no path".

    ``floor`` is the most negative that any path can be.
    """
    return bool(sums_fit(summary.sum_of_largest, dtype, floor))


def sums_fit(sum_of_largest: Any, dtype: np.dtype[Any], floor: float = 0) -> Any:
    """Return the same for what a summary has, or an array of those of many graphs."""
    limit = float(np.finfo(dtype).max if dtype.kind == "f" else inner_no_path(dtype))
    # A product would be beyond the largest float, and NumPy warns of such.
    return sum_of_largest < (limit + 2 * floor) / _SLACK


def all_surely_found(longest: Any, heaviest: Any, dtype: np.dtype[Any]) -> Any:
    """Return whether the longest distance found proves that none was too long to be found.

    No weight is negative, and the heaviest fits: along a shortest path distances rise by at most
    that at a time, so that before the first that does not fit there is one that falls short of the
    limit by no more. Both may be arrays, of many graphs.
    """
    # Half of a float's range covers the rounding of sums of millions of weights.
    limit = float(np.finfo(dtype).max) / 2 if dtype.kind == "f" else inner_no_path(dtype)
    return longest < limit - heaviest


def check_summary(summary: WeightSummary, dtype: np.dtype[Any], number: int | None = None) -> None:
    """Refuse weights that are no numbers or do not fit a dtype.

    ``number`` is that of the graph, in a batch.

    Raises
    ------
    InputError
        A weight is NaN or -inf.
    DoesNotFitError
        A weight, or of floats the sum of the negative ones, does not fit.
    """
    if summary.nan_at is not None:
        raise InputError.of_graph(number, _not_a_weight(list(summary.nan_at), np.nan))
    if summary.lightest == -np.inf:
        told = "a weight is -inf; a weight must be a number (inf: no edge)"
        raise InputError.of_graph(number, told)
    if dtype.kind == "i" and summary.heaviest >= int(inner_no_path(dtype)):
        raise DoesNotFitError(f"there is a weight of {summary.heaviest}")
    if dtype.kind == "i" and summary.lightest <= BELOW_DISTANCES:
        raise DoesNotFitError(f"there is a weight of {summary.lightest}")
    if dtype.kind == "f" and summary.sum_of_smallest <= -float(np.finfo(dtype).max):
        raise DoesNotFitError("the weights below zero may add up to a path")


def _not_a_weight(place: list[int], value: float) -> str:
    where = ", ".join(map(str, place))
    return f"weight ({where}) is {'NaN' if np.isnan(value) else value}; use inf for no edge"


def _edges(dist: NDArray[Any]) -> NDArray[np.bool_]:
    edges = np.empty(dist.shape, np.bool_)
    no_path = inner_no_path(dist.dtype)

    def look(first: int, last: int) -> None:
        np.less(dist[first:last], no_path, out=edges[first:last])

    over_rows(look, len(dist))
    return edges


def _cut_negative_cycles(dist: NDArray[Any], hops: NDArray[Any], known: Cycle) -> NDArray[np.bool_]:
    """Take every vertex that shares a strong component with a negative cycle out of the graph.

    ``known`` is one such cycle. Returns the pairs such a cycle lies between. A pair with no such
    vertex on any of its paths keeps all of them.
    """
    reach = reachable(_edges(dist))
    # Vertices that reach each other reach the same ones.
    components: dict[bytes, list[int]] = {}
    for vertex, row in enumerate(reach):
        components.setdefault(row.tobytes(), []).append(vertex)
    affected = np.zeros_like(reach)
    cut: list[int] = []
    for members in components.values():
        first = members[0]
        if len(members) == 1 and dist[first, first] >= 0:
            continue
        if known.vertices[0] not in members:
            cycle, _ = find_negative_cycle(dist[np.ix_(members, members)])
            if cycle is None:
                continue
        cut += members
        leads_there = (reach[:, first // 64] >> np.uint64(first % 64)) & np.uint64(1) > 0
        affected[leads_there] |= reach[first]
    dist[cut, :] = dist[:, cut] = inner_no_path(dist.dtype)
    dist[cut, cut] = 0
    if hops.size:
        hops[cut, :] = hops[:, cut] = NO_HOP
        hops[cut, cut] = cut
    bits = np.unpackbits(affected.view(np.uint8), axis=1, bitorder="little", count=len(dist))
    return bits.view(np.bool_)


@cached
@njit(nogil=True)
def _shift(dist: Any, high: Any, low: Any, component: Any) -> None:
    for u in range(len(dist)):
        row = dist[u]
        for v in range(row.size):
            shifted = ((high[u] - high[v]) + row[v]) + (low[u] - low[v])
            # What rounding leaves below zero on a cycle is zero; the diagonal stays as it is.
            row[v] = max(shifted, 0.0) if component[u] == component[v] else shifted


@cached
@njit(nogil=True)
def _unshift(dist: Any, high: Any, low: Any) -> Any:
    """Return whether all finite distances stay so."""
    lost = 0
    for u in range(len(dist)):
        row = dist[u]
        for v in range(row.size):
            was_finite = row[v] < np.inf
            row[v] = ((high[v] - high[u]) + row[v]) + (low[v] - low[u])
            lost += was_finite and not row[v] < np.inf
    return lost == 0
