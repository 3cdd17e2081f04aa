"""Dijkstra's algorithm from every vertex, 32 of them at a time: sparse graphs with weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import absent, check_hops
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra as scipy_dijkstra

import warpladder as wl
from choosing import large
from warpladder import errors
from warpladder.shortest_paths import cpu, plan
from warpladder.shortest_paths.forms import Edges
from warpladder.shortest_paths.sparse import dijkstra
from warpladder.shortest_paths.sparse.arcs import arcs_of
from warpladder.shortest_paths.sparse.dijkstra import SourceSearches, obstacle
from warpladder.shortest_paths.sparse.lanes import LANES
from warpladder.shortest_paths.sparse.orders import in_balls


def random_graph(n, m, seed, *, heaviest=20, directed=True):
    """A graph with edges of weight 0, loops, parallel edges and vertices without any."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, max(n - n // 9, 1), (2, m if n else 0))
    weights = rng.integers(0, heaviest, ends.shape[1])
    return wl.Graph.from_edges(*ends, weights, n=n, directed=directed)


def dense(graph, dtype):
    weights = np.full((graph.n, graph.n), absent(dtype), dtype)
    np.minimum.at(weights, (graph.sources, graph.targets), graph.weights.astype(dtype))
    if not graph.directed:
        np.minimum.at(weights, (graph.targets, graph.sources), graph.weights.astype(dtype))
    return weights


def by_scipy(graph):
    """SciPy's answer; the weights must be above 0."""
    weights = dense(graph, "float64")
    np.fill_diagonal(weights, np.inf)
    present = np.nonzero(np.isfinite(weights))
    edges = csr_array((weights[present], present), shape=weights.shape)
    return scipy_dijkstra(edges) if graph.n else weights


def check(graph, **options):
    """Distances must be those of Floyd-Warshall, and walks along next hops as long as these."""
    by_source = wl.shortest_paths(graph, method="dijkstra", next_hops=True, **options)
    closed = wl.shortest_paths(graph, method="floyd-warshall", **options)
    assert by_source.method == "dijkstra"
    assert by_source.dist_matrix.dtype == closed.dist_matrix.dtype
    assert np.array_equal(by_source.dist_matrix, closed.dist_matrix)
    dtype = by_source.dist_matrix.dtype.name
    check_hops(dense(graph, dtype), by_source.dist_matrix, by_source.next_hops)


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, LANES - 1, LANES, LANES + 1, 131])
@pytest.mark.parametrize("arcs", [1, 4])
@pytest.mark.parametrize("directed", [True, False])
def test_random_graphs_of_awkward_sizes(n, arcs, directed):
    check(random_graph(n, arcs * n, seed=n + arcs, directed=directed))


@settings(max_examples=40)
@given(st.data())
def test_any_graph(data):
    n = data.draw(st.integers(1, 40))
    ends = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(ends, ends, st.integers(0, 3)), max_size=120))
    u, v, weights = np.array(edges, np.int64).reshape(-1, 3).T
    check(wl.Graph.from_edges(u, v, weights, n=n, directed=data.draw(st.booleans())))


@pytest.mark.parametrize("dtype", large("int16", "int32", "float32", "float64"))
@pytest.mark.parametrize("next_hops", [False, True])
def test_every_dtype(dtype, next_hops):
    graph = random_graph(150, 500, seed=3)
    found = wl.shortest_paths(graph, method="dijkstra", dtype=dtype, next_hops=next_hops)
    closed = wl.shortest_paths(graph, method="floyd-warshall", dtype=dtype)
    assert found.dist_matrix.dtype == np.dtype(dtype)
    assert np.array_equal(found.dist_matrix, closed.dist_matrix)


@pytest.mark.parametrize("scale", [1.0, *large(1e-300, 1e290)])
@pytest.mark.parametrize("directed", [True, False])
def test_sums_of_floats_round_from_the_source_on(scale, directed):
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 200, (2, 700))
    weights = scale * rng.lognormal(0, 6, 700)
    graph = wl.Graph.from_edges(*ends, weights, n=200, directed=directed)
    found = wl.shortest_paths(graph, method="dijkstra").dist_matrix
    # Bit for bit: there is one least sum, however the searches go.
    assert np.array_equal(found, by_scipy(graph))


def test_integers_are_exact_beyond_what_float64_holds():
    weights = np.array([2**53 + 1, 2, 2**60 - 1])
    graph = wl.Graph.from_edges([0, 1, 2], [1, 2, 3], weights)
    # With next hops, as below, so that it is compiled once.
    found = wl.shortest_paths(graph, method="dijkstra", next_hops=True).dist_matrix
    assert found[0].tolist() == [0, 2**53 + 1, 2**53 + 3, 2**53 + 2 + 2**60]
    assert found[3].tolist() == [absent("int64")] * 3 + [0]


@pytest.mark.parametrize("heaviest", [2**26 - 1, 2**26, *large(2**58 - 1)])
def test_the_heaviest_weights_of_narrow_and_wide_lanes(heaviest):
    n = 16
    ends = np.arange(n - 1)
    graph = wl.Graph.from_edges(ends, ends + 1, np.full(n - 1, heaviest), directed=False)
    lanes = SourceSearches.of(graph.given, np.dtype("int64")).arcs[2].dtype
    assert lanes == (np.int32 if heaviest < 2**26 else np.int64)
    found = wl.shortest_paths(graph, method="dijkstra", next_hops=True).dist_matrix
    steps = abs(np.subtract.outer(np.arange(n), np.arange(n)))
    assert np.array_equal(found, steps * heaviest)


