"""Graphs whose edges are a few whole steps long: which are, and searches by levels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hop_graphs import path, random_edges
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import as_float
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

import warpladder as wl
from choosing import large
from warpladder import errors
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.sparse.arcs import stepped
from warpladder.shortest_paths.sparse.whole_lengths import MOST_STEPS, whole_lengths

INF = np.inf


class TestWhichAreTaken:
    """`whole_lengths`, of edges and of matrices."""

    @pytest.mark.parametrize(
        ("weights", "n", "dtype", "expected"),
        [
            ([3, 3], 3, "int32", (3, 1)),
            ([3, 4], 3, "int32", (1, 4)),
            ([6, 4], 3, "int32", (2, 3)),
            ([1, 64], 3, "int32", (1, 64)),
            ([1, 65], 3, "int32", None),
            ([1000, 64_000], 3, "int32", (1000, 64)),
            ([64_000, 1001], 3, "int32", None),
            # The first of them have a larger one in common.
            ([4] * 80 + [6], 3, "int32", (2, 3)),
            ([4] * 80 + [7], 3, "int32", (1, 7)),
            ([60] * 80 + [61], 3, "int32", (1, 61)),
            ([600] * 80 + [601], 3, "int32", None),
            ([0, 0], 3, "int32", None),
            ([2, 0], 3, "int32", None),
            ([-1, -1], 3, "int32", None),
            ([2, -1], 3, "int32", None),
            ([3.0, 3.0], 3, "int32", (3, 1)),
            ([3.5, 3.5], 3, "int32", None),
            ([3.5, 7.0], 3, "int32", None),
            ([40_000, 40_000], 3, "int16", None),
            ([0.5, INF], 3, "float32", (0.5, 1)),
            ([0.5, 0.75, INF], 3, "float32", (0.25, 3)),
            ([INF, INF], 3, "float32", (1, 1)),
            # Multiples of it are rounded, and by which other way depends on the order.
            ([0.1, 0.1], 3, "float64", None),
            ([0.1, 0.2], 3, "float64", None),
            ([0.1, 0.3], 3, "float64", None),
            # Exact up to 2**24 and no farther.
            ([2.0**24 - 1] * 2, 1, "float32", (2.0**24 - 1, 1)),
            ([2.0**24 - 1] * 2, 2, "float32", None),
            ([2.0**20 - 1, 2.0**21 - 2], 8, "float32", (2.0**20 - 1, 2)),
            ([2.0**20 - 1, 2.0**21 - 2], 9, "float32", None),
            ([3e38, 3e38], 3, "float32", None),
            ([1e300, 1e300], 3, "float32", None),
            ([5e-324, 1e-323], 3, "float64", (5e-324, 2)),
            ([5e-324, 1.0], 3, "float64", None),
            ([2**62, 2**61], 3, "int64", (2**61, 2)),
        ],
    )
    def test_of_edges(self, weights, n, dtype, expected):
        sources = np.zeros(len(weights), int)
        given = Edges(n, sources, sources + n - 1, np.array(weights), True)
        if n == 1:
            # Edges between two, for a loop has no length.
            given = Edges(n, sources, sources + 1, np.array(weights), True)
        assert whole_lengths(given, np.dtype(dtype)) == expected

    @pytest.mark.parametrize(
        ("entries", "no_edge", "expected"),
        [
            ([[0, 2, INF], [2, 9, INF], [2, INF, 0]], INF, (2, 1)),
            ([[0, 2, 7], [2, 9, 7], [7, 7, 0]], 7, (2, 1)),
            ([[0, 2, np.nan], [2, np.nan, np.nan], [2, 2, 0]], np.nan, (2, 1)),
            ([[0, 2, np.nan], [2, 9, 2], [2, 2, 0]], INF, None),
            ([[0, -INF, -INF], [-INF, 0, -INF], [-INF, -INF, 0]], INF, None),
            ([[0, 2, 2], [2, -1, 2], [2, 2, 0]], INF, None),
            ([[0, INF], [INF, np.nan]], INF, None),
            ([[0, INF], [INF, 0]], INF, (1, 1)),
            ([[0, 2, INF], [2, 9, INF], [4, INF, 0]], INF, (2, 2)),
        ],
    )
    def test_of_a_matrix(self, entries, no_edge, expected):
        given = Matrix(np.array(entries, float), no_edge)
        for dtype in ("float64", "int32"):
            assert whole_lengths(given, np.dtype(dtype)) == expected

    def test_of_a_matrix_with_few_edges(self):
        entries = np.full((700, 700), INF)
        entries[np.arange(699), np.arange(1, 700)] = 6
        assert whole_lengths(Matrix(entries, INF), np.dtype("int32")) == (6, 1)
        entries[0, 400] = 4
        entries[698, 699] = 10
        assert whole_lengths(Matrix(entries, INF), np.dtype("int32")) == (2, 5)
        entries[698, 699] = 10.5
        assert whole_lengths(Matrix(entries, INF), np.dtype("float64")) == (0.5, 21)
        entries[698, 699] = 10.1
        assert whole_lengths(Matrix(entries, INF), np.dtype("float64")) is None

    def test_many_edges_of_several_lengths_are_left_where_few_are_of_use(self):
        dtype = np.dtype("int32")
        entries = np.random.default_rng(1).integers(1, 4, (600, 600))
        full = Matrix(entries, INF)
        assert whole_lengths(full, dtype) == (1, 3)
        assert whole_lengths(full, dtype, few=True) is None
        same = Matrix(np.full((600, 600), 2), INF)
        assert whole_lengths(same, dtype, few=True) == (2, 1)
        # Though the first row is that of a hub.
        star = np.full((600, 600), INF)
        star[0, 1:] = entries[0, 1:]
        assert whole_lengths(Matrix(star, INF), dtype, few=True) == (1, 3)

    @given(
        st.lists(st.integers(1, 80), min_size=1, max_size=200),
        st.sampled_from([1, 3, 0.5, 0.375, 2.0**-1074, 2.0**900]),
    )
    @settings(max_examples=60)
    def test_it_is_the_greatest_common_measure(self, counts, step):
        common = int(np.gcd.reduce(counts))
        ends = np.zeros(len(counts), int), np.ones(len(counts), int)
        weights = np.array(counts) * step
        found = whole_lengths(Edges(2, *ends, weights, True), np.dtype("float64"))
        longest = max(counts) // common
        assert found == ((common * step, longest) if longest <= MOST_STEPS else None)


def test_arcs_in_steps():
    ends = np.array([0, 0, 0, 2, 1, 2]), np.array([1, 1, 2, 0, 1, 1])
    weights = np.array([9, 6, 3, 6, 3, INF])
    arcs, found = stepped(Edges(3, *ends, weights, directed=True), 3, 3)
    assert found.longest == 3
    # Vertex 0 reaches 2 by one step and 1 by two; vertex 2 reaches 0 by two.
    assert found.starts.tolist() == [0, 1, 2, 2, 2, 2, 2, 2, 3, 3]
    assert found.ends.tolist() == [2, 1, 0]
    assert found.steps_out.tolist() == [1, 2, 2]
    assert found.into_starts.tolist() == [0, 1, 2, 3]
    assert found.into.tolist() == [2, 0, 0]
    assert found.steps.tolist() == [2, 2, 1]
    assert [part.tolist() for part in arcs] == [
        [0, 2, 2, 3],
        [1, 2, 0],
        [0, 1, 2, 3],
        [2, 0, 0],
    ]


def check(n, ends, weights, *, directed=True, as_dtype=np.int32, **options):
    """Distances beside SciPy's, and each next hop on a shortest way, in any order of the arcs."""
    if weights.dtype == np.int64:
        # As NumPy makes them; for int32 searches are compiled in any case, two seconds a dtype.
        weights = weights.astype(as_dtype)
    graph = wl.Graph.from_edges(*ends, weights, n=n, directed=directed)
    answer = wl.shortest_paths(
        graph, method="breadth-first", device="cpu", next_hops=True, **options
    )
    lengths = np.full((n, n), INF)
    np.minimum.at(lengths, tuple(ends), weights)
    if not directed:
        np.minimum.at(lengths, tuple(ends[::-1]), weights)
    np.fill_diagonal(lengths, 0)
    kept = lengths < INF
    expected = dijkstra(coo_array((lengths[kept], np.nonzero(kept)), shape=(n, n)).tocsr())
    found = as_float(answer.dist_matrix)
    assert answer.method == "breadth-first"
    assert np.array_equal(found, expected)
    hops = answer.next_hops
    source, target = np.nonzero(np.isfinite(expected) & ~np.eye(n, dtype=bool))
    step = hops[source, target]
    assert (lengths[source, step] + expected[step, target] == expected[source, target]).all()
    assert (expected[step, target] < expected[source, target]).all()
    assert (hops[np.isinf(expected)] == -1).all()
    assert (np.diagonal(hops) == np.arange(n)).all()
    return answer


