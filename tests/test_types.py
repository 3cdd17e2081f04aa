"""What type checkers make of the verbs: mypy reads this file, and pytest runs it."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import warpladder as wl
from warpladder.advection.plan import Plan as AdvectionPlan
from warpladder.overlap_join.plan import Plan as JoinPlan


def test_overlap_join() -> None:
    rows = [[1, 2], [2, 1]]
    assert_type(wl.overlap_join(rows, 1), wl.Overlaps)
    assert_type(wl.overlap_join(rows, 1, count_only=True), wl.OverlapCounts)
    is_counted = bool(rows)
    assert_type(wl.overlap_join(rows, 1, count_only=is_counted), wl.Overlaps | wl.OverlapCounts)
    assert_type(wl.overlap_join.plan(rows, 1), JoinPlan)


def test_advect() -> None:
    assert_type(wl.advect(np.ones(3), courant=0.5, steps=0), wl.Advection)
    assert_type(wl.advect.plan(np.ones(3), courant=0.5, steps=0), AdvectionPlan)


def test_shortest_paths() -> None:
    batch = np.zeros((2, 3, 3), np.int32)
    weights: NDArray[np.int32] = batch[0]
    assert_type(wl.shortest_paths(weights), wl.ShortestPaths)
    assert_type(wl.shortest_paths(np.zeros((3, 3), np.int32)), wl.ShortestPaths)
    assert_type(wl.shortest_paths([[0, 1], [1, 0]]), wl.ShortestPaths)
    assert_type(wl.shortest_paths(batch), wl.ShortestPathsBatch)
    matrix: Any = weights
    assert wl.shortest_paths(matrix).dist_matrix.shape == (3, 3)
