"""The matrices M_0, M_1, ..., M_n of the textbook algorithm, one intermediate vertex at a time.

``M_k[i, j]`` is the length of a shortest path from i to j whose inner vertices are all among the
first k. HB prints them for its six-vertex graph. This is the plain recurrence on Python's own
numbers, kept apart from the engine so that it can bear witness against it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.graph import Graph

__all__ = ["trace_matrices"]

_Matrix = list[list[Any]]


def trace_matrices(graph: Graph) -> list[_Matrix]:
    """Return M_0 .. M_n as lists of rows, infinite where there is no path; cost O(n^4).

    Integer weights give Python's integers, which no sum can overflow.

    Parameters
    ----------
    graph
        A small graph.

    Examples
    --------
    >>> chain = Graph.from_edges([0, 1], [1, 2], [4, 7])
    >>> [step[0][2] for step in trace_matrices(chain)]
    [inf, inf, 11, 11]
    """
    step: _Matrix = [[math.inf] * graph.n for _ in range(graph.n)]
    for u, v, weight in _edges(graph):
        step[u][v] = min(step[u][v], weight)
    for vertex in range(graph.n):
        step[vertex][vertex] = min(step[vertex][vertex], 0)
    steps = [step]
    for k in range(graph.n):
        via = step[k]
        step = [[min(d, row[k] + via[j]) for j, d in enumerate(row)] for row in step]
        steps.append(step)
    return steps


def _edges(graph: Graph) -> list[tuple[int, int, Any]]:
    match graph.given:
        case Matrix(weights=matrix, present=present):
            u, v = np.nonzero(present)
            weights = matrix[u, v]
        case Edges(sources=u, targets=v, weights=given):
            weights = np.ones(u.size, int) if given is None else given
    if weights.dtype.kind == "b":
        weights = weights.astype(int)
    edges = list(zip(u.tolist(), v.tolist(), weights.tolist(), strict=True))
    return edges if graph.directed else edges + [(v, u, weight) for u, v, weight in edges]
