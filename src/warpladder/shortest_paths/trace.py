"""The matrices M_0, M_1, ..., M_n of the textbook algorithm, one intermediate vertex at a time.

``M_k[i, j]`` is the length of a shortest path from i to j whose inner vertices are all among the
first k. HB prints them for its six-vertex graph. This is the plain recurrence, kept apart from the
engine so that it can bear witness against it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.shortest_paths.dense import outer_no_path
from warpladder.shortest_paths.graph import Graph

__all__ = ["trace_matrices"]


def trace_matrices(graph: Graph, dtype: np.dtype[Any]) -> list[NDArray[Any]]:
    """Return M_0 .. M_n, each of shape (n, n); cost O(n^3) time and memory.

    Parameters
    ----------
    graph
        A small graph.
    dtype
        In which its distances are known to fit.

    Examples
    --------
    >>> chain = Graph.from_edges([0, 1], [1, 2], [4, 7])
    >>> [int(step[0, 2] == 11) for step in trace_matrices(chain, np.dtype("float64"))]
    [0, 0, 1, 1]
    """
    step = np.full((graph.n, graph.n), np.inf)
    if graph.matrix is not None:
        step[graph.present] = graph.matrix[graph.present]
    else:
        weights = np.ones(graph.sources.size) if graph.weights is None else graph.weights
        np.minimum.at(step, (graph.sources, graph.targets), weights)
        if not graph.directed:
            np.minimum.at(step, (graph.targets, graph.sources), weights)
    np.fill_diagonal(step, np.minimum(step.diagonal(), 0))
    steps = [step]
    for k in range(graph.n):
        step = np.minimum(step, step[:, k, None] + step[None, k, :])
        steps.append(step)
    no_path = outer_no_path(dtype)
    return [np.where(np.isinf(found), no_path, found).astype(dtype) for found in steps]
