"""Loops planted in next hops are found and mended."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import check_hops

from warpladder.shortest_paths.dense import NO_HOP, inner_no_path
from warpladder.shortest_paths.gpu.circles import circling
from warpladder.shortest_paths.paths import (
    leads_in_circles,
    may_loop,
    mend_loops,
    predecessors_from_hops,
)
from warpladder.simulator import SimulatedDevice

_NONE = inner_no_path("int32")
_GPU = SimulatedDevice(counters=False)


def test_a_planted_loop_is_mended():
    # 0 <-> 1 at weight 0, each with an edge of weight 5 to 2; the hops to 2 name each other.
    dist = np.array([[0, 0, 5], [0, 0, 5], [99, 99, 0]], "int32")
    dist[2, :2] = np.iinfo("int32").max
    hops = np.array([[0, 1, 1], [0, 1, 0], [-1, -1, 2]], "int32")
    weights = np.array([[0, 0, 5], [0, 0, 5], [_NONE, _NONE, 0]], "int32")
    assert mend_loops(dist, hops, weights) == 1
    check_hops(dist, dist, hops)


def test_sound_hops_are_left_alone():
    dist = np.array([[0, 1], [1, 0]], "int32")
    hops = np.array([[0, 1], [0, 1]], "int32")
    kept = hops.copy()
    assert mend_loops(dist, hops, dist) == 0
    assert np.array_equal(hops, kept)


def test_predecessors_are_the_last_edges_of_walks():
    hops = np.array([[0, 1, 1], [2, 1, 2], [0, 0, 2]], "int32")
    dist = np.array([[0, 4, 11], [8, 0, 7], [1, 5, 0]], "int32")
    predecessors = predecessors_from_hops(dist, hops)
    assert predecessors.tolist() == [[-1, 0, 1], [2, -1, 1], [2, 0, -1]]


def test_only_weights_that_can_vanish_may_loop():
    assert may_loop(1.0, 2, np.dtype("float32"), 1e10)
    assert not may_loop(1e7, 2, np.dtype("float32"), 1e10)
    assert may_loop(0, 2, np.dtype("int64"), 1e10)
    assert not may_loop(1, 2, np.dtype("int64"), 1e10)


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_circles_are_found_where_the_hops_are(n, count, seed):
    """As on the host: in trees without any, and where one hop of a tree turns round."""
    rng = np.random.default_rng(seed)
    links = np.empty((count, n, n), np.int32)
    for graph in links:
        for target in range(n):
            order = rng.permutation(n)
            order = np.concatenate([[target], order[order != target]])
            graph[target, target] = target
            for place, vertex in enumerate(order[1:], 1):
                graph[vertex, target] = order[rng.integers(0, place)]
            # Vertices without a path, with all that would pass through them.
            if rng.random() < 0.2:
                graph[:, target] = np.where(np.arange(n) == target, target, NO_HOP)
        if n > 2 and rng.random() < 0.5:
            vertex, target = rng.choice(n, 2, replace=False)
            if graph[vertex, target] != NO_HOP:
                graph[vertex, target] = rng.choice(np.flatnonzero(np.arange(n) != target))
    there = _GPU.to_device(links.reshape(count * n, n))
    assert circling(_GPU, there).tolist() == [leads_in_circles(graph) for graph in links]
    assert np.array_equal(there.copy_to_host(), links.reshape(count * n, n))


@pytest.mark.parametrize("n", [2, 3, 31, 32, 33, 64, 65])
def test_the_longest_way_is_no_circle(n):
    """It takes every doubling; and a circle of all vertices but the target."""
    links = np.tile(np.arange(n, dtype=np.int32), (n, 1))
    links[:, -1] = [*range(1, n), n - 1]
    assert circling(_GPU, _GPU.to_device(links)).tolist() == [False]
    links[n - 2, -1] = 0
    assert circling(_GPU, _GPU.to_device(links)).tolist() == [True]
