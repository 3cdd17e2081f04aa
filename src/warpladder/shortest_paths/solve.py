"""Blocked Floyd-Warshall from a graph to distances that can be trusted.

The engine itself only relaxes. What makes its answer right for every input stands here and in
`prepare`: weights it cannot take are refused, a negative cycle is found before the run, a distance
that does not fit its dtype is noticed and the dtype widened, next hops are checked for loops.

An integer result is proved, not hoped for. Inside the engine "no path" is a number M, half the
largest of the dtype. With ``h`` the most negative any path can be, an entry below ``M - 2 h`` is a
true distance and the others either have no path or a distance too large. If neither the weights
exclude the latter nor the longest distance found does, the pairs without a path are counted a
second time by reachability, and a difference means that the dtype is too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.call import joined
from warpladder.shortest_paths.dense import (
    NO_HOP,
    export_dist,
    hop_matrix,
    longest_distance,
)
from warpladder.shortest_paths.graph import Graph
from warpladder.shortest_paths.paths import leads_in_circles, may_loop, mend_loops
from warpladder.shortest_paths.prepare import all_surely_found, prepare, restore_weights
from warpladder.shortest_paths.structure.reachability import count_pairs, reachable
from warpladder.shortest_paths.widening import DoesNotFitError, in_fitting_dtype

__all__ = ["Close", "Options", "Solution", "solve"]

Close = Callable[[NDArray[Any], NDArray[Any], Callable[[float], None] | None], str | None]
"""An engine: closes prepared distances and first hops in place; both are said in `cpu`.

Returns what there is to say of how it was done, if anything.
"""


class Options(NamedTuple):
    """What is asked for besides a graph and a dtype.

    Attributes
    ----------
    widen
        Whether a wider dtype may be taken where a distance does not fit the one that is tried.
    next_hops
        Whether to carry next hops.
    overwrite
        Whether matrices that are given may be used up.
    mark
        Whether pairs affected by a negative cycle are marked instead of refused.
    progress
        Called with the fraction done, or None.
    """

    widen: bool
    next_hops: bool
    overwrite: bool
    mark: bool
    progress: Callable[[float], None] | None


@dataclass(frozen=True, slots=True)
class Solution:
    """Distances, next hops (None if not wanted), and what there is to say: how, and the dtype."""

    dist: NDArray[Any]
    hops: NDArray[np.int32] | None
    note: str


def solve(graph: Graph, dtype: np.dtype[Any], options: Options, close: Close) -> Solution:
    """Return all distances of a graph.

    Parameters
    ----------
    graph
        Any graph.
    dtype
        In which to compute.
    options
        What else is asked for.
    close
        The engine.
    """

    def compute(tried: np.dtype[Any]) -> Solution:
        return _solve_in(graph, tried, options, close)

    found, note = in_fitting_dtype(compute, dtype, widen=options.widen, number=graph.number)
    return replace(found, note=joined(found.note, note))


def _solve_in(graph: Graph, dtype: np.dtype[Any], options: Options, close: Close) -> Solution:
    _, next_hops, overwrite, mark, progress = options
    hops = hop_matrix(dtype, graph.n, wanted=next_hops)
    # Mending next hops needs the weights again.
    ready = prepare(graph, dtype, hops, overwrite=overwrite and not next_hops, mark=mark)
    dist = ready.dist
    how = close(dist, hops, progress) or ""
    if dtype.kind == "i" or ready.edges is not None:
        missing = export_dist(dist, hops, ready.threshold)
        if (
            ready.edges is not None
            and missing
            and not all_surely_found(longest_distance(dist), ready.heaviest, dtype)
        ):
            without_path = graph.n**2 - count_pairs(reachable(ready.edges))
            if missing != without_path:
                is_float = dtype.kind == "f"
                largest = f"{np.finfo(dtype).max:g}" if is_float else int(ready.threshold) - 1
                raise DoesNotFitError(f"there is a distance above {largest}")

    found = None
    if next_hops:
        found = hops.astype(np.int32, copy=False)
        longest = longest_distance(dist) if dtype.kind == "f" else 0
        if may_loop(ready.lightest, graph.n, dtype, longest) and leads_in_circles(found):
            nothing = hop_matrix(dtype, graph.n, wanted=False)
            weights = prepare(graph, dtype, nothing, overwrite=False, mark=mark).dist
            mend_loops(dist, found, weights)
    if ready.potentials is not None:
        restore_weights(dist, ready.potentials)
    if ready.marks is not None:
        dist[ready.marks] = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
        if found is not None:
            found[ready.marks] = NO_HOP
    return Solution(dist, found, how)
