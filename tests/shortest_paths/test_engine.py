"""The blocked engine of the CPU against SciPy, around every boundary of its tiles."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from oracles import DTYPES, absent, as_float, check_hops, distances, random_weights

import warpladder as wl
from choosing import large, only
from late_workers import come_in_phase
from warpladder.device.environment import worker_count
from warpladder.device.simd import vector_unit
from warpladder.shortest_paths import cpu
from warpladder.shortest_paths.cpu import SERIAL_UP_TO
from warpladder.shortest_paths.cpu_tiles.tiles import PANEL_UNIT, relax_tile, tile_shape

# Where there is a GPU, large graphs would go to it.
shortest_paths = partial(wl.shortest_paths, device="cpu")

_SIZES = sorted(
    {0, 1, 2, 3, 5, 7, 31, 32, 33, 47, 48, 49, 101}
    | {k * PANEL_UNIT + d for k in (1, 2) for d in (-1, 0, 1)}
    | {SERIAL_UP_TO - 1, SERIAL_UP_TO, SERIAL_UP_TO + 1}
    | {4 * PANEL_UNIT + d for d in (-1, 0, 1)}
    | {577, 769}
)


#: A dtype's loops take seconds to compile, for one core or for several, with next hops or without.
#: By default there is what other tests have compiled: some of integers and of floats each, and with
#: those of test_batches.py and test_call.py each dtype.
_ON_ONE_CORE = {False: {"int32", "float32"}, True: {"int32"}}
_ON_SEVERAL = {False: {"int16", "float32"}, True: {"float32"}}


def compiled(hops):
    """Tell of which sizes and dtypes loops are compiled by default."""
    return lambda n, dtype: dtype in (_ON_ONE_CORE if n <= SERIAL_UP_TO else _ON_SEVERAL)[hops]


@pytest.mark.parametrize(("n", "dtype"), only(compiled(hops=False), _SIZES, DTYPES))
def test_distances_equal_scipys_around_every_tile_boundary(n, dtype):
    weights = random_weights(n, dtype, density=0.3, seed=n)
    kept = weights.copy()
    answer = shortest_paths(weights)
    assert answer.dist_matrix.dtype == np.dtype(dtype)
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))
    assert np.array_equal(weights, kept)


@pytest.mark.parametrize(
    ("n", "dtype"), only(compiled(hops=True), [1, 2, 33, 96, 97, 193, 257, 400], DTYPES)
)
def test_next_hops_lead_along_paths_of_the_right_length(n, dtype):
    weights = random_weights(n, dtype, density=0.2, seed=n)
    answer = shortest_paths(weights, next_hops=True)
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))
    assert answer.next_hops.dtype == np.int32
    check_hops(weights, answer.dist_matrix, answer.next_hops)


@pytest.mark.parametrize("density", [0.001, 0.01, 0.1, 1.0])
def test_every_density(density):
    weights = random_weights(300, "float32", density=density, seed=4)
    assert np.array_equal(as_float(shortest_paths(weights).dist_matrix), distances(weights))


@pytest.mark.parametrize("dtype", ["float32", *large("float64")])
def test_rounded_sums_stay_within_the_derived_bound(dtype):
    rng = np.random.default_rng(3)
    weights = rng.random((333, 333)).astype(dtype)
    exact = distances(weights.astype("float64"))
    dist = shortest_paths(weights).dist_matrix
    # At most n - 1 roundings along a path of positive weights, on either side.
    bound = 2 * len(weights) * np.finfo(dtype).eps
    assert np.allclose(dist, exact, rtol=bound, atol=0)


@pytest.mark.parametrize("n", [3, 10, 101, 300])
@pytest.mark.parametrize("directed", [True, False])
def test_a_cycle_has_its_closed_form_distances(n, directed):
    vertices = np.arange(n)
    graph = wl.Graph.from_edges(vertices, (vertices + 1) % n, directed=directed)
    around = (vertices[None, :] - vertices[:, None]) % n
    expected = around if directed else np.minimum(around, n - around)
    assert np.array_equal(shortest_paths(graph, dtype="float32").dist_matrix, expected)


@pytest.mark.parametrize("workers", ["1", "3", "5"])
@pytest.mark.parametrize(
    ("dtype", "hops"),
    [("float32", False), ("float32", True), *large(("float64", False), ("float64", True))],
)
def test_any_number_of_workers_gives_the_same_bits(workers, dtype, hops, monkeypatch):
    weights = np.random.default_rng(8).random((500, 500)).astype(dtype)
    usual = shortest_paths(weights, next_hops=hops)
    monkeypatch.setenv("NUMBA_NUM_THREADS", workers)
    assert worker_count() == int(workers)
    other = shortest_paths(weights, next_hops=hops)
    assert np.array_equal(usual.dist_matrix, other.dist_matrix)
    if hops:
        check_hops(weights, other.dist_matrix, other.next_hops)


#: Of 400 vertices: the first block, two for each panel; and then there is the mirror image.
_PHASES = 1 + 2 * -(-400 // PANEL_UNIT)


@pytest.mark.parametrize("phase", [0, 1, 2, 3, 6, _PHASES - 1, _PHASES])
@pytest.mark.parametrize("half", [True, False])
def test_a_worker_may_come_at_any_time(phase, half, monkeypatch):
    weights = np.random.default_rng(9).random((400, 400), dtype="float32")
    if half:
        weights = np.minimum(weights, weights.T)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    expected = shortest_paths(weights).dist_matrix
    monkeypatch.setattr(cpu, "run_briefly", come_in_phase(phase, _PHASES))
    assert np.array_equal(shortest_paths(weights).dist_matrix, expected)


@pytest.mark.parametrize("dtype", ["int32", *large("int16", "int64", "float32", "float64")])
@settings(max_examples=60)
@given(n=st.integers(0, 60), density=st.floats(0, 1), seed=st.integers(0, 2**32 - 1))
def test_laws_of_distances(dtype, n, density, seed):
    weights = random_weights(n, dtype, density=density, low=0, seed=seed)
    answer = shortest_paths(weights, next_hops=True)
    dist = as_float(answer.dist_matrix)
    assert (np.diagonal(dist) == 0).all()
    assert (dist <= as_float(weights) + 0).all()
    for k in range(n):
        assert (dist <= dist[:, k, None] + dist[None, k, :]).all()
    check_hops(weights, answer.dist_matrix, answer.next_hops)
    reverse = shortest_paths(np.ascontiguousarray(weights.T))
    assert np.array_equal(as_float(reverse.dist_matrix), dist.T)


@settings(max_examples=40)
@given(n=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_relabelling_the_vertices_relabels_the_distances(n, seed):
    weights = random_weights(n, "int32", density=0.2, seed=seed)
    order = np.random.default_rng(seed).permutation(n)
    straight = shortest_paths(weights).dist_matrix
    shuffled = shortest_paths(weights[np.ix_(order, order)]).dist_matrix
    assert np.array_equal(shuffled, straight[np.ix_(order, order)])


def test_a_second_pass_changes_nothing():
    weights = random_weights(300, "int16", density=0.05, seed=5)
    once = shortest_paths(weights).dist_matrix
    assert np.array_equal(shortest_paths(once).dist_matrix, once)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tiles_fit_the_panels(dtype):
    shape = tile_shape(dtype)
    assert PANEL_UNIT % shape.columns == 0
    assert PANEL_UNIT % shape.rows == 0


@pytest.mark.skipif(vector_unit().name != "AVX-512", reason="needs AVX-512")
@pytest.mark.parametrize("dtype", ["float32", "int64", *large("float64", "int32")])
def test_every_addition_takes_its_broadcast_from_memory(dtype):
    """Else the tile of float32 gives the same bits, at 0.57 of the speed."""

    @njit
    def relax(c, a, b, depth):
        relax_tile(c, 0, 0, a, 0, b, 0, depth)

    shape = tile_shape(dtype)
    c = np.full((shape.rows, shape.columns), 9, dtype)
    a, b = np.arange(shape.rows, dtype=dtype), np.ones(shape.columns, dtype)
    relax(c, a, b, 1)
    assert np.array_equal(c, np.minimum(9, a[:, None] + b))
    (assembly,) = relax.inspect_asm().values()
    additions = re.findall(r"^\s+(?:vfmadd|vadd|vpadd).*%zmm.*$", assembly, re.MULTILINE)
    assert len(additions) == shape.rows * shape.vectors
    assert all("{1to" in addition for addition in additions)


@pytest.mark.parametrize("n", [600, 1200])
def test_progress_rises_to_one(n):
    seen = []
    shortest_paths(random_weights(n, "float32"), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_an_error_in_the_callback_stops_the_workers_and_comes_out():
    def fail(done: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shortest_paths(random_weights(1500, "float32"), progress=fail)
    weights = random_weights(300, "float32", density=0.1)
    assert np.array_equal(as_float(shortest_paths(weights).dist_matrix), distances(weights))


def test_calls_from_many_threads_do_not_meet():
    from concurrent.futures import ThreadPoolExecutor

    inputs = [random_weights(300, "int16", density=0.1, seed=seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda w: shortest_paths(w).dist_matrix, inputs))
    for weights, dist in zip(inputs, answers, strict=True):
        assert np.array_equal(as_float(dist), distances(weights))


@pytest.mark.large
def test_eight_thousand_vertices_within_two_and_a_third_matrices(tmp_path):
    import subprocess
    import sys

    code = """
import re, numpy as np, warpladder as wl

def peak():
    # Not getrusage: what it gives includes the parent's memory at the start of this process.
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])

wl.shortest_paths(np.ones((300, 300), "float32"))
n = 8192
weights = np.random.default_rng(0).random((n, n), dtype="float32")
before = peak() - weights.nbytes
wl.shortest_paths(weights, device="cpu")
print((peak() - before) / weights.nbytes)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert float(result.stdout) <= 2.3


def test_no_edge_anywhere():
    dist = shortest_paths(np.full((40, 40), absent("int32"), "int32")).dist_matrix
    assert (dist[~np.eye(40, dtype=bool)] == absent("int32")).all()
    assert (np.diagonal(dist) == 0).all()