@pytest.mark.parametrize(
    ("n", "longest", "directed"),
    [
        *((1, 2, True), (2, 2, False), (31, 64, True), (33, 3, False), (64, 7, True)),
        *((127, 5, False), (512, 2, True), (513, 20, False), (1031, 4, True)),
        *large(*product([32, 65, 255, 511, 1024], [2, 9, 64], [True, False])),
    ],
)
def test_random_graphs(n, longest, directed):
    ends = random_edges(n, 4 * n, seed=n)
    # Of int16: others need the searches of those without steps compiled for it, too.
    weights = np.random.default_rng(n).integers(1, longest + 1, ends.shape[1], np.int16)
    # So that the step is 1 and the longest is as long as that.
    weights[:2] = 1, longest
    ends[:, :2] = [[0, 0], [n - 1, n // 2]]
    answer = check(n, ends, weights, directed=directed)
    if n > 2:
        assert f"along edges of up to {longest} steps on" in answer.why


@pytest.mark.parametrize("longest", [2, 63])
@pytest.mark.parametrize("directed", [True, False])
def test_long_ways(longest, directed):
    """More levels than eight digits say, and some on which nobody is found."""
    ends = path(300)
    weights = np.where(np.arange(299) % 3, longest, 1)
    check(300, ends, weights, directed=directed)
    pieces = np.arange(299) % 100 != 0
    check(300, [end[pieces] for end in ends], weights[pieces], directed=directed)


@pytest.mark.parametrize("longest", [2, 64])
def test_levels_on_which_nobody_is_found(longest):
    """As many as the longest edge has steps, but one."""
    detour = [0, 2, 1], [2, 1, 3], [longest, 1, longest]
    check(5, np.array(detour[:2]), np.array(detour[2]))
    for directed in (True, False):
        ends = path(9)
        weights = np.append(np.full(7, longest), 1)
        check(9, ends, weights, directed=directed)
        check(9, ends, weights[::-1], directed=directed)


@pytest.mark.parametrize("longest", [2, 64])
def test_arcs_into_vertices_that_are_pulled(longest):
    """To some only one edge leads, the longest, while many fronts are kept."""
    core, alone = 300, 100
    ends = random_edges(core, 8 * core, seed=6)
    weights = np.random.default_rng(6).integers(1, longest + 1, 8 * core)
    last = np.arange(alone), np.arange(core, core + alone)
    ends = np.concatenate([ends, last], axis=1)
    check(core + alone, ends, np.append(weights, np.full(alone, longest)))


@pytest.mark.parametrize(
    ("dtype", "step"), [("float32", 0.375), *large(("int64", 7), ("int16", 2), ("float64", 0.5))]
)
def test_every_dtype(dtype, step):
    ends = random_edges(200, 700, seed=1)
    weights = (np.random.default_rng(1).integers(1, 6, 700) * step).astype(dtype)
    weights[:20] = INF if dtype[0] == "f" else step
    answer = check(200, ends, weights, as_dtype=dtype)
    assert answer.dist_matrix.dtype == np.dtype(dtype)
    closed = wl.shortest_paths(answer.graph, method="floyd-warshall", device="cpu")
    assert np.array_equal(answer.dist_matrix, closed.dist_matrix)


def test_a_matrix_with_few_edges():
    entries = np.full((700, 700), INF, np.float32)
    sources, targets = random_edges(700, 1500, seed=2)
    entries[sources, targets] = np.random.default_rng(2).integers(1, 4, 1500)
    by_levels = wl.shortest_paths(entries, device="cpu", method="breadth-first", next_hops=True)
    closed = wl.shortest_paths(entries, device="cpu", method="floyd-warshall")
    assert np.array_equal(by_levels.dist_matrix, closed.dist_matrix)
    assert by_levels.path(int(sources[0]), int(targets[0]))


def test_a_distance_that_does_not_fit():
    weights = np.array([12_000, 24_000, 12_000], "int16")
    chain = [0, 1, 2], [1, 2, 3]
    answer = wl.shortest_paths((*chain, weights), method="breadth-first", device="cpu")
    assert answer.distance(0, 3) == 48_000
    assert "int32 because int16 cannot hold a distance" in answer.why
    with pytest.raises(errors.DistanceOverflowError, match="48000, beyond what distances use"):
        wl.shortest_paths((*chain, weights), method="breadth-first", device="cpu", dtype="int16")
    # What stands for no path in other methods is the least that does not fit: 16,383.
    for unit, dtype in ((5460, "int16"), (5461, "int32")):
        weights = np.array([unit, 2 * unit], "int16")
        found = wl.shortest_paths(([0, 1], [1, 2], weights), method="breadth-first", device="cpu")
        assert found.distance(0, 2) == 3 * unit
        assert found.dist_matrix.dtype == np.dtype(dtype)


def test_an_edge_that_a_dtype_does_not_hold_is_no_hop():
    """64 steps of 1,024 are 0 in int16: a way round is shorter, by way of every other vertex."""
    weights = np.array([64 * 1024, 1024, 1024, 1024])
    graph = wl.Graph.from_edges([0, 0, 1, 2], [3, 1, 2, 3], weights)
    answer = wl.shortest_paths(
        graph, method="breadth-first", device="cpu", dtype="int16", next_hops=True
    )
    assert answer.path(0, 3) == [0, 1, 2, 3]


class TestChoice:
    """By estimates, beside Floyd-Warshall and Dijkstra's algorithm."""

    def graph(self, n, m, longest):
        ends = random_edges(n, m, seed=4)
        weights = np.random.default_rng(4).integers(1, longest + 1, m, np.int32)
        return wl.Graph.from_edges(*ends, weights, n=n)

    def test_few_steps_are_searched_by_levels(self):
        answer = wl.shortest_paths(self.graph(3000, 15_000, 3), device="cpu")
        assert answer.method == "breadth-first"
        assert "all edges are a few whole steps long; estimated " in answer.why
        assert "Floyd-Warshall" in answer.why
        assert "Dijkstra from every vertex" in answer.why

    def test_many_steps_or_far_ways_are_not(self):
        side = np.arange(2500).reshape(50, 50)
        ends = (
            np.r_[side[:, :-1].ravel(), side[:-1].ravel()],
            np.r_[side[:, 1:].ravel(), side[1:].ravel()],
        )
        weights = np.random.default_rng(5).integers(1, 11, ends[0].size, np.int32)
        graph = wl.Graph.from_edges(*ends, weights, directed=False)
        far = wl.shortest_paths(graph, device="cpu")
        assert far.method == "dijkstra"
        assert "breadth-first searches" in far.why
        many = wl.shortest_paths(self.graph(1500, 6000, 65), device="cpu")
        assert many.method == "dijkstra"
        assert "breadth-first" not in many.why

    def test_with_little_to_gain(self):
        answer = wl.shortest_paths(self.graph(60, 200, 3), device="cpu")
        assert answer.method == "floyd-warshall"
