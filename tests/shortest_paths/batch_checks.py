"""Stacks of graphs, and what their answers are compared with."""

from __future__ import annotations

import numpy as np
from oracles import absent, as_float, check_hops

import warpladder as wl


def stack_of(b, n, dtype, *, low=1, high=99, density=0.3, seed=0):
    rng = np.random.default_rng([b, n, seed])
    weights = rng.integers(low, high + 1, (b, n, n)).astype(dtype)
    weights[rng.random((b, n, n)) >= density] = absent(dtype)
    return weights


def plain_distances(weights):
    """The textbook loop on every graph, in float64, infinite where there is no path."""
    missing = weights == absent(weights.dtype.name)
    dist = np.where(missing, np.inf, weights).astype(np.float64)
    for graph in dist:
        np.fill_diagonal(graph, np.minimum(graph.diagonal(), 0))
        for k in range(len(graph)):
            np.minimum(graph, graph[:, k, None] + graph[k], out=graph)
    return dist


def check(weights, batch, *, singly=()):
    """Compare with the plain loop, and with the single call where that is asked for."""
    assert batch.dist_matrix.shape == weights.shape
    assert np.array_equal(as_float(batch.dist_matrix), plain_distances(weights))
    for index, answer in enumerate(batch):
        if batch.next_hops is not None:
            assert batch.next_hops.dtype == np.int32
            check_hops(weights[index], answer.dist_matrix, answer.next_hops)
        if index in singly:
            alone = wl.shortest_paths(weights[index], next_hops=batch.next_hops is not None)
            assert alone.dist_matrix.dtype == batch.dist_matrix.dtype
            assert np.array_equal(alone.dist_matrix, answer.dist_matrix)
            if alone.next_hops is not None:
                assert np.array_equal(alone.next_hops, answer.next_hops)
