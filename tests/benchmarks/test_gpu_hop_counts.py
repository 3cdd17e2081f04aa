"""The benchmark of hop counts on GPUs, tried on a simulated one with few vertices."""

from __future__ import annotations

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.shortest_paths.gpu import level_launches
from warpladder.simulator import SimulatedDevice

KERNELS = ("begin_searches", "search_levels", "write_distances", "write_next_hops")


@pytest.fixture
def bench(program):
    pytest.importorskip("cuda.core")
    return program("gpu_hop_counts")


@pytest.fixture
def gpu():
    return SimulatedDevice(checks=False, counters=False, multiprocessors=1)


@pytest.fixture
def graphs():
    ends = np.random.default_rng(1).integers(0, 40, (2, 100))
    return {"random": wl.Graph.from_edges(ends[0], ends[1], n=40)}


@pytest.mark.numba_cuda
@pytest.mark.parametrize("dtype", ["int16", *large("float32")])
def test_answers_are_compared(dtype, bench, gpu, monkeypatch, capsys):
    monkeypatch.setattr(bench, "_DTYPES", (dtype,))
    assert [row["same"] for row in bench.check(gpu, (1, 33))] == 4 * [True]
    assert "4 of 4 checks passed" in capsys.readouterr().out


@pytest.mark.numba_cuda
def test_what_is_not_the_same_is_seen(bench):
    one = wl.shortest_paths(([0, 1], [1, 2]), next_hops=True)
    for other in (([0, 2], [1, 1]), ([0, 1, 0], [1, 2, 2])):
        # For the latter, other tests compile the CPU's loops with next hops, too.
        for dtype in ("int16", "float64"):
            assert not bench._is_same(wl.shortest_paths(other, next_hops=True, dtype=dtype), one)


@pytest.mark.numba_cuda
def test_what_differs_is_told(bench, gpu, monkeypatch, capsys):
    monkeypatch.setattr(bench, "_DTYPES", ("int16",))
    monkeypatch.setattr(bench, "_is_same", lambda *_: False)
    bench.check(gpu, (1,))
    assert "WRONG: 1 vertices, directed=True, int16" in capsys.readouterr().out


@pytest.mark.numba_cuda
def test_kernels_and_calls_are_timed(bench, gpu, graphs, monkeypatch):
    monkeypatch.setattr(bench, "_MOST_FOR_FLOYD_WARSHALL", 0)
    (row,) = bench.time_graphs(gpu, graphs)
    assert row["same"]
    timed = (*KERNELS, "left", "call", "call_with_next_hops", "cpu", "cpu_with_next_hops")
    assert all(row[f"{name}_ms"] > 0 for name in timed)
    assert "closed_ms" not in row
    assert "simulated" in row["why"][0]


@pytest.mark.large
@pytest.mark.numba_cuda
def test_variants_leave_the_engine_as_it_was(bench, gpu, graphs, monkeypatch):
    launched = []
    launch = gpu.launch
    monkeypatch.setattr(
        gpu, "launch", lambda kernel, grid, block, *rest: (
            launched.append((kernel.py_func.__name__, grid, block)),
            launch(kernel, grid, block, *rest),
        ),
    )  # fmt: skip
    rows = bench.time_variants(gpu, graphs)
    assert [(row["blocks"], row["threads"]) for row in rows] == list(bench._VARIANTS)
    # There are 32 searches to a block, so 40 make two of them.
    found = {entry[1:] for entry in launched if entry[0] == "search_levels"}
    assert found == {(1, 1024), (1, 512), (2, 512), (2, 256)}
    assert (level_launches._RESIDENT, level_launches._THREADS_OF_SEARCHES) == (1, 1024)