def test_a_distance_that_does_not_fit():
    weights = np.array([8000, 8383], np.int16)
    path = [0, 1], [1, 2], weights
    found = wl.shortest_paths(path, method="dijkstra")
    assert found.dist_matrix.dtype == np.int32
    assert found.dist_matrix[0].tolist() == [0, 8000, 16383]
    with pytest.raises(
        errors.DistanceOverflowError,
        match="of 16383, beyond what distances use",
    ):
        wl.shortest_paths(path, method="dijkstra", dtype="int16")
    weights[0] -= 1
    assert wl.shortest_paths(path, method="dijkstra").dist_matrix[0].tolist() == [0, 7999, 16382]


def test_distances_are_rounded_once_and_weights_are_not():
    # Each weight by itself would be 1 in float32.
    weight = 1 + 2.0**-24
    path = [0, 1, 2], [1, 2, 3], [weight] * 3
    found = wl.shortest_paths(path, method="dijkstra", dtype="float32")
    assert found.dist_matrix[0].tolist() == [0, 1, 2, 3 + 2.0**-22]
    assert "from 1.0000000596046448 to 1.0, once they are summed up" in found.why


def test_memory_that_is_not_there(monkeypatch):
    graph = random_graph(40, 80, seed=1)
    searches = SourceSearches.of(graph.given, np.dtype("int64"))
    asked = []
    monkeypatch.setattr(dijkstra, "require_memory", lambda size, _: asked.append(size))
    for next_hops in (False, True):
        dijkstra.dijkstra(searches, np.dtype("int64"), next_hops=next_hops)
    # Distances, and rows of 32 lanes; next hops beside each.
    assert asked[0] >= 40 * 40 * 8 + 40 * LANES * 4
    assert asked[1] >= asked[0] + 40 * 40 * 4 + 40 * LANES * 4


def test_what_it_refuses():
    def against(weights, dtype="int64"):
        return obstacle(wl.Graph.from_edges([0, 1], [1, 2], weights).given, np.dtype(dtype))

    assert against([1, -1]) == "there are negative weights"
    assert "might exceed 4.61e+18" in against([1, 2**61])
    assert "might exceed 3.4e+38" in against([3e38, 3e38], "float32")
    assert "floats and the dtype an integer" in against([1.0, 2.0])
    assert not against([1, 2**60])
    assert not against([0, 0])
    with pytest.raises(errors.InputError, match="negative weights"):
        wl.shortest_paths(([0], [1], [-1]), method="dijkstra")


def test_rows_of_neighbours():
    side = np.arange(96).reshape(8, 12)
    ends = (
        np.r_[side[:, 1:].ravel(), side[1:].ravel()],
        np.r_[side[:, :-1].ravel(), side[:-1].ravel()],
    )
    arcs = arcs_of(Edges(100, *ends, None, directed=True))
    rows = in_balls(arcs, LANES)
    assert rows.shape == (4, LANES)
    assert np.sort(rows[rows >= 0]).tolist() == list(range(100))
    # As compact as squares: the diameter of 25 in a grid is 8.
    y, x = np.divmod(rows[0, :25], 12)
    assert np.ptp(x + y) <= 8
    assert np.ptp(x - y) <= 12


@pytest.mark.parametrize("seed", range(3))
def test_next_hops_end_where_cycles_have_no_length(seed):
    # Each row is right by itself; which of many ways of one length it takes differs between rows.
    check(random_graph(90, 400, seed=seed, heaviest=2, directed=False))


def test_progress_ends_with_one():
    told = []
    graph = random_graph(200, 700, seed=1)
    wl.shortest_paths(graph, method="dijkstra", next_hops=True, progress=told.append)
    assert told
    assert told[-1] == 1


class TestPlan:
    """When it is chosen, and what is said of that."""

    @staticmethod
    def chosen(graph, dtype="int64", **options):
        return plan.choose_method(graph.given, np.dtype(dtype), "auto", cpu.seconds, **options)

    def test_auto_takes_it_for_a_sparse_graph(self):
        found = self.chosen(random_graph(3000, 6000, seed=2, directed=False))
        assert found.name == "dijkstra"
        assert "estimated" in found.why
        assert "Floyd-Warshall" in found.why
        assert isinstance(found.ready, SourceSearches)

    def test_and_not_for_a_small_or_a_dense_one(self):
        assert self.chosen(random_graph(300, 600, seed=2)) == ("floyd-warshall", "", None)
        crowded = self.chosen(random_graph(600, 250_000, seed=2))
        assert crowded.name == "floyd-warshall"
        assert "Dijkstra from every vertex at least" in crowded.why

    def test_what_stands_against_it_is_said(self):
        graph = random_graph(3000, 6000, seed=2)
        negative = wl.Graph.from_edges(graph.sources, graph.targets, graph.weights - 1, n=3000)
        found = self.chosen(negative)
        assert found.name == "floyd-warshall"
        assert found.why.endswith(", Dijkstra might be faster but there are negative weights")

    def test_the_answer_says_why(self):
        answer = wl.shortest_paths(random_graph(700, 1400, seed=2), device="cpu")
        assert answer.method == "dijkstra"
        assert "Dijkstra from every vertex on " in answer.why
        assert "estimated" in answer.why
