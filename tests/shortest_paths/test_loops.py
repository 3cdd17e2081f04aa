"""Loops planted in next hops are found and mended."""

from __future__ import annotations

import numpy as np
from oracles import check_hops

from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.paths import may_loop, mend_loops, predecessors_from_hops

_NONE = inner_no_path("int32")


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
