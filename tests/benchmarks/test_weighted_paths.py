"""What `auto` expects of Dijkstra's algorithm is what the record says it took."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from warpladder.shortest_paths.sparse.dijkstra import Counts, work_seconds

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
(RECORD,) = RESULTS.glob("weighted_paths-*.json")
ROWS = json.loads(RECORD.read_text())["graphs"]


@pytest.mark.parametrize("row", ROWS, ids=[row["case"] for row in ROWS])
@pytest.mark.parametrize("kind", ["counts", "sampled"])
def test_estimates_are_right_within_half_as_much_again(row, kind):
    model = row["model"]
    lanes, dtype = np.dtype(model["lanes"]), np.dtype(model["dtype"])
    expected = work_seconds(Counts(*model[kind]), row["vertices"], lanes, dtype)
    assert row["ours_cpu_s"] / 1.5 <= expected <= row["ours_cpu_s"] * 1.5


@pytest.mark.parametrize("row", ROWS, ids=[row["case"] for row in ROWS])
def test_at_least_twice_the_speed_of_scipy_per_core(row):
    assert row["scipy_cpu_s"] >= 2 * row["ours_cpu_s"]
