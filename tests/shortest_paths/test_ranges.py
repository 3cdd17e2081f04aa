"""Distances that do not fit, weights below zero, cycles of weight zero and less."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import DTYPES, absent, as_float, check_hops, distances, random_weights
from scipy.sparse import csgraph

import warpladder as wl
from choosing import large, only
from warpladder import errors
from warpladder.shortest_paths import cpu, solve
from warpladder.shortest_paths.cpu import SERIAL_UP_TO
from warpladder.shortest_paths.structure.strong_components import strong_components
from warpladder.simulator import SimulatedDevice

_CHAIN = ([0, 1, 2], [1, 2, 3])
#: Next hops beside float32 are compiled for nothing else on CPUs.
WITH_HOPS = ("int16", "int32", "int64", "float64", *large("float32"))


@pytest.fixture
def gpu():
    return SimulatedDevice(counters=False)


def _chain(weights, dtype):
    return wl.Graph.from_edges(*_CHAIN, np.array(weights, dtype), n=5)


def test_a_distance_too_large_for_int16_widens_it_and_says_so():
    answer = wl.shortest_paths(_chain([10000, 10000, 10000], "int16"))
    assert answer.dist_matrix.dtype == np.int32
    assert answer.distance(0, 3) == 30000
    assert answer.distance(0, 4) == np.inf
    assert "int32 because int16 cannot hold a distance" in answer.why


def test_progress_does_not_go_back_where_a_wider_dtype_is_taken(monkeypatch):
    close, told = cpu.floyd_warshall, []

    def tell_twice(dist, hops, progress):
        for fraction in (0.5, 1.0):
            progress(fraction)
        return close(dist, hops)

    monkeypatch.setattr(cpu, "floyd_warshall", tell_twice)
    wl.shortest_paths(_chain([10000, 10000, 10000], "int16"), progress=told.append)
    assert told == [0.5, 1.0, 1.0, 1.0]


def test_a_distance_just_within_half_the_range_is_kept():
    answer = wl.shortest_paths(_chain([8000, 8000, 382], "int16"))
    assert answer.dist_matrix.dtype == np.int16
    assert answer.distance(0, 3) == 16382


def test_int16_is_kept_where_only_the_sum_of_all_weights_is_too_large():
    weights = random_weights(400, "int16", density=0.02, low=50, seed=2)
    answer = wl.shortest_paths(weights)
    assert answer.dist_matrix.dtype == np.int16
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))


CHAINS = [
    # No distance may reach half of the range, 16,383: before one that does there is another
    # that falls short of it by no more than the heaviest edge.
    ([5461, 5461, 5461], "int16", False),
    ([5461, 5460, 5461], "int16", True),
    ([1, 2, 8000], "int16", True),
    ([2**61 - 2, 2**60, 2**60], "int64", True),
    ([2**61, 2**60, 2**60], "int64", False),
    ([5e307, 5e307, 5e307], "float64", True),
    ([6e307, 6e307, 6e307], "float64", False),
]
#: By default each dtype is run on a GPU once with a graph that fits, once with one that does not.
ON_A_GPU = {
    *(("int16", False, "gpu"), ("int64", True, "gpu"), ("float64", False, "gpu")),
    *(("int16", True, "on it"), ("int64", False, "on it"), ("float64", True, "on it")),
}


@pytest.mark.parametrize(
    ("device", "weights", "dtype", "fits"),
    [
        pytest.param(
            device,
            *case,
            marks=()
            if device == "cpu" or ((*case[1:], device) in ON_A_GPU and 8000 not in case[0])
            else pytest.mark.large,
        )
        for device in ("cpu", "gpu", "on it")
        for case in CHAINS
    ],
)
def test_the_longest_distance_tells_whether_one_is_missing(gpu, weights, dtype, fits, device):
    chain = np.full((5, 5), absent(dtype), dtype)
    chain[_CHAIN] = weights
    given = gpu.to_device(chain) if device == "on it" else chain
    ask = partial(wl.shortest_paths, given, device="cpu" if device == "cpu" else gpu, dtype=dtype)
    if not fits:
        with pytest.raises(errors.DistanceOverflowError, match="there is a distance above"):
            ask()
        return
    dist = gpu.to_host(ask().dist_matrix) if device == "on it" else ask().dist_matrix
    assert dist[0, 3] == sum(weights)
    assert dist[3, 0] == absent(dtype)


def test_nobody_looks_for_paths_where_distances_are_far_from_the_limit(gpu, monkeypatch):
    monkeypatch.setattr(solve, "reachable", None)
    weights = random_weights(40, "int16", density=0.05, low=3, seed=1)
    weights[weights != absent("int16")] *= 10
    expected = distances(weights)
    assert not np.isfinite(expected).all()
    for graph in (weights, gpu.to_device(weights)):
        answer = wl.shortest_paths(graph, device=gpu, dtype="int16")
        assert "on the host" not in answer.why
        dist = answer.dist_matrix if graph is weights else gpu.to_host(answer.dist_matrix)
        assert np.array_equal(as_float(dist), expected)


def test_a_longest_distance_tells_nothing_where_a_weight_is_negative():
    weights = np.array([5000, 5000, 5250, -600], "int16")
    answer = wl.shortest_paths(wl.Graph.from_edges([0, 1, 2, 4], [1, 2, 3, 5], weights))
    assert "int32 because int16" in answer.why
    assert answer.distance(0, 3) == 15_250


def test_where_all_are_reached_no_distance_is_too_long(gpu):
    n, weight = 9, 2000
    ring = np.full((n, n), absent("int16"), "int16")
    ring[np.arange(n), np.arange(1, n + 1) % n] = weight
    answer = wl.shortest_paths(gpu.to_device(ring), device=gpu)
    assert answer.dist_matrix.dtype == np.int16
    assert answer.dist_matrix[0, 8] == 16_000
    assert "on the host" not in answer.why


def test_an_explicit_dtype_is_refused_instead_of_widened():
    with pytest.raises(errors.DistanceOverflowError, match="weights below 0; take dtype='int32'"):
        wl.shortest_paths(_chain([10000, 10000, 10000], "int32"), dtype="int16")


def test_a_weight_too_large_for_the_dtype_is_refused():
    with pytest.raises(errors.DistanceOverflowError, match="weight"):
        wl.shortest_paths(_chain([100000, 1, 1], "int32"), dtype="int16")


@pytest.mark.parametrize(
    ("weights", "dtype", "told"),
    [
        (
            [2**62 - 1, 1, 1],
            "int64",
            "a weight of 4611686018427387903, beyond what distances use of int64",
        ),
        (
            [2**61, 2**61, 1],
            "int64",
            "distance above 4611686018427387902, beyond what distances use of int64",
        ),
        ([1e308, 1e308, 1], "float64", r"distance above 1.79769e\+308, which float64 cannot hold"),
    ],
)
def test_what_the_limit_is(weights, dtype, told):
    with pytest.raises(errors.DistanceOverflowError, match=told):
        wl.shortest_paths(_chain(weights, dtype), method="floyd-warshall")


@pytest.mark.parametrize("dtype", WITH_HOPS[3:])
@pytest.mark.parametrize("batch", [False, True])
def test_small_distances_are_not_rounded_beside_large_ones_below_zero(dtype, batch):
    weights = np.full((6, 6), np.inf, dtype)
    # A cycle, and what leads past the end of the heavy edge: each has a strong component.
    weights[[0, 1, 2, 4, 5], [2, 2, 3, 5, 4]] = [-1e10, -1e-10, 1e-10, -1e-3, 2e-3]
    weights[3, 4] = 5
    answer = wl.shortest_paths(weights[None] if batch else weights, next_hops=True)
    alone = answer[0] if batch else answer
    assert alone.dist_matrix[1, 2] == weights[1, 2]
    assert alone.dist_matrix[1, 3] == 0
    assert alone.dist_matrix[4, 5] == pytest.approx(-1e-3, rel=1e-6)
    assert alone.path(0, 5) == [0, 2, 3, 4, 5]


def test_strong_components_are_scipys():
    rng = np.random.default_rng(1)
    for density in (0, 0.03, 0.06, 0.1, 0.3):
        weights = np.where(rng.random((30, 30)) < density, 1.0, np.inf)
        found = strong_components(weights)
        _, known = csgraph.connected_components(np.isfinite(weights), connection="strong")
        assert np.array_equal(found[:, None] == found, known[:, None] == known)


def test_int64_overflow_is_refused_with_a_remedy():
    with pytest.raises(errors.DistanceOverflowError, match="scale the weights down"):
        wl.shortest_paths(_chain([2**61, 2**61, 2**61], "int64"))


@pytest.mark.parametrize("n", [6, 70])
@pytest.mark.parametrize("batch", [False, True])
def test_int64_weights_below_zero_may_add_up_to_more_than_any_path(n, batch):
    heights = np.arange(n) % 2 * 2**60
    # What floats, in which the answer is looked at, hold beside 2**60.
    steps = 1024 * random_weights(n, "int64", low=0)
    weights = steps + heights[:, None] - heights
    answer = wl.shortest_paths(weights[None] if batch else weights, next_hops=True)
    alone = answer[0] if batch else answer
    known = distances(steps).astype(np.int64) + heights[:, None] - heights
    assert alone.dist_matrix.tolist() == known.tolist()
    check_hops(weights, alone.dist_matrix, alone.next_hops)


def test_int64_paths_below_zero_down_to_the_limit():
    lightest = 1 - 2**61
    answer = wl.shortest_paths(_chain([-(2**60), 1 - 2**60, 0], "int64"))
    assert answer.distance(0, 3) == lightest
    assert answer.distance(3, 0) == answer.distance(0, 4) == np.inf
    told = f"there is a path of weight {lightest - 1} or less, beyond what distances use of int64"
    with pytest.raises(errors.DistanceOverflowError, match=told):
        wl.shortest_paths(_chain([-(2**60), -(2**60), 0], "int64"))
    with pytest.raises(errors.DistanceOverflowError, match=f"there is a weight of {lightest - 1},"):
        wl.shortest_paths(_chain([lightest - 1, 0, 0], "int64"))


def test_negative_cycles_of_large_int64_weights():
    ring = wl.Graph.from_edges([0, 1, 1], [1, 0, 2], np.array([-(2**61) + 1] * 2 + [5]), n=4)
    with pytest.raises(errors.NegativeCycleError) as raised:
        wl.shortest_paths(ring)
    assert raised.value.weight == 2 - 2**62
    marked = wl.shortest_paths(ring, negative_cycle="mark")
    is_unbounded = marked.dist_matrix == marked.unbounded
    assert is_unbounded.tolist() == [[True] * 3 + [False]] * 2 + [[False] * 4] * 2


def test_float32_overflow_widens_and_float64_overflow_is_refused():
    for weight in (3e38, -3e38):
        answer = wl.shortest_paths(_chain([weight, weight, 1], "float32"))
        assert answer.dist_matrix.dtype == np.float64
        assert answer.distance(0, 2) == 2 * float(np.float32(weight))
    with pytest.raises(errors.DistanceOverflowError):
        wl.shortest_paths(_chain([1.7e308, 1.7e308, 1], "float64"))


def test_a_float_that_is_too_large_beside_edges_below_zero_is_noticed():
    # With what is added for the last edge every distance fits.
    parts = np.array([0.6, 0.6, 0.1, -0.4])
    ring = partial(wl.Graph.from_edges, [0, 1, 2, 3], [1, 2, 3, 0])
    largest = float(np.finfo("float32").max)
    answer = wl.shortest_paths(ring((parts * largest).astype("float32")))
    assert answer.dist_matrix.dtype == np.float64
    assert answer.distance(0, 2) == pytest.approx(1.2 * largest)
    with pytest.raises(errors.DistanceOverflowError, match="there is a distance above"):
        wl.shortest_paths(ring(parts * np.finfo("float64").max))


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(("weight", "no_edge"), [(16000, absent("int16")), (absent("int16"), 0)])
def test_overwriting_never_spoils_a_matrix_that_has_to_be_widened(weight, no_edge, batch):
    weights = np.full((3, 3), no_edge, "int16")
    weights[0, 1] = weights[1, 2] = weight
    given = weights[None] if batch else weights
    answer = wl.shortest_paths(given, overwrite=True, no_edge=no_edge)
    alone = answer[0] if batch else answer
    assert alone.distance(0, 2) == 2 * int(weight)
    assert alone.distance(1, 0) == np.inf


@pytest.mark.parametrize("dtype", DTYPES)
def test_overwrite_reuses_the_memory(dtype):
    weights = random_weights(64, dtype, high=9)
    expected = distances(weights)
    answer = wl.shortest_paths(weights, overwrite=True)
    assert np.array_equal(as_float(answer.dist_matrix), expected)
    assert np.shares_memory(answer.dist_matrix, weights)


# By default with loops that are compiled for test_engine, on one core and on several. Those for
# several are run with all dtypes there; what a weight below zero is to them one integer shows.
@pytest.mark.parametrize(
    ("n", "dtype"),
    only(
        lambda n, dtype: dtype == ("int32" if n < SERIAL_UP_TO else "float32"),
        [2, 30, 97, 300],
        DTYPES,
        where=lambda n, dtype: n < SERIAL_UP_TO or dtype in {"int16", "float32"},
    ),
)
def test_negative_edges_without_negative_cycles(n, dtype):
    rng = np.random.default_rng(n)
    # Shifting by a potential keeps every cycle's weight, so none turns negative.
    height = rng.integers(0, 50, n)
    plain = random_weights(n, dtype, density=0.3, high=40, seed=n)
    weights = plain.copy()
    edges = plain != absent(dtype)
    weights[edges] = (plain + height[:, None] - height[None, :]).astype(dtype)[edges]
    answer = wl.shortest_paths(weights, next_hops=True)
    assert answer.dist_matrix.dtype == np.dtype(dtype)
    assert np.array_equal(as_float(answer.dist_matrix), distances(weights))
    check_hops(weights, answer.dist_matrix, answer.next_hops)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_negative_cycle_is_named(dtype):
    graph = wl.Graph.from_edges(
        ["a", "b", "c", "d", "c"], ["b", "c", "d", "b", "e"], np.array([1, 2, -5, 1, 7], dtype)
    )
    with pytest.raises(errors.NegativeCycleError) as caught:
        wl.shortest_paths(graph)
    cycle = caught.value.cycle
    assert sorted(cycle) == ["b", "c", "d"]
    assert cycle[cycle.index("b") - 2] == "c"  # the order is that of the edges
    assert caught.value.weight == -2
    assert "b" in str(caught.value)


def test_a_negative_self_loop_is_a_negative_cycle():
    with pytest.raises(errors.NegativeCycleError) as caught:
        wl.shortest_paths(np.array([[0.0, 1], [1, -1]]))
    assert caught.value.cycle == [1]
    with pytest.raises(errors.NegativeCycleError, match="of weight -1234567: 0 -> 0"):
        wl.shortest_paths([[-1234567, 1], [1, 0]])


def test_an_undirected_negative_edge_is_a_negative_cycle():
    graph = wl.Graph.from_edges([0, 1], [1, 2], [-1, 5], directed=False)
    with pytest.raises(errors.NegativeCycleError):
        wl.shortest_paths(graph)


def _marked_by_walks(weights):
    """Pairs with a walk through a vertex that can get below zero on itself: by brute force."""
    n = len(weights)
    dist = as_float(weights)
    np.fill_diagonal(dist, np.minimum(np.diagonal(dist), 0))
    bounded = dist.copy()
    for _ in range(2 * n):
        bounded = np.minimum(bounded, (bounded[:, :, None] + bounded[None, :, :]).min(axis=1))
        bounded = np.maximum(bounded, -1e15)
    bad = np.diagonal(bounded) < 0
    reach = np.isfinite(bounded)
    return (reach[:, None, :] & reach.T[None, :, :] & bad).any(axis=2)


@pytest.mark.parametrize("dtype", WITH_HOPS)
@settings(max_examples=15)
@given(
    n=st.integers(1, 14),
    density=st.floats(0.05, 0.5),
    low=st.integers(-9, 0),
    seed=st.integers(0, 2**32 - 1),
)
def test_exactly_the_affected_pairs_are_marked(n, dtype, density, low, seed):
    weights = random_weights(n, dtype, density=density, low=low, high=20, seed=seed)
    np.fill_diagonal(weights, 0)
    marked = _marked_by_walks(weights)
    answer = wl.shortest_paths(weights, negative_cycle="mark", next_hops=True)
    assert np.array_equal(answer.dist_matrix == answer.unbounded, marked)
    if marked.any():
        with pytest.raises(errors.NegativeCycleError) as caught:
            wl.shortest_paths(weights)
        cycle = caught.value.cycle
        total = sum(weights[u, v] for u, v in zip(cycle, cycle[1:] + cycle[:1], strict=True))
        assert total == caught.value.weight < 0
    # What is left must be what Floyd-Warshall finds without the vertices of negative cycles.
    plain = as_float(weights)
    bad = np.diagonal(marked)
    plain[bad] = plain[:, bad] = np.inf
    np.fill_diagonal(plain, 0)
    for k in range(n):
        plain = np.minimum(plain, plain[:, k, None] + plain[None, k, :])
    assert np.array_equal(as_float(answer.dist_matrix)[~marked], plain[~marked])
    assert (answer.next_hops[marked] == -1).all()


def test_rounding_makes_no_negative_cycle():
    # 0.1 + 0.2 - 0.3 is above zero for the doubles that stand for these numbers, in any order.
    graph = wl.Graph.from_edges([0, 1, 2], [1, 2, 0], [0.1, 0.2, -0.3])
    answer = wl.shortest_paths(graph, next_hops=True)
    assert (np.diagonal(answer.dist_matrix) == 0).all()
    assert answer.path(0, 2) == [0, 1, 2]


@pytest.mark.parametrize("weights", [[1e16, 1.0, -1e16, -2.0], [-1e16, -1.0, 1e16, 0.5]])
def test_rounding_hides_no_negative_cycle(weights):
    graph = wl.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], weights)
    with pytest.raises(errors.NegativeCycleError) as caught:
        wl.shortest_paths(graph)
    assert caught.value.weight == math.fsum(weights) < 0


def test_next_hops_do_not_run_in_circles_on_a_cycle_of_weight_zero():
    # Vertices 0 and 3 form the cycle; two equally long ways lead to 5, one from each of them.
    edges = [(0, 3, 0), (3, 0, 0), (3, 1, 1), (1, 4, 1), (4, 5, 1), (0, 2, 1), (2, 4, 1)]
    for shift in range(6):
        u, v, w = np.array(edges).T
        weights = np.full((200, 200), absent("int32"), "int32")
        place = (np.arange(6) * 37 + shift * 11) % 200
        weights[place[u], place[v]] = w
        answer = wl.shortest_paths(weights, next_hops=True)
        check_hops(weights, answer.dist_matrix, answer.next_hops)


@pytest.mark.parametrize("dtype", WITH_HOPS)
@settings(max_examples=15)
@given(
    n=st.integers(2, 120),
    density=st.floats(0.01, 0.3),
    seed=st.integers(0, 2**32 - 1),
)
def test_many_cycles_of_weight_zero(n, dtype, density, seed):
    weights = random_weights(n, dtype, density=density, low=0, high=2, seed=seed)
    answer = wl.shortest_paths(weights, next_hops=True)
    check_hops(weights, answer.dist_matrix, answer.next_hops)
    trees = answer.predecessors
    reverse = np.where(trees == -9999, -1, trees).T.copy()
    np.fill_diagonal(reverse, np.arange(n))
    check_hops(weights.T, answer.dist_matrix.T, reverse)


def test_edges_that_rounding_swallows_make_no_circles():
    weights = np.full((4, 4), np.inf)
    weights[0, 1] = weights[1, 0] = 1e-30
    weights[0, 2] = weights[1, 2] = 1e10
    weights[2, 3] = 1.0
    answer = wl.shortest_paths(weights, next_hops=True)
    check_hops(weights, answer.dist_matrix, answer.next_hops)
