"""Graphs whose edges all have the same length, and SciPy's answers for them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path


def hops_between(n, sources, targets, *, directed=True):
    """SciPy's answer, in which parallel edges and loops are no matter."""
    edges = coo_array((np.ones(len(sources)), (sources, targets)), shape=(n, n)).tocsr()
    return shortest_path(edges, unweighted=True, directed=directed) if n else np.empty((0, 0))


def random_edges(n, m, seed):
    """Edges with loops and parallel ones among them, and vertices that none of them names."""
    return np.random.default_rng(seed).integers(0, max(n - n // 9, 1), (2, m if n else 0))


def path(n):
    return np.arange(n - 1), np.arange(1, n)


def star(n):
    return np.zeros(n - 1, np.int64), np.arange(1, n)


def check_next_hops(hops, expected):
    """Each hop takes an edge and leaves one step less to go, so that following them arrives."""
    source, target = np.nonzero(np.isfinite(expected) & (expected > 0))
    step = hops[source, target]
    assert (expected[source, step] == 1).all()
    assert (expected[step, target] == expected[source, target] - 1).all()
    assert (hops[np.isinf(expected)] == -1).all()
    assert (np.diagonal(hops) == np.arange(len(hops))).all()
